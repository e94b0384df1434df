drop view if exists warehousing.inventory_items_list cascade;

drop view if exists warehousing.inventory_list cascade;

drop view if exists warehousing.inventory_transfers_list cascade;

drop view if exists warehousing.write_offs_list cascade;

drop view if exists warehousing.inventory_transactions_list cascade;

-- The tenant's items; the parts of a single parcel are no items of its catalogue.
create view warehousing.inventory_items_list with (security_invoker = true) as
select i.id, i.name, i.sku, i.barcode, i.brand, i.model, i.unit_size, i.is_serialized, i.is_active, i.created_at, i.updated_at
from warehousing.inventory_items i
where i.parcel_delivery_id is null;

-- Stock by place; empty rows are only kept for their movements. Of those whose work is limited to warehouses: stock there, and what is set aside
-- elsewhere for the picks that are given to them.
create view warehousing.inventory_list with (security_invoker = true) as
select s.id, s.warehouse_id, s.bin_id, s.item_id, s.status, s.lot_number, s.serial_number, s.quantity,
  s.reserved_for_type, s.reserved_for_id,
  jsonb_build_object('id', i.id, 'name', i.name, 'sku', i.sku) as item,
  jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name) as bin,
  jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) as warehouse, s.created_at, s.updated_at
from warehousing.stock s
left join warehousing.inventory_items i on i.tenant_id = s.tenant_id and i.id = s.item_id
left join warehousing.bins b on b.tenant_id = s.tenant_id and b.id = s.bin_id
left join warehousing.warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id
where s.quantity > 0 and (coalesce(s.warehouse_id = any ((select app.own_warehouses())::uuid[]), true)
  or s.reserved_for_id is not null and exists (
    select from warehousing.picking_orders o
    where o.tenant_id = s.tenant_id and o.assigned_to = (select app.user_id()) and o.warehouse_id = s.warehouse_id
      and s.reserved_for_id in (o.id, o.order_id)));

create view warehousing.inventory_transfers_list with (security_invoker = true) as
select t.id, t.tenant_id, t.reference_number, t.source_warehouse_id, t.destination_warehouse_id, t.status,
  (select coalesce(jsonb_agg(jsonb_build_object('item_id', x.item_id, 'quantity', x.quantity, 'source_bin_id', x.source_bin_id,
      'destination_bin_id', x.destination_bin_id, 'lot_number', x.lot_number, 'serial_number', x.serial_number) order by x.position), '[]')
    from warehousing.inventory_transfer_items x where x.tenant_id = t.tenant_id and x.transfer_id = t.id) as items,
  t.notes, t.performed_by, t.created_at,
  jsonb_build_object('id', s.id, 'name', s.name, 'code', s.code) as source_warehouse,
  jsonb_build_object('id', d.id, 'name', d.name, 'code', d.code) as destination_warehouse,
  case when t.performed_by is not null then jsonb_build_object('id', t.performed_by, 'full_name', coalesce(p.full_name, '')) end as performer
from warehousing.inventory_transfers t
left join warehousing.warehouses s on s.tenant_id = t.tenant_id and s.id = t.source_warehouse_id
left join warehousing.warehouses d on d.tenant_id = t.tenant_id and d.id = t.destination_warehouse_id
left join tenancy.profiles p on p.id = t.performed_by
where coalesce((select app.own_warehouses()) && array[t.source_warehouse_id, t.destination_warehouse_id], true);

-- Write-offs without their lines: each is shown by the first of its movements. The last columns are for filters.
create view warehousing.write_offs_list with (security_invoker = true) as
select t.reference_id as id, jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) as warehouse, t.reason,
  case when t.performed_by is not null then jsonb_build_object('id', t.performed_by, 'full_name', coalesce(p.full_name, '')) end as written_off_by,
  t.created_at,
  (select count(*) from warehousing.inventory_transactions l where l.tenant_id = t.tenant_id and l.reference_id = t.reference_id) as lines,
  (select sum(l.quantity)::bigint from warehousing.inventory_transactions l where l.tenant_id = t.tenant_id and l.reference_id = t.reference_id) as units,
  t.warehouse_id, t.performed_by as written_off_by_id
from warehousing.inventory_transactions t
left join warehousing.warehouses w on w.tenant_id = t.tenant_id and w.id = t.warehouse_id
left join tenancy.profiles p on p.id = t.performed_by
where t.transaction_type = 'write_off' and coalesce(t.warehouse_id = any ((select app.own_warehouses())::uuid[]), true)
  and not exists (select from warehousing.inventory_transactions e
    where e.tenant_id = t.tenant_id and e.reference_id = t.reference_id and e.id < t.id);

-- The movements of goods, in the order in which they were booked; clients see movement_id as id. Reserving and releasing move nothing. The last
-- columns are for filters.
create view warehousing.inventory_transactions_list with (security_invoker = true) as
select t.id, t.movement_id, t.transaction_type, t.quantity,
  jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) as warehouse,
  jsonb_build_object('id', t.item_id, 'name', i.name, 'sku', i.sku) as item,
  case when t.from_bin_id is not null then jsonb_build_object('id', f.id, 'code', f.code, 'name', f.name) end as from_bin,
  case when t.to_bin_id is not null then jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name) end as to_bin,
  t.from_status, t.to_status, t.lot_number, t.serial_number,
  case when t.reference_id is not null then jsonb_build_object('type', t.reference_type, 'id', t.reference_id) end as reference, t.reason, t.note,
  case when t.performed_by is not null then jsonb_build_object('id', t.performed_by, 'full_name', coalesce(p.full_name, '')) end as performed_by,
  t.created_at, t.item_id, t.warehouse_id, t.reference_id, t.performed_by as performed_by_id
from warehousing.inventory_transactions t
left join warehousing.warehouses w on w.tenant_id = t.tenant_id and w.id = t.warehouse_id
left join warehousing.inventory_items i on i.tenant_id = t.tenant_id and i.id = t.item_id
left join warehousing.bins f on f.tenant_id = t.tenant_id and f.id = t.from_bin_id
left join warehousing.bins b on b.tenant_id = t.tenant_id and b.id = t.to_bin_id
left join tenancy.profiles p on p.id = t.performed_by
where t.transaction_type not in ('reserve', 'release') and coalesce(t.warehouse_id = any ((select app.own_warehouses())::uuid[]), true);

grant select on warehousing.inventory_items_list, warehousing.inventory_list, warehousing.inventory_transfers_list, warehousing.write_offs_list,
  warehousing.inventory_transactions_list to barid_caller;
