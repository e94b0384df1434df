-- The part of a wallet that is held. The sum comes from the kept totals, which writers add to without waiting for each other: a
-- release needs no lock of the wallet, and a debit reads the sum after locking it.

-- The sum that is held of a wallet at this moment; a wallet that the caller does not see holds nothing. SECURITY DEFINER, since owners
-- of wallets see no kept totals.
create or replace function money.wallet_held(account uuid) returns numeric
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  if not exists (select from money.accounts a where a.tenant_id = v_tenant and a.id = account and (app.sees_tenant() or a.owner_user_id = app.user_id())) then
    return 0;
  end if;
  return money.held_of(v_tenant, account);
end $$;

-- The same for the ledger itself, which asks for wallets of others than the caller. By the clock and not now(): a call that waited for
-- the wallet sees steps that are later than its own transaction.
create or replace function money.held_of(tenant uuid, account uuid) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select sum(t.amount) from app.tallies t where t.tenant_id = tenant and t.tally = 'wallet_holds' and t.dims = array[account::text]), 0)
    - coalesce((select sum(h.amount) from money.wallet_holds h
      where h.tenant_id = tenant and h.account_id = account and h.counts_from > h.created_at and h.counts_from > (select clock_timestamp())), 0);
end $$;

-- The net of the open statements of a wallet: it waits to be paid out.
create or replace function money.stated_of(tenant uuid, account uuid) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select sum(s.net) from money.merchant_statements s
    where s.tenant_id = tenant and s.account_id = account and s.status = 'open'), 0);
end $$;

-- The same at this moment for a caller who sees the wallet; else 0. SECURITY DEFINER, as money.wallet_held.
create or replace function money.wallet_stated(account uuid) returns numeric
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  if not exists (select from money.accounts a where a.tenant_id = v_tenant and a.id = account and (app.sees_tenant() or a.owner_user_id = app.user_id())) then
    return 0;
  end if;
  return money.stated_of(v_tenant, account);
end $$;

-- The part of a wallet that orders and debits cannot use: what is held, and what is stated. 0 for wallets of which nothing can be held.
create or replace function money.unavailable_of(a money.accounts) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return case when money.may_be_held(a) then money.held_of(a.tenant_id, a.id) + money.stated_of(a.tenant_id, a.id) else 0 end;
end $$;

-- True for a wallet of which something can be held: drivers and the tenant itself spend all they have.
create or replace function money.may_be_held(a money.accounts) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return a.kind = 'wallet' and a.owner_type in ('customer', 'institution');
end $$;

-- Refuses a debit that takes of a wallet what is held or stated; a payout of a statement takes what is stated. The account is locked and
-- has the balance before the debit; `change` is what the debit adds to it, negative. `journal` is the kind of its journal.
-- Fails: insufficient_wallet_balance, of a payout statement_not_covered.
create or replace function money.require_available(a money.accounts, change numeric, journal text default null) returns void
language plpgsql set search_path = '' as $$
declare
  v_held numeric;
begin
  if not money.may_be_held(a) then
    return;
  end if;
  v_held := case when journal = 'merchant_payout' then money.held_of(a.tenant_id, a.id) else money.unavailable_of(a) end;
  if v_held <> 0 and a.balance + change - v_held < a.floor then
    if journal = 'merchant_payout' then
      perform app.fail('statement_not_covered', jsonb_build_object('balance', a.balance, 'held', v_held, 'required', -change, 'currency', a.currency));
    end if;
    perform money.wallet_short(a, change, v_held);
  end if;
end $$;

-- True when this transaction ended what was held of a row of cash (money.cod_hold_end): nobody could spend it, so its reversal takes
-- nothing of what is available, however little that is. The row of cash is locked.
create or replace function money.hold_ended_now(tenant uuid, kind text, row_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((
    select h.amount < 0 and h.created_at >= now() from money.wallet_holds h
    where h.tenant_id = hold_ended_now.tenant and h.reference_type = hold_ended_now.kind and h.reference_id = row_id
    order by h.step desc limit 1), false);
end $$;

-- True in a company that holds COD, or ever held some: lists ask it once, and only then each row. SECURITY DEFINER: a merchant of whom nothing is
-- held would look through the holds of all others.
create or replace function money.holds_cod() returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from money.wallet_holds x where x.tenant_id = app.tenant_id());
end $$;

-- True while the COD of a row of cash is held; false for one of which nothing is, or ever was. `kind` says which table the row is of.
create or replace function money.cod_is_held(kind text, row_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((
    select x.amount > 0 or x.counts_from > now() from money.wallet_holds x
    where x.tenant_id = app.tenant_id() and x.reference_type = cod_is_held.kind and x.reference_id = row_id
    order by x.step desc limit 1), false);
end $$;

-- Since when the COD of a row of cash, which was credited at this moment, can be spent; null while it is held.
create or replace function money.cod_released_at(kind text, row_id uuid, credited_at timestamptz) returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
  h money.wallet_holds;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = cod_released_at.kind and x.reference_id = row_id
  order by x.step desc limit 1;
  return case when h.id is null then credited_at when h.amount < 0 and h.counts_from <= now() then greatest(credited_at, h.counts_from) end;
end $$;

revoke execute on function money.held_of(uuid, uuid), money.hold_ended_now(uuid, text, uuid), money.may_be_held(money.accounts),
  money.require_available(money.accounts, numeric, text), money.stated_of(uuid, uuid), money.unavailable_of(money.accounts) from barid_caller;
grant execute on function money.holds_cod(), money.wallet_held(uuid), money.wallet_stated(uuid) to barid_caller;
