-- PL/pgSQL throughout: a SQL function with a pinned search path is planned anew at every call.
-- The caller's context. private.enter() writes these settings for one transaction; policies and cores read them.

-- The caller's tenant, or null outside a tenant. Falls back to the token's claim, which is what
-- Supabase Realtime sets when it evaluates a policy for a subscriber.
create or replace function app.tenant_id() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    nullif(current_setting('app.tenant_id', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb #>> '{app_metadata,tenant_id}'
  )::uuid;
end $$;

-- The caller's user id, or null for the system itself.
create or replace function app.user_id() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    nullif(current_setting('app.user_id', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
  )::uuid;
end $$;

-- The caller's grants: 'role:driver', 'permission:manage:tenant', 'anyone', ...
create or replace function app.grants() returns text[]
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(nullif(current_setting('app.grants', true), '')::text[], '{}');
end $$;

-- True when the caller has this role in the tenant.
create or replace function app.has_role(role_key text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return ('role:' || role_key) = any (app.grants());
end $$;

-- True when one of the caller's roles, or their API key, carries this permission.
create or replace function app.has_permission(permission_key text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return ('permission:' || permission_key) = any (app.grants());
end $$;

-- True for people who see the whole tenant. Drivers, institutions and customers see their own rows,
-- and the policies made by app.tenant_table() hold them to it.
create or replace function app.sees_tenant() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return current_setting('app.sees_tenant', true) = 'on';
end $$;

-- The warehouses that the caller's work is limited to, or null when it is to none: of warehouse staff, who look after
-- nothing else, those they are active in. Every list and record of what is in a warehouse, or happens there, asks it.
create or replace function app.own_warehouses() returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  if not app.has_role('warehouse_staff') or app.has_permission('manage:operations:tenant') or app.has_permission('manage:module:warehouse') then
    return null;
  end if;
  return array(
    select s.warehouse_id from warehousing.warehouse_staff s
    where s.tenant_id = app.tenant_id() and s.user_id = app.user_id() and s.is_active);
end $$;

-- The language of the running request; English where it is in none.
create or replace function app.language() returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(nullif(current_setting('app.language', true), ''), 'en');
end $$;

-- A setting of the running request ('request_id', 'operation', 'language'), or null.
create or replace function app.request_setting(setting text) returns text
language plpgsql stable set search_path = '' as $$
begin
  return nullif(current_setting('app.' || setting, true), '');
end $$;
