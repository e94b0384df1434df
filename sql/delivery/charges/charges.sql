-- The bookings of a delivery. The entrances are SECURITY DEFINER, since a customer who orders and a driver who takes
-- cash write no payments; each reads what is due from the delivery itself, which its core has locked.

-- The owner of the account that pays for a delivery and receives its COD: the institution, else the customer; null: nobody known.
-- Of a storefront order it is the shop: its customer is who pays at the door.
create or replace function money.owner_wallet(d delivery.deliveries) returns uuid
language plpgsql set search_path = '' as $$
begin
  return case
    when d.order_id is not null then money.account_of('wallet', 'tenant', null, d.currency::text)
    when d.institution_user_id is not null then money.account_of('wallet', 'institution', d.institution_user_id, d.currency::text)
    when d.customer_id is not null then money.account_of('wallet', 'customer', d.customer_id, d.currency::text) end;
end $$;

-- Charges the fee of a delivery that becomes an order to a wallet. Cash is taken by a driver; so is what was to be paid
-- at a gateway, since only orders of a store are opened there: a fee that nobody can pay would be a delivery for nothing.
-- Fails: insufficient_wallet_balance.
create or replace function money.delivery_fee_charge(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
  v_wallet uuid;
  v_payment uuid;
  v_line jsonb;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  -- The fee of a storefront order is part of what is paid for the order.
  if d.payment_method <> 'wallet' or d.delivery_fee = 0 or d.order_id is not null then
    return;
  end if;
  v_wallet := money.owner_wallet(d);
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  values (d.tenant_id, 'DELIVERY', 'DELIVERY_FEE', case when v_wallet is null then 'pending' else 'SUCCESS' end, d.payment_method,
    d.delivery_fee, d.currency, v_wallet, d.id, app.user_id(), case when v_wallet is not null then now() end)
  returning id into v_payment;
  if v_wallet is null then
    return;
  end if;
  v_line := jsonb_build_object('journal', 'fee', 'kind', 'delivery_fee', 'reference_type', 'payment', 'reference_id', v_payment,
    'description', 'Delivery ' || d.delivery_code);
  perform money.post(jsonb_build_array(
    v_line || jsonb_build_object('account_id', v_wallet, 'amount', -d.delivery_fee),
    v_line || jsonb_build_object('account_id', money.account_of('wallet', 'tenant', null, d.currency::text), 'amount', d.delivery_fee)));
end $$;

-- The cash a driver has to take for a parcel at a stage, 'pickup' or 'dropoff'. The sender's fee is taken with
-- the parcel; a receiver pays the fee and the COD at the door. Of a store's order the fee is part of the order.
create or replace function money.cash_due(d delivery.deliveries, stage text, out cod numeric, out delivery_fee numeric)
language plpgsql immutable set search_path = '' as $$
begin
  cod := case when stage = 'dropoff' then d.cod_amount else 0 end;
  delivery_fee := case when (d.payment_method = 'cash' or (d.payment_method = 'gateway' and d.order_id is null))
    and d.payer_type = case stage when 'pickup' then 'sender' else 'receiver' end
    then d.delivery_fee else 0 end;
end $$;

-- The cash still to be taken where a delivery begins and where it ends: the amount due for its parcel until it was taken, at the door
-- with its delivery; a leg or a transfer into a warehouse ends before the door, and the leg that begins at the sender takes what is due there.
-- -> {pickup, delivery}, each {cod, delivery_fee, currency}
-- SECURITY DEFINER: the driver of the last leg sees neither the parcel nor what the first one took.
create or replace function money.cash_due_on(d delivery.deliveries) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_cod numeric := d.cod_amount;
  v_fee numeric := d.delivery_fee;
  v_by_sender boolean := d.payer_type = 'sender';
  v_in_cash boolean := d.payment_method = 'cash' or (d.payment_method = 'gateway' and d.order_id is null);
  v_no_pickup boolean;
  v_no_door boolean;
  p delivery.deliveries;
begin
  -- Of a leg the terms are those of its parcel.
  if d.parent_id is not null then
    select x.* into p from delivery.deliveries x where x.tenant_id = v_tenant and x.id = d.parent_id;
    v_cod := p.cod_amount;
    v_fee := p.delivery_fee;
    v_by_sender := p.payer_type = 'sender';
    v_in_cash := p.payment_method = 'cash' or (p.payment_method = 'gateway' and p.order_id is null);
  end if;
  if not v_in_cash then
    v_fee := 0;
  elsif v_by_sender and coalesce(p.picked_up_at, d.picked_up_at) is not null then
    -- Since it was picked up a wallet may have borne a change of it.
    v_fee := v_fee - money.delivery_fee_borne(coalesce(d.parent_id, d.id));
  end if;
  -- Returned, a leg that waits to be received sets out again.
  v_no_door := d.status in ('delivered', 'cancelled') or d.delivery_flow = 'pnd_inbound' or delivery.is_transferred(d)
    or d.status = 'returned' and delivery.has_ended(case when d.parent_id is null then d else p end);
  v_no_pickup := d.status = 'cancelled' or v_fee = 0 or not v_by_sender;
  if not v_no_pickup then
    v_no_pickup := exists (select from money.cod_collections c
      where c.tenant_id = v_tenant and c.delivery_id = coalesce(d.parent_id, d.id) and c.collection_stage = 'pickup' and c.reversed_at is null)
    or d.delivery_flow = 'pnd_outbound' and exists (select from delivery.deliveries a
      where a.tenant_id = v_tenant and a.parent_id = d.parent_id and a.delivery_flow = 'pnd_inbound'
        and a.status in ('draft', 'pending', 'assigned', 'accepted'));
  end if;
  return jsonb_build_object(
    'pickup', jsonb_build_object('cod', 0, 'delivery_fee', case when v_no_pickup then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)),
    'delivery', jsonb_build_object('cod', case when v_no_door then 0 else v_cod end,
      'delivery_fee', case when v_by_sender or v_no_door then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)));
end $$;

-- The same where it begins ('pickup') or ends ('dropoff'), by the terms that hold now: a command may have changed them since it read d.
-- -> {cod, delivery_fee, currency}
create or replace function money.cash_to_take(d delivery.deliveries, stage text) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_terms delivery.deliveries;
begin
  if d.parent_id is null then
    v_terms := delivery.parcel_terms(d);
    d.cod_amount := v_terms.cod_amount;
    d.delivery_fee := v_terms.delivery_fee;
  end if;
  return money.cash_due_on(d) -> case stage when 'dropoff' then 'delivery' else stage end;
end $$;

-- Refuses to give a parcel to another company while its sender owes cash for it: carriers collect nothing from the sender, so a driver has to
-- have collected it. Fails: sender_cash_not_collected {amount, currency}.
create or replace function money.require_sender_cash(parcel delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_due record;
begin
  parcel.delivery_fee := parcel.delivery_fee - money.delivery_fee_borne(parcel.id);
  v_due := money.cash_due(parcel, 'pickup');
  if v_due.cod + v_due.delivery_fee > 0 and not exists (
      select from money.cod_collections x
      where x.tenant_id = parcel.tenant_id and x.delivery_id = parcel.id and x.collection_stage = 'pickup' and x.reversed_at is null) then
    perform app.fail('sender_cash_not_collected', jsonb_build_object('amount', v_due.cod + v_due.delivery_fee, 'currency', parcel.currency));
  end if;
end $$;

-- Books the cash a driver took for a parcel at a stage: one row of cash, and what money.cash_book does. Nothing due, all of it borne by a
-- wallet, or taken at that stage before: nothing happens.
create or replace function money.cash_collected(p_parcel uuid, p_stage text, p_driver uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
  v_due record;
  v_row uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_parcel;
  if p_stage = 'pickup' then
    d.delivery_fee := d.delivery_fee - money.delivery_fee_borne(d.id);
  end if;
  v_due := money.cash_due(d, p_stage);
  if v_due.cod + v_due.delivery_fee = 0 then
    return;
  end if;
  insert into money.cod_collections (tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
    currency, collected_at, delivery_code, delivery_number, leg_codes, external_reference_id, customer_name, delivery_address, receiver_name)
  values (d.tenant_id, d.id, p_driver, p_stage, v_due.cod + v_due.delivery_fee, v_due.cod, v_due.delivery_fee, d.currency,
    now(), d.delivery_code, d.delivery_code::text, (
      select coalesce(jsonb_agg(l.delivery_code order by l.sequence_plan), '[]') from delivery.deliveries l
      where l.tenant_id = d.tenant_id and l.parent_id = d.id),
    d.external_reference_id, money.payer_name(d), coalesce(d.dropoff_snapshot ->> 'full_address', ''), coalesce(d.recipient ->> 'name', ''))
  on conflict (tenant_id, delivery_id, collection_stage) where reversed_at is null do nothing
  returning id into v_row;
  if v_row is not null then
    perform money.cash_book(d, p_stage, 'cod_collection', v_row, money.account_of('driver_cash', 'driver', p_driver, d.currency::text));
  end if;
end $$;

-- Locks, in the order of their ids, the wallets of the owners of these parcels, and of the company's own accounts those of these kinds: for bookings
-- that follow one after the other.
create or replace function money.lock_accounts_of(parcels uuid[], kinds text[]) returns void
language plpgsql set search_path = '' as $$
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
end $$;

-- Locks what the cash that a carrier takes for a parcel is booked on, or reversed on: the carrier's debt, as its payments lock it before they
-- lock what they move, and then all other accounts. SECURITY DEFINER: drivers and operations see few of them.
create or replace function money.lock_carrier_booking(p_parcel uuid, p_carrier text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_currency text;
begin
  select d.currency into strict v_currency from delivery.deliveries d where d.tenant_id = app.tenant_id() and d.id = p_parcel;
  perform money.lock_carrier(p_carrier, v_currency);
  perform money.lock_accounts_of(array[p_parcel], '{wallet,external,cod_clearing}');
end $$;

-- Books the cash that an external carrier took at the door, as a driver's, but on the carrier's account. p_shipment: the booking that asked it
-- to; null: none did, and operations say that it took it. Nothing due, or booked before: nothing happens.
create or replace function money.carrier_cash_collected(p_parcel uuid, p_shipment uuid, p_carrier text) returns void
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- The payer of a parcel, as lists of cash name them.
create or replace function money.payer_name(d delivery.deliveries) returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select p.full_name from tenancy.profiles p where p.id = coalesce(d.customer_id, d.institution_user_id)),
    d.recipient ->> 'name', '');
end $$;

-- The books of cash taken for a parcel at a stage, whoever took it: it stands on the holder's account, its payments
-- are made, and at the door the COD is on its owner's wallet, held as the setting delivery.payouts says. `kind` and `row_id` name the row of cash.
create or replace function money.cash_book(d delivery.deliveries, stage text, kind text, row_id uuid, holder uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_due record := money.cash_due(d, stage);
  v_owner uuid;
  v_cash jsonb := jsonb_build_object('journal', 'cash', 'kind', 'cash_collected', 'reference_type', kind, 'reference_id', row_id,
    'description', 'Delivery ' || d.delivery_code);
  v_credit jsonb := v_cash || '{"journal": "cod", "kind": "cod_credit"}';
begin
  v_cash := jsonb_build_array(
    v_cash || jsonb_build_object('account_id', money.account_of('external', 'tenant', null, d.currency::text), 'amount', -(v_due.cod + v_due.delivery_fee)),
    v_cash || jsonb_build_object('account_id', holder, 'amount', v_due.cod + v_due.delivery_fee));
  if v_due.cod > 0 then
    v_owner := coalesce(money.owner_wallet(d), app.refuse('customer_required_for_cod'));
    v_cash := v_cash || jsonb_build_array(
      v_credit || jsonb_build_object('account_id', money.account_of('cod_clearing', 'tenant', null, d.currency::text), 'amount', -v_due.cod),
      v_credit || jsonb_build_object('account_id', v_owner, 'amount', v_due.cod));
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  select d.tenant_id, 'DELIVERY', p.type, 'SUCCESS', 'cash', p.amount, d.currency, p.account, d.id, app.user_id(), now()
  from (values ('COD_COLLECTION', v_due.cod, v_owner), ('DELIVERY_FEE', v_due.delivery_fee, null)) p (type, amount, account)
  where p.amount > 0;
  perform money.cod_hold(kind, row_id, v_owner, v_due.cod);
  perform money.post(v_cash);
end $$;

grant execute on function money.cash_due_on(delivery.deliveries), money.cash_to_take(delivery.deliveries, text),
  money.lock_carrier_booking(uuid, text) to barid_caller;
