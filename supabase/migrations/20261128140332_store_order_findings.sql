-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.payments in access exclusive mode;
      set local lock_timeout = '250ms';
      lock table storefront.storefront_orders in access exclusive mode;
      alter view storefront.orders_list reset (security_barrier);
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

DROP VIEW "storefront"."orders_list";

ALTER TABLE "money"."payments" ADD COLUMN "goodwill" numeric(18,3) NOT NULL DEFAULT 0;

ALTER TABLE "storefront"."storefront_orders" ADD COLUMN "refund_due_amount" numeric(18,3) NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION delivery.fallback_units(service delivery.delivery_services, unit_settings jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return case unit_settings ->> 'missing_unit_size_fallback' when 'service_min' then service.unit_min when 'service_max' then service.unit_max
    when 'service_half' then round((service.unit_min + service.unit_max) / 2, 3) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.quote(service delivery.delivery_services, package jsonb, asked_units numeric, distance_km double precision, unit_settings jsonb, decimals integer, OUT price numeric, OUT unit_size numeric, OUT unit_size_source text, OUT error_code text, OUT error_params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_measured record;
begin
  v_measured := delivery.package_units(package, unit_settings);
  if v_measured.wrong then
    error_code := 'invalid_package';
    error_params := delivery.package_fault(package);
    return;
  end if;
  if v_measured.units is not null then
    unit_size := v_measured.units;
    unit_size_source := 'package_details';
  elsif asked_units is not null then
    unit_size := round(asked_units, 3);
    unit_size_source := 'unit_size';
  elsif delivery.fallback_units(service, unit_settings) is not null then
    unit_size := delivery.fallback_units(service, unit_settings);
    unit_size_source := unit_settings ->> 'missing_unit_size_fallback';
  else
    error_code := 'unit_size_or_dimensions_required';
    return;
  end if;
  if unit_size < service.unit_min or unit_size > service.unit_max then
    error_code := 'can_not_use_this_delivery_for_this_unit_size';
    error_params := jsonb_build_object('calculated_unit_size', unit_size, 'allowed_unit_min', service.unit_min,
      'allowed_unit_max', service.unit_max,
      'violation', case when unit_size < service.unit_min then 'below_minimum' else 'above_maximum' end);
    return;
  end if;
  price := round(service.default_price * unit_size
    + service.price_per_km * greatest(0, coalesce(distance_km, 0)::numeric - service.free_km), decimals);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_pay_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_key text := app.request_setting('idempotency_key');
  v_hash bytea := sha256(convert_to(input::text, 'UTF8'));
  v_desk uuid;
  v_outside uuid;
  v_wallet money.accounts;
  t money.merchant_payouts;
  s money.merchant_statements;
begin
  if v_key is not null then
    select x.* into t from money.merchant_payouts x where x.tenant_id = v_tenant and x.actor_id = app.user_id() and x.idempotency_key = v_key;
    if found then
      if t.input_hash <> v_hash then
        perform app.fail('idempotency_conflict');
      end if;
      return t.statement_id;
    end if;
  end if;
  if input ->> 'method' <> 'cash' and not money.pays_by_bank() then
    perform app.fail('forbidden');
  end if;
  s := money.lock_statement((input ->> 'id')::uuid);
  if s.status = 'paid' then
    perform app.fail('statement_already_paid');
  elsif s.status <> 'open' then
    perform app.fail('statement_not_open', jsonb_build_object('from', s.status));
  end if;
  insert into money.merchant_payouts (tenant_id, statement_id, owner_user_id, method, amount, currency, reference, proof, actor_id, idempotency_key, input_hash)
  values (v_tenant, s.id, s.owner_user_id, input ->> 'method', s.net, s.currency, input ->> 'reference', input ->> 'proof', app.user_id(), v_key, v_hash)
  returning * into t;
  update money.merchant_statements x set status = 'paid', payout_id = t.id where x.tenant_id = v_tenant and x.id = s.id;
  perform money.statement_event_emit('merchant_statement.paid', s,
    jsonb_build_object('payout_id', t.id, 'method', t.method, 'reference', t.reference));
  v_outside := money.account_of('external', 'tenant', null, s.currency::text);
  if t.method = 'cash' then
    v_desk := money.merchant_payout_desk(t);
    if v_desk is null then
      perform app.fail('insufficient_desk_cash', jsonb_build_object('held', 0, 'currency', s.currency));
    end if;
  end if;
  -- All accounts at once, in the order of their ids.
  perform from money.accounts a where a.tenant_id = v_tenant and a.id in (s.account_id, v_desk, v_outside) order by a.id for no key update;
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = s.account_id;
  if money.wallet_refunds_open(v_wallet.id) > 0 then
    perform app.fail('wallet_refund_open', jsonb_build_object('amount', money.wallet_refunds_open(v_wallet.id), 'currency', s.currency));
  elsif v_wallet.balance - money.held_of(v_tenant, v_wallet.id) < s.net then
    perform app.fail('statement_not_covered', jsonb_build_object('balance', v_wallet.balance, 'held', money.held_of(v_tenant, v_wallet.id),
      'required', s.net, 'currency', s.currency));
  end if;
  if t.method = 'cash' then
    perform money.lock_cash_desk(v_desk, v_outside, s.net, s.currency::text);
    perform money.post_journal('merchant_payout_cash', 'merchant_payout', t.id, 'Statement ' || money.statement_number(s.number) || ' in cash',
      array[v_desk, v_outside], array[-s.net, s.net]);
  end if;
  perform money.post_journal('merchant_payout', 'merchant_payout', t.id, 'Statement ' || money.statement_number(s.number),
    array[s.account_id, v_outside], array[-s.net, s.net]);
  return s.id;
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_refunds_open(p_account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(sum(money.refunds_open(p)), 0) from money.payments p
    where p.tenant_id = app.tenant_id() and p.account_id = p_account and p.type = 'WALLET_TOPUP' and p.status = 'SUCCESS' and exists (
      select from money.payment_webhook_events e
      where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched' and e.resolution is null));
end $function$;

REVOKE ALL ON FUNCTION "money"."wallet_refunds_open"(uuid) FROM "barid_caller";

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

CREATE OR REPLACE FUNCTION storefront.order_accept_short(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_missing jsonb := storefront.order_missing(o.id);
  v_left jsonb;
  v_refund jsonb;
begin
  if o.status not in ('approved', 'confirmed', 'shipped') or v_missing = '[]' then
    perform app.fail('order_not_short', jsonb_build_object('status', o.status));
  end if;
  v_left := storefront.order_accept(o.id, v_missing);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  -- A parcel with nothing in it does not travel. The last one that was open ends the order, which is settled with it.
  perform delivery.delivery_cancel(jsonb_build_object('id', e.delivery_id, 'reason', 'out_of_stock'))
  from (select p.delivery_id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('pending', 'assigned', 'accepted')
    where p.tenant_id = o.tenant_id and p.order_id = o.id and not storefront.order_part_has_goods(p)
    order by p.delivery_id) e;
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  if o.status in ('delivered', 'cancelled') then
    v_refund := storefront.order_refunded_now(o.id);
  else
    if o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and storefront.order_paid_beyond(o, o.total_price) > 0 then
      v_refund := storefront.order_refund_book(o.id, storefront.order_paid_beyond(o, o.total_price), 'short');
    end if;
    perform warehousing.stock_release('order', o.id, v_left);
    select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_after_gateway_refund()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
begin
  perform storefront.order_due_given(new);
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.order_id;
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', new.amount, 'payment_id', new.id,
    'refund_method', new.payment_method));
  perform tenancy.notify_tenant_admins('order_refunded_at_gateway', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'status', o.status, 'payment_id', new.id, 'gateway_code', new.gateway_code, 'amount', new.amount, 'currency', new.currency));
  return null;
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
    where d.tenant_id = o.tenant_id and d.id = o.delivery_id and exists (
      select from storefront.storefront_order_parts x where x.tenant_id = d.tenant_id and x.order_id = o.id and x.delivery_id = d.id)
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_deliveries(o storefront.storefront_orders, lines jsonb, sources jsonb, dropoff uuid)
 RETURNS delivery.deliveries[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := o.shipping_address;
  v_recipient jsonb := storefront.order_recipient(o);
  v_goods numeric[];
  v_source record;
  v_made delivery.deliveries[] := '{}';
begin
  if sources #>> '{0,warehouse_id}' is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  if o.payment_method = 'cash_on_delivery' then
    select storefront.shares(storefront.goods_total(o), array_agg(v.value order by v.place), money.decimals_of(o.currency)) into v_goods
    from (
      select s.place, sum(i.unit_price * l.quantity) as value
      from jsonb_array_elements(sources) with ordinality s (source, place)
      cross join lateral jsonb_to_recordset(s.source -> 'lines') as l (line integer, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = (lines -> (l.line - 1) ->> 'order_item_id')::uuid
      group by 1) v;
  end if;
  for v_source in
    select s.source, s.place, case when s.place = 1 and not exists (
        select from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status <> 'cancelled' and d.delivery_fee > 0)
      then o.shipping_cost else 0 end as fee
    from jsonb_array_elements(sources) with ordinality s (source, place) order by s.place
  loop
    v_made := v_made || delivery.delivery_terms(storefront.order_quote_input(o.delivery_service_id::text, v_source.source, v_place) - '{pickup,dropoff}'::text[]
      || jsonb_build_object('order_id', o.id, 'delivery_fee', v_source.fee, 'customer_id', o.user_id, 'payer_type', 'sender',
        'payment_method', 'wallet', 'cod_amount',
        case when o.payment_method = 'cash_on_delivery' then least(v_source.fee, o.total_price) + coalesce(v_goods[v_source.place], 0) else 0 end,
        'pickup_warehouse_id', v_source.source -> 'warehouse_id', 'dropoff_address_id', dropoff, 'external_reference_id', o.order_number,
        'notes', o.customer_notes, 'promised_at', o.estimated_delivery, 'recipient', v_recipient));
  end loop;
  return v_made;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_due_given(refund money.payments)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update storefront.storefront_orders x set refund_due_amount = greatest(x.refund_due_amount - refund.amount, 0)
  where x.tenant_id = refund.tenant_id and x.id = refund.order_id and x.refund_due_amount > 0;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_due_given"(money.payments) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_end_cancelled(input jsonb, came_back boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_open uuid := storefront.order_open_delivery(o);
  v_refund jsonb;
  v_released jsonb;
begin
  if came_back and o.status <> 'shipped' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'returned'));
  elsif came_back and v_open is not null then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', v_open));
  elsif not came_back and o.status not in ('pending', 'awaiting_approval', 'approved', 'confirmed') then
    perform app.fail('order_not_cancellable', jsonb_build_object('status', o.status));
  end if;
  update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason',
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = coalesce(input ->> 'admin_notes', input ->> 'reason'),
    fulfilment = case when came_back then 'returned' else x.fulfilment end
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  -- The order has ended, so that its fee passes to no other and nobody is asked to deliver it anew.
  perform delivery.delivery_cancel(jsonb_build_object('id', d.id, 'reason', input ->> 'reason'))
  from (select x.id from delivery.deliveries x where x.tenant_id = o.tenant_id and x.order_id = o.id
    and x.status in ('draft', 'pending', 'assigned', 'accepted') order by x.id) d;
  perform storefront.order_picks_drop(o.id);
  if came_back then
    perform storefront.order_goods_expect(o.id);
  end if;
  perform storefront.order_payment_drop(o.id);
  if o.payment_status = 'paid' and app.boolean_or(input -> 'refund_required', true) and storefront.order_refundable(o) > 0 then
    v_refund := storefront.order_refund_book(o.id, null, input ->> 'reason');
  end if;
  v_released := warehousing.stock_release('order', o.id);
  return jsonb_build_object('order', jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', o.status,
      'cancelled_at', o.cancelled_at, 'cancel_reason', o.cancel_reason, 'admin_notes', o.admin_notes),
    'inventory_released', v_released <> '[]', 'refund', v_refund, 'delivery_cancelled', v_open is not null);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_give_back(o storefront.storefront_orders, p_amount numeric, p_note text, p_hash bytea DEFAULT NULL::bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, reference,
    snapshot, actor_id, processed_at, idempotency_key, input_hash)
  values (o.tenant_id, 'ORDER', 'REFUND', 'SUCCESS', 'wallet', p_amount, o.currency,
    money.account_of('wallet', 'customer', o.user_id, o.currency), o.id, o.order_number,
    case when p_note is not null then jsonb_build_object('note', p_note) end, app.user_id(), now(),
    case when p_hash is not null then app.request_setting('idempotency_key') end, p_hash)
  returning * into p;
  perform money.book_payment(p, 'order_refund', money.account_of('wallet', 'tenant', null, o.currency), p.account_id, o.order_number);
  perform storefront.order_due_given(p);
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id,
    'refund_method', p.payment_method));
  return storefront.refund_to_json(p);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_missing_price(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_ended uuid[] := case when o.status not in ('approved', 'confirmed') then array(
    select p.id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('returned', 'cancelled')
    where p.tenant_id = o.tenant_id and p.order_id = o.id) else '{}' end;
begin
  return storefront.goods_price(o, (
    select coalesce(sum(i.unit_price * m.quantity), 0)
    from (
      select x.order_item_id, x.quantity
      from jsonb_to_recordset(storefront.order_missing(o.id)) as x (part_id uuid, order_item_id uuid, quantity integer)
      where x.part_id <> all (v_ended)
      union all
      select g.order_item_id, g.quantity - g.short from storefront.storefront_order_part_items g
      where g.tenant_id = o.tenant_id and g.part_id = any (v_ended)) m
    join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = m.order_item_id));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_paid(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return storefront.order_refundable(o) + (
    select coalesce(sum(p.goodwill), 0) from money.payments p
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_paid_beyond(o storefront.storefront_orders, price numeric)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return greatest(least(storefront.order_refundable(o), storefront.order_paid(o) - price), 0);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_parts_renew(p_order uuid, sources jsonb, deliveries uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  o storefront.storefront_orders;
  p storefront.storefront_order_parts;
begin
  for p in
    update storefront.storefront_order_parts x set delivery_id = deliveries[s.place]
    from rows from (jsonb_to_recordset(sources) as (part_id uuid)) with ordinality s (part_id, place)
    where x.tenant_id = v_tenant and x.order_id = p_order and x.id = s.part_id and x.left_at is null and app.has_permission('manage:tenant')
    returning x.*
  loop
    update warehousing.picking_orders k set delivery_id = p.delivery_id where k.tenant_id = v_tenant and k.id = p.picking_order_id;
    -- A line that was not found at all keeps its place, though nothing of it travels.
    update delivery.delivery_items i set position = i.position + 100000 where i.tenant_id = v_tenant and i.delivery_id = p.delivery_id;
    update delivery.delivery_items i set position = g.position
    from (
      select y.position, row_number() over (order by y.position) as place from storefront.storefront_order_part_items y
      where y.tenant_id = v_tenant and y.part_id = p.id and y.quantity > y.short) g
    where i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.place + 100000;
  end loop;
  update storefront.storefront_orders x set delivery_id = (
    select y.delivery_id from storefront.storefront_order_parts y
    where y.tenant_id = v_tenant and y.order_id = x.id order by y.position limit 1)
  where x.tenant_id = v_tenant and x.id = p_order and app.has_permission('manage:tenant')
  returning * into strict o;
  if o.payment_method = 'cash_on_delivery' then
    perform storefront.order_cash_divide(o);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_quote_input(service text, supply jsonb, address jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_redeliver(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_lines jsonb := storefront.order_lines(o);
  v_sources jsonb := storefront.order_stranded(o, v_lines);
  v_made delivery.deliveries[];
  v_ids uuid[] := '{}';
begin
  if v_sources = '[]' then
    perform app.fail('order_nothing_to_redeliver', jsonb_build_object('status', o.status));
  end if;
  v_made := storefront.order_deliveries(o, v_lines, v_sources, (v_sources #>> '{0,dropoff_address_id}')::uuid);
  for place in 1..cardinality(v_made) loop
    v_ids := v_ids || delivery.delivery_write(v_made[place], storefront.order_contents(v_lines, v_sources -> (place - 1)));
  end loop;
  perform storefront.order_parts_renew(o.id, v_sources, v_ids);
  return storefront.order_get(input);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_decimals integer := money.decimals_of(o.currency);
  v_hash bytea := money.request_hash(input);
  v_known money.payments := money.payment_of_key('REFUND', v_hash);
  v_refund jsonb;
begin
  if v_known.id is not null then
    return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', storefront.refund_to_json(v_known));
  end if;
  if o.payment_status <> 'paid' then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  elsif v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', o.currency, 'decimals', v_decimals));
  end if;
  v_refund := storefront.order_refund_by_hand(o.id, v_amount, input ->> 'note', v_hash);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund_by_hand(p_order uuid, p_amount numeric, p_note text, p_hash bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_goodwill numeric := 0;
  v_refund jsonb;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = p_order;
  if p_amount < storefront.order_refundable(o) then
    v_goodwill := greatest(p_amount - storefront.order_paid_beyond(o, o.total_price - storefront.order_missing_price(o)), 0);
  end if;
  v_refund := storefront.order_refund_book(p_order, p_amount, p_note, p_hash);
  update money.payments p set goodwill = v_goodwill
  where p.tenant_id = o.tenant_id and p.id = (v_refund ->> 'payment_id')::uuid and v_goodwill > 0;
  return v_refund;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund_due(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when o.refund_due_amount > 0 then least(o.refund_due_amount, storefront.order_refundable(o)) else 0 end;
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
      else storefront.order_paid_beyond(o, o.shipping_cost + storefront.goods_price(o, v_got.value)) end;
  end if;
  -- Paid at the door is no more than its deliveries collected.
  if o.status = 'delivered' and o.payment_method = 'cash_on_delivery' and o.shipping_cost > 0 and o.total_price > 0
      and (select coalesce(max(d.delivery_fee), o.shipping_cost) = 0 from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered') then
    perform storefront.order_event_emit(o, 'fee_not_collected', jsonb_build_object('amount', least(o.shipping_cost, o.total_price)));
  end if;
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      update storefront.storefront_orders x set refund_due_amount = v_owed where x.tenant_id = o.tenant_id and x.id = o.id;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
      perform tenancy.notify_tenant_admins('order_refund_due', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
        'status', o.status, 'amount', v_owed, 'currency', o.currency));
    end;
  end if;
  perform warehousing.stock_release('order', o.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_state_to_json(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_stranded(o storefront.storefront_orders, lines jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('part_id', p.id, 'warehouse_id', p.warehouse_id, 'dropoff_address_id', d.dropoff_address_id,
      'units', z.units, 'unmeasured', z.unmeasured, 'lines', z.lines) order by p.position), '[]')
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status = 'cancelled'
    cross join lateral (
      select sum(i.unit_size * (g.quantity - g.short)) as units, bool_or(i.id is null) as unmeasured,
        jsonb_agg(jsonb_build_object('line', l.line, 'quantity', g.quantity - g.short) order by g.position) as lines
      from storefront.storefront_order_part_items g
      join rows from (jsonb_to_recordset(lines) as (order_item_id uuid, inventory_item_id uuid)) with ordinality
        l (order_item_id, inventory_item_id, line) on l.order_item_id = g.order_item_id
      left join warehousing.inventory_items i on i.tenant_id = g.tenant_id and i.id = l.inventory_item_id
      where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short) z
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and z.lines is not null
      and o.status in ('approved', 'confirmed', 'shipped'));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_stranded_notify(p_order uuid, p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform tenancy.notify_tenant_admins('order_delivery_cancelled', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'status', o.status, 'delivery_id', d.id, 'delivery_code', d.delivery_code))
  from storefront.storefront_orders o
  join storefront.storefront_order_parts p on p.tenant_id = o.tenant_id and p.order_id = o.id and p.delivery_id = p_delivery and p.left_at is null
  join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
  where o.tenant_id = app.tenant_id() and o.id = p_order and o.status in ('approved', 'confirmed', 'shipped')
    and storefront.order_part_has_goods(p);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_stranded_notify"(uuid, uuid) FROM "barid_caller";

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
    select jsonb_build_object('short', (select min(e.key) from jsonb_each(v_missing) e), 'sources', v_sources,
      'units', sum((s.source ->> 'units')::numeric), 'unmeasured', coalesce(bool_or((s.source ->> 'unmeasured')::boolean), true))
    from jsonb_array_elements(v_sources) s (source));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_undelivered(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_payment uuid;
begin
  update money.payments p set status = 'pending', processed_at = null, amount = o.total_price
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS' and p.payment_method = 'cash'
    and o.status = 'delivered'
  returning p.id into v_payment;
  update storefront.storefront_orders x set status = 'shipped', delivered_at = null, status_note = 'outcome_undone', refund_due_amount = 0,
    payment_status = case when v_payment is null then x.payment_status else 'pending' end,
    fulfilment = case when exists (select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered')
      then 'partial' else 'none' end
  where x.tenant_id = o.tenant_id and x.id = o.id;
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

ALTER TABLE "money"."payments" ADD CONSTRAINT "payments_check1" CHECK (((goodwill >= (0)::numeric) AND (goodwill <= GREATEST(amount, (0)::numeric)))) NOT VALID;

ALTER TABLE "storefront"."storefront_orders" ADD CONSTRAINT "storefront_orders_refund_due_amount_check" CHECK ((refund_due_amount >= (0)::numeric)) NOT VALID;

CREATE VIEW "storefront"."orders_list" WITH (security_invoker=true) AS  SELECT id,
    order_number,
    market_id,
    user_id,
    status,
    status_group,
    fulfilment,
    payment_method,
    payment_status,
    city,
    shipping_cost,
    discount_amount,
    total_price,
    total_items,
    currency,
    created_at,
    updated_at,
    (refund_due_amount > (0)::numeric) AS refund_due
   FROM storefront.storefront_orders o
  WHERE (tenant_id = ( SELECT app.tenant_id() AS tenant_id));

REVOKE ALL ON FUNCTION "delivery"."fallback_units"(delivery.delivery_services, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."fallback_units"(delivery.delivery_services, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."wallet_refunds_open"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."cart_names"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."cart_names"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_due_given"(money.payments) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_missing_price"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_missing_price"(storefront.storefront_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_paid"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_paid"(storefront.storefront_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_paid_beyond"(storefront.storefront_orders, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_paid_beyond"(storefront.storefront_orders, numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_parts_renew"(uuid, jsonb, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_parts_renew"(uuid, jsonb, uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_redeliver"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_redeliver"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_refund_by_hand"(uuid, numeric, text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_refund_by_hand"(uuid, numeric, text, bytea) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_refund_due"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_refund_due"(storefront.storefront_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_stranded"(storefront.storefront_orders, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_stranded"(storefront.storefront_orders, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_stranded_notify"(uuid, uuid) FROM PUBLIC;

GRANT SELECT ON TABLE "storefront"."orders_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128140332';
end $$;

grant execute on function private.schema_version() to barid_api;
