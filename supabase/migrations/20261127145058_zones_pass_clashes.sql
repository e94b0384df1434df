-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.zones_of(delivery_ids uuid[])
 RETURNS TABLE(delivery_id uuid, pickup_zone_id uuid, dropoff_zone_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query select z.delivery_id, z.pickup_zone_id, z.dropoff_zone_id
    from delivery.delivery_zone_context z
    where z.tenant_id = v_tenant and z.delivery_id = any (delivery_ids);
exception
  when deadlock_detected or serialization_failure or lock_not_available or insufficient_resources or operator_intervention then
    raise;
  when others then
    raise warning 'the zones of deliveries cannot be read: % %', sqlstate, sqlerrm;
    perform app.fail('internal_server_error');
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127145058';
end $$;

grant execute on function private.schema_version() to barid_api;
