-- The ledger: every movement of money is a journal of entries that sum to zero per currency. The only
-- writer of accounts, journals and entries; definers, since nobody else may touch those tables.

-- The id of an account of the caller's tenant, opened when it does not exist yet.
-- kind, owner_type, owner (user id, null for the tenant itself), currency.
create or replace function money.account_of(kind text, owner_type text, owner uuid, currency text) returns uuid
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  v_id uuid;
begin
  for attempt in 1..2 loop
    select a.id into v_id from money.accounts a
    where a.tenant_id = app.tenant_id() and a.kind = kind and a.owner_type = owner_type
      and a.owner_user_id is not distinct from owner and a.currency = currency;
    exit when found;
    insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    values (app.tenant_id(), kind, owner_type, owner, currency, case when kind = 'wallet' then 0 end)
    on conflict do nothing
    returning id into v_id;
    exit when found;
  end loop;
  return v_id;
end $$;

-- Books journals. `postings` is one row per entry:
--   [{journal, kind, reference_type, reference_id, description, account_id, amount}, ...]
-- `journal` is any text that groups the entries of one journal; amounts are signed and not zero.
-- Locks the accounts in the order of their ids, then books in the order given: balances and versions
-- run through the whole list. All or nothing.
-- Fails: insufficient_wallet_balance, journal_already_booked; unbalanced journals fail at commit.
create or replace function money.post(postings jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_accounts uuid[];
  v_found integer;
begin
  select array_agg(distinct (p ->> 'account_id')::uuid) into v_accounts from jsonb_array_elements(postings) p;
  if v_accounts is null then
    return;
  end if;
  perform from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts) order by a.id for no key update;
  get diagnostics v_found = row_count;
  if v_found <> cardinality(v_accounts) then
    perform app.fail('wallet_not_found');
  end if;

  with line as (
    select p.line, p.posting ->> 'journal' as journal, p.posting ->> 'kind' as kind,
      p.posting ->> 'reference_type' as reference_type, (p.posting ->> 'reference_id')::uuid as reference_id,
      p.posting ->> 'description' as description, (p.posting ->> 'account_id')::uuid as account_id,
      (p.posting ->> 'amount')::numeric(18, 3) as amount
    from jsonb_array_elements(postings) with ordinality p (posting, line)
  ), journal as (
    insert into money.ledger_transactions (tenant_id, kind, reference_type, reference_id, description, actor_id)
    select distinct on (l.journal) v_tenant, l.kind, l.reference_type, l.reference_id, l.description, app.user_id()
    from line l order by l.journal, l.line
    returning id, kind, reference_type, reference_id
  ), entry as (
    insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
    select v_tenant, j.id, l.account_id, l.amount, a.currency,
      a.balance + sum(l.amount) over running, a.version + count(*) over running
    from line l
    join journal j on j.kind = l.kind and j.reference_type = l.reference_type and j.reference_id = l.reference_id
    join money.accounts a on a.tenant_id = v_tenant and a.id = l.account_id
    window running as (partition by l.account_id order by l.line rows unbounded preceding)
    order by l.line
    returning account_id, amount
  )
  update money.accounts a set balance = a.balance + e.total, version = a.version + e.entries
  from (select account_id, sum(amount) as total, count(*) as entries from entry group by account_id) e
  where a.tenant_id = v_tenant and a.id = e.account_id;
end $$;

-- Refuses a journal whose entries do not sum to zero in each currency, or that has none.
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

-- Entries join a journal only in the transaction that made it, so a balanced one stays balanced.
create or replace function private.check_entry() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from money.ledger_transactions t
      where t.id = new.transaction_id and t.created_at = now()) then
    raise exception 'journal % is closed', new.transaction_id using errcode = 'check_violation', constraint = 'journal_balances';
  end if;
  return new;
end $$;

drop trigger if exists journal_balances on money.ledger_transactions;
create constraint trigger journal_balances after insert on money.ledger_transactions
  deferrable initially deferred for each row execute function private.check_journal();
drop trigger if exists journal_open on money.ledger_entries;
create trigger journal_open before insert on money.ledger_entries for each row execute function private.check_entry();

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
