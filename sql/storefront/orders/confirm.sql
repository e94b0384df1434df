-- A cart becomes an order.

-- The items of a cart at present prices: [{variant_id, product_id, product_name, sku, attributes, images,
-- inventory_item_id, quantity, unit_price}]. Fails: cart_empty, cart_item_unavailable {variant_id, product_name: as the caller reads it}.
create or replace function storefront.cart_lines(v_cart storefront.carts) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_lines jsonb;
  v_gone uuid;
begin
  select jsonb_agg(jsonb_build_object('variant_id', i.variant_id, 'product_id', p.id, 'product_name', p.name, 'sku', v.sku,
      'attributes', v.attributes, 'images', p.images, 'inventory_item_id', v.inventory_item_id, 'quantity', i.quantity,
      'unit_price', v.price) order by i.created_at, i.id),
    (array_agg(i.variant_id order by i.created_at, i.id) filter (where p.id is null))[1]
  into v_lines, v_gone
  from storefront.cart_items i
  left join storefront.product_variants v on v.tenant_id = i.tenant_id and v.id = i.variant_id and v.is_active and v.archived_at is null
  left join storefront.products p on p.tenant_id = v.tenant_id and p.id = v.product_id and p.market_id = v_cart.market_id
    and p.is_active and p.archived_at is null
  where i.tenant_id = v_cart.tenant_id and i.cart_id = v_cart.id;
  if v_lines is null then
    perform app.fail('cart_empty', '{"field": "cartId"}');
  elsif v_gone is not null then
    perform app.fail('cart_item_unavailable', jsonb_build_object('field', 'cartId', 'variant_id', v_gone, 'product_name', (
      select coalesce(app.localized(n.name), n.sku) from storefront.cart_names(v_cart.id) n where n.variant_id = v_gone)));
  end if;
  return v_lines;
end $$;

-- Where an order goes: one of the caller's addresses, or one that is sent, saved in the address book on request.
-- Without a city it is that of the zone it lies in. {address_id} or {address, save_to_address_book}
-- -> {id?, full_address, city, country, latitude, longitude, contact_info}
-- Fails: address_not_found.
create or replace function storefront.order_address(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_address jsonb := input -> 'address';
begin
  if input ->> 'address_id' is not null then
    select to_jsonb(a) into v_address from storefront.addresses_list a where a.id = (input ->> 'address_id')::uuid;
    if v_address is null then
      perform app.fail('address_not_found', '{"field": "addressId"}');
    end if;
  elsif (input ->> 'save_to_address_book')::boolean then
    v_address := storefront.customer_address_create(jsonb_strip_nulls(v_address));
  else
    v_address := v_address - 'id';
    if v_address ->> 'city' is null then
      v_address := v_address || jsonb_build_object('city', delivery.city_of_zone(app.tenant_id(), delivery.zone_at(app.tenant_id(),
        (v_address ->> 'latitude')::double precision, (v_address ->> 'longitude')::double precision)));
    end if;
  end if;
  return jsonb_build_object('id', v_address -> 'id', 'full_address', v_address -> 'full_address', 'city', v_address -> 'city',
    'country', v_address -> 'country', 'latitude', v_address -> 'latitude', 'longitude', v_address -> 'longitude',
    'contact_info', coalesce(nullif(v_address -> 'contact_info', 'null'), '{}'));
end $$;

-- How an order can be paid in a market, or the refusal. {payment_method_type_id, back_ref?, back_ref_host?, platform_host}
-- Fails: payment_method_not_found, invalid_payment_method, gateway_not_configured, back_ref_required, back_ref_not_allowed.
create or replace function storefront.order_payment_method(market storefront.markets, input jsonb) returns storefront.payment_method_types
language plpgsql stable set search_path = '' as $$
declare
  v_method storefront.payment_method_types;
begin
  select * into v_method from storefront.payment_method_types t where t.id = (input ->> 'payment_method_type_id')::uuid and t.is_active;
  if v_method.id is null then
    perform app.fail('payment_method_not_found', '{"field": "paymentMethodTypeId"}');
  elsif not exists (select from storefront.payment_methods_on(market.settings) t where t.id = v_method.id) then
    perform app.fail('invalid_payment_method', '{"field": "paymentMethodTypeId"}');
  end if;
  if v_method.type = 'gateway' then
    perform money.require_back_ref(input);
    if not money.gateway_in_use(v_method.gateway_code) then
      perform app.fail('gateway_not_configured', '{"field": "paymentMethodTypeId"}');
    end if;
  end if;
  return v_method;
end $$;

-- The answer of a confirmed order: {order, payment_type, payment_id: one to open at a gateway, or null}.
create or replace function storefront.order_confirmed(order_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('order', storefront.order_customer_to_json(o), 'payment_type', o.payment_method, 'payment_id', (
      select p.id from money.payments p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending' and p.payment_method = 'gateway'
        and p.expires_at > now() and o.status in ('pending', 'awaiting_approval')))
    from storefront.storefront_orders o where o.tenant_id = app.tenant_id() and o.id = order_confirmed.order_id);
end $$;

-- The order a cart became: the same again, whatever else is sent. A payment that failed may be tried once more, as long as the order waits
-- for one. Fails: gateway_not_configured (switched off since), back_ref_required, back_ref_not_allowed.
create or replace function storefront.order_confirm_again(v_cart storefront.carts, input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders;
  v_code text;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = v_cart.tenant_id and x.cart_id = v_cart.id for no key update;
  if o.payment_method = 'gateway' and o.payment_status = 'failed' and o.status in ('pending', 'awaiting_approval')
      and o.created_at > now() - interval '24 hours' and not exists (select from money.payments p
        where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending') then
    select t.gateway_code into v_code from storefront.payment_method_types t where t.id = o.payment_method_type_id;
    perform money.require_back_ref(input);
    if not money.gateway_in_use(v_code) then
      perform app.fail('gateway_not_configured', '{"field": "paymentMethodTypeId"}');
    end if;
    perform storefront.order_charge(o.id, v_code, input ->> 'back_ref');
  end if;
  return storefront.order_confirmed(o.id);
end $$;

-- Confirms the caller's cart, once: at the prices of now, with the fee of POST /delivery/price, paid by wallet at once.
-- {cart_id, market_id, delivery_service_id, payment_method_type_id, address_id | address, save_to_address_book?,
--  back_ref?, back_ref_host?, platform_host, customer_notes?} -> see order_confirmed(), and is_new true unless the cart was confirmed before
-- Fails: cart_not_found, cart_not_active, market_not_found, cart_empty, cart_item_unavailable, insufficient_stock,
-- insufficient_wallet_balance, what order_payment_method, order_address and price_preview fail with.
create or replace function storefront.order_confirm(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_cart storefront.carts;
  v_market storefront.markets;
  v_method storefront.payment_method_types;
  v_lines jsonb;
  v_supply jsonb;
  v_address jsonb;
  v_subtotal numeric;
  v_items bigint;
  v_fee numeric;
  v_order uuid := gen_random_uuid();
begin
  select * into v_cart from storefront.carts c
  where c.tenant_id = v_tenant and c.customer_id = app.user_id() and c.id = (input ->> 'cart_id')::uuid for no key update;
  if v_cart.id is null then
    perform app.fail('cart_not_found', '{"field": "cartId"}');
  elsif v_cart.market_id <> (input ->> 'market_id')::uuid then
    perform app.fail('market_not_found', '{"field": "marketId"}');
  elsif v_cart.status = 'converted' then
    return storefront.order_confirm_again(v_cart, input);
  elsif v_cart.status <> 'active' then
    perform app.fail('cart_not_active', '{"field": "cartId"}');
  end if;
  select * into v_market from storefront.markets m where m.tenant_id = v_tenant and m.id = v_cart.market_id and m.is_live;
  if v_market.id is null then
    perform app.fail('market_not_found', '{"field": "marketId"}');
  end if;
  perform app.keep_currency();
  v_method := storefront.order_payment_method(v_market, input);
  v_lines := storefront.cart_lines(v_cart);
  select sum(l.quantity * l.unit_price), sum(l.quantity) into v_subtotal, v_items
  from jsonb_to_recordset(v_lines) as l (quantity bigint, unit_price numeric);
  v_address := storefront.order_address(input);
  v_supply := storefront.order_supply(v_lines, v_address);
  if v_supply ->> 'short' is not null then
    perform app.fail('insufficient_stock', '{"field": "cartId"}'::jsonb || storefront.order_shortage(v_lines, v_supply));
  end if;
  v_fee := (delivery.price_preview(storefront.order_quote_input(input ->> 'delivery_service_id', v_supply, v_address)) ->> 'price')::numeric;
  -- A gateway takes no payment of nothing, and no fraction of what it counts by.
  if v_method.type = 'gateway' and (v_subtotal + v_fee = 0
      or v_subtotal + v_fee <> round(v_subtotal + v_fee, money.gateway_digits(v_method.gateway_code, (app.currency()).code))) then
    perform app.fail('invalid_payment_method', '{"field": "paymentMethodTypeId", "text_key": "gateway_takes_no_such_amount"}');
  end if;
  insert into storefront.storefront_orders (id, tenant_id, order_number, market_id, user_id, cart_id, payment_method, payment_method_type_id,
    delivery_service_id, currency, subtotal, shipping_cost, total_price, total_items, address_id, shipping_address, city, customer_notes, back_ref)
  values (v_order, v_tenant, v_market.code || '-' || app.padded(app.take_numbers('storefront_order'), 6), v_market.id, v_cart.customer_id,
    v_cart.id, v_method.type, v_method.id, (input ->> 'delivery_service_id')::uuid, (app.currency()).code, v_subtotal, v_fee, v_subtotal + v_fee,
    v_items, (v_address ->> 'id')::uuid, v_address - 'id', v_address ->> 'city', input ->> 'customer_notes', input ->> 'back_ref');
  insert into storefront.storefront_order_items (tenant_id, order_id, variant_id, product_id, position, product_name, sku, attributes, images,
    inventory_item_id, quantity, unit_price, total)
  select v_tenant, v_order, l.variant_id, l.product_id, l.position, l.product_name, l.sku, l.attributes, l.images, l.inventory_item_id,
    l.quantity, l.unit_price, l.quantity * l.unit_price
  from rows from (jsonb_to_recordset(v_lines) as (variant_id uuid, product_id uuid, product_name jsonb, sku text, attributes jsonb,
    images jsonb, inventory_item_id uuid, quantity integer, unit_price numeric)) with ordinality
    l (variant_id, product_id, product_name, sku, attributes, images, inventory_item_id, quantity, unit_price, position);
  update storefront.carts c set status = 'converted' where c.tenant_id = v_tenant and c.id = v_cart.id;
  perform storefront.order_charge(v_order, v_method.gateway_code, input ->> 'back_ref');
  return storefront.order_confirmed(v_order) || '{"is_new": true}';
end $$;

-- The trip of an order in the words of POST /delivery/price: from the warehouse that has it to the customer. What is not measured counts
-- together as one parcel as the tenant says for missing sizes, else as one unit, beside what is measured: up to the most that the service
-- carries, since a guess refuses no goods.
create or replace function storefront.order_quote_input(service text, supply jsonb, address jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_settings jsonb := app.settings('general', 'unit_size');
  v_units numeric := (supply ->> 'units')::numeric;
begin
  if (supply ->> 'unmeasured')::boolean and v_units is not null then
    select greatest(v_units, least(v_units + coalesce(delivery.fallback_units(s, v_settings), 1), s.unit_max)) into v_units
    from delivery.delivery_services s where s.id = service::uuid;
  elsif v_units is null and v_settings ->> 'missing_unit_size_fallback' is null then
    v_units := 1;
  end if;
  return jsonb_build_object('delivery_service_id', service, 'service_field', 'deliveryServiceId', 'package_field', 'cartId',
    'place_fields', jsonb_build_array('address', 'address'), 'has_dropoff', true)
    || case when v_units is not null then jsonb_build_object('unit_size', v_units) else '{}' end
    || case when supply ->> 'latitude' is not null and address ->> 'latitude' is not null
      then jsonb_build_object('pickup', jsonb_build_object('latitude', supply -> 'latitude', 'longitude', supply -> 'longitude')) else '{}' end
    || case when address ->> 'latitude' is not null
      then jsonb_build_object('dropoff', jsonb_build_object('latitude', address -> 'latitude', 'longitude', address -> 'longitude')) else '{}' end;
end $$;

-- The way of an order that nobody has measured yet, before order_confirm() prices it. Its input -> see
-- delivery.road_distance_missing(). What it would refuse has no way.
create or replace function storefront.order_road_distance_missing(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_lines jsonb;
  v_address jsonb := input -> 'address';
begin
  select jsonb_agg(jsonb_build_object('inventory_item_id', v.inventory_item_id, 'quantity', i.quantity)) into v_lines
  from storefront.carts c
  join storefront.cart_items i on i.tenant_id = c.tenant_id and i.cart_id = c.id
  join storefront.product_variants v on v.tenant_id = i.tenant_id and v.id = i.variant_id
  where c.tenant_id = app.tenant_id() and c.customer_id = app.user_id() and c.id = (input ->> 'cart_id')::uuid and c.status = 'active';
  if v_lines is null then
    return null;
  elsif input ->> 'address_id' is not null then
    select to_jsonb(a) into v_address from storefront.addresses_list a where a.id = (input ->> 'address_id')::uuid;
  end if;
  return delivery.road_distance_missing(storefront.order_quote_input(input ->> 'delivery_service_id', storefront.order_supply(v_lines, v_address), v_address));
end $$;
