drop view if exists delivery.deliveries_list cascade;

drop view if exists delivery.deliveries_carried cascade;

drop view if exists delivery.handoffs_list cascade;

drop view if exists delivery.delivery_exceptions_list cascade;

-- Deliveries as lists show them. The driver is the one who has it, or had it last. What belongs to a row stands in
-- sub-selects and not in joins: they are asked for the rows of a page only, after it was sorted and cut.
create view delivery.deliveries_list with (security_invoker = true) as
select d.id, d.tenant_id, d.delivery_code, d.barcode, d.external_reference_id, d.status, d.status_reason, d.status_notes,
  d.delivery_flow, d.parent_id, d.leg, d.sequence_plan, d.original_delivery_id, d.parent_id is not null as is_leg,
  d.customer_id, d.institution_user_id,
  case when d.customer_id is not null then coalesce(
    (select jsonb_build_object('id', c.id, 'full_name', c.full_name, 'phone', c.phone) from tenancy.people c where c.id = d.customer_id),
    jsonb_build_object('id', d.customer_id, 'full_name', null, 'phone', null)) end as customer,
  case when d.institution_user_id is not null then coalesce(
    (select jsonb_build_object('id', i.id, 'full_name', i.full_name, 'phone', i.phone) from tenancy.people i where i.id = d.institution_user_id),
    jsonb_build_object('id', d.institution_user_id, 'full_name', null, 'phone', null)) end as institution,
  d.delivery_service_id,
  jsonb_build_object('id', d.delivery_service_id, 'code', d.service_snapshot ->> 'code',
    'name', coalesce(nullif(d.service_snapshot #>> array['name', (select app.language())], ''), app.localized(d.service_snapshot -> 'name')))
    as delivery_service,
  d.carrier_type, d.carrier_code, d.payer_type, d.payment_method,
  case when d.parent_id is null then d.delivery_fee else (delivery.due_on(d) ->> 'delivery_fee')::numeric end as price,
  case when d.parent_id is null then d.delivery_fee else (delivery.due_on(d) ->> 'delivery_fee')::numeric end as delivery_fee,
  case when d.parent_id is null then d.cod_amount else (delivery.due_on(d) ->> 'cod_amount')::numeric end as cod_amount,
  case when d.parent_id is null then coalesce(d.ordered_cod_amount, d.cod_amount) else delivery.cod_ordered_on(d) end as ordered_cod_amount,
  d.currency, money.cash_due_on(d) as cash_due, case when d.parent_id is not null then delivery.parcel_of_leg_to_json(d) end as parcel,
  d.unit_size, d.unit_size_source, d.distance_km, d.pickup_address_id, d.dropoff_address_id,
  d.pickup_snapshot as pickup_address, d.dropoff_snapshot as dropoff_address, d.pickup_zone_id, d.dropoff_zone_id,
  d.pickup_warehouse_id, d.dropoff_warehouse_id, d.current_warehouse_id,
  -- As delivery.leaves_warehouse says: who gives it away there has no name.
  case when d.delivery_flow = 'pnd_outbound' or (d.delivery_flow = 'operational_return' and d.pickup_warehouse_id is not null) then null
    when d.source_snapshot #>> '{source,institution,full_name}' is not null and d.source_snapshot #>> '{source,institution,phone}' is not null
      then jsonb_build_object('name', d.source_snapshot #> '{source,institution,full_name}', 'phone', d.source_snapshot #> '{source,institution,phone}')
    -- A store's order is sent by the store, not by its customer.
    when d.order_id is not null then (
      select jsonb_build_object('name', app.localized(t.name), 'phone', t.contact_info ->> 'phone')
      from tenancy.tenants t where t.id = (select app.tenant_id()))
    else (
      select jsonb_build_object(
        'name', coalesce(d.source_snapshot #>> '{source,institution,full_name}', s.full_name,
          (select app.localized(t.name) from tenancy.tenants t where t.id = (select app.tenant_id()))),
        'phone', coalesce(d.source_snapshot #>> '{source,institution,phone}', s.phone))
      from (select case when d.institution_user_id is null then d.customer_id else d.institution_user_id end as id) o
      left join tenancy.people s on s.id = o.id)
    end as sender,
  case when d.delivery_flow = 'pnd_inbound' then jsonb_strip_nulls(jsonb_build_object('received_by', d.recipient -> 'received_by')) else d.recipient end
    as recipient, d.notes, d.manifest_id, d.attempts_used,
  (select jsonb_build_object('id', x.id, 'status', x.status, 'driver_id', x.driver_id, 'driver', jsonb_build_object('id', x.driver_id,
      'full_name', p.full_name, 'phone', p.phone), 'vehicle_id', x.vehicle_id, 'assignment_time', x.assignment_time)
    from delivery.assignments x
    left join tenancy.people p on p.id = x.driver_id
    where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.status <> 'rejected'
    order by x.status in ('pending', 'assigned', 'accepted') desc, x.assignment_time desc limit 1) as assignment,
  d.promised_at, d.picked_up_at, d.delivered_at, d.created_by, d.created_at, d.updated_at,
  d.deliver_after, d.deliver_before, d.postponed_to, d.delivered_in_part
from delivery.deliveries d;

-- The fields beside a delivery wherever it is shown to somebody who may carry it or its cash.
create view delivery.deliveries_carried with (security_invoker = true) as
select d.id, d.tenant_id, jsonb_build_object('cod_amount', d.cod_amount, 'delivery_fee', d.delivery_fee, 'currency', d.currency, 'cash_due', d.cash_due,
  'parcel', d.parcel, 'sender', d.sender, 'recipient', d.recipient) as carried
from delivery.deliveries_list d;

create view delivery.handoffs_list with (security_invoker = true) as
select h.id, h.tenant_id, h.delivery_id, h.picking_order_id, h.assignment_id, h.driver_id, h.status, h.custody, h.warehouse_id,
  h.completed_at, h.created_at, h.updated_at,
  jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status, 'delivery_flow', d.delivery_flow,
    'parent_id', d.parent_id, 'leg', d.leg)
    || (select c.carried from delivery.deliveries_carried c where c.tenant_id = h.tenant_id and c.id = h.delivery_id) as delivery,
  jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) as warehouse,
  case when h.driver_id is not null then jsonb_build_object('id', h.driver_id, 'full_name', p.full_name) end as driver
from delivery.package_handoffs h
left join delivery.deliveries d on d.tenant_id = h.tenant_id and d.id = h.delivery_id
left join warehousing.warehouses w on w.tenant_id = h.tenant_id and w.id = h.warehouse_id
left join tenancy.profiles p on p.id = h.driver_id;

-- The driver of a leg sees the leg and not the parcel, whose code and status these are.
create view delivery.delivery_exceptions_list with (security_invoker = true) as
select e.id, e.tenant_id, e.delivery_id, e.type, e.status, e.items, e.notes, e.resolution, e.resolution_notes, e.created_by, e.resolved_by,
  e.resolved_at, e.created_at, e.updated_at,
  coalesce(d.delivery_code, p.delivery_code) as delivery_code, coalesce(d.status, p.status) as delivery_status,
  jsonb_build_object('id', coalesce(d.id, p.id), 'delivery_code', coalesce(d.delivery_code, p.delivery_code),
    'barcode', coalesce(d.barcode, p.barcode), 'status', coalesce(d.status, p.status),
    'delivery_flow', coalesce(d.delivery_flow, p.delivery_flow), 'parent_id', d.parent_id) as delivery
from delivery.delivery_exceptions e
left join delivery.deliveries d on d.tenant_id = e.tenant_id and d.id = e.delivery_id
left join lateral (
  select t.* from delivery.deliveries l cross join lateral delivery.parcel_terms(l) t
  where d.id is null and l.tenant_id = e.tenant_id and l.parent_id = e.delivery_id limit 1) p on true;

grant select on delivery.deliveries_list, delivery.deliveries_carried, delivery.handoffs_list, delivery.delivery_exceptions_list to barid_caller;
