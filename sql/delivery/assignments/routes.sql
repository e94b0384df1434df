-- The ways of assignments: as the crow flies from the start, by road once the routing service has answered the job
-- delivery.measure_routes, after the commit.

-- The coordinates between which the work of an assignment of this delivery begins and ends; no row where an address has none. A warehouse,
-- where one is named, is meant in place of the delivery's own address.
create or replace function delivery.work_places(d delivery.deliveries, from_warehouse uuid, to_warehouse uuid)
returns table (from_latitude double precision, from_longitude double precision, to_latitude double precision, to_longitude double precision)
language plpgsql stable set search_path = '' as $$
begin
  return query
    select f.latitude, f.longitude, t.latitude, t.longitude
    from delivery.addresses f
    join delivery.addresses t on t.tenant_id = d.tenant_id and t.id = coalesce(
      (select w.address_id from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = to_warehouse), d.dropoff_address_id)
    where f.tenant_id = d.tenant_id and f.id = coalesce(
        (select w.address_id from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = from_warehouse), d.pickup_address_id)
      and f.latitude is not null and t.latitude is not null;
end $$;

-- The straight way between where the work of an assignment begins and ends: {distance_km, source: 'haversine'}, with three decimals;
-- null where an address has no coordinates.
create or replace function delivery.straight_route(d delivery.deliveries, from_warehouse uuid, to_warehouse uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('distance_km',
      round(app.distance_km(p.from_latitude, p.from_longitude, p.to_latitude, p.to_longitude)::numeric, 3), 'source', 'haversine')
    from delivery.work_places(d, from_warehouse, to_warehouse) p);
end $$;

-- Where the work of an assignment that is made now would begin and end, one row for each delivery: the warehouse at either end, null for the
-- delivery's own address, and the straight way as delivery.straight_route has it. SECURITY DEFINER: a driver who accepts or takes a
-- delivery reads no warehouses. Fails: forbidden (app.require_tenant).
create or replace function delivery.ways_ahead(tenant uuid, delivery_ids uuid[])
returns table (delivery_id uuid, from_warehouse_id uuid, to_warehouse_id uuid, route_details jsonb)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
begin
  perform app.require_tenant(tenant);
  return query
    select d.id, w.begins, w.ends, case when f.latitude is not null and t.latitude is not null then jsonb_build_object('distance_km',
      round(app.distance_km(f.latitude, f.longitude, t.latitude, t.longitude)::numeric, 3), 'source', 'haversine') end
    from delivery.deliveries d
    cross join lateral (
      select case when d.delivery_flow <> 'pnd_inbound' then d.current_warehouse_id end as begins,
        case when d.transfer_kind is not null and delivery.is_transferred(d) then d.dropoff_warehouse_id end as ends) w
    left join warehousing.warehouses wf on wf.tenant_id = d.tenant_id and wf.id = w.begins
    left join warehousing.warehouses wt on wt.tenant_id = d.tenant_id and wt.id = w.ends
    left join delivery.addresses f on f.tenant_id = d.tenant_id and f.id = coalesce(wf.address_id, d.pickup_address_id)
    left join delivery.addresses t on t.tenant_id = d.tenant_id and t.id = coalesce(wt.address_id, d.dropoff_address_id)
    where d.tenant_id = tenant and d.id = any (ways_ahead.delivery_ids);
end $$;

-- Where these assignments lead: [{id, from: [latitude, longitude], to: [latitude, longitude]}]; those without coordinates, and
-- those measured by road already, are left out.
create or replace function delivery.routes_to_measure(tenant uuid, assignment_ids text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'from', jsonb_build_array(p.from_latitude, p.from_longitude),
      'to', jsonb_build_array(p.to_latitude, p.to_longitude)) order by a.id), '[]')
    from delivery.assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    cross join lateral delivery.work_places(d, a.from_warehouse_id, a.to_warehouse_id) p
    where a.tenant_id = tenant and a.id = any (app.uuids(assignment_ids::jsonb)) and a.route_details ->> 'source' is distinct from 'routing');
end $$;

-- Keeps what was measured by road: [{id, from?, to?, route_details}]. Twice is once: what has such a route keeps it. One that leads elsewhere by now,
-- since the delivery was redirected while the way was measured, is left to the next measuring. -> how many were new
create or replace function delivery.routes_store(tenant uuid, routes text) returns integer
language plpgsql security definer set search_path = '' as $$
declare
  v_count integer;
begin
  -- The log of changes names the company that the request acts in.
  perform set_config('app.tenant_id', tenant::text, true);
  perform from delivery.assignments a
  where a.tenant_id = tenant and a.id in (select r.id from jsonb_to_recordset(routes::jsonb) r (id uuid))
  order by a.id for no key update;
  update delivery.assignments a set route_details = r.route_details
  from jsonb_to_recordset(routes::jsonb) r (id uuid, "from" jsonb, "to" jsonb, route_details jsonb)
  where a.tenant_id = tenant and a.id = r.id and r.route_details ->> 'source' = 'routing'
    and a.route_details ->> 'source' is distinct from 'routing'
    and (r."from" is null or exists (
      select from delivery.deliveries d
      cross join lateral delivery.work_places(d, a.from_warehouse_id, a.to_warehouse_id) p
      where d.tenant_id = a.tenant_id and d.id = a.delivery_id
        and jsonb_build_array(p.from_latitude, p.from_longitude) = r."from" and jsonb_build_array(p.to_latitude, p.to_longitude) = r."to"));
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function delivery.ways_ahead(uuid, uuid[]) to barid_caller;
grant execute on function delivery.routes_to_measure(uuid, text), delivery.routes_store(uuid, text) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.routes_store(uuid,text), delivery.routes_to_measure(uuid,text) from barid_caller;
