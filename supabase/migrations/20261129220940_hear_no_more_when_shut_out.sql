-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table public.delivery_realtime_assignments in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP POLICY "subscribers" ON "public"."delivery_realtime_assignments";

CREATE OR REPLACE FUNCTION delivery.hears_assignments()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.token_grants(app.tenant_id()) <> '{}';
end $function$;

REVOKE ALL ON FUNCTION "delivery"."hears_assignments"() FROM "barid_caller";

CREATE POLICY "subscribers" ON "public"."delivery_realtime_assignments" FOR SELECT TO "authenticated" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (driver_id = ( SELECT app.user_id() AS user_id)) AND ( SELECT delivery.hears_assignments() AS hears_assignments)));

REVOKE ALL ON FUNCTION "delivery"."hears_assignments"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."hears_assignments"() TO "authenticated";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129220940';
end $$;

grant execute on function private.schema_version() to barid_api;
