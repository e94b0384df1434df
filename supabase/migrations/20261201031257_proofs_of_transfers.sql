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
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), v_change);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201031257';
end $$;

grant execute on function private.schema_version() to barid_api;
