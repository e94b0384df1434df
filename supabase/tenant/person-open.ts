/** Open matters of one person: their names are needed until these end. */
import type postgres from "postgres";
import type { Subject } from "./subject.ts";

/** A line for each kind of it. */
export async function openMatters(
  tx: postgres.TransactionSql,
  { tenant, person, sets }: Subject,
): Promise<string[]> {
  const me = person ?? null;
  const { orders, received, deliveries } = sets as Record<
    "orders" | "received" | "deliveries",
    string[]
  >;
  const parcels = [...received, ...deliveries];
  const found = await tx`
    select format('%s parcels are %s', count(*), d.status) as line from delivery.deliveries d
    where d.tenant_id = ${tenant} and d.id = any (${parcels}) and d.parent_id is null
      and d.status not in ('draft', 'delivered', 'returned', 'cancelled') group by d.status
    union all
    select format('%s parcels are carried by them', count(*)) from delivery.assignments a
    where a.tenant_id = ${tenant} and a.driver_id = ${me} and a.status in ('pending', 'assigned', 'accepted') having count(*) > 0
    union all
    select format('%s manifests of them are %s', count(*), m.status) from delivery.transfer_manifests m
    where m.tenant_id = ${tenant} and ${me}::uuid in (m.driver_id, m.institution_user_id)
      and m.status not in ('completed', 'cancelled', 'closed', 'received') group by m.status
    union all
    select format('%s changes of an amount wait for an answer', count(*)) from delivery.amount_changes c
    where c.tenant_id = ${tenant} and c.delivery_id = any (${parcels}) and c.status = 'pending' having count(*) > 0
    union all
    select format('%s requests for a return wait for an answer', count(*)) from delivery.return_requests r
    where r.tenant_id = ${tenant} and r.delivery_id = any (${parcels}) and r.status = 'requested' having count(*) > 0
    union all
    select format('%s orders of stores are %s', count(*), o.status) from storefront.storefront_orders o
    where o.tenant_id = ${tenant} and o.id = any (${orders}) and o.status_group not in ('completed', 'cancelled') group by o.status
    union all
    select format('%s orders of stores owe them a refund: %s %s', count(*), sum(o.refund_due_amount), o.currency) from storefront.storefront_orders o
    where o.tenant_id = ${tenant} and o.user_id = ${me} and o.refund_due_amount > 0 group by o.currency
    union all
    select 'they are the last administrator of the company' from tenancy.tenants t
    where t.id = ${tenant} and t.status <> 'archived' and exists (
      select from tenancy.tenant_user_roles r
      join tenancy.tenant_users u on u.tenant_id = r.tenant_id and u.user_id = r.user_id and u.is_active
      where r.tenant_id = t.id and r.role_key = 'tenant_admin'
      having count(*) = 1 and bool_and(r.user_id = ${me}))
    union all
    select format('their account %s holds %s %s', a.kind, a.balance, a.currency) from money.accounts a
    where a.tenant_id = ${tenant} and a.owner_user_id = ${me} and a.balance <> 0
    union all
    select format('%s collections of COD are not remitted: %s %s', count(*), sum(c.amount), c.currency) from money.cod_collections c
    where c.tenant_id = ${tenant} and (c.driver_id = ${me} or c.delivery_id = any (${parcels}))
      and c.status = 'collected' and c.reversed_at is null group by c.currency
    union all
    select format('%s collections of carriers are not remitted: %s %s', count(*), sum(c.amount), c.currency) from money.carrier_collections c
    where c.tenant_id = ${tenant} and c.delivery_id = any (${parcels}) and c.status = 'owed' group by c.currency
    union all
    select format('%s handovers of cash are %s', count(*), h.status) from money.cash_handovers h
    where h.tenant_id = ${tenant} and h.driver_id = ${me} and h.status in ('declared', 'discrepancy') group by h.status
    union all
    select format('their statements are not paid out: %s %s', sum(s.net), s.currency) from money.merchant_statements s
    where s.tenant_id = ${tenant} and s.owner_user_id = ${me} and s.status = 'open' group by s.currency
    union all
    select format('their pay is not paid out: %s %s', sum(p.amount), p.currency) from money.driver_pay p
    where p.tenant_id = ${tenant} and p.driver_id = ${me} and p.status = 'accrued' group by p.currency
    union all
    select format('%s payments (%s) are pending', count(*), p.type) from money.payments p
    left join money.accounts a on a.id = p.account_id
    where p.tenant_id = ${tenant} and p.status = 'pending'
      and (p.order_id = any (${orders}) or p.delivery_id = any (${parcels}) or a.owner_user_id = ${me}) group by p.type
    union all
    select format('%s reports of a gateway fit no payment', count(*)) from money.payment_webhook_events w
    join money.payments p on p.tenant_id = w.tenant_id and p.id = w.payment_id
    left join money.accounts a on a.id = p.account_id
    where w.tenant_id = ${tenant} and w.outcome = 'unmatched' and w.resolution is null
      and (p.order_id = any (${orders}) or a.owner_user_id = ${me}) having count(*) > 0
    order by 1`;
  return found.map(({ line }) => line);
}
