-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.api_keys in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP POLICY "administrators" ON "tenancy"."api_keys";

CREATE OR REPLACE FUNCTION private.acts_as_maker(scopes text[])
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return scopes && '{own:institution,own:institution:view}';
end $function$;

CREATE OR REPLACE FUNCTION private.api_key_scopes(tenant_id uuid, maker uuid, scopes text[])
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.identify(claims jsonb, OUT user_id uuid, OUT tenant_id uuid, OUT grants text[], OUT sees_tenant boolean, OUT language text, OUT api_key_id uuid, OUT is_company_key boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
    if not v_own then
      grants := grants || '{api_key}' || array(select 'permission:' || s from unnest(v_key.scopes) s);
    elsif v_mode = 'none' then
      -- Outside its company it is nobody, as every key.
      grants := grants || '{api_key}';
    else
      user_id := (select k.created_by from tenancy.api_keys k where k.id = v_key.id);
      grants := grants || '{api_key,type:institution,role:institution}';
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
end $function$;

CREATE OR REPLACE FUNCTION tenancy.api_key_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_max constant integer := 10;
  v_id uuid := (input #>> '{made,id}')::uuid;
  v_scopes text[] := array(select distinct s.value from jsonb_array_elements_text(input -> 'scopes') s order by s.value);
  v_beyond text[] := tenancy.scopes_not_held(v_scopes);
  v_expires timestamptz := app.instant(input ->> 'expires_at');
begin
  if cardinality(v_beyond) > 0 then
    perform app.fail('api_key_scope_not_held', jsonb_build_object('field', 'scopes', 'scopes', v_beyond));
  elsif v_expires <= now() then
    perform app.fail('api_key_expiry_past', '{"field": "expires_at"}');
  elsif v_expires > now() + interval '1 year' then
    perform app.fail('api_key_expiry_too_far', '{"field": "expires_at"}');
  end if;
  if private.acts_as_maker(v_scopes) then
    -- Two at once would both count nine.
    perform pg_advisory_xact_lock(hashtextextended('api_keys/' || app.tenant_id() || '/' || app.user_id(), 0));
    if (select count(*) from tenancy.api_keys k
        where k.tenant_id = app.tenant_id() and k.created_by = app.user_id() and k.revoked_at is null and k.expires_at > now()) >= v_max then
      perform app.fail('api_key_limit_reached', jsonb_build_object('max', v_max));
    end if;
  end if;
  insert into tenancy.api_keys (id, tenant_id, name, key_hash, hint, scopes, created_by, expires_at)
  values (v_id, app.tenant_id(), input ->> 'name', decode(input #>> '{made,hash}', 'hex'), input #>> '{made,hint}', v_scopes,
    app.user_id(), v_expires);
  return jsonb_build_object('api_key', tenancy.api_key_of(v_id), 'key', input #>> '{made,key}');
end $function$;

CREATE OR REPLACE FUNCTION tenancy.api_keys_stopped(maker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'hint', k.hint) order by k.created_at, k.id), '[]')
    from tenancy.api_keys k
    where k.created_by = maker and k.revoked_at is null and k.expires_at > now() and not private.acts_as_maker(k.scopes)
      and cardinality(private.api_key_scopes(k.tenant_id, maker, k.scopes)) = 0);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.prove_account()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_now timestamptz := clock_timestamp();
begin
  if not 'mailbox' = any (app.grants()) then
    perform app.fail('mailbox_not_proven');
  end if;
  update tenancy.profiles p set proven_at = v_now where p.id = app.user_id();
  update tenancy.api_keys k set revoked_at = v_now
  where k.created_by = app.user_id() and private.acts_as_maker(k.scopes) and k.revoked_at is null;
  return v_now;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.scopes_not_held(scopes text[])
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if private.acts_as_maker(scopes) and app.has_role('institution') then
    return array_remove(scopes, case when 'own:institution' = any (scopes) then 'own:institution' else 'own:institution:view' end);
  end if;
  return array(select s from unnest(scopes) s where not app.has_permission(s));
end $function$;

CREATE POLICY "administrators" ON "tenancy"."api_keys" AS RESTRICTIVE FOR ALL TO "barid_caller" USING ((( SELECT app.has_permission('manage:tenant'::text) AS has_permission) OR (private.acts_as_maker(scopes) AND (created_by = ( SELECT app.user_id() AS user_id)))));

REVOKE ALL ON FUNCTION "private"."acts_as_maker"(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."acts_as_maker"(text[]) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130200311';
end $$;

grant execute on function private.schema_version() to barid_api;
