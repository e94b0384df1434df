drop view if exists delivery.assignments_list cascade;

drop view if exists delivery.delivery_zone_context cascade;

drop view if exists delivery.open_assignments cascade;

-- The assignments that are open, for who asks by delivery. `is true` keeps PostgreSQL from the indexes of open ones alone: where the last
-- statistics are of an hour in which there were none, it would rather read all of a tenant than look for each delivery, and keep that plan.
create view delivery.open_assignments with (security_invoker = true) as
select a.id, a.tenant_id, a.delivery_id, a.driver_id, a.status
from delivery.assignments a where (a.status in ('pending', 'assigned', 'accepted')) is true;

-- Where a delivery starts and ends, in zones. A place that lies in no zone has a null; a place of which
-- nobody knows where it is (no zone and no coordinates) leaves its delivery without a row, and without a
-- row the drivers who go there are unknown.
create view delivery.delivery_zone_context with (security_invoker = true) as
-- Joined, the addresses made PostgreSQL read every delivery to one of them.
select d.id as delivery_id, d.pickup_zone_id, d.dropoff_zone_id, d.tenant_id
from delivery.deliveries d
where (d.pickup_zone_id is not null or (select f.latitude is not null from delivery.addresses f
    where f.tenant_id = d.tenant_id and f.id = d.pickup_address_id))
  and (d.dropoff_zone_id is not null or (select t.latitude is not null from delivery.addresses t
    where t.tenant_id = d.tenant_id and t.id = d.dropoff_address_id));

-- Assignments as lists show them. What stands beside a row is looked up for the rows of a page only, so
-- each is a sub-select. customer, delivery_details and route are shown when asked for (`include`). Ids are chosen by case
-- and not by coalesce(), which PostgreSQL takes for leaky: under row-level security it would read every profile.
create view delivery.assignments_list with (security_invoker = true) as
select a.id, a.tenant_id, a.delivery_id, a.driver_id, a.vehicle_id, a.bulk_assignment_id, a.assigned_by as assigned_by_id,
  a.assignment_time, a.status, a.status as assignment_status, a.status = 'pending' as requires_driver_response,
  a.sequence_number, a.estimated_pickup_time, a.estimated_delivery_time, a.notes, a.responded_at, a.response_reason,
  (select json_build_object('id', d.id, 'delivery_code', d.delivery_code, 'external_reference_id', d.external_reference_id,
      'customer', (select json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone)
        from tenancy.people p where p.id = case when d.customer_id is null then d.institution_user_id else d.customer_id end),
      'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'postponed_to', d.postponed_to,
      'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due,
      'parcel', d.parcel, 'sender', d.sender, 'recipient', d.recipient)
    from delivery.deliveries_list d where d.tenant_id = a.tenant_id and d.id = a.delivery_id) as delivery,
  json_build_object('id', a.driver_id, 'user', (select json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone)
    from tenancy.people p where p.id = a.driver_id)) as drivers,
  (select json_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url)
    from delivery.vehicles v where v.tenant_id = a.tenant_id and v.id = a.vehicle_id) as vehicle,
  (select json_build_object('id', p.id, 'full_name', p.full_name) from tenancy.profiles p where p.id = a.assigned_by) as assigned_by,
  (select json_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email)
    from delivery.deliveries d
    join tenancy.people p on p.id = case when d.customer_id is null then d.institution_user_id else d.customer_id end
    where d.tenant_id = a.tenant_id and d.id = a.delivery_id) as customer,
  (select json_build_object('status', d.status, 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg,
      'delivery_flow', d.delivery_flow, 'unit_size', d.unit_size, 'payer_type', d.payer_type, 'payment_method', d.payment_method,
      'notes', d.notes,
      'pickup', case when a.from_warehouse_id is null then d.pickup_address
        else delivery.warehouse_place(a.tenant_id, a.from_warehouse_id, d.pickup_address) end,
      'dropoff', case when a.to_warehouse_id is null then d.dropoff_address
        else delivery.warehouse_place(a.tenant_id, a.to_warehouse_id, d.dropoff_address) end,
      'promised_at', d.promised_at, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'picked_up_at', d.picked_up_at,
      'cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due,
      'parcel', d.parcel, 'sender', d.sender, 'recipient', case when a.to_warehouse_id is null then d.recipient else '{}' end)
    from delivery.deliveries_list d where d.tenant_id = a.tenant_id and d.id = a.delivery_id) as delivery_details,
  a.route_details as route
from delivery.assignments a;

grant select on delivery.assignments_list, delivery.open_assignments, delivery.delivery_zone_context to barid_caller;
