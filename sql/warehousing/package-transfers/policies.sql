select app.tenant_table('warehousing.package_transfers', own => '{}', writes => 'insert');
select app.tenant_table('warehousing.package_transfer_deliveries', own => '{}', writes => 'insert', audit => false);
select app.counted('package_transfers', 'warehousing.package_transfers', '{mode,operation_type,source_warehouse_id,destination_warehouse_id}');
