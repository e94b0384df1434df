-- The ways of assignments, measured after the commit. For the job delivery.measure_routes.

-- Where these assignments lead: [{id, from: [latitude, longitude], to: [latitude, longitude], haversine_km}];
-- those without coordinates, and those measured already, are left out.
create or replace function delivery.routes_to_measure(tenant uuid, assignment_ids text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'from', jsonb_build_array(r.f_lat, r.f_lng), 'to', jsonb_build_array(r.t_lat, r.t_lng),
      'haversine_km', round(app.distance_km(r.f_lat, r.f_lng, r.t_lat, r.t_lng)::numeric, 3)) order by r.id), '[]')
    from (
      select a.id, f.latitude as f_lat, f.longitude as f_lng, t.latitude as t_lat, t.longitude as t_lng
      from delivery.assignments a
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      left join warehousing.warehouses lies on lies.tenant_id = a.tenant_id and lies.id = a.from_warehouse_id
      left join warehousing.warehouses goes on goes.tenant_id = a.tenant_id and goes.id = a.to_warehouse_id
      join delivery.addresses f on f.tenant_id = d.tenant_id and f.id = coalesce(lies.address_id, d.pickup_address_id)
      join delivery.addresses t on t.tenant_id = d.tenant_id and t.id = coalesce(goes.address_id, d.dropoff_address_id)
      where a.tenant_id = tenant and a.id = any (app.uuids(assignment_ids::jsonb)) and a.route_details is null
        and f.latitude is not null and t.latitude is not null
    ) r);
end $$;

-- Keeps what was measured: [{id, route_details}]. Twice is once: what has a route keeps it.
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
  where a.tenant_id = tenant and a.id = r.id and a.route_details is null;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function delivery.routes_to_measure(uuid, text), delivery.routes_store(uuid, text) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.routes_store(uuid,text), delivery.routes_to_measure(uuid,text) from barid_caller;
