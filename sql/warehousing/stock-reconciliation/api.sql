-- Stock of each warehouse: units received, units that left, the balance, and the units of orders.

-- {as_of?} -> {as_of, reconciled, warehouses, orders, difference_count, differences: the first thousand}; see warehousing.stock_differences.
--   warehouses  of each, in units, as of the moment: received (with opening stock) + returned + transferred_in - transferred_out - picked
--               + adjusted + counted - written_off = movements, and in_stock, what its rows hold
--   orders      of those placed by then: ordered, and each state their units are in now
create or replace function warehousing.stock_reconciliation(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_as_of timestamptz := coalesce(app.day_end(input ->> 'as_of') - interval '1 microsecond', now());
  v_differences jsonb;
  v_count bigint;
begin
  select count(*), coalesce(jsonb_agg(to_jsonb(d) - 'place' order by d.place) filter (where d.place <= 1000), '[]') into v_count, v_differences
  from (
    select x.*, row_number() over (order by x.kind, x.stock_id, x.movement_id, x.order_id, x.picking_order_id, x.item_id) as place
    from warehousing.stock_differences(v_tenant, v_as_of) x) d;
  return jsonb_build_object('as_of', v_as_of, 'reconciled', v_count = 0, 'warehouses', warehousing.stock_by_warehouse(v_as_of),
    'orders', warehousing.stock_of_orders(v_as_of), 'difference_count', v_count, 'differences', v_differences);
end $$;

-- The warehouses of stock_reconciliation(), by name.
create or replace function warehousing.stock_by_warehouse(as_of timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    with moved as (
      select t.warehouse_id, sum(n.units) filter (where t.created_at > as_of) as since, sum(n.units) filter (where n.then) as movements,
        sum(n.units) filter (where n.then and t.transaction_type in ('receive', 'initial_stock')) as received,
        sum(n.units) filter (where n.then and t.transaction_type = 'return') as returned,
        sum(n.units) filter (where n.then and t.transaction_type = 'transfer_in') as transferred_in,
        -sum(n.units) filter (where n.then and t.transaction_type = 'transfer_out') as transferred_out,
        -sum(n.units) filter (where n.then and t.transaction_type = 'pick') as picked,
        sum(n.units) filter (where n.then and t.transaction_type = 'adjust') as adjusted,
        sum(n.units) filter (where n.then and t.transaction_type = 'count') as counted,
        -sum(n.units) filter (where n.then and t.transaction_type = 'write_off') as written_off
      from warehousing.inventory_transactions t
      cross join lateral (select t.created_at <= as_of as then, t.quantity
        * ((t.to_stock_id is not null)::integer - (t.from_stock_id is not null)::integer) as units) n
      where t.tenant_id = v_tenant group by t.warehouse_id
    ), held as (
      select s.warehouse_id, sum(s.quantity) as units from warehousing.stock s where s.tenant_id = v_tenant group by s.warehouse_id
    )
    select coalesce(jsonb_agg(jsonb_build_object('warehouse_id', w.id, 'warehouse_name', w.name, 'received', coalesce(m.received, 0),
      'returned', coalesce(m.returned, 0), 'transferred_in', coalesce(m.transferred_in, 0), 'transferred_out', coalesce(m.transferred_out, 0),
      'picked', coalesce(m.picked, 0), 'adjusted', coalesce(m.adjusted, 0), 'counted', coalesce(m.counted, 0),
      'written_off', coalesce(m.written_off, 0), 'movements', coalesce(m.movements, 0),
      'in_stock', coalesce(h.units, 0) - coalesce(m.since, 0)) order by w.name, w.id), '[]')
    from warehousing.warehouses w
    left join moved m on m.warehouse_id = w.id
    left join held h on h.warehouse_id = w.id
    where w.tenant_id = v_tenant and w.created_at <= as_of and (w.deleted_at is null or m.warehouse_id is not null));
end $$;

-- The orders of stock_reconciliation().
create or replace function warehousing.stock_of_orders(as_of timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select to_jsonb(n) from (
      select count(distinct g.order_id) as orders, coalesce(sum(g.ordered), 0) as ordered, coalesce(sum(g.to_reserve), 0) as to_reserve,
        coalesce(sum(g.reserved), 0) as reserved, coalesce(sum(g.picked), 0) as picked, coalesce(sum(g.out), 0) as out,
        coalesce(sum(g.delivered), 0) as delivered, coalesce(sum(g.back), 0) as back, coalesce(sum(g.short), 0) as short,
        coalesce(sum(g.released), 0) as released, coalesce(sum(g.lost), 0) as lost
      from storefront.order_goods g
      join storefront.storefront_orders o on o.tenant_id = g.tenant_id and o.id = g.order_id
      where g.tenant_id = v_tenant and o.created_at <= as_of) n);
end $$;
