-- Which warehouses an order leaves from.

-- The supply of an order's goods: their stock, their size, and the warehouse they leave from.
-- lines: [{inventory_item_id, quantity}]; those without an item are not kept in stock and leave with the first of the rest.
-- Of the warehouses that have most of what is still missing the nearest to the customer is taken, those in use before others, then
-- the default one, then the oldest: so one that has all of it, and only where none has, several, each with most of what is left.
-- -> {short: an item there is too little of, short_quantity: by how many, units, warehouse_id, latitude, longitude: of the first,
-- sources: [{warehouse_id, latitude, longitude, units, unmeasured, lines: [{line: from 1, quantity}]}]}; units: of the lines with an item, null
-- where none has one; unmeasured: a line has none.
-- SECURITY DEFINER: customers see no stock. Nothing is reserved.
create or replace function storefront.order_supply(lines jsonb, address jsonb default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_default uuid := (app.settings('general', 'warehouse') ->> 'default_warehouse_id')::uuid;
  v_missing jsonb;
  v_sources jsonb := '[]';
  v_asked uuid[] := '{}';
  v_found record;
begin
  select coalesce(jsonb_object_agg(n.item, n.quantity), '{}') into v_missing
  from (select l.inventory_item_id as item, sum(l.quantity) as quantity
    from jsonb_to_recordset(lines) as l (inventory_item_id uuid, quantity bigint) where l.inventory_item_id is not null group by 1) n;
  loop
    select w.id as warehouse_id, a.latitude, a.longitude, coalesce(h.takes, '{}') as takes into v_found
    from warehousing.warehouses w
    join delivery.addresses a on a.tenant_id = w.tenant_id and a.id = w.address_id
    left join (
      select s.warehouse_id, sum(least(s.quantity, m.quantity)) as units, jsonb_object_agg(m.item, least(s.quantity, m.quantity)) as takes
      from (select e.key::uuid as item, e.value::bigint as quantity from jsonb_each_text(v_missing) e) m
      cross join lateral (
        select x.warehouse_id, sum(x.quantity)::bigint as quantity from warehousing.stock x
        where x.tenant_id = v_tenant and x.item_id = m.item and x.status = 'available' and x.quantity > 0 and x.written_off_at is null
        group by 1) s
      group by 1) h on h.warehouse_id = w.id
    where w.tenant_id = v_tenant and w.deleted_at is null and w.id <> all (v_asked)
      and (h.units > 0 or (v_missing = '{}' and w.status in ('active', 'full')))
    order by h.units desc nulls last, w.status in ('active', 'full') desc,
      app.distance_km(a.latitude, a.longitude, (address ->> 'latitude')::double precision, (address ->> 'longitude')::double precision) nulls last,
      w.id = v_default desc nulls last, w.created_at, w.id
    limit 1;
    exit when not found;
    v_asked := v_asked || v_found.warehouse_id;
    v_sources := v_sources || jsonb_build_array(to_jsonb(v_found));
    select coalesce(jsonb_object_agg(m.key, m.left_over), '{}') into v_missing
    from (select e.key, e.value::bigint - coalesce((v_found.takes ->> e.key)::bigint, 0) as left_over from jsonb_each_text(v_missing) e) m
    where m.left_over > 0;
    exit when v_missing = '{}';
  end loop;
  if v_sources = '[]' then
    v_sources := '[{"takes": {}}]';
  end if;
  -- A warehouse's stock of an item and the demand of the lines, laid end to end: each line takes the stretch it covers.
  with line as (
    select l.line, l.inventory_item_id as item, l.quantity, sum(l.quantity) over (partition by l.inventory_item_id order by l.line) as until
    from rows from (jsonb_to_recordset(lines) as (inventory_item_id uuid, quantity bigint)) with ordinality l (inventory_item_id, quantity, line)
  ), taken as (
    select s.place, t.key::uuid as item, t.value::bigint as quantity, sum(t.value::bigint) over (partition by t.key order by s.place) as until
    from jsonb_array_elements(v_sources) with ordinality s (source, place)
    cross join lateral jsonb_each_text(s.source -> 'takes') t
  ), share as (
    select t.place, l.line, l.item, least(l.until, t.until) - greatest(l.until - l.quantity, t.until - t.quantity) as quantity
    from line l join taken t on t.item = l.item and t.until - t.quantity < l.until and l.until - l.quantity < t.until
    union all
    select 1, l.line, null, l.quantity from line l where l.item is null
  ), sized as (
    select s.place, jsonb_agg(jsonb_build_object('line', s.line, 'quantity', s.quantity) order by s.line) as lines,
      sum(i.unit_size * s.quantity) as units, bool_or(i.id is null) as unmeasured
    from share s left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = s.item
    group by 1
  )
  select jsonb_agg(s.source - 'takes' || jsonb_build_object('units', z.units, 'unmeasured', z.unmeasured, 'lines', z.lines) order by s.place) into v_sources
  from jsonb_array_elements(v_sources) with ordinality s (source, place) join sized z on z.place = s.place;
  v_sources := coalesce(v_sources, '[]');
  return coalesce((v_sources -> 0) - 'lines', '{}') || (
    select jsonb_build_object('short', n.item, 'short_quantity', v_missing -> n.item, 'sources', v_sources,
      'units', sum((s.source ->> 'units')::numeric), 'unmeasured', coalesce(bool_or((s.source ->> 'unmeasured')::boolean), true))
    from (select min(e.key) as item from jsonb_each(v_missing) e) n
    left join jsonb_array_elements(v_sources) s (source) on true group by n.item);
end $$;
grant execute on function storefront.order_supply(jsonb, jsonb) to barid_caller;

-- Goods that there is too little of, as a refusal says it: which, how many were asked for, and how many there are. lines: [{inventory_item_id,
-- quantity, variant_id, product_name}]; supply: see storefront.order_supply(). -> {item_id, variant_id, item_name, requested, available}
create or replace function storefront.order_shortage(lines jsonb, supply jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('text_key', 'insufficient_stock_of', 'item_id', supply -> 'short', 'variant_id', (array_agg(l.variant_id order by l.place))[1],
      'item_name', (array_agg(app.localized(l.product_name) order by l.place))[1], 'requested', sum(l.quantity),
      'available', sum(l.quantity) - (supply ->> 'short_quantity')::bigint)
    from rows from (jsonb_to_recordset(lines) as (inventory_item_id uuid, quantity bigint, variant_id uuid, product_name jsonb))
      with ordinality l (inventory_item_id, quantity, variant_id, product_name, place)
    where l.inventory_item_id = (supply ->> 'short')::uuid);
end $$;

-- The number of an item that orders can have now. SECURITY DEFINER: customers see no stock.
create or replace function storefront.item_available(p_item uuid) returns bigint
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(sum(s.quantity), 0) from warehousing.stock s
    join warehousing.warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id and w.deleted_at is null
    where s.tenant_id = app.tenant_id() and s.item_id = p_item and s.status = 'available' and s.quantity > 0 and s.written_off_at is null);
end $$;
grant execute on function storefront.item_available(uuid) to barid_caller;

-- An amount in parts that are to each other as the weights are, each in the smallest unit of the currency and together exactly the amount.
create or replace function storefront.shares(amount numeric, weights numeric[], decimals integer) returns numeric[]
language plpgsql immutable set search_path = '' as $$
declare
  v_total numeric := (select sum(w) from unnest(weights) w);
begin
  return array(
    select round(amount * s.until / v_total, decimals) - round(amount * (s.until - s.weight) / v_total, decimals)
    from (select w.weight, sum(w.weight) over (order by w.place) as until, w.place from unnest(weights) with ordinality w (weight, place)) s
    where v_total > 0
    order by s.place);
end $$;
