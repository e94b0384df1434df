-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table warehousing.picking_order_items in share row exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE OR REPLACE FUNCTION private.schema_version()
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
begin
  return '20261126092336';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_lines_written()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.picking_orders o set updated_at = clock_timestamp()
  where o.id = any (array(select distinct l.picking_order_id from lines l)) and o.changed <> pg_current_xact_id()::text::bigint;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."picking_lines_written"() FROM "barid_caller";

CREATE TRIGGER lines_added AFTER INSERT ON warehousing.picking_order_items REFERENCING NEW TABLE AS lines FOR EACH STATEMENT EXECUTE FUNCTION warehousing.picking_lines_written();

CREATE TRIGGER lines_changed AFTER UPDATE ON warehousing.picking_order_items REFERENCING NEW TABLE AS lines FOR EACH STATEMENT EXECUTE FUNCTION warehousing.picking_lines_written();

CREATE TRIGGER lines_removed AFTER DELETE ON warehousing.picking_order_items REFERENCING OLD TABLE AS lines FOR EACH STATEMENT EXECUTE FUNCTION warehousing.picking_lines_written();

REVOKE ALL ON FUNCTION "warehousing"."picking_lines_written"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126093627';
end $$;

grant execute on function private.schema_version() to barid_api;
