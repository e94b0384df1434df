-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.road_distances in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."road_distances" ADD COLUMN "duration_minutes" numeric(12,3);

CREATE OR REPLACE FUNCTION delivery.detour_factor(latitude double precision)
 RETURNS double precision
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select greatest(1, least(3, coalesce(sum(w.distance_km) / nullif(sum(app.distance_km(w.from_latitude, w.from_longitude,
      w.to_latitude, w.to_longitude)), 0), 1.3)))
    from (
      select * from delivery.road_distances r
      where r.from_latitude between (detour_factor.latitude - 0.5)::numeric and (detour_factor.latitude + 0.5)::numeric
        and r.measured_at > now() - interval '30 days'
      order by r.from_latitude, r.from_longitude, r.to_latitude, r.to_longitude limit 1000) w);
end $function$;

CREATE OR REPLACE FUNCTION delivery.road_distance_put(way text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into delivery.road_distances (from_latitude, from_longitude, to_latitude, to_longitude, distance_km, duration_minutes)
  select distinct on (k.from_latitude, k.from_longitude, k.to_latitude, k.to_longitude) k.from_latitude, k.from_longitude,
    k.to_latitude, k.to_longitude, (m.w ->> 'distance_km')::numeric, (m.w ->> 'duration_minutes')::numeric
  from (select way::jsonb as sent) j
  cross join lateral jsonb_array_elements(case jsonb_typeof(j.sent) when 'array' then j.sent else jsonb_build_array(j.sent) end) m (w)
  cross join lateral (
    select round((m.w #>> '{from,0}')::numeric, 5) as from_latitude, round((m.w #>> '{from,1}')::numeric, 5) as from_longitude,
      round((m.w #>> '{to,0}')::numeric, 5) as to_latitude, round((m.w #>> '{to,1}')::numeric, 5) as to_longitude) k
  order by k.from_latitude, k.from_longitude, k.to_latitude, k.to_longitude
  on conflict (from_latitude, from_longitude, to_latitude, to_longitude)
    do update set distance_km = excluded.distance_km, duration_minutes = excluded.duration_minutes, measured_at = now();
end $function$;

CREATE OR REPLACE FUNCTION delivery.road_distances_purge()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  delete from delivery.road_distances where measured_at < now() - interval '30 days';
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."road_distances_purge"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.road_ways_known(places text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    with place as (
      select p.position - 1 as number, round((p.at ->> 0)::numeric, 5) as latitude, round((p.at ->> 1)::numeric, 5) as longitude
      from jsonb_array_elements(places::jsonb) with ordinality p (at, position)
    )
    select coalesce(jsonb_agg(jsonb_build_array(f.number, t.number, w.distance_km, w.duration_minutes)), '[]')
    from place f
    cross join place t
    join delivery.road_distances w on w.from_latitude = f.latitude and w.from_longitude = f.longitude
      and w.to_latitude = t.latitude and w.to_longitude = t.longitude
    where f.number <> t.number and w.measured_at > now() - interval '30 days' and w.duration_minutes is not null);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."road_ways_known"(text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.sequence_stops(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_start jsonb;
  v_list jsonb;
begin
  perform delivery.sequence_of(v_driver);
  select s.place into v_start
  from (
    select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('accepted', 'assigned', 'completed', 'returned')
    order by a.assignment_time desc nulls last, a.id desc limit 200
  ) recent
  join delivery.deliveries d on d.tenant_id = v_tenant and d.id = recent.delivery_id
  cross join lateral (values (d.delivered_at, d.dropoff_snapshot), (d.picked_up_at, d.pickup_snapshot)) s (seen_at, place)
  where s.seen_at is not null and s.place ->> 'latitude' is not null and s.place ->> 'longitude' is not null
  order by s.seen_at desc limit 1;

  select coalesce(jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id, 'delivery_code', d.delivery_code,
      'picked_up', d.status in ('picked_up', 'in_transit', 'failed'),
      'pickup', case when f.latitude is not null then jsonb_build_object('latitude', f.latitude, 'longitude', f.longitude) end,
      'dropoff', case when t.latitude is not null then jsonb_build_object('latitude', t.latitude, 'longitude', t.longitude) end,
      'pickup_by', a.estimated_pickup_time, 'dropoff_after', case when d.delivery_flow <> 'pnd_inbound' then d.deliver_after end,
      'dropoff_by', case when d.delivery_flow = 'pnd_inbound' then a.estimated_delivery_time
        else least(a.estimated_delivery_time, d.promised_at, d.deliver_before) end)
    order by a.sequence_number, a.assignment_time, a.id), '[]') into v_list
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  -- Not from the addresses: a driver does not see every one.
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.fetched_at(d) as place offset 0) p) f
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.brought_to(d) as place offset 0) p) t
  where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted');
  return jsonb_build_object('start', case when v_start is not null then jsonb_build_object(
    'latitude', v_start -> 'latitude', 'longitude', v_start -> 'longitude') end, 'assignments', v_list,
    'detour', delivery.detour_factor(coalesce((v_list #>> '{0,pickup,latitude}')::double precision,
      (v_list #>> '{0,dropoff,latitude}')::double precision, (v_start ->> 'latitude')::double precision)));
end $function$;

ALTER TABLE "delivery"."road_distances" ADD CONSTRAINT "road_distances_duration_minutes_check" CHECK ((duration_minutes >= (0)::numeric)) NOT VALID;

REVOKE ALL ON FUNCTION "delivery"."detour_factor"(double precision) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."detour_factor"(double precision) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."road_distances_purge"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."road_ways_known"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."road_ways_known"(text) TO "barid_api";

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
  perform cron.schedule('barid_tallies_fold', '* * * * *', 'select private.tallies_fold()');
  perform cron.schedule('barid_receipts_sweep', '*/10 * * * *', 'select money.receipts_sweep()');
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
  perform cron.schedule('barid_orders_complete', '11 2 * * *', 'select storefront.orders_complete()');
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
  return '20261125041336';
end $$;

grant execute on function private.schema_version() to barid_api;
