-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.payments in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "money"."payments" ADD COLUMN "refund_owed_at" timestamp with time zone;

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
end $function$;

CREATE OR REPLACE FUNCTION delivery.returned_fees_refund_as(deliveries uuid[], due jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_back delivery.deliveries[];
  v_paid uuid[];
  v_in_cash boolean;
begin
  select array_agg(p order by p.id) into v_back
  from delivery.deliveries r
  join delivery.deliveries p on p.tenant_id = r.tenant_id
    and p.id = case r.delivery_flow when 'operational_return' then r.original_delivery_id else r.id end
  where r.tenant_id = v_tenant and r.id = any (deliveries) and p.status = 'returned'
    and case r.delivery_flow when 'operational_return' then r.status = 'delivered' else r.order_id is null end;
  if v_back is null then
    return;
  elsif cardinality(v_back) > 1 then
    -- Where nothing is to be given back no wallet is held.
    select array_agg(b.id), bool_or(f.payment_method = 'cash') into v_paid, v_in_cash
    from unnest(v_back) p
    cross join lateral delivery.parcel_of(p) b (id)
    left join money.payments f on f.tenant_id = v_tenant and f.delivery_id = b.id and f.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE')
      and f.status = 'SUCCESS'
    where p.order_id is not null or f.id is not null and delivery.refunds_fee(p, 'refund_delivery_fee_on_return');
    if v_paid is not null then
      perform money.lock_accounts_of(v_paid, case when v_in_cash then '{wallet,external}' else '{wallet}' end::text[]);
    end if;
  end if;
  perform delivery.returned_fee_refund(p, due) from unnest(v_back) p;
end $function$;

CREATE OR REPLACE FUNCTION integration.carrier_report(carrier_code text, tenant_id uuid, report jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_status text := report ->> 'status';
  v_at timestamptz;
  v_moved_at timestamptz;
  v_outcome text;
  v_duplicate boolean;
  v_moves text[];
  v_move text;
  v_delivery uuid;
  v_home uuid;
  s integration.carrier_shipments;
  d delivery.deliveries;
begin
  perform set_config('app.tenant_id', tenant_id::text, true);
  -- The delivery first, then its shipment, as everywhere; reports on one delivery take turns.
  select t.delivery_id into v_delivery from integration.carrier_shipments t
  where t.tenant_id = tenant_id and t.carrier_code = carrier_code and t.tracking_number = report ->> 'tracking_number'
  order by t.created_at desc limit 1;
  if v_delivery is not null then
    perform delivery.lock_deliveries(array[v_delivery]);
    select t.* into d from delivery.deliveries t where t.tenant_id = tenant_id and t.id = v_delivery;
    select t.* into s from integration.carrier_shipments t
    where t.tenant_id = tenant_id and t.delivery_id = v_delivery and t.carrier_code = carrier_code
      and t.tracking_number = report ->> 'tracking_number'
    order by t.created_at desc limit 1 for update;
  end if;
  select e.outcome into v_outcome from integration.carrier_events e
  where e.tenant_id = tenant_id and e.carrier_code = carrier_code and e.carrier_event_id = report ->> 'event_id';
  if found then
    return jsonb_build_object('outcome', v_outcome, 'duplicate', true);
  end if;
  -- Now that it is this report's turn: one that says no time, and waited, is not older than the one it waited for.
  v_at := least((report ->> 'occurred_at')::timestamptz, clock_timestamp());
  v_moves := integration.moves_to(d.delivery_flow, d.status, v_status);
  -- A carrier brings back to where it took over: in a warehouse the parcel is when that has received it.
  if v_status = 'returned' and d.delivery_flow in ('standard', 'customer_return') and d.order_id is null and d.pickup_warehouse_id is not null
      and v_moves is not null then
    v_home := d.pickup_warehouse_id;
    v_moves := case when d.status = 'in_transit' then '{}'::text[] else integration.moves_to(d.delivery_flow, d.status, 'in_transit') end;
  end if;
  -- It lies with us and goes back to its sender, or is there again: whatever the carrier has in hand, it is not this parcel.
  if v_status <> 'cancelled' and d.id is not null and delivery.is_sent_back(d) then
    v_moves := null;
  end if;
  v_outcome := case
    when s.id is null or s.status = 'cancelled' or d.carrier_type <> 'external' then 'unknown_shipment'
    when v_status is null then 'unknown_status'
    when v_at < s.reported_at or exists (
      select from warehousing.receiving_orders r
      where r.tenant_id = tenant_id and r.delivery_id = d.id and r.status = 'received' and r.received_at > v_at) then 'too_late'
    when d.status = v_status then 'unchanged'
    when v_moves is null then 'impossible'
    else 'applied' end;
  if v_outcome in ('applied', 'unchanged') then
    update integration.carrier_shipments t set reported_at = v_at where t.id = s.id;
    if v_status = 'cancelled' then
      perform integration.shipment_given_back(s, d, report ->> 'carrier_status');
    end if;
  end if;
  if v_outcome = 'applied' then
    -- The order comes before the numbers of receipts, also of what its end expects back, and these before wallets.
    perform from storefront.storefront_orders o where o.tenant_id = tenant_id and o.id = d.order_id for no key update;
    if v_status in ('delivered', 'returned') and (d.order_id is not null or delivery.ends_in(d) is not null) then
      perform app.lock_numbers('receiving_order', true);
    end if;
    perform integration.lock_report_accounts(s, d, v_status);
    -- A carrier's clock that is behind, or wrong, delivers nothing before it was ordered or picked up.
    v_moved_at := greatest(v_at, d.created_at, d.picked_up_at);
    foreach v_move in array v_moves loop
      update delivery.deliveries t set status = v_move,
        status_reason = case when v_move in ('failed', 'returned') then 'carrier_' || coalesce(report ->> 'carrier_status', v_move) end,
        attempts_used = t.attempts_used + case when v_move = 'failed' and delivery.attempt_counts(t) then 1 else 0 end,
        picked_up_at = case when v_move in ('picked_up', 'in_transit') then coalesce(t.picked_up_at, v_moved_at) else t.picked_up_at end,
        delivered_at = case when v_move = 'delivered' then v_moved_at else t.delivered_at end
      where t.tenant_id = tenant_id and t.id = d.id;
    end loop;
    -- On its way again, or delivered after all: the warehouse that expected it back does not any more.
    if d.status = 'returned' or d.status = 'failed' and v_status = 'in_transit' or v_status = 'delivered' then
      perform warehousing.receipts_withdraw(d.id);
    end if;
    if v_status = 'returned' then
      perform integration.carrier_brings_back(d, v_home);
    end if;
    if v_status = 'delivered' then
      perform integration.carrier_delivers(s, d);
    end if;
    if v_status in ('delivered', 'returned') then
      -- As what a driver brings back.
      perform delivery.returned_fees_refund_as(array[d.id], jsonb_build_object('event_type', 'carrier_return.refund_due',
        'source_module', 'carriers', 'event_data', jsonb_build_object('carrier_code', carrier_code)));
    end if;
    -- The first news that it has the parcel, whatever came of it since.
    if d.status in ('pending', 'assigned', 'accepted') and v_status <> 'cancelled' then
      perform delivery.carrier_takes(d);
    end if;
    if v_status = 'delivered' and delivery.ends_in(d) is not null then
      perform warehousing.parcel_arrives(d.id, delivery.ends_in(d));
    end if;
  end if;
  insert into integration.carrier_events (tenant_id, carrier_code, carrier_event_id, tracking_number, carrier_status, delivery_id, outcome)
  values (tenant_id, carrier_code, report ->> 'event_id', report ->> 'tracking_number', report ->> 'carrier_status', d.id, v_outcome)
  on conflict on constraint carrier_event_once do nothing;
  v_duplicate := not found;
  if not v_duplicate and d.status = 'cancelled' and v_outcome <> 'too_late' then
    perform integration.cancelled_is_carried(s, d, v_status);
  end if;
  if not v_duplicate and v_status = 'delivered' and s.cash_due > 0 and d.status <> 'delivered' and v_outcome <> 'applied' then
    insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (tenant_id, 'carrier_cash.unbooked', 'carriers', 'delivery', d.id, jsonb_build_object('delivery_id', d.id,
      'shipment_id', s.id, 'carrier_code', carrier_code, 'amount', s.cash_due, 'currency', d.currency, 'status', d.status,
      'outcome', v_outcome));
  end if;
  return jsonb_build_object('outcome', v_outcome, 'duplicate', v_duplicate);
end $function$;

CREATE OR REPLACE FUNCTION integration.lock_report_accounts(s integration.carrier_shipments, d delivery.deliveries, reported text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if reported = 'delivered' and s.cash_due > 0 then
    perform money.lock_carrier_booking(delivery.parcel_of(d), s.carrier_code);
  elsif reported in ('delivered', 'returned') and d.order_id is not null then
    perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "integration"."lock_report_accounts"(integration.carrier_shipments, delivery.deliveries, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.carrier_cash_collected(p_parcel uuid, p_shipment uuid, p_carrier text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_tracking text;
  v_due record;
  v_row uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_parcel;
  select x.tracking_number into v_tracking from integration.carrier_shipments x where x.tenant_id = d.tenant_id and x.id = p_shipment;
  v_due := money.cash_due(d, 'dropoff');
  if v_due.cod + v_due.delivery_fee = 0 then
    return;
  end if;
  perform money.lock_carrier_booking(d.id, p_carrier);
  insert into money.carrier_collections (tenant_id, carrier_code, delivery_id, shipment_id, amount, cod_amount, delivery_fee_amount,
    currency, collected_at, delivery_code, tracking_number, external_reference_id, customer_name, delivery_address)
  values (d.tenant_id, p_carrier, d.id, p_shipment, v_due.cod + v_due.delivery_fee, v_due.cod, v_due.delivery_fee, d.currency,
    now(), d.delivery_code, v_tracking, d.external_reference_id, money.payer_name(d),
    coalesce(d.dropoff_snapshot ->> 'full_address', ''))
  on conflict (tenant_id, delivery_id) where status <> 'reversed' do nothing
  returning id into v_row;
  if v_row is not null then
    perform money.cash_book(d, 'dropoff', 'carrier_collection', v_row,
      money.account_of('carrier_cash', 'carrier', null, d.currency::text, p_carrier));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_left(r money.carrier_remittances)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- Before the query, which would ask for it at each account.
  v_carrier uuid := money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code);
begin
  return money.carrier_remittance(r.id) || jsonb_build_object(
    'still_owed', (select a.balance from money.accounts a where a.tenant_id = app.tenant_id() and a.id = v_carrier));
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_unbook(r money.carrier_remittances)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if r.kind = 'payment' and r.charges < r.amount then
    perform money.lock_returned_cash(money.account_of('cash_on_hand', 'tenant', null, r.currency::text),
      array[case when r.charges > 0 then money.account_of('external', 'tenant', null, r.currency::text)
        else money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code) end], r.amount - r.charges, r.currency::text);
  end if;
  if r.charges < r.amount then
    perform money.reverse(money.carrier_journal(r), 'carrier_remittance', r.id, r.reversal_reason);
  end if;
  if r.charges > 0 then
    perform money.reverse('carrier_charge', 'carrier_remittance', r.id, r.reversal_reason);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_unsettle(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_short numeric;
  v_rows uuid[];
  s money.cod_settlements;
begin
  if not money.settles_for_office() then
    perform app.fail('forbidden');
  end if;
  -- Of two reversals the later one waits for the driver, and finds it done; and whoever settles all of their cash does so
  -- before this or after it.
  perform from delivery.drivers d
  where d.tenant_id = v_tenant and d.user_id = (select x.driver_id from money.cod_settlements x
    where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid) for no key update;
  select x.* into s from money.cod_settlements x
  where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid;
  if s.payment_id is null then
    perform app.fail('settlement_not_found');
  elsif s.actor_id <> app.user_id() and s.receiver_id is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif s.reversed_at is not null then
    perform app.fail('settlement_already_reversed');
  elsif s.historical then
    perform app.fail('settlement_not_reversible');
  end if;
  -- In the order of their ids, as whoever settles holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id order by c.id for no key update) l;
  update money.cod_collections c set status = 'collected', remitted_at = null, settled_at = null, remitted_to_user_id = null,
    settlement_payment_id = null
  where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id;
  update money.cod_settlement_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payment_id = s.payment_id;
  update money.cod_settlements x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.payment_id = s.payment_id
  returning * into s;
  update money.payments p set status = 'CANCELLED' where p.tenant_id = v_tenant and p.id = s.payment_id;
  v_short := money.handover_free(s);
  perform money.receipt_reissue(s.payment_id);
  perform money.cod_reversal_event_emit(s);
  if s.method = 'remit' then
    perform money.lock_returned_cash(money.desk_of(s.driver_id, s.receiver_id, s.currency::text), array(
      select e.account_id from money.ledger_transactions t
      join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
      where t.tenant_id = v_tenant and t.kind = 'cod_settlement' and t.reference_type = 'payment' and t.reference_id = s.payment_id),
      s.total - s.shortage - v_short, s.currency::text);
  end if;
  perform money.reverse('cod_settlement', 'payment', s.payment_id, input ->> 'reason');
  if s.method = 'remit' then
    perform money.cod_holds_again('cod_collection', v_rows);
  end if;
  return s.payment_id;
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_refund(p_delivery uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_paid money.payments;
  v_change money.payments;
  v_total numeric;
  v_in_cash numeric;
  v_wallet uuid;
  v_payment uuid;
  v_reference uuid;
  v_line jsonb;
  v_cash boolean;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'pending';
  perform from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS'
  order by p.id for no key update;
  if exists (select from money.payments r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.type = 'REFUND'
      and r.status <> 'CANCELLED') or money.fee_refund_owed(d.id) then
    return '{"refunded": false, "refund_due": null}';
  end if;
  select * into v_paid from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'
    and (p.payment_method <> 'cash' or d.order_id is null) and p.amount > 0;
  select * into v_change from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'
  order by p.created_at, p.id limit 1;
  v_total := coalesce(v_paid.amount, 0) + coalesce((
    select sum(p.amount) from money.payments p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'), 0);
  v_cash := coalesce(v_paid.payment_method = 'cash', false);
  v_in_cash := case when v_cash then v_paid.amount else 0 end;
  v_wallet := coalesce(v_paid.account_id, v_change.account_id, case when not (v_cash and d.payer_type = 'receiver') then money.owner_wallet(d) end);
  if v_total = 0 or v_wallet is null and not v_cash then
    return '{"refunded": false, "refund_due": null}';
  elsif v_wallet is null then
    insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, delivery_id, reference, actor_id)
    values (d.tenant_id, 'DELIVERY', 'REFUND', 'pending', 'cash', v_total, d.currency, d.id, v_paid.id::text, app.user_id())
    returning id into v_payment;
    return jsonb_build_object('refunded', false, 'refund_due', jsonb_build_object('id', v_payment, 'amount', v_total,
      'currency', d.currency, 'payer', money.payer_contact(d)));
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, reference,
    actor_id, processed_at)
  values (d.tenant_id, 'DELIVERY', 'REFUND', 'SUCCESS', 'wallet', v_total, d.currency, v_wallet, d.id,
    coalesce(v_paid.id, v_change.id)::text, app.user_id(), now())
  returning id into v_payment;
  -- Once: after one that was reversed, the journal names the refund itself.
  v_reference := case when exists (select from money.payments r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.type = 'REFUND'
    and r.status = 'CANCELLED') then v_payment else coalesce(v_paid.id, v_change.id) end;
  v_line := jsonb_build_object('journal', 'refund', 'kind', 'delivery_fee_refund', 'reference_type', 'payment',
    'reference_id', v_reference, 'description', 'Delivery ' || d.delivery_code);
  -- Cash came from outside, the rest out of the tenant's wallet; where less than the cash is left, the tenant gets that back.
  perform money.post((
    select jsonb_agg(v_line || jsonb_build_object('account_id', e.account, 'amount', e.amount) order by e.position)
    from (values
      (1, case when v_cash then money.account_of('external', 'tenant', null, d.currency::text) end, -v_in_cash),
      (2, case when v_total <> v_in_cash then money.account_of('wallet', 'tenant', null, d.currency::text) end, v_in_cash - v_total),
      (3, v_wallet, v_total)) e (position, account, amount)
    where e.amount <> 0));
  return '{"refunded": true, "refund_due": null}';
end $function$;

CREATE OR REPLACE FUNCTION money.fee_refund_owed(p_delivery uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from money.payments p
    where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.refund_owed_at is not null
      -- Of the parcel, its legs and the returns that were made of it: an outcome has the time of the transaction in which this was said.
      and not exists (
        select from delivery.outcomes o
        where o.tenant_id = p.tenant_id and o.created_at = p.refund_owed_at and o.undone_at is not null and o.delivery_id = any (array(
          select x.id from delivery.deliveries x
          where x.tenant_id = app.tenant_id() and (x.id = p_delivery or x.parent_id = p_delivery or x.original_delivery_id = p_delivery)))));
end $function$;

CREATE OR REPLACE FUNCTION money.lock_accounts_of(parcels uuid[], kinds text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_owners uuid[];
begin
  select array_agg(distinct o.id) into v_owners from delivery.deliveries d
  cross join unnest(array[d.customer_id, d.institution_user_id]) o (id)
  where d.tenant_id = v_tenant and d.id = any (parcels);
  perform from money.accounts a
  where a.tenant_id = v_tenant and (a.owner_user_id = any (v_owners) and a.kind = 'wallet'
    or a.owner_user_id is null and a.owner_type = 'tenant' and a.kind = any (kinds))
  order by a.id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_carrier_booking(p_parcel uuid, p_carrier text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_currency text;
begin
  select d.currency into strict v_currency from delivery.deliveries d where d.tenant_id = app.tenant_id() and d.id = p_parcel;
  perform money.lock_carrier(p_carrier, v_currency);
  perform money.lock_accounts_of(array[p_parcel], '{wallet,external,cod_clearing}');
end $function$;

CREATE OR REPLACE FUNCTION money.lock_carrier_cash(d delivery.deliveries, taken_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_parcel uuid := delivery.parcel_of(d);
  c money.carrier_collections;
begin
  select * into c from money.carrier_collections x
  where x.tenant_id = d.tenant_id and x.delivery_id = v_parcel and x.collected_at = taken_at and x.reversed_at is null;
  if c.id is not null then
    perform money.lock_carrier_booking(v_parcel, c.carrier_code);
    perform from money.carrier_collections x where x.tenant_id = d.tenant_id and x.id = c.id for no key update;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_returned_cash(giver uuid, others uuid[], amount numeric, currency text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform money.lock_balances(giver || others || array(
    select a.id from money.accounts a
    where a.tenant_id = app.tenant_id() and a.kind = 'cash_on_hand' and a.currency = lock_returned_cash.currency and exists (
      select from money.accounts g where g.tenant_id = a.tenant_id and g.id = giver and g.queued_since is not null)));
  perform money.lock_cash_desk(giver, giver, amount, currency);
end $function$;

CREATE OR REPLACE FUNCTION money.returned_fee_refund(p_delivery uuid, due jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_owed jsonb;
begin
  return money.delivery_fee_refund(p_delivery);
exception when sqlstate 'RULE0' then
  if sqlerrm <> 'insufficient_wallet_balance' then
    raise;
  end if;
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'pending';
  v_owed := jsonb_build_object('delivery_id', d.id, 'amount', (select sum(p.amount) from money.payments p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS'),
    'currency', d.currency);
  update money.payments p set refund_owed_at = now()
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS';
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', due ->> 'event_type', 'source_module', due ->> 'source_module',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', (due -> 'event_data') || v_owed)));
  perform tenancy.notify_tenant_admins('refund_due', v_owed || jsonb_build_object('delivery_code', d.delivery_code));
  return '{"refunded": false, "refund_due": null}';
end $function$;

CREATE OR REPLACE FUNCTION money.statement_reverse_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
  v_text text := 'Statement ' || money.statement_number(s.number) || ': ' || (input ->> 'reason');
  v_accounts uuid[];
  t money.merchant_payouts;
begin
  if s.status <> 'paid' then
    perform app.fail('statement_not_paid', jsonb_build_object('from', s.status));
  end if;
  select x.* into t from money.merchant_payouts x where x.tenant_id = v_tenant and x.id = s.payout_id;
  if not money.pays_into_wallets() and (s.confirmed_at is not null
      or case t.method when 'cash' then t.actor_id <> app.user_id() else not money.pays_by_bank() end) then
    perform app.fail('forbidden');
  end if;
  update money.merchant_statements x set status = 'open', payout_id = null, confirmed_at = null where x.tenant_id = v_tenant and x.id = s.id;
  update money.merchant_payouts x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id;
  perform money.statement_event_emit('merchant_statement.reversed', s,
    jsonb_build_object('payout_id', t.id, 'method', t.method, 'reason', input ->> 'reason'));
  -- Asked for before the query, which would do so at each account.
  v_accounts := array[s.account_id, money.account_of('external', 'tenant', null, s.currency::text),
    case when t.method = 'cash' then money.merchant_payout_desk(t) end];
  perform from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts) order by a.id for no key update;
  if t.method = 'cash' then
    perform money.reverse('merchant_payout_cash', 'merchant_payout', t.id, v_text);
  end if;
  perform money.reverse('merchant_payout', 'merchant_payout', t.id, v_text);
  return s.id;
end $function$;

REVOKE ALL ON FUNCTION "integration"."lock_report_accounts"(integration.carrier_shipments, delivery.deliveries, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."fee_refund_owed"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."fee_refund_owed"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."lock_accounts_of"(uuid[], text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_accounts_of"(uuid[], text[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."lock_carrier_booking"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_carrier_booking"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."lock_returned_cash"(uuid, uuid[], numeric, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_returned_cash"(uuid, uuid[], numeric, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201085720';
end $$;

grant execute on function private.schema_version() to barid_api;
