/** Pay that drivers earn, and its payouts. */
import { type Invariant, journalsOf } from "./invariant.ts";

export const pay: readonly Invariant[] = [
  {
    name: "pay: what a driver is owed in the ledger is what accrued and was not paid out",
    sql: `select m.driver_id, m.currency from (
        select p.driver_id, p.currency, p.amount from money.driver_pay p where p.tenant_id = $1 and p.status = 'accrued'
        union all
        select a.owner_user_id, a.currency, -a.balance from money.accounts a where a.tenant_id = $1 and a.kind = 'driver_payable') m
      group by m.driver_id, m.currency having sum(m.amount) <> 0`,
  },
  {
    name:
      "pay: what it costs is what was earned, of delivered parcels alone, each once, by one journal",
    sql: `select m.currency::text as id from (
        select p.currency, p.amount from money.driver_pay p where p.tenant_id = $1 and p.status <> 'reversed'
        union all
        select a.currency, a.balance from money.accounts a where a.tenant_id = $1 and a.kind = 'driver_cost') m
      group by m.currency having sum(m.amount) <> 0
      union all
      select p.id::text from money.driver_pay p
      left join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
      left join (${journalsOf("driver_pay")}) j on j.reference_id = p.id
      where p.tenant_id = $1 and ((p.status <> 'reversed' and d.status <> 'delivered')
        or j.kinds is distinct from array['driver_pay'] || case when p.status = 'reversed' then array['driver_pay_REVERSAL'] end)
      union all
      select p.delivery_id::text from money.driver_pay p where p.tenant_id = $1 and p.status <> 'reversed'
      group by p.delivery_id having count(*) > 1`,
  },
  {
    name:
      "pay: a payout is the sum of its pay, once in the books, its mirror exactly when it was reversed, and pays no pay twice",
    sql: `select t.id from money.driver_payouts t
      left join lateral (select count(*) as n, sum(i.amount) as amount,
          bool_and(p.driver_id = t.driver_id and p.currency = t.currency and p.amount = i.amount
            and case when t.reversed_at is null then p.status = 'paid' and p.payout_id = t.id else i.reversed_at is not null end) as own
        from money.driver_payout_items i
        join money.driver_pay p on p.tenant_id = i.tenant_id and p.id = i.driver_pay_id
        where i.tenant_id = t.tenant_id and i.payout_id = t.id) i on true
      left join (${journalsOf("driver_payout")}) j on j.reference_id = t.id
      where t.tenant_id = $1 and ((i.n, i.amount, i.own) is distinct from (t.accruals::bigint, t.amount, true)
        or (select count(*) from money.driver_pay p where p.tenant_id = t.tenant_id and p.payout_id = t.id)
          <> case when t.reversed_at is null then t.accruals else 0 end
        or (select array_agg(k order by k) from unnest(j.kinds) k) is distinct from (select array_agg(k order by k) from unnest(
          array['driver_payout'] || case t.method when 'cash' then array['driver_payout_cash'] end
          || case when t.reversed_at is not null then array['driver_payout_REVERSAL'] end
          || case when t.reversed_at is not null and t.method = 'cash' then array['driver_payout_cash_REVERSAL'] end) k))`,
  },
];
