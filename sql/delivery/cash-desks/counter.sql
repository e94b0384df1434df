-- Wallets at the counter: cash that is paid into a wallet at a desk, or out of it. The wallet moves by an adjustment with its payment, the desk by the
-- journal of the transfer; both are written, and reversed, together.

-- The wallet that cash comes to or goes from. The company's own is its administrators'. Fails: wallet_not_found, forbidden.
create or replace function money.counter_wallet(wallet uuid) returns money.accounts
language plpgsql stable set search_path = '' as $$
declare
  v_wallet money.accounts;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = app.tenant_id() and a.id = counter_wallet.wallet and a.kind = 'wallet';
  if v_wallet.id is null then
    perform app.fail('wallet_not_found');
  elsif v_wallet.owner_type = 'tenant' and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  return v_wallet;
end $$;

-- The wallet of a payment; null for none.
create or replace function money.wallet_of_payment(payment uuid) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (select p.account_id from money.payments p where p.tenant_id = app.tenant_id() and p.id = payment);
end $$;

-- The payment of a wallet that is paid in or out at a desk. `cash_desk` in it says that it is reversed with its transfer alone.
-- -> its id; null: no wallet
create or replace function money.counter_payment_add(wallet uuid, amount numeric, input jsonb) returns uuid
language plpgsql set search_path = '' as $$
begin
  if wallet is null then
    return null;
  end if;
  return delivery.wallet_payment_add('WALLET_ADJUSTMENT', wallet, amount, (
      select a.currency from money.accounts a where a.tenant_id = app.tenant_id() and a.id = wallet),
    jsonb_build_object('direction', case input ->> 'kind' when 'wallet_deposit' then 'credit' else 'debit' end, 'reason', input ->> 'notes',
      'cash_desk', true));
end $$;

-- The text of a wallet's movement at a desk.
create or replace function money.counter_description(t money.cash_transfers) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return concat_ws(': ', case t.kind when 'wallet_deposit' then 'Cash paid in' else 'Cash paid out' end, t.reference);
end $$;

-- Moves the wallet of a transfer, if it has one; its accounts are locked. Fails: insufficient_wallet_balance.
create or replace function money.counter_payment_post(t money.cash_transfers) returns void
language plpgsql set search_path = '' as $$
declare
  v_amount numeric := case t.kind when 'wallet_deposit' then t.amount else -t.amount end;
begin
  if t.payment_id is not null then
    perform money.post_journal('WALLET_ADJUSTMENT', 'payment', t.payment_id,
      money.counter_description(t),
      array[money.wallet_of_payment(t.payment_id), money.account_of('external', 'tenant', null, t.currency::text)], array[v_amount, -v_amount]);
    perform money.counter_notify(t);
  end if;
end $$;

-- Reverses what a transfer, which is reversed, moved of a wallet, if it has one; its accounts are locked. Fails: insufficient_wallet_balance.
create or replace function money.counter_payment_reverse(t money.cash_transfers) returns void
language plpgsql set search_path = '' as $$
begin
  if t.payment_id is not null then
    perform delivery.wallet_payment_add('WALLET_ADJUSTMENT_REVERSAL', money.wallet_of_payment(t.payment_id), t.amount, t.currency::text,
      jsonb_build_object('reverses', t.payment_id, 'reason', t.reversal_reason, 'direction', case t.kind when 'wallet_deposit' then 'debit' else 'credit' end,
        'cash_desk', true));
    -- Its owner reads what is reversed, and why.
    perform money.reverse('WALLET_ADJUSTMENT', 'payment', t.payment_id, concat_ws(': ', money.counter_description(t), t.reversal_reason));
    perform money.counter_notify(t);
  end if;
end $$;

-- Notifies the owner of a wallet of what was paid in or out at a desk, and of its reversal, unless they did it themselves.
create or replace function money.counter_notify(t money.cash_transfers) returns void
language plpgsql set search_path = '' as $$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select t.tenant_id, a.owner_user_id, case when t.reversed_at is not null then 'wallet_cash_reversed' when t.kind = 'wallet_deposit'
      then 'wallet_cash_paid_in' else 'wallet_cash_paid_out' end,
    jsonb_build_object('cash_transfer_id', t.id, 'wallet_id', a.id, 'amount', t.amount, 'currency', t.currency)
  from money.payments p
  join money.accounts a on a.tenant_id = p.tenant_id and a.id = p.account_id
  where p.tenant_id = t.tenant_id and p.id = t.payment_id and a.owner_user_id <> app.user_id();
end $$;

-- How much the wallet of a transfer has gained by it until a moment, reversal included, by the ledger; null: nothing was booked.
create or replace function money.counter_payment_moved(t money.cash_transfers, until timestamptz) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (
    select sum(e.amount)
    from money.payments p
    join money.ledger_transactions j on j.tenant_id = p.tenant_id and j.reference_type = 'payment' and j.reference_id = p.id
      and j.kind in ('WALLET_ADJUSTMENT', 'WALLET_ADJUSTMENT_REVERSAL')
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id and e.account_id = p.account_id and e.created_at <= until
    where p.tenant_id = t.tenant_id and p.id = t.payment_id and p.amount = t.amount and p.currency = t.currency);
end $$;

-- Nobody calls these but the transfers.
revoke execute on function money.counter_description(money.cash_transfers),
  money.counter_wallet(uuid), money.counter_payment_add(uuid, numeric, jsonb), money.counter_payment_post(money.cash_transfers),
  money.counter_payment_reverse(money.cash_transfers), money.counter_notify(money.cash_transfers),
  money.counter_payment_moved(money.cash_transfers, timestamptz) from barid_caller;
