-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: 6f0dc385b0f1f807da41676852f1e190ab5c0c1a3f9fb5799f254deca7b0df1f
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

DROP FUNCTION "delivery"."board"(jsonb);

DROP FUNCTION "warehousing"."report_stock"();

CREATE OR REPLACE FUNCTION delivery.board(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_unassigned json;
  v_late json;
  v_searching bigint;
  v_failed bigint;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  if v_zone is not null and not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = v_zone) then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
  select json_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(json_agg(json_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select d.pickup_zone_id, count(*) as count, min(d.created_at) as oldest_at from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and (v_zone is null or d.pickup_zone_id = v_zone)
    group by d.pickup_zone_id) c
  left join delivery.zones z on z.tenant_id = v_tenant and z.id = c.pickup_zone_id;

  select json_build_object('total', (
      select count(*) from delivery.deliveries d
      where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
        and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
        and (d.promised_at is not null or d.deliver_before is not null)
        and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id))),
    'deliveries', coalesce(json_agg(json_build_object('id', d.id,
      'delivery_code', d.delivery_code, 'status', d.status, 'promised_at', d.promised_at, 'deliver_before', d.deliver_before,
      'pickup_zone_id', d.pickup_zone_id, 'dropoff_zone_id', d.dropoff_zone_id, 'driver_id', (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by least(d.promised_at, d.deliver_before), d.id), '[]')) into v_late
  from (
    select * from delivery.deliveries d
    where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
      and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.promised_at is not null or d.deliver_before is not null)
      and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id))
    order by least(d.promised_at, d.deliver_before), d.id limit 50) d;

  select count(*) filter (where s.status = 'searching'), count(*) filter (where s.status = 'failed') into v_searching, v_failed
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return json_build_object('as_of', now(), 'drivers', delivery.board_drivers(v_tenant, v_zone), 'unassigned', v_unassigned,
    'late', v_late, 'searching', v_searching, 'failed_to_assign', v_failed);
end $function$;

CREATE OR REPLACE FUNCTION delivery.board_drivers(tenant uuid, zone uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_online_since timestamptz := now() - delivery.offline_after();
begin
  return (
    select coalesce(json_agg(r order by r.full_name, r.id), '[]')
    from (
      select d.user_id as id, p.full_name, coalesce(s.on_duty, false) as on_duty,
        coalesce(s.on_duty and s.last_heartbeat_at > v_online_since, false) as is_online, case when s.latitude is not null then
          json_build_object('latitude', s.latitude, 'longitude', s.longitude, 'accuracy_m', s.accuracy_m, 'recorded_at', s.recorded_at) end as last_position,
        case when v.id is not null then json_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) end as vehicle,
        v.unit_capacity as capacity, d.capacity_used as load, d.live_stops as stops_left, x.next_stop
      from delivery.drivers d
      join tenancy.profiles p on p.id = d.user_id
      left join delivery.driver_presence s on s.tenant_id = d.tenant_id and s.driver_id = d.user_id
      left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id
      left join lateral (
        select json_build_object('delivery_id', y.id, 'delivery_code', y.delivery_code, 'place', json_build_object(
            'kind', case when y.status in ('pending', 'assigned', 'accepted') then 'pickup' else 'dropoff' end, 'full_address', n.place -> 'full_address',
            'city', n.place -> 'city', 'latitude', n.place -> 'latitude', 'longitude', n.place -> 'longitude')) as next_stop
        from delivery.assignments a
        join delivery.deliveries y on y.tenant_id = a.tenant_id and y.id = a.delivery_id
        cross join lateral (
          select case
            when y.status not in ('pending', 'assigned', 'accepted') then case
              when y.carrier_type = 'internal' and y.transfer_kind = 'single_delivery'
                then delivery.warehouse_place(y.tenant_id, y.dropoff_warehouse_id, y.dropoff_snapshot)
              else y.dropoff_snapshot end
            when y.current_warehouse_id is null or y.delivery_flow = 'pnd_inbound' then y.pickup_snapshot
            else delivery.warehouse_place(y.tenant_id, y.current_warehouse_id, y.pickup_snapshot) end as place) n
        where a.tenant_id = d.tenant_id and a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')
        order by a.sequence_number limit 1) x on d.live_stops > 0
      where d.tenant_id = board_drivers.tenant and (s.on_duty or d.live_stops > 0)
        and (board_drivers.zone is null or d.all_zones or exists (
          select from delivery.driver_zones z
          where z.tenant_id = d.tenant_id and z.driver_id = d.user_id and z.zone_id = board_drivers.zone))) r);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."board_drivers"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.kick_jobs()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_url text;
  v_key text;
  v_function text;
  v_count integer := 0;
  -- As text, because neither extension needs to exist for this function to be made.
  v_secret text := 'select s.decrypted_secret from vault.decrypted_secrets s where s.name = $1';
  v_post text := 'select net.http_post(url := $1, body := $2, headers := $3, timeout_milliseconds := 60000)';
begin
  if to_regclass('vault.decrypted_secrets') is null or to_regnamespace('net') is null then
    return 0;
  end if;
  execute v_secret into v_url using 'project_url';
  execute v_secret into v_key using 'secret_key';
  if v_url is null or v_key is null then
    return 0;
  end if;
  for v_function in
    select distinct split_part(j.kind, '.', 1) from app.jobs j
    where (j.status = 'queued' and j.run_at <= now() + interval '65 seconds') or (j.status = 'running' and j.lease_until < now())
  loop
    execute v_post using rtrim(v_url, '/') || '/functions/v1/' || v_function || '/internal/jobs?stay', '{}'::jsonb,
      jsonb_build_object('apikey', v_key, 'content-type', 'application/json');
    v_count := v_count + 1;
  end loop;
  if integration.webhooks_waiting() then
    execute v_post using rtrim(v_url, '/') || '/functions/v1/webhooks/internal/dispatch', '{}'::jsonb,
      jsonb_build_object('apikey', v_key, 'content-type', 'application/json');
    v_count := v_count + 1;
  end if;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION private.call_text(claims jsonb, rule jsonb, work text, input jsonb, OUT answer json, OUT data text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into data using input;
  answer := json_build_object('language', v_language, 'tenant', app.tenant_id(), 'api_key', app.request_setting('api_key_id'),
    'call_id', claims ->> 'call_id', 'version', case when rule ? 'version' then private.version_of(rule -> 'version') end);
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  data := null;
  answer := private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.jobs_due_ms(kinds text[], ahead interval DEFAULT '00:01:05'::interval)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select ceil(1000 * greatest(0, extract(epoch from j.run_at - clock_timestamp())))::integer
    from app.jobs j
    where j.kind = any (kinds) and j.status = 'queued' and j.run_at <= now() + ahead
      and not exists (
        select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
    order by j.run_at, j.id limit 1);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.report_stock(only_tenant uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select t.id, 'stock.mismatch', 'warehousing', 'tenant', t.id, jsonb_build_object('differences', d.list)
  from tenancy.tenants t
  cross join lateral (
    select jsonb_agg(jsonb_strip_nulls(to_jsonb(x)) order by x.kind, x.stock_id, x.movement_id, x.order_id, x.picking_order_id) as list
    from (select * from warehousing.stock_differences(t.id, now()) limit 100) x) d
  where d.list is not null and (only_tenant is null or t.id = only_tenant);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."report_stock"(uuid) FROM "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."board"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."board"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."board_drivers"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."call_text"(jsonb, jsonb, text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."call_text"(jsonb, jsonb, text, jsonb) TO "barid_api";

REVOKE ALL ON FUNCTION "private"."jobs_due_ms"(text[], interval) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."jobs_due_ms"(text[], interval) TO "barid_api";

REVOKE ALL ON FUNCTION "warehousing"."report_stock"(uuid) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125203759';
end $$;

grant execute on function private.schema_version() to barid_api;
