-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.delivery_status_history in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."delivery_status_history" DROP CONSTRAINT "texts_within_bounds";

ALTER TABLE "delivery"."delivery_status_history" ADD COLUMN "reported_as" text;

CREATE OR REPLACE FUNCTION delivery.assignments_answer(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_me uuid := app.user_id();
  v_one uuid := (input ->> 'assignment_id')::uuid;
  v_bulk uuid := (input ->> 'bulk_assignment_id')::uuid;
  v_answer text := input ->> 'status';
  v_driver uuid := delivery.assignment_driver(v_one, v_bulk);
  v_rows delivery.assignments[];
  v_deliveries uuid[];
begin
  if v_driver is null then
    perform app.fail(case when v_bulk is null then 'assignment_not_found' else 'bulk_assignment_not_found' end);
  end if;
  if v_driver is distinct from v_me then
    perform app.fail('forbidden');
  end if;
  select array_agg(a.delivery_id) into v_deliveries from delivery.assignments a
  where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned';
  perform delivery.lock_deliveries(coalesce(v_deliveries, '{}'));
  perform delivery.lock_answering_drivers(v_one, v_bulk);
  perform from delivery.assignments a where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk)
  order by a.id for no key update;
  -- As they are now: while this waited, some of them may have been withdrawn.
  v_rows := array(select a from delivery.assignments a
    where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned' order by a.id);
  v_deliveries := array(select r.delivery_id from unnest(v_rows) r);

  if cardinality(v_rows) > 0 and not exists (select from unnest(v_rows) r where r.status = 'pending') and not exists (
      select from unnest(v_rows) r where r.responded_at is null
        or r.status <> all (case v_answer when 'accepted' then '{accepted,completed}'::text[] else '{rejected}' end)) then
    return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
  end if;
  if cardinality(v_rows) = 0 or exists (select from unnest(v_rows) r where r.status <> 'pending') then
    perform app.fail('assignment_not_pending');
  end if;

  -- The delivery first: drivers may change only what they still carry. A parcel on the road keeps its status and is written all the same,
  -- so that the list of what changed since shows the driver who has it now.
  update delivery.deliveries d set status = case when d.status <> 'assigned' then d.status when v_answer = 'accepted' then 'accepted' else 'pending' end
  where d.tenant_id = v_tenant and d.id = any (v_deliveries);
  update delivery.assignments a set status = v_answer, responded_at = clock_timestamp(), response_reason = input ->> 'reason',
    ended_at = case v_answer when 'rejected' then clock_timestamp() end
  where a.tenant_id = v_tenant and a.id in (select r.id from unnest(v_rows) r);
  if v_answer = 'rejected' then
    perform delivery.assignments_restore(array(select r.id from unnest(v_rows) r where r.handed_over_from is not null));
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery',
    'event_type', case when v_bulk is null then 'assignment.' else 'bulk_assignment.' end || v_answer,
    'entity_type', case when v_bulk is null then 'assignment' else 'bulk_assignment' end, 'entity_id', coalesce(v_bulk, v_one),
    'event_data', jsonb_build_object('assignment_ids', (select jsonb_agg(r.id) from unnest(v_rows) r), 'driver_id', v_driver,
      'delivery_ids', to_jsonb(v_deliveries), 'status', v_answer, 'actor_id', v_me)
      || case when v_bulk is null then '{}' else jsonb_build_object('bulk_assignment_id', v_bulk) end)));
  return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
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
  select jsonb_agg(l.line || jsonb_build_object('id', gen_random_uuid(), 'sequence_number',
    coalesce((l.line ->> 'sequence_number')::integer, v_last + l.place)) order by l.place) into v_lines
  from jsonb_array_elements(plan -> 'lines') with ordinality l (line, place);
  select jsonb_agg(l.line -> 'id' order by l.place) into v_ids from jsonb_array_elements(v_lines) with ordinality l (line, place);

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
  -- Subscribers hear of parcels; a leg shows in its parent.
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select n.tenant_id, 'delivery.' || n.status, 'delivery', 'delivery', n.id,
    delivery.event_data(n) || jsonb_build_object('from_status', o.status)
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

CREATE OR REPLACE FUNCTION delivery.goes_to(d delivery.deliveries, a delivery.addresses)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return d.dropoff_address_id = a.id and (a.latitude, a.longitude) is not distinct from
    ((d.dropoff_snapshot ->> 'latitude')::double precision, (d.dropoff_snapshot ->> 'longitude')::double precision);
end $function$;

CREATE OR REPLACE FUNCTION delivery.move_reported(d delivery.deliveries, input jsonb, place jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
  v_as text;
begin
  if v_at not between now() - interval '72 hours' and now() + interval '2 minutes' then
    perform app.fail('invalid_occurred_at', '{"field": "occurred_at"}');
  end if;
  if v_at is not null then
    v_as := concat_ws(' ', app.request_setting('operation'), input ->> 'result');
    perform delivery.require_first_report(d, (input ->> 'id')::uuid, v_at, v_as);
  end if;
  if v_at is not null or input ->> 'latitude' is not null then
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'delivery', d.id, 'reported_as', v_as,
      'latitude', input -> 'latitude', 'longitude', input -> 'longitude', 'occurred_at', v_at,
      'distance_m', round(app.distance_km((place ->> 'latitude')::double precision, (place ->> 'longitude')::double precision,
        (input ->> 'latitude')::double precision, (input ->> 'longitude')::double precision) * 1000))::text, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_changes_evaluate(item_ids uuid[], destination jsonb)
 RETURNS private.order_change[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_service uuid := (destination ->> 'service_id')::uuid;
  v_units jsonb := app.settings('general', 'unit_size');
  v_decimals integer := (app.currency()).decimals;
  v_from_source boolean := tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location';
  v_to delivery.addresses;
begin
  select a.* into v_to from delivery.addresses a where a.id = (destination ->> 'address_id')::uuid;
  return array(
    select row(asked.position, asked.id, i.manifest_id, d.id, d.delivery_code, d.institution_user_id, p.id, s.id,
      q.price, case when g.same then 0 else q.price - d.delivery_fee end, q.unit_size, q.unit_size_source, round(k.km::numeric, 3),
      coalesce(g.same, false), null, null, f.code, case
        when f.code in ('delivery_ended', 'delivery_already_picked_up') then jsonb_build_object('status', d.status)
        when f.code = q.error_code then coalesce(q.error_params, '{}') || '{"field": "package_details"}'
        when f.code = 'invalid_coordinates' then jsonb_build_object('field', case when v_to.latitude is not null then 'item_ids'
          when v_branch is not null then 'destination_branch_id' else 'destination_address_id' end) end)::private.order_change
    from unnest(item_ids) with ordinality asked (id, position)
    left join delivery.transfer_manifest_items i on i.id = asked.id
    left join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    left join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
    left join money.payments p on p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'
    left join delivery.delivery_services s on s.tenant_id = d.tenant_id and s.id = coalesce(v_service, d.delivery_service_id)
    left join delivery.addresses a on a.tenant_id = d.tenant_id and a.id = coalesce(d.ordered_from_address_id, d.pickup_address_id)
    cross join lateral (select delivery.order_has_destination(i, d, v_branch, v_to.id, s.id) and delivery.goes_to(d, v_to) as same) g
    cross join lateral (select delivery.road_distance_km(
      case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end,
      case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end,
      v_to.latitude, v_to.longitude) as km) k
    cross join lateral delivery.quote(s, d.package_details, null, k.km, v_units, v_decimals) q
    cross join lateral (select coalesce(delivery.order_change_obstacle(asked.id, i, d),
      case when not g.same then delivery.order_change_misfit(d, s, v_to.zone_id, q.unit_size,
        coalesce(q.error_code, case when k.km is null and s.price_per_km > 0 then 'invalid_coordinates' end)) end) as code) f
    order by asked.position);
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_terms(p delivery.deliveries, to_address delivery.addresses, charge_wallet boolean, OUT priced delivery.deliveries, OUT charged text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_from record := delivery.priced_from(p);
  v_start delivery.addresses;
  v_taken boolean := money.delivery_fee_taken(p.id);
begin
  if p.made_at_door then
    priced := p;
    charged := 'none';
    return;
  end if;
  v_start.latitude := v_from.latitude;
  v_start.longitude := v_from.longitude;
  priced := delivery.delivery_priced(p, jsonb_build_object('delivery_service_id', p.delivery_service_id, 'unit_size', p.unit_size,
    'delivery_fee', p.delivery_fee, 'package_field', 'dropoff_address_id', 'service_field', 'dropoff_address_id',
    'dropoff_field', 'dropoff_address'), v_start, to_address);
  if p.order_id is not null or delivery.goes_to(p, to_address) or (v_taken and not charge_wallet) then
    priced.delivery_fee := p.delivery_fee;
    priced.service_snapshot := p.service_snapshot;
  end if;
  charged := case when priced.delivery_fee = p.delivery_fee then 'none' when p.payment_method = 'wallet' or v_taken then 'wallet' else 'cash' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_first_report(d delivery.deliveries, sent uuid, p_occurred_at timestamp with time zone, p_reported_as text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_ids uuid[] := case when d.parent_id = sent
    then array(select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.parent_id) else array[d.id] end;
begin
  if exists (select from delivery.delivery_status_history h
      where h.tenant_id = d.tenant_id and h.delivery_id = any (v_ids) and h.occurred_at = p_occurred_at and h.reported_as = p_reported_as
        and h.actor_id is not distinct from app.user_id()) then
    perform app.fail('delivery_status_changed', jsonb_build_object('text_key', 'step_reported_already', 'delivery_ids', array[d.id],
      'status', d.status, 'status_reason', d.status_reason));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.carrier_report(carrier_code text, tenant_id uuid, report jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_status text := report ->> 'status';
  v_at timestamptz;
  v_outcome text;
  v_duplicate boolean;
  v_moves text[];
  v_move text;
  v_delivery uuid;
  v_home uuid;
  s integration.carrier_shipments;
  d delivery.deliveries;
begin
  perform set_config('app.tenant_id', tenant_id::text, true);
  -- The delivery first, then its shipment, as everywhere; reports on one delivery take turns.
  select t.delivery_id into v_delivery from integration.carrier_shipments t
  where t.tenant_id = tenant_id and t.carrier_code = carrier_code and t.tracking_number = report ->> 'tracking_number'
  order by t.created_at desc limit 1;
  if v_delivery is not null then
    perform delivery.lock_deliveries(array[v_delivery]);
    select t.* into d from delivery.deliveries t where t.tenant_id = tenant_id and t.id = v_delivery;
    select t.* into s from integration.carrier_shipments t
    where t.tenant_id = tenant_id and t.delivery_id = v_delivery and t.carrier_code = carrier_code
      and t.tracking_number = report ->> 'tracking_number'
    order by t.created_at desc limit 1 for update;
  end if;
  select e.outcome into v_outcome from integration.carrier_events e
  where e.tenant_id = tenant_id and e.carrier_code = carrier_code and e.carrier_event_id = report ->> 'event_id';
  if found then
    return jsonb_build_object('outcome', v_outcome, 'duplicate', true);
  end if;
  -- Now that it is this report's turn: one that says no time, and waited, is not older than the one it waited for.
  v_at := least((report ->> 'occurred_at')::timestamptz, clock_timestamp());
  v_moves := integration.moves_to(d.delivery_flow, d.status, v_status);
  -- Back in the warehouse it was ordered from it is when that has received it.
  if v_status = 'returned' and d.delivery_flow = 'standard' and d.order_id is null and v_moves is not null then
    v_home := (delivery.ordered_from(d)).warehouse_id;
    if v_home is not null then
      v_moves := case when d.status = 'in_transit' then '{}'::text[] else integration.moves_to(d.delivery_flow, d.status, 'in_transit') end;
    end if;
  end if;
  -- It lies with us and goes back to its sender: whatever the carrier has in hand, it is not this parcel.
  if v_status <> 'cancelled' and delivery.return_under_way(delivery.parcel_of(d)) is not null then
    v_moves := null;
  end if;
  v_outcome := case
    when s.id is null or s.status = 'cancelled' or d.carrier_type <> 'external' then 'unknown_shipment'
    when v_status is null then 'unknown_status'
    when v_at < s.reported_at or exists (
      select from warehousing.receiving_orders r
      where r.tenant_id = tenant_id and r.delivery_id = d.id and r.status = 'received' and r.received_at > v_at) then 'too_late'
    when d.status = v_status then 'unchanged'
    when v_moves is null then 'impossible'
    else 'applied' end;
  if v_outcome in ('applied', 'unchanged') then
    update integration.carrier_shipments t set reported_at = v_at where t.id = s.id;
  end if;
  if v_outcome in ('applied', 'unchanged') and v_status = 'cancelled' then
    perform integration.shipment_given_back(s, d, report ->> 'carrier_status');
  end if;
  if v_outcome = 'applied' then
    -- Before the stock of a store, which the first report moves, since what gives money back locks wallets first. An order that ends may be
    -- refunded as well.
    if v_status = 'delivered' and s.cash_due > 0 or v_status in ('delivered', 'returned') and d.order_id is not null then
      perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
    end if;
    foreach v_move in array v_moves loop
      update delivery.deliveries t set status = v_move,
        status_reason = case when v_move in ('failed', 'returned') then 'carrier_' || coalesce(report ->> 'carrier_status', v_move) end,
        attempts_used = t.attempts_used + case when v_move = 'failed' and delivery.attempt_counts(t) then 1 else 0 end,
        picked_up_at = case when v_move in ('picked_up', 'in_transit') then coalesce(t.picked_up_at, v_at) else t.picked_up_at end,
        delivered_at = case when v_move = 'delivered' then v_at else t.delivered_at end
      where t.tenant_id = tenant_id and t.id = d.id;
    end loop;
    -- On its way again, or delivered after all: the warehouse that expected it back does not any more.
    if d.status = 'returned' or d.status = 'failed' and v_status = 'in_transit' or v_status = 'delivered' then
      perform warehousing.receipts_withdraw(d.id);
    end if;
    if v_status = 'returned' and (v_home is not null or delivery.returns_to_warehouse(d)) then
      perform warehousing.receipt_expect(d.id, v_home, true);
    end if;
    if v_status = 'delivered' and s.cash_due > 0 then
      perform money.carrier_cash_collected(delivery.parcel_of(d), s.id);
    end if;
    if v_status in ('delivered', 'returned') then
      perform integration.carrier_return_refund(d, carrier_code);
    end if;
    -- The first news that it has the parcel, whatever came of it since.
    if d.status in ('pending', 'assigned', 'accepted') and v_status <> 'cancelled' then
      perform delivery.carrier_takes(d);
    end if;
    if v_status = 'delivered' and delivery.ends_in(d) is not null then
      perform warehousing.parcel_arrives(d.id, delivery.ends_in(d));
    end if;
  end if;
  insert into integration.carrier_events (tenant_id, carrier_code, carrier_event_id, tracking_number, carrier_status, delivery_id, outcome)
  values (tenant_id, carrier_code, report ->> 'event_id', report ->> 'tracking_number', report ->> 'carrier_status', d.id, v_outcome)
  on conflict on constraint carrier_event_once do nothing;
  v_duplicate := not found;
  if not v_duplicate and v_status = 'delivered' and s.cash_due > 0 and d.status <> 'delivered' and v_outcome <> 'applied' then
    insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (tenant_id, 'carrier_cash.unbooked', 'carriers', 'delivery', d.id, jsonb_build_object('delivery_id', d.id,
      'shipment_id', s.id, 'carrier_code', carrier_code, 'amount', s.cash_due, 'currency', d.currency, 'status', d.status,
      'outcome', v_outcome));
  end if;
  return jsonb_build_object('outcome', v_outcome, 'duplicate', v_duplicate);
end $function$;

ALTER TABLE "delivery"."delivery_status_history" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(from_status) <= 1000) AND (octet_length(to_status) <= 1000) AND (octet_length(note) <= 4000) AND (octet_length(reported_as) <= 1000))) NOT VALID;

REVOKE ALL ON FUNCTION "delivery"."goes_to"(delivery.deliveries, delivery.addresses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."goes_to"(delivery.deliveries, delivery.addresses) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_first_report"(delivery.deliveries, uuid, timestamp with time zone, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_first_report"(delivery.deliveries, uuid, timestamp with time zone, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126095732';
end $$;

grant execute on function private.schema_version() to barid_api;
