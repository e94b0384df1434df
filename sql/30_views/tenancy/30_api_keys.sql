drop view if exists tenancy.api_keys_list cascade;

-- What a tenant's key may do now: those of its scopes that its maker has, as an active member of the tenant or as a system
-- administrator, and never what is the system's.
create or replace function private.api_key_scopes(tenant_id uuid, maker uuid, scopes text[]) returns text[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return array(
    select s.scope from unnest(scopes) s (scope)
    where s.scope not in ('manage:system', 'manage:user_access:system')
      and (exists (select from tenancy.system_users u where u.user_id = maker)
        or exists (
          select from tenancy.tenant_users u
          join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
          join tenancy.role_permissions p on p.role_key = r.role_key and p.permission_key = s.scope
          where u.tenant_id = api_key_scopes.tenant_id and u.user_id = maker and u.is_active)));
end $$;
grant execute on function private.api_key_scopes(uuid, uuid, text[]) to barid_caller;

-- The tenant's keys as every response shows them, never the key itself. effective_scopes are those that the person who
-- answers for the key has now; one with none has stopped.
create view tenancy.api_keys_list with (security_invoker = true) as
select k.id, k.name, k.hint, k.scopes,
  case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired'
    when cardinality(l.scopes) = 0 then 'stopped' else 'active' end as status,
  l.scopes as effective_scopes, k.created_by as created_by_id,
  (select jsonb_build_object('id', p.id, 'full_name', p.full_name) from tenancy.profiles p where p.id = k.created_by) as created_by,
  k.expires_at, k.revoked_at, k.last_used_at, k.created_at
from tenancy.api_keys k
cross join lateral (select private.api_key_scopes(k.tenant_id, k.created_by, k.scopes) as scopes) l;

grant select on tenancy.api_keys_list to barid_caller;
