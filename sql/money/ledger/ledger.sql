-- The ledger: every movement of money is a journal of entries that sum to zero per currency. The only
-- writer of accounts, journals and entries; SECURITY DEFINER functions, since nobody else may touch those tables.

-- The id of an account of the caller's tenant, opened when it does not exist yet.
-- kind, owner_type, owner (user id; null for the tenant itself and for carriers), currency, the carrier's code for what
-- an external carrier owes.
create or replace function money.account_of(kind text, owner_type text, owner uuid, currency text, carrier text default null) returns uuid
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid;
begin
  for attempt in 1..2 loop
    -- Two statements, because `is not distinct from` opens no index: it would read the accounts of every driver.
    if owner is null then
      select a.id into v_id from money.accounts a
      where a.tenant_id = v_tenant and a.kind = kind and a.owner_type = owner_type and a.owner_user_id is null and a.currency = currency
        and a.carrier_code is not distinct from carrier;
    else
      select a.id into v_id from money.accounts a
      where a.tenant_id = v_tenant and a.kind = kind and a.owner_type = owner_type and a.owner_user_id = owner and a.currency = currency;
    end if;
    exit when v_id is not null;
    insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, carrier_code, currency, floor)
    -- Nobody can hand over cash that they do not hold, or pay more than they owe.
    values (v_tenant, kind, owner_type, owner, carrier, currency,
      case when kind in ('wallet', 'driver_cash', 'driver_shortage', 'carrier_cash', 'driver_payable') then 0 end)
    on conflict do nothing
    returning id into v_id;
    exit when v_id is not null;
  end loop;
  return v_id;
end $$;

-- Refuses whoever reaches the ledger by another way than a core that private.call runs, which applied the call's rule before:
-- what lies outermost on the stack of functions, nobody can pretend. Jobs, cron and the database's owner are not the caller's
-- role. Fails: forbidden.
create or replace function money.require_core() returns void
language plpgsql set search_path = '' as $$
declare
  v_stack text;
begin
  if current_setting('role', true) = 'barid_caller' then
    get diagnostics v_stack = pg_context;
    if v_stack !~ '(^|\n)PL/pgSQL function private\.call\(jsonb,jsonb,text,jsonb\) line \d+ at EXECUTE$' then
      perform app.fail('forbidden');
    end if;
  end if;
end $$;
grant execute on function money.require_core() to barid_caller;

-- Books journals. `postings` is one row per entry:
--   [{journal, kind, reference_type, reference_id, description, account_id, amount}, ...]
-- `journal` is any text that groups the entries of one journal; the first entry of each says its kind,
-- reference and description. Amounts are signed, not zero, and have at most three decimals.
-- Locks the accounts in the order of their ids, then books in the order given: balances and versions
-- run through the whole list. The floor, and what is held or stated of a wallet, hold for the balance at the end. All or nothing.
-- Fails: forbidden (see money.require_core), wallet_not_found, insufficient_wallet_balance, journal_already_booked;
-- unbalanced journals fail at commit.
create or replace function money.post(postings jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_accounts uuid[];
  v_locked money.accounts[];
  v_booked integer;
begin
  perform money.require_core();
  select array_agg(distinct (p ->> 'account_id')::uuid) into v_accounts from jsonb_array_elements(postings) p;
  if v_accounts is null then
    return;
  end if;
  perform money.amounts_exact((select array_agg((p ->> 'amount')::numeric) from jsonb_array_elements(postings) p));
  -- Kept aside: joined below, the table would be read for all accounts of the tenant.
  select array_agg(l) into v_locked from (
    select a.* from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts) order by a.id for no key update) l;
  if cardinality(v_locked) is distinct from cardinality(v_accounts) then
    perform app.fail('wallet_not_found');
  end if;

  with line as (
    select p.line, p.posting ->> 'journal' as journal, p.posting, (p.posting ->> 'account_id')::uuid as account_id,
      (p.posting ->> 'amount')::numeric(18, 3) as amount
    from jsonb_array_elements(postings) with ordinality p (posting, line)
  ), named as materialized (
    select gen_random_uuid() as id, f.journal, f.posting
    from (select distinct on (l.journal) l.journal, l.posting from line l order by l.journal, l.line) f
  ), journal as (
    insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, description, actor_id)
    select n.id, v_tenant, n.posting ->> 'kind', n.posting ->> 'reference_type', (n.posting ->> 'reference_id')::uuid,
      n.posting ->> 'description', v_actor
    from named n
    returning id
  ), entry as (
    insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
    select v_tenant, j.id, l.account_id, l.amount, a.currency,
      a.balance + sum(l.amount) over running, a.version + count(*) over running
    from line l
    join named n on n.journal is not distinct from l.journal
    join journal j on j.id = n.id
    join unnest(v_locked) a on a.id = l.account_id
    window running as (partition by l.account_id order by l.line rows unbounded preceding)
    order by l.line
    returning account_id, amount
  )
  update money.accounts a set balance = a.balance + e.total, version = a.version + e.entries
  from (select account_id, sum(amount) as total, count(*) as entries from entry group by account_id) e
  where a.tenant_id = v_tenant and a.id = e.account_id and (a.floor is null or a.balance + e.total >= a.floor);
  get diagnostics v_booked = row_count;
  if v_booked < cardinality(v_accounts) then
    perform money.wallet_short(a, s.total)
    from unnest(v_locked) a
    join (select (p ->> 'account_id')::uuid as account_id, sum((p ->> 'amount')::numeric) as total
      from jsonb_array_elements(postings) p group by 1) s on s.account_id = a.id
    where a.floor is not null and a.balance + s.total < a.floor order by a.id;
  elsif exists (select from unnest(v_locked) a where a.kind = 'wallet' and a.owner_type in ('customer', 'institution')) then
    perform money.require_available(a, s.total)
    from unnest(v_locked) a
    join (select (p ->> 'account_id')::uuid as account_id, sum((p ->> 'amount')::numeric) as total
      from jsonb_array_elements(postings) p group by 1) s on s.account_id = a.id
    where s.total < 0 order by a.id;
  end if;
  if exists (select from unnest(v_locked) a where a.kind = 'cash_on_hand' and a.queued_since is not null) then
    perform money.desk_queues_follow(t.id)
    from (select distinct p ->> 'kind' as kind, p ->> 'reference_type' as reference_type, (p ->> 'reference_id')::uuid as reference_id
      from jsonb_array_elements(postings) p) n
    join money.ledger_transactions t on t.tenant_id = v_tenant and t.kind = n.kind and t.reference_type = n.reference_type
      and t.reference_id = n.reference_id;
  end if;
end $$;

-- Refuses to take what an account does not have, or what of it is held or stated. What it has and what was needed is said to whose wallet
-- it is, and to those who run the company; to anybody else that it is the company's, or nothing. Fails: insufficient_wallet_balance.
create or replace function money.wallet_short(a money.accounts, change numeric, held numeric default 0) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.fail('insufficient_wallet_balance', case
    when a.kind = 'wallet' and (a.owner_user_id = app.user_id() or app.has_permission('manage:operations:tenant'))
      then money.wallet_shortage(a.balance - held, held, -change, a.currency)
    when a.kind = 'wallet' and a.owner_type = 'tenant' then '{"text_key": "reason_wallet_of_company"}'
    else '{}' end);
end $$;

-- The values of the refusal of a debit: of a wallet of which something is held or stated, both what is available and its balance.
create or replace function money.wallet_shortage(available numeric, held numeric, required numeric, currency text) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('text_key', 'reason_wallet_holds', 'balance', available + held, 'required', required, 'currency', currency)
    || case when held <> 0 then jsonb_build_object('text_key', 'reason_wallet_available', 'available', available) else '{}' end;
end $$;

-- Books one journal in which each account has one entry: what money.post does, at a fraction of the cost.
-- `amounts` belong to `account_ids` by their place. An account is taken, in the order of the ids, by the
-- statement that changes it, so a busy one is held from there to the commit and no longer.
-- Fails: as money.post.
create or replace function money.post_journal(
  kind text, reference_type text, reference_id uuid, description text, account_ids uuid[], amounts numeric[]
) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_journal uuid := gen_random_uuid();
  v_line record;
  v_account money.accounts;
  v_booked money.accounts[];
  v_changes numeric[];
  v_short money.accounts;
  v_desk boolean := false;
  v_queued boolean := false;
begin
  perform money.require_core();
  perform money.amounts_exact(amounts);
  insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, description, actor_id)
  values (v_journal, v_tenant, kind, reference_type, reference_id, description, app.user_id());
  for v_line in select l.account_id, l.amount from unnest(account_ids, amounts) l (account_id, amount) order by l.account_id loop
    update money.accounts a set balance = a.balance + v_line.amount, version = a.version + 1
    where a.tenant_id = v_tenant and a.id = v_line.account_id and (a.floor is null or a.balance + v_line.amount >= a.floor)
    returning a.* into v_account;
    if not found then
      select * into v_short from money.accounts a where a.tenant_id = v_tenant and a.id = v_line.account_id;
      if v_short.id is not null then
        perform money.wallet_short(v_short, v_line.amount);
      end if;
      perform app.fail('wallet_not_found');
    end if;
    v_booked := v_booked || v_account;
    v_changes := v_changes || v_line.amount;
    if v_account.kind = 'cash_on_hand' then
      v_desk := true;
      v_queued := v_queued or v_account.queued_since is not null;
    end if;
    if v_line.amount < 0 and (kind <> 'cod_credit_REVERSAL' or not money.hold_ended_now(v_tenant, reference_type, reference_id)) then
      v_account.balance := v_account.balance - v_line.amount;
      perform money.require_available(v_account, v_line.amount, kind);
    end if;
  end loop;
  insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
  select v_tenant, v_journal, a.id, v_changes[a.ordinality], a.currency, a.balance, a.version from unnest(v_booked) with ordinality a;
  if v_queued or v_desk and money.brings_cash_to_bank(kind, reference_id) then
    perform money.desk_queues_follow(v_journal);
  end if;
end $$;

-- Takes back a journal by a new one, its mirror: what an account gained there it loses here. The old journal stays.
-- The mirror is of the kind `<kind>_REVERSAL` and says the same reference, so there is at most one.
-- Fails: journal_already_booked; wallet_not_found when there is no such journal; otherwise as money.post.
create or replace function money.reverse(kind text, reference_type text, reference_id uuid, description text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_accounts uuid[];
  v_amounts numeric[];
begin
  perform money.require_core();
  select array_agg(m.account_id), array_agg(-m.amount) into v_accounts, v_amounts
  from (
    select e.account_id, sum(e.amount) as amount
    from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    where t.tenant_id = v_tenant and t.kind = reverse.kind and t.reference_type = reverse.reference_type
      and t.reference_id = reverse.reference_id
    group by e.account_id having sum(e.amount) <> 0
  ) m;
  if v_accounts is null then
    perform app.fail('wallet_not_found');
  end if;
  perform money.post_journal(kind || '_REVERSAL', reference_type, reference_id, description, v_accounts, v_amounts);
end $$;

-- Rounding in the books would move money that nobody counted. Fails: numeric_value_out_of_range.
create or replace function money.amounts_exact(amounts numeric[]) returns void
language plpgsql immutable set search_path = '' as $$
declare
  v_amount numeric;
begin
  foreach v_amount in array amounts loop
    if v_amount <> round(v_amount, 3) then
      raise exception 'an amount has more than three decimals' using errcode = 'numeric_value_out_of_range';
    end if;
  end loop;
end $$;

-- Refuses a journal that has no entries, or whose entries do not sum to zero in each currency.
create or replace function money.check_journal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if (
      select bool_and(c.total = 0) from (
        select sum(e.amount) as total from money.ledger_entries e where e.tenant_id = new.tenant_id and e.transaction_id = new.id
        group by e.currency) c) is not true then
    raise exception 'journal % does not balance', new.id using errcode = 'check_violation', constraint = 'journal_balances';
  end if;
  return null;
end $$;

-- Entries join a journal only in the transaction that booked it, so a balanced one stays balanced; and
-- an entry is in its account's currency, so that zero in each currency means something.
create or replace function money.check_entry() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_wrong record;
begin
  -- Looked up for each entry: joined by a plan that was made for thousands of them, all of the ledger would be read for two.
  select n.transaction_id, n.account_id, n.is_open into v_wrong
  from (
    select e.transaction_id, e.account_id,
      (select t.booked_in = pg_current_xact_id() from money.ledger_transactions t
        where t.tenant_id = e.tenant_id and t.id = e.transaction_id) as is_open,
      (select a.currency = e.currency from money.accounts a where a.tenant_id = e.tenant_id and a.id = e.account_id) as same_currency
    from new_rows e
  ) n
  where n.is_open is not true or n.same_currency is not true limit 1;
  if not found then
    return null;
  end if;
  if v_wrong.is_open is not true then
    raise exception 'journal % is closed', v_wrong.transaction_id using errcode = 'check_violation', constraint = 'journal_open';
  end if;
  raise exception 'account % has another currency', v_wrong.account_id using errcode = 'check_violation', constraint = 'entry_currency';
end $$;

drop trigger if exists journal_balances on money.ledger_transactions;
create constraint trigger journal_balances after insert on money.ledger_transactions
  deferrable initially deferred for each row execute function money.check_journal();
drop trigger if exists journal_open on money.ledger_entries;
create trigger journal_open after insert on money.ledger_entries referencing new table as new_rows
  for each statement execute function money.check_entry();

-- The decimals that amounts of a currency may have here: the tenant's own setting for its own currency,
-- otherwise none for IQD (cash practice), else those of ISO 4217.
create or replace function money.decimals_of(currency text) returns integer
language plpgsql stable set search_path = '' as $$
declare
  v_own record := app.currency();
begin
  return case when v_own.code = decimals_of.currency then v_own.decimals
    when decimals_of.currency = 'IQD' then 0
    else (select c.exponent from tenancy.currencies c where c.code = decimals_of.currency) end;
end $$;

grant execute on function money.account_of(text, text, uuid, text, text), money.post(jsonb),
  money.post_journal(text, text, uuid, text, uuid[], numeric[]), money.reverse(text, text, uuid, text) to barid_caller;

-- Locks accounts of the caller's tenant in the order of their ids and answers what each can give, {account id: balance}, for
-- deciding before posting: of wallets without what is held or stated.
create or replace function money.lock_balances(account_ids uuid[]) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_locked money.accounts[];
begin
  perform money.require_core();
  select array_agg(a) into v_locked from (
    select l.* from money.accounts l
    where l.tenant_id = app.tenant_id() and l.id = any (account_ids) order by l.id for no key update
  ) a;
  -- A query of its own: what was held and stated until the lock was had counts.
  return (
    select coalesce(jsonb_object_agg(a.id, a.balance - money.unavailable_of(a)), '{}')
    from unnest(v_locked) a);
end $$;

grant execute on function money.lock_balances(uuid[]) to barid_caller;

-- Locks the wallets of these people and the tenant's own, in the order of their ids, for a transaction that will
-- book on several of them one after the other.
create or replace function money.lock_wallets(owners uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform from money.accounts a
  where a.tenant_id = app.tenant_id() and a.kind = 'wallet' and (a.owner_user_id = any (owners) or a.owner_type = 'tenant')
  order by a.id for no key update;
end $$;

grant execute on function money.lock_wallets(uuid[]) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.amounts_exact(numeric[]), money.check_entry(), money.check_journal() from barid_caller;
