-- The bookings of an order and of a wallet, for SECURITY DEFINER functions, since a customer who orders writes no payments; each
-- reads what is due from the order itself.

-- The entries of a journal between two accounts, named after a payment, as money.post takes them; none of a payment of nothing.
create or replace function money.payment_postings(p money.payments, kind text, from_account uuid, to_account uuid, description text) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare
  v_line jsonb := jsonb_build_object('journal', p.id, 'kind', kind, 'reference_type', 'payment', 'reference_id', p.id,
    'description', description);
begin
  return case when p.amount > 0 then jsonb_build_array(
    v_line || jsonb_build_object('account_id', from_account, 'amount', -p.amount),
    v_line || jsonb_build_object('account_id', to_account, 'amount', p.amount)) else '[]' end;
end $$;

-- A journal between two accounts, named after a payment.
create or replace function money.book_payment(p money.payments, kind text, from_account uuid, to_account uuid, description text) returns void
language plpgsql set search_path = '' as $$
begin
  perform money.post(money.payment_postings(p, kind, from_account, to_account, description));
end $$;

-- Marks a payment as made and books it: into the shop's wallet for an order, into its own for a top-up. The payment
-- is locked, and so is its order. Money from outside the books comes from the tenant's external account; what
-- drivers collected for a delivery is booked already (p_booked).
create or replace function money.payment_made(p money.payments, p_transaction text default null, p_terminal text default null,
  p_booked boolean default false) returns void
language plpgsql set search_path = '' as $$
begin
  update money.payments x set status = 'SUCCESS', processed_at = now(), terminal = coalesce(p_terminal, x.terminal),
    gateway_transaction_id = coalesce(p_transaction, x.gateway_transaction_id)
  where x.tenant_id = p.tenant_id and x.id = p.id;
  if not p_booked then
    perform money.book_payment(p, case p.type when 'ORDER' then 'order_payment' else 'wallet_topup' end,
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

-- Nobody calls these but other functions and triggers.
revoke execute on function money.book_payment(money.payments,text,uuid,uuid,text),
  money.payment_postings(money.payments,text,uuid,uuid,text),
  money.payment_made(money.payments,text,text,boolean) from barid_caller;
