-- The rules of who may carry which delivery. One check serves the single assignment, the bulk, its dry run, the
-- hand-over and the warehouse's default driver.

-- The zones of these deliveries; of some there is no row. Whatever keeps the view from answering is the
-- server's fault and none of the caller's, also where PostgreSQL calls it a wrong value. A deadlock, a lock that is waited for too
-- long and a server that stops are passed on: such a call is made again, or answered 503.
-- SECURITY DEFINER: a caller who sees a delivery learns nothing but its zones, and to ask the policies of its addresses costs more than
-- the rest of the check.
-- Fails: internal_server_error. Raises those.
create or replace function delivery.zones_of(delivery_ids uuid[])
returns table (delivery_id uuid, pickup_zone_id uuid, dropoff_zone_id uuid)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query select z.delivery_id, z.pickup_zone_id, z.dropoff_zone_id
    from delivery.delivery_zone_context z
    where z.tenant_id = v_tenant and z.delivery_id = any (delivery_ids);
exception
  when deadlock_detected or serialization_failure or lock_not_available or insufficient_resources or operator_intervention then
    raise;
  when others then
    raise warning 'the zones of deliveries cannot be read: % %', sqlstate, sqlerrm;
    perform app.fail('internal_server_error');
end $$;

-- The end of these deliveries of which nobody knows where it is, since its address has neither a zone nor coordinates: pickup, dropoff, or both
-- where one lacks this and another that. SECURITY DEFINER: as delivery.zones_of, which has no row of them.
create or replace function delivery.ends_unknown(delivery_ids uuid[]) returns text
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select case when bool_or(u.pickup) and bool_or(u.dropoff) then 'both' when bool_or(u.pickup) then 'pickup' else 'dropoff' end
    from delivery.deliveries d
    cross join lateral (
      select d.pickup_zone_id is null and (select f.latitude is null from delivery.addresses f
          where f.tenant_id = d.tenant_id and f.id = d.pickup_address_id) as pickup,
        d.dropoff_zone_id is null and (select t.latitude is null from delivery.addresses t
          where t.tenant_id = d.tenant_id and t.id = d.dropoff_address_id) as dropoff) u
    where d.tenant_id = v_tenant and d.id = any (delivery_ids));
end $$;
grant execute on function delivery.ends_unknown(uuid[]) to barid_caller;

-- Checks deliveries, in the order asked for, for a driver with so many units free. A parent stands for the
-- first of its legs, in their sequence, that is neither over nor a draft.
-- code is null for what may be assigned. Capacity is given in order: what no longer fits is refused, and
-- what comes after and fits may pass. missing_zones: those of the delivery that the driver does not go to. Those of `carried`
-- are on the road already: nobody fetches or prepares them any more.
create or replace function delivery.assignments_evaluate(delivery_ids uuid[], driver uuid, units_free numeric, carried uuid[] default '{}')
returns table (place integer, requested_id uuid, delivery_id uuid, units numeric, code text, missing_zones uuid[],
  pickup_open boolean, dropoff_open boolean, takes_handoff boolean, unstaged_inbound boolean)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_all_zones boolean := coalesce((select d.all_zones from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver), false);
  v_zones uuid[] := array(select z.zone_id from delivery.driver_zones z where z.tenant_id = v_tenant and z.driver_id = driver);
  v_free numeric := units_free;
  v_line record;
begin
  for v_line in
    with asked as (
      select r.place, r.id as requested_id, d.id as known_id, m.*, row_number() over (partition by r.id order by r.place) as time
      from unnest(delivery_ids) with ordinality r (id, place)
      -- Says once more which rows are meant: PostgreSQL would rather read all deliveries of a tenant who has not many thousands.
      left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = r.id and d.id = any (delivery_ids)
      left join lateral (
        (select g.id as delivery_id, g.status, g.carrier_type, g.unit_size, g.delivery_flow, g.manifest_id, delivery.leaves_warehouse(g) as leaves
        from delivery.deliveries g
        where d.delivery_flow = 'pnd_parent' and g.tenant_id = v_tenant and g.parent_id = d.id
          and g.status not in ('draft', 'delivered', 'returned', 'cancelled')
        order by g.sequence_plan limit 1)
        union all
        select d.id, d.status, d.carrier_type, d.unit_size, d.delivery_flow, d.manifest_id,
          d.delivery_flow <> 'standard' and delivery.leaves_warehouse(d)
        where d.delivery_flow <> 'pnd_parent' and (d.parent_id is null or d.status <> 'draft')
      ) m on true
    ), line as materialized (
      -- Checks on the rows themselves come first: where they decide, the warehouse and the zones are not read.
      select a.*, case
          when a.known_id is null then 'delivery_not_found'
          when a.time > 1 or row_number() over (partition by a.delivery_id order by a.place) > 1 and a.delivery_id is not null
            then 'duplicate_deliveries'
          when a.delivery_id is null then 'no_active_child_leg'
          when a.carrier_type <> 'internal' then 'delivery_carrier_not_internal'
          when exists (select from delivery.open_assignments l where l.tenant_id = v_tenant and l.delivery_id = a.delivery_id)
            then 'delivery_already_assigned'
          when a.status <> 'pending' and a.delivery_id <> all (carried) then 'delivery_status_changed'
        end as code
      from asked a
    )
    select r.place, r.requested_id, r.delivery_id, r.unit_size, case
        when r.code is not null then r.code
        when p.code is not null then p.code
        when z.delivery_id is null then 'deliveries_zone_context_incomplete'
        when not v_all_zones and not coalesce(
          (z.pickup_zone_id = any (v_zones) or r.delivery_id = any (carried)) and z.dropoff_zone_id = any (v_zones), false)
          then 'driver_not_allowed_in_zones'
      end as code,
      case when v_all_zones then '{}' else
        array(select distinct n.id from unnest(array[case when r.delivery_id <> all (carried) then z.pickup_zone_id end, z.dropoff_zone_id]) n (id)
          where n.id is not null and n.id <> all (v_zones)) end as missing_zones,
      v_all_zones or coalesce(z.pickup_zone_id = any (v_zones), false) as pickup_open,
      v_all_zones or coalesce(z.dropoff_zone_id = any (v_zones), false) as dropoff_open,
      -- A parcel that a warehouse has picked goes into the driver's hands there.
      coalesce(r.leaves and exists (select from warehousing.picking_orders o
        where o.tenant_id = v_tenant and o.delivery_id = r.delivery_id and o.status = 'completed'), false) as takes_handoff,
      coalesce(r.delivery_flow = 'pnd_inbound' and r.manifest_id is not null, false) as unstaged_inbound
    from line r
    left join delivery.preparation_problem(array(select i.delivery_id from line i where i.code is null and i.delivery_id <> all (carried))) p
      on p.delivery_id = r.delivery_id
    left join delivery.zones_of(array(select i.delivery_id from line i where i.code is null)) z on z.delivery_id = r.delivery_id
    order by r.place
  loop
    place := v_line.place;
    requested_id := v_line.requested_id;
    delivery_id := v_line.delivery_id;
    units := v_line.unit_size;
    code := v_line.code;
    missing_zones := v_line.missing_zones;
    pickup_open := v_line.pickup_open;
    dropoff_open := v_line.dropoff_open;
    takes_handoff := v_line.takes_handoff;
    unstaged_inbound := v_line.unstaged_inbound;
    if code is null and units > v_free then
      code := 'insufficient_vehicle_capacity';
    elsif code is null then
      v_free := v_free - units;
    end if;
    return next;
  end loop;
end $$;

-- Why a driver may get nothing with this vehicle, whatever the delivery: a code, or null.
create or replace function delivery.driver_problem(driver delivery.drivers, vehicle delivery.vehicles) returns text
language plpgsql stable set search_path = '' as $$
begin
  return case
    when driver.status <> 'active' or not exists (select from tenancy.tenant_users u
      where u.tenant_id = driver.tenant_id and u.user_id = driver.user_id and u.is_active and u.tenant_user_type = 'driver') then 'driver_not_active'
    when vehicle.id is null then 'driver_has_no_vehicle'
    when not vehicle.is_active then 'vehicle_inactive'
  end;
end $$;

-- Everything a request to assign comes to, before anything is written:
--   {driver_id, vehicle_id, capacity, used, total, after, code, lines}
-- code: why the driver may get nothing at all. lines: delivery.assignments_evaluate, in order.
-- total: the units of what may be assigned. With `locked`, a plan that can be carried out as a whole stays so
-- until the transaction ends.
-- Locks: deliveries, picking orders, driver, vehicle. Fails: driver_not_found, vehicle_not_found.
create or replace function delivery.assignments_plan(delivery_ids uuid[], driver_id uuid, vehicle_id uuid, locked boolean, carried uuid[] default '{}')
returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_driver delivery.drivers;
  v_vehicle delivery.vehicles;
  v_code text;
  v_lines jsonb;
  v_total numeric;
  v_plan jsonb;
begin
  -- A late caller is refused without waiting for locks: of many who want the same, most do.
  if locked and exists (select from delivery.open_assignments a where a.tenant_id = v_tenant and a.delivery_id = any (delivery_ids)) then
    v_plan := delivery.assignments_plan(delivery_ids, driver_id, vehicle_id, false, carried);
    if v_plan ->> 'code' is not null or jsonb_path_exists(v_plan, '$.lines[*].code ? (@ != null)') then
      return v_plan;
    end if;
  end if;
  if locked then
    perform delivery.lock_deliveries(delivery_ids);
    perform from warehousing.picking_orders o
    where o.tenant_id = v_tenant and o.delivery_id = any (delivery_ids || array(
      select g.id from delivery.deliveries g where g.tenant_id = v_tenant and g.parent_id = any (delivery_ids)))
    order by o.id for share;
    perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = assignments_plan.driver_id for no key update;
  end if;
  select * into v_driver from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = assignments_plan.driver_id;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  select * into v_vehicle from delivery.vehicles v
  where v.tenant_id = v_tenant and v.id = coalesce(assignments_plan.vehicle_id, v_driver.vehicle_id);
  if v_vehicle.id is null and assignments_plan.vehicle_id is not null then
    perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
  end if;
  -- A vehicle that no driver has goes to one at a time: who takes it next waits, and then sees that it is taken.
  if locked and v_vehicle.id is distinct from v_driver.vehicle_id then
    select * into v_vehicle from delivery.vehicles v where v.tenant_id = v_tenant and v.id = v_vehicle.id for no key update;
  elsif locked then
    select * into v_vehicle from delivery.vehicles v where v.tenant_id = v_tenant and v.id = v_vehicle.id for share;
  end if;
  v_code := coalesce(delivery.driver_problem(v_driver, v_vehicle), case
    when v_vehicle.id is distinct from v_driver.vehicle_id and (
        exists (select from delivery.drivers o where o.tenant_id = v_tenant and o.vehicle_id = v_vehicle.id)
        or exists (select from delivery.assignments a where a.tenant_id = v_tenant and a.vehicle_id = v_vehicle.id
          and a.driver_id <> v_driver.user_id and a.status in ('pending', 'assigned', 'accepted'))) then 'driver_vehicle_taken'
  end);
  select jsonb_agg(to_jsonb(j) order by j.place), coalesce(sum(j.units) filter (where j.code is null), 0) into v_lines, v_total
  from delivery.assignments_evaluate(delivery_ids, v_driver.user_id, coalesce(v_vehicle.unit_capacity, 0) - v_driver.capacity_used, carried) j;
  return jsonb_build_object('driver_id', v_driver.user_id, 'vehicle_id', v_vehicle.id,
    'capacity', v_vehicle.unit_capacity, 'used', v_driver.capacity_used, 'total', v_total,
    'after', v_driver.capacity_used + v_total, 'code', v_code, 'lines', coalesce(v_lines, '[]'));
end $$;

-- Refuses a plan that cannot be carried out as a whole, for the first of its reasons, naming every
-- delivery it concerns. `field` is what the request calls them; the refusal of a single delivery names its zones
-- more exactly.
create or replace function delivery.assignments_demand(plan jsonb, field text) returns void
language plpgsql set search_path = '' as $$
declare
  v_code text := plan ->> 'code';
  v_concerned jsonb;
  v_line jsonb;
  v_text text;
begin
  if v_code is not null then
    perform app.fail(v_code, jsonb_build_object('field', case when v_code like '%vehicle%' then 'vehicle_id' else 'driver_id' end));
  end if;
  -- Wrong requests before conflicts, and capacity last: what does not fit may only be what comes too much.
  select l.line ->> 'code' into v_code
  from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place)
  where l.line ->> 'code' is not null
  order by coalesce(array_position('{duplicate_deliveries,delivery_not_found}', l.line ->> 'code'),
    2 + array_position('{deliveries_zone_context_incomplete,driver_not_allowed_in_zones,insufficient_vehicle_capacity}', l.line ->> 'code') * 2,
    3), l.place
  limit 1;
  if v_code is null then
    return;
  end if;
  select jsonb_agg(l.line -> 'requested_id' order by l.place) into v_concerned
  from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place) where l.line ->> 'code' = v_code;
  if v_code = 'deliveries_zone_context_incomplete' then
    v_text := 'place_unknown_' || delivery.ends_unknown(array(
      select (l.line ->> 'delivery_id')::uuid from jsonb_array_elements(plan -> 'lines') l (line) where l.line ->> 'code' = v_code));
  end if;
  if field = 'delivery_id' then
    v_line := plan -> 'lines' -> 0;
    v_code := case
      when v_code = 'deliveries_zone_context_incomplete' then 'delivery_zone_validation_unavailable'
      when v_code = 'driver_not_allowed_in_zones' and (v_line ->> 'pickup_open')::boolean then 'driver_not_allowed_in_delivery_zone'
      when v_code = 'driver_not_allowed_in_zones' and (v_line ->> 'dropoff_open')::boolean then 'driver_not_allowed_in_pickup_zone'
      else v_code end;
  end if;
  perform app.fail(v_code, jsonb_strip_nulls(jsonb_build_object('field', field, 'delivery_ids', v_concerned, 'text_key', v_text,
    'missing_zones', (select jsonb_agg(distinct z.id) from jsonb_array_elements(plan -> 'lines') l (line)
      cross join lateral jsonb_array_elements(l.line -> 'missing_zones') z (id) where l.line ->> 'code' = 'driver_not_allowed_in_zones'),
    'capacity', plan -> 'capacity', 'used', plan -> 'used')));
end $$;
