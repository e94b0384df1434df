select app.tenant_table('warehousing.inventory_items', own => '{}', operations => 'insert, update');
select app.touched('warehousing.inventory_items');
