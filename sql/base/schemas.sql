-- Schemas, the two roles of the edge functions, and what nobody may do by default.
--
-- barid_api     logs in from the edge functions and owns no rights but the entry points of `private`.
-- barid_caller  what a request becomes once its caller is known; every policy is written for it.
-- Supabase's own anon and authenticated get nothing here, so its REST and GraphQL side doors stay shut.

create schema if not exists extensions;
create extension if not exists pgcrypto with schema extensions;
create extension if not exists pg_trgm with schema extensions;

do $$
begin
  if not exists (select from pg_roles where rolname = 'barid_caller') then
    create role barid_caller nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'barid_api') then
    create role barid_api nologin noinherit;
  end if;
  if not pg_has_role('barid_api', 'barid_caller', 'member') then
    grant barid_caller to barid_api;
  end if;
  -- Migrations run as postgres; on a hosted project that role is no superuser and the functions may
  -- fall back to it, so it must be able to become the caller as well.
  if not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant barid_caller to %I', current_user);
  end if;
end $$;

-- A stuck statement must not hold a pooled connection: the caller is refused with 503.
alter role barid_api set statement_timeout = '20s';
alter role barid_api set lock_timeout = '5s';
alter role barid_api set idle_in_transaction_session_timeout = '10s';

-- Documents are compressed by LZ4 where the server has it, as Supabase's do: PostgreSQL's own way takes several times as long.
do $$
begin
  if 'lz4' = any (array(select unnest(s.enumvals) from pg_settings s where s.name = 'default_toast_compression')) then
    alter role barid_api set default_toast_compression = 'lz4';
  end if;
end $$;

create schema if not exists app;
create schema if not exists private;
create schema if not exists tenancy;
create schema if not exists money;
create schema if not exists delivery;
create schema if not exists warehousing;
create schema if not exists storefront;
create schema if not exists integration;
-- Partitions that cron makes and drops. Nobody reaches them but through their tables.
create schema if not exists partitions;

grant usage on schema app, tenancy, money, delivery, warehousing, storefront, integration, private, extensions to barid_caller;
-- The login role calls the entrances of the request engine, and of each area the few that are granted to it by name.
grant usage on schema private, tenancy, money, delivery, storefront, integration to barid_api;

-- PostgreSQL lets everybody execute a new function. Only a default without "in schema" takes that back.
alter default privileges revoke execute on functions from public;
alter default privileges in schema app grant execute on functions to barid_caller;
alter default privileges in schema tenancy grant execute on functions to barid_caller;
alter default privileges in schema money grant execute on functions to barid_caller;
alter default privileges in schema delivery grant execute on functions to barid_caller;
alter default privileges in schema warehousing grant execute on functions to barid_caller;
alter default privileges in schema storefront grant execute on functions to barid_caller;
alter default privileges in schema integration grant execute on functions to barid_caller;
