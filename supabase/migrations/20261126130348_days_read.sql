-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.performance_state, money.merchant_payouts in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "money"."merchant_payouts" DROP CONSTRAINT "texts_within_bounds";

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

CREATE OR REPLACE FUNCTION integration.carrier_report(carrier_code text, tenant_id uuid, report jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_status text := report ->> 'status';
  v_at timestamptz;
  v_moved_at timestamptz;
  v_outcome text;
  v_duplicate boolean;
  v_moves text[];
  v_move text;
  v_delivery uuid;
  v_home uuid;
  s integration.carrier_shipments;
  d delivery.deliveries;
begin
  perform set_config('app.tenant_id', tenant_id::text, true);
  -- The delivery first, then its shipment, as everywhere; reports on one delivery take turns.
  select t.delivery_id into v_delivery from integration.carrier_shipments t
  where t.tenant_id = tenant_id and t.carrier_code = carrier_code and t.tracking_number = report ->> 'tracking_number'
  order by t.created_at desc limit 1;
  if v_delivery is not null then
    perform delivery.lock_deliveries(array[v_delivery]);
    select t.* into d from delivery.deliveries t where t.tenant_id = tenant_id and t.id = v_delivery;
    select t.* into s from integration.carrier_shipments t
    where t.tenant_id = tenant_id and t.delivery_id = v_delivery and t.carrier_code = carrier_code
      and t.tracking_number = report ->> 'tracking_number'
    order by t.created_at desc limit 1 for update;
  end if;
  select e.outcome into v_outcome from integration.carrier_events e
  where e.tenant_id = tenant_id and e.carrier_code = carrier_code and e.carrier_event_id = report ->> 'event_id';
  if found then
    return jsonb_build_object('outcome', v_outcome, 'duplicate', true);
  end if;
  -- Now that it is this report's turn: one that says no time, and waited, is not older than the one it waited for.
  v_at := least((report ->> 'occurred_at')::timestamptz, clock_timestamp());
  v_moves := integration.moves_to(d.delivery_flow, d.status, v_status);
  -- Back in the warehouse it was ordered from it is when that has received it.
  if v_status = 'returned' and d.delivery_flow = 'standard' and d.order_id is null and v_moves is not null then
    v_home := (delivery.ordered_from(d)).warehouse_id;
    if v_home is not null then
      v_moves := case when d.status = 'in_transit' then '{}'::text[] else integration.moves_to(d.delivery_flow, d.status, 'in_transit') end;
    end if;
  end if;
  -- It lies with us and goes back to its sender: whatever the carrier has in hand, it is not this parcel.
  if v_status <> 'cancelled' and delivery.return_under_way(delivery.parcel_of(d)) is not null then
    v_moves := null;
  end if;
  v_outcome := case
    when s.id is null or s.status = 'cancelled' or d.carrier_type <> 'external' then 'unknown_shipment'
    when v_status is null then 'unknown_status'
    when v_at < s.reported_at or exists (
      select from warehousing.receiving_orders r
      where r.tenant_id = tenant_id and r.delivery_id = d.id and r.status = 'received' and r.received_at > v_at) then 'too_late'
    when d.status = v_status then 'unchanged'
    when v_moves is null then 'impossible'
    else 'applied' end;
  if v_outcome in ('applied', 'unchanged') then
    update integration.carrier_shipments t set reported_at = v_at where t.id = s.id;
  end if;
  if v_outcome in ('applied', 'unchanged') and v_status = 'cancelled' then
    perform integration.shipment_given_back(s, d, report ->> 'carrier_status');
  end if;
  if v_outcome = 'applied' then
    -- Before the stock of a store, which the first report moves, since what gives money back locks wallets first. An order that ends may be
    -- refunded as well.
    if v_status = 'delivered' and s.cash_due > 0 or v_status in ('delivered', 'returned') and d.order_id is not null then
      perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
    end if;
    -- A carrier's clock that is behind, or wrong, delivers nothing before it was ordered or picked up.
    v_moved_at := greatest(v_at, d.created_at, d.picked_up_at);
    foreach v_move in array v_moves loop
      update delivery.deliveries t set status = v_move,
        status_reason = case when v_move in ('failed', 'returned') then 'carrier_' || coalesce(report ->> 'carrier_status', v_move) end,
        attempts_used = t.attempts_used + case when v_move = 'failed' and delivery.attempt_counts(t) then 1 else 0 end,
        picked_up_at = case when v_move in ('picked_up', 'in_transit') then coalesce(t.picked_up_at, v_moved_at) else t.picked_up_at end,
        delivered_at = case when v_move = 'delivered' then v_moved_at else t.delivered_at end
      where t.tenant_id = tenant_id and t.id = d.id;
    end loop;
    -- On its way again, or delivered after all: the warehouse that expected it back does not any more.
    if d.status = 'returned' or d.status = 'failed' and v_status = 'in_transit' or v_status = 'delivered' then
      perform warehousing.receipts_withdraw(d.id);
    end if;
    if v_status = 'returned' and (v_home is not null or delivery.returns_to_warehouse(d)) then
      perform warehousing.receipt_expect(d.id, v_home, true);
    end if;
    if v_status = 'delivered' and s.cash_due > 0 then
      perform money.carrier_cash_collected(delivery.parcel_of(d), s.id);
    end if;
    if v_status in ('delivered', 'returned') then
      perform integration.carrier_return_refund(d, carrier_code);
    end if;
    -- The first news that it has the parcel, whatever came of it since.
    if d.status in ('pending', 'assigned', 'accepted') and v_status <> 'cancelled' then
      perform delivery.carrier_takes(d);
    end if;
    if v_status = 'delivered' and delivery.ends_in(d) is not null then
      perform warehousing.parcel_arrives(d.id, delivery.ends_in(d));
    end if;
  end if;
  insert into integration.carrier_events (tenant_id, carrier_code, carrier_event_id, tracking_number, carrier_status, delivery_id, outcome)
  values (tenant_id, carrier_code, report ->> 'event_id', report ->> 'tracking_number', report ->> 'carrier_status', d.id, v_outcome)
  on conflict on constraint carrier_event_once do nothing;
  v_duplicate := not found;
  if not v_duplicate and v_status = 'delivered' and s.cash_due > 0 and d.status <> 'delivered' and v_outcome <> 'applied' then
    insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (tenant_id, 'carrier_cash.unbooked', 'carriers', 'delivery', d.id, jsonb_build_object('delivery_id', d.id,
      'shipment_id', s.id, 'carrier_code', carrier_code, 'amount', s.cash_due, 'currency', d.currency, 'status', d.status,
      'outcome', v_outcome));
  end if;
  return jsonb_build_object('outcome', v_outcome, 'duplicate', v_duplicate);
end $function$;

CREATE OR REPLACE FUNCTION integration.events_replay(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_max constant integer := 10000;
  v_events uuid[];
  v_answer jsonb;
  v_home uuid := integration.enter_tenant((input ->> 'tenant_id')::uuid);
begin
  select array_agg(p.id) into v_events from (
    select e.id from integration.system_events e
    where e.tenant_id is not null and (input ->> 'tenant_id' is null or e.tenant_id = (input ->> 'tenant_id')::uuid)
      and e.created_at >= (input ->> 'since')::timestamptz
      and (input ->> 'until' is null or e.created_at <= (input ->> 'until')::timestamptz)
      and (input ->> 'event_type' is null or e.event_type = input ->> 'event_type')
    order by e.position limit v_max + 1) p;
  if cardinality(v_events) > v_max then
    perform app.fail('replay_too_large', jsonb_build_object('field', 'since', 'max', v_max));
  end if;
  v_answer := integration.events_requeue(coalesce(v_events, '{}'), (input ->> 'dry_run')::boolean);
  perform integration.leave_tenant(v_home);
  return v_answer || jsonb_build_object('dry_run', (input ->> 'dry_run')::boolean, 'events', coalesce(cardinality(v_events), 0));
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_recover(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  if not (integration.subscription_of((input ->> 'id')::uuid) ->> 'is_active')::boolean then
    perform app.fail('webhook_subscription_inactive');
  end if;
  update integration.webhook_events e set status = 'pending', attempts = 0, next_attempt_at = now()
  where e.subscription_id = (input ->> 'id')::uuid and e.status = 'failed' and e.claim_token is null
    and e.created_at >= (input ->> 'since')::timestamptz
    and (input ->> 'until' is null or e.created_at <= (input ->> 'until')::timestamptz);
  get diagnostics v_count = row_count;
  if v_count > 0 then
    perform set_config('app.events_queued', 'on', true);
  end if;
  return jsonb_build_object('requeued', v_count);
end $function$;

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

ALTER TABLE "money"."merchant_payouts" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(method) <= 1000) AND (octet_length(reference) <= 1000) AND (octet_length(proof) <= 4000) AND (octet_length(idempotency_key) <= 1000) AND (octet_length(reversal_reason) <= 4000))) NOT VALID;

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
  return '20261126130348';
end $$;

grant execute on function private.schema_version() to barid_api;
