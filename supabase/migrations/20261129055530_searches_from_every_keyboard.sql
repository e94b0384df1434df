-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.contains_patterns(search text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
begin
  return array[app.contains_pattern(app.folded(search))];
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_matching(part text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contact_patterns(part);
  v_owners uuid[];
begin
  if app.sees_tenant() then
    v_owners := array(
      select u.user_id from tenancy.tenant_users u join tenancy.profiles p on p.id = u.user_id
      where u.tenant_id = v_tenant and app.folded(p.full_name) ilike any (v_patterns) limit 51);
  end if;
  return query execute $query$
    select d.id from delivery.deliveries d where d.tenant_id = $1 and app.folded(d.delivery_code::text || ' ' || d.barcode || ' '
      || coalesce(d.external_reference_id, '') || ' ' || coalesce(d.recipient ->> 'name', '') || ' ' || coalesce(d.recipient ->> 'phone', ''))
      operator(pg_catalog.~~*) any ($2)
    and (app.folded(d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '') || ' '
      || coalesce(d.recipient ->> 'name', '') || ' ' || coalesce(d.recipient ->> 'phone', '')) || '') operator(pg_catalog.~~*) any ($3)
    and ($4 or d.delivery_flow <> 'pnd_inbound' or $5 in (d.customer_id, d.institution_user_id)
      or app.folded(d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '')) operator(pg_catalog.~~*) any ($3))
  $query$ using v_tenant, app.index_patterns(v_patterns), v_patterns, app.sees_tenant(), app.user_id();
  if cardinality(v_owners) between 1 and 50 then
    return query
      select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.customer_id = any (v_owners)
      union all
      select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.institution_user_id = any (v_owners);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.performance_list(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_year integer := (input ->> 'year')::integer;
  v_month integer := (input ->> 'month')::integer;
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_size integer := (input ->> 'page_size')::integer;
  v_page bigint := (input ->> 'page')::bigint;
  v_conditions text := '';
  v_filter record;
  v_answer jsonb;
begin
  if v_driver is not null and not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  for v_filter in select f.key, f.value from jsonb_each(input -> 'column_filters') f loop
    v_conditions := v_conditions || case
      when v_filter.key = 'driver_name' then format(' and app.folded(r.driver_name) ilike any (app.contains_patterns(%L))', v_filter.value #>> '{}')
      when jsonb_typeof(v_filter.value) = 'object' then
        case when v_filter.value ->> 'min' is null then '' else format(' and r.%I >= %L::numeric', v_filter.key, (v_filter.value ->> 'min')::numeric) end
        || case when v_filter.value ->> 'max' is null then '' else format(' and r.%I <= %L::numeric', v_filter.key, (v_filter.value ->> 'max')::numeric) end
      else format(' and r.%I = %L::numeric', v_filter.key, (v_filter.value #>> '{}')::numeric)
    end;
  end loop;
  execute format($query$
    with r as materialized (
      select r.* from delivery.performance_rows($1, $2) r
      where ($3 is null or r.driver_id = $3) and ($4 is null or app.folded(r.driver_name) ilike any (app.contains_patterns($4))) %s
    )
    select jsonb_build_object(
      'pagination', jsonb_build_object('page', $5, 'page_size', $6, 'total_records', count(*), 'total_pages', ceil(count(*)::numeric / $6)),
      'summary', jsonb_build_object('total_deliveries', coalesce(sum(r.total_deliveries), 0),
        'successful_deliveries', coalesce(sum(r.successful_deliveries), 0), 'failed_deliveries', coalesce(sum(r.failed_deliveries), 0),
        'success_rate', delivery.percent(sum(r.successful_deliveries), sum(r.total_deliveries)),
        'on_time_rate', delivery.percent(sum(r.on_time_deliveries), sum(r.on_time_deliveries + r.late_deliveries)),
        'avg_delivery_time_minutes', round(sum(r.total_minutes) / nullif(sum(r.timed_deliveries), 0), 2),
        'total_delivery_value', coalesce(sum(r.total_delivery_value), 0), 'active_drivers', count(*) filter (where r.total_deliveries > 0),
        'handled_legs', coalesce(sum(r.handled_legs), 0),
        'top_drivers', (select coalesce(jsonb_agg(jsonb_build_object('driver_id', t.driver_id, 'driver_name', t.driver_name,
            'total_deliveries', t.total_deliveries, 'success_rate', t.success_rate)
            order by t.total_deliveries desc, t.success_rate desc nulls last, t.driver_name, t.driver_id), '[]')
          from (select * from r where r.total_deliveries > 0
            order by r.total_deliveries desc, r.success_rate desc nulls last, r.driver_name, r.driver_id limit 5) t)),
      'data', (select coalesce(jsonb_agg(p.row order by p.place), '[]') from (
        select to_jsonb(r) - '{timed_deliveries,total_minutes}'::text[] as row,
          row_number() over (order by r.%I %s nulls last, r.driver_name, r.driver_id) as place
        from r) p where p.place > ($5 - 1) * $6 and p.place <= $5 * $6))
    from r$query$, v_conditions, input ->> 'sort_by', case when input ->> 'sort_order' = 'asc' then 'asc' else 'desc' end)
  into v_answer using v_year, v_month, v_driver, input ->> 'search', v_page, v_size;
  return v_answer || jsonb_build_object('month', v_month, 'year', v_year,
    'available_months', (select coalesce(jsonb_agg(jsonb_build_object('year', m.period_year, 'month', m.period_month)
        order by m.period_year desc, m.period_month desc), '[]')
      from (select distinct m.period_year, m.period_month from delivery.driver_performance m where m.tenant_id = v_tenant) m),
    'computed_at', (select s.computed_at from delivery.performance_state s where s.tenant_id = v_tenant));
end $function$;

CREATE OR REPLACE FUNCTION money.cod_found(search text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contains_patterns(search);
  v_probes text[] := app.index_patterns(v_patterns);
  v_mine uuid := case when not app.sees_tenant() then app.user_id() end;
  v_drivers uuid[] := array(
    select p.id from delivery.drivers d join tenancy.people p on p.id = d.user_id
    where d.tenant_id = v_tenant and (app.folded(p.full_name) ilike any (v_patterns) or app.folded(p.email) ilike any (v_patterns)));
begin
  return query
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and app.folded(c.search_text) ilike any (v_probes) and (app.folded(c.search_text) || '') ilike any (v_patterns)
      and (v_mine is null or c.driver_id = v_mine)
    union
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.driver_id = any (v_drivers) and (v_mine is null or c.driver_id = v_mine);
end $function$;

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
  v_found jsonb;
begin
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

CREATE OR REPLACE FUNCTION warehousing.inventory_counts_with(search text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 50
 SET search_path TO ''
AS $function$
begin
  -- Executed as text, so that each search is planned for its own pattern.
  return query execute $query$
    select c.id from warehousing.inventory_counts c where c.tenant_id = $1 and c.notes is not null and app.folded(c.notes) operator(pg_catalog.~~*) any ($2)
    union
    select l.count_id from warehousing.items_found($3) i (id)
    join warehousing.inventory_count_lines l on l.tenant_id = $1 and l.item_id = i.id
  $query$ using app.tenant_id(), app.contains_patterns(search), search;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.items_found(search text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_patterns text[] := app.contains_patterns(search);
begin
  return query
    select i.id from warehousing.inventory_items i
    where i.tenant_id = app.tenant_id() and app.folded(concat_ws(E'\n', i.name, i.sku, i.barcode)) ilike any (v_patterns);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129055530';
end $$;

grant execute on function private.schema_version() to barid_api;
