select app.tenant_table('warehousing.receiving_orders', own => '{}', operations => 'insert, update');
select app.tenant_table('warehousing.receiving_order_items', own => '{}', operations => 'insert, update');
select app.touched('warehousing.receiving_orders');
