-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_recipient(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select jsonb_strip_nulls(jsonb_build_object(
      'name', coalesce(nullif(left(trim(o.shipping_address #>> '{contact_info,name}'), 200), ''), p.full_name),
      'phone', app.ascii_digits(coalesce(nullif(trim(o.shipping_address #>> '{contact_info,phone}'), ''), p.phone))))
    from tenancy.profiles p where p.id = o.user_id), '{}');
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126190439';
end $$;

grant execute on function private.schema_version() to barid_api;
