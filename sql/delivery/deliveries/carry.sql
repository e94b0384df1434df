-- The driver's steps: pick up, depart and hand over. Each locks the family, makes one legal
-- move and answers the delivery as lists show it.

-- The cash part of a move's answer, when all that was due was taken: {due, collected}, both {cod, delivery_fee, currency}.
create or replace function delivery.cash_summary(due jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('due', due, 'collected', due);
end $$;

-- Takes a delivery into a driver's hands: what pickup at the door and pickup from a warehouse have in common. What leaves a warehouse with an
-- open exception is expected back there, as it is when the exception is opened on the road. -> its cash_summary
-- Fails: forbidden, invalid_status_transition, assignment_not_accepted, invalid_occurred_at, invalid_proof_url, delivery_proof_required, goods_not_picked.
create or replace function delivery.delivery_taken(d delivery.deliveries, input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_due jsonb;
begin
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  if a.status is distinct from 'assigned' and a.status is distinct from 'accepted' then
    perform app.fail('assignment_not_accepted', delivery.unanswered_to_json(a));
  end if;
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  perform delivery.redirect_at_pickup(delivery.parcel_terms(d), input);
  v_due := money.cash_to_take(d, 'pickup');
  update delivery.deliveries x set status = 'picked_up', picked_up_at = clock_timestamp(), status_reason = null, status_notes = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.moving_exception_expect(d);
  perform delivery.delivery_proofs_keep(d, 'pickup', input -> 'proof');
  perform delivery.require_cash(d, 'pickup', input -> 'cash_collected');
  perform money.cash_collected(delivery.parcel_of(d), 'pickup', a.driver_id);
  return delivery.cash_summary(v_due);
end $$;

-- The reported amount must be the amount still to be taken; without a report it is that amount.
-- cash: {cod?, delivery_fee?} or null. Fails: cash_amount_mismatch {due: {cod, delivery_fee, currency}}.
create or replace function delivery.require_cash(d delivery.deliveries, stage text, cash jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_due jsonb;
begin
  if coalesce(jsonb_typeof(cash), 'null') = 'null' then
    return;
  end if;
  v_due := money.cash_to_take(d, stage);
  if coalesce((cash ->> 'cod')::numeric, 0) <> (v_due ->> 'cod')::numeric
      or coalesce((cash ->> 'delivery_fee')::numeric, 0) <> (v_due ->> 'delivery_fee')::numeric then
    perform app.fail('cash_amount_mismatch', v_due || jsonb_build_object('field', 'cash_collected', 'due', v_due));
  end if;
end $$;

-- assigned|accepted -> picked_up, at a door, or in a warehouse what goes from door to door and waits there, with what it has in stock.
-- {id, proof?, cash_collected?, latitude?, longitude?, occurred_at?} -> {delivery, cash}
-- Fails: delivery_not_found, what delivery_taken fails with, cash_amount_mismatch, pickup_by_handoff (it waits in a
-- warehouse: it is taken over there), delivery_is_for_waybill.
create or replace function delivery.delivery_pickup(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
end $$;

-- picked_up -> in_transit; what another company carries leaves from pending, with what it has in stock (delivery.carrier_takes).
-- {id, latitude?, longitude?, occurred_at?} -> {delivery}
-- Fails: delivery_not_found, forbidden, invalid_status_transition, invalid_occurred_at, return_under_way, goods_not_picked,
-- sender_cash_not_collected (another company takes it).
create or replace function delivery.delivery_depart(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
end $$;

-- picked_up|in_transit -> delivered: proof, cash, the assignment's end, the COD to its owner, the driver's pay; and in a
-- warehouse the parcel's receipt. What was only brought to another warehouse waits there: -> pending.
-- {id, proof?, proof_field?, result?, amount_change_id?, ordered_into?, cash_collected?, recipient_name?, latitude?, longitude?, occurred_at?}
-- -> {delivery, cash}; proof_field: the name by which the caller sent the proof, for refusals; result: of delivery.delivery_outcome;
-- amount_change_id: as delivery.outcome_record keeps it; ordered_into: the warehouse in which it was to end before it was brought to another one
-- Fails: delivery_not_found, forbidden, invalid_status_transition (also on the road by waybill), invalid_occurred_at, invalid_proof_url,
-- delivery_proof_required, amount_is_for_part (not of a part), cash_amount_mismatch, delivery_has_no_driver (cash is due and nobody took it:
-- neither a driver nor a carrier that was told to).
create or replace function delivery.delivery_complete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb;
  v_change uuid := (input ->> 'amount_change_id')::uuid;
  v_shipment uuid;
  v_carrier text;
begin
  if d.status = 'failed' then
    perform app.fail('invalid_status_transition', '{"from": "failed", "to": "delivered", "text_key": "delivery_failed_before"}');
  end if;
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_off_waybill(d, a, 'delivered');
  if v_door and delivery.redirect_at_door(v_parcel, input) is not null then
    d := delivery.lock_delivery(d.id);
    v_parcel := delivery.parcel_terms(d);
    v_warehouse := delivery.ends_in(d);
  end if;
  v_cash := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if v_transferred and not warehousing.transfer_ends(d) then
    -- A photo of this warehouse proves nothing of the door that is still to come.
    perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    if input ->> 'result' is distinct from 'partial' then
      v_change := delivery.amount_at_door(v_parcel, input);
      if v_change is not null then
        v_parcel := delivery.parcel_terms(d);
        v_cash := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
      end if;
      perform delivery.require_amount_for_whole(v_parcel);
    end if;
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id, s.carrier_code into v_shipment, v_carrier from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      -- No booking asked the carrier to collect it: then operations have to say that it did.
      if not found and d.carrier_type = 'external' and coalesce(jsonb_typeof(input -> 'cash_collected'), 'null') <> 'null' then
        select c.code into v_carrier from integration.carriers c where c.code = d.carrier_code and not c.is_internal;
      end if;
      if v_carrier is null then
        perform app.fail('delivery_has_no_driver', case when d.carrier_type <> 'external' then '{}'
          when exists (select from integration.carriers c where c.code = d.carrier_code)
            then '{"text_key": "carrier_not_asked_for_cash", "field": "cash_collected"}'::jsonb
          else jsonb_build_object('text_key', 'carrier_without_account', 'field', 'cash_collected', 'carrier_code', d.carrier_code) end);
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
  if v_carrier is not null then
    -- Before the wallets of a redirect: all accounts in one order.
    perform money.lock_carrier_booking(v_parcel.id, v_carrier);
  end if;
  if v_door then
    perform delivery.redirect_settle(v_parcel.id, a.driver_id);
  end if;
  if v_carrier is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment, v_carrier);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  d.dropoff_warehouse_id := coalesce((input ->> 'ordered_into')::uuid, d.dropoff_warehouse_id);
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), v_change);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $$;
