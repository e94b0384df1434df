-- What an order and a wallet do to the books. Definers, since a customer who orders writes no payments; each reads
-- what is due from the order itself.

-- A journal between two accounts, named after a payment.
create or replace function private.book_payment(p money.payments, kind text, from_account uuid, to_account uuid, description text) returns void
language plpgsql set search_path = '' as $$
declare
  v_line jsonb := jsonb_build_object('journal', 'payment', 'kind', kind, 'reference_type', 'payment', 'reference_id', p.id,
    'description', description);
begin
  if p.amount > 0 then
    perform money.post(jsonb_build_array(
      v_line || jsonb_build_object('account_id', from_account, 'amount', -p.amount),
      v_line || jsonb_build_object('account_id', to_account, 'amount', p.amount)));
  end if;
end $$;

-- What the caller's new order is paid with: his wallet now, cash at the door, or a gateway that is waited for.
-- The order is locked and has no payment. Fails: insufficient_wallet_balance, order_not_found.
create or replace function private.order_charge(p_order uuid, p_gateway text default null, p_back_ref text default null) returns void
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
    perform private.book_payment(p, 'order_payment', p.account_id, money.account_of('wallet', 'tenant', null, o.currency), o.order_number);
    update storefront.storefront_orders x set payment_status = 'paid' where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
end $$;
grant execute on function private.order_charge(uuid, text, text) to barid_caller;

-- Marks a payment as made and books it: into the shop's wallet for an order, into its own for a top-up. The payment
-- is locked, and so is its order. Money from outside the books comes from the tenant's external account; what
-- drivers collected for a delivery is booked already (p_booked).
create or replace function private.payment_made(p money.payments, p_transaction text default null, p_terminal text default null,
  p_booked boolean default false) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update money.payments x set status = 'SUCCESS', processed_at = now(), terminal = coalesce(p_terminal, x.terminal),
    gateway_transaction_id = coalesce(p_transaction, x.gateway_transaction_id)
  where x.tenant_id = p.tenant_id and x.id = p.id;
  if not p_booked then
    perform private.book_payment(p, case p.type when 'ORDER' then 'order_payment' else 'wallet_topup' end,
      money.account_of('external', 'tenant', null, p.currency),
      case p.type when 'ORDER' then money.account_of('wallet', 'tenant', null, p.currency) else p.account_id end, p.reference);
  end if;
  if p.order_id is not null then
    update storefront.storefront_orders o set payment_status = 'paid' where o.tenant_id = p.tenant_id and o.id = p.order_id;
  else
    perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'wallet.topped_up', 'source_module', 'payment',
      'entity_type', 'payment', 'entity_id', p.id, 'event_data', jsonb_build_object('payment_id', p.id, 'account_id', p.account_id,
        'amount', p.amount, 'currency', p.currency))));
  end if;
end $$;

-- What was paid for an order and not yet given back.
create or replace function private.order_refundable(o storefront.storefront_orders) returns numeric
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(sum(case p.type when 'ORDER' then p.amount when 'REFUND' then -p.amount end), 0)
    from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id and p.status = 'SUCCESS');
end $$;

-- Gives money of an order back to its customer's wallet; p_amount null: all that is left. The order is locked by the
-- caller, an administrator. -> {processed, amount, method, payment_id}
-- Fails: order_not_found, nothing_to_refund, refund_too_high, insufficient_wallet_balance (the shop's wallet is short).
create or replace function private.order_refund(p_order uuid, p_amount numeric default null, p_note text default null) returns jsonb
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
  v_left := private.order_refundable(o);
  if v_left <= 0 then
    perform app.fail('nothing_to_refund');
  elsif p_amount > v_left then
    perform app.fail('refund_too_high', jsonb_build_object('field', 'amount', 'amount', v_left, 'currency', o.currency));
  end if;
  return private.order_give_back(o, coalesce(p_amount, v_left), p_note);
end $$;

-- Books what goes back to an order's customer. The order is locked. -> see order_refund()
-- Fails: insufficient_wallet_balance.
create or replace function private.order_give_back(o storefront.storefront_orders, p_amount numeric, p_note text) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  p money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, reference,
    snapshot, actor_id, processed_at)
  values (o.tenant_id, 'ORDER', 'REFUND', 'SUCCESS', 'wallet', p_amount, o.currency,
    money.account_of('wallet', 'customer', o.user_id, o.currency), o.id, o.order_number,
    case when p_note is not null then jsonb_build_object('note', p_note) end, app.user_id(), now())
  returning * into p;
  perform private.book_payment(p, 'order_refund', money.account_of('wallet', 'tenant', null, o.currency), p.account_id, o.order_number);
  perform private.tell_order(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id));
  return jsonb_build_object('processed', true, 'amount', p.amount, 'method', p.payment_method, 'payment_id', p.id);
end $$;
grant execute on function private.order_refundable(storefront.storefront_orders), private.order_refund(uuid, numeric, text) to barid_caller;

-- No longer waits for what an order was to be paid with.
create or replace function private.order_payment_drop(p_order uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = app.tenant_id() and p.order_id = p_order and p.type = 'ORDER' and p.status = 'pending';
end $$;
grant execute on function private.order_payment_drop(uuid) to barid_caller;
