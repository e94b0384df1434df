-- Money that fits no payment, and refunds that fit what is left of none: they are announced once, and an administrator settles them.

-- Announces an event that matched no payment: an event for other modules and a notification for the tenant's administrators. Once for
-- each transaction of a payment and for each refund of it, however many events name it.
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
      where x.tenant_id = v_tenant and x.gateway_code = e.gateway_code and x.payment_id is not distinct from e.payment_id and x.id <> e.id
        and x.outcome = 'unmatched' and x.resolution is null
        and x.facts ->> 'kind' = e.facts ->> 'kind' and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id'
        and x.facts ->> 'refund_id' is not distinct from e.facts ->> 'refund_id') then
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
declare
  v_number text := coalesce(e.facts ->> case e.facts ->> 'kind' when 'refunded' then 'refund_id' else 'transaction_id' end, '');
begin
  refusal := case
    when e.facts ->> 'kind' not in ('paid', 'refunded') then 'not_a_payment'
    when p.id is null then 'payment_unknown'
    when not money.currency_is(p, e.facts ->> 'currency') then 'currency_differs'
    when coalesce(e.facts ->> 'amount', '') !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then 'amount_differs'
    when v_number = '' then 'transaction_missing'
    when exists (select from money.payments x
      where x.gateway_code = e.gateway_code and x.gateway_transaction_id = v_number) then 'transaction_already_used'
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

-- The sum that gateways reported as given back of a payment, and that is neither booked nor settled: each refund once, however many events
-- name it. One in another currency, or of an amount that cannot be read, may be all of it.
create or replace function money.refunds_open(p money.payments) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(sum(r.amount), 0) from (
      select max(case when money.currency_is(p, e.facts ->> 'currency') and e.facts ->> 'amount' ~ '^[0-9]{1,15}(\.[0-9]{1,3})?$'
        then money.amount_told(p, e.facts) else p.amount end) as amount
      from money.payment_webhook_events e
      where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched' and e.resolution is null
        and e.facts ->> 'kind' = 'refunded' and not exists (
          select from money.payments x where x.gateway_code = e.gateway_code and x.gateway_transaction_id = e.facts ->> 'refund_id')
      group by coalesce(e.facts ->> 'refund_id', e.id::text)) r);
end $$;

-- The sum of these refunds of the top-ups of a wallet: money that may be with their payers already.
create or replace function money.wallet_refunds_open(p_account uuid) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(sum(money.refunds_open(p)), 0) from money.payments p
    where p.tenant_id = app.tenant_id() and p.account_id = p_account and p.type = 'WALLET_TOPUP' and p.status = 'SUCCESS' and exists (
      select from money.payment_webhook_events e
      where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched' and e.resolution is null));
end $$;

-- Books a refund that a gateway reported and that fitted nothing then: what is left of the payment as its refund (of a
-- top-up, what its wallet can spend), and the rest as a loss of the company, whose wallet pays it. The order and p are locked.
-- -> why that cannot be, or null. Fails: insufficient_wallet_balance.
create or replace function money.unmatched_refund(e money.payment_webhook_events, p money.payments, p_amount numeric) returns text
language plpgsql set search_path = '' as $$
declare
  v_number text := e.facts ->> 'refund_id';
  v_external uuid;
  v_company uuid;
  v_refund numeric;
  v_postings jsonb := '[]';
  r money.payments;
begin
  if p.status <> 'SUCCESS' then
    return 'refund_of_nothing';
  end if;
  v_external := money.account_of('external', 'tenant', null, p.currency);
  v_company := money.account_of('wallet', 'tenant', null, p.currency);
  v_refund := greatest(least(p_amount, money.payment_left(p)), 0);
  if p.type <> 'ORDER' then
    v_refund := (
      select greatest(least(v_refund, a.balance - a.floor - money.unavailable_of(a)), 0) from money.accounts a
      where a.tenant_id = p.tenant_id and a.id = p.account_id);
  end if;
  if v_refund > 0 then
    r := money.gateway_refund_write(p, v_refund, v_number);
    v_postings := money.payment_postings(r, 'gateway_refund', money.gateway_refund_from(p), v_external, p.reference);
  end if;
  if p_amount > v_refund then
    insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, gateway_code,
      gateway_transaction_id, reference, snapshot, actor_id, processed_at)
    values (p.tenant_id, p.category, 'REFUND', 'SUCCESS', 'gateway', p_amount - v_refund, p.currency, v_company, p.gateway_code,
      case when v_refund = 0 then v_number end, p.id::text,
      jsonb_build_object('payment_event_id', e.id, 'payment_id', p.id, 'order_id', p.order_id), app.user_id(), now())
    returning * into r;
    v_postings := v_postings || money.payment_postings(r, 'gateway_loss', v_company, v_external, p.reference);
  end if;
  perform money.post(v_postings);
  return null;
end $$;

-- Moves the money of an event that matched no payment; a refund of it that was reported is applied with it. Locks the gateway's
-- transaction, the order, the payment and the event, in this order.
-- refund: it is given back at the gateway, and the books show it coming and going. credit_wallet: it goes to the wallet of the customer, or
-- to the one it was meant for. accept: it is the payment. Of a refund that a gateway reported, refund books it (money.unmatched_refund), and
-- nothing else can be done. Fails: forbidden, payment_event_not_found, payment_event_not_open,
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
  if v_refusal is null and e.facts ->> 'kind' = 'refunded' then
    v_refusal := case when p_action = 'refund' then money.unmatched_refund(e, p, v_amount) else 'not_a_payment' end;
  elsif v_refusal is null and p_action = 'accept' then
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
  if e.facts ->> 'kind' = 'paid' then
    perform money.refunds_told_before(e.gateway_code, e.facts ->> 'transaction_id', array[v_tenant]);
  end if;
exception when unique_violation then
  -- Another payment took the transaction meanwhile.
  perform app.fail('payment_action_not_possible', '{"field": "action", "reason": "transaction_already_used"}');
end $$;

-- An event that matched no payment, locked after its gateway's transaction: a report by which the transaction is booked ends the others of it.
-- Fails: payment_event_not_found, payment_event_not_open.
create or replace function money.lock_unmatched_event(p_event uuid) returns money.payment_webhook_events
language plpgsql security definer set search_path = '' as $$
declare
  e money.payment_webhook_events;
begin
  select * into e from money.payment_webhook_events x
  where x.tenant_id = app.tenant_id() and x.id = p_event and app.has_permission('manage:tenant');
  perform money.lock_gateway_transaction(e.gateway_code, e.facts ->> 'transaction_id');
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

-- Settles an event that matched no payment; with an action its money moves, and other events of the same transaction, or refund, are settled
-- with it.
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
  where x.tenant_id = v_tenant and (x.id = e.id or (x.gateway_code = e.gateway_code and x.payment_id is not distinct from e.payment_id
    and x.outcome = 'unmatched' and x.resolution is null and x.facts ->> 'kind' = e.facts ->> 'kind'
    and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id' and x.facts ->> 'refund_id' is not distinct from e.facts ->> 'refund_id'));
  return (select to_jsonb(l) from money.webhook_events_list l where l.id = e.id);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.unmatched_accept(money.payment_webhook_events,money.payments,storefront.storefront_orders,numeric),
  money.unmatched_amount(money.payment_webhook_events,money.payments), money.unmatched_announce(uuid),
  money.unmatched_book(money.payment_webhook_events,money.payments,uuid,numeric), money.refunds_open(money.payments), money.wallet_refunds_open(uuid),
  money.unmatched_refund(money.payment_webhook_events,money.payments,numeric) from barid_caller;
