-- Reconciliation of drivers' pay: what was earned less what was paid out must equal the ledger.

-- The pay of a tenant's drivers as of a moment, by driver and currency, from the rows and from the ledger.
create or replace function money.driver_pay_positions(tenant uuid, as_of timestamptz)
returns table (driver_id uuid, currency text, accrued numeric, paid numeric, owed numeric, ledger numeric)
language sql stable set search_path = '' as $$
  with moved (driver_id, currency, accrued, paid, ledger) as (
    select p.driver_id, p.currency::text, p.amount, 0, 0 from money.driver_pay p
    where p.tenant_id = tenant and p.accrued_at <= as_of and (p.reversed_at is null or p.reversed_at > as_of)
    union all
    select t.driver_id, t.currency::text, 0, t.amount, 0 from money.driver_payouts t
    where t.tenant_id = tenant and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select a.owner_user_id, a.currency::text, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_payable'
  )
  select m.driver_id, m.currency, sum(m.accrued), sum(m.paid), sum(m.accrued - m.paid), sum(m.ledger)
  from moved m group by m.driver_id, m.currency
$$;

-- Every difference in the pay of a tenant's drivers as of a moment.
--   driver_pay             a driver's pay less the payouts is not what the ledger says the driver is owed
--   driver_pay_journal     a row was not booked as earned, or with another amount; one that was reversed has to leave nothing
--   driver_payout_rows     a payout is not the sum of its pay, or the pay is not as the payout paid it; rows are the pay
--   driver_paid            pay is paid without a payout, or by another one
--   driver_payout_journal  a payout took another amount from the driver's pay in the ledger, or brought it elsewhere; a reversed one has
--                          to leave nothing
create or replace function money.driver_pay_differences(tenant uuid, as_of timestamptz)
returns table (kind text, driver_id uuid, currency text, expected numeric, found numeric, rows uuid[])
language sql stable set search_path = '' as $$
  select 'driver_pay', p.driver_id, p.currency, p.owed, p.ledger, array(
      select x.id from money.driver_pay x
      where x.tenant_id = tenant and x.driver_id = p.driver_id and x.currency = p.currency and x.accrued_at <= as_of
        and (x.status = 'accrued' or coalesce(x.paid_at, x.reversed_at) > as_of)
      order by x.accrued_at, x.id limit 100)
  from money.driver_pay_positions(tenant, as_of) p where p.owed <> p.ledger
  union all
  select 'driver_pay_journal', p.driver_id, p.currency, n.earned, b.earned, array[p.id]
  from money.driver_pay p
  cross join lateral (select case when p.reversed_at <= as_of then 0 else p.amount end as earned) n
  left join lateral (
    select coalesce(sum(e.amount), 0) as earned from money.ledger_transactions j
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_payable' and a.owner_user_id = p.driver_id
      and a.currency = p.currency
    where j.tenant_id = tenant and j.kind in ('driver_pay', 'driver_pay_REVERSAL') and j.reference_type = 'driver_pay' and j.reference_id = p.id
      and j.created_at <= as_of
  ) b on true
  where p.tenant_id = tenant and p.accrued_at <= as_of and b.earned <> n.earned
  union all
  select 'driver_payout_rows', t.driver_id, t.currency, t.amount, i.total, i.rows
  from money.driver_payouts t
  left join lateral (
    select sum(i.amount) as total, count(*) as entries, (array_agg(p.id order by p.id))[1:100] as rows,
      coalesce(bool_and(p.driver_id = t.driver_id and p.currency = t.currency and p.amount = i.amount and i.reversed_at is not distinct from t.reversed_at
        and (t.reversed_at is not null or p.payout_id = t.id)), false) as alike
    from money.driver_payout_items i
    join money.driver_pay p on p.tenant_id = i.tenant_id and p.id = i.driver_pay_id
    where i.tenant_id = tenant and i.payout_id = t.id
  ) i on true
  where t.tenant_id = tenant and t.paid_at <= as_of and (t.amount is distinct from i.total or t.accruals is distinct from i.entries or not i.alike)
  union all
  select 'driver_paid', p.driver_id, p.currency, i.amount, p.amount, array[p.id]
  from money.driver_pay p
  left join money.driver_payout_items i on i.tenant_id = p.tenant_id and i.driver_pay_id = p.id and i.reversed_at is null
  where p.tenant_id = tenant and p.accrued_at <= as_of and p.payout_id is distinct from i.payout_id
  union all
  select 'driver_payout_journal', t.driver_id, t.currency, n.taken, b.taken, array[t.id]
  from money.driver_payouts t
  cross join lateral (select case when t.reversed_at <= as_of then 0 else -t.amount end as taken) n
  left join lateral (
    select coalesce(sum(e.amount) filter (where a.kind = 'driver_payable' and a.owner_user_id = t.driver_id), 0) as taken,
      coalesce(sum(e.amount) filter (where case t.method when 'wallet' then a.kind = 'wallet' and a.owner_type = 'driver' and a.owner_user_id = t.driver_id
        else a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id end), 0)
        * case t.method when 'wallet' then -1 else 1 end as brought
    from money.ledger_transactions j
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id and e.currency = t.currency
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
    where j.tenant_id = tenant and j.reference_type = 'driver_payout' and j.reference_id = t.id and j.created_at <= as_of
  ) b on true
  where t.tenant_id = tenant and t.paid_at <= as_of and (b.taken, b.brought) is distinct from (n.taken, n.taken)
$$;

-- The pay of the drivers of the caller's tenant as of a moment, [{driver_id, driver_name, currency, accrued, paid, owed, ledger}].
create or replace function money.driver_pay_reconciled(as_of timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('driver_name', q.full_name) order by q.full_name, p.driver_id, p.currency), '[]')
    from money.driver_pay_positions(app.tenant_id(), as_of) p
    left join tenancy.profiles q on q.id = p.driver_id);
end $$;

revoke execute on function money.driver_pay_positions(uuid, timestamptz), money.driver_pay_differences(uuid, timestamptz) from barid_caller;
