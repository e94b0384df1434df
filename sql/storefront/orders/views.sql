drop view if exists storefront.orders_list cascade;

drop view if exists storefront.my_orders_list cascade;

drop view if exists storefront.orders_version cascade;

-- An order as administrators see it in a list.
create view storefront.orders_list with (security_invoker = true) as
select o.id, o.order_number, o.market_id, o.user_id, o.status, o.status_group, o.fulfilment, o.payment_method, o.payment_status, o.city,
  o.shipping_cost, o.discount_amount, o.total_price, o.total_items, o.currency, o.created_at, o.updated_at,
  o.refund_due_amount > 0 as refund_due
from storefront.storefront_orders o
where o.tenant_id = (select app.tenant_id());

-- The caller's own orders.
create view storefront.my_orders_list with (security_invoker = true) as
select o.id, o.order_number, o.status_group, storefront.customer_status(o) as status, o.payment_method, o.payment_status, o.shipping_cost,
  o.discount_amount, o.total_price, o.total_items, o.currency, o.created_at, o.updated_at, o.market_id, storefront.store_of_order(o.id) as store_name,
  o.fulfilment
from storefront.storefront_orders o
where o.tenant_id = (select app.tenant_id()) and o.user_id = (select app.user_id());

-- When anything of an order or of its picking orders was last changed: what a change with If-Match must find. Picks write no order, for which
-- they would wait, so that their times are added: the sum grows with each change, in whatever order they are committed. It is no moment.
create view storefront.orders_version with (security_invoker = true) as
select o.id, o.updated_at + coalesce((
    select sum(k.updated_at - o.created_at) from warehousing.picking_orders k where k.tenant_id = o.tenant_id and k.order_id = o.id), '0') as updated_at
from storefront.storefront_orders o
where o.tenant_id = (select app.tenant_id());

grant select on storefront.orders_list, storefront.my_orders_list, storefront.orders_version to barid_caller;

drop view if exists storefront.order_goods cascade;

drop view if exists storefront.order_part_goods cascade;

drop view if exists storefront.order_part_receipts cascade;

-- The receipts by which goods of an order's part come back: that of its parcel, and those of what its customer sent back.
create view storefront.order_part_receipts with (security_invoker = true) as
select p.tenant_id, p.id as part_id, p.receiving_order_id
from storefront.storefront_order_parts p where p.receiving_order_id is not null
union all
select p.tenant_id, p.id, r.id
from storefront.storefront_order_parts p
join delivery.deliveries b on b.tenant_id = p.tenant_id and b.original_delivery_id = p.delivery_id and b.delivery_flow = 'customer_return'
join warehousing.receiving_orders r on r.tenant_id = b.tenant_id and r.delivery_id = b.id and r.status <> 'cancelled';

-- The goods of orders that were approved, by the warehouse they leave. Of `quantity`, what was set aside, each unit is in one state:
--   reserved   set aside, not yet picked          picked     fetched, waits for its driver
--   out        on the way, there or back          delivered  with the customer
--   back       came back and was received         lost       came back in name: the receipt did not find it (none counts what is
--                                                            not kept in stock, unless nothing else came)
--   short      not found, and sent without        released   set aside in vain: the order ended before it left
-- `fetched`: as many of them as were picked, in whatever state they are since. `sent_back`: as many as a warehouse got or expects from the
-- customer, who had received them.
-- A line of a picking order belongs to the order's lines of that item in their order.
create view storefront.order_part_goods with (security_invoker = true) as
select l.tenant_id, l.order_id, l.part_id, l.position, l.order_item_id, l.inventory_item_id, l.warehouse_id, l.quantity,
  case when l.stage = 'here' then l.kept - l.fetched else 0 end as reserved,
  case when l.stage = 'here' then l.fetched else 0 end as picked,
  case l.stage when 'out' then l.kept when 'delivered' then l.sent_back - l.taken_back else 0 end as out,
  case when l.stage = 'delivered' then l.kept - l.sent_back else 0 end as delivered,
  case l.stage when 'back' then l.received when 'delivered' then l.found_back else 0 end as back,
  l.quantity - l.kept as short,
  case when l.stage = 'released' then l.kept else 0 end as released,
  case l.stage when 'back' then l.kept - l.received when 'delivered' then l.taken_back - l.found_back else 0 end as lost,
  l.fetched, case when l.stage = 'delivered' then l.sent_back else 0 end as sent_back
from (
  select g.tenant_id, p.order_id, g.part_id, g.position, g.order_item_id, i.inventory_item_id, p.warehouse_id, g.quantity,
    g.quantity - g.short as kept,
    least(g.quantity - g.short, greatest(0, k.picked - (sum(g.quantity - g.short) over earlier - (g.quantity - g.short)))) as fetched,
    -- Goods that are not kept in stock come back with the rest, and no receipt counts them.
    least(g.quantity - g.short, coalesce(c.received_quantity, case when i.inventory_item_id is null then g.quantity - g.short else 0 end)) as received,
    s.sent_back, s.taken_back, s.found_back,
    case
      -- Not what the order gave up when it ended, though the end was undone.
      when p.left_at is null and o.status in ('approved', 'confirmed', 'shipped') and w.status is distinct from 'cancelled' then 'here'
      when p.left_at is null then 'released'
      when r.status = 'received' then 'back'
      when coalesce(d.status, o.status) in ('delivered', 'completed') then 'delivered'
      else 'out' end as stage
  from storefront.storefront_order_part_items g
  join storefront.storefront_order_parts p on p.tenant_id = g.tenant_id and p.id = g.part_id
  join storefront.storefront_orders o on o.tenant_id = p.tenant_id and o.id = p.order_id
  join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
  left join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
  left join warehousing.picking_orders w on w.tenant_id = p.tenant_id and w.id = p.picking_order_id
  left join warehousing.receiving_orders r on r.tenant_id = p.tenant_id and r.id = p.receiving_order_id
  left join warehousing.receiving_order_items c on c.tenant_id = p.tenant_id and c.receiving_order_id = p.receiving_order_id and c.position = g.position
  cross join lateral (
    select coalesce(sum(x.picked_quantity), 0)::bigint as picked from warehousing.picking_order_items x
    where x.tenant_id = p.tenant_id and x.picking_order_id = p.picking_order_id and x.item_id = i.inventory_item_id) k
  cross join lateral (
    select coalesce(sum(x.quantity), 0)::bigint as sent_back,
      coalesce(sum(x.quantity) filter (where n.status = 'received'), 0)::bigint as taken_back,
      coalesce(sum(x.received_quantity) filter (where n.status = 'received'), 0)::bigint as found_back
    from delivery.deliveries b
    join warehousing.receiving_orders n on n.tenant_id = b.tenant_id and n.delivery_id = b.id and n.status <> 'cancelled'
    join warehousing.receiving_order_items x on x.tenant_id = n.tenant_id and x.receiving_order_id = n.id
      and x.position = g.position and x.item_id = i.inventory_item_id
    -- As storefront.order_part_receipts has them, whose parts would be looked up once more here.
    where d.status = 'delivered' and b.tenant_id = p.tenant_id and b.original_delivery_id = p.delivery_id
      and b.delivery_flow = 'customer_return') s
  window earlier as (partition by g.tenant_id, p.order_id, g.part_id, i.inventory_item_id order by g.position)
) l;

-- The goods of every order, line by line, whatever became of it:
-- to_reserve + reserved + picked + out + delivered + back + short + released + lost = ordered.
-- to_reserve: the order waits for its approval. A line that was never set aside and is not waited for is released.
-- Grouped, not looked up line by line: a company's orders are then gone through once.
create view storefront.order_goods with (security_invoker = true) as
select i.tenant_id, i.order_id, i.id as order_item_id, i.position, i.inventory_item_id, i.quantity as ordered,
  case when o.status in ('pending', 'awaiting_approval') then i.quantity else 0 end as to_reserve,
  coalesce(sum(g.reserved), 0) as reserved, coalesce(sum(g.picked), 0) as picked, coalesce(sum(g.out), 0) as out,
  coalesce(sum(g.delivered), 0) as delivered, coalesce(sum(g.back), 0) as back, coalesce(sum(g.short), 0) as short,
  case when count(g.part_id) = 0 and o.status not in ('pending', 'awaiting_approval') then i.quantity
    else coalesce(sum(g.released), 0) end as released,
  coalesce(sum(g.lost), 0) as lost, coalesce(sum(g.sent_back), 0) as sent_back
from storefront.storefront_order_items i
join storefront.storefront_orders o on o.tenant_id = i.tenant_id and o.id = i.order_id
left join storefront.order_part_goods g on g.tenant_id = i.tenant_id and g.order_id = i.order_id and g.order_item_id = i.id
group by i.tenant_id, i.order_id, i.id, i.position, i.inventory_item_id, i.quantity, o.status;

grant select on storefront.order_part_receipts, storefront.order_part_goods, storefront.order_goods to barid_caller;
