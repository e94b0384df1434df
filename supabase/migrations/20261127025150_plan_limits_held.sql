-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.keep_currency(changing boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_key bigint := hashtextextended('currency ' || app.tenant_id(), 0);
begin
  if changing then
    perform pg_advisory_xact_lock(v_key);
  else
    perform pg_advisory_xact_lock_shared(v_key);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record;
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
begin
  perform app.keep_currency();
  v_currency := app.currency();
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
    case input ->> 'delivery_flow' when 'customer_return' then delivery.return_ends_in((input ->> 'original_delivery_id')::uuid, v_to.id) end);
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

CREATE OR REPLACE FUNCTION delivery.manifest_orders_make(item_ids uuid[], destination jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_orders private.item_order[];
begin
  perform app.keep_currency();
  v_orders := delivery.manifest_orders_charge(delivery.manifest_orders_price(item_ids, destination));
  perform delivery.manifest_orders_write(array(select o from unnest(v_orders) o where o.failure is null order by o.position), destination);
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', o.item_id, 'code', o.failure, 'params', o.failure_params))
      order by o.position), '[]')
    from unnest(v_orders) o where o.failure is not null);
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_top_up(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_wallet jsonb := delivery.wallet_get(input);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_currency text := v_wallet ->> 'currency';
  v_decimals integer;
  v_method storefront.payment_method_types;
begin
  perform app.keep_currency();
  v_decimals := money.decimals_of(v_currency);
  if (v_wallet ->> 'owner_id')::uuid is distinct from app.user_id() then
    perform app.fail('forbidden');
  elsif v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  select * into v_method from storefront.payment_method_types t where t.id = (input ->> 'payment_method_type_id')::uuid and t.is_active;
  if v_method.id is null then
    perform app.fail('payment_method_not_found', '{"field": "paymentMethodTypeId"}');
  elsif v_method.type <> 'gateway' then
    perform app.fail('invalid_payment_method', '{"field": "paymentMethodTypeId"}');
  end if;
  perform money.require_back_ref(input);
  if not money.gateway_in_use(v_method.gateway_code) then
    perform app.fail('gateway_not_configured', '{"field": "paymentMethodTypeId"}');
  end if;
  v_decimals := money.gateway_digits(v_method.gateway_code, v_currency);
  if v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  return jsonb_build_object('payment_id', money.top_up_request((input ->> 'id')::uuid, v_amount, v_method.gateway_code, input ->> 'back_ref'),
    'amount', v_amount, 'currency', v_currency);
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
    perform app.fail('insufficient_stock', jsonb_build_object('field', 'cartId', 'item_id', v_supply -> 'short', 'variant_id', (
      select l -> 'variant_id' from jsonb_array_elements(v_lines) l where l -> 'inventory_item_id' = v_supply -> 'short' limit 1)));
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

CREATE OR REPLACE FUNCTION tenancy.settings_save(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency record;
  v_now record;
  v_before jsonb := tenancy.manifest_settings();
  v_groups jsonb;
begin
  perform private.version_alone();
  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
  if v_groups @> '[["general", "currency"]]' then
    perform app.keep_currency(true);
  end if;
  v_currency := app.currency();
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
  v_now := app.currency();
  if (v_now.code, v_now.decimals) <> (v_currency.code, v_currency.decimals) then
    perform tenancy.currency_changed(v_currency.code);
  end if;
  return tenancy.settings_get(jsonb_build_object('groups', v_groups));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_begin()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_from timestamptz;
  v_type text;
begin
  v_from := greatest(now(), tenancy.subscription_paid_until());
  update tenancy.subscriptions s set status = 'ACTIVE',
    starts_at = case s.type when 'UNLIMITED' then now() else v_from end,
    ends_at = tenancy.subscription_ends_at(v_from, s.type)
  where s.tenant_id = v_tenant and s.status = 'PENDING' returning s.type into v_type;
  if not found then
    return;
  end if;
  -- A term that was bought ends one that has no end.
  update tenancy.subscriptions s set status = 'CANCELLED', cancelled_at = now(), ends_at = now()
  where s.tenant_id = v_tenant and s.status = 'ACTIVE' and s.type = 'UNLIMITED' and v_type <> 'UNLIMITED';
  perform tenancy.subscription_settle();
  perform tenancy.tenant_event_emit('subscription_started', jsonb_build_object('type', v_type));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_now()
 RETURNS tenancy.subscriptions
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_now tenancy.subscriptions;
begin
  select s.* into v_now from tenancy.subscriptions s where s.tenant_id = app.tenant_id()
  order by s.status = 'PENDING' desc, (s.status = 'ACTIVE' and coalesce(s.ends_at > now(), true)) desc,
    coalesce(s.starts_at < coalesce(s.ends_at, 'infinity'), false) desc, s.created_at desc, s.id
  limit 1;
  return v_now;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_paid_until()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select max(s.ends_at) filter (where s.ends_at is distinct from s.starts_at)
    from tenancy.subscriptions s where s.tenant_id = app.tenant_id());
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_settle()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  update tenancy.tenants t set subscription_status = s.status, effective_until = s.until, updated_by = app.user_id()
  from (
    select case
        when bool_or(s.status = 'ACTIVE' and s.type = 'UNLIMITED') then 'UNLIMITED'
        when bool_or(s.status = 'ACTIVE' and s.ends_at > now()) then 'ACTIVE'
        else coalesce((tenancy.subscription_now()).status, 'NONE') end as status,
      case when not bool_or(s.status = 'ACTIVE' and s.type = 'UNLIMITED') then tenancy.subscription_paid_until() end as until
    from tenancy.subscriptions s where s.tenant_id = v_tenant
  ) s
  where t.id = v_tenant;
end $function$;

REVOKE ALL ON FUNCTION "app"."keep_currency"(boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."keep_currency"(boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."subscription_paid_until"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."subscription_paid_until"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127025150';
end $$;

grant execute on function private.schema_version() to barid_api;
