-- Payment of the caller's new order: the wallet now, cash at the door, or a gateway that is waited for.
-- The order is locked and has no payment. Fails: insufficient_wallet_balance, order_not_found.
create or replace function storefront.order_charge(p_order uuid, p_gateway text default null, p_back_ref text default null) returns void
language plpgsql security definer set search_path = '' as $$
declare
  o storefront.storefront_orders;
  p money.payments;
begin
  select * into o from storefront.storefront_orders x
  where x.tenant_id = app.tenant_id() and x.id = p_order and x.user_id = app.user_id() and x.payment_status <> 'paid';
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, gateway_code,
    gateway_order_id, back_ref, expires_at, reference, actor_id, processed_at)
  values (o.tenant_id, 'ORDER', 'ORDER', case when o.payment_method = 'wallet' then 'SUCCESS' else 'pending' end,
    case o.payment_method when 'cash_on_delivery' then 'cash' else o.payment_method end, o.total_price, o.currency,
    case when o.payment_method = 'wallet' then money.account_of('wallet', 'customer', o.user_id, o.currency) end, o.id,
    p_gateway, case when p_gateway is not null then nextval('money.gateway_order_ids')::text end, p_back_ref,
    case when p_gateway is not null then o.created_at + interval '24 hours' end, o.order_number, app.user_id(),
    case when o.payment_method = 'wallet' then now() end)
  returning * into p;
  if p.status = 'SUCCESS' then
    perform money.book_payment(p, 'order_payment', p.account_id, money.account_of('wallet', 'tenant', null, o.currency), o.order_number);
    update storefront.storefront_orders x set payment_status = 'paid' where x.tenant_id = o.tenant_id and x.id = o.id;
  elsif o.payment_status = 'failed' then
    -- Another try is waited for.
    update storefront.storefront_orders x set payment_status = 'pending' where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
end $$;

-- The amount paid for an order and not yet refunded; nor reported by a gateway as given back, until somebody has settled that report: it may
-- be with the customer already. Fails: forbidden (app.require_tenant).
create or replace function storefront.order_refundable(o storefront.storefront_orders) returns numeric
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(o.tenant_id);
  return (
    select greatest(coalesce(sum(case p.type when 'ORDER' then p.amount - money.refunds_open(p) when 'REFUND' then -p.amount end), 0), 0)
    from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id and p.status = 'SUCCESS');
end $$;

-- The amount paid for an order and not given back for its goods: what is refundable, and what the shop gave as goodwill.
-- Fails: forbidden (app.require_tenant).
create or replace function storefront.order_paid(o storefront.storefront_orders) returns numeric
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(o.tenant_id);
  return storefront.order_refundable(o) + (
    select coalesce(sum(p.goodwill), 0) from money.payments p
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS');
end $$;
grant execute on function storefront.order_paid(storefront.storefront_orders) to barid_caller;

-- The amount that goes back of an order that costs its customer this much: no more than is left of the payment.
create or replace function storefront.order_paid_beyond(o storefront.storefront_orders, price numeric) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return greatest(least(storefront.order_refundable(o), storefront.order_paid(o) - price), 0);
end $$;

-- A refund as it is answered. -> {processed, amount, method, payment_id}
create or replace function storefront.refund_to_json(p money.payments) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('processed', true, 'amount', p.amount, 'method', p.payment_method, 'payment_id', p.id);
end $$;

-- The refund that this transaction booked for an order, or null.
create or replace function storefront.order_refunded_now(p_order uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select storefront.refund_to_json(p) from money.payments p
    where p.tenant_id = app.tenant_id() and p.order_id = p_order and p.type = 'REFUND' and p.processed_at = now());
end $$;
grant execute on function storefront.order_refunded_now(uuid) to barid_caller;

-- Gives money of an order back to its customer's wallet; p_amount null: all that is left. The order is locked by the
-- caller, an administrator. p_hash: the fingerprint of a request whose key the refund keeps. -> {processed, amount, method, payment_id}
-- Fails: order_not_found, nothing_to_refund, refund_too_high, insufficient_wallet_balance (the shop's wallet is short).
create or replace function storefront.order_refund_book(p_order uuid, p_amount numeric default null, p_note text default null, p_hash bytea default null)
returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  o storefront.storefront_orders;
  v_left numeric;
begin
  select * into o from storefront.storefront_orders x
  where x.tenant_id = app.tenant_id() and x.id = p_order and app.has_permission('manage:tenant');
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  v_left := storefront.order_refundable(o);
  if v_left <= 0 then
    perform app.fail('nothing_to_refund', case when exists (
        select from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS'
          and money.refunds_open(p) > 0)
      then '{"text_key": "reported_refund_open"}' else '{}' end::jsonb);
  elsif p_amount > v_left then
    perform app.fail('refund_too_high', jsonb_build_object('field', 'amount', 'amount', v_left, 'currency', o.currency));
  end if;
  return storefront.order_give_back(o, coalesce(p_amount, nullif(storefront.order_refund_due(o), 0), v_left), p_note, p_hash);
end $$;

-- The same by hand. What is given beyond the price of goods that are missing by then is goodwill, as long as something of the payment is left:
-- to give all of it back is to undo the payment. p_hash: the fingerprint of a request whose key the refund keeps.
create or replace function storefront.order_refund_by_hand(p_order uuid, p_amount numeric, p_note text, p_hash bytea) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  o storefront.storefront_orders;
  v_goodwill numeric := 0;
  v_refund jsonb;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = p_order;
  if p_amount < storefront.order_refundable(o) then
    v_goodwill := greatest(p_amount - storefront.order_paid_beyond(o, o.total_price - storefront.order_missing_price(o)), 0);
  end if;
  v_refund := storefront.order_refund_book(p_order, p_amount, p_note, p_hash);
  update money.payments p set goodwill = v_goodwill
  where p.tenant_id = o.tenant_id and p.id = (v_refund ->> 'payment_id')::uuid and v_goodwill > 0;
  return v_refund;
end $$;
grant execute on function storefront.order_refund_by_hand(uuid, numeric, text, bytea) to barid_caller;

-- Books what goes back to an order's customer. The order is locked. p_hash: see order_refund_book. -> see order_refund()
-- Fails: insufficient_wallet_balance.
create or replace function storefront.order_give_back(o storefront.storefront_orders, p_amount numeric, p_note text, p_hash bytea default null)
returns jsonb
language plpgsql set search_path = '' as $$
declare
  p money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, reference,
    snapshot, actor_id, processed_at, idempotency_key, input_hash)
  values (o.tenant_id, 'ORDER', 'REFUND', 'SUCCESS', 'wallet', p_amount, o.currency,
    money.account_of('wallet', 'customer', o.user_id, o.currency), o.id, o.order_number,
    case when p_note is not null then jsonb_build_object('note', p_note) end, app.user_id(), now(),
    case when p_hash is not null then app.request_setting('idempotency_key') end, p_hash)
  returning * into p;
  perform money.book_payment(p, 'order_refund', money.account_of('wallet', 'tenant', null, o.currency), p.account_id, o.order_number);
  perform storefront.order_due_given(p);
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id,
    'refund_method', p.payment_method));
  return storefront.refund_to_json(p);
end $$;

-- Of what was due to an order's customer a refund has given this much. The order is locked.
create or replace function storefront.order_due_given(refund money.payments) returns void
language plpgsql set search_path = '' as $$
begin
  update storefront.storefront_orders x set refund_due_amount = greatest(x.refund_due_amount - refund.amount, 0)
  where x.tenant_id = refund.tenant_id and x.id = refund.order_id and x.refund_due_amount > 0;
end $$;

-- The amount that is due of an order to its customer, and can still be given: a gateway may have given it by itself. Fails: forbidden (app.require_tenant).
create or replace function storefront.order_refund_due(o storefront.storefront_orders) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return case when o.refund_due_amount > 0 then least(o.refund_due_amount, storefront.order_refundable(o)) else 0 end;
end $$;

-- No longer waits for what an order was to be paid with.
create or replace function storefront.order_payment_drop(p_order uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = app.tenant_id() and p.order_id = p_order and p.type = 'ORDER' and p.status = 'pending';
end $$;

grant execute on function storefront.order_charge(uuid, text, text) to barid_caller;

grant execute on function storefront.order_refundable(storefront.storefront_orders) to barid_caller;

grant execute on function storefront.order_refund_book(uuid, numeric, text, bytea) to barid_caller;

grant execute on function storefront.order_payment_drop(uuid) to barid_caller;

-- True when money came for an order that fitted none of its payments, and nobody has settled it yet. SECURITY DEFINER: customers do not see
-- what gateways reported. Fails: forbidden (app.require_tenant).
create or replace function storefront.order_has_unmatched_payment(o storefront.storefront_orders) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(o.tenant_id);
  return exists (
    select from money.payments p
    join money.payment_webhook_events e on e.tenant_id = p.tenant_id and e.payment_id = p.id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and e.outcome = 'unmatched' and e.resolution is null
      and e.facts ->> 'kind' = 'paid');
end $$;

grant execute on function storefront.order_has_unmatched_payment(storefront.storefront_orders) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_give_back(storefront.storefront_orders,numeric,text,bytea),
  storefront.order_due_given(money.payments) from barid_caller;
