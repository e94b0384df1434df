-- Door-to-door parcels in stock. What goes from door to door lies in no stock, but where a receipt took it in, or where it waits for the
-- return that it is picked for. Definers, as those in expect.sql are; the parcels are held.

-- Takes the parcel of a return that was just made into the stock of the warehouse it lies in, unless it is there: at once where there is a
-- default receiving bin, else by a receipt that waits for staff. What a store sold is a parcel by now, not goods that it could sell again.
create or replace function warehousing.return_shelved(p_return uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  r delivery.deliveries;
  o delivery.deliveries;
  v_receipt uuid;
begin
  select * into strict r from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_return;
  select * into strict o from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.original_delivery_id;
  if o.delivery_flow not in ('standard', 'customer_return')
    or (o.order_id is null and exists (select from delivery.delivery_items i
      where i.tenant_id = r.tenant_id and i.delivery_id = r.id and warehousing.units_available(i.item_id, r.current_warehouse_id) > 0))
    -- Received here, and less than all of it came.
    or exists (select from warehousing.receiving_orders n
      where n.tenant_id = r.tenant_id and n.delivery_id = o.id and n.warehouse_id = r.current_warehouse_id and n.status = 'received'
        and n.received_at > coalesce(o.picked_up_at, '-infinity')) then
    return;
  end if;
  if o.order_id is null then
    perform warehousing.parcel_items_known(o.id);
  end if;
  update delivery.delivery_items i set item_id = (
    select k.id from delivery.delivery_items x
    join warehousing.inventory_items k on k.tenant_id = x.tenant_id and k.id = x.item_id and k.parcel_delivery_id = o.id
    where x.tenant_id = i.tenant_id and x.delivery_id = o.id and x.position = i.position)
  where i.tenant_id = r.tenant_id and i.delivery_id = r.id;
  v_receipt := warehousing.receipt_open(r, r.current_warehouse_id, 'inbound');
  if warehousing.default_receiving_bin(r.current_warehouse_id) is not null then
    perform warehousing.receipt_take(v_receipt, null, null);
  end if;
end $$;

-- A return that was cancelled needs nothing any more: not to be received, nor what was made for it alone.
create or replace function warehousing.return_unshelved(p_return uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update warehousing.receiving_orders r set status = 'cancelled'
  where r.tenant_id = app.tenant_id() and r.delivery_id = p_return and r.status = 'pending' and r.source = 'inbound';
  perform warehousing.parcel_leaves(p_return, null);
end $$;

-- The stock of a parcel, or of the parcel that a return brings back, in a warehouse, set aside or not. Goods that somebody sells are in no parcel:
-- a return of them has none of their stock but what is set aside for it.
create or replace function warehousing.parcel_stock(parcel uuid, warehouse uuid) returns setof warehousing.stock
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  select s.* from warehousing.inventory_items i
  join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.id and s.warehouse_id = warehouse and s.quantity > 0
  where i.tenant_id = v_tenant and i.parcel_delivery_id is not null and i.id in (
    select k.id from warehousing.inventory_items k where k.tenant_id = v_tenant and k.parcel_delivery_id = parcel
    union
    select x.item_id from delivery.delivery_items x where x.tenant_id = v_tenant and x.delivery_id = parcel);
end $$;

-- True when something of a parcel lies in a warehouse that nothing is set aside of: it can be picked, or goes along as it is.
create or replace function warehousing.parcel_lies_in(parcel uuid, warehouse uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from warehousing.parcel_stock(parcel, warehouse) s where s.reserved_for_id is null);
end $$;

-- The units that the pick of a return has still to set aside before it leaves a warehouse: those available there, up to what is in its parcel.
-- Damaged units, and those in question, go along as they are. -> lines as stock_reserve() takes them; null: nothing is available. The parcel is
-- held. SECURITY DEFINER: the office may see no stock of that warehouse.
create or replace function warehousing.return_to_pick(p_return uuid, warehouse uuid, pick uuid default null) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('item_id', n.item_id, 'quantity', n.quantity, 'warehouse_id', warehouse) order by n.place)
    from (
      select i.item_id, min(i.position) as place,
        least(warehousing.units_available(i.item_id, warehouse), sum(i.quantity) - coalesce((
          select sum(s.quantity) from warehousing.stock s
          where s.tenant_id = app.tenant_id() and s.reserved_for_id = pick and s.item_id = i.item_id), 0)) as quantity
      from delivery.delivery_items i
      where i.tenant_id = app.tenant_id() and i.delivery_id = p_return and i.item_id is not null
      group by i.item_id) n
    where n.quantity > 0);
end $$;

-- True when an order was received in the warehouse where its parcel is said to lie, by its own receipt or a leg's, and nothing of it is in stock
-- there, nor expected. Received, not brought by a waybill or a transfer, which may bring it without stock. Not said of what a store sold: its
-- goods are no parcel. SECURITY DEFINER: a customer who cancels sees neither receipts nor stock. Fails: forbidden (app.require_tenant).
create or replace function warehousing.parcel_is_missing(parcel delivery.deliveries, warehouse uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(parcel.tenant_id);
  return warehouse is not null and parcel.order_id is null
    and not exists (select from warehousing.parcel_stock(parcel.id, warehouse))
    and exists (
      select from delivery.deliveries d
      join warehousing.receiving_orders n on n.tenant_id = d.tenant_id and n.delivery_id = d.id
      where d.tenant_id = parcel.tenant_id and (d.id = parcel.id or d.parent_id = parcel.id) and n.warehouse_id = warehouse
        and n.status = 'received' and n.received_at > coalesce(d.picked_up_at, '-infinity'))
    and not exists (
      select from delivery.deliveries d
      join warehousing.receiving_orders n on n.tenant_id = d.tenant_id and n.delivery_id = d.id
      where d.tenant_id = parcel.tenant_id and (d.id = parcel.id or d.parent_id = parcel.id) and n.status = 'pending');
end $$;

-- True when a return lies in a warehouse that has nothing of its parcel any more, or has received its order with nothing in it, and expects
-- nothing of it. What it never had in stock, such as a parcel that a waybill or a transfer brought, is not lost. Fails: forbidden (app.require_tenant).
create or replace function warehousing.return_is_lost(r delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(r.tenant_id);
  return r.current_warehouse_id is not null
    and not exists (select from warehousing.receiving_orders n where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'pending')
    and not exists (
      select from delivery.delivery_items i
      join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.item_id and s.warehouse_id = r.current_warehouse_id and s.quantity > 0
      where i.tenant_id = r.tenant_id and i.delivery_id = r.id)
    and (exists (select from warehousing.receiving_orders n
        where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.warehouse_id = r.current_warehouse_id and n.status = 'received')
      or exists (
        select from delivery.delivery_items i
        join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.item_id and s.warehouse_id = r.current_warehouse_id
        where i.tenant_id = r.tenant_id and i.delivery_id = r.id)
      or exists (select from delivery.deliveries o
        where o.tenant_id = r.tenant_id and o.id = r.original_delivery_id and warehousing.parcel_is_missing(o, r.current_warehouse_id)));
end $$;

-- Books out what a parcel, or the one that a return brings back, has in the stock of a warehouse, in whichever status: it goes along with it. Of
-- any warehouse (null): what was made known for it alone. A waybill that has not left holds nothing of it any more. What a pick has set aside
-- leaves by that pick.
create or replace function warehousing.parcel_leaves(parcel uuid, warehouse uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  delete from warehousing.waybill_items i using warehousing.waybills w
  where i.tenant_id = v_tenant and i.delivery_id = parcel and w.tenant_id = i.tenant_id and w.id = i.waybill_id and w.status = 'drafted'
    and (warehouse is null or w.source_warehouse_id = warehouse);
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'pick', 'item_id', s.item_id, 'warehouse_id', s.warehouse_id, 'quantity', s.quantity,
      'from', jsonb_strip_nulls(jsonb_build_object('bin_id', s.bin_id, 'status', s.status, 'lot_number', s.lot_number, 'serial_number', s.serial_number,
        'reserved_for_type', s.reserved_for_type, 'reserved_for_id', s.reserved_for_id)),
      'reference_type', 'delivery', 'reference_id', parcel) order by s.id)
    from (
      select x.* from warehousing.parcel_stock(parcel, warehouse) x
      union all
      select x.* from warehousing.inventory_items i
      join warehousing.stock x on x.tenant_id = i.tenant_id and x.item_id = i.id
      where warehouse is null and i.tenant_id = v_tenant and i.parcel_delivery_id = parcel and x.quantity > 0) s
    where s.reserved_for_id is null or s.reserved_for_type = 'waybill'));
end $$;

grant execute on function warehousing.return_shelved(uuid), warehousing.return_unshelved(uuid),
  warehousing.return_is_lost(delivery.deliveries), warehousing.parcel_is_missing(delivery.deliveries, uuid),
  warehousing.return_to_pick(uuid, uuid, uuid), warehousing.parcel_leaves(uuid, uuid) to barid_caller;
