-- The ledger: every movement of money is a journal of entries that sum to zero per currency. The only
-- writer of accounts, journals and entries; definers, since nobody else may touch those tables.

-- The id of an account of the caller's tenant, opened when it does not exist yet.
-- kind, owner_type, owner (user id, null for the tenant itself), currency.
create or replace function money.account_of(kind text, owner_type text, owner uuid, currency text) returns uuid
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid;
begin
  for attempt in 1..2 loop
    select a.id into v_id from money.accounts a
    where a.tenant_id = v_tenant and a.kind = kind and a.owner_type = owner_type
      and a.owner_user_id is not distinct from owner and a.currency = currency;
    exit when found;
    insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    -- Nobody can hand over cash that he does not hold.
    values (v_tenant, kind, owner_type, owner, currency, case when kind in ('wallet', 'driver_cash') then 0 end)
    on conflict do nothing
    returning id into v_id;
    exit when found;
  end loop;
  return v_id;
end $$;

-- Books journals. `postings` is one row per entry:
--   [{journal, kind, reference_type, reference_id, description, account_id, amount}, ...]
-- `journal` is any text that groups the entries of one journal; the first entry of each says its kind,
-- reference and description. Amounts are signed, not zero, and have at most three decimals.
-- Locks the accounts in the order of their ids, then books in the order given: balances and versions
-- run through the whole list. The floor holds for the balance at the end. All or nothing.
-- Fails: wallet_not_found, insufficient_wallet_balance, journal_already_booked; unbalanced journals fail
-- at commit.
create or replace function money.post(postings jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_accounts uuid[];
  v_found integer;
begin
  select array_agg(distinct (p ->> 'account_id')::uuid) into v_accounts from jsonb_array_elements(postings) p;
  if v_accounts is null then
    return;
  end if;
  -- Rounding here would move money that nobody counted.
  if exists (select from jsonb_array_elements(postings) p
      where (p ->> 'amount')::numeric <> round((p ->> 'amount')::numeric, 3)) then
    raise exception 'an amount has more than three decimals' using errcode = 'numeric_value_out_of_range';
  end if;
  perform from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts) order by a.id for no key update;
  get diagnostics v_found = row_count;
  if v_found <> cardinality(v_accounts) then
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
    join money.accounts a on a.tenant_id = v_tenant and a.id = l.account_id
    window running as (partition by l.account_id order by l.line rows unbounded preceding)
    order by l.line
    returning account_id, amount
  )
  update money.accounts a set balance = a.balance + e.total, version = a.version + e.entries
  from (select account_id, sum(amount) as total, count(*) as entries from entry group by account_id) e
  where a.tenant_id = v_tenant and a.id = e.account_id;
end $$;

-- Refuses a journal that has no entries, or whose entries do not sum to zero in each currency.
create or replace function private.check_journal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from money.ledger_entries e where e.tenant_id = new.tenant_id and e.transaction_id = new.id)
    or exists (
      select from money.ledger_entries e where e.tenant_id = new.tenant_id and e.transaction_id = new.id
      group by e.currency having sum(e.amount) <> 0) then
    raise exception 'journal % does not balance', new.id using errcode = 'check_violation', constraint = 'journal_balances';
  end if;
  return null;
end $$;

-- Entries join a journal only in the transaction that booked it, so a balanced one stays balanced; and
-- an entry is in its account's currency, so that zero in each currency means something.
create or replace function private.check_entry() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from money.ledger_transactions t
      where t.tenant_id = new.tenant_id and t.id = new.transaction_id and t.booked_in = pg_current_xact_id()) then
    raise exception 'journal % is closed', new.transaction_id using errcode = 'check_violation', constraint = 'journal_open';
  end if;
  if not exists (select from money.accounts a
      where a.tenant_id = new.tenant_id and a.id = new.account_id and a.currency = new.currency) then
    raise exception 'account % has another currency', new.account_id using errcode = 'check_violation',
      constraint = 'entry_currency';
  end if;
  return new;
end $$;

drop trigger if exists journal_balances on money.ledger_transactions;
create constraint trigger journal_balances after insert on money.ledger_transactions
  deferrable initially deferred for each row execute function private.check_journal();
drop trigger if exists journal_open on money.ledger_entries;
create trigger journal_open before insert on money.ledger_entries for each row execute function private.check_entry();

-- The decimals that amounts of a currency may have here: the tenant's own setting for its own currency,
-- otherwise none for IQD (cash practice), else those of ISO 4217.
create or replace function money.decimals_of(currency text) returns integer
language sql stable set search_path = '' as $$
  select case when t.code = decimals_of.currency then t.decimals
    when decimals_of.currency = 'IQD' then 0
    else (select c.exponent from tenancy.currencies c where c.code = decimals_of.currency) end
  from app.currency() t
$$;

grant execute on function money.account_of(text, text, uuid, text), money.post(jsonb) to barid_caller;

-- Locks accounts of the caller's tenant in the order of their ids and answers their balances,
-- {account id: balance}, for deciding before posting.
create or replace function money.balances_locked(account_ids uuid[]) returns jsonb
language sql security definer set search_path = '' as $$
  select coalesce(jsonb_object_agg(a.id, a.balance), '{}') from (
    select l.id, l.balance from money.accounts l
    where l.tenant_id = app.tenant_id() and l.id = any (account_ids) order by l.id for no key update
  ) a
$$;

grant execute on function money.balances_locked(uuid[]) to barid_caller;
