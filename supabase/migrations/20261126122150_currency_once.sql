-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION tenancy.currency_changed(before text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_code text := (app.currency()).code;
begin
  if tenancy.currency_in_use(before) or tenancy.prices_need_coins() then
    perform app.fail('currency_in_use', jsonb_build_object('field', 'general.currency.settings.'
      || case when v_code <> before then 'currency_code' else 'decimals' end));
  end if;
  if v_code = before then
    return;
  end if;
  perform money.account_of('wallet', u.tenant_user_type, u.user_id, v_code)
  from tenancy.tenant_users u
  where u.tenant_id = app.tenant_id() and u.tenant_user_type in ('driver', 'institution', 'customer');
  update storefront.markets m set settings = m.settings || jsonb_build_object('currency', v_code)
  where m.tenant_id = app.tenant_id() and m.settings ->> 'currency' <> v_code;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.currency_in_use(code text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from money.accounts a where a.tenant_id = app.tenant_id() and a.currency = code and a.version > 0)
    or exists (select from delivery.deliveries d
      where d.tenant_id = app.tenant_id() and d.currency = code and d.status not in ('delivered', 'returned', 'cancelled'))
    or exists (select from storefront.storefront_orders o
      where o.tenant_id = app.tenant_id() and o.currency = code and o.status not in ('delivered', 'completed', 'cancelled'));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_save(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency record := app.currency();
  v_now record;
  v_before jsonb := tenancy.manifest_settings();
  v_groups jsonb;
begin
  perform private.version_alone();
  insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
  select app.tenant_id(), p ->> 'module', p ->> 'group', app.merge_patch('{}', p -> 'settings'), app.user_id()
  from jsonb_array_elements(input -> 'patches') p
  order by p ->> 'module', p ->> 'group'
  on conflict (tenant_id, module, group_key) do update set updated_by = excluded.updated_by,
    settings = app.merge_patch(s.settings, (
      select q -> 'settings' from jsonb_array_elements(input -> 'patches') q
      where q ->> 'module' = excluded.module and q ->> 'group' = excluded.group_key));

  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
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

REVOKE ALL ON FUNCTION "tenancy"."currency_changed"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."currency_changed"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."currency_in_use"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."currency_in_use"(text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126122150';
end $$;

grant execute on function private.schema_version() to barid_api;
