-- Cancelling bookings at their carriers, in three steps as booking is: claim, call, store. By the office, and by a job for deliveries that were
-- cancelled. Every step locks in one order: the key, the delivery, its shipment.

-- Claims the living booking of a delivery, which is locked, for cancelling. One that was claimed for booking and never came back is claimed as well:
-- it has no `tracking_number`, and the carrier is asked for it by the shipment's id.
-- -> {shipment_id, claim_token, carrier_code, credentials, tracking_number, carrier_reference}
-- Fails: shipment_not_found, shipment_in_progress, delivery_not_bookable (already picked up).
create or replace function integration.cancel_claim(d delivery.deliveries) returns jsonb
language plpgsql set search_path = '' as $$
declare
  s integration.carrier_shipments;
begin
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = d.tenant_id and t.delivery_id = d.id and t.status <> 'cancelled' for update;
  if not found then
    perform app.fail('shipment_not_found');
  elsif s.status in ('booking', 'cancelling') and integration.claim_holds(s) then
    perform app.fail('shipment_in_progress');
  elsif d.status not in ('pending', 'assigned', 'accepted', 'cancelled') and not delivery.is_sent_back(d) then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  end if;
  update integration.carrier_shipments t set status = 'cancelling', claim_token = gen_random_uuid(), claimed_at = now()
  where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'carrier_code', s.carrier_code,
    'tracking_number', s.tracking_number, 'carrier_reference', s.carrier_reference,
    'credentials', (select k.credentials from integration.tenant_carriers k
      where k.tenant_id = s.tenant_id and k.carrier_code = s.carrier_code));
end $$;

-- Claims the booking of a delivery for cancelling, also where its carrier is switched off. {delivery_id, key?}
-- -> {answer} when this key has cancelled it already, else as integration.cancel_claim
-- Fails: delivery_not_found, shipment_not_found, shipment_in_progress, delivery_not_bookable (already picked up),
-- idempotency_conflict.
create or replace function integration.cancel_begin(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_answer jsonb := integration.key_claim(input);
  d delivery.deliveries;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid for no key update;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  return integration.cancel_claim(d);
end $$;

-- Ends the claim of a cancellation: cancelled, or as it was before. {shipment_id, claim_token, cancelled, found?: {tracking_number,
-- carrier_reference, label_url?}, notify?}. found: what the carrier knows of a booking that never came back; it is booked then. notify: the
-- administrators are notified that the carrier confirmed nothing. Where the carrier has reported meanwhile that it cancelled, that is so.
-- Locks the shipment. Fails: shipment_in_progress (another request has claimed the shipment since).
create or replace function integration.cancel_end(input jsonb) returns integration.carrier_shipments
language plpgsql set search_path = '' as $$
declare
  s integration.carrier_shipments;
  v_cancelled boolean := (input ->> 'cancelled')::boolean;
  v_tracking text := input #>> '{found,tracking_number}';
begin
  update integration.carrier_shipments t set
    status = case when v_cancelled then 'cancelled' when coalesce(t.tracking_number, v_tracking) is null then 'booking' else 'booked' end,
    tracking_number = coalesce(t.tracking_number, v_tracking),
    carrier_reference = coalesce(t.carrier_reference, input #>> '{found,carrier_reference}'),
    label_url = coalesce(t.label_url, input #>> '{found,label_url}'),
    booked_at = case when v_tracking is not null then coalesce(t.booked_at, now()) else t.booked_at end,
    cancelled_at = case when v_cancelled then now() end, claim_token = null, claimed_at = null
  where t.id = (input ->> 'shipment_id')::uuid and t.claim_token = (input ->> 'claim_token')::uuid
  returning t.* into s;
  if not found then
    select t.* into s from integration.carrier_shipments t where t.id = (input ->> 'shipment_id')::uuid and t.status = 'cancelled';
    if not found then
      perform app.fail('shipment_in_progress');
    end if;
    return s;
  end if;
  if v_cancelled then
    perform integration.shipment_cancelled_emit(s);
  end if;
  if (input ->> 'notify')::boolean then
    perform integration.shipment_notify('shipment_not_cancelled', s);
  end if;
  return s;
end $$;

-- Notifies the administrators of a booking about which somebody has to call its carrier. `reference`: what the carrier knows it by.
create or replace function integration.shipment_notify(type text, s integration.carrier_shipments) returns void
language plpgsql set search_path = '' as $$
begin
  perform tenancy.notify_tenant_admins(type, jsonb_build_object('shipment_id', s.id, 'delivery_id', s.delivery_id,
    'delivery_code', (select d.delivery_code from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id),
    'carrier_code', s.carrier_code, 'tracking_number', s.tracking_number, 'reference', coalesce(s.tracking_number, s.id::text)));
end $$;

-- Notifies the administrators of the bookings that bind these deliveries, whose place has changed: the carrier was given the one of before.
-- Nobody calls it but delivery.warehouse_moved.
create or replace function integration.shipments_place_changed(deliveries uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform integration.shipment_notify('shipment_place_changed', s)
  from integration.carrier_shipments s
  where s.tenant_id = app.tenant_id() and s.delivery_id = any (deliveries) and s.status <> 'cancelled' and delivery.booking_binds(s);
end $$;

revoke execute on function integration.shipments_place_changed(uuid[]) from barid_caller;

-- Ends a cancellation by the office: integration.cancel_end, with key? -> {shipment}
-- Stores the answer under the key if the booking has ended; otherwise the key is released.
-- Fails: shipment_in_progress (another request has claimed the shipment since).
create or replace function integration.cancel_finish(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_answer jsonb;
  s integration.carrier_shipments;
begin
  perform integration.key_hold(input);
  s := integration.cancel_end(input);
  v_answer := integration.shipment_to_json(s);
  if input ? 'key' and s.status = 'cancelled' then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  elsif input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return v_answer;
end $$;
