-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.handovers_undo(ended uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_events jsonb;
begin
  with back as (
    insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by,
      responded_at, estimated_pickup_time, estimated_delivery_time)
    select v_tenant, a.delivery_id, f.driver_id, f.vehicle_id, 'accepted', f.sequence_number, a.units, f.notes, a.assigned_by, clock_timestamp(),
      f.estimated_pickup_time, f.estimated_delivery_time
    from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = v_tenant and a.id = any (ended) and a.status in ('rejected', 'returned')
    returning id, driver_id, delivery_id, units
  ), told as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select v_tenant, b.driver_id, 'assignment_created', jsonb_build_object('assignment_id', b.id, 'assignment_count', 1,
      'total_units', b.units, 'requires_driver_response', false) || delivery.codes_noted(v_tenant, array[b.delivery_id])
    from back b
  )
  select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created', 'entity_type', 'assignment',
    'entity_id', b.id, 'event_data', jsonb_build_object('assignment_ids', array[b.id], 'driver_id', b.driver_id, 'status', 'accepted',
      'delivery_ids', array[b.delivery_id], 'total_units', b.units, 'actor_id', app.user_id())) order by b.id)
  into v_events from back b;
  if v_events is not null then
    perform app.events_add(v_events);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_reassign(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  if o.assignment_id is null or exists (select from delivery.assignments x
      where x.tenant_id = o.tenant_id and x.delivery_id = d.id and x.status in ('assigned', 'accepted')) then
    return;
  end if;
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by, responded_at,
    from_warehouse_id, to_warehouse_id, route_details, estimated_pickup_time, estimated_delivery_time)
  select x.tenant_id, x.delivery_id, x.driver_id, x.vehicle_id, 'accepted', x.sequence_number, x.units, x.notes, app.user_id(), clock_timestamp(),
    w.from_warehouse_id, w.to_warehouse_id, x.route_details, x.estimated_pickup_time, x.estimated_delivery_time
  from delivery.assignments x
  cross join lateral delivery.ways_ahead(x.tenant_id, array[x.delivery_id]) w
  where x.tenant_id = o.tenant_id and x.id = o.assignment_id
  returning * into a;
  update delivery.outcomes x set new_assignment_id = a.id where x.tenant_id = o.tenant_id and x.id = o.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created',
    'entity_type', 'assignment', 'entity_id', a.id, 'event_data', jsonb_build_object('assignment_ids', array[a.id], 'driver_id', a.driver_id,
      'status', a.status, 'delivery_ids', array[a.delivery_id], 'total_units', a.units, 'actor_id', app.user_id()))));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201031900';
end $$;

grant execute on function private.schema_version() to barid_api;
