-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table storefront.order_goods, storefront.order_part_goods in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "storefront"."order_goods";

DROP VIEW "storefront"."order_part_goods";

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record := app.currency();
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
begin
  d.tenant_id := app.tenant_id();
  d.customer_id := v_people.customer_id;
  d.institution_user_id := v_people.institution_user_id;
  d.payer_type := input ->> 'payer_type';
  d.payment_method := input ->> 'payment_method';
  -- Of a storefront order, said by storefront.order_delivery_terms() alone: no client names it.
  d.order_id := (input ->> 'order_id')::uuid;
  d.cod_amount := coalesce((input ->> 'cod_amount')::numeric, 0);
  d.currency := v_currency.code;
  if d.cod_amount <> round(d.cod_amount, v_currency.decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', d.currency, 'decimals', v_currency.decimals));
  end if;
  if input ->> 'delivery_flow' is distinct from 'customer_return' then
    perform delivery.require_item_prices(input -> 'package', d.cod_amount, v_currency.decimals, coalesce(input ->> 'package_field', 'package'));
  end if;
  if input ->> 'delivery_flow' = 'customer_return' and (d.cod_amount > 0 or d.payer_type = 'receiver')
      and delivery.is_of_order((input ->> 'original_delivery_id')::uuid) then
    if d.cod_amount > 0 then
      perform app.fail('order_amount_fixed', '{"text_key": "return_of_order_has_no_amount"}');
    elsif not app.has_permission('manage:operations:tenant') then
      perform app.fail('forbidden', '{"text_key": "return_of_order_paid_by_customer"}');
    end if;
  end if;
  if d.cod_amount > 0 and v_owner is null then
    perform app.fail('customer_required_for_cod', '{"field": "customer_id"}');
  end if;
  if d.payment_method = 'wallet' then
    -- The wallet is the sender's; a receiver pays at the door.
    if d.payer_type <> 'sender' then
      perform app.fail('wallet_is_the_senders', '{"field": "payment_method"}');
    end if;
    if v_owner is null then
      perform app.fail('customer_required_for_wallet', '{"field": "customer_id"}');
    end if;
  end if;
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  select to_jsonb(a) into d.pickup_snapshot from delivery.addresses_list a where a.id = v_from.id;
  select to_jsonb(a) into d.dropoff_snapshot from delivery.addresses_list a where a.id = v_to.id;
  d.pickup_warehouse_id := (input ->> 'pickup_warehouse_id')::uuid;
  d.dropoff_warehouse_id := coalesce((input ->> 'dropoff_warehouse_id')::uuid,
    case input ->> 'delivery_flow' when 'customer_return' then delivery.sold_in((input ->> 'original_delivery_id')::uuid, v_to.id) end);
  d.recipient := coalesce(input -> 'recipient', '{}');
  d.external_reference_id := input ->> 'external_reference_id';
  d.notes := input ->> 'notes';
  d.promised_at := app.instant(input ->> 'promised_at');
  d.deliver_after := app.instant(input ->> 'deliver_after');
  d.deliver_before := app.instant(input ->> 'deliver_before');
  perform delivery.require_delivery_window(d.deliver_after, d.deliver_before);
  d.carrier_type := coalesce(input ->> 'carrier_type', 'internal');
  d.carrier_code := case d.carrier_type when 'external' then coalesce(input ->> 'carrier_code',
    app.refuse('carrier_code_required', '{"field": "carrier_code"}')::text) end;
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input, v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_sent jsonb := jsonb_strip_nulls(input);
  v_old jsonb;
  v_end text;
begin
  -- A leg that waits as a draft is part of an order.
  if d.status <> 'draft' or d.parent_id is not null then
    return delivery.delivery_correct(d, input);
  end if;
  perform delivery.require_owner(d);
  v_old := jsonb_strip_nulls(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
    'delivery_service_id', d.delivery_service_id, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'cod_amount', d.cod_amount,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details, 'recipient', d.recipient,
    'external_reference_id', d.external_reference_id, 'notes', d.notes, 'promised_at', d.promised_at,
    'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'carrier_type', d.carrier_type, 'carrier_code', d.carrier_code,
    'original_delivery_id', d.original_delivery_id, 'pickup_address_id', d.pickup_address_id, 'dropoff_address_id', d.dropoff_address_id,
    'pickup_warehouse_id', d.pickup_warehouse_id,
    -- Of a store's goods that go back, the address says it.
    'dropoff_warehouse_id', nullif(delivery.ends_in(d), delivery.sold_in(d.original_delivery_id, d.dropoff_address_id))));
  v_old := v_old - array(select k.word from jsonb_object_keys(input) k (word) where not v_sent ? k.word);
  -- A place is said in one way: a new one takes the others away.
  foreach v_end in array '{pickup,dropoff}'::text[] loop
    if v_sent ?| array[v_end, v_end || '_address_id', v_end || '_warehouse_id'] then
      v_old := v_old - array[v_end || '_address_id', v_end || '_warehouse_id'];
    end if;
  end loop;
  if v_sent ?| '{customer_id,institution_user_id}' then
    v_old := v_old - '{customer_id,institution_user_id}'::text[];
  end if;
  v_sent := v_old || v_sent || jsonb_build_object('delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_sent), v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.sold_in(parcel uuid, address uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select w.id from storefront.storefront_order_parts p
    join warehousing.warehouses w on w.tenant_id = p.tenant_id and w.id = p.warehouse_id and w.deleted_at is null
    where p.tenant_id = app.tenant_id() and p.delivery_id = parcel and p.picking_order_id is not null and w.address_id = address);
end $function$;

CREATE OR REPLACE FUNCTION storefront.delivery_address_to_json(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('full_address', d.dropoff_snapshot -> 'full_address', 'city', d.dropoff_snapshot -> 'city',
    'country', d.dropoff_snapshot -> 'country', 'latitude', d.dropoff_snapshot -> 'latitude', 'longitude', d.dropoff_snapshot -> 'longitude',
    'contact_info', d.dropoff_snapshot -> 'contact_info');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_assignment(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'tracking_number', d.barcode, 'status', d.status,
      'delivery_address', storefront.delivery_address_to_json(d), 'driver_assigned', a.driver_id is not null,
      'driver', case when a.driver_id is not null then jsonb_build_object('id', a.driver_id, 'full_name', p.full_name) end)
    from delivery.deliveries d
    left join delivery.assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted', 'completed')
    left join tenancy.profiles p on p.id = a.driver_id
    where d.tenant_id = o.tenant_id and d.id = o.delivery_id
    order by a.created_at desc limit 1);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_customer_to_json(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', storefront.customer_status(o),
    'paymentStatus', o.payment_status, 'paymentMethod', o.payment_method, 'subtotal', o.subtotal, 'taxAmount', o.tax_amount,
    'deliveryFee', o.shipping_cost, 'discountAmount', o.discount_amount, 'totalPrice', o.total_price, 'currency', o.currency,
    'totalItems', o.total_items, 'fulfilment', o.fulfilment, 'customerNotes', o.customer_notes, 'shippingAddress', o.shipping_address,
    'deliveryAddresses', (
      select coalesce(jsonb_agg(a.address order by a.first), '[]') from (
        select storefront.delivery_address_to_json(d) as address, min(d.delivery_code) as first from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status <> 'cancelled' group by 1) a),
    'createdAt', o.created_at, 'updatedAt', o.updated_at, 'refund_due', storefront.order_has_unmatched_payment(o),
    'items', (
      select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'variantId', i.variant_id, 'productId', i.product_id,
        'productName', i.product_name, 'sku', i.sku, 'attributes', i.attributes, 'images', i.images, 'quantity', i.quantity,
        'unitPrice', i.unit_price, 'total', i.total, 'short', coalesce(s.units, 0)) order by i.position), '[]')
      from storefront.storefront_order_items i
      left join storefront.order_left_out(o) s on s.order_item_id = i.id
      where i.tenant_id = o.tenant_id and i.order_id = o.id),
    'market', jsonb_build_object('id', o.market_id, 'name', storefront.store_of_order(o.id),
      'settings', jsonb_build_object('currency', o.currency, 'deliveryFee', o.shipping_cost)),
    'payments', (
      select coalesce(jsonb_agg(storefront.payment_to_json(p) order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_deliveries_to_json(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('delivery_id', d.id, 'warehouse_id', p.warehouse_id, 'tracking_number', d.barcode,
      'status', d.status, 'delivery_address', storefront.delivery_address_to_json(d), 'items', (
        select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'product_name', i.product_name, 'sku', i.sku, 'quantity', g.quantity - g.short)
          order by g.position), '[]')
        from storefront.storefront_order_part_items g
        join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
        where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short)) order by p.position), '[]')
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_item_came(o storefront.storefront_orders, order_item uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  return (
    select count(*) = 0 or sum(g.delivered + g.sent_back) > 0 from storefront.order_part_goods g
    where g.tenant_id = o.tenant_id and g.order_id = o.id and g.order_item_id = order_item);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_settle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_got record;
  v_owed numeric := 0;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.id;
  if o.status = 'cancelled' and not exists (
      select from storefront.storefront_order_parts p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and p.delivery_id is not null) then
    return null;
  end if;
  perform storefront.order_picks_drop(o.id);
  -- Of a delivered order, what did not come to its customer.
  perform storefront.order_goods_expect(o.id);
  if o.status = 'cancelled' then
    perform storefront.order_payment_drop(o.id);
    if o.payment_status = 'paid' then
      v_owed := storefront.order_refundable(o);
    end if;
  elsif o.payment_status = 'paid' and o.fulfilment = 'partial' then
    -- They had got those that they sent back since: the shop says what is given back for these.
    select coalesce(sum(g.delivered + g.sent_back), 0) as units, coalesce(sum(i.unit_price * (g.delivered + g.sent_back)), 0) as value into v_got
    from storefront.order_goods g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = o.tenant_id and g.order_id = o.id;
    -- Cash was collected for what each delivery was to bring, so it is too much only where a carrier collected for what was not found.
    v_owed := case
      when v_got.units = 0 then storefront.order_refundable(o)
      when o.payment_method = 'cash_on_delivery' then storefront.goods_price(o, storefront.order_charged_short(o))
      else storefront.order_refundable(o) - o.shipping_cost - storefront.goods_price(o, v_got.value) end;
  end if;
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
    end;
  end if;
  perform warehousing.stock_release('order', o.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_after_deliveries_moved()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_moved record;
  o storefront.storefront_orders;
begin
  for v_moved in
    select n.id, n.order_id, n.status, w.status as was, n.tenant_id, n.carrier_type from new_rows n join old_rows w on w.id = n.id
    where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit', 'delivered', 'returned', 'cancelled')
    order by n.order_id, n.id
  loop
    select * into o from storefront.storefront_orders x where x.tenant_id = v_moved.tenant_id and x.id = v_moved.order_id for no key update;
    if v_moved.status in ('picked_up', 'in_transit', 'delivered') then
      perform storefront.order_part_leaves(p, v_moved.carrier_type = 'external')
      from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = v_moved.id;
      if o.status in ('approved', 'confirmed') then
        perform storefront.order_shipped(o);
        o.status := 'shipped';
      end if;
    end if;
    if v_moved.was = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
  end loop;
  -- Goods that were sent back are received when their parcel is back, whatever becomes of the rest of the order.
  for v_moved in
    select p.order_id from new_rows n join old_rows w on w.id = n.id
    join delivery.deliveries p on p.tenant_id = n.tenant_id and p.id = n.original_delivery_id
    where n.delivery_flow = 'operational_return' and n.status = 'delivered' and w.status <> 'delivered' and p.order_id is not null
    order by p.order_id
  loop
    perform from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = v_moved.order_id for no key update;
    perform storefront.order_goods_expect(v_moved.order_id);
  end loop;
  -- So are goods that a customer sent back after they had got them.
  perform warehousing.receipt_open(d, delivery.ends_in(d), 'inbound')
  from new_rows n join old_rows w on w.id = n.id
  join delivery.deliveries d on d.tenant_id = n.tenant_id and d.id = n.id
  where n.delivery_flow = 'customer_return' and n.status = 'delivered' and w.status <> 'delivered' and delivery.ends_in(d) is not null
    and exists (select from warehousing.goods_sent_back(d));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.goods_sent_back(d delivery.deliveries)
 RETURNS TABLE("position" integer, item_id uuid, quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."goods_sent_back"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.parcel_arrives(p_delivery uuid, p_warehouse uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_order uuid;
  r warehousing.receiving_orders;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  v_order := warehousing.receipt_open(d, p_warehouse, 'inbound');
  select * into strict r from warehousing.receiving_orders x where x.tenant_id = d.tenant_id and x.id = v_order;
  if not app.boolean_or(app.settings('general', 'warehouse') -> 'handoff_required', false)
      and warehousing.default_receiving_bin(p_warehouse) is not null and not warehousing.receipt_is_of_goods(r) then
    perform warehousing.receipt_take(v_order, null, null);
  end if;
  return v_order;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_received(d delivery.deliveries, r warehousing.receiving_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- Goods of a store are unpacked: no parcel lies there.
  v_goods boolean := warehousing.receipt_is_of_goods(r);
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
  if d.status in ('picked_up', 'in_transit', 'failed')
      and (d.delivery_flow = 'standard' and d.order_id is not null or delivery.stops_at(d, r.warehouse_id)) then
    -- It stops here, and continues from here.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    perform warehousing.parcels_advance(array[d.id], r.warehouse_id);
    -- A return that has come to its end.
    perform delivery.returned_fees_refund(array[d.id]);
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    update delivery.deliveries x set status = 'returned' where x.tenant_id = d.tenant_id and x.id = d.id;
    if not delivery.leaves_warehouse(d) then
      -- Back for good, now that it is here.
      perform delivery.delivery_returned_for_good(d.id);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
  end if;
  if d.order_id is null and not v_goods then
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
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_is_of_goods(r warehousing.receiving_orders)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.deliveries d
    join warehousing.receiving_order_items i on i.tenant_id = d.tenant_id and i.receiving_order_id = r.id
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
    where d.tenant_id = r.tenant_id and d.id = r.delivery_id and d.delivery_flow = 'customer_return');
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."receipt_is_of_goods"(warehousing.receiving_orders) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.receipt_open(d delivery.deliveries, warehouse uuid, source text, exception uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_goods boolean := exists (select from warehousing.goods_sent_back(v_parcel));
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
  if not v_goods then
    perform warehousing.parcel_items_known(v_parcel.id);
  end if;
  insert into warehousing.receiving_orders (tenant_id, reference_number, warehouse_id, source, delivery_id, exception_id, created_by)
  values (d.tenant_id, 'RCV-' || app.padded(app.take_numbers('receiving_order'), 6), warehouse, source, d.id, exception, app.user_id())
  returning id into v_id;
  insert into warehousing.receiving_order_items (tenant_id, receiving_order_id, position, warehouse_id, item_id, quantity)
  select d.tenant_id, v_id, i.position, warehouse, i.item_id, i.quantity
  from delivery.delivery_items i where not v_goods and i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id
  union all
  select d.tenant_id, v_id, g.position, warehouse, g.item_id, g.quantity from warehousing.goods_sent_back(v_parcel) g;
  update storefront.storefront_order_parts p set receiving_order_id = v_id
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and receipt_open.source <> 'inbound';
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_pieces(r warehousing.receiving_orders)
 RETURNS TABLE(item_id uuid, bin_id uuid, status text, lot_number text, serial_number text, quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with come as (
    select i.position, i.item_id, i.bin_id, c.status, c.quantity,
      sum(c.quantity) over (partition by i.item_id order by i.position, c.status) as until
    from warehousing.receiving_order_items i
    cross join lateral (values ('available', i.received_quantity - i.damaged_quantity), ('damaged', i.damaged_quantity)) c (status, quantity)
    where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id and c.quantity > 0
  ), part as (
    select p.* from storefront.storefront_order_parts p
    where p.tenant_id = r.tenant_id and p.id in (
      select q.part_id from storefront.order_part_receipts q where q.tenant_id = r.tenant_id and q.receiving_order_id = r.id)
  ), gone as (
    select m.item_id, m.lot_number, m.serial_number, sum(m.units) as quantity,
      sum(sum(m.units)) over (partition by m.item_id order by min(m.id)) as until
    from (
      select t.id, t.item_id, t.lot_number, t.serial_number, t.quantity as units from part p
      join warehousing.inventory_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.order_id and t.reference_type = 'order'
        and t.transaction_type = 'pick' and t.warehouse_id = p.warehouse_id
      union all
      select t.id, t.item_id, t.lot_number, t.serial_number, -t.quantity from part p
      join storefront.order_part_receipts q on q.tenant_id = p.tenant_id and q.part_id = p.id
      join warehousing.inventory_transactions t on t.tenant_id = p.tenant_id and t.reference_id = q.receiving_order_id
        and t.reference_type = 'receiving_order') m
    group by m.item_id, m.lot_number, m.serial_number having sum(m.units) > 0
  )
  select c.item_id, c.bin_id, c.status, g.lot_number, g.serial_number,
    coalesce(least(c.until, g.until) - greatest(c.until - c.quantity, g.until - g.quantity), c.quantity)::bigint
  from come c
  left join gone g on g.item_id = c.item_id and g.until - g.quantity < c.until and c.until - c.quantity < g.until
  order by c.position, c.status, g.until;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, warehouse_id uuid, item_id uuid, stock_id uuid, movement_id uuid, picking_order_id uuid, order_id uuid, waybill_id uuid, expected numeric, found numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with moved as (
    select m.stock_id, coalesce(sum(m.quantity) filter (where m.created_at <= as_of), 0) as quantity,
      coalesce(sum(m.quantity) filter (where m.created_at > as_of), 0) as since
    from (
      select t.to_stock_id as stock_id, t.quantity, t.created_at from warehousing.inventory_transactions t
      where t.tenant_id = tenant and t.to_stock_id is not null
      union all
      select t.from_stock_id, -t.quantity, t.created_at from warehousing.inventory_transactions t
      where t.tenant_id = tenant and t.from_stock_id is not null) m
    group by m.stock_id
  ), goods as materialized (
    select g.* from storefront.order_part_goods g
    join storefront.storefront_orders o on o.tenant_id = g.tenant_id and o.id = g.order_id and o.created_at <= as_of
    where g.tenant_id = tenant
  )
  select 'quantity', s.warehouse_id, s.item_id, s.id, null::uuid, null::uuid, null::uuid, null::uuid, coalesce(m.quantity, 0),
    s.quantity - coalesce(m.since, 0)
  from warehousing.stock s left join moved m on m.stock_id = s.id
  where s.tenant_id = tenant and s.quantity - coalesce(m.since, 0) <> coalesce(m.quantity, 0)
  union all
  select 'place', t.warehouse_id, t.item_id, s.id, t.movement_id, null, null, null, null, null
  from warehousing.inventory_transactions t
  cross join lateral (values (t.from_stock_id, t.from_bin_id, t.from_status), (t.to_stock_id, t.to_bin_id, t.to_status)) e (stock_id, bin_id, status)
  join warehousing.stock s on s.tenant_id = t.tenant_id and s.id = e.stock_id
  where t.tenant_id = tenant and t.created_at <= as_of
    and ((s.item_id, s.warehouse_id, s.bin_id, s.status) is distinct from (t.item_id, t.warehouse_id, e.bin_id, e.status)
      or s.lot_number is distinct from t.lot_number or s.serial_number is distinct from t.serial_number)
  union all
  select 'written_off', s.warehouse_id, s.item_id, s.id, t.movement_id, null, null, null, 0, t.quantity
  from warehousing.stock s
  join warehousing.inventory_transactions t on t.tenant_id = s.tenant_id and s.id in (t.from_stock_id, t.to_stock_id)
  where s.tenant_id = tenant and s.written_off_at < t.created_at and t.created_at <= as_of
  union all
  select 'reservation', s.warehouse_id, s.item_id, s.id, null, case s.reserved_for_type when 'picking_order' then s.reserved_for_id end,
    case s.reserved_for_type when 'order' then s.reserved_for_id end, case s.reserved_for_type when 'waybill' then s.reserved_for_id end, 0, s.quantity
  from warehousing.stock s
  where s.tenant_id = tenant and s.reserved_for_id is not null and s.quantity > 0 and not case s.reserved_for_type
    when 'picking_order' then exists (
      select from warehousing.picking_orders p where p.tenant_id = s.tenant_id and p.id = s.reserved_for_id
        and (p.status = 'in_progress' or (p.status = 'completed' and p.delivery_id is not null)))
    when 'order' then exists (
      select from storefront.storefront_orders o where o.tenant_id = s.tenant_id and o.id = s.reserved_for_id and o.status in ('confirmed', 'shipped'))
    else exists (
      select from warehousing.waybills w where w.tenant_id = s.tenant_id and w.id = s.reserved_for_id and w.status = 'drafted') end
  union all
  select 'pick_reserved', p.warehouse_id, null, null, null, p.id, null, null, n.asked, n.held
  from warehousing.picking_orders p
  cross join lateral (select coalesce((
      select sum(i.quantity) from warehousing.picking_order_items i where i.tenant_id = p.tenant_id and i.picking_order_id = p.id), 0) as asked,
    coalesce((select sum(k.quantity) from warehousing.stock k
      where k.tenant_id = p.tenant_id and k.reserved_for_type = 'picking_order' and k.reserved_for_id = p.id), 0) as held) n
  where p.tenant_id = tenant and p.order_id is null and (p.status = 'in_progress' or (p.status = 'completed' and p.delivery_id is not null))
    and n.asked <> n.held
  union all
  -- A line that was set aside nowhere is all to reserve, or all released.
  select 'order_line', null, i.inventory_item_id, null, null, null, i.order_id, null, i.quantity, case when n.least < 0 then n.least else n.total end
  from (
    select g.order_item_id, sum(g.reserved + g.picked + g.out + g.delivered + g.back + g.short + g.released + g.lost) as total,
      min(least(g.reserved, g.picked, g.out, g.delivered, g.back, g.short, g.released, g.lost)) as least
    from goods g group by g.order_item_id) p
  join storefront.storefront_order_items i on i.tenant_id = tenant and i.id = p.order_item_id
  join storefront.storefront_orders o on o.tenant_id = i.tenant_id and o.id = i.order_id
  cross join lateral (
    select p.least, p.total + case when o.status in ('pending', 'awaiting_approval') then i.quantity else 0 end as total) n
  where n.total <> i.quantity or n.least < 0
  union all
  select 'order_reserved', coalesce(g.warehouse_id, s.warehouse_id), coalesce(g.item_id, s.item_id), null, null, null,
    coalesce(g.order_id, s.order_id), null, coalesce(g.held, 0), coalesce(s.held, 0)
  from (
    select n.order_id, n.inventory_item_id as item_id, n.warehouse_id, sum(n.reserved + n.picked) as held from goods n
    where n.inventory_item_id is not null group by 1, 2, 3) g
  full join (
    select k.reserved_for_id as order_id, k.item_id, k.warehouse_id, sum(k.quantity) as held from warehousing.stock k
    join storefront.storefront_orders o on o.tenant_id = k.tenant_id and o.id = k.reserved_for_id and o.created_at <= as_of
    where k.tenant_id = tenant and k.reserved_for_type = 'order' group by 1, 2, 3) s using (order_id, item_id, warehouse_id)
  where coalesce(g.held, 0) <> coalesce(s.held, 0)
  union all
  select 'order_left', null, null, null, null, null, g.order_id, null, g.gone, n.booked
  from (
    select x.order_id, sum(x.out + x.delivered + x.back + x.lost) as gone from goods x where x.inventory_item_id is not null group by 1) g
  cross join lateral (
    select coalesce(sum(t.quantity), 0) as booked from warehousing.inventory_transactions t
    where t.tenant_id = tenant and t.reference_id = g.order_id and t.reference_type = 'order' and t.transaction_type = 'pick') n
  where g.gone <> n.booked
  union all
  select 'order_back', p.warehouse_id, null, null, null, null, p.order_id, null, g.back, n.taken
  from (select x.part_id, sum(x.back) as back from goods x where x.inventory_item_id is not null group by 1) g
  join storefront.storefront_order_parts p on p.tenant_id = tenant and p.id = g.part_id
  join (select distinct q.part_id from storefront.order_part_receipts q where q.tenant_id = tenant) e on e.part_id = p.id
  cross join lateral (
    select coalesce(sum(t.quantity), 0) as taken from storefront.order_part_receipts q
    join warehousing.inventory_transactions t on t.tenant_id = tenant and t.reference_id = q.receiving_order_id
      and t.reference_type = 'receiving_order'
    where q.tenant_id = tenant and q.part_id = p.id and exists (
      select from storefront.storefront_order_items i
      where i.tenant_id = tenant and i.order_id = p.order_id and i.inventory_item_id = t.item_id)) n
  where g.back <> n.taken
$function$;

CREATE VIEW "storefront"."order_part_goods" WITH (security_invoker=true) AS  SELECT tenant_id,
    order_id,
    part_id,
    "position",
    order_item_id,
    inventory_item_id,
    warehouse_id,
    quantity,
        CASE
            WHEN (stage = 'here'::text) THEN (kept - fetched)
            ELSE (0)::bigint
        END AS reserved,
        CASE
            WHEN (stage = 'here'::text) THEN fetched
            ELSE (0)::bigint
        END AS picked,
        CASE stage
            WHEN 'out'::text THEN (kept)::bigint
            WHEN 'delivered'::text THEN (sent_back - taken_back)
            ELSE (0)::bigint
        END AS "out",
        CASE
            WHEN (stage = 'delivered'::text) THEN (kept - sent_back)
            ELSE (0)::bigint
        END AS delivered,
        CASE stage
            WHEN 'back'::text THEN received
            WHEN 'delivered'::text THEN found_back
            ELSE (0)::bigint
        END AS back,
    (quantity - kept) AS short,
        CASE
            WHEN (stage = 'released'::text) THEN kept
            ELSE 0
        END AS released,
        CASE stage
            WHEN 'back'::text THEN (kept - received)
            WHEN 'delivered'::text THEN (taken_back - found_back)
            ELSE (0)::bigint
        END AS lost,
    fetched,
        CASE
            WHEN (stage = 'delivered'::text) THEN sent_back
            ELSE (0)::bigint
        END AS sent_back
   FROM ( SELECT g.tenant_id,
            p.order_id,
            g.part_id,
            g."position",
            g.order_item_id,
            i.inventory_item_id,
            p.warehouse_id,
            g.quantity,
            (g.quantity - g.short) AS kept,
            LEAST(((g.quantity - g.short))::bigint, GREATEST((0)::bigint, (k.picked - (sum((g.quantity - g.short)) OVER earlier - (g.quantity - g.short))))) AS fetched,
            LEAST(((g.quantity - g.short))::bigint, COALESCE(c.received_quantity, (0)::bigint)) AS received,
            s.sent_back,
            s.taken_back,
            s.found_back,
                CASE
                    WHEN ((p.left_at IS NULL) AND (o.status = ANY (ARRAY['approved'::text, 'confirmed'::text, 'shipped'::text]))) THEN 'here'::text
                    WHEN (p.left_at IS NULL) THEN 'released'::text
                    WHEN (r.status = 'received'::text) THEN 'back'::text
                    WHEN (COALESCE(d.status, o.status) = ANY (ARRAY['delivered'::text, 'completed'::text])) THEN 'delivered'::text
                    ELSE 'out'::text
                END AS stage
           FROM ((((((((storefront.storefront_order_part_items g
             JOIN storefront.storefront_order_parts p ON (((p.tenant_id = g.tenant_id) AND (p.id = g.part_id))))
             JOIN storefront.storefront_orders o ON (((o.tenant_id = p.tenant_id) AND (o.id = p.order_id))))
             JOIN storefront.storefront_order_items i ON (((i.tenant_id = g.tenant_id) AND (i.id = g.order_item_id))))
             LEFT JOIN delivery.deliveries d ON (((d.tenant_id = p.tenant_id) AND (d.id = p.delivery_id))))
             LEFT JOIN warehousing.receiving_orders r ON (((r.tenant_id = p.tenant_id) AND (r.id = p.receiving_order_id))))
             LEFT JOIN warehousing.receiving_order_items c ON (((c.tenant_id = p.tenant_id) AND (c.receiving_order_id = p.receiving_order_id) AND (c."position" = g."position"))))
             CROSS JOIN LATERAL ( SELECT (COALESCE(sum(x.picked_quantity), (0)::numeric))::bigint AS picked
                   FROM warehousing.picking_order_items x
                  WHERE ((x.tenant_id = p.tenant_id) AND (x.picking_order_id = p.picking_order_id) AND (x.item_id = i.inventory_item_id))) k)
             CROSS JOIN LATERAL ( SELECT (COALESCE(sum(x.quantity), (0)::numeric))::bigint AS sent_back,
                    (COALESCE(sum(x.quantity) FILTER (WHERE (n.status = 'received'::text)), (0)::numeric))::bigint AS taken_back,
                    (COALESCE(sum(x.received_quantity) FILTER (WHERE (n.status = 'received'::text)), (0)::numeric))::bigint AS found_back
                   FROM ((delivery.deliveries b
                     JOIN warehousing.receiving_orders n ON (((n.tenant_id = b.tenant_id) AND (n.delivery_id = b.id) AND (n.status <> 'cancelled'::text))))
                     JOIN warehousing.receiving_order_items x ON (((x.tenant_id = n.tenant_id) AND (x.receiving_order_id = n.id) AND (x."position" = g."position") AND (x.item_id = i.inventory_item_id))))
                  WHERE ((d.status = 'delivered'::text) AND (b.tenant_id = p.tenant_id) AND (b.original_delivery_id = p.delivery_id) AND (b.delivery_flow = 'customer_return'::text))) s)
          WINDOW earlier AS (PARTITION BY g.tenant_id, p.order_id, g.part_id, i.inventory_item_id ORDER BY g."position")) l;

CREATE VIEW "storefront"."order_goods" WITH (security_invoker=true) AS  SELECT i.tenant_id,
    i.order_id,
    i.id AS order_item_id,
    i."position",
    i.inventory_item_id,
    i.quantity AS ordered,
        CASE
            WHEN (o.status = ANY (ARRAY['pending'::text, 'awaiting_approval'::text])) THEN i.quantity
            ELSE 0
        END AS to_reserve,
    COALESCE(sum(g.reserved), (0)::numeric) AS reserved,
    COALESCE(sum(g.picked), (0)::numeric) AS picked,
    COALESCE(sum(g."out"), (0)::numeric) AS "out",
    COALESCE(sum(g.delivered), (0)::numeric) AS delivered,
    COALESCE(sum(g.back), (0)::numeric) AS back,
    COALESCE(sum(g.short), (0)::bigint) AS short,
        CASE
            WHEN ((count(g.part_id) = 0) AND (o.status <> ALL (ARRAY['pending'::text, 'awaiting_approval'::text]))) THEN (i.quantity)::bigint
            ELSE COALESCE(sum(g.released), (0)::bigint)
        END AS released,
    COALESCE(sum(g.lost), (0)::numeric) AS lost,
    COALESCE(sum(g.sent_back), (0)::numeric) AS sent_back
   FROM ((storefront.storefront_order_items i
     JOIN storefront.storefront_orders o ON (((o.tenant_id = i.tenant_id) AND (o.id = i.order_id))))
     LEFT JOIN storefront.order_part_goods g ON (((g.tenant_id = i.tenant_id) AND (g.order_id = i.order_id) AND (g.order_item_id = i.id))))
  GROUP BY i.tenant_id, i.order_id, i.id, i."position", i.inventory_item_id, i.quantity, o.status;

CREATE VIEW "storefront"."order_part_receipts" WITH (security_invoker=true) AS  SELECT p.tenant_id,
    p.id AS part_id,
    p.receiving_order_id
   FROM storefront.storefront_order_parts p
  WHERE (p.receiving_order_id IS NOT NULL)
UNION ALL
 SELECT p.tenant_id,
    p.id AS part_id,
    r.id AS receiving_order_id
   FROM ((storefront.storefront_order_parts p
     JOIN delivery.deliveries b ON (((b.tenant_id = p.tenant_id) AND (b.original_delivery_id = p.delivery_id) AND (b.delivery_flow = 'customer_return'::text))))
     JOIN warehousing.receiving_orders r ON (((r.tenant_id = b.tenant_id) AND (r.delivery_id = b.id) AND (r.status <> 'cancelled'::text))));

-- Goods that customers of stores send back at the update are expected in the warehouse whose address it goes to.
update delivery.deliveries r set dropoff_warehouse_id = w.id
from storefront.storefront_order_parts p
join warehousing.warehouses w on w.tenant_id = p.tenant_id and w.id = p.warehouse_id and w.deleted_at is null
where p.tenant_id = r.tenant_id and p.delivery_id = r.original_delivery_id and p.picking_order_id is not null
  and w.address_id = r.dropoff_address_id and r.dropoff_warehouse_id is null and r.transfer_kind is null
  and r.delivery_flow = 'customer_return' and not r.made_at_door and r.status not in ('delivered', 'returned', 'cancelled');

REVOKE ALL ON FUNCTION "delivery"."sold_in"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."sold_in"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."delivery_address_to_json"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."delivery_address_to_json"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."goods_sent_back"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."receipt_is_of_goods"(warehousing.receiving_orders) FROM PUBLIC;

GRANT SELECT ON TABLE "storefront"."order_goods" TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."order_part_goods" TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."order_part_receipts" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126162923';
end $$;

grant execute on function private.schema_version() to barid_api;
