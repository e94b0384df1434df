-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view storefront.products_list reset (security_barrier);
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP FUNCTION "storefront"."product_details"(storefront.products_list);

DROP VIEW "storefront"."products_list";

CREATE OR REPLACE FUNCTION storefront.cart_to_json(cart_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_cart jsonb;
begin
  -- An item that is no longer on sale stays, with its name and without a price, and can be removed.
  with item as materialized (
    select i.id, i.variant_id, i.quantity, i.created_at, n.product_id, n.sku, n.attributes, v.price, n.name, n.images,
      p.id is not null and p.is_active and v.is_active as available, v.inventory_item_id
    from storefront.cart_items i
    left join storefront.cart_names(cart_to_json.cart_id) n on n.variant_id = i.variant_id
    left join storefront.variants_list v on v.tenant_id = i.tenant_id and v.id = i.variant_id
    left join storefront.products p on p.tenant_id = v.tenant_id and p.id = v.product_id and p.archived_at is null
    where i.tenant_id = v_tenant and i.cart_id = cart_to_json.cart_id
  )
  select jsonb_build_object('id', c.id, 'marketId', c.market_id, 'status', c.status, 'currency', (app.currency()).code,
    'items', (
      select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'variantId', i.variant_id, 'productId', i.product_id,
        'productName', i.name, 'sku', i.sku, 'image', i.images -> 0, 'attributes', coalesce(i.attributes, '{}'),
        'quantity', i.quantity, 'unitPrice', case when i.available then i.price end,
        'total', case when i.available then i.price * i.quantity end, 'available', i.available,
        'availableQuantity', case when not i.available then 0
          -- As many as a cart takes: what else lies in the warehouse is the shop's business.
          when i.inventory_item_id is not null then least(storefront.item_available(i.inventory_item_id), 999) end)
        order by i.created_at, i.id), '[]') from item i),
    'totalItems', (select coalesce(sum(i.quantity), 0) from item i),
    'subtotal', (select coalesce(sum(i.price * i.quantity), 0) from item i where i.available),
    'createdAt', c.created_at, 'updatedAt', c.updated_at)
  into v_cart from storefront.carts c where c.tenant_id = v_tenant and c.id = cart_to_json.cart_id;
  if v_cart is null then
    perform app.fail('cart_not_found');
  end if;
  return v_cart;
end $function$;

CREATE OR REPLACE FUNCTION storefront.item_available(p_item uuid)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(sum(s.quantity), 0) from warehousing.stock s
    join warehousing.warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id and w.deleted_at is null
    where s.tenant_id = app.tenant_id() and s.item_id = p_item and s.status = 'available' and s.quantity > 0 and s.written_off_at is null);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_confirm(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_lines(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('order_item_id', i.id, 'inventory_item_id', i.inventory_item_id, 'quantity', i.quantity,
      'variant_id', i.variant_id, 'product_name', i.product_name) order by i.position, i.id), '[]')
    from storefront.storefront_order_items i where i.tenant_id = o.tenant_id and i.order_id = o.id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_shortage(lines jsonb, supply jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('text_key', 'insufficient_stock_of', 'item_id', supply -> 'short', 'variant_id', (array_agg(l.variant_id order by l.place))[1],
      'item_name', (array_agg(app.localized(l.product_name) order by l.place))[1], 'requested', sum(l.quantity),
      'available', sum(l.quantity) - (supply ->> 'short_quantity')::bigint)
    from rows from (jsonb_to_recordset(lines) as (inventory_item_id uuid, quantity bigint, variant_id uuid, product_name jsonb))
      with ordinality l (inventory_item_id, quantity, variant_id, product_name, place)
    where l.inventory_item_id = (supply ->> 'short')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_supplied(lines jsonb, address jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_supply jsonb := storefront.order_supply(lines, address);
begin
  if v_supply ->> 'short' is not null then
    perform app.fail('insufficient_stock', '{"field": "order_id"}'::jsonb || storefront.order_shortage(lines, v_supply));
  end if;
  return v_supply;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_supply(lines jsonb, address jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_default uuid := (app.settings('general', 'warehouse') ->> 'default_warehouse_id')::uuid;
  v_missing jsonb;
  v_sources jsonb := '[]';
  v_asked uuid[] := '{}';
  v_found record;
begin
  select coalesce(jsonb_object_agg(n.item, n.quantity), '{}') into v_missing
  from (select l.inventory_item_id as item, sum(l.quantity) as quantity
    from jsonb_to_recordset(lines) as l (inventory_item_id uuid, quantity bigint) where l.inventory_item_id is not null group by 1) n;
  loop
    select w.id as warehouse_id, a.latitude, a.longitude, coalesce(h.takes, '{}') as takes into v_found
    from warehousing.warehouses w
    join delivery.addresses a on a.tenant_id = w.tenant_id and a.id = w.address_id
    left join (
      select s.warehouse_id, sum(least(s.quantity, m.quantity)) as units, jsonb_object_agg(m.item, least(s.quantity, m.quantity)) as takes
      from (select e.key::uuid as item, e.value::bigint as quantity from jsonb_each_text(v_missing) e) m
      cross join lateral (
        select x.warehouse_id, sum(x.quantity)::bigint as quantity from warehousing.stock x
        where x.tenant_id = v_tenant and x.item_id = m.item and x.status = 'available' and x.quantity > 0 and x.written_off_at is null
        group by 1) s
      group by 1) h on h.warehouse_id = w.id
    where w.tenant_id = v_tenant and w.deleted_at is null and w.id <> all (v_asked)
      and (h.units > 0 or (v_missing = '{}' and w.status in ('active', 'full')))
    order by h.units desc nulls last, w.status in ('active', 'full') desc,
      app.distance_km(a.latitude, a.longitude, (address ->> 'latitude')::double precision, (address ->> 'longitude')::double precision) nulls last,
      w.id = v_default desc nulls last, w.created_at, w.id
    limit 1;
    exit when not found;
    v_asked := v_asked || v_found.warehouse_id;
    v_sources := v_sources || jsonb_build_array(to_jsonb(v_found));
    select coalesce(jsonb_object_agg(m.key, m.left_over), '{}') into v_missing
    from (select e.key, e.value::bigint - coalesce((v_found.takes ->> e.key)::bigint, 0) as left_over from jsonb_each_text(v_missing) e) m
    where m.left_over > 0;
    exit when v_missing = '{}';
  end loop;
  if v_sources = '[]' then
    v_sources := '[{"takes": {}}]';
  end if;
  -- A warehouse's stock of an item and the demand of the lines, laid end to end: each line takes the stretch it covers.
  with line as (
    select l.line, l.inventory_item_id as item, l.quantity, sum(l.quantity) over (partition by l.inventory_item_id order by l.line) as until
    from rows from (jsonb_to_recordset(lines) as (inventory_item_id uuid, quantity bigint)) with ordinality l (inventory_item_id, quantity, line)
  ), taken as (
    select s.place, t.key::uuid as item, t.value::bigint as quantity, sum(t.value::bigint) over (partition by t.key order by s.place) as until
    from jsonb_array_elements(v_sources) with ordinality s (source, place)
    cross join lateral jsonb_each_text(s.source -> 'takes') t
  ), share as (
    select t.place, l.line, l.item, least(l.until, t.until) - greatest(l.until - l.quantity, t.until - t.quantity) as quantity
    from line l join taken t on t.item = l.item and t.until - t.quantity < l.until and l.until - l.quantity < t.until
    union all
    select 1, l.line, null, l.quantity from line l where l.item is null
  ), sized as (
    select s.place, jsonb_agg(jsonb_build_object('line', s.line, 'quantity', s.quantity) order by s.line) as lines,
      sum(i.unit_size * s.quantity) as units, bool_or(i.id is null) as unmeasured
    from share s left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = s.item
    group by 1
  )
  select jsonb_agg(s.source - 'takes' || jsonb_build_object('units', z.units, 'unmeasured', z.unmeasured, 'lines', z.lines) order by s.place) into v_sources
  from jsonb_array_elements(v_sources) with ordinality s (source, place) join sized z on z.place = s.place;
  v_sources := coalesce(v_sources, '[]');
  return coalesce((v_sources -> 0) - 'lines', '{}') || (
    select jsonb_build_object('short', n.item, 'short_quantity', v_missing -> n.item, 'sources', v_sources,
      'units', sum((s.source ->> 'units')::numeric), 'unmeasured', coalesce(bool_or((s.source ->> 'unmeasured')::boolean), true))
    from (select min(e.key) as item from jsonb_each(v_missing) e) n
    left join jsonb_array_elements(v_sources) s (source) on true group by n.item);
end $function$;

CREATE OR REPLACE FUNCTION storefront.save_variants(product_id uuid, variants jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_currency record;
  v_field text;
  v_sku text;
begin
  perform app.keep_currency();
  v_currency := app.currency();
  select format('variants.%s.%s', s.position - 1, f.name) into v_field
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  cross join lateral (values ('price'), ('compare_at_price')) f (name)
  where (s.variant ->> f.name)::numeric <> round((s.variant ->> f.name)::numeric, v_currency.decimals)
  order by s.position limit 1;
  if v_field is not null then
    perform app.fail('too_many_decimals', jsonb_build_object('field', v_field, 'currency', v_currency.code, 'decimals', v_currency.decimals));
  end if;
  select format('variants.%s.id', s.position - 1) into v_field
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where s.variant ->> 'id' is not null and not exists (
    select from storefront.product_variants v where v.tenant_id = v_tenant and v.product_id = save_variants.product_id
      and v.id = (s.variant ->> 'id')::uuid and v.archived_at is null)
  order by s.position limit 1;
  if v_field is not null then
    perform app.fail('variant_not_found', jsonb_build_object('field', v_field));
  end if;
  select format('variants.%s.inventory_item_id', s.position - 1) into v_field
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where s.variant ->> 'inventory_item_id' is not null and not exists (
    select from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = (s.variant ->> 'inventory_item_id')::uuid)
  order by s.position limit 1;
  if v_field is not null then
    perform app.fail('inventory_item_not_found', jsonb_build_object('field', v_field));
  end if;

  update storefront.product_variants v set archived_at = now(), is_active = false
  where v.tenant_id = v_tenant and v.product_id = save_variants.product_id and v.archived_at is null
    and not exists (select from jsonb_array_elements(variants) s
      where s ->> 'id' = v.id::text or (s ->> 'id' is null and s ->> 'sku' = v.sku));

  select format('variants.%s.sku', s.position - 1), v.sku into v_field, v_sku
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  join storefront.product_variants v on v.tenant_id = v_tenant and v.sku = s.variant ->> 'sku' and v.archived_at is null
    and v.product_id <> save_variants.product_id
  order by s.position limit 1;
  if v_field is not null then
    perform app.fail('sku_already_exists', jsonb_build_object('field', v_field, 'sku', v_sku));
  end if;

  -- A sku that goes from one variant to another is free in between.
  update storefront.product_variants v set sku = v.id::text
  where v.tenant_id = v_tenant and v.product_id = save_variants.product_id and v.archived_at is null
    and exists (select from jsonb_array_elements(variants) s where s ->> 'id' = v.id::text)
    and exists (select from jsonb_array_elements(variants) s where s ->> 'id' <> v.id::text and s ->> 'sku' = v.sku);

  update storefront.product_variants v set
    sku = s.variant ->> 'sku', price = (s.variant ->> 'price')::numeric,
    compare_at_price = case when s.variant ? 'compare_at_price' then (s.variant ->> 'compare_at_price')::numeric else v.compare_at_price end,
    inventory_item_id = case when s.variant ? 'inventory_item_id' then (s.variant ->> 'inventory_item_id')::uuid else v.inventory_item_id end,
    attributes = coalesce(s.variant -> 'attributes', v.attributes),
    is_active = coalesce((s.variant ->> 'is_active')::boolean, v.is_active), position = s.position
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where v.tenant_id = v_tenant and v.product_id = save_variants.product_id and v.archived_at is null
    and (s.variant ->> 'id' = v.id::text or (s.variant ->> 'id' is null and s.variant ->> 'sku' = v.sku
      and not exists (select from jsonb_array_elements(variants) n where n ->> 'id' = v.id::text)));

  insert into storefront.product_variants (tenant_id, product_id, sku, price, compare_at_price, inventory_item_id, attributes,
    is_active, position)
  select v_tenant, save_variants.product_id, s.variant ->> 'sku', (s.variant ->> 'price')::numeric,
    (s.variant ->> 'compare_at_price')::numeric, (s.variant ->> 'inventory_item_id')::uuid,
    coalesce(s.variant -> 'attributes', '{}'), coalesce((s.variant ->> 'is_active')::boolean, true), s.position
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where s.variant ->> 'id' is null and not exists (
    select from storefront.product_variants v where v.tenant_id = v_tenant and v.product_id = save_variants.product_id
      and v.sku = s.variant ->> 'sku' and v.archived_at is null);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_take(demands private.stock_demand[], p_reserved_for uuid DEFAULT NULL::uuid, beside uuid[] DEFAULT '{}'::uuid[])
 RETURNS private.stock_part[]
 LANGUAGE plpgsql
 SET search_path TO ''
 SET enable_nestloop TO 'off'
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_status text := case when p_reserved_for is null then 'available' else 'reserved' end;
  v_rows uuid[];
  v_taken private.stock_part[] := '{}';
  v_rank integer;
  v_short record;
begin
  -- Asked line by line (offset 0), each by its item or by whom it is set aside for: a plan for all at once reads whole warehouses.
  if p_reserved_for is null then
    v_rows := array(
      select c.id from unnest(demands) l
      cross join lateral (
        select s.id from warehousing.stock s
        where s.tenant_id = v_tenant and s.item_id = l.item_id and s.status = 'available' and s.quantity > 0 and s.written_off_at is null
          and (l.warehouse_id is null or s.warehouse_id = l.warehouse_id) and (l.bin_id is null or s.bin_id = l.bin_id)
          and (l.lot_number is null or s.lot_number = l.lot_number) and (l.serial_number is null or s.serial_number = l.serial_number)
        offset 0) c);
  else
    v_rows := array(
      select c.id from unnest(demands) l
      cross join lateral (
        select s.id from warehousing.stock s
        where s.tenant_id = v_tenant and s.reserved_for_id = p_reserved_for and s.item_id = l.item_id and s.quantity > 0
          and (l.warehouse_id is null or s.warehouse_id = l.warehouse_id) and (l.bin_id is null or s.bin_id = l.bin_id)
          and (l.lot_number is null or s.lot_number = l.lot_number) and (l.serial_number is null or s.serial_number = l.serial_number)
        offset 0) c);
  end if;
  perform from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_rows || beside) order by s.id for no key update;

  for v_rank in select distinct l.rank from unnest(demands) l order by l.rank desc loop
    -- Demands of one rank do not overlap unless they are equal: laid end to end beside the rows that may
    -- meet them, each takes the stretch it covers.
    with demand as materialized (
      select l.line, l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number, l.quantity,
        dense_rank() over (order by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number) as kind,
        sum(l.quantity) over (partition by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number order by l.line) as until
      from unnest(demands) l where l.rank = v_rank
    ), held as materialized (
      select s.id, s.item_id, s.warehouse_id, s.bin_id, s.lot_number, s.serial_number, s.created_at, s.quantity - coalesce(t.quantity, 0) as quantity
      from warehousing.stock s
      left join (select p.stock_id, sum(p.quantity) as quantity from unnest(v_taken) p group by p.stock_id) t on t.stock_id = s.id
      where s.tenant_id = v_tenant and s.id = any (v_rows) and s.status = v_status and s.quantity > coalesce(t.quantity, 0)
    ), supply as materialized (
      select k.kind, s.id, s.item_id, s.warehouse_id, s.bin_id, s.lot_number, s.serial_number, s.quantity,
        sum(s.quantity) over (partition by k.kind order by s.created_at, s.id) as until
      from (select distinct on (d.kind) d.* from demand d order by d.kind) k
      join held s on s.item_id = k.item_id
        and (k.warehouse_id is null or s.warehouse_id = k.warehouse_id) and (k.bin_id is null or s.bin_id = k.bin_id)
        and (k.lot_number is null or s.lot_number = k.lot_number) and (k.serial_number is null or s.serial_number = k.serial_number)
    )
    select v_taken || coalesce(array_agg((d.line, p.id, p.item_id, p.warehouse_id, p.bin_id, p.lot_number, p.serial_number,
      least(d.until, p.until) - greatest(d.until - d.quantity, p.until - p.quantity))::private.stock_part order by d.line, p.until), '{}')
    into v_taken
    from demand d join supply p on p.kind = d.kind and p.until - p.quantity < d.until and d.until - d.quantity < p.until;
  end loop;

  select l.item_id, l.field, l.quantity as requested, coalesce(t.quantity, 0) as available into v_short
  from unnest(demands) l
  left join (select p.line, sum(p.quantity) as quantity from unnest(v_taken) p group by p.line) t on t.line = l.line
  where l.quantity > coalesce(t.quantity, 0)
  order by l.line limit 1;
  if found then
    perform app.fail('insufficient_stock', jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id,
      'requested', v_short.requested, 'available', v_short.available) || coalesce((
        select jsonb_build_object('text_key', 'insufficient_stock_of', 'item_name', i.name) from warehousing.inventory_items i
        where i.tenant_id = v_tenant and i.id = v_short.item_id), '{}'));
  end if;
  return v_taken;
end $function$;

CREATE VIEW "storefront"."products_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    market_id,
    category_id,
    name,
    app.localized(name) AS title,
    images,
    is_active,
    ( SELECT min(v.price) AS min
           FROM storefront.variants_list v
          WHERE ((v.tenant_id = p.tenant_id) AND (v.product_id = p.id) AND v.is_active)) AS min_price,
    ( SELECT max(v.price) AS max
           FROM storefront.variants_list v
          WHERE ((v.tenant_id = p.tenant_id) AND (v.product_id = p.id) AND v.is_active)) AS max_price,
    ( SELECT COALESCE(jsonb_agg(((to_jsonb(v.*) - '{tenant_id,product_id,position}'::text[]) || jsonb_build_object('attributes',
                CASE
                    WHEN (octet_length((v.attributes)::text) <= 256) THEN v.attributes
                    ELSE NULL::jsonb
                END)) ORDER BY v."position", v.sku), '[]'::jsonb) AS "coalesce"
           FROM ( SELECT v_1.id,
                    v_1.tenant_id,
                    v_1.product_id,
                    v_1.sku,
                    v_1.price,
                    v_1.compare_at_price,
                    v_1.inventory_item_id,
                    v_1.attributes,
                    v_1."position",
                    v_1.is_active
                   FROM storefront.variants_list v_1
                  WHERE ((v_1.tenant_id = p.tenant_id) AND (v_1.product_id = p.id))
                  ORDER BY v_1."position", v_1.sku
                 LIMIT 20) v) AS variants,
    ( SELECT count(*) AS count
           FROM storefront.variants_list v
          WHERE ((v.tenant_id = p.tenant_id) AND (v.product_id = p.id))) AS variant_count,
    ( SELECT jsonb_build_object('average', round(avg(r.rating), 2), 'count', count(*)) AS jsonb_build_object
           FROM storefront.product_reviews r
          WHERE ((r.tenant_id = p.tenant_id) AND (r.product_id = p.id) AND (r.status = 'approved'::text))) AS rating,
    created_at,
    updated_at
   FROM storefront.products p
  WHERE (archived_at IS NULL);

CREATE OR REPLACE FUNCTION storefront.product_details(product storefront.products_list)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object(
    'description', (select p.description from storefront.products p where p.tenant_id = product.tenant_id and p.id = product.id),
    'variants', (
      select coalesce(jsonb_agg(to_jsonb(v) - '{tenant_id,product_id,position}'::text[] order by v.position, v.sku), '[]')
      from storefront.variants_list v where v.tenant_id = product.tenant_id and v.product_id = product.id));
end $function$;

REVOKE ALL ON FUNCTION "storefront"."item_available"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."item_available"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_shortage"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_shortage"(jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."product_details"(storefront.products_list) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."product_details"(storefront.products_list) TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."products_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129215110';
end $$;

grant execute on function private.schema_version() to barid_api;
