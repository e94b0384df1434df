-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION tenancy.setting_is_hidden(p_module text, p_group text, p_key text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return (p_module, p_group) = ('delivery', 'cod')
    or (p_module, p_group) = ('general', 'driver') and p_key in ('mode', 'percentage', 'per_delivery');
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_open boolean := app.sees_tenant() or app.grants() && '{type:driver}';
begin
  return (
    with wanted as (
      select g ->> 0 as module, g ->> 1 as group_key from jsonb_array_elements(input -> 'groups') g
      union
      select s.module, s.group_key from tenancy.tenant_settings s where s.tenant_id = app.tenant_id() and not input ? 'groups'
      union
      select 'delivery', 'transfer_manifest' where not input ? 'groups'
    ), shown as (
      select w.module, w.group_key, case
        when w.module = 'delivery' and w.group_key = 'transfer_manifest' then tenancy.manifest_settings() || coalesce((
          select jsonb_build_object('default_delivery_service',
            jsonb_build_object('id', s.id, 'name', app.localized(s.name), 'code', s.code))
          from delivery.delivery_services s
          where s.id = (tenancy.manifest_settings() ->> 'default_delivery_service_id')::uuid and s.deleted_at is null), '{}')
        when w.module = 'delivery' and w.group_key = 'attempts' then tenancy.attempt_settings()
        else (
          select coalesce(jsonb_object_agg(k.key, k.value), '{}') from jsonb_each(app.settings(w.module, w.group_key)) k
          where v_open or not tenancy.setting_is_hidden(w.module, w.group_key, k.key)) end as settings
      from wanted w
    )
    select coalesce(jsonb_object_agg(m.module, m.groups), '{}')
    from (
      select s.module, jsonb_object_agg(s.group_key, jsonb_build_object('settings', s.settings)) as groups
      from shown s group by s.module
    ) m);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.tenant_writer(writer uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('id', p.id, 'email', case when app.sees_tenant() then p.email end) from tenancy.people p
    join tenancy.tenants t on t.id = app.tenant_id() and writer in (t.created_by, t.updated_by)
    where p.id = writer);
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."setting_is_hidden"(text, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."setting_is_hidden"(text, text, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126183653';
end $$;

grant execute on function private.schema_version() to barid_api;
