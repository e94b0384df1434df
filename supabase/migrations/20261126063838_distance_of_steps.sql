-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: 4a06e777f74631fbce404c0ff659e8a9b0a5544418109eaf8b74f4c473824c3e
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.attempt_fails(input jsonb, p_reason text, p_notes text, counts boolean, refused boolean, postpone_to date DEFAULT NULL::date)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, '{picked_up,in_transit}', 'failed');
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  update delivery.deliveries x set status = 'failed', status_reason = p_reason, status_notes = p_notes, attempts_exhausted = refused,
    attempts_used = x.attempts_used + case when counts and delivery.attempt_counts(d) then 1 else 0 end,
    postponed_to = postpone_to, overnight_notice_at = case d.carrier_type when 'internal' then delivery.overnight_notice(postpone_to) end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'failed'));
  return d;
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
    r.latitude, r.longitude, r.distance_m, r.occurred_at
  from new_rows n join old_rows o on o.id = n.id
  left join jsonb_to_record(nullif(current_setting('app.reported', true), '')::jsonb)
    r (parcel uuid, latitude double precision, longitude double precision, distance_m double precision, occurred_at timestamptz)
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

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
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
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
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
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, case d.carrier_type when 'external' then '{pending,picked_up}'::text[] else '{picked_up}' end, 'in_transit');
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  perform storefront.require_order_picked(d.id);
  update delivery.deliveries x set status = 'in_transit', picked_up_at = coalesce(x.picked_up_at, clock_timestamp())
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if d.status = 'pending' then
    perform delivery.carrier_takes(d);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_retry(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
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
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  if not delivery.leaves_warehouse(d) then
    perform warehousing.receipts_withdraw(d.id, v_warehouse);
  end if;
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.delivery_refund_on(d, 'refund_delivery_fee_on_return') end;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_taken(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_due jsonb := money.cash_to_take(d, 'pickup');
begin
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  if a.status is distinct from 'assigned' and a.status is distinct from 'accepted' then
    perform app.fail('assignment_not_accepted', jsonb_build_object('status', a.status));
  end if;
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  update delivery.deliveries x set status = 'picked_up', picked_up_at = clock_timestamp(), status_reason = null, status_notes = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_proofs_keep(d, 'pickup', input -> 'proof');
  perform delivery.require_cash(d, 'pickup', input -> 'cash_collected');
  perform money.cash_collected(delivery.parcel_of(d), 'pickup', a.driver_id);
  return delivery.cash_summary(v_due);
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
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'latitude', input -> 'latitude',
      'longitude', input -> 'longitude', 'occurred_at', v_at, 'distance_m', round(app.distance_km((place ->> 'latitude')::double precision,
        (place ->> 'longitude')::double precision, (input ->> 'latitude')::double precision, (input ->> 'longitude')::double precision) * 1000))::text, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_sent_back(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_return uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'returned');
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  v_return := delivery.return_from_door(d, 'operational_return', null, jsonb_build_object('reason', reason -> 'value', 'notes', input -> 'note'));
  update delivery.deliveries x set status = 'returned', status_reason = reason ->> 'value', status_notes = input ->> 'note',
    attempts_used = x.attempts_used + case when (reason ->> 'counts')::boolean then 1 else 0 end, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- A warehouse that expected it gets its return, if anything.
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.outcome_record(d, 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  perform delivery.assignment_end(a, 'returned');
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d),
    'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."move_reported"(delivery.deliveries, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."move_reported"(delivery.deliveries, jsonb, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126063838';
end $$;

grant execute on function private.schema_version() to barid_api;
