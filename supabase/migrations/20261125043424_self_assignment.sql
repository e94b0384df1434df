-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.assignment_bulk_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_dry boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_ids uuid[] := app.uuids(input -> 'delivery_ids');
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_plan jsonb;
begin
  if not v_dry and (input ->> 'replace_offer')::boolean then
    perform delivery.offers_withdraw(v_ids, v_driver);
  end if;
  v_plan := delivery.assignments_plan(v_ids, v_driver, null, not v_dry);
  if v_dry then
    return delivery.assignments_preview(v_plan);
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  return delivery.bulk_made(v_plan, delivery.assignments_write(v_plan, '{"bulk": true}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_open(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver delivery.drivers := delivery.require_self_assignment();
  v_vehicle delivery.vehicles;
  v_seen delivery.driver_presence;
  v_zones uuid[] := array(select z.zone_id from delivery.driver_zones z where z.tenant_id = v_tenant and z.driver_id = v_driver.user_id);
  v_detour double precision;
  v_near jsonb;
  v_open uuid[];
begin
  select * into v_vehicle from delivery.vehicles v where v.tenant_id = v_tenant and v.id = v_driver.vehicle_id;
  select * into v_seen from delivery.driver_presence s where s.tenant_id = v_tenant and s.driver_id = v_driver.user_id;
  if delivery.driver_problem(v_driver, v_vehicle) is not null then
    return '{"rows": [], "total": 0}';
  end if;
  v_detour := delivery.detour_factor(v_seen.latitude);
  select jsonb_agg(jsonb_build_object('id', n.id, 'km', n.km) order by n.km nulls last, n.created_at, n.id) into v_near
  from (
    select d.id, d.created_at, delivery.way_to(v_seen.latitude, v_seen.longitude, delivery.fetched_at(d), v_detour) as km
    from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and d.unit_size <= v_vehicle.unit_capacity - v_driver.capacity_used
      and (v_driver.all_zones or d.pickup_zone_id = any (v_zones) and d.dropoff_zone_id = any (v_zones))
    order by km nulls last, d.created_at, d.id limit 300) n;
  -- Each by itself: whether there is room for all of them is not asked.
  v_open := array(
    select e.delivery_id from delivery.assignments_evaluate(array(select x.id from jsonb_to_recordset(v_near) x (id uuid)), v_driver.user_id, 'Infinity') e
    where e.code is null);
  return jsonb_build_object('total', cardinality(v_open), 'rows', (
    select coalesce(jsonb_agg(jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'delivery_flow', d.delivery_flow,
        'leg', d.leg, 'unit_size', d.unit_size, 'distance_km', round(o.km::numeric, 3),
        'pickup', delivery.place_without_people(delivery.fetched_at(d)), 'dropoff', delivery.place_without_people(delivery.brought_to(d)),
        'cash_due', delivery.cash_due_on(d), 'currency', d.currency, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before,
        'promised_at', d.promised_at, 'created_at', d.created_at) order by o.km nulls last, d.created_at, d.id), '[]')
    from (
      select x.id, x.km from jsonb_to_recordset(v_near) x (id uuid, km double precision)
      join delivery.deliveries y on y.tenant_id = v_tenant and y.id = x.id
      where x.id = any (v_open)
      order by x.km nulls last, y.created_at, x.id limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) o
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = o.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_write(plan jsonb, options jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_driver uuid := (plan ->> 'driver_id')::uuid;
  v_vehicle uuid := (plan ->> 'vehicle_id')::uuid;
  v_count integer := jsonb_array_length(plan -> 'lines');
  v_bulk uuid := case when (options ->> 'bulk')::boolean then gen_random_uuid() end;
  v_accepted boolean := coalesce((options ->> 'accepted')::boolean, false);
  v_status text := case when v_accepted then 'accepted' when (options ->> 'confirm')::boolean
    or app.boolean_or(app.settings('general', 'driver') -> 'require_accept_or_reject_for_assignments', true)
    then 'pending' else 'assigned' end;
  v_last integer := coalesce((select max(a.sequence_number) from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted')), 0);
  v_lines jsonb;
  v_ids jsonb;
begin
  select jsonb_agg(l.line || jsonb_build_object('id', gen_random_uuid(), 'sequence_number',
    coalesce((l.line ->> 'sequence_number')::integer, v_last + l.place)) order by l.place) into v_lines
  from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place);
  select jsonb_agg(l.line -> 'id' order by l.place) into v_ids from jsonb_array_elements(v_lines) with ordinality l (line, place);

  if v_bulk is not null then
    insert into delivery.bulk_assignments (id, tenant_id, driver_id, assignment_count, total_units, assigned_by)
    values (v_bulk, v_tenant, v_driver, v_count, (plan ->> 'total')::numeric, v_actor);
  end if;
  -- Before the assignments: the guard of deliveries does not ask who carries one.
  update delivery.deliveries d set status = case when v_accepted then 'accepted' else 'assigned' end, status_reason = null
  from jsonb_to_recordset(v_lines) l (delivery_id uuid) where d.tenant_id = v_tenant and d.id = l.delivery_id and d.status = 'pending';
  insert into delivery.assignments (id, tenant_id, delivery_id, driver_id, vehicle_id, bulk_assignment_id, status, sequence_number,
    units, estimated_pickup_time, estimated_delivery_time, notes, assigned_by, handed_over_from, responded_at)
  select l.id, v_tenant, l.delivery_id, v_driver, v_vehicle, v_bulk, v_status, l.sequence_number, l.units,
    app.instant(l.estimated_pickup_time), app.instant(l.estimated_delivery_time), l.notes, v_actor, l.handed_over_from,
    case when v_accepted then clock_timestamp() end
  from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, units numeric, sequence_number integer,
    estimated_pickup_time text, estimated_delivery_time text, notes text, handed_over_from uuid);

  if plan -> 'lines' @> '[{"takes_handoff": true}]' then
    -- One left by a driver before is taken over; otherwise there is a new one.
    update delivery.package_handoffs h set assignment_id = l.id, driver_id = v_driver
    from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, takes_handoff boolean)
    where l.takes_handoff and h.tenant_id = v_tenant and h.delivery_id = l.delivery_id and h.status = 'pending';
    insert into delivery.package_handoffs (tenant_id, delivery_id, picking_order_id, warehouse_id, assignment_id, driver_id)
    select v_tenant, l.delivery_id, o.id, o.warehouse_id, l.id, v_driver
    from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, takes_handoff boolean)
    join warehousing.picking_orders o on o.tenant_id = v_tenant and o.delivery_id = l.delivery_id and o.status = 'completed'
    where l.takes_handoff and not exists (select from delivery.package_handoffs h
      where h.tenant_id = v_tenant and h.delivery_id = l.delivery_id and h.status = 'pending');
  end if;

  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_driver, coalesce(options ->> 'notify', case when v_bulk is null then 'assignment_created' else 'bulk_assignment_created' end),
    jsonb_strip_nulls(jsonb_build_object('assignment_id', case when v_bulk is null then v_ids -> 0 end, 'bulk_assignment_id', v_bulk,
      'assignment_count', v_count, 'total_units', plan -> 'total', 'requires_driver_response', v_status = 'pending')));
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery',
    'event_type', case when v_bulk is null then 'assignment.created' else 'bulk_assignment.created' end,
    'entity_type', case when v_bulk is null then 'assignment' else 'bulk_assignment' end,
    'entity_id', coalesce(to_jsonb(v_bulk), v_ids -> 0),
    'event_data', jsonb_build_object('assignment_ids', v_ids, 'driver_id', v_driver, 'status', v_status,
      'delivery_ids', jsonb_path_query_array(v_lines, '$[*].delivery_id'), 'total_units', plan -> 'total', 'actor_id', v_actor)
      || case when v_bulk is null then '{}' else jsonb_build_object('bulk_assignment_id', v_bulk) end)));
  perform app.job_add('delivery.measure_routes', jsonb_build_object('assignment_ids', v_ids));
  return jsonb_build_object('ids', v_ids, 'bulk_assignment_id', v_bulk);
end $function$;

CREATE OR REPLACE FUNCTION delivery.bulk_made(plan jsonb, made jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_strip_nulls(jsonb_build_object('assignment_ids', made -> 'ids', 'bulk_assignment_id', made -> 'bulk_assignment_id',
    'count', jsonb_array_length(made -> 'ids'), 'total_units', plan -> 'total', 'driver_capacity_used', plan -> 'after',
    'resolved_deliveries', delivery.resolved_deliveries(plan)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.place_without_people(place jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('full_address', place -> 'full_address', 'city', place -> 'city',
    'latitude', place -> 'latitude', 'longitude', place -> 'longitude');
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_self_assignment()
 RETURNS delivery.drivers
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_driver delivery.drivers;
begin
  if not app.boolean_or(app.settings('general', 'driver') -> 'driver_can_self_assign', false) then
    perform app.fail('self_assignment_disabled');
  end if;
  select * into v_driver from delivery.drivers r where r.tenant_id = app.tenant_id() and r.user_id = app.user_id();
  if not found then
    perform app.fail('driver_not_found');
  end if;
  if not exists (select from delivery.driver_presence s
      where s.tenant_id = v_driver.tenant_id and s.driver_id = v_driver.user_id and s.on_duty) then
    perform app.fail('driver_off_duty');
  end if;
  return v_driver;
end $function$;

CREATE OR REPLACE FUNCTION delivery.self_assign(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_driver delivery.drivers := delivery.require_self_assignment();
  v_plan jsonb := delivery.assignments_plan(app.uuids(input -> 'delivery_ids'), v_driver.user_id, null, true);
begin
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  return delivery.bulk_made(v_plan, delivery.assignments_write(v_plan, '{"bulk": true, "accepted": true}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.way_to(latitude double precision, longitude double precision, place jsonb, detour double precision)
 RETURNS double precision
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_latitude double precision := (place ->> 'latitude')::double precision;
  v_longitude double precision := (place ->> 'longitude')::double precision;
begin
  return coalesce(delivery.road_distance_known(way_to.latitude, way_to.longitude, v_latitude, v_longitude),
    detour * app.distance_km(way_to.latitude, way_to.longitude, v_latitude, v_longitude));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assignments_open"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."assignments_open"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."bulk_made"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."bulk_made"(jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."place_without_people"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."place_without_people"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_self_assignment"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_self_assignment"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."self_assign"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."self_assign"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."way_to"(double precision, double precision, jsonb, double precision) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."way_to"(double precision, double precision, jsonb, double precision) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125043424';
end $$;

grant execute on function private.schema_version() to barid_api;
