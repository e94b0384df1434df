-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries, delivery.delivery_proofs in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."delivery_proofs" DROP CONSTRAINT "delivery_proofs_stage_check";

ALTER TABLE "delivery"."deliveries" ADD COLUMN "attempts_exhausted" boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION delivery.attempt_fails(input jsonb, p_reason text, p_notes text, counts boolean, refused boolean)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, '{picked_up,in_transit}', 'failed');
  perform delivery.move_reported(d, input);
  update delivery.deliveries x set status = 'failed', status_reason = p_reason, status_notes = p_notes, attempts_exhausted = refused,
    attempts_used = x.attempts_used + case when counts and delivery.attempt_counts(d) then 1 else 0 end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.attempt_reasons_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(r.reason || jsonb_build_object('label', app.localized(r.reason -> 'label'), 'label_translations', r.reason -> 'label')
      order by r.position), '[]')
    from jsonb_array_elements(tenancy.attempt_settings() -> 'reasons') with ordinality r (reason, position)
    where not input ? 'kind' or r.reason ->> 'kind' = input ->> 'kind');
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_fail(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.attempt_fails(input, input ->> 'reason', input ->> 'notes', true, false);
begin
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_outcome(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  return v_answer || '{"returns": []}';
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
  if v_reassign and delivery.leaves_warehouse(d) then
    perform app.fail('return_through_warehouse');
  end if;
  if not v_reassign and a.id is null and d.carrier_type = 'internal' then
    perform app.fail('delivery_has_no_driver');
  end if;
  select s.allowed_delivery_attempts into v_allowed from delivery.delivery_services s
  where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  if (d.attempts_exhausted or delivery.attempt_counts(d) and d.attempts_used >= coalesce(v_allowed, 1)) and v_override is null then
    perform app.fail('delivery_attempts_exhausted', jsonb_build_object('field', 'override_reason',
      'attempts_used', d.attempts_used, 'allowed_delivery_attempts', coalesce(v_allowed, 1)));
  end if;
  update delivery.deliveries x set status = case when v_reassign then 'pending' else 'in_transit' end,
    status_reason = v_override, status_notes = input ->> 'notes', attempts_exhausted = false
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

CREATE OR REPLACE FUNCTION delivery.outcome_reason(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_no_outcome(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if d.status in ('delivered', 'failed', 'returned', 'cancelled') and (app.has_permission('manage:operations:tenant') or exists (
      select from delivery.assignments a
      where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.driver_id = app.user_id() and a.status <> 'rejected')) then
    perform app.fail('delivery_status_changed', jsonb_build_object('text_key', 'delivery_has_outcome', 'delivery_ids', array[d.id],
      'status', d.status, 'status_reason', d.status_reason));
  end if;
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
      (8, 'refused', 'Receiver refused the parcel', 'رفض المستلم الطرد', 'وەرگر پارسێلەکەی ڕەتکردەوە', 'refused', true, false, false, false),
      (9, 'refused_price', 'Receiver refused the price', 'رفض المستلم السعر', 'وەرگر نرخەکەی ڕەتکردەوە', 'refused', true, false, false, false),
      (10, 'damaged', 'Parcel damaged', 'الطرد تالف', 'پارسێلەکە زیانی پێگەیشتووە', 'refused', false, true, false, false),
      (11, 'not_ordered', 'Receiver did not order it', 'لم يطلبه المستلم', 'وەرگر داوای نەکردووە', 'refused', true, false, false, false),
      (12, 'no_access', 'Road or place not accessible', 'لا يمكن الوصول إلى المكان', 'ناتوانرێت بگەیتە شوێنەکە', 'failed', false, false, true, false)
    ) r (position, value, en, ar, ku, kind, counts, photo, note, place));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.attempt_settings()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select s.saved || jsonb_build_object('reasons', case
      when s.saved ? 'reasons' then (
        select jsonb_agg(r.reason || jsonb_build_object('needs', '{"photo": false, "note": false, "place": false}'::jsonb
          || coalesce(r.reason -> 'needs', '{}')) order by r.position)
        from jsonb_array_elements(s.saved -> 'reasons') with ordinality r (reason, position))
      else tenancy.attempt_reasons_default() end)
    -- offset 0 keeps the settings from being read again for each of their uses above.
    from (select jsonb_strip_nulls(app.settings('delivery', 'attempts')) as saved offset 0) s);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    with wanted as (
      select g ->> 0 as module, g ->> 1 as group_key from jsonb_array_elements(input -> 'groups') g
      union
      select s.module, s.group_key from tenancy.tenant_settings s where s.tenant_id = app.tenant_id() and not input ? 'groups'
      union
      select 'delivery', 'transfer_manifest' where not input ? 'groups'
    ), shown as (
      select w.module, w.group_key, case
        when w.module = 'delivery' and w.group_key = 'transfer_manifest' then tenancy.manifest_settings() || coalesce((
          select jsonb_build_object('default_delivery_service',
            jsonb_build_object('id', s.id, 'name', app.localized(s.name), 'code', s.code))
          from delivery.delivery_services s
          where s.id = (tenancy.manifest_settings() ->> 'default_delivery_service_id')::uuid and s.deleted_at is null), '{}')
        when w.module = 'delivery' and w.group_key = 'attempts' then tenancy.attempt_settings()
        else app.settings(w.module, w.group_key) end as settings
      from wanted w
    )
    select coalesce(jsonb_object_agg(m.module, m.groups), '{}')
    from (
      select s.module, jsonb_object_agg(s.group_key, jsonb_build_object('settings', s.settings)) as groups
      from shown s group by s.module
    ) m);
end $function$;

ALTER TABLE "delivery"."delivery_proofs" ADD CONSTRAINT "delivery_proofs_stage_check" CHECK ((stage = ANY (ARRAY['pickup'::text, 'delivery'::text, 'attempt'::text]))) NOT VALID;

REVOKE ALL ON FUNCTION "delivery"."attempt_fails"(jsonb, text, text, boolean, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."attempt_fails"(jsonb, text, text, boolean, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."attempt_reasons_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."attempt_reasons_read"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."delivery_outcome"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivery_outcome"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_reason"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_reason"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_no_outcome"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_no_outcome"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."attempt_reasons_default"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."attempt_reasons_default"() TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."attempt_settings"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."attempt_settings"() TO "barid_caller";

insert into integration.event_types (event_type, source_module, entity_type, event_data)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery.outcome}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason_code": "string?", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string", "from_user_id": "uuid?", "to_user_id": "uuid?",
      "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125095651';
end $$;

grant execute on function private.schema_version() to barid_api;
