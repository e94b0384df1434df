-- The id of the key that a call came with, for the log line of a refusal; null when there is no such key.
create or replace function private.api_key_id(claims jsonb) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select k.id from tenancy.api_keys k where k.key_hash = decode(claims ->> 'api_key_hash', 'hex'));
end $$;
grant execute on function private.api_key_id(jsonb) to barid_api, barid_caller;

-- The state of a key: active, stopped, expired or revoked. scopes: those of its scopes that its maker still has.
create or replace function private.api_key_status(revoked_at timestamptz, expires_at timestamptz, scopes text[]) returns text
language plpgsql stable set search_path = '' as $$
begin
  return case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired'
    when cardinality(scopes) = 0 then 'stopped' else 'active' end;
end $$;
grant execute on function private.api_key_status(timestamptz, timestamptz, text[]) to barid_caller;

-- The API key of a call and what it may do now: a key does what its maker may still do, and one with nothing left has stopped.
-- tenant_id is null for a key of the system. Records the use at most once an hour, and not while the database is read-only;
-- of several calls at once one records it, and the others do not wait.
-- Fails: unauthorized (no such key); api_key_revoked, api_key_expired, api_key_stopped (no scope is left): only calls with a right key get these
-- three, and older functions answer them as unauthorized.
create or replace function private.api_key_use(claims jsonb, out id uuid, out tenant_id uuid, out scopes text[])
language plpgsql set search_path = '' as $$
declare
  v_record_use boolean;
  v_status text;
begin
  select k.id, k.tenant_id, coalesce(k.last_used_at < now() - interval '1 hour', true) and not current_setting('transaction_read_only')::boolean,
    s.scopes, private.api_key_status(k.revoked_at, k.expires_at, s.scopes)
  into api_key_use.id, api_key_use.tenant_id, v_record_use, api_key_use.scopes, v_status
  from tenancy.api_keys k
  cross join lateral (select private.api_key_scopes(k.tenant_id, k.created_by, k.scopes) as scopes) s
  where k.key_hash = decode(claims ->> 'api_key_hash', 'hex') and (k.tenant_id is not null or k.is_system_capable);
  if not found then
    perform app.fail('unauthorized');
  elsif v_status <> 'active' then
    perform app.fail('unauthorized', jsonb_build_object('newer_code', 'api_key_' || v_status));
  end if;
  if v_record_use then
    update tenancy.api_keys k set last_used_at = now()
    where k.id = (select l.id from tenancy.api_keys l where l.id = api_key_use.id for no key update skip locked);
  end if;
end $$;

-- The grants of an active member of a tenant: the type, the roles and the permissions of the roles; a permission of two roles stands there twice.
-- Null for anybody else.
create or replace function private.member_grants(tenant_id uuid, user_id uuid) returns text[]
language plpgsql stable set search_path = '' as $$
begin
  return (
    select array['type:' || u.tenant_user_type]
      || array(select 'role:' || r.role_key from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id)
      || array(
        select 'permission:' || p.permission_key
        from tenancy.tenant_user_roles r
        join tenancy.role_permissions p on p.role_key = r.role_key
        where r.tenant_id = u.tenant_id and r.user_id = u.user_id)
    from tenancy.tenant_users u
    where u.tenant_id = member_grants.tenant_id and u.user_id = member_grants.user_id and u.is_active);
end $$;

-- The user, tenant and grants behind a verified token, service key or API key.
--
-- claims: sub (user id), tenant_id (the token's active tenant), asked_tenant_id (?tenant_id=),
--         service (the function's own key), api_key_hash (hex SHA-256), tenant_mode (required, optional, none),
--         issued_at (of the token, seconds), mailbox (the bearer signed in by a mail to their address).
-- Reads roles and permissions afresh, so taking a role away holds from the next request on.
-- Security definer: it must see memberships before there is a tenant. Callable by the entry points only.
-- api_key_id names the key of the call, is_company_key says that it is one company's. With own:institution a key acts as its maker in the maker's
-- company, with an institution's grants alone; outside it as nobody. own:institution:view is the same with `only:reads`, by which private.enter
-- refuses every call that writes.
-- Fails: unauthorized, forbidden, tenant_id_required, tenant_inactive; tenant_not_found only for those who
-- may reach every tenant, since others must not learn which ids exist.
create or replace function private.identify(
  claims jsonb, out user_id uuid, out tenant_id uuid, out grants text[], out sees_tenant boolean, out language text,
  out api_key_id uuid, out is_company_key boolean
)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_asked uuid := (claims ->> 'asked_tenant_id')::uuid;
  v_mode text := claims ->> 'tenant_mode';
  v_by_key boolean := claims ? 'api_key_hash';
  -- A key by which an institution's own program acts as that institution.
  v_own boolean := false;
  v_service boolean := coalesce((claims ->> 'service')::boolean, false);
  v_mailbox boolean := coalesce((claims ->> 'mailbox')::boolean, false);
  v_system boolean := false;
  v_key record;
  v_member text[];
  v_effective boolean;
begin
  user_id := (claims ->> 'sub')::uuid;
  tenant_id := coalesce(v_asked, (claims ->> 'tenant_id')::uuid);
  grants := '{anyone}';

  if v_by_key then
    v_key := private.api_key_use(claims);
    if v_asked <> v_key.tenant_id then
      perform app.fail('forbidden');
    end if;
    tenant_id := coalesce(v_key.tenant_id, tenant_id);
    v_system := v_key.tenant_id is null;
    v_own := private.acts_as_maker(v_key.scopes);
    grants := grants || '{api_key}';
    if not v_own then
      grants := grants || array(select 'permission:' || s from unnest(v_key.scopes) s);
    elsif v_mode is distinct from 'none' then
      -- Outside its company it is nobody, as every key.
      user_id := (select k.created_by from tenancy.api_keys k where k.id = v_key.id);
      grants := grants || '{type:institution,role:institution}';
    end if;
    if v_own and not 'own:institution' = any (v_key.scopes) then
      grants := grants || '{only:reads}';
    end if;
    api_key_id := v_key.id;
    is_company_key := v_key.tenant_id is not null;
  elsif user_id is not null then
    -- A token issued before the account was confirmed may belong to the person who created the account. Tokens name seconds. One that
    -- was issued before Auth deleted or banned the account holds no more.
    select exists (select from tenancy.system_users s where s.user_id = p.id) into v_system
    from tenancy.profiles p
    join private.open_accounts a on a.id = p.id
    where p.id = identify.user_id
      and (p.proven_at is null or v_mailbox or v_service or to_timestamp((claims ->> 'issued_at')::bigint) > p.proven_at);
    if not found then
      perform app.fail('unauthorized');
    end if;
    if v_mailbox then
      grants := grants || array['mailbox'];
    end if;
    -- A system administrator acts in the tenant that the call names, never in one that a token still carries.
    if v_system then
      tenant_id := v_asked;
      grants := grants || array['role:system_admin'] || (select array_agg('permission:' || p.key) from tenancy.permissions p);
    end if;
  end if;
  if v_service then
    grants := grants || array['service'];
  end if;

  if tenant_id is not null then
    select app.is_effective(t), s.settings ->> 'default' into v_effective, language
    from tenancy.tenants t
    left join tenancy.tenant_settings s on s.tenant_id = t.id and s.module = 'general' and s.group_key = 'language'
    where t.id = identify.tenant_id;
    if user_id is not null and not v_by_key then
      v_member := private.member_grants(tenant_id, user_id);
    end if;
    if v_effective is null or (v_member is null and user_id is not null and not (v_by_key or v_system or v_service)) then
      -- Calls outside any tenant continue without the one that the token still names.
      if v_asked is not null or v_mode <> 'none' then
        perform app.fail(case when v_effective is null and (v_system or v_service) then 'tenant_not_found' else 'forbidden' end);
      end if;
      tenant_id := null;
      language := null;
    elsif not v_effective and not v_system and v_mode <> 'none' then
      perform set_config('app.language', coalesce(claims ->> 'language', language, 'en'), true);
      perform app.fail('tenant_inactive');
    end if;
    grants := grants || v_member;
  elsif v_mode = 'required' then
    perform app.fail('tenant_id_required');
  end if;
  sees_tenant := (v_by_key and not v_own) or v_system or v_service or coalesce('type:staff' = any (v_member), false);
end $$;

grant execute on function private.identify(jsonb) to barid_api;
