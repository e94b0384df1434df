-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: 21a6c30612f6a1fdb7b4f460fc922daafa91e1ce90ed217bb9f905602355eb94
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.lock_driver(driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from delivery.drivers r where r.tenant_id = v_tenant and r.user_id = driver for no key update;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_carrier(d delivery.deliveries)
 RETURNS delivery.assignments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  select * into a from delivery.assignments x
  where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.status in ('pending', 'assigned', 'accepted');
  if not app.has_permission('manage:operations:tenant') and a.driver_id is distinct from app.user_id() then
    perform app.fail(case when d.status in ('delivered', 'returned', 'cancelled') and exists (
      select from delivery.assignments x
      where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.driver_id = app.user_id() and x.status in ('completed', 'returned'))
      then 'assignment_ended' else 'forbidden' end);
  end if;
  -- Handed over on the road: whoever gets the parcel says first that it is there.
  if a.status = 'pending' and d.status in ('picked_up', 'in_transit', 'failed', 'returned') then
    perform app.fail('assignment_not_accepted', jsonb_build_object('status', a.status));
  end if;
  perform delivery.lock_driver(a.driver_id);
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_from_door(d delivery.deliveries, flow text, contents jsonb, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  a delivery.assignments;
  p delivery.deliveries := delivery.parcel_terms(d);
  n delivery.deliveries;
begin
  select * into a from delivery.assignments x
  where x.tenant_id = v_tenant and x.delivery_id = d.id and x.status in ('assigned', 'accepted');
  if not found then
    perform app.fail('delivery_has_no_driver');
  end if;
  n := delivery.operational_return_of(p, input || '{"at_door": true}');
  n.delivery_flow := flow;
  n.status := 'picked_up';
  n.pickup_address_id := p.dropoff_address_id;
  n.pickup_snapshot := p.dropoff_snapshot;
  n.pickup_zone_id := p.dropoff_zone_id;
  n.pickup_warehouse_id := null;
  n.current_warehouse_id := null;
  n.made_at_door := true;
  n.returns_part := contents is not null;
  perform delivery.delivery_insert(n);
  update delivery.deliveries x set picked_up_at = clock_timestamp() where x.tenant_id = v_tenant and x.id = n.id;
  perform delivery.delivery_contents_write(n.id, coalesce(contents, delivery.parcel_contents(p)));
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, assigned_by, responded_at,
    to_warehouse_id)
  values (v_tenant, n.id, a.driver_id, a.vehicle_id, 'accepted', a.sequence_number, n.unit_size, app.user_id(), clock_timestamp(),
    n.dropoff_warehouse_id);
  return n.id;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_take(p_order uuid, details jsonb, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r warehousing.receiving_orders;
  d delivery.deliveries;
begin
  select * into strict r from warehousing.receiving_orders o where o.tenant_id = app.tenant_id() and o.id = p_order for no key update;
  perform delivery.lock_driver(a.driver_id) from delivery.assignments a
  where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.receipt_fill(r, details);
  update warehousing.receiving_orders o set status = 'received', custody = 'in_warehouse', received_at = clock_timestamp(),
    received_by = app.user_id(), notes = coalesce(receipt_take.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if found then
    perform warehousing.parcel_received(d, r);
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'warehouse_id', r.warehouse_id, 'bin_id', p.bin_id, 'quantity', p.quantity,
      'status', p.status, 'lot_number', p.lot_number, 'serial_number', p.serial_number))
    from warehousing.receipt_pieces(r) p),
    'receive', 'receiving_order', r.id);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'receiving_order.received', 'source_module', 'warehousing',
    'entity_type', 'receiving_order', 'entity_id', r.id, 'event_data', jsonb_build_object('receiving_order_id', r.id,
      'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id, 'source', r.source,
      'actor_id', app.user_id()))));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."lock_driver"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_driver"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126012059';
end $$;

grant execute on function private.schema_version() to barid_api;
