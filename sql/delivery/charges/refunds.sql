-- Fees of deliveries after they were charged: their change, and their refund. SECURITY DEFINER, since neither owners nor drivers write
-- payments; each reads what was paid from the payments of the delivery, which its core has locked.

-- True when the fee of a parcel was taken in cash, or its time is over: a sender's was due when the parcel was picked up, also where it was
-- nothing, of which there is no payment. On a waybill between warehouses a parcel is not picked up yet.
create or replace function money.delivery_fee_taken(p_delivery uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  return d.payer_type = 'sender' and d.payment_method <> 'wallet' and d.order_id is null and d.picked_up_at is not null
    or exists (select from money.payments p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
      and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS' and p.payment_method = 'cash');
end $$;

-- The part of a parcel's fee that wallets have borne since it was ordered, below 0 where they got some of it back: of a cash fee it is not due
-- in cash.
create or replace function money.delivery_fee_borne(p_delivery uuid) returns numeric
language plpgsql stable security definer set search_path = '' as $$
begin
  return coalesce((select sum(p.amount) from money.payments p
    where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'), 0);
end $$;

-- Books the difference of a fee between the wallet of the delivery's owner and the tenant's, with a payment DELIVERY_FEE_CHANGE: above 0
-- the owner pays it, below 0 it is given back. A dry run checks what is available and books nothing.
-- Fails: customer_required_for_wallet (field charge), insufficient_wallet_balance.
create or replace function money.delivery_fee_change(p_delivery uuid, difference numeric, dry_run boolean) returns void
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
  v_owner uuid;
  v_wallet uuid;
  v_payment uuid := gen_random_uuid();
  v_payer money.accounts;
  v_held numeric;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  v_owner := coalesce(d.institution_user_id, d.customer_id);
  if difference = 0 then
    return;
  elsif v_owner is null then
    perform app.fail('customer_required_for_wallet', '{"field": "charge"}');
  elsif dry_run then
    select * into v_payer from money.accounts a
    where a.tenant_id = d.tenant_id and a.kind = 'wallet' and a.currency = d.currency and (difference > 0 and a.owner_user_id = v_owner
      and a.owner_type = case when d.institution_user_id is null then 'customer' else 'institution' end
      or difference < 0 and a.owner_type = 'tenant');
    v_held := coalesce(money.unavailable_of(v_payer), 0);
    if coalesce(v_payer.balance, 0) - v_held < abs(difference) then
      perform money.wallet_short(v_payer, -abs(difference), v_held);
    end if;
    return;
  end if;
  v_wallet := money.owner_wallet(d);
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  values (v_payment, d.tenant_id, 'DELIVERY', 'DELIVERY_FEE_CHANGE', 'SUCCESS', 'wallet', difference, d.currency, v_wallet, d.id, app.user_id(), now());
  perform money.post_journal('delivery_fee_change', 'payment', v_payment, 'Delivery ' || d.delivery_code,
    array[v_wallet, money.account_of('wallet', 'tenant', null, d.currency::text)], array[-difference, difference]);
end $$;

-- Gives the fee of a delivery back, once, with all that changed it since (the net of its payments DELIVERY_FEE and DELIVERY_FEE_CHANGE): what
-- was paid goes to the owner's wallet, what was not yet paid is no longer asked for. A fee that was paid in cash goes to the payer's wallet as if
-- the payer had brought it there: what the driver holds stays as it is. A payer without a wallet gets it in cash from a desk. What was said to be
-- owed is the office's to pay, and is not given back here.
-- -> {refunded, refund_due}
--   refunded    true when a wallet was credited
--   refund_due  {id, amount, currency, payer: {name, phone}} of what a desk has to pay; null: nothing
-- Fails: insufficient_wallet_balance (the tenant's wallet is short).
create or replace function money.delivery_fee_refund(p_delivery uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- True when the fee of a parcel that came back was said to be owed to its payer (money.returned_fee_refund): the office pays it by hand, and nobody
-- can know whether it has.
create or replace function money.fee_refund_owed(p_delivery uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from money.payments p
    where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.refund_owed_at is not null);
end $$;

-- A report of delivery d is undone that was made at a moment: a fee that was said to be owed with it is owed no more, and administrators are
-- notified, one of whom may have paid it. Of a leg or a return the fee is its parcel's. SECURITY DEFINER: drivers undo, and see no payments.
create or replace function money.fee_refund_owed_end(d delivery.deliveries, p_said_at timestamptz) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_notice jsonb;
begin
  perform app.require_tenant(d.tenant_id);
  with ended as (
    update money.payments p set refund_owed_at = null
    where p.tenant_id = v_tenant and p.delivery_id in (d.id, d.parent_id, d.original_delivery_id) and p.refund_owed_at = p_said_at
    returning p.delivery_id, p.amount)
  select jsonb_build_object('delivery_id', x.id, 'delivery_code', x.delivery_code, 'amount', sum(e.amount), 'currency', x.currency) into v_notice
  from ended e
  join delivery.deliveries x on x.tenant_id = v_tenant and x.id = e.delivery_id
  group by x.id;
  if v_notice is not null then
    perform tenancy.notify_tenant_admins('refund_due_ended', v_notice);
  end if;
end $$;

-- The same for a parcel that came back. Nobody who brings it, or takes it in, can fill a wallet: where the tenant's is short the refund waits for
-- the office, an event says how much is owed, once, and administrators are notified. What was not yet paid is no longer asked for.
-- It is paid by hand, by an adjustment of the payer's wallet, and by nothing else from then on.
-- due: {event_type, source_module, event_data} of that event, its data beside {delivery_id, amount, currency}.
-- -> as money.delivery_fee_refund; of a refund that waits {"refunded": false, "refund_due": null}
create or replace function money.returned_fee_refund(p_delivery uuid, due jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
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
end $$;

grant execute on function money.delivery_fee_taken(uuid), money.delivery_fee_borne(uuid) to barid_caller;
