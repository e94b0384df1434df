-- The positions that drivers' apps send.

-- Keeps the caller's positions: [{latitude, longitude, recorded_at, accuracy_m?, speed_kmh?, heading?, battery_percent?}]
-- under `positions`, 1 to 200 -> {accepted, ignored, ahead, next_in_seconds}. Counts as a sign of life.
-- Ignored: what is older than 24 hours or more than 2 minutes ahead, an instant that was sent before, and everything
-- while the driver is off duty; `ahead` are those of a clock that runs ahead.
-- next_in_seconds: setting general.user_settings.heartbeat_interval_seconds, 30 when unset.
create or replace function delivery.positions_record(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := app.user_id();
  v_accepted integer := 0;
begin
  update delivery.driver_presence s set last_heartbeat_at = now()
  where s.tenant_id = v_tenant and s.driver_id = v_driver and s.on_duty;
  if found then
    with kept as (
      insert into delivery.driver_positions as x (tenant_id, driver_id, recorded_at, latitude, longitude, accuracy_m, speed_kmh, heading, battery_percent)
      select v_tenant, v_driver, p.recorded_at, p.latitude, p.longitude, p.accuracy_m, p.speed_kmh, p.heading, p.battery_percent
      from jsonb_to_recordset(input -> 'positions') p (recorded_at timestamptz, latitude double precision, longitude double precision,
        accuracy_m double precision, speed_kmh double precision, heading double precision, battery_percent double precision)
      where p.recorded_at between now() - interval '24 hours' and now() + interval '2 minutes'
      on conflict do nothing
      returning x.recorded_at, x.latitude, x.longitude, x.accuracy_m
    ), latest as (
      update delivery.driver_presence s set recorded_at = k.recorded_at, latitude = k.latitude, longitude = k.longitude, accuracy_m = k.accuracy_m,
        moved_at = clock_timestamp()
      from (select * from kept order by recorded_at desc limit 1) k
      where s.tenant_id = v_tenant and s.driver_id = v_driver and (s.recorded_at is null or s.recorded_at < k.recorded_at)
    )
    select count(*) into v_accepted from kept;
  end if;
  return jsonb_build_object('accepted', v_accepted, 'ignored', jsonb_array_length(input -> 'positions') - v_accepted,
    'ahead', (select count(*) from jsonb_to_recordset(input -> 'positions') p (recorded_at timestamptz)
      where p.recorded_at > now() + interval '2 minutes'),
    'next_in_seconds', coalesce((app.settings('general', 'user_settings') ->> 'heartbeat_interval_seconds')::integer, 30));
end $$;

-- Makes the partitions of today and the coming `ahead` days and drops those older than 30 days. What waited in the default
-- partition moves into the day it is of. Run by cron. -> how many partitions were made and dropped
-- Locks: delivery.driver_positions before its partitions, as reads and writes of it do, and no other table: what drops a partition needs
-- that lock, and taking it after that of the default partition would close a circle with a reader. Waits two seconds for it, since
-- everybody waits behind; it is asked for every hour and days ahead. Fails: lock_not_available.
create or replace function delivery.positions_partition(ahead integer default 7) returns integer
language plpgsql set search_path = '' set lock_timeout = '2s' as $$
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
end $$;

revoke execute on function delivery.positions_partition(integer) from barid_caller;

-- Removes the positions of drivers who are removed, which no foreign key does.
create or replace function delivery.positions_of_removed() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from delivery.driver_positions p using old_rows o where p.tenant_id = o.tenant_id and p.driver_id = o.user_id;
  return null;
end $$;

drop trigger if exists positions_removed on delivery.drivers;
create trigger positions_removed after delete on delivery.drivers referencing old table as old_rows
  for each statement execute function delivery.positions_of_removed();

-- Nobody calls it but the trigger.
revoke execute on function delivery.positions_of_removed() from barid_caller;

-- Where a driver was between two moments at most 24 hours apart, or a day of the tenant's, which has 25 where clocks go back; oldest first.
-- {driver_id, from?, to?, limit, offset} -> {rows, total}; each an instant, or a day of the tenant's: its begin, and its end. A missing `from`
-- is 24 hours before `to`, a missing `to` 24 hours after `from`, of a day that day's own begin or end; without both, until now.
-- Fails: driver_not_found (nobody's, or not the caller's), invalid_date_range (reversed, or more than 24 hours).
create or replace function delivery.positions_read(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_from timestamptz := app.day_start(input ->> 'from');
  -- The last microsecond that is asked for.
  v_to timestamptz := coalesce(app.day_end(input ->> 'to') - interval '1 microsecond',
    case when length(input ->> 'from') = 10 then app.day_end(input ->> 'from') - interval '1 microsecond' else v_from + interval '24 hours' end, now());
  v_zone text := app.timezone();
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found');
  end if;
  v_from := coalesce(v_from, case when length(input ->> 'to') = 10 then app.day_start(input ->> 'to') else v_to - interval '24 hours' end);
  if v_to < v_from or least(v_to - v_from, (v_to at time zone v_zone) - (v_from at time zone v_zone)) > interval '24 hours' then
    perform app.fail('invalid_date_range', '{"field": "to"}');
  end if;
  return jsonb_build_object(
    'rows', (select coalesce(jsonb_agg(to_jsonb(p) order by p.recorded_at), '[]') from (
      select x.recorded_at, x.latitude, x.longitude, x.accuracy_m, x.speed_kmh, x.heading, x.battery_percent, x.received_at
      from delivery.driver_positions x
      where x.tenant_id = v_tenant and x.driver_id = v_driver and x.recorded_at between v_from and v_to
      order by x.recorded_at limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) p),
    'total', (select count(*) from delivery.driver_positions x
      where x.tenant_id = v_tenant and x.driver_id = v_driver and x.recorded_at between v_from and v_to));
end $$;
