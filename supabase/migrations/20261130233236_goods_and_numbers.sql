-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.import_duplicates(lines jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    with line as (
      select (l ->> 'line')::integer as line, nullif(l -> 'input' ->> 'external_reference_id', '') as reference,
        nullif(right(app.dialled(l #>> '{input,recipient,phone}'), 9), '') as phone, coalesce((l -> 'input' ->> 'cod_amount')::numeric, 0) as cod,
        coalesce(l -> 'input' ->> 'institution_user_id', l -> 'input' ->> 'customer_id')::uuid as sender
      from jsonb_array_elements(lines) l
      where coalesce(l -> 'input' ->> 'delivery_flow', 'standard') = 'standard'
    ), earlier as (
      select x.*, case when x.reference is not null then min(x.line) over (partition by x.reference) end as same_reference,
        case when x.phone is not null then min(x.line) over (partition by x.phone, x.cod, x.sender) end as same_recipient
      from line x
    ), ordered as (
      select distinct on (f.line) f.line, f.same, d.id, d.delivery_code, d.status, d.created_at
      from (
        select x.line, 'reference' as same, d.id from line x
        join delivery.deliveries d on d.tenant_id = app.tenant_id() and d.external_reference_id = x.reference
        where d.status <> 'cancelled' and d.delivery_flow in ('standard', 'pnd_parent')
        union all
        select x.line, 'recipient', d.id from line x
        join delivery.deliveries d on d.tenant_id = app.tenant_id() and right(app.dialled(d.recipient ->> 'phone'), 9) = x.phone and d.cod_amount = x.cod
        where d.created_at > now() - interval '3 days' and d.status <> 'cancelled' and d.delivery_flow in ('standard', 'pnd_parent')
          and (x.sender is null or x.sender in (d.customer_id, d.institution_user_id))) f
      join delivery.deliveries d on d.tenant_id = app.tenant_id() and d.id = f.id
      order by f.line, f.same = 'recipient', d.created_at desc
    ), found as (
      select e.line, o.same, null::integer as other_line,
        jsonb_build_object('id', o.id, 'delivery_code', o.delivery_code, 'status', o.status, 'created_at', o.created_at) as delivery
      from earlier e join ordered o on o.line = e.line
      union all
      select e.line, case when e.same_reference < e.line then 'reference' else 'recipient' end,
        case when e.same_reference < e.line then e.same_reference else e.same_recipient end, null
      from earlier e
      where (e.same_reference < e.line or e.same_recipient < e.line) and not exists (select from ordered o where o.line = e.line)
    )
    select jsonb_build_object('duplicate_count', count(*), 'duplicates', coalesce(jsonb_agg(jsonb_build_object('line', n.line, 'same', n.same,
      'other_line', n.other_line, 'delivery', n.delivery) order by n.line) filter (where n.number <= 100), '[]'))
    from (select f.*, row_number() over (order by f.line) as number from found f) n);
end $function$;

CREATE OR REPLACE FUNCTION private.schema_version()
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
begin
  return '20261130233039';
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
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130233236';
end $$;

grant execute on function private.schema_version() to barid_api;
