select app.tenant_table('warehousing.inventory_transfers', own => '{}', operations => 'insert');
select app.tenant_table('warehousing.inventory_transfer_items', own => '{}', operations => 'insert');
