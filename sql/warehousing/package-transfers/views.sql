drop view if exists warehousing.package_transfers_list cascade;

drop view if exists warehousing.waybills_list cascade;

-- Transfers of packages; what belongs to a row stands in sub-selects, asked for the rows of a page only.
create view warehousing.package_transfers_list with (security_invoker = true) as
select t.id, t.tenant_id, t.mode, t.operation_type, t.source_warehouse_id, t.destination_warehouse_id, t.waybill_id, t.notes, t.created_at,
  (select coalesce(jsonb_agg(p.delivery_id order by p.position), '[]')
    from warehousing.package_transfer_deliveries p where p.tenant_id = t.tenant_id and p.transfer_id = t.id) as delivery_ids,
  (select jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) from warehousing.warehouses w
    where w.tenant_id = t.tenant_id and w.id = t.source_warehouse_id) as source_warehouse,
  (select jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) from warehousing.warehouses w
    where w.tenant_id = t.tenant_id and w.id = t.destination_warehouse_id) as destination_warehouse,
  (select jsonb_build_object('id', w.id, 'waybill_number', w.waybill_number, 'status', w.status) from warehousing.waybills w
    where w.tenant_id = t.tenant_id and w.id = t.waybill_id) as waybill,
  case when t.performed_by is not null then jsonb_build_object('id', t.performed_by,
    'full_name', coalesce((select p.full_name from tenancy.profiles p where p.id = t.performed_by), '')) end as performer,
  case when t.operation_type = 'single_delivery' then (
    select jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status)
    from warehousing.package_transfer_deliveries p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = t.tenant_id and p.transfer_id = t.id limit 1) end as delivery
from warehousing.package_transfers t
where coalesce((select app.own_warehouses()) && array[t.source_warehouse_id, t.destination_warehouse_id], true);

create view warehousing.waybills_list with (security_invoker = true) as
select w.id, w.tenant_id, w.waybill_number, w.status, w.source_warehouse_id, w.destination_warehouse_id, w.driver_id,
  (select jsonb_build_object('id', x.id, 'name', x.name, 'code', x.code) from warehousing.warehouses x
    where x.tenant_id = w.tenant_id and x.id = w.source_warehouse_id) as source_warehouse,
  (select jsonb_build_object('id', x.id, 'name', x.name, 'code', x.code) from warehousing.warehouses x
    where x.tenant_id = w.tenant_id and x.id = w.destination_warehouse_id) as destination_warehouse,
  case when w.driver_id is not null then jsonb_build_object('id', w.driver_id,
    'full_name', coalesce((select p.full_name from tenancy.profiles p where p.id = w.driver_id), '')) end as driver,
  (select jsonb_build_object('id', v.id, 'name', v.name) from delivery.vehicles v
    where v.tenant_id = w.tenant_id and v.id = w.vehicle_id) as vehicle,
  w.seal_number, w.sealed_at, w.handed_over_at, w.received_at, w.closed_at, w.cancelled_at, w.notes, w.created_by, w.created_at, w.updated_at,
  (select count(*) from warehousing.waybill_deliveries p
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and (p.is_open or p.received_state is not null)) as delivery_count,
  (select count(*) from warehousing.waybill_discrepancies p
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.status = 'open') as open_discrepancy_count
from warehousing.waybills w
where coalesce((select app.own_warehouses()) && array[w.source_warehouse_id, w.destination_warehouse_id], true);

grant select on warehousing.package_transfers_list, warehousing.waybills_list to barid_caller;
