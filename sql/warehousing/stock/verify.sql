-- The proof that no unit is lost sight of: each row holds what its movements left in it, and each unit of an order is in one state.

-- Every difference in a tenant's stock as of a moment; none means that every unit is accounted for. Rows and their movements are compared as of
-- that moment, reservations and orders (those that were placed by then) as they are now, since they keep no history.
--   quantity        a row does not hold what its movements left in it
--   place           a movement notes another item, bin, status, lot or serial than its row is of
--   written_off     a row was moved after a write-off had closed it; found is how much
--   reservation     a row is reserved for a picking order that is not being picked and waits for no driver, or for a storefront order that
--                   is neither confirmed nor on its way, or for a waybill that has left
--   pick_reserved   a picking order under way has not set aside what its lines ask for
--   order_line      the states of a line's units are not what was ordered: to reserve, reserved, picked, out, delivered, back, short,
--                   released, lost (storefront.order_goods); found is their sum, or the negative one of them
--   order_reserved  what an order reserves or has picked of an item in a warehouse is not what is set aside there for it
--   order_left      what left of an order was booked out otherwise than once
--   order_back      what came back of an order was not taken into stock
-- For a caller of that tenant, or for the system.
create or replace function warehousing.stock_differences(tenant uuid, as_of timestamptz)
returns table (kind text, warehouse_id uuid, item_id uuid, stock_id uuid, movement_id uuid, picking_order_id uuid, order_id uuid, waybill_id uuid,
  expected numeric, found numeric)
language sql stable set search_path = '' as $$
  with moved as (
    select m.stock_id, coalesce(sum(m.quantity) filter (where m.created_at <= as_of), 0) as quantity,
      coalesce(sum(m.quantity) filter (where m.created_at > as_of), 0) as since
    from (
      select t.to_stock_id as stock_id, t.quantity, t.created_at from warehousing.inventory_transactions t
      where t.tenant_id = tenant and t.to_stock_id is not null
      union all
      select t.from_stock_id, -t.quantity, t.created_at from warehousing.inventory_transactions t
      where t.tenant_id = tenant and t.from_stock_id is not null) m
    group by m.stock_id
  ), goods as materialized (
    select g.* from storefront.order_part_goods g
    join storefront.storefront_orders o on o.tenant_id = g.tenant_id and o.id = g.order_id and o.created_at <= as_of
    where g.tenant_id = tenant
  )
  select 'quantity', s.warehouse_id, s.item_id, s.id, null::uuid, null::uuid, null::uuid, null::uuid, coalesce(m.quantity, 0),
    s.quantity - coalesce(m.since, 0)
  from warehousing.stock s left join moved m on m.stock_id = s.id
  where s.tenant_id = tenant and s.quantity - coalesce(m.since, 0) <> coalesce(m.quantity, 0)
  union all
  select 'place', t.warehouse_id, t.item_id, s.id, t.movement_id, null, null, null, null, null
  from warehousing.inventory_transactions t
  cross join lateral (values (t.from_stock_id, t.from_bin_id, t.from_status), (t.to_stock_id, t.to_bin_id, t.to_status)) e (stock_id, bin_id, status)
  join warehousing.stock s on s.tenant_id = t.tenant_id and s.id = e.stock_id
  where t.tenant_id = tenant and t.created_at <= as_of
    and ((s.item_id, s.warehouse_id, s.bin_id, s.status) is distinct from (t.item_id, t.warehouse_id, e.bin_id, e.status)
      or s.lot_number is distinct from t.lot_number or s.serial_number is distinct from t.serial_number)
  union all
  select 'written_off', s.warehouse_id, s.item_id, s.id, t.movement_id, null, null, null, 0, t.quantity
  from warehousing.stock s
  join warehousing.inventory_transactions t on t.tenant_id = s.tenant_id and s.id in (t.from_stock_id, t.to_stock_id)
  where s.tenant_id = tenant and s.written_off_at < t.created_at and t.created_at <= as_of
  union all
  select 'reservation', s.warehouse_id, s.item_id, s.id, null, case s.reserved_for_type when 'picking_order' then s.reserved_for_id end,
    case s.reserved_for_type when 'order' then s.reserved_for_id end, case s.reserved_for_type when 'waybill' then s.reserved_for_id end, 0, s.quantity
  from warehousing.stock s
  where s.tenant_id = tenant and s.reserved_for_id is not null and s.quantity > 0 and not case s.reserved_for_type
    when 'picking_order' then exists (
      select from warehousing.picking_orders p where p.tenant_id = s.tenant_id and p.id = s.reserved_for_id
        and (p.status = 'in_progress' or (p.status = 'completed' and p.delivery_id is not null)))
    when 'order' then exists (
      select from storefront.storefront_orders o where o.tenant_id = s.tenant_id and o.id = s.reserved_for_id and o.status in ('confirmed', 'shipped'))
    else exists (
      select from warehousing.waybills w where w.tenant_id = s.tenant_id and w.id = s.reserved_for_id and w.status = 'drafted') end
  union all
  select 'pick_reserved', p.warehouse_id, null, null, null, p.id, null, null, n.asked, n.held
  from warehousing.picking_orders p
  cross join lateral (select coalesce((
      select sum(i.quantity) from warehousing.picking_order_items i where i.tenant_id = p.tenant_id and i.picking_order_id = p.id), 0) as asked,
    coalesce((select sum(k.quantity) from warehousing.stock k
      where k.tenant_id = p.tenant_id and k.reserved_for_type = 'picking_order' and k.reserved_for_id = p.id), 0) as held) n
  where p.tenant_id = tenant and p.order_id is null and (p.status = 'in_progress' or (p.status = 'completed' and p.delivery_id is not null))
    and n.asked <> n.held
  union all
  -- A line that was set aside nowhere is all to reserve, or all released.
  select 'order_line', null, i.inventory_item_id, null, null, null, i.order_id, null, i.quantity, case when n.least < 0 then n.least else n.total end
  from (
    select g.order_item_id, sum(g.reserved + g.picked + g.out + g.delivered + g.back + g.short + g.released + g.lost) as total,
      min(least(g.reserved, g.picked, g.out, g.delivered, g.back, g.short, g.released, g.lost)) as least
    from goods g group by g.order_item_id) p
  join storefront.storefront_order_items i on i.tenant_id = tenant and i.id = p.order_item_id
  join storefront.storefront_orders o on o.tenant_id = i.tenant_id and o.id = i.order_id
  cross join lateral (
    select p.least, p.total + case when o.status in ('pending', 'awaiting_approval') then i.quantity else 0 end as total) n
  where n.total <> i.quantity or n.least < 0
  union all
  select 'order_reserved', coalesce(g.warehouse_id, s.warehouse_id), coalesce(g.item_id, s.item_id), null, null, null,
    coalesce(g.order_id, s.order_id), null, coalesce(g.held, 0), coalesce(s.held, 0)
  from (
    select n.order_id, n.inventory_item_id as item_id, n.warehouse_id, sum(n.reserved + n.picked) as held from goods n
    where n.inventory_item_id is not null group by 1, 2, 3) g
  full join (
    select k.reserved_for_id as order_id, k.item_id, k.warehouse_id, sum(k.quantity) as held from warehousing.stock k
    join storefront.storefront_orders o on o.tenant_id = k.tenant_id and o.id = k.reserved_for_id and o.created_at <= as_of
    where k.tenant_id = tenant and k.reserved_for_type = 'order' group by 1, 2, 3) s using (order_id, item_id, warehouse_id)
  where coalesce(g.held, 0) <> coalesce(s.held, 0)
  union all
  select 'order_left', null, null, null, null, null, g.order_id, null, g.gone, n.booked
  from (
    select x.order_id, sum(x.out + x.delivered + x.back + x.lost) as gone from goods x where x.inventory_item_id is not null group by 1) g
  cross join lateral (
    select coalesce(sum(t.quantity), 0) as booked from warehousing.inventory_transactions t
    where t.tenant_id = tenant and t.reference_id = g.order_id and t.reference_type = 'order' and t.transaction_type = 'pick') n
  where g.gone <> n.booked
  union all
  select 'order_back', p.warehouse_id, null, null, null, null, p.order_id, null, g.back, n.taken
  from (select x.part_id, sum(x.back) as back from goods x where x.inventory_item_id is not null group by 1) g
  join storefront.storefront_order_parts p on p.tenant_id = tenant and p.id = g.part_id
  join (select distinct q.part_id from storefront.order_part_receipts q where q.tenant_id = tenant) e on e.part_id = p.id
  cross join lateral (
    select coalesce(sum(t.quantity), 0) as taken from storefront.order_part_receipts q
    join warehousing.inventory_transactions t on t.tenant_id = tenant and t.reference_id = q.receiving_order_id
      and t.reference_type = 'receiving_order'
    where q.tenant_id = tenant and q.part_id = p.id and exists (
      select from storefront.storefront_order_items i
      where i.tenant_id = tenant and i.order_id = p.order_id and i.inventory_item_id = t.item_id)) n
  where g.back <> n.taken
$$;

-- The differences of all tenants; no row means that all is right.
create or replace function warehousing.verify_stock()
returns table (tenant_id uuid, kind text, warehouse_id uuid, item_id uuid, stock_id uuid, movement_id uuid, picking_order_id uuid, order_id uuid,
  waybill_id uuid, expected numeric, found numeric)
language sql stable set search_path = '' as $$
  select t.id, d.* from tenancy.tenants t cross join lateral warehousing.stock_differences(t.id, 'infinity') d
$$;

-- Run by cron once a night: notifies each tenant, or one, whose stock is not what was moved, or whose orders do not add up, as an event with the
-- first hundred differences.
create or replace function warehousing.report_stock(only_tenant uuid default null) returns void
language plpgsql set search_path = '' as $$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select t.id, 'stock.mismatch', 'warehousing', 'tenant', t.id, jsonb_build_object('differences', d.list)
  from tenancy.tenants t
  cross join lateral (
    select jsonb_agg(jsonb_strip_nulls(to_jsonb(x)) order by x.kind, x.stock_id, x.movement_id, x.order_id, x.picking_order_id) as list
    from (select * from warehousing.stock_differences(t.id, now()) limit 100) x) d
  where d.list is not null and t.status <> 'archived' and (only_tenant is null or t.id = only_tenant);
end $$;

-- They see all tenants: not for requests.
revoke execute on function warehousing.verify_stock() from barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.report_stock(uuid) from barid_caller;
