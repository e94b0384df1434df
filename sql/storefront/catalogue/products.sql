-- Products of a market and their variants, which are what is bought.

-- {product_id}. Fails: product_not_found.
create or replace function storefront.product_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return app.found((
    select to_jsonb(p) || storefront.product_details(p)
    from storefront.products_list p
    where p.tenant_id = v_tenant and p.id = (input ->> 'product_id')::uuid), 'product_not_found');
end $$;

-- Holds a category that is not archived until the end, so that nobody archives it meanwhile.
-- Fails: category_not_found.
create or replace function storefront.lock_category(category_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform from storefront.product_categories c
  where c.tenant_id = app.tenant_id() and c.id = lock_category.category_id and c.archived_at is null for share;
  if not found then
    perform app.fail('category_not_found', '{"field": "category_id"}');
  end if;
end $$;

-- Makes a product's variants what is sent: the whole list, in its order. One is known again by its id, or by its sku unless the list
-- names it by its id, and what is not said of it stays; null takes away. What is not in the list is archived, which frees its sku.
-- variants: [{id?, sku, price, compare_at_price?, inventory_item_id?, attributes?, is_active?}]
-- Fails: too_many_decimals, variant_not_found, inventory_item_not_found, sku_already_exists.
create or replace function storefront.save_variants(product_id uuid, variants jsonb) returns void
language plpgsql set search_path = '' as $$
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
    -- The item of a parcel on its way is none of the goods.
    select from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = (s.variant ->> 'inventory_item_id')::uuid
      and i.parcel_delivery_id is null)
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
end $$;

-- {name, description?, category_id?, images?, is_active?, variants?} -> the product
-- Fails: market_not_found, category_not_found, and what save_variants fails with.
create or replace function storefront.product_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market();
  v_id uuid;
begin
  if input ->> 'category_id' is not null then
    perform storefront.lock_category((input ->> 'category_id')::uuid);
  end if;
  insert into storefront.products (tenant_id, market_id, category_id, name, description, images, is_active, created_by)
  values (v_market.tenant_id, v_market.id, (input ->> 'category_id')::uuid, input -> 'name',
    coalesce(input -> 'description', '{}'), coalesce(input -> 'images', '[]'),
    coalesce((input ->> 'is_active')::boolean, true), app.user_id())
  returning id into v_id;
  perform storefront.save_variants(v_id, coalesce(input -> 'variants', '[]'));
  return storefront.product_get(jsonb_build_object('product_id', v_id));
end $$;

-- Changes what is sent; category_id null takes it out of its category. {product_id, ...} -> the product
-- Fails: product_not_found, category_not_found, and what save_variants fails with.
create or replace function storefront.product_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'product_id')::uuid;
  v_tenant uuid := app.tenant_id();
begin
  perform from storefront.products p where p.tenant_id = v_tenant and p.id = v_id and p.archived_at is null for update;
  if not found then
    perform app.fail('product_not_found');
  end if;
  if input ->> 'category_id' is not null then
    perform storefront.lock_category((input ->> 'category_id')::uuid);
  end if;
  update storefront.products p set
    name = coalesce(input -> 'name', p.name),
    description = coalesce(input -> 'description', p.description),
    category_id = case when input ? 'category_id' then (input ->> 'category_id')::uuid else p.category_id end,
    images = coalesce(input -> 'images', p.images),
    is_active = coalesce((input ->> 'is_active')::boolean, p.is_active)
  where p.tenant_id = v_tenant and p.id = v_id;
  if input ? 'variants' then
    perform storefront.save_variants(v_id, input -> 'variants');
  end if;
  return storefront.product_get(input);
end $$;

-- Puts a product and its variants away for good; orders keep what they bought. {product_id} -> {id, archived}
-- Fails: product_not_found.
create or replace function storefront.product_archive(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'product_id')::uuid;
  v_tenant uuid := app.tenant_id();
begin
  update storefront.products p set archived_at = now(), is_active = false
  where p.tenant_id = v_tenant and p.id = v_id and p.archived_at is null;
  if not found then
    perform app.fail('product_not_found');
  end if;
  perform storefront.save_variants(v_id, '[]');
  return jsonb_build_object('id', v_id, 'archived', true);
end $$;
