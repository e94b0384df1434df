-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION storefront.order_paid(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  return storefront.order_refundable(o) + (
    select coalesce(sum(p.goodwill), 0) from money.payments p
    where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS');
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128142339';
end $$;

grant execute on function private.schema_version() to barid_api;
