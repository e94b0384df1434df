-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: 1120924e8a57c503078f578ba2472f8d292d96a9437631fdcc73304368ad47bd
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

DROP FUNCTION "delivery"."kept_amount_write"(delivery.deliveries, numeric, jsonb, text);

DROP FUNCTION "delivery"."outcome_record"(delivery.deliveries, text);

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
  perform delivery.move_reported(d, input);
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

CREATE OR REPLACE FUNCTION delivery.delivery_outcome(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
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
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', v_result, 'reason_code', v_reason ->> 'value', 'actor_id', app.user_id()))));
  perform delivery.outcome_complete(d.id);
  o := delivery.outcome_of(d.id);
  -- An earlier one says nothing of this report.
  return v_answer || jsonb_build_object('undo_until', case when o.created_at = now() then delivery.outcome_undo_until(o) end);
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_undo(parcel uuid, o delivery.outcomes, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  v_amount numeric;
begin
  select c.old_cod_amount into v_amount from delivery.amount_changes c
  where c.tenant_id = app.tenant_id() and c.delivery_id = kept_amount_undo.parcel and c.status = 'approved'
    -- Outcomes that do not name their change are older than the naming: it is the first one since.
    and case when o.before ? 'amount_change_id' then c.id = (o.before ->> 'amount_change_id')::uuid else c.decided_at >= o.created_at end
  order by c.decided_at limit 1;
  if found then
    select * into strict p from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = kept_amount_undo.parcel;
    perform delivery.kept_amount_write(p, v_amount, null, p_reason);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_write(p delivery.deliveries, amount numeric, kept jsonb, p_reason text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  if amount = p.cod_amount then
    return null;
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, 'approved', app.user_id(), app.user_id(), clock_timestamp())
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    (1, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or another one was ordered since.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.status <> 'cancelled' and r.created_at >= o.created_at and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_partial(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries := delivery.parcel_terms(d);
  v_kept jsonb;
  v_amount numeric;
  v_return uuid;
  v_change uuid;
  v_answer jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_at_door(d);
  if p.order_id is not null then
    perform app.fail('order_amount_fixed');
  end if;
  v_kept := delivery.kept_items_of(p.id, input -> 'items', 'items');
  v_amount := delivery.cod_of_kept(p, v_kept);
  v_return := delivery.return_from_door(d, 'operational_return', delivery.contents_left(p, v_kept), jsonb_build_object('notes', input -> 'note'));
  v_change := delivery.kept_amount_write(p, v_amount, v_kept, coalesce(input ->> 'note', 'partial'));
  v_answer := delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs',
    'amount_change_id', v_change));
  perform delivery.delivered_in_part_mark(d);
  return v_answer || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_record(d delivery.deliveries, p_result text, amount_change uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  perform app.require_tenant(d.tenant_id);
  select * into a from delivery.assignments x
  where x.tenant_id = app.tenant_id() and x.delivery_id = d.id and x.status in ('assigned', 'accepted', 'completed')
  order by x.assignment_time desc, x.id desc limit 1;
  insert into delivery.outcomes (tenant_id, delivery_id, result, from_status, assignment_id, driver_id, before, last_move_id, reported_by)
  values (d.tenant_id, d.id, p_result, d.status, a.id, a.driver_id,
    jsonb_build_object('attempts_used', d.attempts_used, 'attempts_exhausted', d.attempts_exhausted, 'received_by', d.recipient -> 'received_by',
      'transfer_kind', d.transfer_kind, 'dropoff_warehouse_id', d.dropoff_warehouse_id, 'ordered_to_warehouse_id', d.ordered_to_warehouse_id,
      'postponed_to', d.postponed_to, 'amount_change_id', amount_change),
    delivery.last_move(d.id), app.user_id());
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_withdraw(o delivery.outcomes, d delivery.deliveries, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_returns uuid[] := array(select r.id from delivery.deliveries r
    where r.tenant_id = o.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.created_at = o.created_at and r.status = 'picked_up');
  -- An attempt that did not deliver changed no place: one that is another by now was redirected since, and stays.
  v_places jsonb := case when o.result in ('delivered', 'partial', 'exchanged') then o.before else to_jsonb(d) end;
begin
  perform app.require_tenant(o.tenant_id);
  -- First, since by it the guard of deliveries knows that these moves are an undo.
  update delivery.outcomes x set undone_at = now(), undone_by = app.user_id(), undo_reason = reason, undone_in = pg_current_xact_id()
  where x.tenant_id = o.tenant_id and x.id = o.id;
  update delivery.deliveries r set status = 'cancelled', status_reason = 'outcome_undone', status_notes = reason
  where r.tenant_id = o.tenant_id and r.id = any (v_returns);
  -- returned: taken back from the driver.
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = o.tenant_id and a.delivery_id = any (v_returns) and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.arrival_withdraw(d.id);
  update delivery.deliveries x set delivered_in_part = false
  where x.tenant_id = o.tenant_id and x.id in (d.id, delivery.parcel_of(d)) and x.delivered_in_part;
  update delivery.deliveries x set status = o.from_status, status_reason = 'outcome_undone', status_notes = reason, delivered_at = null,
    attempts_used = (o.before ->> 'attempts_used')::integer, attempts_exhausted = (o.before ->> 'attempts_exhausted')::boolean,
    recipient = x.recipient - 'received_by' || jsonb_strip_nulls(jsonb_build_object('received_by', o.before -> 'received_by')),
    transfer_kind = v_places ->> 'transfer_kind', dropoff_warehouse_id = (v_places ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (v_places ->> 'ordered_to_warehouse_id')::uuid, postponed_to = (o.before ->> 'postponed_to')::date,
    overnight_notice_at = null
  where x.tenant_id = o.tenant_id and x.id = d.id;
  if o.result = 'partial' then
    perform delivery.kept_amount_undo(delivery.parcel_of(d), o, reason);
  end if;
  perform delivery.outcome_reassign(o, d);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."kept_amount_undo"(uuid, delivery.outcomes, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_amount_undo"(uuid, delivery.outcomes, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."kept_amount_write"(delivery.deliveries, numeric, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_amount_write"(delivery.deliveries, numeric, jsonb, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_record"(delivery.deliveries, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_record"(delivery.deliveries, text, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126062918';
end $$;

grant execute on function private.schema_version() to barid_api;
