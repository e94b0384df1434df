-- The parts of an order, one for each warehouse it leaves from: how they are made, and how they leave. The entrances are SECURITY DEFINER, since a
-- driver's act sends goods whose order they do not see; each reads the caller's tenant alone, and the order is locked by the caller.

-- Locks what is available of the goods of an order, wherever it lies, in the order of ids: what is then found stays until the end.
-- lines: [{inventory_item_id}]
create or replace function storefront.lock_stock_of_order(lines jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[] := array(
    select s.id from (select distinct l.inventory_item_id as item from jsonb_to_recordset(lines) as l (inventory_item_id uuid)) i
    cross join lateral (
      select x.id from warehousing.stock x
      where x.tenant_id = v_tenant and x.item_id = i.item and x.status = 'available' and x.quantity > 0 and x.written_off_at is null
      offset 0) s);
begin
  perform from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_rows) order by s.id for no key update;
end $$;

-- Writes down what leaves from where, with a picking order in each warehouse that has to fetch something: its number is the order's, and
-- what it fetches is reserved for the order already. lines, sources: see storefront.order_lines() and storefront.order_supply(); reserved:
-- as stock_reserve() answers; deliveries: one a source, or none.
create or replace function storefront.order_parts_make(p_order uuid, lines jsonb, sources jsonb, reserved jsonb, deliveries uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  o storefront.storefront_orders;
  v_source record;
  v_part uuid;
  v_pick uuid;
begin
  select * into strict o from storefront.storefront_orders x
  where x.tenant_id = v_tenant and x.id = p_order and x.status in ('pending', 'awaiting_approval') and app.has_permission('manage:tenant');
  for v_source in
    select s.place, s.source, (s.source ->> 'warehouse_id')::uuid as warehouse_id
    from jsonb_array_elements(sources) with ordinality s (source, place) order by s.place
  loop
    v_pick := null;
    if reserved @> jsonb_build_array(jsonb_build_object('warehouse_id', v_source.warehouse_id)) then
      insert into warehousing.picking_orders (tenant_id, reference_number, warehouse_id, order_type, due_date, delivery_id, order_id, created_by)
      values (v_tenant, o.order_number, v_source.warehouse_id, 'individual', o.estimated_delivery, deliveries[v_source.place], o.id, app.user_id())
      returning id into v_pick;
      insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity)
      select v_tenant, v_pick, row_number() over (order by min(r.place)), v_source.warehouse_id, r.item_id, r.bin_id, sum(r.quantity)
      from rows from (jsonb_to_recordset(reserved) as (warehouse_id uuid, item_id uuid, bin_id uuid, quantity bigint)) with ordinality
        r (warehouse_id, item_id, bin_id, quantity, place)
      where r.warehouse_id = v_source.warehouse_id group by r.item_id, r.bin_id;
    end if;
    insert into storefront.storefront_order_parts (tenant_id, order_id, position, warehouse_id, picking_order_id, delivery_id)
    values (v_tenant, o.id, v_source.place, v_source.warehouse_id, v_pick, deliveries[v_source.place])
    returning id into v_part;
    insert into storefront.storefront_order_part_items (tenant_id, part_id, position, order_item_id, quantity)
    select v_tenant, v_part, row_number() over (order by l.line), (lines -> (l.line - 1) ->> 'order_item_id')::uuid, l.quantity
    from jsonb_to_recordset(v_source.source -> 'lines') as l (line integer, quantity integer);
  end loop;
end $$;

-- Goods to be picked for the parts of an order that were not found, once the picking has ended and as long as the part is here:
-- [{part_id, position, item_id, quantity}] of one part or of all.
create or replace function storefront.order_missing(p_order uuid, p_part uuid default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('part_id', g.part_id, 'position', g.position, 'order_item_id', g.order_item_id,
      'quantity', g.reserved) order by g.part_id, g.position), '[]')
    from storefront.order_part_goods g
    join storefront.storefront_order_parts p on p.tenant_id = g.tenant_id and p.id = g.part_id
    join warehousing.picking_orders k on k.tenant_id = p.tenant_id and k.id = p.picking_order_id and k.status = 'completed'
    where g.tenant_id = app.tenant_id() and g.order_id = p_order and (p_part is null or g.part_id = p_part)
      and g.inventory_item_id is not null and g.reserved > 0);
end $$;

-- Whether anything of a part's goods was found, or may still be: a parcel with nothing in it does not travel.
create or replace function storefront.order_part_has_goods(part storefront.storefront_order_parts) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from storefront.storefront_order_part_items g
    where g.tenant_id = part.tenant_id and g.part_id = part.id and g.quantity > g.short);
end $$;

-- Sends an order without what was not found: its parts, picking orders and parcels are of what there is. missing: see storefront.order_missing().
-- -> what is reserved too much now, [{item_id, warehouse_id, bin_id, quantity}], for stock_release(); null: nothing
create or replace function storefront.order_cut(missing jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_picks uuid[];
  v_left jsonb;
  k warehousing.picking_orders;
begin
  update storefront.storefront_order_part_items g set short = g.short + m.quantity
  from jsonb_to_recordset(missing) as m (part_id uuid, position integer, quantity integer)
  where g.tenant_id = v_tenant and g.part_id = m.part_id and g.position = m.position;
  v_picks := array(select p.picking_order_id from storefront.storefront_order_parts p
    where p.tenant_id = v_tenant and p.id = any (array(select m.part_id from jsonb_to_recordset(missing) as m (part_id uuid))));
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'warehouse_id', i.warehouse_id, 'bin_id', i.bin_id,
    'quantity', i.quantity - i.picked_quantity) order by i.picking_order_id, i.position) into v_left
  from warehousing.picking_order_items i
  where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity < i.quantity;
  delete from warehousing.picking_order_items i where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity = 0;
  update warehousing.picking_order_items i set quantity = i.picked_quantity
  where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity < i.quantity;
  for k in
    update warehousing.picking_orders x set status = 'cancelled'
    where x.tenant_id = v_tenant and x.id = any (v_picks) and not exists (
      select from warehousing.picking_order_items i where i.tenant_id = v_tenant and i.picking_order_id = x.id)
    returning x.*
  loop
    perform warehousing.picking_event_emit(k, 'completed', 'cancelled');
  end loop;
  delete from delivery.delivery_items i using storefront.storefront_order_parts p, storefront.storefront_order_part_items g
  where p.tenant_id = v_tenant and p.picking_order_id = any (v_picks) and g.tenant_id = v_tenant and g.part_id = p.id and g.short = g.quantity
    and i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.position;
  update delivery.delivery_items i set quantity = g.quantity - g.short
  from storefront.storefront_order_parts p, storefront.storefront_order_part_items g
  where p.tenant_id = v_tenant and p.picking_order_id = any (v_picks) and g.tenant_id = v_tenant and g.part_id = p.id and g.short > 0
    and i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.position;
  return v_left;
end $$;

-- True where goods may leave that nobody picked: they are then picked as they leave (setting general.storefront.picking_required).
create or replace function storefront.picks_as_it_leaves() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not app.boolean_or(app.settings('general', 'storefront') -> 'picking_required', true);
end $$;

-- Refuses to let another company take what the warehouse has not picked in full for a storefront order, or, where goods are picked as they
-- leave, what a picker has reported as missing. Of anything else: nothing.
-- Fails: goods_not_picked.
create or replace function storefront.require_order_picked(p_delivery uuid) returns void
language plpgsql stable security definer set search_path = '' as $$
declare
  v_pick uuid;
begin
  select k.id into v_pick
  from storefront.storefront_order_parts p
  join warehousing.picking_orders k on k.tenant_id = p.tenant_id and k.id = p.picking_order_id
  where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.left_at is null
    and (k.status in ('pending', 'in_progress') and (not storefront.picks_as_it_leaves() or exists (
        select from warehousing.picking_order_items i
        where i.tenant_id = k.tenant_id and i.picking_order_id = k.id and i.picked_quantity < i.quantity and i.status not in ('pending', 'picked')))
      or storefront.order_missing(p.order_id, p.id) <> '[]');
  if found then
    perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', v_pick));
  end if;
end $$;

-- A part leaves its warehouse: its pick is handed off and its goods are booked out. A part that left already has nothing to do.
-- taken: somebody has it in hand whatever was recorded (a carrier says so); then what was picked went, be it nothing, or all of it if
-- nobody had picked yet. Where goods are picked as they leave, those that a picker reported as missing are refused all the same.
-- Fails: goods_not_picked.
create or replace function storefront.order_part_leaves(p storefront.storefront_order_parts, taken boolean) returns void
language plpgsql set search_path = '' as $$
declare
  k warehousing.picking_orders;
  v_missing jsonb;
  v_left jsonb;
  v_charged numeric := 0;
begin
  if p.left_at is not null then
    return;
  end if;
  select * into k from warehousing.picking_orders x
  where x.tenant_id = p.tenant_id and x.id = p.picking_order_id and x.status <> 'cancelled' for no key update;
  if k.status in ('pending', 'in_progress') then
    if not (taken or storefront.picks_as_it_leaves()) then
      perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
    end if;
    -- Goods that a picker reported as missing are not found by leaving.
    update warehousing.picking_order_items i set picked_quantity = i.quantity, status = 'picked'
    where i.tenant_id = k.tenant_id and i.picking_order_id = k.id and i.status in ('pending', 'picked');
    perform warehousing.picking_move(k, 'completed');
    k.status := 'completed';
  end if;
  if k.id is not null then
    v_missing := storefront.order_missing(p.order_id, p.id);
    if v_missing <> '[]' then
      if not taken then
        perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
      end if;
      v_left := storefront.order_cut(v_missing);
      select coalesce(sum(i.unit_price * m.quantity), 0) into v_charged
      from jsonb_to_recordset(v_missing) as m (order_item_id uuid, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = p.tenant_id and i.id = m.order_item_id
      join storefront.storefront_orders o on o.tenant_id = i.tenant_id and o.id = i.order_id and o.payment_method = 'cash_on_delivery';
    end if;
  end if;
  update storefront.storefront_order_parts x set left_at = clock_timestamp(), charged_short = v_charged where x.tenant_id = p.tenant_id and x.id = p.id;
  if k.id is not null then
    update warehousing.picking_orders x set status = 'handed_off' where x.tenant_id = k.tenant_id and x.id = k.id and x.status = 'completed';
    if found then
      perform warehousing.picking_event_emit(k, k.status, 'handed_off');
    end if;
    if v_left is not null then
      perform warehousing.stock_release('order', p.order_id, v_left);
    end if;
    perform warehousing.stock_exit('order', p.order_id, warehouse => p.warehouse_id);
  end if;
end $$;

-- Ends what was still to be fetched for an order. Its stock is released by the caller, after the wallets.
create or replace function storefront.order_picks_drop(p_order uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_picks warehousing.picking_orders[] := array(
    select k from warehousing.picking_orders k
    where k.tenant_id = v_tenant and k.order_id = p_order and k.status in ('pending', 'in_progress', 'completed') order by k.id for no key update);
begin
  update warehousing.picking_orders k set status = 'cancelled'
  where k.tenant_id = v_tenant and k.id = any (array(select d.id from unnest(v_picks) d));
  perform warehousing.picking_event_emit(k, k.status, 'cancelled') from unnest(v_picks) k;
end $$;

-- Holds the numbers of receipts where the end of this delivery of an order may make receipts of other parcels of it (storefront.order_goods_expect),
-- for a core that then locks wallets. SECURITY DEFINER: its driver sees nothing of the order.
create or replace function storefront.lock_receipt_numbers(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if exists (select from storefront.storefront_order_parts p
      join storefront.storefront_order_parts o on o.tenant_id = p.tenant_id and o.order_id = p.order_id and o.id <> p.id and o.left_at is not null
      where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery) then
    perform app.lock_numbers('receiving_order', true);
  end if;
end $$;

-- Expects back what left of an order and is not expected yet: a receipt in the warehouse it came from, or in the default one where that was deleted
-- meanwhile, with a line for each of the goods. Of an order that is not cancelled those parts whose delivery has ended and did not bring them.
create or replace function storefront.order_goods_expect(p_order uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  p storefront.storefront_order_parts;
  v_receipt uuid;
  v_warehouse uuid;
  v_cancelled boolean := (select o.status = 'cancelled' from storefront.storefront_orders o where o.tenant_id = v_tenant and o.id = p_order);
begin
  for p in
    select x.* from storefront.storefront_order_parts x
    where x.tenant_id = v_tenant and x.order_id = p_order and x.left_at is not null and x.picking_order_id is not null and not exists (
      select from warehousing.receiving_orders r where r.tenant_id = v_tenant and r.id = x.receiving_order_id and r.status <> 'cancelled')
      and (v_cancelled or exists (select from delivery.deliveries d
        where d.tenant_id = v_tenant and d.id = x.delivery_id and d.status in ('returned', 'cancelled')))
      and storefront.order_part_has_goods(x)
    order by x.position
  loop
    v_warehouse := coalesce((select w.id from warehousing.warehouses w where w.tenant_id = v_tenant and w.id = p.warehouse_id and w.deleted_at is null),
      delivery.default_warehouse(), (
        select w.id from warehousing.warehouses w where w.tenant_id = v_tenant and w.deleted_at is null order by w.created_at, w.id limit 1),
      p.warehouse_id);
    insert into warehousing.receiving_orders (tenant_id, reference_number, warehouse_id, source, created_by)
    values (v_tenant, 'RCV-' || app.padded(app.take_numbers('receiving_order'), 6), v_warehouse, 'delivery_return_handoff', app.user_id())
    returning id into v_receipt;
    insert into warehousing.receiving_order_items (tenant_id, receiving_order_id, position, warehouse_id, item_id, quantity)
    select v_tenant, v_receipt, g.position, v_warehouse, i.inventory_item_id, g.quantity - g.short
    from storefront.storefront_order_part_items g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = v_tenant and g.part_id = p.id and g.quantity > g.short and i.inventory_item_id is not null;
    update storefront.storefront_order_parts x set receiving_order_id = v_receipt where x.tenant_id = v_tenant and x.id = p.id;
  end loop;
end $$;

grant execute on function storefront.lock_stock_of_order(jsonb), storefront.order_parts_make(uuid, jsonb, jsonb, jsonb, uuid[]),
  storefront.order_missing(uuid, uuid), storefront.order_part_has_goods(storefront.storefront_order_parts),
  storefront.require_order_picked(uuid), storefront.order_picks_drop(uuid), storefront.lock_receipt_numbers(uuid),
  storefront.order_goods_expect(uuid) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_cut(jsonb), storefront.order_part_leaves(storefront.storefront_order_parts,boolean),
  storefront.picks_as_it_leaves() from barid_caller;
