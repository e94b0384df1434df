-- Supabase Auth calls this before it signs a token (config.toml, [auth.hook.custom_access_token]).
-- Adds app_metadata.tenant_id (the tenant the person chose, while they are an active member of it), tenant_user_id and
-- roles. System administrators name a tenant in each call, so their tokens name none. Permissions stay out of the token:
-- they are read afresh by each request.
create or replace function public.custom_access_token_hook(event jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_user uuid := (event ->> 'user_id')::uuid;
  v_member record;
  v_roles jsonb := '[]';
  v_extra jsonb := '{}';
begin
  select u.id, u.tenant_id into v_member
  from tenancy.active_tenants a
  join tenancy.tenant_users u on u.tenant_id = a.tenant_id and u.user_id = a.user_id and u.is_active
  where a.user_id = v_user and not exists (select from tenancy.system_users s where s.user_id = v_user);
  if found then
    select coalesce(jsonb_agg(r.role_key order by r.role_key), '[]') into v_roles
    from tenancy.tenant_user_roles r where r.user_id = v_user and r.tenant_id = v_member.tenant_id;
    v_extra := jsonb_build_object('tenant_id', v_member.tenant_id, 'tenant_user_id', v_member.id);
  end if;
  if exists (select from tenancy.system_users s where s.user_id = v_user) then
    v_roles := v_roles || '["system_admin"]';
  end if;
  return jsonb_set(event, '{claims,app_metadata}',
    (coalesce(event #> '{claims,app_metadata}', '{}') - '{tenant_id,tenant_user_id}'::text[]) || v_extra || jsonb_build_object('roles', v_roles));
end $$;

grant usage on schema tenancy, public to supabase_auth_admin;
grant execute on function public.custom_access_token_hook(jsonb) to supabase_auth_admin;
revoke execute on function public.custom_access_token_hook(jsonb) from authenticated, anon, public;
grant select on tenancy.tenant_users, tenancy.active_tenants, tenancy.tenant_user_roles, tenancy.system_users to supabase_auth_admin;

do $$
declare
  v_table regclass;
begin
  foreach v_table in array array['tenancy.tenant_users', 'tenancy.active_tenants', 'tenancy.tenant_user_roles',
    'tenancy.system_users']::regclass[] loop
    execute format('drop policy if exists auth_reads on %s', v_table);
    execute format('create policy auth_reads on %s for select to supabase_auth_admin using (true)', v_table);
  end loop;
end $$;
