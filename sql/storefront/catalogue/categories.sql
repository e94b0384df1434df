-- Categories of a market.

-- {category_id}. Fails: category_not_found.
create or replace function storefront.category_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return app.found((
    select to_jsonb(c)
    from storefront.categories_list c
    where c.tenant_id = v_tenant and c.id = (input ->> 'category_id')::uuid), 'category_not_found');
end $$;

-- {name, description?, image_url?, sort_order?, is_active?} -> the category. Fails: market_not_found.
create or replace function storefront.category_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market();
  v_id uuid;
begin
  insert into storefront.product_categories (tenant_id, market_id, name, description, image_url, sort_order, is_active)
  values (v_market.tenant_id, v_market.id, input -> 'name', coalesce(input -> 'description', '{}'), input ->> 'image_url',
    coalesce((input ->> 'sort_order')::integer, 0), coalesce((input ->> 'is_active')::boolean, true))
  returning id into v_id;
  return storefront.category_get(jsonb_build_object('category_id', v_id));
end $$;

-- Changes what is sent; image_url null empties it. {category_id, ...} -> the category. Fails: category_not_found.
create or replace function storefront.category_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  update storefront.product_categories c set
    name = coalesce(input -> 'name', c.name),
    description = coalesce(input -> 'description', c.description),
    image_url = case when input ? 'image_url' then input ->> 'image_url' else c.image_url end,
    sort_order = coalesce((input ->> 'sort_order')::integer, c.sort_order),
    is_active = coalesce((input ->> 'is_active')::boolean, c.is_active)
  where c.tenant_id = app.tenant_id() and c.id = (input ->> 'category_id')::uuid and c.archived_at is null;
  return storefront.category_get(input);
end $$;

-- Puts a category away for good. {category_id} -> {id, archived}
-- Fails: category_not_found, category_in_use (products are in it).
create or replace function storefront.category_archive(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'category_id')::uuid;
begin
  -- A product on its way into the category holds it; we and they take turns.
  perform from storefront.product_categories c
  where c.tenant_id = v_tenant and c.id = v_id and c.archived_at is null for update;
  if not found then
    perform app.fail('category_not_found');
  end if;
  if exists (select from storefront.products p where p.tenant_id = v_tenant and p.category_id = v_id and p.archived_at is null) then
    perform app.fail('category_in_use');
  end if;
  update storefront.product_categories c set archived_at = now(), is_active = false where c.tenant_id = v_tenant and c.id = v_id;
  return jsonb_build_object('id', v_id, 'archived', true);
end $$;
