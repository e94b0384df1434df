-- An order as its customer and its shop read it.

-- A payment of an order as responses show it; cash is called as the order calls it.
create or replace function storefront.payment_to_json(p money.payments) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('id', p.id, 'type', p.type, 'status', p.status,
    'payment_method', case p.payment_method when 'cash' then 'cash_on_delivery' else p.payment_method end, 'amount', p.amount,
    'gateway_transaction_id', p.gateway_transaction_id, 'created_at', p.created_at, 'processed_at', p.processed_at);
end $$;

-- The units of an order's items that its warehouses had not, and that its price is without since the shop accepted it so.
-- SECURITY DEFINER: a customer sees no warehouses' parts of an order. Fails: forbidden (app.require_tenant).
create or replace function storefront.order_left_out(o storefront.storefront_orders) returns table (order_item_id uuid, units bigint)
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(o.tenant_id);
  return query
  select g.order_item_id, sum(g.short)::bigint from storefront.storefront_order_parts p
  join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id and g.short > 0
  where p.tenant_id = o.tenant_id and p.order_id = o.id
  group by g.order_item_id;
end $$;
grant execute on function storefront.order_left_out(storefront.storefront_orders) to barid_caller;

-- False for an item of a delivered order that was left out whole, or stayed in a parcel that did not come to the customer.
-- SECURITY DEFINER: a customer sees no warehouses' parts of an order. Fails: forbidden (app.require_tenant).
create or replace function storefront.order_item_came(o storefront.storefront_orders, order_item uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(o.tenant_id);
  return (
    select count(*) = 0 or sum(g.delivered + g.sent_back) > 0 from storefront.order_part_goods g
    where g.tenant_id = o.tenant_id and g.order_id = o.id and g.order_item_id = order_item);
end $$;
grant execute on function storefront.order_item_came(storefront.storefront_orders, uuid) to barid_caller;

-- Where a delivery goes, as it was last redirected. -> {full_address, city, country, latitude, longitude, contact_info}
create or replace function storefront.delivery_address_to_json(d delivery.deliveries) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('full_address', d.dropoff_snapshot -> 'full_address', 'city', d.dropoff_snapshot -> 'city',
    'country', d.dropoff_snapshot -> 'country', 'latitude', d.dropoff_snapshot -> 'latitude', 'longitude', d.dropoff_snapshot -> 'longitude',
    'contact_info', d.dropoff_snapshot -> 'contact_info');
end $$;

-- The customer's view: camelCase, with payments in snake_case as documented. An item stands as it was ordered; `short` of it are left out.
-- shippingAddress is what was agreed; deliveryAddresses are those where its parcels go, each once.
create or replace function storefront.order_customer_to_json(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', storefront.customer_status(o),
    'paymentStatus', o.payment_status, 'paymentMethod', o.payment_method, 'subtotal', o.subtotal, 'taxAmount', o.tax_amount,
    'deliveryFee', o.shipping_cost, 'discountAmount', o.discount_amount, 'totalPrice', o.total_price, 'currency', o.currency,
    'totalItems', o.total_items, 'fulfilment', o.fulfilment, 'customerNotes', o.customer_notes, 'shippingAddress', o.shipping_address,
    'deliveryAddresses', (
      select coalesce(jsonb_agg(a.address order by a.first), '[]') from (
        select storefront.delivery_address_to_json(d) as address, min(d.delivery_code) as first from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status <> 'cancelled' group by 1) a),
    'createdAt', o.created_at, 'updatedAt', o.updated_at, 'refund_due', storefront.order_has_unmatched_payment(o) or storefront.order_refund_due(o) > 0,
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
end $$;

-- {order_id} -> {order, check: a payment the gateway may be asked about, or null}. Fails: order_not_found.
create or replace function storefront.order_payment_status(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  o storefront.storefront_orders;
begin
  select * into o from storefront.storefront_orders x
  where x.tenant_id = v_tenant and x.user_id = app.user_id() and x.id = (input ->> 'order_id')::uuid;
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  return jsonb_build_object('order', storefront.order_customer_to_json(o), 'check', (
    select p.id from money.payments p
    where p.tenant_id = v_tenant and p.order_id = o.id and p.type = 'ORDER' and money.payment_may_come(p)
      and (p.last_checked_at is null or p.last_checked_at < now() - interval '10 seconds')
    order by p.status = 'pending' desc, p.last_checked_at nulls first limit 1));
end $$;

-- The delivery that brings an order, as a detail shows it; null without one, also where the shop sent it itself after it was cancelled.
create or replace function storefront.order_assignment(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'tracking_number', d.barcode, 'status', d.status,
      'delivery_address', storefront.delivery_address_to_json(d), 'driver_assigned', a.driver_id is not null,
      'driver', case when a.driver_id is not null then jsonb_build_object('id', a.driver_id, 'full_name', p.full_name) end)
    from delivery.deliveries d
    left join delivery.assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted', 'completed')
    left join tenancy.profiles p on p.id = a.driver_id
    where d.tenant_id = o.tenant_id and d.id = o.delivery_id and exists (
      select from storefront.storefront_order_parts x where x.tenant_id = d.tenant_id and x.order_id = o.id and x.delivery_id = d.id)
    order by a.created_at desc limit 1);
end $$;

-- The deliveries of an order, one for each warehouse it leaves: [{delivery_id, warehouse_id, tracking_number, status, delivery_address,
-- items: [{id, product_name, sku, quantity}]}], the first first; the quantity is what travels.
create or replace function storefront.order_deliveries_to_json(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;

-- The goods of an order that the warehouse did not find: [{item {id, product_name, sku}, ordered, picked, accepted}]; picked: what pickers
-- have recorded so far, in every warehouse; accepted: the shop sends it without, and nothing waits for it any more.
create or replace function storefront.order_short(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item', jsonb_build_object('id', i.id, 'product_name', i.product_name, 'sku', i.sku),
      'ordered', i.quantity, 'picked', f.picked, 'accepted', s.waiting = 0) order by i.position, i.id), '[]')
    from (
      select x.item, sum(x.waiting) as waiting from (
        select m.order_item_id as item, m.quantity as waiting
        from jsonb_to_recordset(storefront.order_missing(o.id)) as m (order_item_id uuid, quantity integer)
        union all
        select g.order_item_id, 0 from storefront.storefront_order_parts p
        join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id and g.short > 0
        where p.tenant_id = o.tenant_id and p.order_id = o.id) x
      group by 1) s
    join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = s.item
    cross join lateral (
      select sum(g.fetched) as picked from storefront.order_part_goods g
      where g.tenant_id = o.tenant_id and g.order_id = o.id and g.order_item_id = i.id) f);
end $$;

-- The terms of a placed order, for administrators: customer and goods.
create or replace function storefront.order_snapshot_to_json(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object(
    'customer', (
      select jsonb_build_object('id', p.id, 'full_name', p.full_name, 'email', p.email, 'phone', p.phone)
      from tenancy.people p where p.id = o.user_id),
    'items', (
      select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'product_id', i.product_id, 'product_name', i.product_name,
        'images', i.images, 'quantity', i.quantity, 'unit_price', i.unit_price, 'total', i.total,
        'variant', jsonb_build_object('id', i.variant_id, 'sku', i.sku, 'attributes', i.attributes),
        'warehouse_item', case when w.id is not null then jsonb_build_object('id', w.id, 'name', w.name, 'sku', w.sku) end)
        order by i.position), '[]')
      from storefront.storefront_order_items i
      left join warehousing.inventory_items w on w.tenant_id = i.tenant_id and w.id = i.inventory_item_id
      where i.tenant_id = o.tenant_id and i.order_id = o.id));
end $$;

-- How an order stands, for administrators: its row, its payments, its history, its deliveries and what was short.
create or replace function storefront.order_state_to_json(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return to_jsonb(o) - '{tenant_id,status_group,status_note,back_ref,cart_id,payment_method_type_id,city,delivery_id,changed}'::text[]
    || jsonb_build_object(
    'payments', (
      select coalesce(jsonb_agg(storefront.payment_to_json(p) || jsonb_build_object('gateway_code', p.gateway_code)
        order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id),
    'refunded_amount', (
      select coalesce(sum(p.amount), 0) from money.payments p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS'),
    'refund_due_amount', storefront.order_refund_due(o),
    'status_history', (
      select coalesce(jsonb_agg(jsonb_build_object('status', h.status, 'timestamp', h.created_at, 'note', h.note,
        'updated_by', h.updated_by) order by h.id), '[]')
      from storefront.storefront_order_history h where h.tenant_id = o.tenant_id and h.order_id = o.id),
    'delivery_assignment', storefront.order_assignment(o), 'deliveries', storefront.order_deliveries_to_json(o), 'short', storefront.order_short(o));
end $$;

-- The administrators' view of one order: snake_case.
create or replace function storefront.order_admin_to_json(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return storefront.order_snapshot_to_json(o) || storefront.order_state_to_json(o);
end $$;

-- {order_id} -> the order. Fails: order_not_found.
create or replace function storefront.order_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  o storefront.storefront_orders;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = (input ->> 'order_id')::uuid;
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  return storefront.order_admin_to_json(o);
end $$;

-- Totals of the whole market, whatever a list shows: {totalOrders, pendingOrders, outForDelivery, deliveredToday}.
create or replace function storefront.order_stats() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object(
      'totalOrders', (select coalesce(sum((g.value ->> 'entries')::bigint), 0) from jsonb_each(t.groups) g),
      'pendingOrders', coalesce((t.groups #>> '{pending,entries}')::bigint, 0),
      'outForDelivery', coalesce((t.groups #>> '{shipped,entries}')::bigint, 0),
      'deliveredToday', (
        select count(*) from storefront.storefront_orders o
        where o.tenant_id = (select app.tenant_id())
          and o.delivered_at >= (select app.day_start(app.day_of(now()::text)))))
    from (select app.tally_by('storefront_orders', 'status_group') as groups) t);
end $$;

-- Ids of orders whose number or id contains a text. SECURITY DEFINER because ILIKE is not leakproof: under row-level security
-- PostgreSQL may not use the trigram index for it. It looks at the caller's own tenant only, and answers ids that the
-- caller still has to read through the policies.
create or replace function storefront.orders_matching(part text) returns setof uuid
language plpgsql stable security definer rows 20 set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_part text := app.ascii_digits(part);
  -- The code that all numbers of a market begin with is in the index once for each: what follows is looked up there.
  v_rare text := case when v_part ~ '^[0-9]*-[0-9]{3,}$' and exists (
      select from storefront.markets m where m.tenant_id = v_tenant and right(m.code::text, position('-' in v_part) - 1) = split_part(v_part, '-', 1))
    then split_part(v_part, '-', 2) else v_part end;
begin
  -- Executed as text, so that each search is planned for its own pattern. A number and an id have no space, so what
  -- matches both written together matches one of them, unless the text has one. What is asked in full is asked of an
  -- expression, which the index does not know.
  return query execute $query$
    select o.id from storefront.storefront_orders o
    where o.tenant_id = $1 and (o.order_number || ' ' || o.id::text) operator(pg_catalog.~~*) $2
      and (o.order_number || ' ' || o.id::text || '') operator(pg_catalog.~~*) $3 and $4 !~ ' '
  $query$ using v_tenant, app.contains_pattern(v_rare), app.contains_pattern(v_part), part;
end $$;
grant execute on function storefront.orders_matching(text) to barid_caller;
