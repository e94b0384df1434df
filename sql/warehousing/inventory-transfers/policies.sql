select app.tenant_table('warehousing.inventory_transfers', own => '{}', writes => 'insert');
select app.tenant_table('warehousing.inventory_transfer_items', own => '{}', writes => 'insert');
