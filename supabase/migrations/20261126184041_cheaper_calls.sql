-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.delivery_zone_context in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."delivery_zone_context";

CREATE OR REPLACE FUNCTION delivery.assignments_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    perform delivery.rows_broadcast('assignment.changed', 'assignments', array_agg(r.tenant_id), array_agg(r.driver_id), array_agg(r.line))
    from (
      select n.tenant_id, n.driver_id, jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
        'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number) as line
      from new_rows n order by n.sequence_number, n.id) r;
    return null;
  end if;
  perform delivery.rows_broadcast('assignment.changed', 'assignments', array_agg(r.tenant_id), array_agg(r.driver_id), array_agg(r.line))
  from (
    select n.tenant_id, n.driver_id, jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
      'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number) as line
    from new_rows n join old_rows o on o.id = n.id
    where n.status <> o.status or n.sequence_number <> o.sequence_number
    order by n.sequence_number, n.id) r;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_evaluate(delivery_ids uuid[], driver uuid, units_free numeric, carried uuid[] DEFAULT '{}'::uuid[])
 RETURNS TABLE(place integer, requested_id uuid, delivery_id uuid, units numeric, code text, missing_zones uuid[], pickup_open boolean, dropoff_open boolean, takes_handoff boolean, unstaged_inbound boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_plan(delivery_ids uuid[], driver_id uuid, vehicle_id uuid, locked boolean, carried uuid[] DEFAULT '{}'::uuid[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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

CREATE OR REPLACE FUNCTION delivery.deliveries_after_insert()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_actor uuid := app.user_id();
begin
  insert into delivery.delivery_status_history (tenant_id, delivery_id, to_status, actor_id, note)
  select n.tenant_id, n.id, n.status, v_actor, n.status_reason
  from new_rows n order by n.delivery_code, n.sequence_plan nulls first;
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select n.tenant_id, 'delivery.created', 'delivery', 'delivery', n.id,
    jsonb_build_object('delivery_id', n.id, 'delivery_code', n.delivery_code, 'barcode', n.barcode, 'status', n.status,
      'delivery_flow', n.delivery_flow, 'customer_id', n.customer_id, 'institution_user_id', n.institution_user_id,
      'external_reference_id', n.external_reference_id, 'reason', n.status_reason, 'actor_id', v_actor)
  from new_rows n where n.parent_id is null order by n.delivery_code;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_after_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_actor uuid := app.user_id();
  v_moved bigint;
  v_wrong jsonb;
  v_leaving uuid[];
  v_parents uuid[];
  v_brought_back uuid[];
begin
  -- All that is asked of the moves in one statement: each costs as much to start as to answer.
  select count(*),
    (array_agg(jsonb_build_object('from', o.status, 'to', n.status)) filter (
      where not delivery.move_is_legal(n.delivery_flow, o.status, n.status) and not delivery.move_is_undone(n, o.status)))[1],
    array_agg(coalesce(n.parent_id, n.id)) filter (
      where o.status = 'pending' and n.status not in ('returned', 'cancelled') and n.delivery_flow in ('standard', 'pnd_outbound')),
    array_agg(distinct n.parent_id) filter (where n.parent_id is not null),
    array_agg(n.original_delivery_id) filter (where n.status = 'delivered' and n.delivery_flow = 'operational_return'
      -- A return that ends in a warehouse is back when it is received there (warehousing.parcel_received).
      and (n.dropoff_warehouse_id is null or n.current_warehouse_id = n.dropoff_warehouse_id))
  into v_moved, v_wrong, v_leaving, v_parents, v_brought_back
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status;
  if v_moved = 0 then
    return null;
  end if;
  if v_wrong is not null then
    perform app.fail('invalid_status_transition', v_wrong);
  end if;
  perform app.fail('return_under_way', jsonb_build_object('return_delivery_id', u.return_id))
  from delivery.returns_under_way(coalesce(v_leaving, '{}')) u limit 1;
  insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status, actor_id, note,
    latitude, longitude, distance_m, occurred_at, reported_as)
  select n.tenant_id, n.id, o.status, n.status, v_actor, nullif(concat_ws(': ', n.status_reason, n.status_notes), ''),
    r.latitude, r.longitude, r.distance_m, r.occurred_at, case when r.delivery = n.id then r.reported_as end
  from new_rows n join old_rows o on o.id = n.id
  left join jsonb_to_record(nullif(current_setting('app.reported', true), '')::jsonb)
    r (parcel uuid, delivery uuid, latitude double precision, longitude double precision, distance_m double precision, occurred_at timestamptz,
      reported_as text)
    on r.parcel = coalesce(n.parent_id, n.id)
  where n.status <> o.status order by n.delivery_code, n.sequence_plan nulls first;
  -- Subscribers hear of parcels; a leg shows in its parent. They get numbers, ids and states; no name, phone or address.
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select n.tenant_id, 'delivery.' || n.status, 'delivery', 'delivery', n.id,
    jsonb_build_object('delivery_id', n.id, 'delivery_code', n.delivery_code, 'barcode', n.barcode, 'status', n.status,
      'delivery_flow', n.delivery_flow, 'customer_id', n.customer_id, 'institution_user_id', n.institution_user_id,
      'external_reference_id', n.external_reference_id, 'reason', n.status_reason, 'actor_id', v_actor, 'from_status', o.status)
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null order by n.delivery_code;

  if v_parents is not null then
    perform from delivery.deliveries p where p.id = any (v_parents) order by p.id for no key update;
    update delivery.deliveries p set status = f.status, status_reason = f.reason, status_notes = f.notes, attempts_used = f.attempts,
      postponed_to = f.postponed_to,
      picked_up_at = coalesce(p.picked_up_at, f.picked_up_at),
      delivered_at = case when f.status = 'delivered' then f.delivered_at end
    from (
      select l.tenant_id, l.parent_id, delivery.parent_status(array_agg(l.status order by l.sequence_plan)) as status,
        (array_agg(l.status_reason order by l.updated_at desc, l.sequence_plan desc))[1] as reason,
        (array_agg(l.status_notes order by l.updated_at desc, l.sequence_plan desc))[1] as notes, sum(l.attempts_used) as attempts,
        max(l.postponed_to) as postponed_to,
        min(l.picked_up_at) as picked_up_at, max(l.delivered_at) as delivered_at
      from delivery.deliveries l where l.parent_id = any (v_parents)
      group by l.tenant_id, l.parent_id
    ) f
    where p.tenant_id = f.tenant_id and p.id = f.parent_id and
      (p.status <> f.status or p.attempts_used <> f.attempts or p.postponed_to is distinct from f.postponed_to);
  end if;
  if v_brought_back is not null then
    perform delivery.originals_come_back(v_brought_back);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_fetched constant text[] := '{pending,assigned,accepted}';
begin
  if tg_op = 'INSERT' then
    perform delivery.rows_broadcast('delivery.status', 'deliveries', array_agg(r.tenant_id), null, array_agg(r.line))
    from (
      select n.tenant_id, jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
          'parent_id', n.parent_id, 'status', n.status, 'from_status', null, 'driver_id', null,
          'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
            'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')) as line
      from new_rows n
      cross join lateral (
        select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p
      order by n.delivery_code, n.sequence_plan nulls first) r;
    return null;
  end if;
  perform delivery.rows_broadcast('delivery.status', 'deliveries', array_agg(r.tenant_id), array_agg(r.driver_id), array_agg(r.line))
  from (
    select n.tenant_id, a.driver_id, jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
        'parent_id', n.parent_id, 'status', n.status, 'from_status', o.status, 'driver_id', a.driver_id,
        'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
          'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')) as line
    from new_rows n
    join old_rows o on o.id = n.id
    cross join lateral (
      select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p
    left join delivery.open_assignments a on a.tenant_id = n.tenant_id and a.delivery_id = n.id
    where n.status <> o.status
    order by n.delivery_code, n.sequence_plan nulls first) r;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.drivers_notify(parcels uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := parcels || array(select l.id from delivery.deliveries l
    where l.tenant_id = v_tenant and l.parent_id = any (parcels) and l.status not in ('delivered', 'cancelled'));
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, a.driver_id, 'delivery_changed', jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id,
    'delivery_code', d.delivery_code)
  from delivery.open_assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  where a.tenant_id = v_tenant and a.delivery_id = any (v_family) and a.driver_id is distinct from app.user_id();
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_change_misfit(d delivery.deliveries, service delivery.delivery_services, zone_id uuid, unit_size numeric, quote_error text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_driver uuid;
begin
  if not delivery.service_allows(service, d.institution_user_id, zone_id) then
    return 'delivery_service_not_available';
  elsif quote_error is not null then
    return quote_error;
  end if;
  select a.driver_id into v_driver from delivery.open_assignments a
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id limit 1;
  if found and not delivery.driver_reaches(d.tenant_id, v_driver, zone_id) then
    return 'driver_not_allowed_in_delivery_zone';
  end if;
  return case when unit_size <> d.unit_size and exists (
    select from delivery.deliveries l
    join delivery.open_assignments a on a.tenant_id = l.tenant_id and a.delivery_id = l.id
    where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id)) then 'delivery_already_assigned' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_misfits(parcel uuid, zone_id uuid)
 RETURNS TABLE(assignment_id uuid, delivery_id uuid, driver_id uuid, in_hand boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  select a.id, d.id, a.driver_id, d.status in ('picked_up', 'in_transit', 'failed')
  from delivery.deliveries d
  join delivery.open_assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
  where d.tenant_id = v_tenant and (d.id = parcel or d.parent_id = parcel)
    and d.delivery_flow <> 'pnd_inbound' and not delivery.is_transferred(d) and d.status <> 'returned'
    and not delivery.driver_reaches(d.tenant_id, a.driver_id, redirect_misfits.zone_id)
  order by a.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_carrier(d delivery.deliveries)
 RETURNS delivery.assignments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  -- As delivery.open_assignments has it.
  select * into a from delivery.assignments x
  where x.tenant_id = d.tenant_id and x.delivery_id = d.id and (x.status in ('pending', 'assigned', 'accepted')) is true;
  if not app.has_permission('manage:operations:tenant') and a.driver_id is distinct from app.user_id() then
    perform app.fail(case when d.status in ('delivered', 'returned', 'cancelled') and exists (
      select from delivery.assignments x
      where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.driver_id = app.user_id() and x.status in ('completed', 'returned'))
      then 'assignment_ended' else 'forbidden' end);
  end if;
  -- Handed over on the road: whoever gets the parcel says first that it is there.
  if a.status = 'pending' and d.status in ('picked_up', 'in_transit', 'failed', 'returned') then
    perform app.fail('assignment_not_accepted', jsonb_build_object('status', a.status));
  end if;
  perform delivery.lock_driver(a.driver_id);
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.rows_broadcast(event text, name text, tenants uuid[], drivers uuid[], rows jsonb[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if rows is null then
    return;
  end if;
  perform delivery.broadcast(g.topic, rows_broadcast.event, jsonb_build_object(rows_broadcast.name, g.lines))
  from (
    select t.topic, jsonb_agg(c.line order by c.place) as lines
    from unnest(rows_broadcast.tenants, rows_broadcast.drivers, rows_broadcast.rows) with ordinality c (tenant, driver, line, place)
    cross join lateral (values (format('tenant:%s:board', c.tenant)), ('driver:' || c.driver)) t (topic)
    where t.topic is not null
    group by t.topic, (c.place - 1) / 100
    order by t.topic, min(c.place)) g;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."rows_broadcast"(text, text, uuid[], uuid[], jsonb[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.zones_of(delivery_ids uuid[])
 RETURNS TABLE(delivery_id uuid, pickup_zone_id uuid, dropoff_zone_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query select z.delivery_id, z.pickup_zone_id, z.dropoff_zone_id
    from delivery.delivery_zone_context z
    where z.tenant_id = v_tenant and z.delivery_id = any (delivery_ids);
exception when others then
  raise warning 'the zones of deliveries cannot be read: % %', sqlstate, sqlerrm;
  perform app.fail('internal_server_error');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_take(p_order uuid, details jsonb, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r warehousing.receiving_orders;
  d delivery.deliveries;
begin
  select * into strict r from warehousing.receiving_orders o where o.tenant_id = app.tenant_id() and o.id = p_order for no key update;
  perform delivery.lock_driver(a.driver_id) from delivery.open_assignments a
  where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id;
  perform warehousing.receipt_fill(r, details);
  update warehousing.receiving_orders o set status = 'received', custody = 'in_warehouse', received_at = clock_timestamp(),
    received_by = app.user_id(), notes = coalesce(receipt_take.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if found then
    perform warehousing.parcel_received(d, r);
    -- Its fee, and what was paid for the order that it ends: wallets before stock, as everywhere.
    perform storefront.orders_settle();
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'warehouse_id', r.warehouse_id, 'bin_id', p.bin_id, 'quantity', p.quantity,
      'status', p.status, 'lot_number', p.lot_number, 'serial_number', p.serial_number))
    from warehousing.receipt_pieces(r) p),
    'receive', 'receiving_order', r.id);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'receiving_order.received', 'source_module', 'warehousing',
    'entity_type', 'receiving_order', 'entity_id', r.id, 'event_data', jsonb_build_object('receiving_order_id', r.id,
      'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id, 'source', r.source,
      'actor_id', app.user_id()))));
end $function$;

CREATE VIEW "delivery"."delivery_zone_context" WITH (security_invoker=true) AS  SELECT id AS delivery_id,
    pickup_zone_id,
    dropoff_zone_id,
    tenant_id
   FROM delivery.deliveries d
  WHERE (((pickup_zone_id IS NOT NULL) OR ( SELECT (f.latitude IS NOT NULL)
           FROM delivery.addresses f
          WHERE ((f.tenant_id = d.tenant_id) AND (f.id = d.pickup_address_id)))) AND ((dropoff_zone_id IS NOT NULL) OR ( SELECT (t.latitude IS NOT NULL)
           FROM delivery.addresses t
          WHERE ((t.tenant_id = d.tenant_id) AND (t.id = d.dropoff_address_id)))));

CREATE VIEW "delivery"."open_assignments" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_id,
    driver_id,
    status
   FROM delivery.assignments a
  WHERE ((status = ANY (ARRAY['pending'::text, 'assigned'::text, 'accepted'::text])) IS TRUE);

REVOKE ALL ON FUNCTION "delivery"."rows_broadcast"(text, text, uuid[], uuid[], jsonb[]) FROM PUBLIC;

GRANT SELECT ON TABLE "delivery"."delivery_zone_context" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."open_assignments" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126184041';
end $$;

grant execute on function private.schema_version() to barid_api;
