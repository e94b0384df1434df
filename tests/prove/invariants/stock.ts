/** Stock, its movements and what is set aside. */
import type { Invariant } from "./invariant.ts";

export const stock: readonly Invariant[] = [
  {
    name: "stock: a row holds what its movements left in it, never less than nothing",
    sql: `select s.id from warehousing.stock s
      left join lateral (select coalesce(sum(case when t.to_stock_id = s.id then t.quantity else 0 end
          - case when t.from_stock_id = s.id then t.quantity else 0 end), 0) as moved
        from warehousing.inventory_transactions t where t.tenant_id = s.tenant_id and t.item_id = s.item_id
          and (t.to_stock_id = s.id or t.from_stock_id = s.id)) m on true
      where s.tenant_id = $1 and (s.quantity < 0 or s.quantity <> m.moved)`,
  },
  {
    name: "stock: what leaves one warehouse in a transfer comes to the other",
    sql: `select t.id from warehousing.inventory_transfers t
      left join lateral (select coalesce(sum(m.quantity) filter (where m.transaction_type = 'transfer_out'), 0) as gone,
          coalesce(sum(m.quantity) filter (where m.transaction_type = 'transfer_in'), 0) as come
        from warehousing.inventory_transactions m where m.tenant_id = t.tenant_id and m.reference_id = t.id) m on true
      left join lateral (select sum(i.quantity) as asked from warehousing.inventory_transfer_items i
        where i.tenant_id = t.tenant_id and i.transfer_id = t.id) i on true
      where t.tenant_id = $1 and (m.gone <> m.come or m.gone <> i.asked)`,
  },
  {
    name: "stock: a count is what its lines add up to, and each difference is one movement",
    sql: `select c.id from warehousing.inventory_counts c
      left join lateral (select count(*) as n, count(*) filter (where l.counted <> l.expected) as differing,
          sum(greatest(l.counted - l.expected, 0)) as found, sum(greatest(l.expected - l.counted, 0)) as missing
        from warehousing.inventory_count_lines l where l.tenant_id = c.tenant_id and l.count_id = c.id) l on true
      left join lateral (select count(*) as n, coalesce(sum(m.quantity) filter (where m.from_stock_id is null), 0) as found,
          coalesce(sum(m.quantity) filter (where m.to_stock_id is null), 0) as missing
        from warehousing.inventory_transactions m
        where m.tenant_id = c.tenant_id and m.reference_id = c.id and m.transaction_type = 'count') m on true
      where c.tenant_id = $1 and (c.lines <> l.n or (c.differences, c.units_found, c.units_missing) is distinct from (l.differing, l.found, l.missing)
        or (c.differences, c.units_found, c.units_missing) is distinct from (m.n, m.found, m.missing))`,
  },
  {
    name: "stock: what an order reserves or has picked is set aside for it, and nothing else is",
    sql: `select coalesce(g.order_id, s.order_id) as id
      from (
        select n.order_id, n.inventory_item_id, n.warehouse_id, sum(n.reserved + n.picked) as held from storefront.order_part_goods n
        where n.tenant_id = $1 and n.inventory_item_id is not null group by 1, 2, 3) g
      full join (
        select k.reserved_for_id as order_id, k.item_id as inventory_item_id, k.warehouse_id, sum(k.quantity) as held from warehousing.stock k
        where k.tenant_id = $1 and k.reserved_for_type = 'order' group by 1, 2, 3) s using (order_id, inventory_item_id, warehouse_id)
      where coalesce(g.held, 0) <> coalesce(s.held, 0)`,
  },
  {
    name:
      "stock: a pick under way has what it asks for set aside; a cancelled or ended one nothing",
    sql: `select p.id from warehousing.picking_orders p where p.tenant_id = $1 and (
        select coalesce(sum(s.quantity), 0) from warehousing.stock s
        where s.tenant_id = p.tenant_id and s.reserved_for_type = 'picking_order' and s.reserved_for_id = p.id)
      <> case when p.order_id is null and (p.status = 'in_progress' or (p.status = 'completed' and p.delivery_id is not null))
        then (select coalesce(sum(i.quantity), 0) from warehousing.picking_order_items i
          where i.tenant_id = p.tenant_id and i.picking_order_id = p.id) else 0 end`,
  },
  {
    name: "stock: a serial number is in one place",
    sql:
      `select s.serial_number from warehousing.stock s where s.tenant_id = $1 and s.serial_number is not null and s.quantity > 0
      group by s.item_id, s.serial_number having sum(s.quantity) > 1`,
  },
  {
    name:
      "stock: rows, reservations, write-offs, picks and orders add up (warehousing.stock_differences)",
    sql: "select d.* from warehousing.stock_differences($1, 'infinity') d",
  },
];
