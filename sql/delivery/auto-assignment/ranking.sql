-- Whom a delivery is offered to.

-- Every driver of the tenant for a delivery, the next one to ask first, those who may not be asked last:
--   reasons is empty for who may be asked, else it says why not:
--     the code that assigning by hand would fail with, for the delivery or for driver and vehicle
--     zone      does not go there, or another driver has been given the pickup's zone by name (preferred_zone)
--     capacity  no room for it, or less than a fifth of the vehicle would be left (vehicle_capacity)
--     declined  rejected it in this search, or did not answer in time
--     offline   off duty or not heard of (driver_online)
--     away      last seen outside the pickup's zone, or not within 15 minutes (available_in_zone)
--   distance_km: from the last position to the pickup, as the crow flies; null when one of them is unknown
-- Order: fewest stops that are not done, nearest (unknown last), longest since the last assignment, id.
create or replace function delivery.driver_ranking(d delivery.deliveries)
returns table (place bigint, driver_id uuid, live_stops integer, distance_km double precision, reasons text[])
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_checks jsonb := (delivery.auto_assignment_settings()).checks;
  v_online_since timestamptz := now() - delivery.offline_after();
  v_pickup jsonb := delivery.fetched_at(d);
  v_declined uuid[] := coalesce((select s.declined from delivery.driver_searches s
    where s.tenant_id = v_tenant and s.delivery_id = d.id and s.status in ('searching', 'offered')), '{}');
  v_problem text;
  v_places record;
  v_zone delivery.zones;
begin
  -- For nobody, who has room for everything and goes nowhere: what is left is the delivery's own affair.
  select nullif(e.code, 'driver_not_allowed_in_zones') into v_problem
  from delivery.assignments_evaluate(array[d.id], null, 'Infinity') e;
  select z.pickup_zone_id, z.dropoff_zone_id into v_places from delivery.zones_of(array[d.id]) z;
  select * into v_zone from delivery.zones z where z.tenant_id = v_tenant and z.id = v_places.pickup_zone_id;
  return query
  with seen as (
    select r.user_id, r.live_stops, s.on_duty and s.last_heartbeat_at > v_online_since as is_online, p.zone_id is not null as by_name,
      r.all_zones or (p.zone_id is not null and t.zone_id is not null) as goes_there, delivery.driver_problem(r, v) as problem,
      v.unit_capacity - r.capacity_used - d.unit_size as room, v.unit_capacity as capacity,
      app.distance_km(s.latitude, s.longitude, (v_pickup ->> 'latitude')::double precision, (v_pickup ->> 'longitude')::double precision) as km,
      s.recorded_at >= now() - interval '15 minutes' and v_zone.outline operator(pg_catalog.@>) point(s.longitude, s.latitude)
        and not exists (select from unnest(v_zone.holes) h (hole) where h.hole operator(pg_catalog.@>) point(s.longitude, s.latitude)) as is_there
    from delivery.drivers r
    left join delivery.vehicles v on v.tenant_id = r.tenant_id and v.id = r.vehicle_id
    left join delivery.driver_presence s on s.tenant_id = r.tenant_id and s.driver_id = r.user_id
    left join delivery.driver_zones p on p.tenant_id = r.tenant_id and p.driver_id = r.user_id and p.zone_id = v_places.pickup_zone_id
    left join delivery.driver_zones t on t.tenant_id = r.tenant_id and t.driver_id = r.user_id and t.zone_id = v_places.dropoff_zone_id
    where r.tenant_id = v_tenant
  ), checked as (
    select s.user_id, s.live_stops, s.km, s.by_name, array_remove(array[v_problem, s.problem,
      case when not s.goes_there then 'zone' end,
      case when s.room < case when app.boolean_or(v_checks -> 'vehicle_capacity', false) then s.capacity * 0.2 else 0 end then 'capacity' end,
      case when s.user_id = any (v_declined) then 'declined' end,
      case when app.boolean_or(v_checks -> 'driver_online', false) and s.is_online is not true then 'offline' end,
      case when app.boolean_or(v_checks -> 'available_in_zone', false) and s.is_there is not true then 'away' end], null) as why
    from seen s
  ), narrowed as (
    select j.user_id, j.live_stops, j.km, case when app.boolean_or(v_checks -> 'preferred_zone', false) and not j.by_name
      and bool_or(j.by_name and j.why = '{}') over () and not 'zone' = any (j.why) then j.why || 'zone'::text else j.why end as why
    from checked j
  )
  select row_number() over (order by n.why <> '{}', n.live_stops, n.km nulls last, l.assigned_at nulls first, n.user_id),
    n.user_id, n.live_stops, n.km, n.why
  from narrowed n
  left join lateral (
    select max(a.assignment_time) as assigned_at from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = n.user_id) l on n.why = '{}'
  order by 1;
end $$;

-- How many drivers were passed over, each counted for the first of the reasons: {offline, capacity, zone, away, declined}.
-- Those who carry nothing now, as without a vehicle, are not counted. With nothing to count: all zero.
create or replace function delivery.drivers_passed_over(counted jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return '{"offline": 0, "capacity": 0, "zone": 0, "away": 0, "declined": 0}' || coalesce(counted, '{}');
end $$;
