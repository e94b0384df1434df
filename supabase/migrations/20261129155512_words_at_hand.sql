-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.contact_patterns(search text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
declare
  v_search text := translate(search, U&'\061C\202A\202B\202C\202D\202E\2066\2067\2068\2069\FEFF', '');
  v_number text := app.dialled(v_search);
begin
  return app.contains_patterns(case v_search when '' then search else v_search end)
    || case when v_number ~ '^(\+|00?)[1-9][0-9]{7,13}$' then app.dialled_patterns(v_search) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION app.dialled(value text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
begin
  return regexp_replace(app.ascii_digits(value), '[^0-9+]', '', 'g');
end $function$;

CREATE OR REPLACE FUNCTION app.dialled_patterns(search text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
declare
  v_number text := app.dialled(search);
begin
  return case
    when v_number !~ '[0-9]{3}'
      or app.ascii_digits(search) !~ '^[0-9+().\s/\u00a0\u061c\u200b-\u200f\u2010-\u2015\u202a-\u202f\u2066-\u2069\ufeff-]+$' then '{}'
    when v_number ~ '^(\+|00?)[1-9][0-9]{7,13}$' then array[app.contains_pattern(right(v_number, 9))]
    else array[app.contains_pattern(v_number)]
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_matching(part text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contact_patterns(part);
  v_dialled text[] := app.dialled_patterns(part);
  v_owners uuid[];
begin
  if app.sees_tenant() then
    v_owners := array(
      select u.user_id from tenancy.tenant_users u join tenancy.profiles p on p.id = u.user_id
      where u.tenant_id = v_tenant and app.folded(p.full_name) ilike any (v_patterns) limit 51);
  end if;
  return query execute $query$
    select d.id from delivery.deliveries d where d.tenant_id = $1 and app.folded(d.delivery_code::text || ' ' || d.barcode || ' '
      || coalesce(d.external_reference_id, '') || ' ' || coalesce(d.recipient ->> 'name', '') || ' ' || coalesce(d.recipient ->> 'phone', ''))
      operator(pg_catalog.~~*) any ($2)
    and (app.folded(d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '') || ' '
      || coalesce(d.recipient ->> 'name', '') || ' ' || coalesce(d.recipient ->> 'phone', '')) || '') operator(pg_catalog.~~*) any ($3)
    and ($4 or d.delivery_flow <> 'pnd_inbound' or $5 in (d.customer_id, d.institution_user_id)
      or app.folded(d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '')) operator(pg_catalog.~~*) any ($3))
  $query$ using v_tenant, app.index_patterns(v_patterns), v_patterns, app.sees_tenant(), app.user_id();
  -- Telephone numbers that are kept as people wrote them.
  if cardinality(v_dialled) > 0 then
    return query execute $query$
      select d.id from delivery.deliveries d where d.tenant_id = $1 and (d.recipient ->> 'phone') operator(pg_catalog.~) '[^0-9+]'
      and app.dialled(d.recipient ->> 'phone') operator(pg_catalog.~~*) any ($2)
      and (app.dialled(d.recipient ->> 'phone') || '') operator(pg_catalog.~~*) any ($3)
      and ($4 or d.delivery_flow <> 'pnd_inbound' or $5 in (d.customer_id, d.institution_user_id))
    $query$ using v_tenant, app.index_patterns(v_dialled), v_dialled, app.sees_tenant(), app.user_id();
  end if;
  if cardinality(v_owners) between 1 and 50 then
    return query
      select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.customer_id = any (v_owners)
      union all
      select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.institution_user_id = any (v_owners);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.schema_version()
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
begin
  return '20261129154818';
end $function$;

REVOKE ALL ON FUNCTION "app"."dialled"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."dialled"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "app"."dialled_patterns"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."dialled_patterns"(text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129155512';
end $$;

grant execute on function private.schema_version() to barid_api;
