-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.addresses, delivery.usable_addresses in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP POLICY "tenant" ON "delivery"."addresses";

DROP VIEW "delivery"."usable_addresses";

CREATE OR REPLACE FUNCTION delivery.address_is_shown(a delivery.addresses)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE COST 20000
 SET search_path TO ''
AS $function$
begin
  if (a.owner_user_id is null or app.has_role('driver'))
      and exists (select from delivery.institution_branches b where b.tenant_id = a.tenant_id and b.address_id = a.id) then
    return true;
  elsif a.owner_user_id is not null then
    return false;
  elsif exists (select from delivery.deliveries d where d.tenant_id = a.tenant_id and d.pickup_address_id = a.id)
      or exists (select from delivery.deliveries d where d.tenant_id = a.tenant_id and d.dropoff_address_id = a.id) then
    return true;
  end if;
  return exists (select from delivery.transfer_processing_points p where p.tenant_id = a.tenant_id and p.address_id = a.id)
    or exists (select from warehousing.warehouses w where w.tenant_id = a.tenant_id and w.address_id = a.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.address_is_usable(a delivery.addresses)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE COST 20000
 SET search_path TO ''
AS $function$
declare
  v_caller uuid := app.user_id();
begin
  return exists (select from delivery.transfer_processing_points p where p.tenant_id = a.tenant_id and p.address_id = a.id)
    or exists (select from delivery.institution_branches b where b.tenant_id = a.tenant_id and b.address_id = a.id)
    or exists (select from warehousing.warehouses w where w.tenant_id = a.tenant_id and w.address_id = a.id)
    or exists (select from delivery.deliveries d
      where d.tenant_id = a.tenant_id and d.pickup_address_id = a.id and v_caller in (d.customer_id, d.institution_user_id))
    or exists (select from delivery.deliveries d
      where d.tenant_id = a.tenant_id and d.dropoff_address_id = a.id and v_caller in (d.customer_id, d.institution_user_id));
end $function$;

CREATE VIEW "delivery"."usable_addresses" WITH (security_invoker=true) AS  SELECT id
   FROM delivery.addresses a
  WHERE (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id)) OR delivery.address_is_usable(a.*));

CREATE POLICY "tenant" ON "delivery"."addresses" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id)) OR delivery.address_is_shown(addresses.*)))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id)))));

REVOKE ALL ON FUNCTION "delivery"."address_is_shown"(delivery.addresses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."address_is_shown"(delivery.addresses) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."address_is_usable"(delivery.addresses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."address_is_usable"(delivery.addresses) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."usable_addresses" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126221118';
end $$;

grant execute on function private.schema_version() to barid_api;
