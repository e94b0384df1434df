/** Orders of stores and their money. */
import type { Invariant } from "./invariant.ts";

/**
 * The amount of the one payment of a paid order `o`: at the door, what its deliveries collected there, or what it costs
 * where the shop brought it; else what it cost when it was paid: what it costs, and what was taken off it since.
 */
export const priceOf = `case when o.payment_method = 'cash_on_delivery' then coalesce((
    select sum(d.cod_amount) from delivery.deliveries d
    where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered'), o.total_price)
  else o.total_price + (
    select coalesce(sum((e.event_data ->> 'amount')::numeric), 0) from integration.system_events e
    where e.tenant_id = o.tenant_id and e.entity_type = 'order' and e.entity_id = o.id and e.event_type = 'order.shortened') end`;

export const orders: readonly Invariant[] = [
  {
    name: "orders: no unit is lost sight of, and what left was booked out once",
    sql: `select g.order_id as id from storefront.order_goods g
      where g.tenant_id = $1 and (g.ordered <> g.to_reserve + g.reserved + g.picked + g.out + g.delivered + g.back + g.short + g.released + g.lost
        or least(g.to_reserve, g.reserved, g.picked, g.out, g.delivered, g.back, g.short, g.released, g.lost) < 0)
      union all
      select g.order_id from (
        select n.order_id, sum(n.out + n.delivered + n.back + n.lost) as gone from storefront.order_part_goods n
        where n.tenant_id = $1 and n.inventory_item_id is not null group by 1) g
      where g.gone <> (select coalesce(sum(m.quantity), 0) from warehousing.inventory_transactions m
        where m.tenant_id = $1 and m.reference_type = 'order' and m.reference_id = g.order_id and m.transaction_type = 'pick')`,
  },
  {
    name: "orders: what its deliveries collect at the door is what it costs, until one has ended",
    sql: `select o.id from storefront.storefront_orders o
      where o.tenant_id = $1 and o.payment_method = 'cash_on_delivery' and o.status in ('confirmed', 'shipped') and exists (
        select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id)
      and not exists (select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id
        and d.status in ('delivered', 'returned', 'cancelled'))
      and o.total_price <> (select sum(d.cod_amount) from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id)`,
  },
  {
    name: "orders: paid means exactly one payment of its amount and currency",
    sql:
      `select o.id from storefront.storefront_orders o where o.tenant_id = $1 and (o.payment_status = 'paid') <> (
        select count(*) = 1 and bool_and(p.amount = ${priceOf} and p.currency = o.currency) from money.payments p
        where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS')`,
  },
];
