-- Booking deliveries with carriers, in three steps: claim the delivery, call the carrier, store the result. The claim
-- is a row of carrier_shipments, so two requests cannot both book. The carrier gets the shipment's id as its
-- reference: if the result of a call is lost, the next call finds that booking instead of making another.
-- Every step locks in one order: the key, the delivery, its shipment.

-- Claims a delivery for booking. {delivery_id, carrier_code, collects_cash (whether the carrier does), key?}
-- -> {answer} when it is booked already, else {shipment_id, claim_token, credentials, delivery, again: an earlier call may have booked it at the carrier}
-- Fails: delivery_not_found, carrier_not_found, carrier_not_enabled, delivery_not_external, delivery_not_bookable,
-- delivery_goes_in_legs, return_under_way, goods_not_picked, amount_is_for_part, carrier_collects_no_cash, sender_cash_not_collected,
-- shipment_with_other_carrier, shipment_in_progress, idempotency_conflict.
create or replace function integration.shipment_begin(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_answer jsonb := integration.key_claim(input);
  v_credentials text;
  d delivery.deliveries;
  c integration.carriers;
  s integration.carrier_shipments;
  v_again boolean;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer, 'remembered', true);
  end if;
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid for no key update;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  c := integration.carrier_of(input ->> 'carrier_code');
  if c.is_internal or d.carrier_type <> 'external' then
    perform app.fail('delivery_not_external');
  end if;
  select k.credentials into v_credentials from integration.tenant_carriers k
  where k.tenant_id = v_tenant and k.carrier_code = c.code and k.is_enabled;
  if not found then
    perform app.fail('carrier_not_enabled');
  end if;
  perform integration.shipments_end(array[d.id]);
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = v_tenant and t.delivery_id = d.id and t.status <> 'cancelled' for update;
  if found then
    if s.carrier_code <> c.code then
      perform app.fail('shipment_with_other_carrier');
    elsif s.status = 'booked' then
      v_answer := integration.shipment_to_json(s);
      -- A late repetition, after a cancellation, must find this answer and book nothing.
      if input ? 'key' then
        v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
      end if;
      return jsonb_build_object('answer', v_answer);
    elsif s.status <> 'booking' or integration.claim_holds(s) then
      perform app.fail('shipment_in_progress');
    end if;
  end if;
  -- Also where an earlier booking never came back: it would be bought for a delivery that nobody sends any more.
  if d.status <> 'pending' or coalesce(d.carrier_code, c.code) <> c.code then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  elsif d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  perform delivery.require_no_return(d);
  perform storefront.require_order_picked(d.id);
  -- A carrier hands over the whole.
  perform delivery.require_amount_for_whole(delivery.parcel_terms(d));
  v_again := s.id is not null;
  if not v_again then
    insert into integration.carrier_shipments (tenant_id, delivery_id, carrier_code, cash_due)
    values (v_tenant, d.id, c.code, integration.cash_for_carrier(d, (input ->> 'collects_cash')::boolean))
    returning * into s;
  end if;
  update integration.carrier_shipments t set claim_token = gen_random_uuid(), claimed_at = now() where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'credentials', v_credentials, 'again', v_again,
    'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'recipient', d.recipient,
      'pickup', d.pickup_snapshot, 'dropoff', d.dropoff_snapshot, 'package_details', d.package_details, 'unit_size', d.unit_size,
      'cash_due', s.cash_due, 'currency', d.currency, 'notes', d.notes));
end $$;

-- Whether a request is at work on a shipment: its claim is not two minutes old. One that is older was broken off, and anybody may take it over.
create or replace function integration.claim_holds(s integration.carrier_shipments) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(s.claimed_at > now() - interval '2 minutes', false);
end $$;

-- The amount a carrier has to collect from the recipient of a delivery: the same as a driver would. 0 for a leg into a
-- warehouse.
-- Fails: carrier_collects_no_cash, what money.require_sender_cash fails with.
create or replace function integration.cash_for_carrier(d delivery.deliveries, collects_cash boolean) returns numeric
language plpgsql stable set search_path = '' as $$
declare
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_door record := money.cash_due(v_parcel, 'dropoff');
  v_due numeric := case when d.delivery_flow = 'pnd_inbound' then 0 else v_door.cod + v_door.delivery_fee end;
begin
  if v_due > 0 and not collects_cash then
    perform app.fail('carrier_collects_no_cash', jsonb_build_object('amount', v_due, 'currency', v_parcel.currency));
  end if;
  perform money.require_sender_cash(v_parcel);
  return v_due;
end $$;

-- Emits that a booking ended: by the caller, or as its carrier reported, which is nobody.
create or replace function integration.shipment_cancelled_emit(s integration.carrier_shipments) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'shipment.cancelled', 'source_module', 'carriers',
    'entity_type', 'delivery', 'entity_id', s.delivery_id, 'event_data', jsonb_build_object('shipment_id', s.id,
      'delivery_id', s.delivery_id, 'carrier_code', s.carrier_code, 'actor_id', app.user_id()))));
end $$;

-- Ends the bookings of these deliveries whose carrier has brought the parcel back (delivery.booking_brought_back): they are booked anew, or go another
-- way. SECURITY DEFINER: a warehouse that hands a parcel over on a waybill writes no bookings. {ids of deliveries of the tenant}
-- Locks the bookings; the deliveries are locked. Fails with nothing of its own.
create or replace function integration.shipments_end(deliveries uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  s integration.carrier_shipments;
begin
  for s in
    update integration.carrier_shipments t set status = 'cancelled', cancelled_at = now()
    where t.tenant_id = app.tenant_id() and t.delivery_id = any (deliveries) and t.status = 'booked' and delivery.booking_brought_back(t)
    returning t.*
  loop
    perform integration.shipment_cancelled_emit(s);
  end loop;
end $$;

-- Ends the bookings of these deliveries, which go back to their sender: those whose carrier has brought the parcel back at once, the others by a job
-- that asks the carrier (integration.withdraw_begin). SECURITY DEFINER: staff of a warehouse see no bookings. Locks as integration.shipments_end.
create or replace function integration.shipments_withdraw(deliveries uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform integration.shipments_end(deliveries);
  perform app.job_add('carriers.shipment_withdraw', jsonb_build_object('shipment_id', s.id), s.id::text)
  from integration.carrier_shipments s
  where s.tenant_id = app.tenant_id() and s.delivery_id = any (deliveries) and s.status <> 'cancelled' and delivery.booking_binds(s);
end $$;

grant execute on function integration.shipments_end(uuid[]), integration.shipments_withdraw(uuid[]) to barid_caller;

-- {shipment} as the API returns it.
create or replace function integration.shipment_to_json(s integration.carrier_shipments) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('shipment', jsonb_build_object('id', s.id, 'delivery_id', s.delivery_id, 'carrier_code', s.carrier_code,
    'status', s.status, 'tracking_number', s.tracking_number, 'label_url', s.label_url, 'cash_due', s.cash_due, 'booked_at', s.booked_at,
    'cancelled_at', s.cancelled_at));
end $$;

-- The newest booking of a delivery: the one that lives, or the last that ended. Also of a carrier that is switched off. {delivery_id} -> {shipment}
-- Fails: delivery_not_found, shipment_not_found.
create or replace function integration.shipment_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  d delivery.deliveries;
  s integration.carrier_shipments;
begin
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = d.tenant_id and t.delivery_id = d.id order by t.status = 'cancelled', t.created_at desc limit 1;
  if not found then
    perform app.fail('shipment_not_found');
  end if;
  return integration.shipment_to_json(s);
end $$;

-- Stores a booking that the carrier confirmed.
-- {shipment_id, claim_token, tracking_number, carrier_reference?, label_url?, key?} -> {shipment}
-- Fails: shipment_in_progress (another request has claimed the shipment since).
create or replace function integration.shipment_booked(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_answer jsonb;
  s integration.carrier_shipments;
begin
  perform integration.key_hold(input);
  perform from delivery.deliveries d
  where d.id = (select t.delivery_id from integration.carrier_shipments t where t.id = (input ->> 'shipment_id')::uuid) for no key update;
  update integration.carrier_shipments t set status = 'booked', tracking_number = input ->> 'tracking_number',
    carrier_reference = input ->> 'carrier_reference', label_url = input ->> 'label_url', booked_at = now(), claim_token = null,
    claimed_at = null
  where t.id = (input ->> 'shipment_id')::uuid and t.claim_token = (input ->> 'claim_token')::uuid
  returning t.* into s;
  if not found then
    perform app.fail('shipment_in_progress');
  end if;
  update delivery.deliveries d set carrier_code = s.carrier_code where d.id = s.delivery_id and d.carrier_code is distinct from s.carrier_code;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'shipment.booked', 'source_module', 'carriers',
    'entity_type', 'delivery', 'entity_id', s.delivery_id, 'event_data', jsonb_build_object('shipment_id', s.id,
      'delivery_id', s.delivery_id, 'carrier_code', s.carrier_code, 'tracking_number', s.tracking_number, 'actor_id', app.user_id()))));
  v_answer := integration.shipment_to_json(s);
  if input ? 'key' then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  end if;
  return v_answer;
end $$;

-- Ends a booking that failed: the carrier refused it or could not be reached. {shipment_id, claim_token, keep, key?}
-- `keep`: the carrier may have booked all the same, so the claim stays and the next try uses the same reference.
create or replace function integration.shipment_abandon(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform integration.key_hold(input);
  if (input ->> 'keep')::boolean then
    update integration.carrier_shipments s set claimed_at = now() - interval '1 hour'
    where s.id = (input ->> 'shipment_id')::uuid and s.claim_token = (input ->> 'claim_token')::uuid;
  else
    delete from integration.carrier_shipments s
    where s.id = (input ->> 'shipment_id')::uuid and s.claim_token = (input ->> 'claim_token')::uuid and s.status = 'booking';
  end if;
  if input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return '{}';
end $$;
