-- A warehouse that gets another address: what is under way to it or from it goes along.

-- The warehouse that the goods of a store's parcel left, to which this return brings them though it names none; null for any other delivery. SECURITY
-- DEFINER: drivers and staff of a warehouse see no orders. Fails: forbidden (app.require_tenant).
create or replace function delivery.goods_go_back_to(d delivery.deliveries) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return (
    select p.warehouse_id from storefront.storefront_order_parts p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.original_delivery_id and p.left_at is not null
      and (d.delivery_flow = 'operational_return' or d.made_at_door));
end $$;

-- Deliveries that are not over and begin, began or end in a warehouse have its new address, where they had their old one: drivers are sent to
-- where it stands now, and what comes back is known to have come from there. Their prices stay. Printed labels that name it are outdated,
-- drivers are notified, and administrators where another carrier is booked, whom they have to call. What was being ordered meanwhile, with the
-- address of before, follows by a job two minutes later: no call takes so long.
-- SECURITY DEFINER: who keeps warehouses may not write deliveries. Locks: the parcels; the warehouse comes after them.
-- Fails: forbidden.
create or replace function delivery.warehouse_moves(warehouse uuid, from_address uuid, to_address uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  perform delivery.warehouse_moved(warehouse, from_address, to_address);
  perform app.job_add('delivery.warehouse_follow', jsonb_build_object('warehouse_id', warehouse, 'from_address_id', from_address),
    run_at => now() + interval '2 minutes');
end $$;

-- The job: deliveries that still have an address that a warehouse had get the one it has now, unless that is it again. SECURITY DEFINER: the job
-- has no caller. Locks: the parcels.
create or replace function delivery.warehouse_follow(tenant uuid, warehouse uuid, from_address uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_to uuid;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  select w.address_id into v_to from warehousing.warehouses w where w.tenant_id = tenant and w.id = warehouse and w.deleted_at is null;
  if v_to <> from_address then
    perform delivery.warehouse_moved(warehouse, from_address, v_to);
  end if;
end $$;
grant execute on function delivery.warehouse_follow(uuid, uuid, uuid) to barid_api;

-- The move of the deliveries, of the tenant of now.
create or replace function delivery.warehouse_moved(warehouse uuid, from_address uuid, to_address uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_to delivery.addresses;
  v_snapshot jsonb;
  v_parcels uuid[];
  v_moved uuid[];
begin
  select a.* into strict v_to from delivery.addresses a where a.tenant_id = v_tenant and a.id = to_address;
  select to_jsonb(a) into v_snapshot from delivery.addresses_list a where a.id = to_address;
  v_parcels := array(
    select distinct delivery.parcel_of(d) from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status not in ('delivered', 'returned', 'cancelled')
      and (d.pickup_warehouse_id = warehouse and d.pickup_address_id = from_address
        or d.ordered_from_warehouse_id = warehouse and d.ordered_from_address_id = from_address
        or d.dropoff_address_id = from_address and coalesce(delivery.ends_in(d), delivery.goods_go_back_to(d)) = warehouse));
  if v_parcels = '{}' then
    return;
  end if;
  perform delivery.lock_deliveries(v_parcels);
  with moved as (
    update delivery.deliveries d set
      pickup_address_id = case when m.begins then to_address else d.pickup_address_id end,
      pickup_snapshot = case when m.begins then v_snapshot else d.pickup_snapshot end,
      pickup_zone_id = case when m.begins then v_to.zone_id else d.pickup_zone_id end,
      ordered_from_address_id = case when m.began then to_address else d.ordered_from_address_id end,
      ordered_from_snapshot = case when m.began then v_snapshot else d.ordered_from_snapshot end,
      dropoff_address_id = case when m.ends then to_address else d.dropoff_address_id end,
      dropoff_snapshot = case when m.ends then v_snapshot else d.dropoff_snapshot end,
      dropoff_zone_id = case when m.ends then v_to.zone_id else d.dropoff_zone_id end,
      label_outdated = d.label_outdated or m.ends and d.label_edition > 0
    from (
      select x.id, x.pickup_warehouse_id is not distinct from warehouse and x.pickup_address_id = from_address as begins,
        x.ordered_from_warehouse_id is not distinct from warehouse and x.ordered_from_address_id is not distinct from from_address as began,
        x.dropoff_address_id = from_address and coalesce(delivery.ends_in(x), delivery.goods_go_back_to(x)) is not distinct from warehouse as ends
      from delivery.deliveries x
      where x.tenant_id = v_tenant and (x.id = any (v_parcels) or x.parent_id = any (v_parcels))
        and x.status not in ('delivered', 'returned', 'cancelled')
    ) m
    where d.tenant_id = v_tenant and d.id = m.id and (m.begins or m.began or m.ends)
    returning d.id
  )
  select array_agg(m.id) into v_moved from moved m;
  perform delivery.change_announce(v_parcels, '{place}');
  perform integration.shipments_end(v_moved);
  perform integration.shipments_place_changed(v_moved);
end $$;

-- Where the goods of a delivery of a store's order are sold from now: the address of the warehouse that sent it, while there is one; null.
-- SECURITY DEFINER: a customer who sends them back does not see each warehouse.
create or replace function delivery.sold_from(d delivery.deliveries) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return (
    select w.address_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and d.order_id is not null and w.deleted_at is null
      and w.id = case when d.ordered_from_address_id is null then d.pickup_warehouse_id else d.ordered_from_warehouse_id end);
end $$;

-- The warehouse in which a return of this parcel ends that goes to this address: of those that stand there the one that its goods were sold from,
-- else the one that it began in, else the default one, else the oldest; null: somebody's door. SECURITY DEFINER: a customer who sends something
-- back does not see each warehouse.
create or replace function delivery.return_ends_in(parcel uuid, address uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select w.id from warehousing.warehouses w
    left join delivery.deliveries p on p.tenant_id = w.tenant_id and p.id = return_ends_in.parcel
    where w.tenant_id = v_tenant and w.address_id = return_ends_in.address and w.deleted_at is null
    order by exists (
        select from storefront.storefront_order_parts o
        where o.tenant_id = v_tenant and o.delivery_id = p.id and o.picking_order_id is not null and o.warehouse_id = w.id) desc,
      w.id = (delivery.ordered_from(p)).warehouse_id desc nulls last, w.id = delivery.default_warehouse() desc nulls last, w.created_at, w.id
    limit 1);
end $$;

grant execute on function delivery.goods_go_back_to(delivery.deliveries), delivery.warehouse_moves(uuid, uuid, uuid),
  delivery.sold_from(delivery.deliveries), delivery.return_ends_in(uuid, uuid) to barid_caller;

-- Nobody calls these but the function beside them, and the job.
revoke execute on function delivery.warehouse_follow(uuid, uuid, uuid), delivery.warehouse_moved(uuid, uuid, uuid) from barid_caller;
