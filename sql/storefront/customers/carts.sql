-- Carts. Nothing is reserved and no price is fixed before the order.

-- The names of what lies in a cart of the caller, also of what is on sale no more: they saw it when they put it there. SECURITY DEFINER, since
-- customers do not see such products.
create or replace function storefront.cart_names(cart_id uuid)
returns table (variant_id uuid, product_id uuid, name jsonb, sku text, images jsonb, attributes jsonb)
language plpgsql stable security definer rows 20 set search_path = '' as $$
begin
  return query
    select v.id, p.id, p.name, v.sku, p.images, v.attributes
    from storefront.carts c
    join storefront.cart_items i on i.tenant_id = c.tenant_id and i.cart_id = c.id
    join storefront.product_variants v on v.tenant_id = i.tenant_id and v.id = i.variant_id
    join storefront.products p on p.tenant_id = v.tenant_id and p.id = v.product_id
    where c.tenant_id = app.tenant_id() and c.id = cart_names.cart_id and c.customer_id = app.user_id();
end $$;
grant execute on function storefront.cart_names(uuid) to barid_caller;

-- A cart with what it costs now. Fails: cart_not_found.
create or replace function storefront.cart_to_json(cart_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Holds an active cart of the caller whose market is open. Fails: cart_not_found, cart_not_active.
create or replace function storefront.lock_cart(cart_id uuid) returns storefront.carts
language plpgsql set search_path = '' as $$
declare
  v_cart storefront.carts;
begin
  select * into v_cart from storefront.carts c
  where c.tenant_id = app.tenant_id() and c.customer_id = app.user_id() and c.id = lock_cart.cart_id for update;
  if v_cart.id is null then
    perform app.fail('cart_not_found');
  elsif v_cart.status <> 'active' then
    perform app.fail('cart_not_active');
  end if;
  return v_cart;
end $$;

-- Refuses a market that is not open. Fails: market_not_found.
create or replace function storefront.require_live_market(market_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform from storefront.markets m
  where m.tenant_id = app.tenant_id() and m.id = require_live_market.market_id and m.is_live;
  if not found then
    perform app.fail('market_not_found');
  end if;
end $$;

-- {cart_id}. Fails: cart_not_found.
create or replace function storefront.cart_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return storefront.cart_to_json((input ->> 'cart_id')::uuid);
end $$;

-- The caller's one active cart in an open market, made when there is none. {market_id} -> the cart
-- Fails: market_not_found.
create or replace function storefront.cart_open(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_market uuid := (input ->> 'market_id')::uuid;
  v_id uuid;
begin
  perform storefront.require_live_market(v_market);
  insert into storefront.carts (tenant_id, market_id, customer_id) values (v_tenant, v_market, app.user_id())
  on conflict (tenant_id, market_id, customer_id) where status = 'active' do nothing
  returning id into v_id;
  if v_id is null then
    select c.id into v_id from storefront.carts c
    where c.tenant_id = v_tenant and c.market_id = v_market and c.customer_id = app.user_id() and c.status = 'active';
  end if;
  return storefront.cart_to_json(v_id);
end $$;

-- A cart whose items were changed, as it is now. -> the cart
create or replace function storefront.cart_changed(v_cart storefront.carts) returns jsonb
language plpgsql set search_path = '' as $$
begin
  update storefront.carts c set updated_at = now() where c.tenant_id = v_cart.tenant_id and c.id = v_cart.id;
  return storefront.cart_to_json(v_cart.id);
end $$;

-- Puts a variant into the cart, or more of it. {cart_id, variant_id, quantity} -> the cart
-- Fails: cart_not_found, cart_not_active, market_not_found, variant_not_found, cart_quantity_exceeded (999 of a
-- variant), cart_full (100 variants).
create or replace function storefront.cart_item_add(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_cart storefront.carts := storefront.lock_cart((input ->> 'cart_id')::uuid);
  v_variant uuid := (input ->> 'variant_id')::uuid;
  v_quantity integer;
begin
  perform storefront.require_live_market(v_cart.market_id);
  perform from storefront.product_variants v
  join storefront.products p on p.tenant_id = v.tenant_id and p.id = v.product_id
  where v.tenant_id = v_cart.tenant_id and v.id = v_variant and v.is_active and v.archived_at is null
    and p.market_id = v_cart.market_id and p.is_active and p.archived_at is null;
  if not found then
    perform app.fail('variant_not_found', '{"field": "variantId"}');
  end if;
  select i.quantity into v_quantity from storefront.cart_items i
  where i.tenant_id = v_cart.tenant_id and i.cart_id = v_cart.id and i.variant_id = v_variant;
  if coalesce(v_quantity, 0) + (input ->> 'quantity')::integer > 999 then
    perform app.fail('cart_quantity_exceeded', '{"field": "quantity", "quantity_max": 999}');
  end if;
  if v_quantity is null and (select count(*) from storefront.cart_items i
      where i.tenant_id = v_cart.tenant_id and i.cart_id = v_cart.id) >= 100 then
    perform app.fail('cart_full');
  end if;
  insert into storefront.cart_items as i (tenant_id, cart_id, variant_id, quantity)
  values (v_cart.tenant_id, v_cart.id, v_variant, (input ->> 'quantity')::integer)
  on conflict (tenant_id, cart_id, variant_id) do update set quantity = i.quantity + excluded.quantity;
  return storefront.cart_changed(v_cart);
end $$;

-- Says how many it shall be. {cart_id, cart_item_id, quantity} -> the cart
-- Fails: cart_not_found, cart_not_active, cart_item_not_found.
create or replace function storefront.cart_item_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_cart storefront.carts := storefront.lock_cart((input ->> 'cart_id')::uuid);
begin
  update storefront.cart_items i set quantity = (input ->> 'quantity')::integer
  where i.tenant_id = v_cart.tenant_id and i.cart_id = v_cart.id and i.id = (input ->> 'cart_item_id')::uuid;
  if not found then
    perform app.fail('cart_item_not_found');
  end if;
  return storefront.cart_changed(v_cart);
end $$;

-- Takes an item out. {cart_id, cart_item_id} -> the cart
-- Fails: cart_not_found, cart_not_active, cart_item_not_found.
create or replace function storefront.cart_item_remove(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_cart storefront.carts := storefront.lock_cart((input ->> 'cart_id')::uuid);
begin
  delete from storefront.cart_items i
  where i.tenant_id = v_cart.tenant_id and i.cart_id = v_cart.id and i.id = (input ->> 'cart_item_id')::uuid;
  if not found then
    perform app.fail('cart_item_not_found');
  end if;
  return storefront.cart_changed(v_cart);
end $$;

-- Deletes carts that became no order and whose items nobody changed for 180 days. Nothing is reserved for one, and a customer who comes
-- back gets another. A batch a run. Run by cron. -> how many
create or replace function storefront.carts_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from storefront.carts c where c.id in (
    select x.id from storefront.carts x
    where x.status <> 'converted' and x.updated_at < now() - interval '180 days'
    order by x.updated_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Nobody calls it but cron.
revoke execute on function storefront.carts_purge() from barid_caller;
