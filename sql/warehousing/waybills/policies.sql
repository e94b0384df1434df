select app.tenant_table('warehousing.waybills', own => '{driver_id}', operations => 'insert, update');
select app.tenant_table('warehousing.waybill_deliveries', own => '{}');
select app.tenant_table('warehousing.waybill_discrepancies', own => '{}', operations => 'insert, update');
select app.tenant_table('warehousing.waybill_items', own => '{}', operations => 'insert, delete', audit => false);
select app.touched('warehousing.waybills');
select app.counted('waybills', 'warehousing.waybills', '{status,source_warehouse_id,destination_warehouse_id}');
