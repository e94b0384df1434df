-- The id of the key that a call came with, for the log line of a refusal; null when there is no such key.
create or replace function private.api_key_id(claims jsonb) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select k.id from tenancy.api_keys k where k.key_hash = decode(claims ->> 'api_key_hash', 'hex'));
end $$;
grant execute on function private.api_key_id(jsonb) to barid_api, barid_caller;

-- The user, tenant and grants behind a verified token, service key or API key.
--
-- claims: sub (user id), tenant_id (the token's active tenant), asked_tenant_id (?tenant_id=),
--         service (the function's own key), api_key_hash (hex SHA-256), tenant_mode (required, optional, none),
--         issued_at (of the token, seconds), mailbox (the bearer signed in by a mail to their address).
-- Reads roles and permissions afresh, so taking a role away holds from the next request on.
-- Security definer: it must see memberships before there is a tenant. Callable by the entry points only.
-- api_key_id names the key of the call, is_company_key says that it is one company's.
-- Fails: unauthorized, forbidden, tenant_id_required, tenant_inactive; tenant_not_found only for those who
-- may reach every tenant, since others must not learn which ids exist.
create or replace function private.identify(
  claims jsonb, out user_id uuid, out tenant_id uuid, out grants text[], out sees_tenant boolean, out language text,
  out api_key_id uuid, out is_company_key boolean
)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_user uuid := (claims ->> 'sub')::uuid;
  v_asked uuid := (claims ->> 'asked_tenant_id')::uuid;
  v_tenant uuid := coalesce(v_asked, (claims ->> 'tenant_id')::uuid);
  v_service boolean := coalesce((claims ->> 'service')::boolean, false);
  v_mailbox boolean := coalesce((claims ->> 'mailbox')::boolean, false);
  v_system boolean := false;
  v_type text;
  v_grants text[] := '{anyone}';
  v_roles text[];
  v_effective boolean;
  v_key record;
begin
  if claims ? 'api_key_hash' then
    -- A key of one tenant never acts for the system, whatever its scopes say, and does what its maker may do now: one that may
    -- do nothing any more has stopped.
    select k.id, k.tenant_id, k.is_system_capable, coalesce(k.last_used_at < now() - interval '1 hour', true) as is_news,
      case when k.tenant_id is null then k.scopes else private.api_key_scopes(k.tenant_id, k.created_by, k.scopes) end as scopes
    into v_key
    from tenancy.api_keys k
    where k.key_hash = decode(claims ->> 'api_key_hash', 'hex') and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now());
    if not found or (v_key.tenant_id is null and not v_key.is_system_capable) or v_key.scopes = '{}' then
      perform app.fail('unauthorized');
    end if;
    if v_key.tenant_id is not null and v_asked is not null and v_asked <> v_key.tenant_id then
      perform app.fail('forbidden');
    end if;
    -- That it is used is written once an hour, and by one call: the others do not wait for it.
    if v_key.is_news then
      update tenancy.api_keys k set last_used_at = now()
      where k.id = (select l.id from tenancy.api_keys l where l.id = v_key.id for no key update skip locked);
    end if;
    v_tenant := coalesce(v_key.tenant_id, v_tenant);
    v_system := v_key.tenant_id is null;
    v_type := 'staff';
    v_grants := v_grants || array(select 'permission:' || s from unnest(v_key.scopes) s);
    api_key_id := v_key.id;
    is_company_key := v_key.tenant_id is not null;
  elsif v_user is not null then
    -- A token issued before the account was confirmed may belong to the person who created the account. Tokens name seconds.
    if not exists (select from tenancy.profiles p where p.id = v_user and (p.proven_at is null or v_mailbox or v_service
        or to_timestamp((claims ->> 'issued_at')::bigint) > p.proven_at)) then
      perform app.fail('unauthorized');
    end if;
    if v_mailbox then
      v_grants := v_grants || array['mailbox'];
    end if;
    v_system := exists (select from tenancy.system_users s where s.user_id = v_user);
    -- A system administrator acts in the tenant that the call names, never in one that a token still carries.
    if v_system then
      v_tenant := v_asked;
    end if;
  end if;

  if v_service then
    v_grants := v_grants || array['service'];
  end if;
  if v_system and not claims ? 'api_key_hash' then
    v_grants := v_grants || array['role:system_admin']
      || (select array_agg('permission:' || p.key) from tenancy.permissions p);
  end if;

  if v_tenant is not null then
    select app.is_effective(t), s.settings ->> 'default' into v_effective, language
    from tenancy.tenants t
    left join tenancy.tenant_settings s on s.tenant_id = t.id and s.module = 'general' and s.group_key = 'language'
    where t.id = v_tenant;
    if not found then
      if v_asked is not null or claims ->> 'tenant_mode' <> 'none' then
        perform app.fail(case when v_system or v_service then 'tenant_not_found' else 'forbidden' end);
      end if;
      v_tenant := null;
    end if;
  end if;

  if v_tenant is not null then
    if v_user is not null and v_type is null then
      select u.tenant_user_type,
        (select coalesce(array_agg(r.role_key), '{}') from tenancy.tenant_user_roles r
          where r.tenant_id = v_tenant and r.user_id = v_user)
      into v_type, v_roles
      from tenancy.tenant_users u
      where u.tenant_id = v_tenant and u.user_id = v_user and u.is_active;
      if found then
        v_grants := v_grants || ('type:' || v_type)
          || (select coalesce(array_agg('role:' || r), '{}') from unnest(v_roles) r)
          || (select coalesce(array_agg(distinct 'permission:' || p.permission_key), '{}')
              from tenancy.role_permissions p where p.role_key = any (v_roles));
      elsif not v_system and not v_service then
        -- Calls outside any tenant continue without the one the token still names.
        if v_asked is null and claims ->> 'tenant_mode' = 'none' then
          v_tenant := null;
        else
          perform app.fail('forbidden');
        end if;
      end if;
    end if;
    if v_tenant is null then
      language := null;
    elsif not v_effective and not v_system and claims ->> 'tenant_mode' <> 'none' then
      perform set_config('app.language', coalesce(claims ->> 'language', language, 'en'), true);
      perform app.fail('tenant_inactive');
    end if;
  elsif claims ->> 'tenant_mode' = 'required' then
    perform app.fail('tenant_id_required');
  end if;

  user_id := v_user;
  tenant_id := v_tenant;
  grants := v_grants;
  sees_tenant := v_system or v_service or coalesce(v_type = 'staff', false);
end $$;

grant execute on function private.identify(jsonb) to barid_api;
