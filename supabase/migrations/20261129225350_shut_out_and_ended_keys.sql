-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table public.delivery_realtime_assignments in access exclusive mode;
      set local lock_timeout = '500ms';
      alter view tenancy.api_keys_list reset (security_barrier);
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

DROP POLICY "subscribers" ON "public"."delivery_realtime_assignments";

DROP VIEW "tenancy"."api_keys_list";

CREATE OR REPLACE FUNCTION delivery.hears_assignments()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.token_grants(app.tenant_id()) <> '{}';
end $function$;

REVOKE ALL ON FUNCTION "delivery"."hears_assignments"() FROM "barid_caller";

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
      and (exists (select from tenancy.system_users u where u.user_id = maker)
        or exists (
          select from tenancy.tenant_users u
          join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
          join tenancy.role_permissions p on p.role_key = r.role_key and p.permission_key = s.scope
          where u.tenant_id = api_key_scopes.tenant_id and u.user_id = maker and u.is_active)));
end $function$;

CREATE OR REPLACE FUNCTION private.api_key_status(revoked_at timestamp with time zone, expires_at timestamp with time zone, scopes text[])
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired'
    when cardinality(scopes) = 0 then 'stopped' else 'active' end;
end $function$;

CREATE OR REPLACE FUNCTION private.api_key_use(claims jsonb, OUT id uuid, OUT tenant_id uuid, OUT scopes text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
    grants := grants || '{api_key}' || array(select 'permission:' || s from unnest(v_key.scopes) s);
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
  sees_tenant := v_by_key or v_system or v_service or coalesce('type:staff' = any (v_member), false);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.api_key_mine(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid := app.request_setting('api_key_id')::uuid;
begin
  return jsonb_build_object('api_key', tenancy.api_key_of(v_id), 'tenant', (
    select jsonb_build_object('id', t.id, 'slug', t.slug, 'name', t.name, 'status', t.status,
      'effective_active', app.is_effective(t), 'effective_until', t.effective_until)
    from tenancy.api_keys k
    join tenancy.tenants t on t.id = k.tenant_id
    where k.id = v_id));
end $function$;

CREATE VIEW "tenancy"."api_keys_list" WITH (security_invoker=true) AS  SELECT k.id,
    k.name,
    k.hint,
    k.scopes,
    private.api_key_status(k.revoked_at, k.expires_at, l.scopes) AS status,
    l.scopes AS effective_scopes,
    k.created_by AS created_by_id,
    ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name) AS jsonb_build_object
           FROM tenancy.profiles p
          WHERE (p.id = k.created_by)) AS created_by,
    k.expires_at,
    k.revoked_at,
    k.last_used_at,
    k.created_at
   FROM (tenancy.api_keys k
     CROSS JOIN LATERAL ( SELECT private.api_key_scopes(k.tenant_id, k.created_by, k.scopes) AS scopes) l);

CREATE POLICY "subscribers" ON "public"."delivery_realtime_assignments" FOR SELECT TO "authenticated" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (driver_id = ( SELECT app.user_id() AS user_id)) AND ( SELECT delivery.hears_assignments() AS hears_assignments)));

REVOKE ALL ON FUNCTION "delivery"."hears_assignments"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."hears_assignments"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."api_key_status"(timestamp with time zone, timestamp with time zone, text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."api_key_status"(timestamp with time zone, timestamp with time zone, text[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."api_key_mine"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."api_key_mine"(jsonb) TO "barid_caller";

GRANT SELECT ON TABLE "tenancy"."api_keys_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129225350';
end $$;

grant execute on function private.schema_version() to barid_api;
