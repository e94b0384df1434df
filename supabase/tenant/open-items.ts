/** Open items of a company: money that somebody owes or holds, parcels that somebody waits for, work that is not done. */
import type postgres from "postgres";

/** A line for each kind of it; none means that the company is wound up. */
export async function openItems(tx: postgres.TransactionSql, tenant: string): Promise<string[]> {
  const found = await tx`
    -- The company's own money is owed to nobody.
    select format('%s accounts %s of %s hold %s %s', count(*), a.kind, a.owner_type, sum(a.balance), a.currency) as line
    from money.accounts a
    where a.tenant_id = ${tenant} and a.balance <> 0 and a.owner_type <> 'tenant' group by a.kind, a.owner_type, a.currency
    union all
    select format('%s collections of COD are not remitted: %s %s', count(*), sum(c.amount), c.currency)
    from money.cod_collections c
    where c.tenant_id = ${tenant} and c.status = 'collected' and c.reversed_at is null group by c.currency
    union all
    select format('%s collections of carriers are not remitted: %s %s', count(*), sum(c.amount), c.currency)
    from money.carrier_collections c where c.tenant_id = ${tenant} and c.status = 'owed' group by c.currency
    union all
    select format('%s handovers of cash are %s', count(*), h.status) from money.cash_handovers h
    where h.tenant_id = ${tenant} and h.status in ('declared', 'discrepancy') group by h.status
    union all
    select format('%s statements of merchants are not paid out: %s %s', count(*), sum(s.net), s.currency)
    from money.merchant_statements s where s.tenant_id = ${tenant} and s.status = 'open' group by s.currency
    union all
    select format('pay of drivers is not paid out: %s %s', sum(p.amount), p.currency)
    from money.driver_pay p where p.tenant_id = ${tenant} and p.status = 'accrued' group by p.currency
    union all
    select format('%s payments wait for their gateway', count(*)) from money.payments p
    where p.tenant_id = ${tenant} and p.payment_method = 'gateway' and p.status = 'pending' having count(*) > 0
    union all
    select format('%s payments through a gateway fit nothing', count(*)) from money.payment_webhook_events w
    where w.tenant_id = ${tenant} and w.outcome = 'unmatched' and w.resolution is null having count(*) > 0
    union all
    select format('%s deliveries are %s', count(*), d.status) from delivery.deliveries d
    where d.tenant_id = ${tenant} and d.parent_id is null and d.status not in ('draft', 'delivered', 'returned', 'cancelled')
    group by d.status
    union all
    select format('%s orders of stores are %s', count(*), o.status) from storefront.storefront_orders o
    where o.tenant_id = ${tenant} and o.status_group not in ('completed', 'cancelled') group by o.status
    union all
    select format('%s orders of stores owe a refund: %s %s', count(*), sum(o.refund_due_amount), o.currency)
    from storefront.storefront_orders o where o.tenant_id = ${tenant} and o.refund_due_amount > 0 group by o.currency
    union all
    select format('%s units of stock are in warehouses', sum(s.quantity)) from warehousing.stock s
    where s.tenant_id = ${tenant} and s.quantity <> 0 having count(*) > 0
    union all
    select format('%s jobs %s are %s', count(*), j.kind, j.status) from app.jobs j
    where j.tenant_id = ${tenant} and j.status <> 'done' group by j.kind, j.status
    order by 1`;
  return found.map(({ line }) => line);
}
