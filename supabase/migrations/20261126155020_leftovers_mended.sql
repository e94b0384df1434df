-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.ended_deliveries in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."ended_deliveries";

CREATE TABLE "app"."timelines" ("timeline" integer NOT NULL, "begins" bigint NOT NULL, "began_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "timelines_pkey" PRIMARY KEY (timeline), CONSTRAINT "timelines_timeline_check" CHECK ((timeline > 0)));

ALTER TABLE "app"."timelines" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "app"."timelines" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.assignment_bulk_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.attempt_fails(input jsonb, p_reason text, p_notes text, counts boolean, refused boolean, postpone_to date DEFAULT NULL::date)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
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
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
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

CREATE OR REPLACE FUNCTION delivery.manifest_items_add(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_max constant integer := 5000;
  v_ids uuid[];
begin
  if m.status <> 'draft' then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_takes_no_items"}');
  elsif jsonb_array_length(input -> 'items') > v_max - (
      select count(*) from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id) then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m)
      || jsonb_build_object('text_key', 'reason_manifest_is_full', 'field', 'items', 'items_max', v_max));
  end if;
  v_ids := delivery.manifest_items_insert(m.id, input -> 'items');
  return jsonb_build_object('manifest_id', m.id,
    'items_count', (select count(*) from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id),
    'items', (select jsonb_agg(to_jsonb(i) - 'manifest_id' order by i.position) from delivery.manifest_items_list i where i.id = any (v_ids)));
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
  perform delivery.require_off_waybill(d, a, 'returned');
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

CREATE OR REPLACE FUNCTION delivery.require_off_waybill(d delivery.deliveries, a delivery.assignments, target text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_transfer jsonb := case when a.id is null then delivery.transfer_under_way(d) end;
begin
  if v_transfer ->> 'waybill_id' is not null then
    perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', target));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.cancel_finish(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_answer jsonb;
  s integration.carrier_shipments;
  v_cancelled boolean := (input ->> 'cancelled')::boolean;
  v_reported boolean := false;
begin
  perform integration.key_hold(input);
  update integration.carrier_shipments t set status = case when v_cancelled then 'cancelled' else 'booked' end,
    cancelled_at = case when v_cancelled then now() end, claim_token = null, claimed_at = null
  where t.id = (input ->> 'shipment_id')::uuid and t.claim_token = (input ->> 'claim_token')::uuid
  returning t.* into s;
  if not found then
    select t.* into s from integration.carrier_shipments t where t.id = (input ->> 'shipment_id')::uuid and t.status = 'cancelled';
    if not found then
      perform app.fail('shipment_in_progress');
    end if;
    v_cancelled := true;
    v_reported := true;
  end if;
  if v_cancelled and not v_reported then
    perform integration.shipment_cancelled_emit(s);
  end if;
  v_answer := integration.shipment_to_json(s);
  if input ? 'key' and v_cancelled then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  elsif input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return v_answer;
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
  v_moved_at timestamptz;
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
    if v_status = 'cancelled' then
      perform integration.shipment_given_back(s, d, report ->> 'carrier_status');
    end if;
  end if;
  if v_outcome = 'applied' then
    -- The order comes before the numbers of receipts, also of what its end expects back, and these before wallets.
    perform from storefront.storefront_orders o where o.tenant_id = tenant_id and o.id = d.order_id for no key update;
    if v_status in ('delivered', 'returned') and (d.order_id is not null or delivery.ends_in(d) is not null) then
      perform app.lock_numbers('receiving_order', true);
    end if;
    -- Before the stock of a store, which the first report moves, since what gives money back locks wallets first. An order that ends may be
    -- refunded as well.
    if v_status = 'delivered' and s.cash_due > 0 or v_status in ('delivered', 'returned') and d.order_id is not null then
      perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
    end if;
    -- A carrier's clock that is behind, or wrong, delivers nothing before it was ordered or picked up.
    v_moved_at := greatest(v_at, d.created_at, d.picked_up_at);
    foreach v_move in array v_moves loop
      update delivery.deliveries t set status = v_move,
        status_reason = case when v_move in ('failed', 'returned') then 'carrier_' || coalesce(report ->> 'carrier_status', v_move) end,
        attempts_used = t.attempts_used + case when v_move = 'failed' and delivery.attempt_counts(t) then 1 else 0 end,
        picked_up_at = case when v_move in ('picked_up', 'in_transit') then coalesce(t.picked_up_at, v_moved_at) else t.picked_up_at end,
        delivered_at = case when v_move = 'delivered' then v_moved_at else t.delivered_at end
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

CREATE OR REPLACE FUNCTION integration.shipment_cancelled_emit(s integration.carrier_shipments)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'shipment.cancelled', 'source_module', 'carriers',
    'entity_type', 'delivery', 'entity_id', s.delivery_id, 'event_data', jsonb_build_object('shipment_id', s.id,
      'delivery_id', s.delivery_id, 'carrier_code', s.carrier_code, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_given_back(s integration.carrier_shipments, d delivery.deliveries, carrier_status text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update integration.carrier_shipments t set status = 'cancelled', cancelled_at = now(), claim_token = null, claimed_at = null
  where t.id = s.id and t.status <> 'cancelled';
  update delivery.deliveries t set status_reason = 'carrier_' || coalesce(carrier_status, 'cancelled')
  where t.tenant_id = d.tenant_id and t.id = d.id and t.status <> 'cancelled';
  perform integration.shipment_cancelled_emit(s);
  if d.status <> 'cancelled' then
    perform tenancy.notify_tenant_admins('shipment_cancelled', jsonb_build_object('shipment_id', s.id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'carrier_code', s.carrier_code));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_receiver(asked uuid, field text DEFAULT 'remitted_to_user_id'::text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if asked is null then
    if (not money.settles_for_office() and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver')
        or not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = app.user_id()) then
      perform app.fail('receiver_required', jsonb_build_object('field', field));
    end if;
    return app.user_id();
  end if;
  if not exists (
      select from tenancy.tenant_users u
      where u.tenant_id = app.tenant_id() and u.user_id = asked and u.is_active and u.tenant_user_type = 'staff'
        and exists (
          select from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id
            and (r.role_key in ('dispatcher', 'tenant_admin') or r.role_key = 'operations_manager' and money.settles_for_office()))) then
    perform app.fail('invalid_receiver', jsonb_build_object('field', field));
  end if;
  return asked;
end $function$;

CREATE OR REPLACE FUNCTION private.cursor_base()
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return 1000000000000000 * coalesce((select max(t.timeline) from app.timelines t), 0);
end $function$;

CREATE OR REPLACE FUNCTION private.cursor_number(number bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_timeline bigint := number / 1000000000000000;
  v_changed bigint := number % 1000000000000000;
begin
  if v_changed >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint or number - v_changed > private.cursor_base()
      or exists (select from app.timelines t where t.timeline > v_timeline and t.begins <= v_changed) then
    perform app.fail('invalid_cursor', '{"field": "cursor"}');
  end if;
  return v_changed;
end $function$;

CREATE OR REPLACE FUNCTION private.restore_end()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_column record;
begin
  for v_column in
    select n.nspname as schema, c.relname as name, a.attname as numbered
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and n.nspname <> 'pg_catalog'
      and (a.atttypid = 'xid8'::regtype or pg_get_expr(d.adbin, d.adrelid) like '%pg_current_xact_id()%')
  loop
    execute format('update %1$I.%2$I set %3$I = ''1'' where %3$I is not null', v_column.schema, v_column.name, v_column.numbered);
  end loop;
  perform private.timeline_begin(2);
end $function$;

CREATE OR REPLACE FUNCTION private.timeline_begin(begins bigint DEFAULT NULL::bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into app.timelines (timeline, begins)
  select coalesce(max(t.timeline), 0) + 1, coalesce(timeline_begin.begins, pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
  from app.timelines t;
end $function$;

CREATE OR REPLACE FUNCTION storefront.lock_receipt_numbers(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (select from storefront.storefront_order_parts p
      join storefront.storefront_order_parts o on o.tenant_id = p.tenant_id and o.order_id = p.order_id and o.id <> p.id and o.left_at is not null
      where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery) then
    perform app.lock_numbers('receiving_order', true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_begin()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_from timestamptz;
  v_type text;
begin
  select greatest(now(), t.effective_until) into v_from from tenancy.tenants t where t.id = v_tenant;
  update tenancy.subscriptions s set status = 'ACTIVE',
    starts_at = case s.type when 'UNLIMITED' then now() else v_from end,
    ends_at = tenancy.subscription_ends_at(v_from, s.type)
  where s.tenant_id = v_tenant and s.status = 'PENDING' returning s.type into v_type;
  if not found then
    return;
  end if;
  -- A term that was bought ends one that has no end.
  update tenancy.subscriptions s set status = 'CANCELLED', cancelled_at = now(), ends_at = now()
  where s.tenant_id = v_tenant and s.status = 'ACTIVE' and s.type = 'UNLIMITED' and v_type <> 'UNLIMITED';
  perform tenancy.subscription_settle();
  perform tenancy.tenant_event_emit('subscription_started', jsonb_build_object('type', v_type));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_ends_at(from_moment timestamp with time zone, type text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    with recursive terms (begins, months) as (
      select from_moment, tenancy.subscription_months(subscription_ends_at.type)
      union all
      select s.starts_at, t.months + tenancy.subscription_months(s.type)
      from terms t
      join tenancy.subscriptions s on s.tenant_id = v_tenant and s.ends_at = t.begins and s.starts_at < s.ends_at and s.type <> 'UNLIMITED'
    )
    select t.begins + make_interval(months => t.months) from terms t order by t.months desc limit 1);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_months(type text)
 RETURNS integer
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return case type when 'MONTHLY' then 1 when 'ANNUAL' then 12 end;
end $function$;

CREATE VIEW "delivery"."ended_deliveries" WITH (security_invoker=true) AS  SELECT d.tenant_id,
    d.id AS delivery_id,
    a.driver_id,
    d.created_at,
    (NOT ((d.delivery_flow = 'pnd_inbound'::text) AND (d.status = 'delivered'::text))) AS counted,
    ((d.parent_id IS NOT NULL) AND (d.picked_up_at IS NOT NULL)) AS handled_leg,
    (d.status = 'delivered'::text) AS successful,
        CASE
            WHEN (d.status = 'delivered'::text) THEN (d.delivered_at <= COALESCE(d.promised_at,
            CASE
                WHEN (d.dropoff_warehouse_id IS NULL) THEN p.promised_at
                ELSE NULL::timestamp with time zone
            END))
            ELSE NULL::boolean
        END AS on_time,
        CASE
            WHEN (d.status = 'delivered'::text) THEN round((EXTRACT(epoch FROM (d.delivered_at - d.picked_up_at)) / (60)::numeric), 2)
            ELSE NULL::numeric
        END AS minutes,
        CASE
            WHEN ((d.status <> 'cancelled'::text) OR (d.picked_up_at IS NOT NULL)) THEN COALESCE(round(((a.route_details ->> 'distance_km'::text))::numeric, 3), d.distance_km)
            ELSE NULL::numeric
        END AS distance_km,
        CASE
            WHEN ((d.status = 'delivered'::text) AND ((d.parent_id IS NULL) OR (d.dropoff_warehouse_id IS NULL))) THEN
            CASE
                WHEN ((d.order_id IS NOT NULL) AND (d.cod_amount > (0)::numeric)) THEN d.cod_amount
                ELSE COALESCE((p.cod_amount + p.delivery_fee), (d.cod_amount + d.delivery_fee))
            END
            ELSE (0)::numeric
        END AS value
   FROM ((delivery.deliveries d
     LEFT JOIN delivery.deliveries p ON (((p.tenant_id = d.tenant_id) AND (p.id = d.parent_id))))
     CROSS JOIN LATERAL ( SELECT a_1.driver_id,
            a_1.route_details,
            a_1.status,
            a_1.assignment_time
           FROM delivery.assignments a_1
          WHERE ((a_1.tenant_id = d.tenant_id) AND (a_1.delivery_id = d.id) AND (a_1.status <> 'rejected'::text))
          ORDER BY a_1.assignment_time DESC, a_1.id DESC
         LIMIT 1) a)
  WHERE ((d.status = ANY (ARRAY['delivered'::text, 'failed'::text, 'returned'::text, 'cancelled'::text])) AND (d.carrier_type = 'internal'::text) AND ((a.status <> 'returned'::text) OR (d.status = 'cancelled'::text) OR ((d.status <> 'delivered'::text) AND ((d.picked_up_at >= a.assignment_time) OR ( SELECT (h.to_status = ANY (ARRAY['picked_up'::text, 'in_transit'::text, 'failed'::text, 'delivered'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.created_at <= a.assignment_time))
          ORDER BY h.id DESC
         LIMIT 1)))) AND (NOT (d.made_at_door AND (d.status = 'cancelled'::text) AND (NOT (d.status_reason IS DISTINCT FROM 'outcome_undone'::text)))) AND ((d.status <> 'cancelled'::text) OR ( SELECT (h.from_status <> ALL (ARRAY['draft'::text, 'pending'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'cancelled'::text))
          ORDER BY h.id DESC
         LIMIT 1)));

CREATE POLICY "deny_all" ON "app"."timelines" FOR ALL TO "barid_caller" USING (false);

REVOKE ALL ON FUNCTION "delivery"."require_off_waybill"(delivery.deliveries, delivery.assignments, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_off_waybill"(delivery.deliveries, delivery.assignments, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."shipment_cancelled_emit"(integration.carrier_shipments) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."shipment_cancelled_emit"(integration.carrier_shipments) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."cursor_base"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."cursor_base"() TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."timeline_begin"(bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."lock_receipt_numbers"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."lock_receipt_numbers"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."subscription_ends_at"(timestamp with time zone, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."subscription_ends_at"(timestamp with time zone, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."subscription_months"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."subscription_months"(text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126155020';
end $$;

grant execute on function private.schema_version() to barid_api;
