-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "guard_snapshot" ON "delivery"."deliveries";

CREATE OR REPLACE FUNCTION app.instant(value text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE STRICT
 SET search_path TO ''
AS $function$
begin
  return case when value ~* ':[0-9.]+ ?(Z|[+-]\d\d(:?\d\d)?)$' then value::timestamptz
    else value::timestamp at time zone app.timezone() end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_changes_lapse()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not exists (select from new_rows n where n.parent_id is null and n.status in ('delivered', 'cancelled', 'returned')) then
    return null;
  end if;
  update delivery.amount_changes c set status = 'lapsed', decided_at = clock_timestamp()
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null and c.tenant_id = n.tenant_id and c.delivery_id = n.id and c.status = 'pending'
    and (n.status in ('delivered', 'cancelled') or (n.status = 'returned' and n.delivery_flow <> 'pnd_parent'));
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
  v_lines jsonb;
  v_meant uuid[];
  v_ids uuid[];
  v_free numeric := units_free;
  v_line record;
begin
  -- Each join says once more which rows are meant: PostgreSQL takes a list from JSON for a hundred entries and would
  -- rather read all deliveries of a tenant who has not many thousands.
  select jsonb_agg(to_jsonb(a) order by a.place), array_agg(a.delivery_id) into v_lines, v_meant
  from (
    select asked.place, asked.id as requested_id, d.id as known_id,
      case when d.delivery_flow = 'pnd_parent' then l.id when d.parent_id is null or d.status <> 'draft' then d.id end as delivery_id,
      row_number() over (partition by asked.id order by asked.place) as time
    from unnest(delivery_ids) with ordinality asked (id, place)
    left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = asked.id and d.id = any (delivery_ids)
    left join lateral (
      select g.id from delivery.deliveries g
      where g.tenant_id = d.tenant_id and g.parent_id = d.id and g.status not in ('draft', 'delivered', 'returned', 'cancelled')
      order by g.sequence_plan limit 1
    ) l on d.delivery_flow = 'pnd_parent'
  ) a;

  -- Checks on the rows themselves come first: where they decide, the warehouse and the zones are not read.
  select jsonb_agg(to_jsonb(a) order by a.place), coalesce(array_agg(a.delivery_id) filter (where a.code is null), '{}')
  into v_lines, v_ids
  from (
    select r.place, r.requested_id, r.delivery_id, case
        when r.known_id is null then 'delivery_not_found'
        when r.time > 1 or row_number() over (partition by r.delivery_id order by r.place) > 1 and r.delivery_id is not null
          then 'duplicate_deliveries'
        when r.delivery_id is null then 'no_active_child_leg'
        when d.carrier_type <> 'internal' then 'delivery_carrier_not_internal'
        when l.id is not null then 'delivery_already_assigned'
        when d.status <> 'pending' and d.id <> all (carried) then 'delivery_status_changed'
      end as code
    from jsonb_to_recordset(v_lines) r (place integer, requested_id uuid, known_id uuid, delivery_id uuid, "time" integer)
    left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = r.delivery_id and d.id = any (v_meant)
    left join delivery.assignments l on l.tenant_id = v_tenant and l.delivery_id = r.delivery_id and l.delivery_id = any (v_meant)
      and l.status in ('pending', 'assigned', 'accepted')
  ) a;

  for v_line in
    select r.place, r.requested_id, r.delivery_id, d.unit_size, case
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
      coalesce(d.delivery_flow <> 'standard' and delivery.leaves_warehouse(d) and exists (select from warehousing.picking_orders o
        where o.tenant_id = v_tenant and o.delivery_id = d.id and o.status = 'completed'), false) as takes_handoff,
      coalesce(d.delivery_flow = 'pnd_inbound' and d.manifest_id is not null, false) as unstaged_inbound
    from jsonb_to_recordset(v_lines) r (place integer, requested_id uuid, delivery_id uuid, code text)
    left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = r.delivery_id and d.id = any (v_meant)
    left join delivery.preparation_problem(array(select i.id from unnest(v_ids) i (id) where i.id <> all (carried))) p on p.delivery_id = r.delivery_id
    left join delivery.zones_of(v_ids) z on z.delivery_id = r.delivery_id
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

CREATE OR REPLACE FUNCTION delivery.broadcast_place(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_fetched boolean := d.status in ('pending', 'assigned', 'accepted');
  v_place jsonb := case when v_fetched then delivery.fetched_at(d) else delivery.brought_to(d) end;
begin
  return jsonb_build_object('kind', case when v_fetched then 'pickup' else 'dropoff' end, 'latitude', v_place -> 'latitude',
    'longitude', v_place -> 'longitude');
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
    latitude, longitude, distance_m, occurred_at)
  select n.tenant_id, n.id, o.status, n.status, v_actor, nullif(concat_ws(': ', n.status_reason, n.status_notes), ''),
    r.latitude, r.longitude, case when r.latitude is not null then delivery.metres_from_place(n, o.status, r.latitude, r.longitude) end, r.occurred_at
  from new_rows n join old_rows o on o.id = n.id
  left join jsonb_to_record(nullif(current_setting('app.reported', true), '')::jsonb)
    r (parcel uuid, latitude double precision, longitude double precision, occurred_at timestamptz) on r.parcel = coalesce(n.parent_id, n.id)
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

CREATE OR REPLACE FUNCTION delivery.delivery_items_write(parcels delivery.deliveries[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into delivery.delivery_items (tenant_id, delivery_id, position, name, quantity, weight, length, width, height, unit_price)
  select d.tenant_id, d.id, n.position, coalesce(nullif(trim(left(n.item ->> 'name', 200)), ''), 'Parcel ' || d.delivery_code),
    -- Five calls for each item that says nothing cost more than its row.
    coalesce(case when n.item ? 'quantity' then (delivery.read_measure(n.item -> 'quantity')).measure end, 1),
    case when n.item ? 'weight' then (delivery.read_measure(n.item -> 'weight')).measure end,
    case when n.item ? 'length' then (delivery.read_measure(n.item -> 'length')).measure end,
    case when n.item ? 'width' then (delivery.read_measure(n.item -> 'width')).measure end,
    case when n.item ? 'height' then (delivery.read_measure(n.item -> 'height')).measure end,
    case when d.manifest_id is null and d.original_delivery_id is null then (delivery.read_price(n.item -> 'unit_price')).price end
  from unnest(parcels) d
  cross join lateral jsonb_array_elements(
    case when jsonb_typeof(d.package_details -> 'items') = 'array' and jsonb_array_length(d.package_details -> 'items') > 0
      then d.package_details -> 'items' else '[{}]' end) with ordinality n (item, position);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_price(item_ids uuid[], destination jsonb)
 RETURNS private.item_order[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_units jsonb := app.settings('general', 'unit_size');
  v_decimals integer := (app.currency()).decimals;
  v_from_source boolean := tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location';
  v_service delivery.delivery_services;
  v_to delivery.addresses;
  v_allowed uuid[];
begin
  select s.* into v_service from delivery.delivery_services s where s.id = (destination ->> 'service_id')::uuid;
  select a.* into v_to from delivery.addresses a where a.id = (destination ->> 'address_id')::uuid;
  select coalesce(array_agg(n.institution), '{}') into v_allowed
  from (
    select distinct m.institution_user_id as institution from delivery.transfer_manifest_items i
    join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    where i.id = any (item_ids) offset 0
  ) n
  where delivery.service_allows(v_service, n.institution, v_to.zone_id);
  return array(
    select row(x.position, x.id, gen_random_uuid(), gen_random_uuid(), x.delivery_code, x.institution_user_id, round(x.km::numeric, 3),
      q.price, q.unit_size, q.unit_size_source, null,
      case when x.institution_user_id <> all (v_allowed) then 'delivery_service_not_available' else q.error_code end,
      case when q.error_code is not null then coalesce(q.error_params, '{}') || '{"field": "package_details"}' end)::private.item_order
    from (
      -- Kept apart by its order: flattened, the way of an item would be looked up, and its price made, several times.
      select asked.position, i.id, i.package_details, r.delivery_code, m.institution_user_id, delivery.road_distance_km(
        case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end,
        case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end,
        v_to.latitude, v_to.longitude) as km
      from unnest(item_ids) with ordinality asked (id, position)
      join delivery.transfer_manifest_items i on i.id = asked.id and i.status = 'received' and i.delivery_id is null
      join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
        and m.status in ('received', 'received_with_exceptions', 'processing')
      join delivery.delivery_code_reservations r on r.tenant_id = i.tenant_id and r.manifest_item_id = i.id
      join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id
      join delivery.addresses a on a.tenant_id = p.tenant_id and a.id = p.address_id
      join delivery.items_evaluate(item_ids) j on j.id = i.id and j.obstacle is null
      order by asked.position
    ) x
    cross join lateral delivery.quote(v_service, x.package_details, null, x.km, v_units, v_decimals) q
    order by x.position);
end $function$;

CREATE OR REPLACE FUNCTION delivery.preparation_problem(delivery_ids uuid[])
 RETURNS TABLE(delivery_id uuid, code text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_parcels uuid[];
  v_sent_back uuid[];
  v_in_question uuid[];
begin
  -- The facts of all at once, however many are asked about.
  select array_agg(coalesce(d.parent_id, d.id)) into v_parcels
  from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (delivery_ids);
  if v_parcels is null then
    return;
  end if;
  v_sent_back := array(select u.parcel from delivery.returns_under_way(v_parcels) u);
  v_in_question := delivery.with_unresolved_exception(delivery_ids || v_parcels);
  return query
  select p.id, p.problem
  from (
    select d.id, case
      when coalesce(d.parent_id, d.id) = any (v_sent_back) then 'return_under_way'
      when d.id = any (v_in_question) then 'delivery_has_open_exception'
      when d.parent_id = any (v_in_question) then 'parent_exception_open'
      -- Between two doors there is nothing to prepare; a call for each would cost more than all the rest.
      when d.delivery_flow <> 'standard' and delivery.leaves_warehouse(d) and delivery.has_item_exception_beside(d)
        then 'warehouse_item_exception_open'
      when d.delivery_flow <> 'standard' and delivery.leaves_warehouse(d) and not delivery.is_prepared(d) then 'warehouse_preparation_inconsistent'
      -- It travels to another warehouse first.
      when exists (select from warehousing.waybill_deliveries w
        where w.tenant_id = d.tenant_id and w.delivery_id = coalesce(d.parent_id, d.id) and w.is_open) then 'warehouse_preparation_inconsistent'
    end as problem
    from delivery.deliveries d
    where d.tenant_id = v_tenant and d.id = any (delivery_ids)
    -- Kept apart: flattened, every problem would be looked for twice.
    offset 0
  ) p
  where p.problem is not null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.returns_under_way(parcels uuid[])
 RETURNS TABLE(parcel uuid, return_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  select r.original_delivery_id, r.id from delivery.deliveries r
  where r.tenant_id = v_tenant and r.original_delivery_id = any (parcels) and r.delivery_flow = 'operational_return'
    and r.status <> 'cancelled' and (r.status <> 'delivered' or exists (
      select from warehousing.receiving_orders n where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'pending'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_over uuid[];
  v_open boolean;
begin
  if tg_op = 'INSERT' then
    if (delivery.auto_assignment_settings()).enabled then
      perform delivery.searches_begin(array(select n.id from new_rows n
        where n.tenant_id = app.tenant_id() and n.status = 'pending' and delivery.is_auto_assignable(n)));
    end if;
    return null;
  end if;
  select array_agg(n.id) filter (where (n.status not in ('pending', 'assigned', 'accepted') or n.carrier_type <> 'internal')
      and (n.status <> o.status or n.carrier_type <> o.carrier_type)),
    coalesce(bool_or(n.status = 'pending' and n.postponed_to is null
      and (o.status not in ('pending', 'assigned', 'accepted') or o.postponed_to is not null)), false)
  into v_over, v_open
  from new_rows n join old_rows o on o.id = n.id;
  if v_over is not null then
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    from new_rows n
    where n.id = any (v_over) and s.tenant_id = n.tenant_id and s.delivery_id = n.id and s.status in ('searching', 'offered', 'failed');
  end if;
  -- Deliveries that drivers lose before pickup are the affair of their assignments.
  if v_open and (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(array(select n.id from new_rows n join old_rows o on o.id = n.id
      where n.tenant_id = app.tenant_id() and n.status = 'pending' and n.postponed_to is null
        and (o.status not in ('pending', 'assigned', 'accepted') or o.postponed_to is not null) and delivery.is_auto_assignable(n)));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.snapshot_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if new.source_snapshot is distinct from old.source_snapshot or new.snapshot_version is distinct from old.snapshot_version
      or new.manifest_id is distinct from old.manifest_id or new.manifest_item_id is distinct from old.manifest_item_id then
    raise exception 'the source snapshot of delivery % is immutable', old.id using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION delivery.with_unresolved_exception(delivery_ids uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return array(
    select e.delivery_id from delivery.delivery_exceptions e
    where e.tenant_id = v_tenant and e.delivery_id = any (delivery_ids) and e.status = 'open'
    union all
    select w.delivery_id from warehousing.waybill_discrepancies w
    where w.tenant_id = v_tenant and w.delivery_id = any (delivery_ids) and w.status = 'open');
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_follow(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_again uuid[];
begin
  -- Of most cash nothing is held; an insert of no rows would still run every trigger of the table.
  if not exists (select from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery') then
    return;
  end if;
  with written as (
    insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
    select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, h.due_at,
      greatest(now(), h.counts_from, case when h.amount > 0 then h.due_at end)
    from (
      select distinct on (x.reference_id) x.* from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery'
        -- Nothing is held any more of a row that is reversed (money.cod_hold_end).
        and not exists (select from money.cod_collections c
          where kind = 'cod_collection' and c.tenant_id = tenant and c.id = x.reference_id and c.reversed_at is not null)
      order by x.reference_id, x.step desc
    ) h
    left join money.cash_in(tenant, kind, ids) i (id) on i.id = h.reference_id
    where (h.amount > 0) = (i.id is not null)
    order by h.reference_id
    returning reference_id, amount
  )
  select array_agg(w.reference_id) into v_again from written w where w.amount > 0;
  -- COD that is held again may be on a statement already. What is released was held, so the next statement looks at it anyway.
  if v_again is not null then
    perform money.movements_pend(tenant, kind, v_again);
  end if;
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
  v_known money.cod_settlements;
  v_handover money.cash_handovers;
  v_short numeric := 0;
begin
  if v_key is not null then
    select s.* into v_known from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_known.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_known.payment_id);
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
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint);
  perform money.cod_items_write(v_payment, v_rows);
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
  perform money.receipt_request(v_payment);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_payment, method, v_driver, v_receiver, v_wallet, v_currency, v_total, v_fees, v_short);
  return money.cod_settlement_to_json(v_payment);
end $function$;

CREATE OR REPLACE FUNCTION private.audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- Read once a statement: thousands of rows may follow.
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key uuid := app.request_setting('api_key_id')::uuid;
  v_client text := app.request_setting('client_request_id');
  v_request text := app.request_setting('request_id');
  v_operation text := app.request_setting('operation');
  v_hidden text[] := array['updated_at', 'changed'] || coalesce(string_to_array(tg_argv[0], ','), '{}');
  v_entity text := tg_table_schema || '.' || tg_table_name;
begin
  if tg_op = 'INSERT' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, after)
    select v_tenant, v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(n.doc ->> 'id', n.doc ->> 'user_id'), 'insert',
      n.doc - v_hidden
    -- Kept apart: flattened, the document of each row would be made for each time it is used.
    from (select to_jsonb(t) as doc from new_rows t offset 0) n;
  elsif tg_op = 'DELETE' then
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before)
    select v_tenant, v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(o.doc ->> 'id', o.doc ->> 'user_id'), 'delete',
      o.doc - v_hidden
    from (select to_jsonb(t) as doc from old_rows t offset 0) o;
  else
    insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
    select v_tenant, v_actor, v_key, v_request, v_client, v_operation, v_entity,
      coalesce(p.was ->> 'id', p.was ->> 'user_id'), 'update',
      c.before, c.after
    from (
      -- Both transition tables list the rows in the order of the update. Paired by grouping, not by a
      -- join: its plan, made for a session's first small change and kept, is a nested loop that takes
      -- longer than the statement timeout for thousands of rows.
      select d.line, (array_agg(d.doc) filter (where d.old))[1] as was, (array_agg(d.doc) filter (where not d.old))[1] as became
      from (
        select true as old, row_number() over () as line, to_jsonb(t) as doc from old_rows t
        union all
        select false, row_number() over (), to_jsonb(t) from new_rows t
      ) d
      group by d.line
    ) p
    cross join lateral (
      select jsonb_object_agg(f.key, p.was -> f.key) as before, jsonb_object_agg(f.key, f.value) as after
      from jsonb_each(p.became) f
      where f.value is distinct from p.was -> f.key and f.key <> all (v_hidden)
    ) c
    where c.after is not null
    order by p.line;
  end if;
  return null;
end $function$;

CREATE TRIGGER guard_snapshot BEFORE UPDATE ON delivery.deliveries FOR EACH ROW WHEN ((old.source_snapshot IS NOT NULL)) EXECUTE FUNCTION delivery.snapshot_guard();

REVOKE ALL ON FUNCTION "delivery"."returns_under_way"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."returns_under_way"(uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."with_unresolved_exception"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."with_unresolved_exception"(uuid[]) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125175726';
end $$;

grant execute on function private.schema_version() to barid_api;
