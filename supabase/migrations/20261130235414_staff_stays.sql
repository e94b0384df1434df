-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table warehousing.warehouse_staff in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION warehousing.staff_stays()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from tenancy.tenant_users u where u.tenant_id = new.tenant_id and u.user_id = new.user_id and u.left_at is null for share;
  if not found then
    perform app.fail('user_not_found', '{"field": "user_id", "text_key": "user_no_active_staff"}');
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."staff_stays"() FROM "barid_caller";

CREATE TRIGGER staff_stays AFTER INSERT ON warehousing.warehouse_staff FOR EACH ROW WHEN (new.is_active) EXECUTE FUNCTION warehousing.staff_stays();

REVOKE ALL ON FUNCTION "warehousing"."staff_stays"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130235414';
end $$;

grant execute on function private.schema_version() to barid_api;
