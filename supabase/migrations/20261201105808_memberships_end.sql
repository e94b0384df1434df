-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION tenancy.member_leaves(user_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  u tenancy.tenant_users;
begin
  update tenancy.tenant_users x set is_active = false, left_at = now(), was_shut_out = not x.is_active
  where x.tenant_id = v_tenant and x.user_id = member_leaves.user_id and x.left_at is null
  returning x.* into u;
  if not found then
    return null;
  end if;
  delete from tenancy.tenant_user_roles r where r.tenant_id = v_tenant and r.user_id = u.user_id;
  delete from tenancy.active_tenants a where a.tenant_id = v_tenant and a.user_id = u.user_id;
  update delivery.drivers d set status = 'inactive' where d.tenant_id = v_tenant and d.user_id = u.user_id and d.status <> 'inactive';
  perform tenancy.member_event_emit('tenant_user.left', u.user_id, u.tenant_user_type);
  return u.left_at;
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."member_leaves"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION tenancy.membership_end(tenant_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_user uuid := app.user_id();
  v_before text := coalesce(app.tenant_id()::text, '');
  v_was_admin boolean;
  v_left timestamptz;
begin
  perform set_config('app.tenant_id', membership_end.tenant_id::text, true);
  -- One change of a tenant's users at a time: two administrators must not both leave.
  perform from tenancy.tenants t where t.id = membership_end.tenant_id for no key update;
  v_was_admin := tenancy.is_active_admin(v_user);
  v_left := tenancy.member_leaves(v_user);
  if v_left is null then
    perform app.fail('forbidden');
  end if;
  if v_was_admin then
    perform tenancy.require_another_admin();
  end if;
  perform set_config('app.tenant_id', v_before, true);
  return jsonb_build_object('tenant_id', membership_end.tenant_id, 'left_at', v_left);
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."member_leaves"(uuid) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201105808';
end $$;

grant execute on function private.schema_version() to barid_api;
