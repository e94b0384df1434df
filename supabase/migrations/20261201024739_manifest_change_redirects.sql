-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.order_changes_write(changes private.order_change[], destination jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_address uuid := (destination ->> 'address_id')::uuid;
  v_address_snapshot jsonb;
  v_delivery_ids uuid[] := array(select c.delivery_id from unnest(changes) c);
begin
  if v_delivery_ids = '{}' then
    return;
  end if;
  select to_jsonb(a) into v_address_snapshot from delivery.addresses_list a where a.id = v_address;
  perform delivery.redirects_record((
    select jsonb_agg(jsonb_build_object('delivery_id', c.delivery_id, 'difference', c.difference) order by c.position) from unnest(changes) c));
  perform app.events_add((
    select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected', 'entity_type', 'delivery',
      'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
        'previous_address_id', d.dropoff_address_id, 'dropoff_address_id', v_address, 'dropoff_zone_id', v_address_snapshot -> 'zone_id',
        'delivery_fee', c.price, 'price_difference', c.difference, 'currency', d.currency, 'driver_unassigned', false,
        'actor_id', app.user_id())) order by c.position)
    from unnest(changes) c
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = c.delivery_id));

  update money.payments payment set status = 'CANCELLED'
  where payment.tenant_id = v_tenant and payment.status = 'SUCCESS' and payment.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE')
    and payment.delivery_id = any (array(select c.delivery_id from unnest(changes) c where c.new_payment_id is not null));
  -- `reference` is the id of the payment that this one replaces.
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id,
    delivery_id, reference, actor_id, processed_at)
  select c.new_payment_id, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet', c.price, (app.currency()).code, c.wallet_id,
    c.delivery_id, c.payment_id::text, app.user_id(), now()
  from unnest(changes) c where c.new_payment_id is not null;

  update delivery.deliveries parent set
    dropoff_address_id = v_address,
    dropoff_snapshot = v_address_snapshot,
    dropoff_zone_id = (v_address_snapshot ->> 'zone_id')::uuid,
    recipient = destination -> 'recipient',
    delivery_service_id = c.service_id,
    service_snapshot = delivery.service_snapshot(c.service_id),
    delivery_fee = c.price,
    unit_size = c.unit_size,
    unit_size_source = c.unit_size_source,
    distance_km = c.distance_km,
    label_outdated = true
  from unnest(changes) c
  where parent.tenant_id = v_tenant and parent.id = c.delivery_id;
  perform delivery.legs_take_destination(v_delivery_ids);
  update delivery.transfer_manifest_items item set
    destination_branch_id = v_branch,
    destination_address_id = case when v_branch is null then v_address end
  where item.tenant_id = v_tenant
    and item.id = any (array(select c.item_id from unnest(changes) c));

  perform delivery.change_announce(array_agg(c.delivery_id), '{place,recipient}'::text[] || case when c.difference <> 0 then '{amount}'::text[] end)
  from unnest(changes) c group by c.difference <> 0;
  perform delivery.routes_remeasure(v_delivery_ids);
  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', c.manifest_id, 'manifest_item_id', c.item_id,
      'event_type', 'destination_changed', 'payload', jsonb_build_object(
        'delivery_id', c.delivery_id, 'delivery_code', c.delivery_code,
        'destination_branch_id', v_branch, 'destination_address_id', v_address,
        'delivery_service_id', c.service_id, 'price_difference', c.difference)) order by c.position)
    from unnest(changes) c));
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_kept(p delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('dropoff_address_id', p.dropoff_address_id, 'dropoff_snapshot', p.dropoff_snapshot,
    'dropoff_zone_id', p.dropoff_zone_id, 'recipient', p.recipient, 'delivery_fee', p.delivery_fee,
    'delivery_service_id', p.delivery_service_id, 'service_snapshot', p.service_snapshot, 'unit_size', p.unit_size,
    'unit_size_source', p.unit_size_source, 'distance_km', p.distance_km, 'dropoff_warehouse_id', p.dropoff_warehouse_id,
    'ordered_to_warehouse_id', p.ordered_to_warehouse_id, 'item', (
      select jsonb_build_object('destination_branch_id', i.destination_branch_id, 'destination_address_id', i.destination_address_id)
      from delivery.transfer_manifest_items i where i.tenant_id = p.tenant_id and i.id = p.manifest_item_id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_record(p delivery.deliveries, charged text, difference numeric, late text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  insert into delivery.redirects (tenant_id, delivery_id, before, charged, difference, late_at, redirected_by)
  values (p.tenant_id, p.id, delivery.redirect_kept(p), redirect_record.charged, redirect_record.difference, late, app.user_id())
  returning id into v_id;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_restore(p delivery.deliveries, kept jsonb, fee numeric, what text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries x set
    dropoff_address_id = (kept ->> 'dropoff_address_id')::uuid,
    dropoff_snapshot = kept -> 'dropoff_snapshot',
    dropoff_zone_id = (kept ->> 'dropoff_zone_id')::uuid,
    recipient = kept -> 'recipient',
    delivery_fee = fee,
    -- Rows of before 1.9.1 have neither service nor units: a redirect changes none.
    delivery_service_id = case when kept ? 'delivery_service_id' then (kept ->> 'delivery_service_id')::uuid else x.delivery_service_id end,
    unit_size = case when kept ? 'unit_size' then (kept ->> 'unit_size')::numeric else x.unit_size end,
    unit_size_source = case when kept ? 'unit_size_source' then kept ->> 'unit_size_source' else x.unit_size_source end,
    service_snapshot = kept -> 'service_snapshot',
    distance_km = (kept ->> 'distance_km')::numeric,
    dropoff_warehouse_id = (kept ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (kept ->> 'ordered_to_warehouse_id')::uuid,
    label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  update delivery.transfer_manifest_items i set destination_branch_id = (kept #>> '{item,destination_branch_id}')::uuid,
    destination_address_id = (kept #>> '{item,destination_address_id}')::uuid
  where i.tenant_id = p.tenant_id and i.id = p.manifest_item_id and jsonb_typeof(kept -> 'item') = 'object';
  if p.manifest_item_id is not null then
    perform delivery.manifest_event_add(p.manifest_id, 'destination_changed', jsonb_build_object('delivery_id', p.id,
      'delivery_code', p.delivery_code, 'destination_branch_id', kept #> '{item,destination_branch_id}',
      'destination_address_id', kept #> '{item,destination_address_id}', 'delivery_service_id', coalesce(kept ->> 'delivery_service_id',
        p.delivery_service_id::text), 'price_difference', fee - p.delivery_fee), p.manifest_item_id);
  end if;
  perform delivery.change_announce(array[p.id], what);
  if 'place' = any (what) then
    perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected',
      'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
        'previous_address_id', p.dropoff_address_id, 'dropoff_address_id', kept -> 'dropoff_address_id', 'dropoff_zone_id', kept -> 'dropoff_zone_id',
        'delivery_fee', fee, 'price_difference', fee - p.delivery_fee, 'currency', p.currency, 'driver_unassigned', false,
        'actor_id', app.user_id()))));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirects_record(changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into delivery.redirects (tenant_id, delivery_id, before, charged, difference, redirected_by)
  select p.tenant_id, p.id, delivery.redirect_kept(p), case when c.difference <> 0 then 'wallet' else 'none' end, c.difference, app.user_id()
  from jsonb_to_recordset(changes) c (delivery_id uuid, difference numeric)
  join delivery.deliveries p on p.tenant_id = app.tenant_id() and p.id = c.delivery_id;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_received(d delivery.deliveries, r warehousing.receiving_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- Goods of a store are unpacked: no parcel lies there.
  v_goods boolean := warehousing.receipt_is_of_goods(r);
  v_continues boolean := d.status in ('picked_up', 'in_transit', 'failed') and not v_goods
    and (d.delivery_flow = 'standard' and d.order_id is not null or delivery.stops_at(d, r.warehouse_id));
begin
  if r.source = 'inbound' then
    perform delivery.parcel_at(delivery.parcel_of(d), case when not v_goods then r.warehouse_id end);
    -- It brought a parcel back here.
    if d.delivery_flow = 'operational_return' and d.status = 'delivered' then
      perform delivery.originals_come_back(array[d.original_delivery_id]);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
    update delivery.deliveries n set status = 'pending', pickup_warehouse_id = coalesce(n.pickup_warehouse_id, r.warehouse_id)
    where n.tenant_id = d.tenant_id and n.parent_id = d.parent_id and n.sequence_plan = d.sequence_plan + 1 and n.status = 'draft';
    return;
  end if;
  if v_continues then
    -- It stops here, and continues from here.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    perform warehousing.parcels_advance(array[d.id], r.warehouse_id);
    -- A return that has come to its end.
    perform delivery.returned_fees_refund(array[d.id]);
  elsif d.status in ('picked_up', 'in_transit', 'failed') and v_goods then
    -- Goods that were sent back to the store are its own again, in whichever warehouse.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp() where x.tenant_id = d.tenant_id and x.id = d.id;
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    update delivery.deliveries x set status = 'returned' where x.tenant_id = d.tenant_id and x.id = d.id;
    if not delivery.leaves_warehouse(d) then
      -- Back for good, now that it is here.
      perform delivery.delivery_returned_for_good(d.id);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
  end if;
  if d.order_id is null and not v_goods and not v_continues then
    perform delivery.parcel_at(delivery.parcel_of(d), r.warehouse_id);
  end if;
  if delivery.leaves_warehouse(d) then
    -- It sets out from where it is now.
    update delivery.deliveries x set status = 'pending', pickup_warehouse_id = w.id, pickup_address_id = a.id,
      pickup_snapshot = case when x.pickup_warehouse_id = w.id then x.pickup_snapshot else to_jsonb(a) end,
      pickup_zone_id = case when x.pickup_warehouse_id = w.id then x.pickup_zone_id else a.zone_id end
    from warehousing.warehouses w
    join delivery.addresses_list a on a.id = w.address_id
    where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'returned' and w.tenant_id = d.tenant_id and w.id = r.warehouse_id;
  end if;
  update delivery.assignments a set ended_at = clock_timestamp(), status = case
    when exists (select from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'delivered') then 'completed'
    else 'returned' end
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_take(p_order uuid, details jsonb, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r warehousing.receiving_orders;
  d delivery.deliveries;
  v_driver uuid;
  v_missing bigint;
  v_damaged bigint;
begin
  select * into strict r from warehousing.receiving_orders o where o.tenant_id = app.tenant_id() and o.id = p_order for no key update;
  select a.driver_id into v_driver from delivery.open_assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id;
  perform delivery.lock_driver(v_driver);
  perform warehousing.receipt_fill(r, details);
  update warehousing.receiving_orders o set status = 'received', custody = 'in_warehouse', received_at = clock_timestamp(),
    received_by = app.user_id(), notes = coalesce(receipt_take.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if found then
    perform warehousing.parcel_received(d, r);
    -- Its fee, and what was paid for the order that it ends: wallets before stock, as everywhere.
    perform storefront.orders_settle();
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'warehouse_id', r.warehouse_id, 'bin_id', p.bin_id, 'quantity', p.quantity,
      'status', p.status, 'lot_number', p.lot_number, 'serial_number', p.serial_number))
    from warehousing.receipt_pieces(r) p
    -- A store's parcel that is back is expected as goods.
    where not exists (select from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id and x.status = 'delivered'
      and warehousing.brings_goods_back(x))),
    'receive', 'receiving_order', r.id);
  -- Here its driver has brought it to its end.
  perform money.driver_pay_accrue(x.id, v_driver) from delivery.deliveries x
  where x.tenant_id = r.tenant_id and x.id = r.delivery_id and x.status = 'delivered' and d.status <> 'delivered';
  select coalesce(sum(i.quantity - i.received_quantity), 0), coalesce(sum(i.damaged_quantity), 0) into v_missing, v_damaged
  from warehousing.receiving_order_items i where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'receiving_order.received', 'source_module', 'warehousing',
    'entity_type', 'receiving_order', 'entity_id', r.id, 'event_data', jsonb_build_object('receiving_order_id', r.id,
      'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id, 'source', r.source,
      'missing', v_missing, 'damaged', v_damaged, 'actor_id', app.user_id()))));
  -- Its receiver can only say so: the office decides what becomes of it.
  if v_missing + v_damaged > 0 then
    perform tenancy.notify_roles(r.tenant_id, '{tenant_admin,operations_manager}', 'receipt_incomplete', jsonb_build_object(
      'receiving_order_id', r.id, 'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id,
      'delivery_code', d.delivery_code, 'missing', v_missing, 'damaged', v_damaged));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."redirect_kept"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_kept"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirects_record"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirects_record"(jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201024739';
end $$;

grant execute on function private.schema_version() to barid_api;
