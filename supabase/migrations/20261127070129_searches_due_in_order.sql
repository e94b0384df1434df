-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.searches_due(tenant uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(s.delivery_id order by s.next_attempt_at, s.delivery_id), '[]')
    from (
      (select x.delivery_id, x.next_attempt_at from delivery.driver_searches x
      where x.tenant_id = tenant and x.next_attempt_at <= now()
      order by x.next_attempt_at, x.delivery_id limit 100)
      union
      select x.delivery_id, x.next_attempt_at from delivery.drivers r
      join delivery.assignments a on a.tenant_id = r.tenant_id and a.driver_id = r.user_id and a.status = 'pending'
      join delivery.driver_searches x on x.tenant_id = a.tenant_id and x.delivery_id = a.delivery_id and x.status = 'offered'
      where r.tenant_id = tenant and r.status <> 'active'
      order by 2, 1 limit 100) s
    where exists (select from tenancy.tenants t where t.id = tenant and app.is_effective(t)));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127070129';
end $$;

grant execute on function private.schema_version() to barid_api;
