-- Drivers who choose deliveries themselves, where the tenant lets them: setting general.driver.driver_can_self_assign.

-- The driver who asks. Fails: self_assignment_disabled, driver_not_found (no driver of the tenant), driver_off_duty.
create or replace function delivery.require_self_assignment() returns delivery.drivers
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Kilometres from a position to a place: by road where that was measured, else as the crow flies times `detour`; null when one of the
-- two is unknown.
create or replace function delivery.way_to(latitude double precision, longitude double precision, place jsonb, detour double precision)
returns double precision
language plpgsql stable set search_path = '' as $$
declare
  v_latitude double precision := (place ->> 'latitude')::double precision;
  v_longitude double precision := (place ->> 'longitude')::double precision;
begin
  return coalesce(delivery.road_distance_known(way_to.latitude, way_to.longitude, v_latitude, v_longitude),
    detour * app.distance_km(way_to.latitude, way_to.longitude, v_latitude, v_longitude));
end $$;

-- The pending deliveries that the calling driver could be assigned now, the nearest pickup first, then the oldest: of the nearest 300 those that
-- may be assigned. {limit, offset} -> {rows: [{delivery_id, delivery_code, delivery_flow, leg, unit_size, distance_km, pickup, dropoff: {full_address,
-- city, latitude, longitude}, cash_due, currency, deliver_after, deliver_before, promised_at, created_at}], total}
-- SECURITY DEFINER: a driver does not see what nobody carries yet, and sees here neither names nor telephones.
-- Fails: self_assignment_disabled, driver_not_found, driver_off_duty.
create or replace function delivery.assignments_open(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
    where d.tenant_id = v_tenant and d.status = 'pending' and d.postponed_to is null and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
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
        'cash_due', money.cash_due_on(d), 'currency', d.currency, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before,
        'promised_at', d.promised_at, 'created_at', d.created_at) order by o.km nulls last, d.created_at, d.id), '[]')
    from (
      select x.id, x.km from jsonb_to_recordset(v_near) x (id uuid, km double precision)
      join delivery.deliveries y on y.tenant_id = v_tenant and y.id = x.id
      where x.id = any (v_open)
      order by x.km nulls last, y.created_at, x.id limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) o
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = o.id));
end $$;

-- Assigns deliveries to the calling driver, all or none and accepted already. {delivery_ids} -> what a bulk assignment answers
-- SECURITY DEFINER: a driver may not write what they do not carry yet; the plan decides as for everybody else.
-- Fails: self_assignment_disabled, driver_off_duty, what a plan fails with, and delivery_postponed {delivery_ids}.
create or replace function delivery.self_assign(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_driver delivery.drivers := delivery.require_self_assignment();
  v_plan jsonb := delivery.assignments_plan(app.uuids(input -> 'delivery_ids'), v_driver.user_id, null, true);
  v_postponed uuid[];
  v_own jsonb;
begin
  -- Asked once more because the answer was lost: nobody else has them.
  select jsonb_agg(l.line -> 'requested_id' order by l.place) into v_own
  from jsonb_array_elements(v_plan -> 'lines') with ordinality l (line, place)
  left join delivery.open_assignments a on a.tenant_id = v_driver.tenant_id and a.delivery_id = (l.line ->> 'delivery_id')::uuid
    and a.driver_id = v_driver.user_id and l.line ->> 'code' = 'delivery_already_assigned'
  having bool_and(a.id is not null);
  if v_own is not null then
    perform app.fail('delivery_already_assigned', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_own, 'text_key', 'assigned_to_you'));
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  -- The plan holds them.
  v_postponed := array(select d.id from delivery.deliveries d
    where d.tenant_id = app.tenant_id() and d.id = any (app.uuids(input -> 'delivery_ids')) and d.postponed_to is not null order by d.id);
  if cardinality(v_postponed) > 0 then
    perform app.fail('delivery_postponed', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_postponed));
  end if;
  return delivery.bulk_made(v_plan, delivery.assignments_write(v_plan, '{"bulk": true, "accepted": true}'));
end $$;

grant execute on function delivery.assignments_open(jsonb), delivery.self_assign(jsonb) to barid_caller;
