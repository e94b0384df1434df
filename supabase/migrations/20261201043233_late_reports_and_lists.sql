-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.amount_put_back(p delivery.deliveries, c delivery.amount_changes, p_reason text)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  if c.old_delivery_fee > 0 and not storefront.order_fee_back(p, p_reason = 'as_at_door') then
    c.old_cod_amount := greatest(c.old_cod_amount - c.old_delivery_fee, 0);
    c.old_delivery_fee := 0;
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at, by_report, old_delivery_fee, new_delivery_fee)
  values (p.tenant_id, p.id, p.cod_amount, c.old_cod_amount, p.currency, p_reason, (delivery.amount_agreed(p.id, c.decided_at)).kept_items, 'approved',
    app.user_id(), app.user_id(), clock_timestamp(), true, case when c.old_delivery_fee is not null then p.delivery_fee end, c.old_delivery_fee)
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $function$;

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
  perform integration.shipments_end(v_delivery_ids || array(
    select l.id from delivery.deliveries l where l.tenant_id = v_tenant and l.parent_id = any (v_delivery_ids)));
  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', c.manifest_id, 'manifest_item_id', c.item_id,
      'event_type', 'destination_changed', 'payload', jsonb_build_object(
        'delivery_id', c.delivery_id, 'delivery_code', c.delivery_code,
        'destination_branch_id', v_branch, 'destination_address_id', v_address,
        'delivery_service_id', c.service_id, 'price_difference', c.difference)) order by c.position)
    from unnest(changes) c));
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouse_moved(warehouse uuid, from_address uuid, to_address uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_cash_set(d delivery.deliveries, amount numeric, fee numeric)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- One that is being made owed nothing before.
  v_made boolean := d.created_at = now();
begin
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, status, decided_at, by_report,
    old_delivery_fee, new_delivery_fee)
  select d.tenant_id, d.id, d.cod_amount, amount, d.currency, 'order_divided', 'approved', clock_timestamp(), true, d.delivery_fee, fee
  where not v_made;
  update delivery.deliveries x set cod_amount = amount, delivery_fee = fee,
    ordered_cod_amount = case when v_made then x.ordered_cod_amount else coalesce(x.ordered_cod_amount, x.cod_amount) end,
    label_outdated = x.label_outdated or x.label_edition > 0
  where x.tenant_id = d.tenant_id and x.id = d.id;
  update delivery.deliveries l set label_outdated = true where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.label_edition > 0;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_fee_back(p delivery.deliveries, taken boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  perform from storefront.storefront_orders o where o.tenant_id = p.tenant_id and o.id = p.order_id for no key update;
  for d in
    select x.* from delivery.deliveries x
    where x.tenant_id = p.tenant_id and x.order_id = p.order_id and x.id <> p.id and x.delivery_fee > 0 and x.status not in ('cancelled', 'returned')
    order by x.id
  loop
    if not taken then
      return false;
    -- A carrier collects what it was booked for.
    elsif d.status <> 'delivered' and not delivery.shipment_lives(d.id) then
      perform storefront.order_cash_set(d, greatest(d.cod_amount - d.delivery_fee, 0), 0);
      perform delivery.change_announce(array[d.id], '{amount}');
    end if;
  end loop;
  return true;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_fee_back"(delivery.deliveries, boolean) FROM "barid_caller";

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
end $function$;

CREATE OR REPLACE FUNCTION tenancy.require_return_service(before text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_now text := tenancy.return_service();
begin
  if v_now is distinct from before and exists (select from delivery.delivery_services s where s.id = app.as_uuid(v_now) and not s.active) then
    perform app.fail('delivery_service_not_available',
      '{"field": "general.delivery.settings.return_requests.default_delivery_service_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.return_service()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}';
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_save(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency record;
  v_now record;
  v_before jsonb := tenancy.manifest_settings();
  v_return_service text := tenancy.return_service();
  v_amounts jsonb;
  v_groups jsonb;
  v_saved jsonb;
begin
  perform private.version_alone();
  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
  perform app.keep_currency(v_groups @> '[["general", "currency"]]');
  v_currency := app.currency();
  v_amounts := tenancy.setting_amounts();
  insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
  select app.tenant_id(), p ->> 'module', p ->> 'group', app.merge_patch('{}', p -> 'settings'), app.user_id()
  from jsonb_array_elements(input -> 'patches') p
  order by p ->> 'module', p ->> 'group'
  on conflict (tenant_id, module, group_key) do update set updated_by = excluded.updated_by,
    settings = app.merge_patch(s.settings, (
      select q -> 'settings' from jsonb_array_elements(input -> 'patches') q
      where q ->> 'module' = excluded.module and q ->> 'group' = excluded.group_key));
  perform tenancy.require_references(input -> 'patches');
  if v_groups @> '[["delivery", "transfer_manifest"]]' then
    perform tenancy.require_workflow();
    perform tenancy.require_default_service(v_before);
  end if;
  if v_groups @> '[["general", "delivery"]]' then
    perform tenancy.require_return_service(v_return_service);
  end if;
  v_now := app.currency();
  if (v_now.code, v_now.decimals) <> (v_currency.code, v_currency.decimals) then
    perform tenancy.currency_changed(v_currency.code);
    v_amounts := '{}';
  end if;
  perform tenancy.require_coins_of_settings(v_amounts);
  v_saved := tenancy.settings_get(jsonb_build_object('groups', v_groups));
  return case when v_now.code = v_currency.code then v_saved
    else jsonb_set(v_saved, '{general,currency,kept_amounts}', tenancy.kept_amounts()) end;
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
      -- The warehouse may stand elsewhere by now.
      pickup_snapshot = case when x.pickup_address_id = a.id then x.pickup_snapshot else to_jsonb(a) end,
      pickup_zone_id = case when x.pickup_address_id = a.id then x.pickup_zone_id else a.zone_id end
    from warehousing.warehouses w
    join delivery.addresses_list a on a.id = w.address_id
    where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'returned' and w.tenant_id = d.tenant_id and w.id = r.warehouse_id;
  end if;
  update delivery.assignments a set ended_at = clock_timestamp(), status = case
    when a.status <> 'pending' and exists (select from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'delivered')
      then 'completed'
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
  perform delivery.lock_driver(a.driver_id) from delivery.open_assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id;
  -- Handed over on the road, and not confirmed: it came with who has it still.
  select coalesce(f.driver_id, a.driver_id) into v_driver
  from delivery.assignments a
  left join delivery.assignments f on a.status = 'pending' and f.tenant_id = a.tenant_id and f.id = a.handed_over_from
  where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id and a.status in ('pending', 'assigned', 'accepted');
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

CREATE OR REPLACE FUNCTION warehousing.warehouse_set_users(warehouse warehousing.warehouses, user_ids jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_sent uuid[] := app.uuids(user_ids);
  v_chosen boolean := warehouse.access_mode <> 'all_users';
  v_added uuid[];
  v_found bigint;
begin
  if v_chosen and v_sent = '{}' and (user_ids is not null or not exists (
      select from warehousing.warehouse_users u where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id)) then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  v_added := array(
    select g.id from unnest(v_sent) g (id)
    except
    select u.user_id from warehousing.warehouse_users u where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id);
  perform from tenancy.tenant_users u
  where u.tenant_id = warehouse.tenant_id and u.user_id = any (v_added) and u.tenant_user_type = 'customer' and u.is_business
  order by u.user_id for share;
  get diagnostics v_found = row_count;
  if v_found < cardinality(v_added) then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  if not v_chosen or user_ids is not null then
    delete from warehousing.warehouse_users u
    where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id and (not v_chosen or u.user_id <> all (v_sent));
  end if;
  insert into warehousing.warehouse_users (tenant_id, warehouse_id, user_id)
  -- A person who was taken off the list meanwhile stays off.
  select warehouse.tenant_id, warehouse.id, g.id from unnest(v_added) g (id) where v_chosen
  on conflict do nothing;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
  v_stays_empty boolean;
  v_changes_mode boolean;
  v_from uuid := (select w.address_id from warehousing.warehouses w where w.id = (input ->> 'id')::uuid and w.deleted_at is null);
begin
  -- Parcels are locked before their warehouse.
  if (input ->> 'address_id')::uuid <> v_from then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
    perform delivery.warehouse_moves((input ->> 'id')::uuid, v_from, (input ->> 'address_id')::uuid);
  end if;
  select * into v_warehouse from warehousing.warehouses w
  where w.id = (input ->> 'id')::uuid and w.deleted_at is null for no key update;
  if not found then
    perform app.fail('warehouse_not_found');
  elsif v_warehouse.address_id <> v_from then
    -- Another call has moved it, and its parcels, since: where this one moves it from is to be asked again.
    raise exception 'warehouse % was moved meanwhile', v_warehouse.id using errcode = 'serialization_failure';
  end if;
  v_wanted := jsonb_populate_record(v_warehouse, input);
  v_stays_empty := warehousing.warehouse_users_stay_empty(v_warehouse, v_wanted.access_mode, input -> 'user_ids');
  perform warehousing.require_room(v_wanted.total_capacity, v_wanted.available_capacity, input);
  if not input ? 'status' and input ? 'available_capacity' then
    v_wanted.status := case
      when v_wanted.available_capacity <= 0 and v_wanted.status = 'active' then 'full'
      when (v_wanted.available_capacity > 0) is not false and v_wanted.status = 'full' then 'active'
      else v_wanted.status end;
  end if;
  v_changes_mode := v_wanted.access_mode <> v_warehouse.access_mode;
  -- A list of those who may is not one of those who may not.
  if v_changes_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  -- Nobody of the old list is in the new one unasked: all who are sent are added, and have to be business users now.
  if v_changes_mode then
    -- A person who leaves at the same moment is taken off after their membership.
    perform from tenancy.tenant_users u
    where u.tenant_id = v_warehouse.tenant_id and (u.user_id = any (app.uuids(input -> 'user_ids')) or u.user_id in (
      select x.user_id from warehousing.warehouse_users x where x.tenant_id = v_warehouse.tenant_id and x.warehouse_id = v_warehouse.id))
    order by u.user_id for share;
    delete from warehousing.warehouse_users u where u.tenant_id = v_warehouse.tenant_id and u.warehouse_id = v_warehouse.id;
  end if;
  if not v_stays_empty then
    perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  end if;
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_fee_back"(delivery.deliveries, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "tenancy"."require_return_service"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."require_return_service"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."return_service"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."return_service"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201043233';
end $$;

grant execute on function private.schema_version() to barid_api;
