select app.tenant_table('warehousing.package_transfers', own => '{}', operations => 'insert');
select app.tenant_table('warehousing.package_transfer_deliveries', own => '{}', operations => 'insert', audit => false);
select app.counted('package_transfers', 'warehousing.package_transfers', '{mode,operation_type,source_warehouse_id,destination_warehouse_id}');
