-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      -- Both tables of the key that goes, in the order in which a position that comes in takes them.
      lock table delivery.driver_positions, delivery.drivers in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."driver_positions" DROP CONSTRAINT "driver_positions_tenant_id_driver_id_fkey";

CREATE OR REPLACE FUNCTION delivery.positions_of_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from delivery.driver_positions p using old_rows o where p.tenant_id = o.tenant_id and p.driver_id = o.user_id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."positions_of_removed"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.positions_partition(ahead integer DEFAULT 7)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET lock_timeout TO '2s'
AS $function$
declare
  v_today date := timezone('UTC', now())::date;
  v_missing date[] := array(
    select g::date from generate_series(v_today - 1, v_today + ahead, interval '1 day') g
    where to_regclass('partitions.driver_positions_' || to_char(g, 'YYYYMMDD')) is null order by g);
  v_old text[] := array(
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'delivery.driver_positions'::regclass and c.relname ~ '^driver_positions_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < v_today - 30);
  v_day date;
  v_name text;
begin
  delete from partitions.driver_positions_default where recorded_at < now() - interval '30 days';
  if cardinality(v_missing) + cardinality(v_old) = 0 then
    return 0;
  end if;
  lock table delivery.driver_positions in access exclusive mode;
  foreach v_day in array v_missing loop
    v_name := format('driver_positions_%s', to_char(v_day, 'YYYYMMDD'));
    execute format('create table partitions.%I (like delivery.driver_positions including defaults including constraints)', v_name);
    execute format('with moved as (delete from partitions.driver_positions_default where recorded_at >= %1$L and recorded_at < %2$L returning *)
      insert into partitions.%3$I select * from moved', v_day::timestamp at time zone 'UTC', (v_day + 1)::timestamp at time zone 'UTC', v_name);
    execute format('alter table delivery.driver_positions attach partition partitions.%I for values from (%L) to (%L)',
      v_name, v_day::timestamp at time zone 'UTC', (v_day + 1)::timestamp at time zone 'UTC');
  end loop;
  foreach v_name in array v_old loop
    execute format('drop table partitions.%I', v_name);
  end loop;
  return cardinality(v_missing) + cardinality(v_old);
end $function$;

CREATE TRIGGER positions_removed AFTER DELETE ON delivery.drivers REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.positions_of_removed();

REVOKE ALL ON FUNCTION "delivery"."positions_of_removed"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125225138';
end $$;

grant execute on function private.schema_version() to barid_api;
