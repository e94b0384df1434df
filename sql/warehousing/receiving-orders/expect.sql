-- Parcels on their way into a warehouse. The entrances are SECURITY DEFINER, since it is a driver's act that makes a
-- receipt expected, and drivers see nothing of a warehouse; each reads the caller's tenant alone, and the family of the
-- delivery is locked.

-- True where a parcel of a store has goods in it that are kept in stock: what is not kept travels with them, and is no stock where it is back.
create or replace function warehousing.parcel_keeps_goods(p delivery.deliveries) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return p.order_id is not null and exists (
    select from delivery.delivery_items i
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id
    where i.tenant_id = p.tenant_id and i.delivery_id = p.id and k.parcel_delivery_id is null);
end $$;

-- Makes what is in a parcel known to warehouses: an inventory item for each thing that nobody sells.
create or replace function warehousing.parcel_items_known(parcel uuid) returns void
language plpgsql set search_path = '' as $$
begin
  with made as (
    insert into warehousing.inventory_items (tenant_id, name, sku, barcode, parcel_delivery_id)
    select i.tenant_id, i.name, 'PARCEL-' || d.delivery_code || '-' || i.position, d.barcode, d.id
    from delivery.delivery_items i
    join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
    where i.tenant_id = app.tenant_id() and i.delivery_id = parcel and i.item_id is null
    returning id, tenant_id, sku
  )
  update delivery.delivery_items i set item_id = m.id
  from made m, delivery.deliveries d
  where i.tenant_id = m.tenant_id and i.delivery_id = parcel and d.tenant_id = i.tenant_id and d.id = parcel
    and m.sku = 'PARCEL-' || d.delivery_code || '-' || i.position;
end $$;

-- The goods of a store that a delivery brings back from their customer, at the places they have in their parcel; none for any other delivery, for
-- goods that are not kept in stock, and for what was given in exchange for them.
create or replace function warehousing.goods_sent_back(d delivery.deliveries) returns table ("position" integer, item_id uuid, quantity bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  if d.delivery_flow <> 'customer_return' or d.made_at_door then
    return;
  end if;
  return query
  select g.position, o.inventory_item_id, case when d.returns_part then x.units else i.quantity end
  from storefront.storefront_order_parts p
  join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id
  join storefront.storefront_order_items o on o.tenant_id = g.tenant_id and o.id = g.order_item_id
  join delivery.delivery_items i on i.tenant_id = p.tenant_id and i.delivery_id = p.delivery_id and i.position = g.position
  cross join lateral (
    select sum(b.quantity)::bigint as units from delivery.delivery_items b
    where b.tenant_id = d.tenant_id and b.delivery_id = d.id and b.returned_item_id = i.id) x
  where p.tenant_id = d.tenant_id and p.delivery_id = d.original_delivery_id and o.inventory_item_id is not null
    and (x.units > 0 or not d.returns_part)
  order by g.position;
end $$;

-- True for a return of a store's parcel that left with its goods. Where it ends it brings them back for good: its order expects the goods
-- (storefront.order_goods_expect), and the parcel is no stock beside them. SECURITY DEFINER: staff of a warehouse see no orders. Fails: forbidden
-- (app.require_tenant).
create or replace function warehousing.brings_goods_back(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return d.delivery_flow = 'operational_return' and exists (
    select from storefront.storefront_order_parts p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.original_delivery_id and p.picking_order_id is not null and p.left_at is not null);
end $$;

-- True for a receipt of goods that a customer sent back to their store. They are unpacked, and looked at, where they are received.
create or replace function warehousing.receipt_is_of_goods(r warehousing.receiving_orders) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from delivery.deliveries d
    join warehousing.receiving_order_items i on i.tenant_id = d.tenant_id and i.receiving_order_id = r.id
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
    where d.tenant_id = r.tenant_id and d.id = r.delivery_id and d.delivery_flow = 'customer_return');
end $$;

-- The units that left a warehouse with a return that was fetched in one, since it was last taken into stock: less than its parcel, where not all
-- of that had come. No rows for any other delivery, and where nothing of it lay in stock.
create or replace function warehousing.return_left_with(d delivery.deliveries) returns table (item_id uuid, quantity bigint, damaged bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  if d.delivery_flow <> 'operational_return' or not delivery.leaves_warehouse(d) then
    return;
  end if;
  return query
  with moved as (
    select t.id, t.item_id, t.quantity, t.transaction_type, t.from_status from delivery.delivery_items i
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is not null
    join warehousing.inventory_transactions t on t.tenant_id = k.tenant_id and t.item_id = k.id
    where i.tenant_id = d.tenant_id and i.delivery_id = d.id and t.transaction_type in ('receive', 'transfer_in', 'pick', 'transfer_out')
  )
  select m.item_id, sum(m.quantity)::bigint, coalesce(sum(m.quantity) filter (where m.from_status = 'damaged'), 0)::bigint from moved m
  where m.transaction_type in ('pick', 'transfer_out')
    and m.id > coalesce((select max(x.id) from moved x where x.transaction_type in ('receive', 'transfer_in')), 0)
  group by m.item_id;
end $$;

-- A pending receipt of a delivery's parcel at a warehouse, with a line for each thing in it; the one there is already,
-- if there is one. A parcel that was never written down in parts is one thing; what a store sold is the goods that are kept in stock, and where
-- none of them is, the parcel. Of a return from a warehouse
-- that is expected which left it.
create or replace function warehousing.receipt_open(d delivery.deliveries, warehouse uuid, source text, exception uuid default null) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_goods boolean := exists (select from warehousing.goods_sent_back(v_parcel));
  v_left boolean := exists (select from warehousing.return_left_with(v_parcel));
begin
  select r.id into v_id from warehousing.receiving_orders r
  where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending';
  if found then
    update warehousing.receiving_orders r set exception_id = exception, source = receipt_open.source
    where r.tenant_id = d.tenant_id and r.id = v_id and exception is not null and r.source <> 'inbound';
    return v_id;
  end if;
  if not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id) then
    perform delivery.delivery_items_write(array[v_parcel]);
  end if;
  if not v_goods and not warehousing.parcel_keeps_goods(v_parcel) then
    perform warehousing.parcel_items_known(v_parcel.id);
  end if;
  insert into warehousing.receiving_orders (tenant_id, reference_number, warehouse_id, source, delivery_id, exception_id, created_by)
  values (d.tenant_id, 'RCV-' || app.padded(app.take_numbers('receiving_order'), 6), warehouse, source, d.id, exception, app.user_id())
  returning id into v_id;
  insert into warehousing.receiving_order_items (tenant_id, receiving_order_id, position, warehouse_id, item_id, quantity)
  select d.tenant_id, v_id, i.position, warehouse, i.item_id, i.quantity
  from delivery.delivery_items i
  where not v_goods and not v_left and i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id and i.item_id is not null
  union all
  select d.tenant_id, v_id, row_number() over (order by i.position), warehouse, i.item_id, l.quantity
  from warehousing.return_left_with(v_parcel) l
  join (select x.item_id, min(x.position) as position from delivery.delivery_items x
    where x.tenant_id = d.tenant_id and x.delivery_id = v_parcel.id group by x.item_id) i on i.item_id = l.item_id
  where v_left
  union all
  select d.tenant_id, v_id, g.position, warehouse, g.item_id, g.quantity from warehousing.goods_sent_back(v_parcel) g;
  update storefront.storefront_order_parts p set receiving_order_id = v_id
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and receipt_open.source <> 'inbound';
  return v_id;
end $$;

-- A delivery that comes back: to where it left from, unless another warehouse is named, and to the default warehouse where the one that it
-- left was deleted meanwhile, as it can be before an outcome is undone. -> the receiving order; null: a store's parcel in
-- which there was nothing, as a carrier may bring back one of which the warehouse had found nothing; or a waybill brings it elsewhere
create or replace function warehousing.receipt_expect(p_delivery uuid, p_warehouse uuid, p_failed boolean) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
  v_exception uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if exists (select from storefront.storefront_order_parts p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.left_at is not null and not exists (
        select from storefront.storefront_order_part_items g where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short)) then
    return null;
  end if;
  -- Its waybill brings it into a warehouse, and it is expected nowhere else.
  if delivery.transfer_under_way(d) ->> 'waybill_id' is not null then
    return null;
  end if;
  select e.id into v_exception from delivery.delivery_exceptions e
  where e.tenant_id = d.tenant_id and e.delivery_id in (d.id, d.parent_id) and e.status = 'open' order by e.created_at desc, e.id limit 1;
  return warehousing.receipt_open(d, coalesce(p_warehouse, (
      select w.id from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = d.pickup_warehouse_id and w.deleted_at is null),
    delivery.default_warehouse(), d.pickup_warehouse_id),
    case when p_failed or v_exception is not null then 'failed_delivery_return' else 'delivery_return_handoff' end, v_exception);
end $$;

-- Nothing is to be received of a delivery any more, but for what is expected in the warehouse `but_in`.
create or replace function warehousing.receipts_withdraw(p_delivery uuid, but_in uuid default null) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update warehousing.receiving_orders r set status = 'cancelled'
  where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status = 'pending' and r.source <> 'inbound'
    and r.warehouse_id is distinct from but_in;
end $$;

-- A delivery that came to a warehouse: received at once where staff need not count it and a default receiving bin
-- is there (setting general.warehouse.handoff_required), otherwise expected, as are goods that come back to a store.
-- -> the receipt; null: that of the goods, where their parcel is back (warehousing.brings_goods_back)
create or replace function warehousing.parcel_arrives(p_delivery uuid, p_warehouse uuid) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
  v_order uuid;
  r warehousing.receiving_orders;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if d.status = 'delivered' and warehousing.brings_goods_back(d) then
    perform delivery.originals_come_back(array[d.original_delivery_id]);
    return null;
  end if;
  v_order := warehousing.receipt_open(d, p_warehouse, 'inbound');
  select * into strict r from warehousing.receiving_orders x where x.tenant_id = d.tenant_id and x.id = v_order;
  if not app.boolean_or(app.settings('general', 'warehouse') -> 'handoff_required', false)
      and warehousing.default_receiving_bin(p_warehouse) is not null and not warehousing.receipt_is_of_goods(r) then
    perform warehousing.receipt_take(v_order, null, null);
  end if;
  return v_order;
end $$;

-- The receipt by which a delivery is expected in a warehouse, or was received there last; null: there is none. SECURITY DEFINER: drivers see
-- nothing of a warehouse.
create or replace function warehousing.receipt_of(p_delivery uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select r.id from warehousing.receiving_orders r
    where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status <> 'cancelled' order by r.created_at desc, r.id limit 1);
end $$;

-- True for a delivery that a warehouse expects. SECURITY DEFINER: drivers see nothing of a warehouse.
create or replace function warehousing.receipt_awaits(p_delivery uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from warehousing.receiving_orders r
    where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status = 'pending');
end $$;

-- A delivery that was said to have come to a warehouse did not: it is not expected there.
create or replace function warehousing.arrival_withdraw(p_delivery uuid) returns void
language plpgsql set search_path = '' as $$
begin
  update warehousing.receiving_orders r set status = 'cancelled'
  where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status = 'pending' and r.source = 'inbound';
end $$;

grant execute on function warehousing.receipt_expect(uuid, uuid, boolean), warehousing.receipts_withdraw(uuid, uuid),
  warehousing.parcel_arrives(uuid, uuid), warehousing.receipt_of(uuid), warehousing.receipt_awaits(uuid),
  warehousing.brings_goods_back(delivery.deliveries) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.parcel_keeps_goods(delivery.deliveries), warehousing.parcel_items_known(uuid),
  warehousing.goods_sent_back(delivery.deliveries), warehousing.return_left_with(delivery.deliveries),
  warehousing.receipt_is_of_goods(warehousing.receiving_orders),
  warehousing.receipt_open(delivery.deliveries,uuid,text,uuid) from barid_caller;
