-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.require_assignee(assignee uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if assignee is not null and not exists (
      select from tenancy.tenant_users u
      join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      where u.tenant_id = app.tenant_id() and u.user_id = assignee and u.is_active and (r.role_key in ('warehouse_manager', 'warehouse_staff')
        or exists (select from tenancy.role_permissions p where p.role_key = r.role_key
          and p.permission_key in ('view:tenant', 'manage:operations:tenant', 'manage:module:warehouse')))) then
    perform app.fail('assignee_not_found', '{"field": "assigned_to"}');
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128134046';
end $$;

grant execute on function private.schema_version() to barid_api;
