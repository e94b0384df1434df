-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.shop_products(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
        and ($6 is null or (%2$s, p.id) %4$s ($6::%5$s, $7)) order by 2 %1$s, p.id %1$s limit $5) l',
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
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201082051';
end $$;

grant execute on function private.schema_version() to barid_api;
