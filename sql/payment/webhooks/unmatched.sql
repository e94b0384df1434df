-- Money that fits no payment: it is announced once, and an administrator settles it.

-- Announces an event that matched no payment: an event for other modules and a notification for the tenant's administrators. Once for
-- each transaction of a payment, however many events name it.
create or replace function money.unmatched_announce(p_event uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  e money.payment_webhook_events;
  v_data jsonb;
begin
  select * into e from money.payment_webhook_events x where x.tenant_id = v_tenant and x.id = p_event;
  if e.outcome <> 'unmatched' or exists (
      select from money.payment_webhook_events x
      where x.tenant_id = v_tenant and x.payment_id = e.payment_id and x.id <> e.id and x.outcome = 'unmatched' and x.resolution is null
        and x.facts ->> 'kind' = e.facts ->> 'kind' and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id') then
    return;
  end if;
  v_data := jsonb_build_object('payment_event_id', e.id, 'gateway_code', e.gateway_code, 'reason', e.reason, 'payment_id', e.payment_id,
    'order_id', (select p.order_id from money.payments p where p.tenant_id = v_tenant and p.id = e.payment_id),
    'gateway_order_id', e.facts -> 'gateway_order_id', 'gateway_transaction_id', e.facts -> 'transaction_id',
    'amount', e.facts -> 'amount', 'amount_unit', e.facts -> 'unit', 'currency', e.facts -> 'currency');
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'payment.unmatched', 'source_module', 'payment',
    'entity_type', 'payment_webhook_event', 'entity_id', e.id, 'event_data', v_data)));
  perform tenancy.notify_tenant_admins('payment_unmatched', v_data);
end $$;

-- The amount of an event in the currency of the payment it names, or why nothing can be done with it here.
create or replace function money.unmatched_amount(e money.payment_webhook_events, p money.payments, out amount numeric, out refusal text)
language plpgsql stable set search_path = '' as $$
begin
  refusal := case
    when e.facts ->> 'kind' <> 'paid' then 'not_a_payment'
    when p.id is null then 'payment_unknown'
    when not exists (select from tenancy.currencies c
      where c.code = p.currency and upper(e.facts ->> 'currency') in (c.code, c.numeric_code)) then 'currency_differs'
    when coalesce(e.facts ->> 'amount', '') !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then 'amount_differs'
    when coalesce(e.facts ->> 'transaction_id', '') = '' then 'transaction_missing'
    when exists (select from money.payments x
      where x.gateway_code = e.gateway_code and x.gateway_transaction_id = e.facts ->> 'transaction_id') then 'transaction_already_used'
  end;
  if refusal is null then
    amount := money.amount_told(p, e.facts);
    if amount <= 0 or amount <> round(amount, money.decimals_of(p.currency)) then
      refusal := 'amount_differs';
    end if;
  end if;
end $$;

-- Takes the money as the payment it was meant to be. p and o are locked. A short payment of an order is all that the shop asks for: the
-- difference becomes its discount. -> why that cannot be, or null
create or replace function money.unmatched_accept(e money.payment_webhook_events, p money.payments, o storefront.storefront_orders, p_amount numeric)
returns text
language plpgsql set search_path = '' as $$
begin
  if p.status = 'SUCCESS' or o.payment_status = 'paid' then
    return 'already_paid';
  elsif p.status = 'CANCELLED' or o.status not in ('pending', 'awaiting_approval') then
    return 'order_cancelled';
  elsif o.id is not null and p_amount > o.total_price then
    return 'amount_differs';
  end if;
  update storefront.storefront_orders x set discount_amount = x.discount_amount + x.total_price - p_amount, total_price = p_amount
  where x.tenant_id = o.tenant_id and x.id = o.id and x.total_price <> p_amount;
  update money.payments x set status = 'CANCELLED', processed_at = now()
  where x.tenant_id = p.tenant_id and x.order_id = p.order_id and x.type = 'ORDER' and x.status = 'pending' and x.id <> p.id;
  update money.payments x set amount = p_amount where x.tenant_id = p.tenant_id and x.id = p.id returning * into p;
  perform money.payment_made(p, e.facts ->> 'transaction_id', e.facts ->> 'terminal');
  return null;
end $$;

-- Books the money into a wallet, as a payment of its own. -> the payment
create or replace function money.unmatched_book(e money.payment_webhook_events, p money.payments, p_account uuid, p_amount numeric)
returns money.payments
language plpgsql set search_path = '' as $$
declare
  r money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, gateway_code, reference, snapshot,
    actor_id)
  values (p.tenant_id, 'WALLET', 'WALLET_TOPUP', 'pending', 'gateway', p_amount, p.currency, p_account, p.gateway_code, p.reference,
    jsonb_build_object('payment_event_id', e.id, 'payment_id', p.id, 'order_id', p.order_id), app.user_id())
  returning * into r;
  perform money.payment_made(r, e.facts ->> 'transaction_id', e.facts ->> 'terminal');
  select * into r from money.payments x where x.tenant_id = r.tenant_id and x.id = r.id;
  return r;
end $$;

-- Moves the money of an event that matched no payment; a refund of it that was reported is applied with it. Locks the gateway's
-- transaction, the order, the payment and the event, in this order.
-- refund: it is given back at the gateway, and the books show it coming and going. credit_wallet: it goes to the wallet of the customer, or
-- to the one it was meant for. accept: it is the payment. Fails: forbidden, payment_event_not_found, payment_event_not_open,
-- payment_action_not_possible (reason), insufficient_wallet_balance.
create or replace function money.unmatched_settle(p_event uuid, p_action text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  e money.payment_webhook_events;
  p money.payments;
  o storefront.storefront_orders;
  v_amount numeric;
  v_refusal text;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select * into e from money.payment_webhook_events w where w.tenant_id = v_tenant and w.id = p_event;
  perform money.lock_gateway_transaction(e.gateway_code, e.facts ->> 'transaction_id');
  select x.* into p from money.payment_webhook_events w
  join money.payments x on x.tenant_id = w.tenant_id and x.id = w.payment_id where w.tenant_id = v_tenant and w.id = p_event;
  select * into o from storefront.storefront_orders x where x.tenant_id = v_tenant and x.id = p.order_id for no key update;
  select * into p from money.payments x where x.tenant_id = v_tenant and x.id = p.id for no key update;
  e := money.lock_unmatched_event(p_event);
  select u.amount, u.refusal into v_amount, v_refusal from money.unmatched_amount(e, p) u;
  if v_refusal is null and p_action = 'accept' then
    v_refusal := money.unmatched_accept(e, p, o, v_amount);
  elsif v_refusal is null and p_action = 'credit_wallet' then
    perform money.unmatched_book(e, p, case when o.id is null then p.account_id
      else money.account_of('wallet', 'customer', o.user_id, o.currency) end, v_amount);
  elsif v_refusal is null then
    v_refusal := money.payment_refunded(
      money.unmatched_book(e, p, money.account_of('wallet', 'tenant', null, p.currency), v_amount),
      jsonb_build_object('refund_id', 'resolved-' || e.id, 'amount', v_amount::text, 'unit', 'major'));
  end if;
  if v_refusal is not null then
    perform app.fail('payment_action_not_possible', jsonb_build_object('field', 'action', 'reason', v_refusal));
  end if;
  perform money.refunds_told_before(e.gateway_code, e.facts ->> 'transaction_id', array[v_tenant]);
exception when unique_violation then
  -- Another payment took the transaction meanwhile.
  perform app.fail('payment_action_not_possible', '{"field": "action", "reason": "transaction_already_used"}');
end $$;

-- An event that matched no payment, locked. Fails: payment_event_not_found, payment_event_not_open.
create or replace function money.lock_unmatched_event(p_event uuid) returns money.payment_webhook_events
language plpgsql security definer set search_path = '' as $$
declare
  e money.payment_webhook_events;
begin
  select * into e from money.payment_webhook_events x
  where x.tenant_id = app.tenant_id() and x.id = p_event and app.has_permission('manage:tenant') for update;
  if e.id is null then
    perform app.fail('payment_event_not_found');
  elsif e.outcome <> 'unmatched' or e.resolution is not null then
    perform app.fail('payment_event_not_open');
  end if;
  return e;
end $$;
grant execute on function money.unmatched_settle(uuid, text), money.lock_unmatched_event(uuid) to barid_caller;

-- Settles an event that matched no payment; with an action its money moves, and other events of the same transaction are settled with it.
-- {event_id, resolution, action?: refund | credit_wallet | accept, note?} -> the event
-- Fails: payment_event_not_found, payment_event_not_open, payment_action_not_possible, insufficient_wallet_balance.
create or replace function money.webhook_event_resolve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'event_id')::uuid;
  e money.payment_webhook_events;
begin
  if input ->> 'action' is not null then
    perform money.unmatched_settle(v_id, input ->> 'action');
  end if;
  e := money.lock_unmatched_event(v_id);
  update money.payment_webhook_events x set resolution = input ->> 'resolution', resolution_note = input ->> 'note',
    action = input ->> 'action', resolved_by = app.user_id(), resolved_at = now()
  where x.tenant_id = v_tenant and (x.id = e.id or (input ->> 'action' is not null and x.payment_id = e.payment_id
    and x.outcome = 'unmatched' and x.resolution is null and x.facts ->> 'kind' = 'paid'
    and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id'));
  return (select to_jsonb(l) from money.webhook_events_list l where l.id = e.id);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.unmatched_accept(money.payment_webhook_events,money.payments,storefront.storefront_orders,numeric),
  money.unmatched_amount(money.payment_webhook_events,money.payments), money.unmatched_announce(uuid),
  money.unmatched_book(money.payment_webhook_events,money.payments,uuid,numeric) from barid_caller;
