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

-- True when a return lies in a warehouse that has nothing of its parcel any more, and expects nothing of it. What it never had in stock, such as
-- a parcel that a waybill or a transfer brought, is not lost. Fails: forbidden (app.require_tenant).
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
        where i.tenant_id = r.tenant_id and i.delivery_id = r.id));
end $$;

-- Books out what a parcel has in the stock of a warehouse, or of any (null): it goes along with it. A waybill that has not left holds
-- nothing of it any more. What a pick has set aside leaves by that pick.
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
    from warehousing.inventory_items i
    join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.id
    where i.tenant_id = v_tenant and i.parcel_delivery_id = parcel and s.quantity > 0
      and (s.reserved_for_id is null or s.reserved_for_type = 'waybill')
      and (warehouse is null or s.warehouse_id = warehouse)));
end $$;

grant execute on function warehousing.return_shelved(uuid), warehousing.return_unshelved(uuid),
  warehousing.return_is_lost(delivery.deliveries), warehousing.parcel_leaves(uuid, uuid) to barid_caller;
