-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_completed jsonb;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  if v_warehouse is not null then
    -- It stays until its receiving order is written, which holds it from then on.
    perform from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null for key share;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
    end if;
  end if;
  if d.delivery_flow = 'customer_return' and not delivery.is_transferred(d) and v_warehouse = delivery.ends_in(d)
      or d.delivery_flow = 'pnd_inbound' and v_warehouse is not null
        and v_warehouse is distinct from (delivery.ordered_from(delivery.parcel_terms(d))).warehouse_id then
    if d.delivery_flow = 'pnd_inbound' and v_warehouse is distinct from delivery.ends_in(d) then
      perform delivery.staged_through(d.id, v_warehouse);
    end if;
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'failed';
    v_completed := delivery.delivery_complete(input || jsonb_build_object('ordered_into', d.dropoff_warehouse_id));
    return jsonb_build_object('delivery', v_completed -> 'delivery', 'receiving_order_id', warehousing.receipt_of(d.id),
      'refunded', false, 'refund_due', null);
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
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
  -- A carrier reports on after its returns.
  if not v_awaited and d.carrier_type = 'internal' then
    perform delivery.outcome_record(d, 'returned');
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.returned_fee_refund(d, delivery.refund_due_event()) end;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.first_leg_restore(o delivery.outcomes, d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse uuid := (o.before ->> 'dropoff_warehouse_id')::uuid;
begin
  if d.delivery_flow <> 'pnd_inbound' or o.result <> 'delivered' or o.before ->> 'transfer_kind' is not null or v_warehouse = d.dropoff_warehouse_id then
    return '{}';
  end if;
  -- It stays until the deliveries that name it are written, which hold it from then on.
  perform from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = v_warehouse and w.deleted_at is null for key share;
  if not found then
    return jsonb_build_object('dropoff_warehouse_id', d.dropoff_warehouse_id);
  end if;
  perform delivery.staged_through(d.id, v_warehouse);
  return jsonb_build_object('dropoff_warehouse_id', v_warehouse);
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
  v_places := v_places || delivery.first_leg_restore(o, d);
  -- First, since by it the guard of deliveries knows that these moves are an undo.
  update delivery.outcomes x set undone_at = now(), undone_by = app.user_id(), undo_reason = reason, undone_in = pg_current_xact_id()
  where x.tenant_id = o.tenant_id and x.id = o.id;
  update delivery.deliveries r set status = 'cancelled', status_reason = 'outcome_undone', status_notes = reason
  where r.tenant_id = o.tenant_id and r.id = any (v_returns);
  -- returned: taken back from the driver.
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = o.tenant_id and a.delivery_id = any (v_returns) and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.arrival_withdraw(d.id);
  if o.result = 'returned' then
    perform delivery.return_withdraw(d);
  end if;
  update delivery.deliveries x set delivered_in_part = false
  where x.tenant_id = o.tenant_id and x.id in (d.id, delivery.parcel_of(d)) and x.delivered_in_part;
  update delivery.deliveries x set status = o.from_status, status_reason = 'outcome_undone', status_notes = reason, delivered_at = null,
    attempts_used = (o.before ->> 'attempts_used')::integer, attempts_exhausted = (o.before ->> 'attempts_exhausted')::boolean,
    recipient = x.recipient - 'received_by' || jsonb_strip_nulls(jsonb_build_object('received_by', o.before -> 'received_by')),
    transfer_kind = v_places ->> 'transfer_kind', dropoff_warehouse_id = (v_places ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (v_places ->> 'ordered_to_warehouse_id')::uuid, postponed_to = (o.before ->> 'postponed_to')::date,
    overnight_notice_at = null
  where x.tenant_id = o.tenant_id and x.id = d.id;
  if o.result = 'partial' or o.before ->> 'amount_change_id' is not null then
    perform delivery.kept_amount_undo(delivery.parcel_of(d), o, reason);
  end if;
  perform delivery.outcome_reassign(o, d);
  perform delivery.redirect_again(delivery.parcel_of(d), (o.before ->> 'redirect_id')::uuid);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."first_leg_restore"(delivery.outcomes, delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."first_leg_restore"(delivery.outcomes, delivery.deliveries) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201031539';
end $$;

grant execute on function private.schema_version() to barid_api;
