-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

DROP FUNCTION "delivery"."delivery_proofs_keep"(delivery.deliveries, text, jsonb);

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
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'));
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_proofs_keep(d delivery.deliveries, p_stage text, proof jsonb, field text DEFAULT 'proof'::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(nullif(proof -> 'photo_urls', 'null'), '[]')));
  v_signature text := proof ->> 'signature_url';
  v_needs jsonb := delivery.proof_needs(d, p_stage);
  v_missing text;
begin
  perform delivery.require_proof_urls(v_photos, field || '.photo_urls');
  perform delivery.require_proof_urls(array_remove(array[v_signature], null), field || '.signature_url');
  insert into delivery.delivery_proofs (tenant_id, delivery_id, stage, kind, url, signed_by, created_by)
  select d.tenant_id, d.id, p_stage, n.kind, n.url, case n.kind when 'signature' then proof ->> 'signed_by' end, app.user_id()
  from (
    select 'photo' as kind, url from unnest(v_photos) url
    union all
    select 'signature', v_signature where v_signature is not null
  ) n
  where not exists (select from delivery.delivery_proofs p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = n.kind and p.url = n.url
      and delivery.proof_counts(p));
  select k.kind into v_missing from (values ('photo'), ('signature')) k (kind)
  where (v_needs ->> (k.kind || '_required'))::boolean and not exists (
    select from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = k.kind
      and delivery.proof_counts(p))
  limit 1;
  if v_missing is not null then
    perform app.fail('delivery_proof_required', jsonb_build_object('field',
      field || case v_missing when 'photo' then '.photo_urls' else '.signature_url' end, 'stage', p_stage));
  end if;
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
  perform delivery.move_reported(d, input);
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

CREATE OR REPLACE FUNCTION delivery.outcome_delivered(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs')) || '{"returns": []}';
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_exchanged(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_return uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_at_door(d);
  v_return := delivery.return_from_door(d, 'customer_return', input -> 'taken_back', jsonb_build_object('notes', input -> 'note',
    -- Without such a service, that of the parcel.
    'delivery_service_id', (select s.id from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.deleted_at is null
      and s.id::text = lower(app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}'))));
  return delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs'))
    || jsonb_build_object('returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_failed(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.attempt_fails(input, reason ->> 'value', input ->> 'note', (reason ->> 'counts')::boolean, input ->> 'result' = 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d), 'returns', '[]'::jsonb);
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
  perform delivery.kept_amount_write(p, v_amount, v_kept, coalesce(input ->> 'note', 'partial'));
  v_answer := delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs'));
  perform delivery.delivered_in_part_mark(d);
  return v_answer || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_postponed(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  perform delivery.move_reported(d, input);
  v_return := delivery.return_from_door(d, 'operational_return', null, jsonb_build_object('reason', reason -> 'value', 'notes', input -> 'note'));
  update delivery.deliveries x set status = 'returned', status_reason = reason ->> 'value', status_notes = input ->> 'note',
    attempts_used = x.attempts_used + case when (reason ->> 'counts')::boolean then 1 else 0 end, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.outcome_record(d, 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  perform delivery.assignment_end(a, 'returned');
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d),
    'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_undo(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_outcome((input ->> 'id')::uuid);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  o delivery.outcomes := delivery.outcome_of(d.id);
  v_obstacle record;
  v_cash jsonb;
begin
  if not app.has_permission('manage:operations:tenant') and o.id is not null and o.driver_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
  perform delivery.lock_outcome_effects(o, d);
  v_obstacle := delivery.outcome_obstacle(o, d);
  if v_obstacle.code is not null then
    perform app.fail(v_obstacle.code, v_obstacle.params);
  end if;
  perform delivery.outcome_withdraw(o, d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, o.created_at, input ->> 'reason');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id <> app.user_id();
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.attempt_reasons_default()
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_agg(jsonb_build_object('value', r.value, 'label', jsonb_build_object('en', r.en, 'ar', r.ar, 'ku', r.ku),
      'kind', r.kind, 'counts', r.counts, 'needs', jsonb_build_object('photo', r.photo, 'note', r.note, 'place', r.place)) order by r.position)
    from (values
      (1, 'no_answer', 'No answer', 'لا يرد على الاتصال', 'وەڵامی تەلەفۆن ناداتەوە', 'failed', true, false, false, false),
      (2, 'phone_off', 'Phone switched off', 'الهاتف مغلق', 'تەلەفۆنەکە داخراوە', 'failed', true, false, false, false),
      (3, 'wrong_number', 'Wrong phone number', 'رقم الهاتف خاطئ', 'ژمارەی تەلەفۆن هەڵەیە', 'failed', true, false, false, false),
      (4, 'not_at_place', 'Receiver not at the address', 'المستلم غير موجود في العنوان', 'وەرگر لە ناونیشانەکە نییە', 'failed', true, false, false, true),
      (5, 'wrong_address', 'Wrong address', 'العنوان خاطئ', 'ناونیشانەکە هەڵەیە', 'failed', true, false, true, false),
      (6, 'closed', 'Place closed', 'المكان مغلق', 'شوێنەکە داخراوە', 'failed', true, false, false, true),
      (7, 'postponed', 'Receiver asked for another day', 'طلب المستلم يوماً آخر', 'وەرگر داوای ڕۆژێکی تری کرد', 'postponed', false, false, false, false),
      (8, 'refused', 'Receiver refused the parcel', 'رفض المستلم الطرد', 'وەرگر پارسەڵەکەی ڕەتکردەوە', 'refused', true, false, false, false),
      (9, 'refused_price', 'Receiver refused the price', 'رفض المستلم السعر', 'وەرگر نرخەکەی ڕەتکردەوە', 'refused', true, false, false, false),
      (10, 'damaged', 'Parcel damaged', 'الطرد تالف', 'پارسەڵەکە زیانی پێگەیشتووە', 'refused', false, true, false, false),
      (11, 'not_ordered', 'Receiver did not order it', 'لم يطلبه المستلم', 'وەرگر داوای نەکردووە', 'refused', true, false, false, false),
      (12, 'no_access', 'Road or place not accessible', 'لا يمكن الوصول إلى المكان', 'ناتوانرێت بگەیتە شوێنەکە', 'failed', false, false, true, false)
    ) r (position, value, en, ar, ku, kind, counts, photo, note, place));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."delivery_proofs_keep"(delivery.deliveries, text, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivery_proofs_keep"(delivery.deliveries, text, jsonb, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125182112';
end $$;

grant execute on function private.schema_version() to barid_api;
