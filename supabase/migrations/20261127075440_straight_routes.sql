-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.assignments_begin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  select case when d.delivery_flow <> 'pnd_inbound' then d.current_warehouse_id end,
    case when d.transfer_kind is not null and delivery.is_transferred(d) then d.dropoff_warehouse_id end
  into new.from_warehouse_id, new.to_warehouse_id
  from delivery.deliveries d where d.tenant_id = new.tenant_id and d.id = new.delivery_id;
  if new.route_details is null then
    new.route_details := delivery.straight_route(new.tenant_id, new.delivery_id, new.from_warehouse_id, new.to_warehouse_id);
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION delivery.routes_remeasure(delivery_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_assignments uuid[];
begin
  with stale as (
    update delivery.assignments a
    set route_details = delivery.straight_route(a.tenant_id, a.delivery_id, a.from_warehouse_id, a.to_warehouse_id)
    where a.tenant_id = app.tenant_id() and a.delivery_id = any (delivery_ids)
      and a.status in ('pending', 'assigned', 'accepted')
    returning a.id
  )
  select array_agg(s.id) into v_assignments from stale s;
  if v_assignments is not null then
    perform app.job_add('delivery.measure_routes', jsonb_build_object('assignment_ids', v_assignments));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.routes_store(tenant uuid, routes text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.routes_to_measure(tenant uuid, assignment_ids text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.straight_route(tenant uuid, delivery uuid, from_warehouse uuid, to_warehouse uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

REVOKE ALL ON FUNCTION "delivery"."straight_route"(uuid, uuid, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."straight_route"(uuid, uuid, uuid, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127075440';
end $$;

grant execute on function private.schema_version() to barid_api;
