-- The ways of assignments: as the crow flies from the start, by road once the routing service has answered the job
-- delivery.measure_routes, after the commit.

-- The straight way between where the work of an assignment begins and ends: {distance_km, source: 'haversine'}, with three decimals;
-- null where an address has no coordinates. A warehouse, where one is named, is meant in place of the delivery's own address.
create or replace function delivery.straight_route(tenant uuid, delivery uuid, from_warehouse uuid, to_warehouse uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('distance_km', round(app.distance_km(f.latitude, f.longitude, t.latitude, t.longitude)::numeric, 3),
      'source', 'haversine')
    from delivery.deliveries d
    join delivery.addresses f on f.tenant_id = d.tenant_id and f.id = coalesce(
      (select w.address_id from warehousing.warehouses w where w.tenant_id = tenant and w.id = from_warehouse), d.pickup_address_id)
    join delivery.addresses t on t.tenant_id = d.tenant_id and t.id = coalesce(
      (select w.address_id from warehousing.warehouses w where w.tenant_id = tenant and w.id = to_warehouse), d.dropoff_address_id)
    where d.tenant_id = tenant and d.id = delivery and f.latitude is not null and t.latitude is not null);
end $$;

-- Where these assignments lead: [{id, from: [latitude, longitude], to: [latitude, longitude]}]; those without coordinates, and
-- those measured by road already, are left out.
create or replace function delivery.routes_to_measure(tenant uuid, assignment_ids text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'from', jsonb_build_array(f.latitude, f.longitude),
      'to', jsonb_build_array(t.latitude, t.longitude)) order by a.id), '[]')
    from delivery.assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    left join warehousing.warehouses lies on lies.tenant_id = a.tenant_id and lies.id = a.from_warehouse_id
    left join warehousing.warehouses goes on goes.tenant_id = a.tenant_id and goes.id = a.to_warehouse_id
    join delivery.addresses f on f.tenant_id = d.tenant_id and f.id = coalesce(lies.address_id, d.pickup_address_id)
    join delivery.addresses t on t.tenant_id = d.tenant_id and t.id = coalesce(goes.address_id, d.dropoff_address_id)
    where a.tenant_id = tenant and a.id = any (app.uuids(assignment_ids::jsonb))
      and a.route_details ->> 'source' is distinct from 'routing' and f.latitude is not null and t.latitude is not null);
end $$;

-- Keeps what was measured by road: [{id, route_details}]. Twice is once: what has such a route keeps it. -> how many were new
create or replace function delivery.routes_store(tenant uuid, routes text) returns integer
language plpgsql security definer set search_path = '' as $$
declare
  v_count integer;
begin
  perform from delivery.assignments a
  where a.tenant_id = tenant and a.id in (select r.id from jsonb_to_recordset(routes::jsonb) r (id uuid))
  order by a.id for no key update;
  update delivery.assignments a set route_details = r.route_details
  from jsonb_to_recordset(routes::jsonb) r (id uuid, route_details jsonb)
  where a.tenant_id = tenant and a.id = r.id and r.route_details ->> 'source' = 'routing'
    and a.route_details ->> 'source' is distinct from 'routing';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function delivery.routes_to_measure(uuid, text), delivery.routes_store(uuid, text) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.routes_store(uuid,text), delivery.routes_to_measure(uuid,text) from barid_caller;
