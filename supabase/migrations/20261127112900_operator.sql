-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION tenancy.kept_amounts()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('field', k.field, 'count', k.count) order by k.field), '[]')
    from (
      select s.key as field, 1::bigint as count from jsonb_each(tenancy.setting_amounts()) s where s.value::numeric > 0
      union all
      select 'delivery_services.default_price', count(*) from delivery.delivery_services s
      where s.tenant_id = v_tenant and s.deleted_at is null and s.default_price > 0
      union all
      select 'delivery_services.price_per_km', count(*) from delivery.delivery_services s
      where s.tenant_id = v_tenant and s.deleted_at is null and s.price_per_km > 0
      union all
      select 'products.variants.price', count(*) from storefront.product_variants v
      where v.tenant_id = v_tenant and v.archived_at is null and v.price > 0
      union all
      select 'carriers.configuration.default_price', count(*) from integration.tenant_carriers c
      where c.tenant_id = v_tenant and c.default_price > 0
    ) k where k.count > 0);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.require_coins_of_settings(before jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_currency record := app.currency();
  v_field text;
begin
  select s.key into v_field from jsonb_each(tenancy.setting_amounts()) s
  where s.value is distinct from before -> s.key and s.value::numeric <> round(s.value::numeric, v_currency.decimals)
  order by s.key limit 1;
  if v_field is not null then
    perform app.fail('too_many_decimals', jsonb_build_object('field', v_field, 'currency', v_currency.code, 'decimals', v_currency.decimals));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.setting_amounts()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_object_agg(a.module || '.' || a.group_key || '.settings.' || a.path, v.value), '{}')
    from (values
      ('delivery', 'cod', 'cash_ceiling'),
      ('delivery', 'payouts', 'minimum'),
      ('delivery', 'payouts', 'keep'),
      ('general', 'driver', 'per_delivery.base_amount')) a (module, group_key, path)
    cross join lateral (select app.settings(a.module, a.group_key) #> string_to_array(a.path, '.') as value) v
    where jsonb_typeof(v.value) = 'number');
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
  v_amounts jsonb;
  v_groups jsonb;
  v_saved jsonb;
begin
  perform private.version_alone();
  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
  perform app.keep_currency(v_groups @> '[["general", "currency"]]');
  v_currency := app.currency();
  v_amounts := tenancy.setting_amounts();
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
    v_amounts := '{}';
  end if;
  perform tenancy.require_coins_of_settings(v_amounts);
  v_saved := tenancy.settings_get(jsonb_build_object('groups', v_groups));
  return case when v_now.code = v_currency.code then v_saved
    else jsonb_set(v_saved, '{general,currency,kept_amounts}', tenancy.kept_amounts()) end;
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."kept_amounts"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."kept_amounts"() TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."require_coins_of_settings"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."require_coins_of_settings"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."setting_amounts"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."setting_amounts"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127112900';
end $$;

grant execute on function private.schema_version() to barid_api;
