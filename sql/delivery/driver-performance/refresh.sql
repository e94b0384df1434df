-- Brings the figures of drivers up to date. What a delivery counts as is kept beside them, so the cost of a
-- refresh follows what changed and never the history.

-- Takes back what these deliveries counted for and counts them as they are now (null: all). Planned anew each
-- time: a thousand deliveries are looked up, all of them are read.
create or replace function delivery.performance_apply(tenant uuid, ids uuid[]) returns void
language plpgsql set search_path = '' set plan_cache_mode = 'force_custom_plan' as $$
declare
  v_zone text;
  v_named text;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  v_zone := app.timezone();
  v_named := delivery.performance_zone(tenant);
  if ids is null then
    delete from delivery.performance_deliveries f where f.tenant_id = tenant;
    delete from delivery.driver_performance m where m.tenant_id = tenant;
  else
    with gone as (
      delete from delivery.performance_deliveries f where f.tenant_id = tenant and f.delivery_id = any (ids) returning f.*
    )
    update delivery.driver_performance m set
      total_deliveries = m.total_deliveries - g.total, successful_deliveries = m.successful_deliveries - g.successful,
      failed_deliveries = m.failed_deliveries - (g.total - g.successful), on_time_deliveries = m.on_time_deliveries - g.on_time,
      late_deliveries = m.late_deliveries - g.late, handled_legs = m.handled_legs - g.legs, timed_deliveries = m.timed_deliveries - g.timed,
      total_minutes = m.total_minutes - g.minutes, measured_deliveries = m.measured_deliveries - g.measured,
      total_distance_km = m.total_distance_km - g.km, total_delivery_value = m.total_delivery_value - g.value
    from (
      select f.driver_id, f.period_year, f.period_month, count(*) filter (where f.counted) as total,
        count(*) filter (where f.counted and f.successful) as successful,
        count(*) filter (where f.counted and f.on_time) as on_time, count(*) filter (where f.counted and not f.on_time) as late,
        count(*) filter (where f.handled_leg) as legs, count(f.minutes) filter (where f.counted) as timed,
        coalesce(sum(f.minutes) filter (where f.counted), 0) as minutes,
        count(f.distance_km) filter (where f.counted) as measured, coalesce(sum(f.distance_km), 0) as km, sum(f.value) as value
      from gone f group by f.driver_id, f.period_year, f.period_month
    ) g
    where m.tenant_id = tenant and m.driver_id = g.driver_id and m.period_year = g.period_year and m.period_month = g.period_month;
  end if;

  -- In the month of its creation, by the tenant's clock.
  insert into delivery.performance_deliveries (tenant_id, delivery_id, driver_id, period_year, period_month, counted, handled_leg,
    successful, on_time, minutes, distance_km, value)
  select e.tenant_id, e.delivery_id, e.driver_id, extract(year from e.created_at at time zone v_zone),
    extract(month from e.created_at at time zone v_zone), e.counted, e.handled_leg, e.successful, e.on_time, e.minutes, e.distance_km, e.value
  from delivery.ended_deliveries e where e.tenant_id = tenant and (ids is null or e.delivery_id = any (ids));
  insert into delivery.driver_performance as m (tenant_id, driver_id, period_year, period_month, total_deliveries,
    successful_deliveries, failed_deliveries, on_time_deliveries, late_deliveries, handled_legs, timed_deliveries, total_minutes,
    measured_deliveries, total_distance_km, total_delivery_value)
  select tenant, f.driver_id, f.period_year, f.period_month, count(*) filter (where f.counted),
    count(*) filter (where f.counted and f.successful), count(*) filter (where f.counted and not f.successful),
    count(*) filter (where f.counted and f.on_time), count(*) filter (where f.counted and not f.on_time),
    count(*) filter (where f.handled_leg), count(f.minutes) filter (where f.counted),
    coalesce(sum(f.minutes) filter (where f.counted), 0), count(f.distance_km) filter (where f.counted),
    coalesce(sum(f.distance_km), 0), sum(f.value)
  from delivery.performance_deliveries f
  where f.tenant_id = tenant and (ids is null or f.delivery_id = any (ids))
  group by f.driver_id, f.period_year, f.period_month
  on conflict on constraint driver_performance_pkey do update set
    total_deliveries = m.total_deliveries + excluded.total_deliveries,
    successful_deliveries = m.successful_deliveries + excluded.successful_deliveries,
    failed_deliveries = m.failed_deliveries + excluded.failed_deliveries,
    on_time_deliveries = m.on_time_deliveries + excluded.on_time_deliveries,
    late_deliveries = m.late_deliveries + excluded.late_deliveries,
    handled_legs = m.handled_legs + excluded.handled_legs, timed_deliveries = m.timed_deliveries + excluded.timed_deliveries,
    total_minutes = m.total_minutes + excluded.total_minutes,
    measured_deliveries = m.measured_deliveries + excluded.measured_deliveries,
    total_distance_km = m.total_distance_km + excluded.total_distance_km,
    total_delivery_value = m.total_delivery_value + excluded.total_delivery_value;
  delete from delivery.driver_performance m where m.tenant_id = tenant and m.total_deliveries = 0 and m.handled_legs = 0
    and m.total_distance_km = 0;
  insert into delivery.performance_state as s (tenant_id, computed_at, zone) values (tenant, clock_timestamp(), v_named)
  on conflict on constraint performance_state_pkey do update set computed_at = excluded.computed_at,
    rebuild_asked_at = case when ids is not null then s.rebuild_asked_at end,
    -- Of some deliveries the others stay in the months of the clock that was.
    zone = case when ids is not null then coalesce(s.zone, excluded.zone) else excluded.zone end;
end $$;

-- The time zone of a tenant as its setting says it, UTC when unset: what the state remembers, and a change is seen by.
create or replace function delivery.performance_zone(tenant uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select z.settings ->> 'name' from tenancy.tenant_settings z
    where z.tenant_id = performance_zone.tenant and z.module = 'general' and z.group_key = 'timezone'), 'UTC');
end $$;

-- Counts what changed since the last time, of one tenant or of all; answers how many deliveries. Run by cron.
-- One refresh of a tenant at a time. What a transaction changes is seen with its note or not at all.
create or replace function delivery.performance_refresh(only_tenant uuid default null) returns bigint
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid;
  v_ids uuid[];
  v_count bigint := 0;
begin
  for v_tenant in
    select distinct c.tenant_id from delivery.performance_changes c where only_tenant is null or c.tenant_id = only_tenant order by 1
  loop
    perform pg_advisory_xact_lock(hashtextextended('delivery.performance ' || v_tenant, 0));
    with taken as (
      delete from delivery.performance_changes c where c.tenant_id = v_tenant returning c.delivery_id
    )
    select array_agg(distinct t.delivery_id) into v_ids from taken t;
    continue when v_ids is null;
    -- A parent has the price and the promise of its legs.
    v_ids := v_ids || array(select l.id from delivery.deliveries l
      where l.tenant_id = v_tenant and l.parent_id = any (v_ids) and l.id <> all (v_ids));
    perform delivery.performance_apply(v_tenant, v_ids);
    v_count := v_count + cardinality(v_ids);
  end loop;
  -- The others are up to date as well, but for those that are counted anew at this moment: these say so themselves.
  update delivery.performance_state s set computed_at = clock_timestamp(), zone = coalesce(s.zone, delivery.performance_zone(s.tenant_id))
  where s.tenant_id in (
    select x.tenant_id from delivery.performance_state x
    where only_tenant is null or x.tenant_id = only_tenant for no key update skip locked);
  return v_count;
end $$;

-- Counts a tenant anew, or one of its months.
create or replace function delivery.performance_recompute(tenant uuid, in_year integer default null, in_month integer default null) returns void
language plpgsql set search_path = '' as $$
declare
  v_ids uuid[];
begin
  perform pg_advisory_xact_lock(hashtextextended('delivery.performance ' || tenant, 0));
  if in_year is null then
    delete from delivery.performance_changes c where c.tenant_id = tenant;
    perform delivery.performance_apply(tenant, null);
    return;
  end if;
  perform set_config('app.tenant_id', tenant::text, true);
  select array_agg(f.id) into v_ids
  from (
    select d.id from delivery.deliveries d
    where d.tenant_id = tenant
      and d.created_at >= app.day_begins(make_date(in_year, in_month, 1))
      and d.created_at < app.day_begins((make_date(in_year, in_month, 1) + interval '1 month')::date)
    union
    select f.delivery_id from delivery.performance_deliveries f
    where f.tenant_id = tenant and f.period_year = in_year and f.period_month = in_month
  ) f;
  perform delivery.performance_apply(tenant, coalesce(v_ids, '{}'));
end $$;

-- Carries out the rebuilds that were too big for the request that asked for them, and those of tenants whose clock is another than the
-- one their months are by. In the order of delivery.performance_refresh, whose locks it takes as well. Run by cron.
create or replace function delivery.performance_rebuilds() returns integer
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid;
  v_count integer := 0;
begin
  for v_tenant in
    select s.tenant_id from delivery.performance_state s
    where s.rebuild_asked_at is not null or s.zone <> delivery.performance_zone(s.tenant_id) order by s.tenant_id
  loop
    perform delivery.performance_recompute(v_tenant);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.performance_apply(uuid,uuid[]), delivery.performance_recompute(uuid,integer,integer),
  delivery.performance_rebuilds(), delivery.performance_refresh(uuid), delivery.performance_zone(uuid) from barid_caller;
