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

-- The reason that an outcome which is not delivered names, of its kind and with all that it needs.
-- {result, reason_code?, note?, proofs?, latitude?} -> {value, label, kind, counts, needs}
-- Fails: outcome_evidence_required {missing: [photo|note|place|reason_code]}, invalid_reference.
create or replace function delivery.outcome_reason(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_reason jsonb;
  v_missing jsonb;
  v_field text;
begin
  if input ->> 'reason_code' is null then
    perform app.fail('outcome_evidence_required', '{"field": "reason_code", "missing": ["reason_code"]}');
  end if;
  select r.reason into v_reason from jsonb_array_elements(tenancy.attempt_settings() -> 'reasons') r (reason)
  where r.reason ->> 'value' = input ->> 'reason_code' and r.reason ->> 'kind' = input ->> 'result';
  if not found then
    perform app.fail('invalid_reference', '{"field": "reason_code"}');
  end if;
  select jsonb_agg(n.need order by n.position), (array_agg(n.field order by n.position))[1] into v_missing, v_field
  from (values
    (1, 'photo', 'proofs.photo_urls', coalesce(nullif(input #> '{proofs,photo_urls}', 'null'), '[]') <> '[]'),
    (2, 'note', 'note', coalesce(input ->> 'note', '') <> ''),
    (3, 'place', 'latitude', input ->> 'latitude' is not null)) n (position, need, field, given)
  where not n.given and (v_reason #> array['needs', n.need])::boolean;
  if v_missing is not null then
    perform app.fail('outcome_evidence_required', jsonb_build_object('field', v_field, 'missing', v_missing));
  end if;
  return v_reason;
end $$;

-- Ends an attempt at the door: delivered as delivery.delivery_complete has it; failed or refused as delivery.delivery_fail does, with a
-- reason of the company (tenancy.attempt_settings) as status_reason. What is reported with a failure is kept as proofs of the stage attempt. A
-- reason that does not count uses up no attempt; after a refusal operations alone allow another one.
-- {id, result: delivered|failed|refused, reason_code?, note?, cash_collected?, recipient_name?, proofs?, latitude?, longitude?, occurred_at?}
-- -> {delivery, returns: [], cash{due, collected}, undo_until}; of what failed nothing is due; until then the caller may undo it
-- Locks: as delivery.lock_delivery.
-- Fails: delivery_status_changed, what delivery.delivery_complete and delivery.delivery_fail fail with, outcome_evidence_required,
-- invalid_reference.
create or replace function delivery.delivery_outcome(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_reason jsonb;
  v_answer jsonb;
begin
  perform delivery.require_no_outcome(d);
  if input ->> 'result' = 'delivered' then
    v_answer := delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs'));
  else
    perform delivery.require_carrier(d);
    v_reason := delivery.outcome_reason(input);
    perform delivery.attempt_fails(input, v_reason ->> 'value', input ->> 'note', (v_reason ->> 'counts')::boolean, input ->> 'result' = 'refused');
    perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs');
    v_answer := jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
      'cash', delivery.cash_summary(jsonb_build_object('cod', 0, 'delivery_fee', 0, 'currency', d.currency)));
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', input ->> 'result', 'reason_code', v_reason ->> 'value', 'actor_id', app.user_id()))));
  perform delivery.outcome_complete(d.id);
  return v_answer || jsonb_build_object('returns', '[]'::jsonb, 'undo_until', delivery.outcome_undo_until(delivery.outcome_of(d.id)));
end $$;
