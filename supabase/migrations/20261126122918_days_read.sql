-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.performance_state in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."performance_state" ADD COLUMN "zone" text;

CREATE OR REPLACE FUNCTION app.day_begins(day date)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_zone text := app.timezone();
  v_at timestamptz := day::timestamp at time zone v_zone;
begin
  return case when ((v_at - interval '1 hour') at time zone v_zone)::date = day then v_at - interval '1 hour' else v_at end;
end $function$;

CREATE OR REPLACE FUNCTION app.day_end(value text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when length(value) = 10 then app.day_begins(value::date + 1)
    else app.instant(value) + interval '1 microsecond' end;
end $function$;

CREATE OR REPLACE FUNCTION app.day_start(value text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when length(value) = 10 then app.day_begins(value::date) else app.instant(value) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.performance_apply(tenant uuid, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.performance_rebuilds()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_count integer := 0;
begin
  for v_tenant in
    select s.tenant_id from delivery.performance_state s
    where s.rebuild_asked_at is not null or s.zone <> delivery.performance_zone(s.tenant_id) order by s.rebuild_asked_at, s.tenant_id
  loop
    perform delivery.performance_recompute(v_tenant);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION delivery.performance_recompute(tenant uuid, in_year integer DEFAULT NULL::integer, in_month integer DEFAULT NULL::integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.performance_refresh(only_tenant uuid DEFAULT NULL::uuid)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  -- The others are up to date as well.
  update delivery.performance_state s set computed_at = clock_timestamp(), zone = coalesce(s.zone, delivery.performance_zone(s.tenant_id))
  where only_tenant is null or s.tenant_id = only_tenant;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION delivery.performance_zone(tenant uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((select z.settings ->> 'name' from tenancy.tenant_settings z
    where z.tenant_id = performance_zone.tenant and z.module = 'general' and z.group_key = 'timezone'), 'UTC');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."performance_zone"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_day_due()
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_day date := money.cycle_day(app.settings('delivery', 'payouts'), (now() at time zone app.timezone())::date);
begin
  return (
    select v_day from money.merchant_cycles c
    where c.tenant_id = app.tenant_id() and v_day > coalesce(c.day, '-infinity') and app.day_begins(v_day) >= c.begun_at);
end $function$;

CREATE OR REPLACE FUNCTION money.cycle_statement_make(tenant uuid, day date, wallet uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform set_config('app.tenant_id', cycle_statement_make.tenant::text, true);
  return money.statement_make(wallet, app.day_begins(day), day);
end $function$;

CREATE OR REPLACE FUNCTION money.payout_rule(OUT release text, OUT due_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_rule jsonb := app.settings('delivery', 'payouts');
  v_days integer := coalesce((v_rule ->> 'hold_days')::integer, 0);
begin
  release := coalesce(v_rule ->> 'release', 'on_delivery');
  due_at := now();
  if v_days > 0 then
    due_at := app.day_begins((now() at time zone app.timezone())::date + v_days);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.require_references(patches jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_missing text;
begin
  with named as (
    select n.module || '.' || n.group_key || '.settings.' || n.path as field, n.thing, i.id
    from (values
      ('delivery', 'transfer_manifest', 'default_delivery_service_id', 'service'),
      ('delivery', 'transfer_manifest', 'available_delivery_service_ids', 'service'),
      ('delivery', 'assignment_change_settings', 'default_driver_id', 'driver'),
      ('general', 'delivery', 'return_requests.default_delivery_service_id', 'service'),
      ('general', 'warehouse', 'default_warehouse_id', 'warehouse'),
      ('general', 'currency', 'currency_code', 'currency'),
      ('general', 'timezone', 'name', 'timezone')) n (module, group_key, path, thing)
    join jsonb_array_elements(patches) p on p ->> 'module' = n.module and p ->> 'group' = n.group_key
    cross join lateral (select p -> 'settings' #> string_to_array(n.path, '.') as value) v
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(v.value) when 'array' then v.value when 'string' then jsonb_build_array(v.value) else '[]' end) i (id)
  ), held as (
    select s.id from delivery.delivery_services s
    where s.deleted_at is null and s.id in (select app.as_uuid(n.id) from named n where n.thing = 'service')
    order by s.id for share
  )
  select n.field into v_missing
  from named n
  where not case n.thing
    when 'service' then app.as_uuid(n.id) in (select h.id from held h)
    when 'driver' then exists (select from delivery.drivers d where d.user_id = app.as_uuid(n.id) and d.status = 'active')
    when 'warehouse' then exists (select from warehousing.warehouses w where w.id = app.as_uuid(n.id) and w.deleted_at is null)
    when 'currency' then exists (select from tenancy.currencies c where c.code = n.id) and not exists (
      select from tenancy.system_settings y
      where y.key = 'currencies.enabled' and jsonb_typeof(y.value) = 'array' and not y.value ? n.id)
    -- Without the second names of zones that a server may have, and those of none: other programs do not know them.
    else n.id !~ '^(posix|right)/|^(Factory|localtime|posixrules)$' and exists (select from pg_catalog.pg_timezone_names z where z.name = n.id) end
  order by n.field limit 1;
  if v_missing is not null then
    perform app.fail('invalid_reference', jsonb_build_object('field', v_missing));
  end if;
end $function$;

ALTER TABLE "delivery"."performance_state" ADD CONSTRAINT "texts_within_bounds" CHECK ((octet_length(zone) <= 1000)) NOT VALID;

REVOKE ALL ON FUNCTION "app"."day_begins"(date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."day_begins"(date) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."performance_zone"(uuid) FROM PUBLIC;

-- Scheduled jobs (UTC). Scheduling a name again changes its job, so this file can be applied again.
-- No seconds and nothing newer than pg_cron 1.4. Without pg_cron the backend works, but old keys and jobs
-- stay and a lost background job waits for the next request of its kind.
do $$
begin
  if not exists (select from pg_available_extensions where name = 'pg_cron') then
    raise notice 'pg_cron is not available on this server: nothing is scheduled';
    return;
  end if;
  -- pg_cron belongs to one database of a server.
  if coalesce(current_setting('cron.database_name', true), current_database()) <> current_database() then
    raise notice 'pg_cron belongs to another database of this server: nothing is scheduled';
    return;
  end if;
  begin
    create extension if not exists pg_cron with schema pg_catalog;
  exception when undefined_object then
    raise notice 'pg_cron is not among shared_preload_libraries: nothing is scheduled';
    return;
  end;
  if exists (select from pg_available_extensions where name = 'pg_net') then
    create extension if not exists pg_net with schema extensions;
  end if;

  perform cron.schedule('barid_kick_jobs', '* * * * *', 'select integration.kick_jobs()');
  perform cron.schedule('barid_searches_sweep', '* * * * *', 'select delivery.searches_sweep()');
  perform cron.schedule('barid_postponed_resume', '*/10 * * * *', 'select delivery.postponed_resume()');
  perform cron.schedule('barid_postponed_notify', '*/10 * * * *', 'select delivery.postponed_notify()');
  perform cron.schedule('barid_tallies_fold', '* * * * *', 'select private.tallies_fold()');
  perform cron.schedule('barid_receipts_sweep', '*/10 * * * *', 'select money.receipts_sweep()');
  perform cron.schedule('barid_statement_cycles', '*/10 * * * *', 'select money.statement_cycles_sweep()');
  perform cron.schedule('barid_cod_reconcile', '17 2 * * *', 'select money.cod_reconcile_all()');
  perform cron.schedule('barid_performance_refresh', '*/15 * * * *', 'select delivery.performance_refresh()');
  perform cron.schedule('barid_performance_rebuilds', '* * * * *', 'select delivery.performance_rebuilds()');
  perform cron.schedule('barid_idempotency_purge', '7 * * * *', 'select private.idempotency_purge()');
  perform cron.schedule('barid_rates_purge', '37 * * * *', 'select private.rates_purge()');
  perform cron.schedule('barid_jobs_purge', '23 3 * * *', 'select private.jobs_purge()');
  perform cron.schedule('barid_wizard_runs_purge', '31 3 * * *', 'select tenancy.wizard_runs_purge()');
  perform cron.schedule('barid_road_distances_purge', '41 3 * * *', 'select delivery.road_distances_purge()');
  perform cron.schedule('barid_api_keys_warn', '27 4 * * *', 'select tenancy.api_keys_warn()');
  perform cron.schedule('barid_invitations_purge', '37 3 * * *', 'select tenancy.invitations_purge()');
  perform cron.schedule('barid_report_stock', '17 2 * * *', 'select warehousing.report_stock()');
  perform cron.schedule('barid_webhooks_release', '*/5 * * * *', 'select integration.webhooks_release()');
  perform cron.schedule('barid_webhooks_purge', '47 3 * * *', 'select integration.webhooks_purge()');
  perform cron.schedule('barid_events_purge', '53 * * * *', 'select integration.events_purge()');
  perform cron.schedule('barid_domains_recheck', '*/5 * * * *', 'select storefront.domains_recheck()');
  perform cron.schedule('barid_payments_reconcile', '*/5 * * * *', 'select money.payments_reconcile()');
  perform cron.schedule('barid_orders_expire', '*/10 * * * *', 'select storefront.orders_expire()');
  perform cron.schedule('barid_orders_complete', '11 * * * *', 'select storefront.orders_complete()');
  perform cron.schedule('barid_manifests_complete', '27 * * * *', 'select delivery.manifests_complete()');
  perform cron.schedule('barid_positions_partition', '19 * * * *', 'select delivery.positions_partition()');
  perform cron.schedule('barid_package_transfers_backfill', '47 2 * * *', 'select warehousing.package_transfers_backfill()');
  -- pg_cron never forgets a run by itself.
  perform cron.schedule('barid_cron_history_purge', '41 3 * * *',
    'delete from cron.job_run_details where end_time < now() - interval ''7 days''');
end $$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126122918';
end $$;

grant execute on function private.schema_version() to barid_api;
