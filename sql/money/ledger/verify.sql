-- Every difference in the books of all tenants; no row means that they are right. Run by cron at night.
-- The books guard themselves, so a row here tells of a fault below them: of the disk, of a restore, of
-- somebody with the owner's rights.
--   balance   an account does not hold the sum of its entries
--   version   the entries of an account are not counted 1, 2, 3 ... up to the account's version
--   running   the balance recorded on an entry is not the sum up to it
--   journal   the entries of a journal do not sum to zero in a currency, or there are none
--   currency  an entry is in another currency than its account
create or replace function money.verify_books()
returns table (problem text, tenant_id uuid, account_id uuid, transaction_id uuid, expected numeric, found numeric)
language sql stable set search_path = '' as $$
  with entry as (
    select e.*, row_number() over running as position, sum(e.amount) over running as total
    from money.ledger_entries e
    window running as (partition by e.account_id order by e.version rows unbounded preceding)
  ), account as (
    select a.tenant_id, a.id, a.balance, a.version, a.currency, coalesce(s.total, 0) as total, coalesce(s.entries, 0) as entries
    from money.accounts a
    left join (
      select e.account_id, sum(e.amount) as total, count(*) as entries from money.ledger_entries e group by e.account_id
    ) s on s.account_id = a.id
  )
  select 'balance', a.tenant_id, a.id, null::uuid, a.total, a.balance from account a where a.balance <> a.total
  union all
  select 'version', a.tenant_id, a.id, null, a.entries, a.version from account a where a.version <> a.entries
  union all
  select 'version', e.tenant_id, e.account_id, e.transaction_id, e.position, e.version from entry e where e.version <> e.position
  union all
  select 'running', e.tenant_id, e.account_id, e.transaction_id, e.total, e.balance_after from entry e where e.balance_after <> e.total
  union all
  select 'journal', t.tenant_id, null, t.id, 0, s.total
  from money.ledger_transactions t
  left join (
    select e.tenant_id, e.transaction_id, sum(e.amount) as total from money.ledger_entries e group by e.tenant_id, e.transaction_id, e.currency
  ) s on s.tenant_id = t.tenant_id and s.transaction_id = t.id
  where s.total is distinct from 0
  union all
  select 'currency', e.tenant_id, e.account_id, e.transaction_id, null, null
  from money.ledger_entries e
  join money.accounts a on a.id = e.account_id
  where a.currency <> e.currency
$$;

-- Sees all tenants: not for requests.
revoke execute on function money.verify_books() from barid_caller;
