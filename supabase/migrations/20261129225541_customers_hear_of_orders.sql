-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.payments in share row exclusive mode;
      set local lock_timeout = '250ms';
      lock table storefront.storefront_orders in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION delivery.shipment_labels(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_zone text := app.timezone();
  v_unknown jsonb;
  v_labels jsonb;
  v_codes bigint[] := array(select c::bigint from jsonb_array_elements_text(input -> 'delivery_codes') c);
begin
  if not app.has_permission('view:tenant') and not app.has_role('institution') and exists (
      select from unnest(v_codes) c (code) where not exists (
        select from delivery.deliveries d where d.delivery_code = c.code and d.delivery_flow = 'customer_return'
          and d.customer_id = app.user_id() and d.status not in ('draft', 'cancelled'))) then
    perform app.fail('forbidden');
  end if;
  select jsonb_agg(c.code order by c.position) into v_unknown from unnest(v_codes) with ordinality c (code, position)
  where not exists (select from delivery.deliveries d where d.delivery_code = c.code);
  if v_unknown is not null then
    perform app.fail('delivery_not_found', jsonb_build_object('delivery_codes', v_unknown));
  end if;
  perform delivery.labels_printed(array(select distinct delivery.parcel_of(d) from delivery.deliveries d where d.delivery_code = any (v_codes)));
  select
    jsonb_agg(jsonb_build_object(
      'template', d.label_assignment,
      'delivery_code', d.delivery_code,
      'edition', d.label_edition,
      'mark', case when d.status = 'cancelled' then d.status else (
        select p.status from delivery.deliveries p
        where p.tenant_id = d.tenant_id and p.id = delivery.parcel_of(d) and p.status in ('draft', 'delivered', 'returned', 'cancelled')) end,
      'barcode', d.barcode,
      'tenant_name', app.localized(t.name),
      'service_name', app.localized(d.service_snapshot -> 'name'),
      'created_on', to_char(d.created_at at time zone v_zone, 'YYYY-MM-DD'),
      'sender', coalesce(delivery.sender_of(d), jsonb_build_object('name', delivery.warehouse_name(d.tenant_id, d.pickup_warehouse_id), 'phone', null))
        || jsonb_build_object('address', d.pickup_snapshot ->> 'full_address', 'city', d.pickup_snapshot ->> 'city'),
      'recipient', jsonb_build_object('name', coalesce(case d.delivery_flow when 'pnd_inbound'
          then delivery.warehouse_name(d.tenant_id, d.dropoff_warehouse_id) else d.recipient ->> 'name' end, ''),
        'phone', case when d.delivery_flow <> 'pnd_inbound' then d.recipient ->> 'phone' end,
        'address', d.dropoff_snapshot ->> 'full_address', 'city', d.dropoff_snapshot ->> 'city'),
      'cod_amount', nullif((delivery.parcel_terms(d)).cod_amount, 0),
      'delivery_fee', nullif((delivery.parcel_terms(d)).delivery_fee, 0),
      'currency', d.currency,
      'decimals', money.decimals_of(d.currency),
      'payer', d.payer_type,
      'unit_size', trim_scale(d.unit_size)::text,
      'pieces', greatest(1, coalesce(jsonb_array_length(case when jsonb_typeof(d.package_details -> 'items') = 'array'
        then d.package_details -> 'items' end), 1)),
      'notes', d.notes,
      'manifest', case when d.source_snapshot is not null then jsonb_build_object(
        'number', d.source_snapshot #>> '{manifest,number}',
        'institution', coalesce(d.source_snapshot #>> '{source,institution,full_name}', ''),
        'branch_name', coalesce(d.source_snapshot #>> '{source,branch,name}', ''),
        'branch_code', coalesce(d.source_snapshot #>> '{source,branch,code}', ''),
        'item_barcode', coalesce(d.source_snapshot #>> '{item,barcode_value}', d.barcode)) end
    ) order by a.position)
  into v_labels
  from unnest(v_codes) with ordinality a (code, position)
  join delivery.deliveries d on d.delivery_code = a.code
  join tenancy.tenants t on t.id = d.tenant_id;
  return v_labels;
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

CREATE OR REPLACE FUNCTION storefront.order_again_notify(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform storefront.order_customer_notify(o, 'order_shipped_again', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
    'undone', d.status_reason is not distinct from 'outcome_undone'))
  from storefront.storefront_orders o
  where o.tenant_id = d.tenant_id and o.id = d.order_id and o.status = 'shipped' and 'failed' = (
    -- Before the move that it has just made.
    select h.to_status from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status in ('picked_up', 'in_transit', 'failed')
    order by h.id desc offset 1 limit 1);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_again_notify"(delivery.deliveries) FROM "barid_caller";

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

CREATE OR REPLACE FUNCTION storefront.order_customer_notify(o storefront.storefront_orders, type text, more jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select u.tenant_id, u.user_id, order_customer_notify.type, jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'market_id', o.market_id, 'status', storefront.customer_status(o)) || more
  from tenancy.tenant_users u
  where u.tenant_id = o.tenant_id and u.user_id = o.user_id and u.is_active and u.user_id is distinct from app.user_id();
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_customer_notify"(storefront.storefront_orders, text, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_failed_notify(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform storefront.order_customer_notify(o, 'order_not_delivered', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
    'reason_label', (
      select r.reason -> 'label' from jsonb_array_elements(tenancy.attempt_settings() -> 'reasons') r (reason)
      where r.reason ->> 'value' = d.status_reason),
    'postponed_to', d.postponed_to,
    'next', case when d.postponed_to is not null then 'postponed'
      when d.attempts_exhausted or d.attempts_used >= coalesce(s.allowed_delivery_attempts, 1) then 'decision' else 'attempt' end))
  from storefront.storefront_orders o
  left join delivery.delivery_services s on s.tenant_id = d.tenant_id and s.id = d.delivery_service_id
  where o.tenant_id = d.tenant_id and o.id = d.order_id and o.status = 'shipped';
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_failed_notify"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_goods_short(p_tenant uuid, p_order uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('name', i.product_name, 'sku', i.sku, 'quantity', s.quantity) order by i.position, i.id), '[]')
    from (
      select g.order_item_id, sum(g.short) as quantity from storefront.storefront_order_parts p
      join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id and g.short > 0
      where p.tenant_id = p_tenant and p.order_id = p_order group by 1) s
    join storefront.storefront_order_items i on i.tenant_id = p_tenant and i.id = s.order_item_id);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_goods_short"(uuid, uuid) FROM "barid_caller";

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

CREATE OR REPLACE FUNCTION storefront.order_refund_notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform storefront.order_customer_notify(o, 'order_refunded', storefront.refund_notice(new))
  from storefront.storefront_orders o
  where o.tenant_id = new.tenant_id and o.id = new.order_id and not exists (
    select from tenancy.notifications n
    where n.user_id = o.user_id and n.created_at = now() and n.payload ->> 'payment_id' = new.id::text);
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_refund_notify"() FROM "barid_caller";

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

CREATE OR REPLACE FUNCTION storefront.order_step_notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  p money.payments;
  v_more jsonb := '{}';
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.id;
  if o.status <> new.status then
    return null;
  end if;
  select * into p from money.payments x
  where x.tenant_id = o.tenant_id and x.order_id = o.id and x.type = 'REFUND' and x.status = 'SUCCESS' and x.processed_at = now();
  if p.id is not null then
    v_more := storefront.refund_notice(p);
  elsif o.refund_due_amount > 0 then
    v_more := jsonb_build_object('refund_due_amount', o.refund_due_amount, 'currency', o.currency);
  end if;
  if new.status = old.status then
    perform storefront.order_customer_notify(o, 'order_shortened', v_more
      || jsonb_build_object('missing', storefront.order_goods_short(o.tenant_id, o.id), 'total_price', o.total_price, 'currency', o.currency));
  elsif new.status = 'confirmed' then
    perform storefront.order_customer_notify(o, 'order_confirmed',
      jsonb_build_object('estimated_delivery_date', (o.estimated_delivery at time zone app.timezone())::date));
  elsif new.status = 'shipped' and old.status = 'delivered' then
    perform storefront.order_customer_notify(o, 'order_shipped_again', '{"undone": true}');
  elsif new.status = 'cancelled' then
    perform storefront.order_customer_notify(o, 'order_cancelled', v_more || jsonb_build_object('fulfilment', o.fulfilment,
      'cancel_reason', case when o.cancel_reason in ('customer_request', 'out_of_stock', 'payment_failed') then o.cancel_reason end));
  else
    perform storefront.order_customer_notify(o, 'order_' || new.status, v_more || jsonb_build_object('fulfilment', o.fulfilment));
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_step_notify"() FROM "barid_caller";

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
    if v_moved.was = 'returned' then
      perform storefront.order_fee_comes_back(o, v_moved.id);
    elsif v_moved.status in ('returned', 'cancelled') then
      perform storefront.order_fee_passes(o, v_moved.id);
    end if;
    -- Undone.
    if v_moved.was = 'delivered' or v_moved.was = 'returned' and o.status = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
    if v_moved.status = 'cancelled' then
      perform storefront.order_stranded_notify(o.id, v_moved.id);
    end if;
  end loop;
  perform storefront.order_failed_notify(n)
  from new_rows n join old_rows w on w.id = n.id where n.order_id is not null and n.status = 'failed' and w.status <> 'failed';
  perform storefront.order_again_notify(n)
  from new_rows n join old_rows w on w.id = n.id
  where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit') and w.status <> 'delivered';
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
  return null;
end $function$;

CREATE OR REPLACE FUNCTION storefront.refund_notice(p money.payments)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('payment_id', p.id, 'refunded_amount', p.amount, 'refund_method', p.payment_method, 'currency', p.currency);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."refund_notice"(money.payments) FROM "barid_caller";

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

CREATE CONSTRAINT TRIGGER refund_notify AFTER INSERT ON money.payments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.type = 'REFUND'::text) AND (new.status = 'SUCCESS'::text) AND (new.order_id IS NOT NULL))) EXECUTE FUNCTION storefront.order_refund_notify();

CREATE CONSTRAINT TRIGGER step_notify AFTER UPDATE ON storefront.storefront_orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((new.status <> old.status) AND (new.status = ANY (ARRAY['confirmed'::text, 'shipped'::text, 'delivered'::text, 'cancelled'::text]))) OR ((new.status = old.status) AND (new.subtotal < old.subtotal)))) EXECUTE FUNCTION storefront.order_step_notify();

REVOKE ALL ON FUNCTION "storefront"."item_available"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."item_available"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_again_notify"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_customer_notify"(storefront.storefront_orders, text, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_failed_notify"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_goods_short"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_refund_notify"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_shortage"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_shortage"(jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_step_notify"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."product_details"(storefront.products_list) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."product_details"(storefront.products_list) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."refund_notice"(money.payments) FROM PUBLIC;

GRANT SELECT ON TABLE "storefront"."products_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129225541';
end $$;

grant execute on function private.schema_version() to barid_api;
