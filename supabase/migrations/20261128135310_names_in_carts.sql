-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.cart_lines(v_cart storefront.carts)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.cart_names(cart_id uuid)
 RETURNS TABLE(variant_id uuid, product_id uuid, name jsonb, sku text, images jsonb, attributes jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO ''
AS $function$
begin
  return query
    select v.id, p.id, p.name, v.sku, p.images, v.attributes
    from storefront.carts c
    join storefront.cart_items i on i.tenant_id = c.tenant_id and i.cart_id = c.id
    join storefront.product_variants v on v.tenant_id = i.tenant_id and v.id = i.variant_id
    join storefront.products p on p.tenant_id = v.tenant_id and p.id = v.product_id
    where c.tenant_id = app.tenant_id() and c.id = cart_names.cart_id and c.customer_id = app.user_id();
end $function$;

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
      p.id is not null and p.is_active and v.is_active as available
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
        'total', case when i.available then i.price * i.quantity end, 'available', i.available)
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

CREATE OR REPLACE FUNCTION storefront.order_approve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_lines jsonb;
  v_supply jsonb;
  v_found jsonb;
  v_reserved jsonb := '[]';
  v_sends boolean;
  v_dropoff uuid;
  v_deliveries delivery.deliveries[] := '{}';
  v_ids uuid[] := '{}';
  v_agreed jsonb;
  v_answer jsonb;
begin
  if o.status not in ('pending', 'awaiting_approval') then
    perform app.fail('order_not_pending', jsonb_build_object('status', o.status));
  elsif o.payment_method <> 'cash_on_delivery' and (o.payment_status <> 'paid' or storefront.order_paid(o) < o.total_price) then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  end if;
  v_lines := storefront.order_lines(o);
  v_supply := storefront.order_supplied(v_lines, o.shipping_address);
  -- A day is kept until it ends, the last one that can be answered until it ends everywhere.
  if input ->> 'estimated_delivery_date' is not null then
    o.estimated_delivery := least(app.day_end(input ->> 'estimated_delivery_date') - interval '1 microsecond', '9999-12-31 23:59:59.999999+00');
    if o.estimated_delivery < now() then
      perform app.fail('validation_failed', '{"field": "estimated_delivery_date", "reason_key": "reason_past"}');
    end if;
  end if;
  v_sends := (select app.boolean_or(m.settings -> 'auto_create_delivery', false) from storefront.markets m
    where m.tenant_id = o.tenant_id and m.id = o.market_id);
  if v_sends then
    v_dropoff := storefront.order_dropoff(o);
    v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
  end if;
  v_agreed := storefront.order_snapshot_to_json(o);

  perform storefront.lock_stock_of_order(v_lines);
  v_found := storefront.order_supplied(v_lines, o.shipping_address);
  if v_found <> v_supply then
    -- Somebody else took some of it meanwhile.
    v_supply := v_found;
    if v_sends then
      v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
    end if;
  end if;
  v_found := (
    select jsonb_agg(jsonb_build_object('item_id', l.line -> 'inventory_item_id', 'warehouse_id', s.source -> 'warehouse_id',
      'quantity', q.quantity, 'field', 'order_id') order by s.place, q.line)
    from jsonb_array_elements(v_supply -> 'sources') with ordinality s (source, place)
    cross join lateral jsonb_to_recordset(s.source -> 'lines') as q (line integer, quantity bigint)
    cross join lateral (select v_lines -> (q.line - 1) as line) l
    where l.line ->> 'inventory_item_id' is not null);
  if v_found is not null then
    v_reserved := warehousing.stock_reserve('order', o.id, v_found);
  end if;
  for place in 1..cardinality(v_deliveries) loop
    v_ids := v_ids || delivery.delivery_write(v_deliveries[place], storefront.order_contents(v_lines, v_supply -> 'sources' -> (place - 1)));
  end loop;
  perform storefront.order_parts_make(o.id, v_lines, v_supply -> 'sources', v_reserved, v_ids);
  update storefront.storefront_orders x set status = 'confirmed', approved_at = now(), approved_by = app.user_id(),
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = input ->> 'admin_notes',
    estimated_delivery = o.estimated_delivery, delivery_id = v_ids[1]
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  v_answer := storefront.order_state_to_json(o) || v_agreed;
  return jsonb_build_object('order', v_answer, 'inventory_reserved', v_reserved <> '[]', 'deliveries', v_answer -> 'deliveries',
    'delivery_assigned', jsonb_build_object('delivery_id', o.delivery_id,
      'driver_assigned', coalesce((v_answer #>> '{delivery_assignment,driver_assigned}')::boolean, false),
      'tracking_number', v_answer #>> '{delivery_assignment,tracking_number}'));
end $function$;

REVOKE ALL ON FUNCTION "storefront"."cart_names"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."cart_names"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128135310';
end $$;

grant execute on function private.schema_version() to barid_api;
