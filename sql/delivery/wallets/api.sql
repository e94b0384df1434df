-- Wallets: money that drivers, institutions, customers and the tenant itself can spend.

-- A wallet the caller may see. {id} Fails: wallet_not_found.
create or replace function delivery.wallet_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found((
    select to_jsonb(w) - 'owner_name'
    from money.wallets_list w where w.id = (input ->> 'id')::uuid), 'wallet_not_found');
end $$;

-- The caller's own wallets, those in the tenant's currency first; of one currency that of what the person is in the company, such as a
-- driver's for a driver who was a customer before, then the others by their kind. -> {wallet or null, wallets}; wallet: the first in the
-- tenant's currency
create or replace function delivery.wallets_mine(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_is text := (select u.tenant_user_type from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = app.user_id());
begin
  return (
    select jsonb_build_object(
      'wallet', (array_agg(to_jsonb(w) - 'owner_name' order by w.owner_type is distinct from v_is, w.owner_type) filter (where w.currency = t.code))[1],
      'wallets', coalesce(jsonb_agg(to_jsonb(w) - 'owner_name'
        order by w.currency <> t.code, w.currency, w.owner_type is distinct from v_is, w.owner_type) filter (where w.id is not null), '[]'))
    from app.currency() t
    left join money.wallets_list w on w.owner_id = app.user_id());
end $$;

-- Records money that the office moved by hand as a payment of the wallet, with the request's key where its fingerprint is given.
-- `cash_desk` in the snapshot: in cash, at a desk. Answers its id.
create or replace function delivery.wallet_payment_add(type text, wallet uuid, amount numeric, currency text, snapshot jsonb, hash bytea default null)
returns uuid
language plpgsql set search_path = '' as $$
declare
  v_payment uuid;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, snapshot,
    actor_id, processed_at, idempotency_key, input_hash)
  values (app.tenant_id(), 'WALLET', type, 'SUCCESS', case when snapshot ? 'cash_desk' then 'cash' else 'manual' end, amount, currency,
    wallet, snapshot, app.user_id(), now(), case when hash is not null then app.request_setting('idempotency_key') end, hash)
  returning id into v_payment;
  return v_payment;
end $$;

-- The answer: the wallet as it is then, its payment, and the line of the journal of this kind and reference.
create or replace function delivery.wallet_moved(wallet uuid, payment uuid, kind text, reference uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('wallet', delivery.wallet_get(jsonb_build_object('id', wallet)), 'payment_id', payment, 'transaction', (
    select to_jsonb(r) - 'wallet_id' from money.wallet_transactions_list r
    where r.wallet_id = wallet_moved.wallet and r.kind = wallet_moved.kind and r.reference_type = 'payment'
      and r.reference_id = reference));
end $$;

-- Puts money from outside (bank, cash desk) into a wallet or takes it out, in the same currency, with a
-- payment as its record. {id, amount, direction credit|debit, reason} -> {wallet, transaction, payment_id}, also to a repetition of its key,
-- for good: with the wallet as it is by then. Fails: wallet_not_found, idempotency_conflict, too_many_decimals, insufficient_wallet_balance.
create or replace function delivery.wallet_adjust(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_wallet uuid := (input ->> 'id')::uuid;
  v_amount numeric := (input ->> 'amount')::numeric;
  v_signed numeric := case input ->> 'direction' when 'credit' then v_amount else -v_amount end;
  v_currency text := delivery.wallet_get(input) ->> 'currency';
  v_decimals integer := money.decimals_of(v_currency);
  v_hash bytea := money.request_hash(input);
  v_payment uuid := (money.payment_of_key('WALLET_ADJUSTMENT', v_hash)).id;
  v_row jsonb;
begin
  if v_payment is not null then
    return delivery.wallet_moved(v_wallet, v_payment, 'WALLET_ADJUSTMENT', v_payment);
  end if;
  if v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  v_payment := delivery.wallet_payment_add('WALLET_ADJUSTMENT', v_wallet, v_amount, v_currency,
    jsonb_build_object('direction', input ->> 'direction', 'reason', input ->> 'reason'), v_hash);
  v_row := jsonb_build_object('journal', v_payment, 'kind', 'WALLET_ADJUSTMENT', 'reference_type', 'payment',
    'reference_id', v_payment, 'description', input ->> 'reason');
  perform money.post(jsonb_build_array(
    v_row || jsonb_build_object('account_id', v_wallet, 'amount', v_signed),
    v_row || jsonb_build_object('account_id', money.account_of('external', 'tenant', null, v_currency), 'amount', -v_signed)));
  return delivery.wallet_moved(v_wallet, v_payment, 'WALLET_ADJUSTMENT', v_payment);
end $$;

-- Takes back an adjustment that was wrong, by a new journal and a payment of its own; the adjustment stays in the books.
-- A reversal is not taken back: adjust again. {id, payment_id, reason} -> as delivery.wallet_adjust.
-- Fails: wallet_not_found, adjustment_not_found, adjustment_already_reversed, adjustment_has_cash for one at a desk, insufficient_wallet_balance
-- when what was put in has been spent.
create or replace function delivery.wallet_adjustment_reverse(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_wallet uuid := (delivery.wallet_get(input) ->> 'id')::uuid;
  v_adjustment money.payments;
  v_payment uuid;
begin
  select p.* into v_adjustment from money.payments p
  where p.id = (input ->> 'payment_id')::uuid and p.account_id = v_wallet and p.type = 'WALLET_ADJUSTMENT' for no key update;
  if not found then
    perform app.fail('adjustment_not_found');
  elsif v_adjustment.snapshot ? 'cash_desk' then
    perform app.fail('adjustment_has_cash');
  elsif exists (select from money.ledger_transactions t
      where t.kind = 'WALLET_ADJUSTMENT_REVERSAL' and t.reference_type = 'payment' and t.reference_id = v_adjustment.id) then
    perform app.fail('adjustment_already_reversed');
  end if;
  v_payment := delivery.wallet_payment_add('WALLET_ADJUSTMENT_REVERSAL', v_wallet, v_adjustment.amount, v_adjustment.currency,
    jsonb_build_object('reverses', v_adjustment.id, 'reason', input ->> 'reason',
      'direction', case v_adjustment.snapshot ->> 'direction' when 'credit' then 'debit' else 'credit' end));
  perform money.reverse('WALLET_ADJUSTMENT', 'payment', v_adjustment.id, input ->> 'reason');
  return delivery.wallet_moved(v_wallet, v_payment, 'WALLET_ADJUSTMENT_REVERSAL', v_adjustment.id);
end $$;
