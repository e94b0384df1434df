-- The outcome of an attempt at the door, reported in one call.

-- Refuses an outcome of a delivery that has come to one already, such as the report of a second device, with what is true now; to its
-- drivers and operations, as anybody else is refused by delivery.require_carrier. Fails: delivery_status_changed.
create or replace function delivery.require_no_outcome(d delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
begin
  if d.status in ('delivered', 'failed', 'returned', 'cancelled') and (app.has_permission('manage:operations:tenant') or exists (
      select from delivery.assignments a
      where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.driver_id = app.user_id() and a.status <> 'rejected')) then
    perform app.fail('delivery_status_changed', jsonb_build_object('text_key', 'delivery_has_outcome', 'delivery_ids', array[d.id],
      'status', d.status, 'status_reason', d.status_reason));
  end if;
end $$;

-- The reason of settings of attempts that an outcome names; null: there is none of its kind. {result, reason_code}
create or replace function delivery.attempt_reason(settings jsonb, input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select r.reason from jsonb_array_elements(settings -> 'reasons') r (reason)
    where r.reason ->> 'value' = input ->> 'reason_code' and r.reason ->> 'kind' = input ->> 'result');
end $$;

-- The reason that an outcome which is not delivered names, of its kind and with all that it needs. Of a report with the time of the attempt it is
-- the one that was offered then, or the one of now, and needs what both ask for: the driver has left the door.
-- {result, reason_code?, note?, proofs?, latitude?, occurred_at?} -> {value, label, kind, counts, needs}
-- Fails: outcome_evidence_required {missing: [photo|note|place|reason_code]}, invalid_reference.
create or replace function delivery.outcome_reason(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
  v_reason jsonb;
  v_now jsonb;
  v_missing jsonb;
  v_field text;
begin
  if input ->> 'reason_code' is null then
    perform app.fail('outcome_evidence_required', '{"field": "reason_code", "missing": ["reason_code"]}'::jsonb || case
      when not exists (select from jsonb_array_elements(tenancy.attempt_settings() -> 'reasons') r (reason) where r.reason ->> 'kind' = input ->> 'result')
      then '{"text_key": "reason_not_offered"}' else '{}' end::jsonb);
  end if;
  v_now := delivery.attempt_reason(tenancy.attempt_settings(), input);
  v_reason := case when v_at is null then v_now else coalesce(
    delivery.attempt_reason(tenancy.attempt_settings_of(app.settings_at('delivery', 'attempts', v_at)), input), v_now) end;
  if v_reason is null then
    perform app.fail('invalid_reference', '{"field": "reason_code"}');
  end if;
  select jsonb_agg(n.need order by n.position), (array_agg(n.field order by n.position))[1] into v_missing, v_field
  from (values
    (1, 'photo', 'proofs.photo_urls', coalesce(nullif(input #> '{proofs,photo_urls}', 'null'), '[]') <> '[]'),
    (2, 'note', 'note', coalesce(input ->> 'note', '') <> ''),
    (3, 'place', 'latitude', input ->> 'latitude' is not null)) n (position, need, field, given)
  where not n.given and (v_reason #> array['needs', n.need])::boolean and (coalesce(v_now, v_reason) #> array['needs', n.need])::boolean;
  if v_missing is not null then
    perform app.fail('outcome_evidence_required', jsonb_build_object('field', v_field, 'missing', v_missing));
  end if;
  return v_reason;
end $$;

-- The cash part of the answer for what was not delivered: nothing is due.
create or replace function delivery.no_cash(d delivery.deliveries) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return delivery.cash_summary(jsonb_build_object('cod', 0, 'delivery_fee', 0, 'currency', d.currency));
end $$;

-- Delivered: as delivery.delivery_complete. -> {delivery, cash, returns}
create or replace function delivery.outcome_delivered(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs')) || '{"returns": []}';
end $$;

-- Refused where the company sends back what is (setting delivery.attempts.after_last): the parcel is returned, and in its driver's hands
-- goes back as a return of its own, which ends its way. -> {delivery, cash, returns}
-- Fails: what delivery.return_from_door fails with.
create or replace function delivery.outcome_sent_back(d delivery.deliveries, input jsonb, reason jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_return uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  if delivery.redirect_at_door(delivery.parcel_terms(d), input) is not null then
    d := delivery.lock_delivery(d.id);
  end if;
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
  perform delivery.redirect_settle(delivery.parcel_of(d), null);
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d),
    'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $$;

-- Failed or refused: as delivery.delivery_fail, for a reason of the company. One that does not count uses up no attempt; after a refusal
-- operations alone allow another one, and are notified when its driver reports it. -> {delivery, cash, returns}
create or replace function delivery.outcome_failed(d delivery.deliveries, input jsonb, reason jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform delivery.attempt_fails(input, reason ->> 'value', input ->> 'note', (reason ->> 'counts')::boolean, input ->> 'result' = 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  if input ->> 'result' = 'refused' and not app.has_permission('manage:operations:tenant') then
    perform delivery.office_notify('delivery_refused', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code));
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d), 'returns', '[]'::jsonb);
end $$;

-- Postponed: failed, to be attempted on that day (delivery.postponed_resume). -> {delivery, cash, returns}
-- Fails: invalid_postponed_to.
create or replace function delivery.outcome_postponed(d delivery.deliveries, input jsonb, reason jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_day date := delivery.require_postponed_to(input);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
begin
  perform delivery.attempt_fails(input, reason ->> 'value', input ->> 'note', false, false, v_day);
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.postponed',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'postponed_to', v_day, 'reason_code', reason -> 'value', 'actor_id', app.user_id()))));
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d), 'returns', '[]'::jsonb);
end $$;

-- Ends an attempt at the door; each result has a function of its own above. What is reported with an attempt that did not deliver is kept as
-- proofs of the stage attempt, its reason (tenancy.attempt_settings) as status_reason.
-- {id, result: delivered|partial|exchanged|failed|refused|postponed, reason_code?, note?, items? [{delivery_item_id, quantity}], taken_back?
-- [{name, quantity}], cash_collected?, recipient_name?, postponed_to?, proofs?, latitude?, longitude?, occurred_at?}
-- -> {delivery, returns: the deliveries that were made of what goes back, cash{due, collected}, undo_until}; of what failed
-- nothing is due; until then the caller may undo it, null: it was no outcome, as of a parcel that continues from another warehouse
-- Locks: as delivery.lock_delivery.
-- Fails: delivery_status_changed, what delivery.delivery_complete and delivery.delivery_fail fail with, outcome_evidence_required,
-- invalid_reference, invalid_postponed_to, what delivery.outcome_partial, delivery.outcome_exchanged and delivery.return_from_door fail with.
create or replace function delivery.delivery_outcome(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
  return v_answer || jsonb_build_object('undo_until', delivery.outcome_undo_until(o));
end $$;
