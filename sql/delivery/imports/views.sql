drop view if exists delivery.delivery_imports_list cascade;

-- Imports with what has become of their deliveries. cancellable: before anybody has them in hand, and not on their way between warehouses.
create view delivery.delivery_imports_list with (security_invoker = true) as
select i.id, i.created_at,
  case when i.created_by is not null then jsonb_build_object('id', i.created_by, 'full_name', delivery.person_name(i.created_by)) end as created_by,
  i.cancelled_at,
  case when i.cancelled_by is not null then jsonb_build_object('id', i.cancelled_by, 'full_name', delivery.person_name(i.cancelled_by)) end as cancelled_by,
  c.imported, c.cancelled, c.cancellable
from delivery.delivery_imports i
cross join lateral (
  select count(*) as imported, count(*) filter (where d.status = 'cancelled') as cancelled,
    count(*) filter (where d.status in ('draft', 'pending', 'assigned', 'accepted') and d.picked_up_at is null
      and not (d.ordered_from_address_id is not null and (delivery.waiting_on_its_way(d)).id is not null)
      -- On a waybill goes what is ordered from a warehouse; the others need not be asked.
      and not (d.status = 'draft' and d.pickup_warehouse_id is not null and delivery.draft_travels(d))) as cancellable
  from delivery.delivery_import_lines l join delivery.deliveries d on d.tenant_id = l.tenant_id and d.id = l.delivery_id
  where l.tenant_id = i.tenant_id and l.import_id = i.id) c;

grant select on delivery.delivery_imports_list to barid_caller;
