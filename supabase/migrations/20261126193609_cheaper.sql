-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.delivery_zone_context, money.ledger_entries in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "journal_open" ON "money"."ledger_entries";

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

CREATE OR REPLACE FUNCTION delivery.manifest_destination_obstacle(destination jsonb, hold boolean)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_address uuid := destination ->> 'address_id';
  v_branch uuid := destination ->> 'branch_id';
begin
  -- Asked once each: the policies of addresses cost more than all else here.
  if hold then
    perform from delivery.addresses a where a.id = v_address for key share;
  else
    perform from delivery.addresses a where a.id = v_address;
  end if;
  if not found then
    return 'address_not_found';
  elsif v_branch is null then
    return null;
  end if;
  if hold then
    perform from delivery.institution_branches b where b.id = v_branch for key share;
  else
    perform from delivery.institution_branches b where b.id = v_branch;
  end if;
  return case when not found then 'branch_not_found' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb := input -> 'destination';
  v_obstacle text := delivery.manifest_destination_obstacle(v_destination, true);
begin
  if v_obstacle is not null then
    return jsonb_build_object('failures', delivery.items_failed(v_ids, v_obstacle));
  end if;
  perform from delivery.transfer_manifests m
  where m.id in (select i.manifest_id from delivery.transfer_manifest_items i where i.id = any (v_ids))
  order by m.id for share;
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;
  perform delivery.lock_staging_driver();
  return jsonb_build_object('failures', delivery.manifest_orders_make(v_ids, v_destination));
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_make(item_ids uuid[], destination jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_orders private.item_order[] := delivery.manifest_orders_charge(delivery.manifest_orders_price(item_ids, destination));
begin
  perform delivery.manifest_orders_write(array(select o from unnest(v_orders) o where o.failure is null order by o.position), destination);
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', o.item_id, 'code', o.failure, 'params', o.failure_params))
      order by o.position), '[]')
    from unnest(v_orders) o where o.failure is not null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_write(orders private.item_order[], destination jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_currency text := (app.currency()).code;
  v_staging uuid := delivery.staging_warehouse();
  v_service jsonb := delivery.service_snapshot((destination ->> 'service_id')::uuid);
  v_deliveries uuid[] := array(select o.delivery_id from unnest(orders) o order by o.position);
  v_items uuid[] := array(select o.item_id from unnest(orders) o);
  v_to jsonb;
begin
  if cardinality(orders) = 0 then
    return;
  end if;
  select to_jsonb(a) into v_to from delivery.addresses_list a where a.id = (destination ->> 'address_id')::uuid;

  insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, delivery_flow, status, institution_user_id,
    delivery_service_id, payer_type, payment_method, delivery_fee, currency, unit_size, unit_size_source, package_details,
    distance_km, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot, pickup_zone_id, dropoff_zone_id,
    staging_warehouse_id, recipient, service_snapshot, manifest_id, manifest_item_id, source_snapshot, snapshot_version, label_assignment,
    label_outdated, created_by)
  -- Where the items of a manifest come from is written down once.
  with origin as materialized (
    select m.id, m.institution_user_id, a.id as address_id, a.zone_id, to_jsonb(a) as address,
      jsonb_build_object('snapshot_version', 'manifest_origin_v1', 'manifest', jsonb_build_object('id', m.id, 'number', m.manifest_number),
        'source', m.source_snapshot, 'processing_point', jsonb_build_object('id', p.id, 'name', p.name, 'code', p.code)) as snapshot
    from delivery.transfer_manifests m
    join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id
    join delivery.addresses_list a on a.id = p.address_id
    where m.tenant_id = v_tenant and m.id in (
      select i.manifest_id from delivery.transfer_manifest_items i where i.tenant_id = v_tenant and i.id = any (v_items))
  )
  select o.delivery_id, v_tenant, o.delivery_code, i.barcode_value,
    case when v_staging is null then 'standard' else 'pnd_parent' end, 'pending', g.institution_user_id,
    (destination ->> 'service_id')::uuid, 'sender', 'wallet', o.price, v_currency,
    o.unit_size, o.unit_size_source, i.package_details,
    o.distance_km, g.address_id, (destination ->> 'address_id')::uuid, g.address, v_to, g.zone_id, (v_to ->> 'zone_id')::uuid,
    v_staging, destination -> 'recipient', v_service, g.id, i.id,
    g.snapshot || jsonb_build_object('item', jsonb_build_object('id', i.id, 'barcode_value', i.barcode_value)),
    'manifest_origin_v1', 'manifest_shipment_label',
    -- The parcel may wear the label of an order that was cancelled.
    exists (
      select from delivery.deliveries e where e.tenant_id = i.tenant_id and e.manifest_item_id = i.id and e.label_edition > 0), v_actor
  from unnest(orders) o
  join delivery.transfer_manifest_items i on i.tenant_id = v_tenant and i.id = o.item_id and i.id = any (v_items)
  join origin g on g.id = i.manifest_id
  order by o.position;
  perform delivery.delivery_items_write((
    select array_agg(d) from delivery.deliveries d
    where d.tenant_id = v_tenant and d.id = any (v_deliveries)));

  if v_staging is not null then
    perform delivery.delivery_legs_create(v_deliveries, v_staging);
    perform delivery.staged_legs_assign(v_deliveries);
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  select o.payment_id, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet', o.price, v_currency, o.wallet_id, o.delivery_id, v_actor, now()
  from unnest(orders) o;

  update delivery.transfer_manifest_items i set status = 'order_created', delivery_id = o.delivery_id,
    destination_branch_id = (destination ->> 'branch_id')::uuid,
    destination_address_id = case when destination ->> 'branch_id' is null then (destination ->> 'address_id')::uuid end
  from unnest(orders) o where i.id = o.item_id;

  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', i.manifest_id, 'manifest_item_id', i.id, 'event_type', 'order_created',
      'payload', jsonb_build_object('delivery_id', i.delivery_id, 'delivery_code', o.delivery_code)) order by o.position)
    from unnest(orders) o
    join delivery.transfer_manifest_items i on i.id = o.item_id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_receive_and_order(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_key text := input ->> 'idempotency_key';
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb;
  v_answer jsonb;
  v_manifests uuid[];
  v_offender record;
  v_usable uuid[];
  v_pending uuid[];
  v_obstacle text;
  v_failures jsonb := '[]';
begin
  if v_key is not null then
    -- Nothing here is emptied by a null: it says as much as a field left out.
    v_answer := private.idempotency_claim(app.request_setting('operation'), v_key,
      jsonb_strip_nulls(input - 'idempotency_key'), 'idempotency_conflict');
    if v_answer is not null then
      return jsonb_build_object('replayed', true, 'answer', v_answer);
    end if;
  end if;
  v_destination := delivery.manifest_destination(input);

  select array_agg(distinct i.manifest_id) into v_manifests
  from delivery.transfer_manifest_items i where i.id = any (v_ids);
  perform from delivery.lock_manifests(coalesce(v_manifests, '{}'));
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;

  -- Also by items that have their order: what is completed is ended for a repeat too, as checking the batch says.
  select j.id, (j.manifest).manifest_number, (j.manifest).status, j.obstacle into v_offender
  from (
    select i.manifest_id, min(asked.position) as position
    from unnest(v_ids) with ordinality asked (id, position)
    join delivery.transfer_manifest_items i on i.id = asked.id
    group by i.manifest_id
  ) first
  join delivery.manifests_evaluate(v_manifests) j on j.id = first.manifest_id and j.obstacle is not null
  order by first.position limit 1;
  if found then
    perform app.fail(v_offender.obstacle, jsonb_build_object('manifest_id', v_offender.id,
      'manifest_number', v_offender.manifest_number, 'manifest_status', v_offender.status));
  end if;

  select coalesce(array_agg(j.id order by asked.position), '{}'), array_agg(distinct j.manifest_id)
  into v_usable, v_manifests
  from unnest(v_ids) with ordinality asked (id, position)
  join delivery.items_evaluate(v_ids) j on j.id = asked.id and j.obstacle is null;

  if v_manifests is not null then
    perform delivery.manifests_start_receiving(v_manifests, 'bulk_set_destination');
    perform delivery.items_receive(v_usable, 'bulk_set_destination');
    perform delivery.manifests_complete_receiving(v_manifests, 'bulk_set_destination');
  end if;

  select coalesce(array_agg(i.id order by asked.position), '{}') into v_pending
  from unnest(v_usable) with ordinality asked (id, position)
  join delivery.transfer_manifest_items i on i.id = asked.id and i.status = 'received'
  join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    and m.status in ('received', 'received_with_exceptions', 'processing');
  -- Before the numbers, which drivers' own calls wait for with the driver locked.
  perform delivery.lock_staging_driver();
  perform delivery.delivery_codes_reserve(v_pending);

  if cardinality(v_pending) > (input ->> 'orders_max')::integer then
    return jsonb_build_object('pending', v_pending, 'destination', v_destination,
      'asker', jsonb_build_object('userId', app.user_id(), 'tenantId', app.tenant_id()));
  end if;
  if cardinality(v_pending) > 0 then
    v_obstacle := delivery.manifest_destination_obstacle(v_destination, true);
    v_failures := case when v_obstacle is null then delivery.manifest_orders_make(v_pending, v_destination)
      else delivery.items_failed(v_pending, v_obstacle) end;
  end if;
  return delivery.manifest_orders_outcome(input || jsonb_build_object('failures', v_failures, 'destination', v_destination));
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

do $$
begin
  if 'lz4' = any (array(select unnest(s.enumvals) from pg_settings s where s.name = 'default_toast_compression')) then
    alter role barid_api set default_toast_compression = 'lz4';
  end if;
end $$;

REVOKE ALL ON FUNCTION "delivery"."rows_broadcast"(text, text, uuid[], uuid[], jsonb[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.staging_warehouse()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_set jsonb := app.settings('general', 'warehouse');
begin
  -- Asked apart: most have none, and the policies of warehouses cost as much where no row is asked for.
  if (v_set ->> 'handoff_required')::boolean is not true then
    return null;
  end if;
  return (
    select w.id from warehousing.warehouses w
    where w.id = (v_set ->> 'default_warehouse_id')::uuid and w.deleted_at is null and w.status in ('active', 'full'));
end $function$;

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

CREATE OR REPLACE FUNCTION money.check_entry()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_wrong record;
begin
  -- Looked up for each entry: joined by a plan that was made for thousands of them, all of the ledger would be read for two.
  select n.transaction_id, n.account_id, n.is_open into v_wrong
  from (
    select e.transaction_id, e.account_id,
      (select t.booked_in = pg_current_xact_id() from money.ledger_transactions t
        where t.tenant_id = e.tenant_id and t.id = e.transaction_id) as is_open,
      (select a.currency = e.currency from money.accounts a where a.tenant_id = e.tenant_id and a.id = e.account_id) as same_currency
    from new_rows e
  ) n
  where n.is_open is not true or n.same_currency is not true limit 1;
  if not found then
    return null;
  end if;
  if v_wrong.is_open is not true then
    raise exception 'journal % is closed', v_wrong.transaction_id using errcode = 'check_violation', constraint = 'journal_open';
  end if;
  raise exception 'account % has another currency', v_wrong.account_id using errcode = 'check_violation', constraint = 'entry_currency';
end $function$;

CREATE OR REPLACE FUNCTION money.check_journal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if (
      select bool_and(c.total = 0) from (
        select sum(e.amount) as total from money.ledger_entries e where e.tenant_id = new.tenant_id and e.transaction_id = new.id
        group by e.currency) c) is not true then
    raise exception 'journal % does not balance', new.id using errcode = 'check_violation', constraint = 'journal_balances';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_items_of(s money.cod_settlements)
 RETURNS money.cod_settlement_items[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(select i from money.cod_settlement_items i where i.tenant_id = s.tenant_id and i.payment_id = s.payment_id);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_items_record(payment uuid, rows money.cod_collections[])
 RETURNS money.cod_settlement_items[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_items money.cod_settlement_items[];
begin
  with written as (
    insert into money.cod_settlement_items (tenant_id, payment_id, position, cod_collection_id, amount, cod_amount, delivery_fee_amount,
      delivery_code, delivery_number)
    select r.tenant_id, payment, r.ordinality, r.id, r.amount, r.cod_amount, r.delivery_fee_amount, r.delivery_code, r.delivery_number
    from unnest(rows) with ordinality r
    returning cod_settlement_items as item
  )
  select array_agg(w.item) into v_items from written w;
  return v_items;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settle(method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key text := app.request_setting('idempotency_key');
  v_rows money.cod_collections[];
  v_driver uuid;
  v_receiver uuid;
  v_currency text;
  v_wallet uuid;
  v_total numeric;
  v_fees numeric;
  v_mixed boolean;
  v_ids uuid[];
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
  v_items money.cod_settlement_items[];
  v_receipt text;
  v_handover money.cash_handovers;
  v_short numeric := 0;
begin
  if v_key is not null then
    select s.* into v_settlement from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_settlement.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_settlement, money.cod_items_of(v_settlement), (
        select r.status from money.settlement_receipts r where r.tenant_id = v_tenant and r.payment_id = v_settlement.payment_id));
    end if;
  end if;

  v_rows := money.lock_cod_collections(scope, collection_ids, driver_id);
  v_driver := v_rows[1].driver_id;
  v_currency := v_rows[1].currency;
  select sum(r.amount), sum(r.delivery_fee_amount), min(r.currency) <> max(r.currency), array_agg(r.id)
  into v_total, v_fees, v_mixed, v_ids from unnest(v_rows) r;
  if method = 'remit' then
    v_receiver := money.cod_receiver(receiver_id);
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_currency, v_total);
    v_short := case v_handover.status when 'discrepancy' then v_handover.declared_amount - v_handover.counted_amount else 0 end;
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, reference,
    actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case method when 'remit' then 'cash' else 'wallet' end, v_total,
    v_currency, v_wallet, cod_settle.reference, v_actor, now(),
    money.cod_snapshot(v_rows, method, scope, reference, notes, v_receiver)
    || case when v_short > 0 then jsonb_build_object('counted', v_total - v_short, 'shortage', v_short) else '{}' end);
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, shortage, shortage_handover_id, notes, reference, idempotency_key, input_hash)
  values (v_payment, v_tenant, method, scope, v_driver, v_actor, v_receiver, v_currency,
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint)
  returning * into v_settlement;
  v_items := money.cod_items_record(v_payment, v_rows);
  if v_handover.id is not null then
    update money.cash_handovers h set settlement_payment_id = v_payment where h.tenant_id = v_tenant and h.id = v_handover.id;
  end if;
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  v_receipt := money.receipt_request(v_settlement, v_items);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_payment, method, v_driver, v_receiver, v_wallet, v_currency, v_total, v_fees, v_short);
  return money.cod_settlement_to_json(v_settlement, v_items, v_receipt);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settlement_to_json(s money.cod_settlements, items money.cod_settlement_items[], receipt_status text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_list jsonb := (
    select jsonb_agg(jsonb_build_object('cod_collection_id', i.cod_collection_id, 'amount', i.amount,
      'allocations', jsonb_build_object('cod', i.cod_amount, 'delivery_fee', i.delivery_fee_amount),
      'delivery_code', i.delivery_code, 'delivery_number', i.delivery_number) order by i.position)
    from unnest(items) i);
begin
  if s.method = 'remit' then
    return jsonb_build_object(
      'scope', s.scope, 'remitted_collections', v_list, 'total_remitted', s.total, 'total_cash_remitted', s.total,
      'total_cod_remitted', s.cod_total, 'total_delivery_fee_remitted', s.fee_total, 'remitted_count', s.collections,
      'failed_count', 0, 'remitted_at', s.settled_at, 'counted', s.total - s.shortage, 'shortage', money.shortage_to_json(s),
      'settlement_payment_id', s.payment_id, 'receipt_status', receipt_status, 'currency', s.currency);
  end if;
  return jsonb_build_object(
    'scope', s.scope, 'settled_collections', v_list, 'total_settled', s.total, 'total_cash_settled', s.total,
    'total_cod_settled', s.cod_total, 'total_delivery_fee_settled', s.fee_total, 'settled_count', s.collections,
    'failed_count', 0, 'settled_at', s.settled_at, 'wallet_balance_after', (
      select e.balance_after from money.payments p
      join money.ledger_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.id and t.kind = 'cod_settlement'
      join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
      where p.tenant_id = s.tenant_id and p.id = s.payment_id),
    'settlement_payment_id', s.payment_id, 'receipt_status', receipt_status, 'currency', s.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.post_journal(kind text, reference_type text, reference_id uuid, description text, account_ids uuid[], amounts numeric[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_journal uuid := gen_random_uuid();
  v_line record;
  v_account money.accounts;
  v_booked money.accounts[];
  v_changes numeric[];
  v_short money.accounts;
  v_desk boolean := false;
  v_queued boolean := false;
begin
  perform money.require_core();
  perform money.amounts_exact(amounts);
  insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, description, actor_id)
  values (v_journal, v_tenant, kind, reference_type, reference_id, description, app.user_id());
  for v_line in select l.account_id, l.amount from unnest(account_ids, amounts) l (account_id, amount) order by l.account_id loop
    update money.accounts a set balance = a.balance + v_line.amount, version = a.version + 1
    where a.tenant_id = v_tenant and a.id = v_line.account_id and (a.floor is null or a.balance + v_line.amount >= a.floor)
    returning a.* into v_account;
    if not found then
      select * into v_short from money.accounts a where a.tenant_id = v_tenant and a.id = v_line.account_id;
      if v_short.id is not null then
        perform money.wallet_short(v_short, v_line.amount);
      end if;
      perform app.fail('wallet_not_found');
    end if;
    v_booked := v_booked || v_account;
    v_changes := v_changes || v_line.amount;
    if v_account.kind = 'cash_on_hand' then
      v_desk := true;
      v_queued := v_queued or v_account.queued_since is not null;
    end if;
    if v_line.amount < 0 then
      v_account.balance := v_account.balance - v_line.amount;
      perform money.require_available(v_account, v_line.amount, kind);
    end if;
  end loop;
  insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
  select v_tenant, v_journal, a.id, v_changes[a.ordinality], a.currency, a.balance, a.version from unnest(v_booked) with ordinality a;
  if v_queued or v_desk and money.brings_cash_to_bank(kind, reference_id) then
    perform money.desk_queues_follow(v_journal);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.receipt_backfill(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_row money.cod_collections;
  v_method text;
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
begin
  select c.* into v_row from money.cod_collections c
  where c.tenant_id = v_tenant and c.id = (input ->> 'id')::uuid and (c.driver_id = app.user_id() or money.settles_for_office())
  for no key update;
  if v_row.id is null then
    perform app.fail('cod_collection_not_found');
  elsif v_row.status = 'collected' then
    perform app.fail('cod_collection_not_settled');
  elsif v_row.settlement_payment_id is not null then
    return money.receipt_retry(jsonb_build_object('settlement_payment_id', v_row.settlement_payment_id));
  end if;
  v_method := case v_row.status when 'remitted' then 'remit' else 'wallet' end;
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, reference, actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case v_method when 'remit' then 'cash' else 'wallet' end,
    v_row.amount, v_row.currency, v_row.reference, app.user_id(), coalesce(v_row.remitted_at, v_row.settled_at),
    money.cod_snapshot(array[v_row], v_method, 'selected', v_row.reference, v_row.notes,
      v_row.remitted_to_user_id)
    || jsonb_build_object('settled_at', coalesce(v_row.remitted_at, v_row.settled_at), 'historical', true));
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, notes, reference, historical, settled_at)
  values (v_payment, v_tenant, v_method, 'selected', v_row.driver_id, app.user_id(), v_row.remitted_to_user_id, v_row.currency, v_row.amount,
    v_row.cod_amount, v_row.delivery_fee_amount, 1, v_row.notes, v_row.reference, true, coalesce(v_row.remitted_at, v_row.settled_at))
  returning * into v_settlement;
  perform money.receipt_request(v_settlement, money.cod_items_record(v_payment, array[v_row]));
  update money.cod_collections c set settlement_payment_id = v_payment where c.tenant_id = v_tenant and c.id = v_row.id;
  return money.receipt_get(jsonb_build_object('settlement_payment_id', v_payment));
end $function$;

CREATE OR REPLACE FUNCTION money.receipt_hash(s money.cod_settlements, items money.cod_settlement_items[])
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_items text := (
    select string_agg(concat_ws(':', i.cod_collection_id, i.amount, i.cod_amount, i.delivery_fee_amount, i.delivery_code), ';' order by i.position)
    from unnest(items) i);
begin
  return left(encode(sha256(convert_to(concat_ws('|', s.payment_id, s.tenant_id, s.method, s.driver_id, s.currency, s.total,
    case when s.shortage > 0 then s.shortage end, v_items), 'UTF8')), 'hex'), 32);
end $function$;

CREATE OR REPLACE FUNCTION money.receipt_request(s money.cod_settlements, items money.cod_settlement_items[])
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_status text;
begin
  insert into money.settlement_receipts (payment_id, tenant_id, language, hash)
  values (s.payment_id, s.tenant_id, coalesce(app.request_setting('language'), 'en'), money.receipt_hash(s, items))
  returning status into v_status;
  perform money.receipt_queue(s.payment_id);
  return v_status;
end $function$;

CREATE OR REPLACE FUNCTION money.receipt_verify(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_payment uuid := (money.receipt_get(input) ->> 'settlement_payment_id')::uuid;
begin
  return (
    select jsonb_build_object(
      'valid', r.hash = lower(input ->> 'hash') and r.hash = h.hash and s.reversed_at is null,
      'printed', r.hash = lower(input ->> 'hash'), 'unchanged', r.hash = h.hash,
      'settlement', jsonb_build_object('settlement_payment_id', s.payment_id, 'method', s.method, 'driver', money.person(s.driver_id),
        'receiver', money.person(s.receiver_id), 'currency', s.currency, 'total', s.total, 'cod', s.cod_total, 'delivery_fee', s.fee_total,
        'collections', s.collections, 'settled_at', s.settled_at, 'reversed_at', s.reversed_at, 'reversal_reason', s.reversal_reason))
    from money.settlement_receipts r
    join money.cod_settlements s on s.tenant_id = r.tenant_id and s.payment_id = r.payment_id
    cross join lateral (select money.receipt_hash(s, money.cod_items_of(s)) as hash offset 0) h
    where r.tenant_id = app.tenant_id() and r.payment_id = v_payment);
end $function$;

CREATE OR REPLACE FUNCTION private.identify(claims jsonb, OUT user_id uuid, OUT tenant_id uuid, OUT grants text[], OUT sees_tenant boolean, OUT language text, OUT api_key_id uuid, OUT is_company_key boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_asked uuid := (claims ->> 'asked_tenant_id')::uuid;
  v_mode text := claims ->> 'tenant_mode';
  v_by_key boolean := claims ? 'api_key_hash';
  v_service boolean := coalesce((claims ->> 'service')::boolean, false);
  v_mailbox boolean := coalesce((claims ->> 'mailbox')::boolean, false);
  v_system boolean := false;
  v_key record;
  v_member text[];
  v_effective boolean;
begin
  user_id := (claims ->> 'sub')::uuid;
  tenant_id := coalesce(v_asked, (claims ->> 'tenant_id')::uuid);
  grants := '{anyone}';

  if v_by_key then
    v_key := private.api_key_use(claims);
    if v_asked <> v_key.tenant_id then
      perform app.fail('forbidden');
    end if;
    tenant_id := coalesce(v_key.tenant_id, tenant_id);
    v_system := v_key.tenant_id is null;
    grants := grants || array(select 'permission:' || s from unnest(v_key.scopes) s);
    api_key_id := v_key.id;
    is_company_key := v_key.tenant_id is not null;
  elsif user_id is not null then
    -- A token issued before the account was confirmed may belong to the person who created the account. Tokens name seconds. One that
    -- was issued before Auth deleted or banned the account holds no more.
    select exists (select from tenancy.system_users s where s.user_id = p.id) into v_system
    from tenancy.profiles p
    join private.open_accounts a on a.id = p.id
    where p.id = identify.user_id
      and (p.proven_at is null or v_mailbox or v_service or to_timestamp((claims ->> 'issued_at')::bigint) > p.proven_at);
    if not found then
      perform app.fail('unauthorized');
    end if;
    if v_mailbox then
      grants := grants || array['mailbox'];
    end if;
    -- A system administrator acts in the tenant that the call names, never in one that a token still carries.
    if v_system then
      tenant_id := v_asked;
      grants := grants || array['role:system_admin'] || (select array_agg('permission:' || p.key) from tenancy.permissions p);
    end if;
  end if;
  if v_service then
    grants := grants || array['service'];
  end if;

  if tenant_id is not null then
    select app.is_effective(t), s.settings ->> 'default' into v_effective, language
    from tenancy.tenants t
    left join tenancy.tenant_settings s on s.tenant_id = t.id and s.module = 'general' and s.group_key = 'language'
    where t.id = identify.tenant_id;
    if user_id is not null and not v_by_key then
      v_member := private.member_grants(tenant_id, user_id);
    end if;
    if v_effective is null or (v_member is null and user_id is not null and not (v_by_key or v_system or v_service)) then
      -- Calls outside any tenant continue without the one that the token still names.
      if v_asked is not null or v_mode <> 'none' then
        perform app.fail(case when v_effective is null and (v_system or v_service) then 'tenant_not_found' else 'forbidden' end);
      end if;
      tenant_id := null;
      language := null;
    elsif not v_effective and not v_system and v_mode <> 'none' then
      perform set_config('app.language', coalesce(claims ->> 'language', language, 'en'), true);
      perform app.fail('tenant_inactive');
    end if;
    grants := grants || v_member;
  elsif v_mode = 'required' then
    perform app.fail('tenant_id_required');
  end if;
  sees_tenant := v_by_key or v_system or v_service or coalesce('type:staff' = any (v_member), false);
end $function$;

CREATE OR REPLACE FUNCTION private.member_grants(tenant_id uuid, user_id uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select array['type:' || u.tenant_user_type]
      || array(select 'role:' || r.role_key from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id)
      || array(
        select 'permission:' || p.permission_key
        from tenancy.tenant_user_roles r
        join tenancy.role_permissions p on p.role_key = r.role_key
        where r.tenant_id = u.tenant_id and r.user_id = u.user_id)
    from tenancy.tenant_users u
    where u.tenant_id = member_grants.tenant_id and u.user_id = member_grants.user_id and u.is_active);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.memberships_of_caller()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
        'tenant_id', t.id, 'slug', t.slug, 'name', t.name, 'tenant_user_type', u.tenant_user_type,
        'roles', g.roles, 'permissions', g.permissions)
      order by u.created_at, t.id), '[]')
    from tenancy.tenant_users u
    join tenancy.tenants t on t.id = u.tenant_id
    cross join lateral (
      select coalesce(jsonb_agg(distinct r.role_key order by r.role_key), '[]') as roles,
        coalesce(jsonb_agg(distinct p.permission_key order by p.permission_key) filter (where p.permission_key is not null), '[]') as permissions
      from tenancy.tenant_user_roles r
      left join tenancy.role_permissions p on p.role_key = r.role_key
      where r.tenant_id = u.tenant_id and r.user_id = u.user_id) g
    where u.user_id = app.user_id() and u.is_active);
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
    from warehousing.receipt_pieces(r) p
    -- A store's parcel that is back is expected as goods.
    where not exists (select from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id and x.status = 'delivered'
      and warehousing.brings_goods_back(x))),
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

CREATE TRIGGER journal_open AFTER INSERT ON money.ledger_entries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.check_entry();

REVOKE ALL ON FUNCTION "delivery"."manifest_orders_make"(uuid[], jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_orders_make"(uuid[], jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."rows_broadcast"(text, text, uuid[], uuid[], jsonb[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_items_of"(money.cod_settlements) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_items_of"(money.cod_settlements) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cod_items_record"(uuid, money.cod_collections[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_items_record"(uuid, money.cod_collections[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cod_settlement_to_json"(money.cod_settlements, money.cod_settlement_items[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_settlement_to_json"(money.cod_settlements, money.cod_settlement_items[], text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."receipt_hash"(money.cod_settlements, money.cod_settlement_items[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."receipt_hash"(money.cod_settlements, money.cod_settlement_items[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."receipt_request"(money.cod_settlements, money.cod_settlement_items[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."receipt_request"(money.cod_settlements, money.cod_settlement_items[]) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."delivery_zone_context" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."open_assignments" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126193609';
end $$;

grant execute on function private.schema_version() to barid_api;
