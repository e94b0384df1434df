-- The shop as the public sees it. Each core enters the shop first; row-level security decides what is found.

-- {store_name} or {domain} -> the market without what is its owner's business. Fails: market_not_found.
create or replace function storefront.shop_get(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_shop record := storefront.open_shop(input ->> 'store_name', input ->> 'domain');
begin
  return (
    select jsonb_build_object('id', m.id, 'code', m.code, 'store_name', m.store_name, 'directory_category', m.directory_category,
      'tagline', m.tagline, 'logo_url', m.logo_url, 'theme_settings', m.theme_settings,
      'banners', (
        select coalesce(jsonb_agg(b.value order by (b.value ->> 'sort_order')::integer, b.position), '[]')
        from jsonb_array_elements(m.banners) with ordinality b (value, position)
        where app.boolean_or(b.value -> 'is_active', true)),
      'settings', jsonb_build_object('currency', v_shop.currency, 'payment_methods', (
        select coalesce(jsonb_agg(t.code order by t.position, t.code), '[]') from storefront.payment_methods_offered(m.settings) t)))
    from storefront.markets m where m.tenant_id = v_shop.tenant_id and m.id = v_shop.market_id);
end $$;

-- {store_name} -> [category]. Fails: market_not_found.
create or replace function storefront.shop_categories(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_shop record := storefront.open_shop(input ->> 'store_name');
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(c) - '{tenant_id,is_active,created_at,updated_at}'::text[]
      order by c.sort_order, c.created_at, c.id), '[]')
    from storefront.categories_list c where c.tenant_id = v_shop.tenant_id and c.market_id = v_shop.market_id);
end $$;

-- A product as the shop shows it: without the warehouse behind it.
create or replace function storefront.shop_product_to_json(product jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return product - '{tenant_id,is_active,variants}'::text[] || jsonb_build_object('variants', (
    select coalesce(jsonb_agg(v.value - '{inventory_item_id,is_active}'::text[] order by v.position), '[]')
    from jsonb_array_elements(product -> 'variants') with ordinality v (value, position)));
end $$;

-- {store_name, search?, category_id?, sort_by? (created_at, title, min_price), sort_order?, limit, offset} -> {rows, total};
-- a step of a file: the same with `after` ({at, id} of the last row read, null at first) for the offset -> {rows with
-- keyset_position and keyset_id}: no product comes twice or is left out because others come and go. Fails: market_not_found.
create or replace function storefront.shop_products(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_shop record := storefront.open_shop(input ->> 'store_name');
  v_patterns text[] := app.contains_patterns(input ->> 'search');
  v_category uuid := (input ->> 'category_id')::uuid;
  v_by text := case when input ->> 'sort_by' in ('title', 'min_price') then input ->> 'sort_by' else 'created_at' end;
  v_direction text := case when input ->> 'sort_order' = 'asc' then 'asc' else 'desc' end;
  v_where text := 'p.tenant_id = $1 and p.market_id = $2 and ($3 is null or p.category_id = $3)
    and ($4 is null or exists (select from jsonb_each_text(p.name) n where app.folded(n.value) ilike any ($4)))';
  -- The order of the rows of a file: those without a price come last, so they have a position too.
  v_key text := case v_by
    when 'title' then 'coalesce(p.title, '''')'
    when 'min_price' then format('coalesce(p.min_price, numeric %L)', case v_direction when 'asc' then 'Infinity' else '-Infinity' end)
    else 'p.created_at' end;
  v_type text := case v_by when 'title' then 'text' when 'min_price' then 'numeric' else 'timestamptz' end;
  v_found jsonb;
begin
  if input ? 'after' then
    execute format('select jsonb_build_object(''rows'', coalesce(jsonb_agg(storefront.shop_product_to_json(to_jsonb(l.product))
        || jsonb_build_object(''keyset_position'', l.key::text, ''keyset_id'', (l.product).id)
        order by l.key %1$s, (l.product).id %1$s), ''[]''))
      from (select p as product, %2$s as key from storefront.products_list p where %3$s
        and ($6 is null or (%2$s, p.id) %4$s ($6::%5$s, $7)) order by 2 %1$s nulls last, p.id %1$s limit $5) l',
      v_direction, v_key, v_where, case v_direction when 'asc' then '>' else '<' end, v_type)
    into v_found
    using v_shop.tenant_id, v_shop.market_id, v_category, v_patterns, (input ->> 'limit')::bigint,
      input #>> '{after,at}', (input #>> '{after,id}')::uuid;
    return v_found;
  end if;
  execute format('select jsonb_build_object(
      ''rows'', (select coalesce(jsonb_agg(page.row order by page.position), ''[]'') from (
        select storefront.shop_product_to_json(to_jsonb(l.product)) as row, row_number() over () as position
        from (select p as product from storefront.products_list p where %1$s
          order by p.%2$I %3$s nulls last, p.id %3$s limit $5 offset $6) l) page),
      ''total'', (select count(*) from storefront.products_list p where %1$s))', v_where, v_by, v_direction)
  into v_found
  using v_shop.tenant_id, v_shop.market_id, v_category, v_patterns, (input ->> 'limit')::bigint, (input ->> 'offset')::bigint;
  return v_found;
end $$;

-- {store_name, product_id} -> the product with its newest reviews. Fails: market_not_found, product_not_found.
create or replace function storefront.shop_product(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_shop record := storefront.open_shop(input ->> 'store_name');
  v_id uuid := (input ->> 'product_id')::uuid;
  v_product jsonb;
begin
  select storefront.shop_product_to_json(to_jsonb(p) || storefront.product_details(p)) into v_product from storefront.products_list p
  where p.tenant_id = v_shop.tenant_id and p.market_id = v_shop.market_id and p.id = v_id;
  if v_product is null then
    perform app.fail('product_not_found');
  end if;
  return v_product || jsonb_build_object('reviews', (
    select coalesce(jsonb_agg(to_jsonb(l) order by l.created_at desc, l.id), '[]')
    from (
      select r.id, r.rating, r.comment, r.created_at from storefront.product_reviews r
      where r.tenant_id = v_shop.tenant_id and r.product_id = v_id and r.status = 'approved'
      order by r.created_at desc, r.id limit 20
    ) l));
end $$;

-- {store_name} -> {tenant_id, market_id, tenant_user_type, joined}. Fails: forbidden, market_not_found.
create or replace function storefront.shop_join(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return storefront.join_shop(input ->> 'store_name');
end $$;
