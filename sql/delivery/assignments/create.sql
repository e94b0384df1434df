-- Assigning. One statement for each table that is written, however many deliveries there are.

-- Carries out a plan whose lines may all be assigned: {bulk?, notify?: type, confirm?, accepted?} -> {ids, bulk_assignment_id}.
-- With confirm the driver has to answer whatever the tenant's setting says; with accepted the driver has done so already.
-- A line may bring sequence_number, estimated_pickup_time, estimated_delivery_time and notes of its own;
-- without a number it follows the driver's last. The way by road is measured after the commit.
-- The deliveries, the picks and the driver are locked already.
create or replace function delivery.assignments_write(plan jsonb, options jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
end $$;

-- The requested deliveries that another one stands for, or null when there is none.
create or replace function delivery.resolved_deliveries(plan jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('requested_delivery_id', l.line -> 'requested_id', 'assigned_delivery_id', l.line -> 'delivery_id')
      order by l.place)
    from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place)
    where l.line -> 'requested_id' <> l.line -> 'delivery_id');
end $$;

-- Assigns one delivery. {delivery_id, driver_id?, vehicle_id?, estimated_pickup_time?, estimated_delivery_time?,
-- sequence_number?, notes?, replace_offer?} -> {id, resolved_delivery_id?}
-- With replace_offer it is taken from a driver whom an automatic assignment has only asked yet.
-- Without a driver it goes to the default one, which only a manifest's leg into the warehouse may, where
-- the setting allow_warehouse_staging_without_assigned_driver says so.
-- Fails: assignment_driver_required, and what a plan fails with.
create or replace function delivery.assignment_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_plan jsonb;
  v_made jsonb;
begin
  if (input ->> 'replace_offer')::boolean then
    perform delivery.offers_withdraw(array[(input ->> 'delivery_id')::uuid], v_driver);
  end if;
  v_plan := delivery.assignments_plan(array[(input ->> 'delivery_id')::uuid],
    coalesce(v_driver, delivery.staging_driver(), app.refuse('assignment_driver_required', '{"field": "driver_id"}')),
    (input ->> 'vehicle_id')::uuid, true);
  if v_driver is null and not (v_plan #>> '{lines,0,unstaged_inbound}')::boolean and v_plan #>> '{lines,0,code}' is distinct from 'delivery_not_found' then
    perform app.fail('assignment_driver_required', '{"field": "driver_id"}');
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_id');
  v_made := delivery.assignments_write(jsonb_set(v_plan, '{lines,0}', v_plan #> '{lines,0}' || jsonb_strip_nulls(jsonb_build_object(
    'estimated_pickup_time', input -> 'estimated_pickup_time', 'estimated_delivery_time', input -> 'estimated_delivery_time',
    'sequence_number', input -> 'sequence_number', 'notes', input -> 'notes'))), '{}');
  return jsonb_strip_nulls(jsonb_build_object('id', v_made #> '{ids,0}',
    'resolved_delivery_id', delivery.resolved_deliveries(v_plan) #> '{0,assigned_delivery_id}'));
end $$;

-- Assigns many deliveries to one driver, all or none. {driver_id, delivery_ids, replace_offer?} ->
-- {assignment_ids, bulk_assignment_id, count, total_units, driver_capacity_used, resolved_deliveries?}
-- dry_run: true writes nothing and says of each what would become of it; offers that would be withdrawn are, and come back:
-- {dry_run, ok, results: [{delivery_id, assigned_delivery_id?, ok, code?, params?}], capacity: {vehicle, used, after}}
-- Fails: what a plan fails with.
create or replace function delivery.assignment_bulk_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_dry boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_ids uuid[] := app.uuids(input -> 'delivery_ids');
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_replaces boolean := coalesce((input ->> 'replace_offer')::boolean, false);
  v_plan jsonb;
begin
  if v_dry then
    begin
      if v_replaces then
        perform delivery.offers_withdraw(v_ids, v_driver);
      end if;
      v_plan := delivery.assignments_plan(v_ids, v_driver, null, false);
      raise exception using errcode = 'DRYRN';
    exception when sqlstate 'DRYRN' then
      return delivery.assignments_preview(v_plan);
    end;
  end if;
  if v_replaces then
    perform delivery.offers_withdraw(v_ids, v_driver);
  end if;
  v_plan := delivery.assignments_plan(v_ids, v_driver, null, true);
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  return delivery.bulk_made(v_plan, delivery.assignments_write(v_plan, '{"bulk": true}'));
end $$;

-- The answer to a bulk that was written.
create or replace function delivery.bulk_made(plan jsonb, made jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_strip_nulls(jsonb_build_object('assignment_ids', made -> 'ids', 'bulk_assignment_id', made -> 'bulk_assignment_id',
    'count', jsonb_array_length(made -> 'ids'), 'total_units', plan -> 'total', 'driver_capacity_used', plan -> 'after',
    'resolved_deliveries', delivery.resolved_deliveries(plan)));
end $$;

-- A plan that is returned, not carried out. Where the driver may get nothing, no delivery passes.
create or replace function delivery.assignments_preview(plan jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('dry_run', true, 'ok', bool_and(l.code is null),
      'results', coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('delivery_id', l.line -> 'requested_id',
        'assigned_delivery_id', case when l.line -> 'requested_id' <> l.line -> 'delivery_id' then l.line -> 'delivery_id' end,
        'ok', l.code is null, 'code', l.code,
        'missing_zones', case when l.code = 'driver_not_allowed_in_zones' then l.line -> 'missing_zones' end)) order by l.place), '[]'),
      'capacity', jsonb_build_object('vehicle', plan -> 'capacity', 'used', plan -> 'used',
        'after', case when plan ->> 'code' is null then plan -> 'after' else plan -> 'used' end))
    from (
      select l.line, l.place, coalesce(
        case when plan ->> 'code' is null or l.line ->> 'code' <> 'insufficient_vehicle_capacity' then l.line ->> 'code' end,
        plan ->> 'code') as code
      from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place)
    ) l);
end $$;
