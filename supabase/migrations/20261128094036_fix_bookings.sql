-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION integration.shipment_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  s integration.carrier_shipments;
begin
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = d.tenant_id and t.delivery_id = d.id order by t.status = 'cancelled', t.created_at desc limit 1;
  if not found then
    perform app.fail('shipment_not_found');
  end if;
  return integration.shipment_to_json(s);
end $function$;

CREATE VIEW "integration"."shipments_list" WITH (security_invoker=true) AS  SELECT s.id,
    s.delivery_id,
    d.delivery_code,
    d.status AS delivery_status,
    s.carrier_code,
    s.status,
    s.tracking_number,
    s.label_url,
    s.cash_due,
    d.currency,
    s.booked_at,
    s.cancelled_at,
    s.created_at
   FROM (integration.carrier_shipments s
     JOIN delivery.deliveries d ON (((d.tenant_id = s.tenant_id) AND (d.id = s.delivery_id))));

REVOKE ALL ON FUNCTION "integration"."shipment_get"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."shipment_get"(jsonb) TO "barid_caller";

GRANT SELECT ON TABLE "integration"."shipments_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128094036';
end $$;

grant execute on function private.schema_version() to barid_api;
