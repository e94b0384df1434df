-- Parcels that were brought to another warehouse. SECURITY DEFINER, since a driver who brings one sees no warehouse and no stock;
-- each reads the caller's tenant alone, and the parcels are held.

-- Parcels are in a warehouse now: they wait to continue from here, or end here when here is where they were sent and
-- nothing is to be collected. What transfers had recorded of them is done with, they are expected nowhere else, and what was said to have
-- failed on the way has come all the same. A draft stays one, which is fetched here once it is ordered.
create or replace function warehousing.parcels_advance(parcels uuid[], warehouse uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := array(select d.id from delivery.deliveries d
    where d.tenant_id = v_tenant and (d.id = any (parcels) or d.parent_id = any (parcels)));
  -- Not those of pieces of inventory, which stay what their waybill was for.
  v_drafts uuid[] := array(select d.id from delivery.deliveries d
    where d.tenant_id = v_tenant and d.id = any (parcels) and d.status = 'draft' and not delivery.is_for_waybill(d));
  v_here delivery.addresses;
  v_snapshot jsonb;
begin
  select a.* into v_here from warehousing.warehouses h
  join delivery.addresses a on a.tenant_id = h.tenant_id and a.id = h.address_id
  where h.tenant_id = v_tenant and h.id = warehouse;
  select to_jsonb(a) into v_snapshot from delivery.addresses_list a where a.id = v_here.id;
  perform warehousing.receipts_withdraw(f.id) from unnest(v_family) f (id);
  perform delivery.parcel_at(p.id, warehouse) from unnest(parcels) p (id);
  update delivery.deliveries d set status = 'in_transit'
  where d.tenant_id = v_tenant and d.id = any (v_family) and d.delivery_flow not in ('pnd_parent', 'pnd_inbound')
    and (d.status = 'failed' or d.status = 'returned' and delivery.leaves_warehouse(d));
  -- Of an order this is kept as it moves (delivery.order_keeps_its_beginning).
  update delivery.deliveries d
  set ordered_from_address_id = b.address_id, ordered_from_snapshot = b.snapshot, ordered_from_warehouse_id = b.warehouse_id
  from (select x.id, f.* from delivery.deliveries x cross join lateral delivery.ordered_from(x) f
    where x.tenant_id = v_tenant and x.id = any (v_drafts)) b
  where d.tenant_id = v_tenant and d.id = b.id;
  update delivery.deliveries d set status = case when d.status = 'draft' then d.status when e.ends then 'delivered' else 'pending' end,
    status_reason = null, status_notes = null, delivered_at = case when e.ends then clock_timestamp() end,
    pickup_warehouse_id = case when e.ends then d.pickup_warehouse_id else warehouse end,
    pickup_address_id = case when e.ends then d.pickup_address_id else v_here.id end,
    pickup_snapshot = case when e.ends then d.pickup_snapshot else v_snapshot end,
    pickup_zone_id = case when e.ends then d.pickup_zone_id else v_here.zone_id end,
    -- Parcels that continue from here do not end here; a draft binds nobody yet, and goes where it says.
    dropoff_warehouse_id = case when e.ends then warehouse when d.status = 'draft' then delivery.ends_in(d)
      else nullif(delivery.ends_in(d), warehouse) end,
    transfer_kind = null, ordered_to_warehouse_id = null
  from (
    select x.id, (delivery.ends_in(x) is not distinct from warehouse
        or x.dropoff_address_id = v_here.id and (x.dropoff_warehouse_id is not distinct from warehouse or warehousing.brings_goods_back(x)))
      and c.cod + c.delivery_fee = 0 and x.status <> 'draft' as ends
    from delivery.deliveries x cross join lateral money.cash_due(x, 'dropoff') c
    where x.tenant_id = v_tenant
      and ((x.id = any (parcels) and x.delivery_flow <> 'pnd_parent') or (x.parent_id = any (parcels) and x.delivery_flow = 'pnd_outbound'))
  ) e
  where d.tenant_id = v_tenant and d.id = e.id and (d.status = 'in_transit' or d.id = any (v_drafts));
  perform warehousing.transfers_on_paper_end(array(
    select delivery.parcel_of(f) from delivery.deliveries f where f.tenant_id = v_tenant and f.id = any (v_family)), warehouse);
  -- Goods that a customer sent back, or that came back to their store, end here as goods, not as a parcel: staff unpack them.
  perform warehousing.receipt_open(d, warehouse, 'inbound') from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.delivery_flow = 'customer_return' and d.status = 'delivered'
    and exists (select from warehousing.goods_sent_back(d));
  perform delivery.parcel_at(d.id, null) from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.status = 'delivered' and warehousing.brings_goods_back(d);
end $$;

-- A staged parcel has what transfers on paper recorded in itself, not in its legs: that is done with once it is there, by any way.
create or replace function warehousing.transfers_on_paper_end(parcels uuid[], warehouse uuid) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.deliveries p set dropoff_warehouse_id = delivery.ends_in(p), transfer_kind = null, ordered_to_warehouse_id = null
  where p.tenant_id = app.tenant_id() and p.id = any (parcels) and p.delivery_flow = 'pnd_parent' and p.transfer_kind is not null
    and p.dropoff_warehouse_id = warehouse;
end $$;

-- True when the warehouse a delivery is brought to is where its order ends, and nothing is to be collected there.
create or replace function warehousing.transfer_ends(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_due record := money.cash_due(d, 'dropoff');
begin
  return v_due.cod + v_due.delivery_fee = 0 and (delivery.ends_in(d) is not distinct from d.dropoff_warehouse_id or exists (
    select from warehousing.warehouses w
    where w.tenant_id = app.tenant_id() and w.id = d.dropoff_warehouse_id and w.address_id = d.dropoff_address_id));
end $$;

-- A driver has brought a delivery to the other warehouse, and it continues from there. What lay on a shelf is received
-- there; what goes from door to door lies in no stock.
create or replace function warehousing.transfer_arrives(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if d.status = 'picked_up' then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id;
  end if;
  perform warehousing.parcels_advance(array[d.id], d.dropoff_warehouse_id);
  if delivery.leaves_warehouse(d) then
    perform warehousing.parcel_arrives(d.id, d.dropoff_warehouse_id);
  end if;
end $$;

grant execute on function warehousing.parcels_advance(uuid[], uuid), warehousing.transfer_ends(delivery.deliveries),
  warehousing.transfer_arrives(uuid) to barid_caller;
