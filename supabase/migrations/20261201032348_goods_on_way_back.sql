-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.goods_go_back_to(d delivery.deliveries)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return (
    select p.warehouse_id from storefront.storefront_order_parts p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.original_delivery_id and p.left_at is not null
      and (d.delivery_flow = 'operational_return' or d.made_at_door));
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouse_moves(warehouse uuid, from_address uuid, to_address uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_to delivery.addresses;
  v_snapshot jsonb;
  v_parcels uuid[];
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
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
  where d.tenant_id = v_tenant and d.id = m.id and (m.begins or m.began or m.ends);
  perform delivery.change_announce(v_parcels, '{place}');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_goods_expect(p_order uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
      delivery.default_warehouse(), p.warehouse_id);
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_delete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
begin
  -- Incoming stock locks the warehouse until it has arrived; stock that comes later finds it deleted.
  perform from warehousing.warehouses w where w.id = v_id and w.deleted_at is null for update;
  if not found then
    perform app.fail('warehouse_not_found');
  end if;
  if exists (select from warehousing.stock s where s.tenant_id = v_tenant and s.warehouse_id = v_id and s.quantity > 0) then
    perform app.fail('warehouse_has_inventory');
  end if;
  if exists (select from warehousing.receiving_orders r where r.tenant_id = v_tenant and r.warehouse_id = v_id and r.status = 'pending')
    or exists (select from warehousing.picking_orders p
      where p.tenant_id = v_tenant and p.warehouse_id = v_id and p.status in ('pending', 'in_progress'))
    or exists (select from warehousing.sorting_sessions n where n.tenant_id = v_tenant and n.warehouse_id = v_id and n.status = 'active')
    or exists (select from warehousing.waybills b where b.tenant_id = v_tenant and b.status in ('drafted', 'in_transit')
      and v_id in (b.source_warehouse_id, b.destination_warehouse_id))
    -- A parcel that was missing may turn up.
    or exists (select from warehousing.waybills b join warehousing.waybill_discrepancies x on x.tenant_id = b.tenant_id and x.waybill_id = b.id
      where b.tenant_id = v_tenant and b.destination_warehouse_id = v_id and b.status = 'received' and x.status = 'open')
    -- Goods that a shop sent itself may come back.
    or exists (select from storefront.storefront_order_parts p join storefront.storefront_orders o on o.tenant_id = p.tenant_id and o.id = p.order_id
      where p.tenant_id = v_tenant and p.warehouse_id = v_id and p.left_at is not null and p.delivery_id is null and o.status = 'shipped')
    or exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.status not in ('delivered', 'returned', 'cancelled')
      and (v_id in (d.pickup_warehouse_id, d.dropoff_warehouse_id, d.ordered_to_warehouse_id, d.ordered_from_warehouse_id, d.current_warehouse_id,
        d.staging_warehouse_id)
        or (d.delivery_flow = 'operational_return' or d.made_at_door) and delivery.goods_go_back_to(d) = v_id)
      -- A waybill that was cancelled, or has arrived, leaves the drafts of its pieces of inventory, and nothing of them is on its way.
      and not (d.status = 'draft' and delivery.is_for_waybill(d) and not exists (
        select from warehousing.waybill_deliveries x where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.is_open))) then
    perform app.fail('warehouse_in_use');
  end if;
  if (app.settings('general', 'warehouse') ->> 'default_warehouse_id')::uuid = v_id then
    perform app.fail('warehouse_in_use_by_settings', jsonb_build_object('setting_references',
      jsonb_build_array(jsonb_build_object('source', 'general.warehouse', 'setting_key', 'default_warehouse_id'))));
  end if;
  update warehousing.warehouses w set deleted_at = now() where w.id = v_id;
  return '{}';
end $function$;

REVOKE ALL ON FUNCTION "delivery"."goods_go_back_to"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."goods_go_back_to"(delivery.deliveries) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201032348';
end $$;

grant execute on function private.schema_version() to barid_api;
