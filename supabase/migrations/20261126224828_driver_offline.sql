-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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
    perform app.fail('assignment_not_pending', case when cardinality(v_rows) = 0 then '{"status": "returned", "text_key": "assignment_withdrawn"}'
      else jsonb_build_object('status', (select r.status from unnest(v_rows) r where r.status <> 'pending' limit 1)) end);
  end if;

  -- Somebody who was given a rest fetches nothing new; a parcel on the road they do confirm.
  if v_answer = 'accepted' and exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (v_deliveries) and d.status = 'assigned')
    and exists (select from delivery.drivers r where r.tenant_id = v_tenant and r.user_id = v_me and r.status <> 'active') then
    perform app.fail('driver_inactive');
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

CREATE OR REPLACE FUNCTION delivery.attempt_fails(input jsonb, p_reason text, p_notes text, counts boolean, refused boolean, postpone_to date DEFAULT NULL::date)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'failed');
  perform delivery.require_off_waybill(d, a, 'failed');
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  update delivery.deliveries x set status = 'failed', status_reason = p_reason, status_notes = p_notes, attempts_exhausted = refused,
    attempts_used = x.attempts_used + case when counts and delivery.attempt_counts(d) then 1 else 0 end,
    postponed_to = postpone_to, overnight_notice_at = case d.carrier_type when 'internal' then delivery.overnight_notice(postpone_to) end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'failed'));
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.board(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_sent_back uuid[];
  v_unassigned json;
  v_late json;
  v_searching bigint;
  v_failed bigint;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  if v_zone is not null and not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = v_zone) then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
  v_sent_back := delivery.sent_back(v_tenant);
  -- Counted in the index alone; the few that go back are taken off, since their returns are counted or carried in their place.
  with waiting as not materialized (
    select d.id, d.pickup_zone_id, d.created_at from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and (v_zone is null or d.pickup_zone_id = v_zone)),
  back as materialized (select w.id, w.pickup_zone_id from waiting w where w.id = any (v_sent_back))
  select json_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(json_agg(json_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select w.pickup_zone_id, w.count - b.count as count, case when b.count = 0 then w.oldest_at else (
        select min(o.created_at) from waiting o
        where o.pickup_zone_id is not distinct from w.pickup_zone_id and o.id <> all (v_sent_back)) end as oldest_at
    from (select w.pickup_zone_id, count(*) as count, min(w.created_at) as oldest_at from waiting w group by w.pickup_zone_id) w
    cross join lateral (select count(*) as count from back where back.pickup_zone_id is not distinct from w.pickup_zone_id) b
    where w.count > b.count) c
  left join delivery.zones z on z.tenant_id = v_tenant and z.id = c.pickup_zone_id;

  -- Not materialized: counted in the index alone, and the first are read in its order.
  with late as not materialized (
    select * from delivery.deliveries d
    where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
      and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.promised_at is not null or d.deliver_before is not null)
      and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id)))
  select json_build_object('total', (select count(*) from late), 'deliveries', coalesce(json_agg(delivery.on_board(d, (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by least(d.promised_at, d.deliver_before), d.id), '[]')) into v_late
  from (select * from late l order by least(l.promised_at, l.deliver_before), l.id limit 50) d;

  select count(*) filter (where s.status = 'searching'), count(*) filter (where s.status = 'failed') into v_searching, v_failed
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return json_build_object('as_of', now(), 'drivers', delivery.board_drivers(v_tenant, v_zone), 'unassigned', v_unassigned,
    'to_reassign', delivery.board_to_reassign(v_tenant, v_zone), 'late', v_late, 'searching', v_searching, 'failed_to_assign', v_failed);
end $function$;

CREATE OR REPLACE FUNCTION delivery.board_drivers(tenant uuid, zone uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_online_since timestamptz := now() - delivery.offline_after();
begin
  return (
    select coalesce(json_agg(r order by r.full_name, r.id), '[]')
    from (
      select d.user_id as id, p.full_name, d.status, coalesce(s.on_duty, false) as on_duty,
        coalesce(s.on_duty and s.last_heartbeat_at > v_online_since, false) as is_online, case when s.latitude is not null then
          json_build_object('latitude', s.latitude, 'longitude', s.longitude, 'accuracy_m', s.accuracy_m, 'recorded_at', s.recorded_at) end as last_position,
        case when v.id is not null then json_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) end as vehicle,
        v.unit_capacity as capacity, d.capacity_used as load, d.live_stops as stops_left, x.next_stop
      from delivery.drivers d
      join tenancy.profiles p on p.id = d.user_id
      left join delivery.driver_presence s on s.tenant_id = d.tenant_id and s.driver_id = d.user_id
      left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id
      left join lateral (
        select json_build_object('delivery_id', y.id, 'delivery_code', y.delivery_code, 'place', json_build_object(
            'kind', case when y.status in ('pending', 'assigned', 'accepted') then 'pickup' else 'dropoff' end, 'full_address', n.place -> 'full_address',
            'city', n.place -> 'city', 'latitude', n.place -> 'latitude', 'longitude', n.place -> 'longitude')) as next_stop
        from delivery.assignments a
        join delivery.deliveries y on y.tenant_id = a.tenant_id and y.id = a.delivery_id
        left join warehousing.receiving_orders r on r.tenant_id = y.tenant_id and r.delivery_id = y.id and r.status = 'pending'
        cross join lateral (
          select case when y.status in ('pending', 'assigned', 'accepted') then case when y.delivery_flow <> 'pnd_inbound' then y.current_warehouse_id end
              when r.id is not null then r.warehouse_id
              when y.carrier_type = 'internal' and y.transfer_kind = 'single_delivery' then y.dropoff_warehouse_id end as warehouse_id) w
        cross join lateral (
          select case when y.status in ('pending', 'assigned', 'accepted') then y.pickup_snapshot else y.dropoff_snapshot end as ordered) o
        cross join lateral (
          select case when w.warehouse_id is null then o.ordered else delivery.warehouse_place(y.tenant_id, w.warehouse_id, o.ordered) end as place) n
        where a.tenant_id = d.tenant_id and a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')
          and y.postponed_to is null and (d.status = 'active' or y.status not in ('pending', 'assigned', 'accepted'))
        order by a.sequence_number limit 1) x on d.live_stops > 0
      where d.tenant_id = board_drivers.tenant and (s.on_duty or d.live_stops > 0)
        and (board_drivers.zone is null or d.all_zones or exists (
          select from delivery.driver_zones z
          where z.tenant_id = d.tenant_id and z.driver_id = d.user_id and z.zone_id = board_drivers.zone))) r);
end $function$;

CREATE OR REPLACE FUNCTION delivery.board_to_reassign(tenant uuid, zone uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select json_build_object('total', count(*), 'deliveries', coalesce(json_agg(delivery.on_board(w.d, w.driver_id) order by w.place)
      filter (where w.place <= 50), '[]'))
    from (
      select d, r.user_id as driver_id, row_number() over (order by least(d.promised_at, d.deliver_before), d.id) as place
      from delivery.drivers r
      join delivery.assignments a on a.tenant_id = r.tenant_id and a.driver_id = r.user_id and a.status in ('pending', 'assigned', 'accepted')
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id and d.status in ('assigned', 'accepted')
      where r.tenant_id = board_to_reassign.tenant and r.status <> 'active' and r.live_stops > 0
        and (board_to_reassign.zone is null or d.pickup_zone_id = board_to_reassign.zone)) w);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."board_to_reassign"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_shipment uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_off_waybill(d, a, 'delivered');
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    if input ->> 'result' is distinct from 'partial' then
      perform delivery.require_amount_for_whole(v_parcel);
    end if;
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id into v_shipment from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      if not found then
        perform app.fail('delivery_has_no_driver');
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The numbers of receipts come after its order, and before the wallets that its cash moves.
  if v_warehouse is not null then
    perform app.lock_numbers('receiving_order', true);
  elsif d.order_id is not null then
    perform storefront.lock_receipt_numbers(d.id);
  end if;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_shipment is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), (input ->> 'amount_change_id')::uuid);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_depart(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, case d.carrier_type when 'external' then '{pending,picked_up}'::text[] else '{picked_up}' end, 'in_transit');
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  perform storefront.require_order_picked(d.id);
  if d.status = 'pending' then
    perform money.require_sender_cash(delivery.parcel_terms(d));
  end if;
  update delivery.deliveries x set status = 'in_transit', picked_up_at = coalesce(x.picked_up_at, clock_timestamp())
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if d.status = 'pending' then
    perform delivery.carrier_takes(d);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_outcome(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_result text := input ->> 'result';
  v_reason jsonb;
  v_answer jsonb;
  o delivery.outcomes;
begin
  perform delivery.require_no_outcome(d);
  perform delivery.require_carrier(d);
  if v_result in ('failed', 'refused', 'postponed') then
    v_reason := delivery.outcome_reason(input);
  end if;
  v_answer := case
    when v_result = 'delivered' then delivery.outcome_delivered(input)
    when v_result = 'partial' then delivery.outcome_partial(d, input)
    when v_result = 'exchanged' then delivery.outcome_exchanged(d, input)
    when v_result = 'postponed' then delivery.outcome_postponed(d, input, v_reason)
    -- A carrier has a way of its own to bring back what is refused.
    when v_result = 'refused' and delivery.attempt_counts(d) and d.carrier_type = 'internal'
      and tenancy.attempt_settings() ->> 'after_last' = 'return' then delivery.outcome_sent_back(d, input, v_reason)
    else delivery.outcome_failed(d, input, v_reason) end;
  perform delivery.outcome_complete(d.id);
  o := delivery.outcome_of(d.id);
  -- An earlier one says nothing of this report.
  if o.created_at is distinct from now() then
    return v_answer || '{"undo_until": null}';
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', v_result, 'reason_code', v_reason ->> 'value', 'actor_id', app.user_id()))));
  return v_answer || jsonb_build_object('undo_until', case d.carrier_type when 'internal' then delivery.outcome_undo_until(o) end);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_pickup(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  v_handoff uuid;
  v_cash jsonb;
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  select h.id into v_handoff from delivery.package_handoffs h
  where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.status = 'pending';
  if v_handoff is not null or delivery.leaves_warehouse(d) then
    perform app.fail('pickup_by_handoff', jsonb_build_object('handoff_id', v_handoff));
  end if;
  perform delivery.require_not_for_waybill(d);
  v_cash := delivery.delivery_taken(d, input);
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  if d.current_warehouse_id is not null then
    perform warehousing.parcel_leaves(d.id, d.current_warehouse_id);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_reported(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_first_report(d, input);
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_retry(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_reassign boolean := coalesce((input ->> 'reassign')::boolean, false);
  v_override text := input ->> 'override_reason';
  v_allowed integer;
begin
  perform delivery.require_move(d, '{failed}', case when v_reassign then 'pending' else 'in_transit' end);
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if not v_operations and (v_reassign or v_override is not null) then
    perform app.fail('forbidden');
  end if;
  if v_reassign and (delivery.leaves_warehouse(d) or delivery.returns_from_door(d)) then
    perform app.fail('return_through_warehouse');
  end if;
  perform delivery.require_off_waybill(d, a, case when v_reassign then 'pending' else 'in_transit' end);
  if not v_reassign and a.id is null and d.carrier_type = 'internal' then
    perform app.fail('delivery_has_no_driver');
  end if;
  select s.allowed_delivery_attempts into v_allowed from delivery.delivery_services s
  where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  if (d.attempts_exhausted or delivery.attempt_counts(d) and d.attempts_used >= coalesce(v_allowed, 1)) and v_override is null then
    perform app.fail('delivery_attempts_exhausted', jsonb_build_object('field', 'override_reason',
      'attempts_used', d.attempts_used, 'allowed_delivery_attempts', coalesce(v_allowed, 1))
      || case when d.attempts_exhausted then '{"text_key": "delivery_was_refused"}'::jsonb else '{}' end);
  end if;
  update delivery.deliveries x set status = case when v_reassign then 'pending' else 'in_transit' end,
    status_reason = v_override, status_notes = input ->> 'notes', attempts_exhausted = false, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- On its way again: what was to be received of it stays with the driver.
  perform warehousing.receipts_withdraw(d.id);
  if v_reassign then
    perform delivery.assignment_end(a, 'returned');
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select d.tenant_id, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id)
    where a.driver_id is not null;
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_completed jsonb;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  if d.delivery_flow = 'customer_return' and not delivery.is_transferred(d) and v_warehouse = delivery.ends_in(d) then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'failed';
    v_completed := delivery.delivery_complete(input);
    return jsonb_build_object('delivery', v_completed -> 'delivery', 'receiving_order_id', warehousing.receipt_of(d.id),
      'refunded', false, 'refund_due', null);
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  -- Expected by another warehouse, such as the one it left with an open exception, it does not come there.
  perform warehousing.receipts_withdraw(d.id, coalesce(v_warehouse, case when delivery.leaves_warehouse(d) then d.pickup_warehouse_id end));
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_awaited and d.status = 'in_transit' then
    perform delivery.stop_recorded(d.id);
  end if;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.delivery_refund_on(d, 'refund_delivery_fee_on_return') end;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_unseen(delivery_id uuid, otherwise text DEFAULT 'delivery_not_found'::text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  perform app.fail('assignment_ended', '{"text_key": "delivery_withdrawn"}')
  from delivery.assignments a
  where a.tenant_id = app.tenant_id() and a.delivery_id = delivery_unseen.delivery_id and a.driver_id = app.user_id() and a.withdrawn
    and app.has_role('driver');
  perform app.fail(otherwise);
end $function$;

CREATE OR REPLACE FUNCTION delivery.expected_in(delivery_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select r.warehouse_id from warehousing.receiving_orders r
    where r.tenant_id = app.tenant_id() and r.delivery_id = expected_in.delivery_id and r.status = 'pending' limit 1);
end $function$;

CREATE OR REPLACE FUNCTION delivery.handed_off_in(handoff uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select h.delivery_id from delivery.package_handoffs h where h.tenant_id = app.tenant_id() and h.id = handoff);
end $function$;

CREATE OR REPLACE FUNCTION delivery.handoff_pickup(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  h delivery.package_handoffs;
  d delivery.deliveries;
  v_cash jsonb;
begin
  select * into h from delivery.package_handoffs x where x.id = v_id;
  if not found then
    perform delivery.delivery_unseen(delivery.handed_off_in(v_id), 'handoff_not_found');
  end if;
  d := delivery.lock_delivery(h.delivery_id);
  select * into h from delivery.package_handoffs x where x.id = v_id for no key update;
  if not found then
    perform app.fail('handoff_not_found');
  end if;
  perform delivery.require_first_report(d, input);
  perform delivery.require_carrier(d);
  if h.status <> 'pending' then
    perform app.fail('handoff_not_pending', jsonb_build_object('status', h.status));
  end if;
  perform delivery.picking_hand_off(h.picking_order_id, d.id);
  v_cash := delivery.delivery_taken(d, input);
  update delivery.package_handoffs x set status = 'completed', custody = 'driver', completed_at = clock_timestamp()
  where x.tenant_id = h.tenant_id and x.id = h.id;
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  perform warehousing.stock_exit('picking_order', h.picking_order_id, 'pick');
  return jsonb_build_object('handoff', (select to_jsonb(r) from delivery.handoffs_list r where r.id = v_id),
    'delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_delivery(delivery_id uuid)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  perform from delivery.deliveries x where x.id = lock_delivery.delivery_id;
  if not found then
    perform delivery.delivery_unseen(lock_delivery.delivery_id);
  end if;
  perform delivery.lock_deliveries(array[lock_delivery.delivery_id]);
  -- As it is now, whoever held it before.
  select * into d from delivery.deliveries x where x.id = lock_delivery.delivery_id;
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_for_undo(p_delivery uuid)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.id = p_delivery;
  if not found then
    perform delivery.delivery_unseen(p_delivery);
  end if;
  perform delivery.lock_deliveries(d.id || delivery.made_of(delivery.parcel_of(d)));
  return delivery.delivery_to_move(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.move_reported(d delivery.deliveries, input jsonb, place jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
begin
  if v_at not between now() - interval '72 hours' and now() + interval '2 minutes' then
    perform app.fail('invalid_occurred_at', '{"field": "occurred_at"}');
  end if;
  if v_at is not null or input ->> 'latitude' is not null then
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'delivery', d.id,
      'reported_as', case when v_at is not null then delivery.reported_as(input) end,
      'latitude', input -> 'latitude', 'longitude', input -> 'longitude', 'occurred_at', v_at,
      'distance_m', round(app.distance_km((place ->> 'latitude')::double precision, (place ->> 'longitude')::double precision,
        (input ->> 'latitude')::double precision, (input ->> 'longitude')::double precision) * 1000))::text, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.on_board(d delivery.deliveries, driver uuid)
 RETURNS json
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return json_build_object('id', d.id, 'delivery_code', d.delivery_code, 'status', d.status, 'promised_at', d.promised_at,
    'deliver_before', d.deliver_before, 'pickup_zone_id', d.pickup_zone_id, 'dropoff_zone_id', d.dropoff_zone_id, 'driver_id', driver);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."on_board"(delivery.deliveries, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.reported_as(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return concat_ws(' ', app.request_setting('operation'), input ->> 'result');
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
    perform app.fail('assignment_ended', jsonb_build_object('delivery_ids', array[d.id], 'status', d.status,
      'text_key', case x.status when 'completed' then 'delivery_done_by_driver' else 'delivery_left_driver' end))
    from delivery.assignments x
    where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.driver_id = app.user_id() and x.status in ('completed', 'returned')
    order by x.assignment_time desc limit 1;
    perform app.fail('forbidden');
  end if;
  -- Handed over on the road: whoever gets the parcel says first that it is there.
  if a.status = 'pending' and d.status in ('picked_up', 'in_transit', 'failed', 'returned') then
    perform app.fail('assignment_not_accepted', jsonb_build_object('status', a.status));
  end if;
  perform delivery.lock_driver(a.driver_id);
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_first_report(d delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
  v_ids uuid[];
begin
  if v_at is null then
    return;
  end if;
  v_ids := case when d.parent_id = (input ->> 'id')::uuid
    then array(select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.parent_id) else array[d.id] end;
  if exists (select from delivery.delivery_status_history h
      where h.tenant_id = d.tenant_id and h.delivery_id = any (v_ids) and h.occurred_at = v_at and h.reported_as = delivery.reported_as(input)
        and h.actor_id is not distinct from app.user_id()) then
    perform app.fail('delivery_status_changed', jsonb_build_object('text_key', 'step_reported_already', 'delivery_ids', array[d.id],
      'status', d.status, 'status_reason', d.status_reason));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_postponed_to(input jsonb)
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_day date := (input ->> 'postponed_to')::date;
  v_today date := (coalesce(app.instant(input ->> 'occurred_at'), now()) at time zone app.timezone())::date;
begin
  if v_day is null or v_day not between v_today + 1 and v_today + 30 then
    perform app.fail('invalid_postponed_to', jsonb_build_object('field', 'postponed_to', 'first', v_today + 1, 'last', v_today + 30));
  end if;
  return v_day;
end $function$;

CREATE OR REPLACE FUNCTION delivery.sequence_stops(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_start jsonb;
  v_list jsonb;
begin
  perform delivery.sequence_of(v_driver);
  select s.place into v_start
  from (
    select x.seen_at, x.place
    from (
      select a.delivery_id from delivery.assignments a
      where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('accepted', 'assigned', 'completed', 'returned')
      order by a.assignment_time desc nulls last, a.id desc limit 200
    ) recent
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = recent.delivery_id
    cross join lateral (values (d.delivered_at, d.dropoff_snapshot), (d.picked_up_at, d.pickup_snapshot)) x (seen_at, place)
    union all
    select p.recorded_at, jsonb_build_object('latitude', p.latitude, 'longitude', p.longitude)
    from delivery.driver_presence p where p.tenant_id = v_tenant and p.driver_id = v_driver
  ) s
  where s.seen_at is not null and s.place ->> 'latitude' is not null and s.place ->> 'longitude' is not null
  order by s.seen_at desc limit 1;

  select coalesce(jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id, 'delivery_code', d.delivery_code,
      'picked_up', w.in_hand,
      'pickup', case when f.latitude is not null then jsonb_build_object('latitude', f.latitude, 'longitude', f.longitude) end,
      'dropoff', case when t.latitude is not null then jsonb_build_object('latitude', t.latitude, 'longitude', t.longitude) end,
      'pickup_by', a.estimated_pickup_time, 'dropoff_after', case when w.to_door then d.deliver_after end,
      'dropoff_by', case when w.to_door then least(a.estimated_delivery_time, d.promised_at, d.deliver_before) else a.estimated_delivery_time end)
    order by a.sequence_number, a.assignment_time, a.id), '[]') into v_list
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  cross join lateral (select d.status in ('picked_up', 'in_transit', 'failed', 'returned') as in_hand offset 0) h
  cross join lateral (select case when h.in_hand then delivery.expected_in(d.id) end as warehouse_id offset 0) e
  cross join lateral (select h.in_hand, e.warehouse_id, d.delivery_flow <> 'pnd_inbound' and e.warehouse_id is null as to_door) w
  -- Not from the addresses: a driver does not see every one.
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.fetched_at(d) as place offset 0) p) f
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select case when w.warehouse_id is null then delivery.brought_to(d)
      else delivery.warehouse_place(d.tenant_id, w.warehouse_id, d.dropoff_snapshot) end as place offset 0) p) t
  where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted') and d.postponed_to is null;
  return jsonb_build_object('start', case when v_start is not null then jsonb_build_object(
    'latitude', v_start -> 'latitude', 'longitude', v_start -> 'longitude') end, 'assignments', v_list,
    'detour', delivery.detour_factor(coalesce((v_list #>> '{0,pickup,latitude}')::double precision,
      (v_list #>> '{0,dropoff,latitude}')::double precision, (v_start ->> 'latitude')::double precision)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.sequence_write(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_asked integer := jsonb_array_length(input -> 'assignments');
  v_count integer;
begin
  perform delivery.sequence_of(v_driver);
  perform from delivery.assignments a
  where a.tenant_id = v_tenant and a.driver_id = v_driver
    and a.id in (select l.assignment_id from jsonb_to_recordset(input -> 'assignments') l (assignment_id uuid))
  order by a.id for no key update;
  update delivery.assignments a set sequence_number = l.sequence_number
  from (
    select n.assignment_id, min(n.sequence_number) as sequence_number
    from jsonb_to_recordset(input -> 'assignments') n (assignment_id uuid, sequence_number integer)
    group by n.assignment_id having count(*) = 1
  ) l
  where a.tenant_id = v_tenant and a.id = l.assignment_id and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted');
  get diagnostics v_count = row_count;
  if v_count <> v_asked then
    perform app.fail('invalid_sequence', jsonb_build_object('field', 'assignments', 'assignment_ids', array(
      select n.assignment_id from jsonb_to_recordset(input -> 'assignments') n (assignment_id uuid)
      group by n.assignment_id
      having count(*) > 1 or not exists (select from delivery.assignments a where a.tenant_id = v_tenant and a.id = n.assignment_id
        and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted'))
      order by 1)));
  end if;
  return jsonb_build_object('updated_count', v_count);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."board_to_reassign"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."delivery_reported"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivery_reported"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."delivery_unseen"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivery_unseen"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."expected_in"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."expected_in"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."handed_off_in"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."handed_off_in"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."on_board"(delivery.deliveries, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."reported_as"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."reported_as"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_first_report"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_first_report"(delivery.deliveries, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126224828';
end $$;

grant execute on function private.schema_version() to barid_api;
