-- True of the scopes by which a key acts as the person who made it, in one company: own:institution, and own:institution:view, which only reads.
-- They stand alone (own_scope_alone).
create or replace function private.acts_as_maker(scopes text[]) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return scopes && '{own:institution,own:institution:view}';
end $$;

grant execute on function private.acts_as_maker(text[]) to barid_caller;

-- The effective grants of a tenant's key: those of its scopes that its maker has, as an active member of the tenant or as a system
-- administrator, and never what is the system's. The scopes own:institution and own:institution:view are an active institution's alone. None while
-- Auth bans the maker, or once it has deleted them. A key of the system has all of its own. Fails: forbidden (app.require_tenant).
create or replace function private.api_key_scopes(tenant_id uuid, maker uuid, scopes text[]) returns text[]
language plpgsql stable security definer set search_path = '' as $$
begin
  if tenant_id is null then
    return scopes;
  end if;
  perform app.require_tenant(tenant_id);
  return array(
    select s.scope from unnest(scopes) s (scope)
    where s.scope not like '%:system' and exists (select from private.open_accounts a where a.id = maker)
      and (exists (select from tenancy.system_users u where u.user_id = maker and not private.acts_as_maker(scopes))
        or exists (
          select from tenancy.tenant_users u
          join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
          left join tenancy.role_permissions p on p.role_key = r.role_key and p.permission_key = s.scope
          where u.tenant_id = api_key_scopes.tenant_id and u.user_id = maker and u.is_active
            and (p.role_key is not null or (private.acts_as_maker(scopes) and r.role_key = 'institution')))));
end $$;

grant execute on function private.api_key_scopes(uuid, uuid, text[]) to barid_caller;
