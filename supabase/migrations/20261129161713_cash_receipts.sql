-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.cash_transfer_receipt(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_transfer jsonb := app.found(money.cash_transfer_to_json((input ->> 'id')::uuid), 'cash_transfer_not_found');
begin
  return jsonb_build_object('transfer', v_transfer, 'payer', (
      select money.payer_contact(d) ->> 'name' from money.payments p
      join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
      where p.tenant_id = app.tenant_id() and p.id = (v_transfer ->> 'refund_id')::uuid),
    'tenant_name', (select t.name from tenancy.tenants t where t.id = app.tenant_id()),
    'brand', app.settings('general', 'brand_settings'), 'timezone', app.timezone(), 'decimals', money.decimals_of(v_transfer ->> 'currency'));
end $function$;

REVOKE ALL ON FUNCTION "money"."cash_transfer_receipt"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cash_transfer_receipt"(jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129161713';
end $$;

grant execute on function private.schema_version() to barid_api;
