-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.assignments in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "assignments_begin" ON "delivery"."assignments";

CREATE OR REPLACE FUNCTION delivery.assignments_begin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  select w.from_warehouse_id, w.to_warehouse_id, w.route_details into new.from_warehouse_id, new.to_warehouse_id, new.route_details
  from delivery.ways_ahead(new.tenant_id, array[new.delivery_id]) w;
  return new;
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
  select jsonb_agg(l.line || jsonb_build_object('id', l.id, 'sequence_number',
    coalesce((l.line ->> 'sequence_number')::integer, v_last + l.place)) order by l.place), jsonb_agg(l.id order by l.place) into v_lines, v_ids
  from (select p.line, p.place, gen_random_uuid() as id from jsonb_array_elements(plan -> 'lines') with ordinality p (line, place)) l;

  if v_bulk is not null then
    insert into delivery.bulk_assignments (id, tenant_id, driver_id, assignment_count, total_units, assigned_by)
    values (v_bulk, v_tenant, v_driver, v_count, (plan ->> 'total')::numeric, v_actor);
  end if;
  -- Before the assignments: the guard of deliveries does not ask who carries one. A parcel on the road keeps its status and is written
  -- all the same, so that the list of what changed since shows its new driver.
  update delivery.deliveries d set
    status = case when d.status <> 'pending' then d.status when v_accepted then 'accepted' else 'assigned' end,
    status_reason = case when d.status <> 'pending' then d.status_reason end
  from jsonb_to_recordset(v_lines) l (delivery_id uuid) where d.tenant_id = v_tenant and d.id = l.delivery_id;
  insert into delivery.assignments (id, tenant_id, delivery_id, driver_id, vehicle_id, bulk_assignment_id, status, sequence_number,
    units, estimated_pickup_time, estimated_delivery_time, notes, assigned_by, handed_over_from, responded_at,
    from_warehouse_id, to_warehouse_id, route_details)
  select l.id, v_tenant, l.delivery_id, v_driver, v_vehicle, v_bulk, v_status, l.sequence_number, l.units,
    app.promised_until(l.estimated_pickup_time), app.promised_until(l.estimated_delivery_time), l.notes, v_actor, l.handed_over_from,
    case when v_accepted then clock_timestamp() end, w.from_warehouse_id, w.to_warehouse_id, w.route_details
  from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, units numeric, sequence_number integer,
    estimated_pickup_time text, estimated_delivery_time text, notes text, handed_over_from uuid)
  left join delivery.ways_ahead(v_tenant, app.uuids(jsonb_path_query_array(v_lines, '$[*].delivery_id'))) w on w.delivery_id = l.delivery_id
  order by l.sequence_number;

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
      'assignment_count', v_count, 'total_units', plan -> 'total', 'requires_driver_response', v_status = 'pending'))
    || delivery.codes_noted(v_tenant, array(select l.delivery_id from jsonb_to_recordset(v_lines) l (delivery_id uuid))));
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
    from_warehouse_id, to_warehouse_id, route_details)
  select x.tenant_id, x.delivery_id, x.driver_id, x.vehicle_id, 'accepted', x.sequence_number, x.units, x.notes, app.user_id(), clock_timestamp(),
    w.from_warehouse_id, w.to_warehouse_id, x.route_details
  from delivery.assignments x
  cross join lateral delivery.ways_ahead(x.tenant_id, array[x.delivery_id]) w
  where x.tenant_id = o.tenant_id and x.id = o.assignment_id
  returning * into a;
  update delivery.outcomes x set new_assignment_id = a.id where x.tenant_id = o.tenant_id and x.id = o.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created',
    'entity_type', 'assignment', 'entity_id', a.id, 'event_data', jsonb_build_object('assignment_ids', array[a.id], 'driver_id', a.driver_id,
      'status', a.status, 'delivery_ids', array[a.delivery_id], 'total_units', a.units, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.ways_ahead(tenant uuid, delivery_ids uuid[])
 RETURNS TABLE(delivery_id uuid, from_warehouse_id uuid, to_warehouse_id uuid, route_details jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE TRIGGER assignments_begin BEFORE INSERT ON delivery.assignments FOR EACH ROW WHEN ((new.route_details IS NULL)) EXECUTE FUNCTION delivery.assignments_begin();

REVOKE ALL ON FUNCTION "delivery"."ways_ahead"(uuid, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."ways_ahead"(uuid, uuid[]) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130231932';
end $$;

grant execute on function private.schema_version() to barid_api;
