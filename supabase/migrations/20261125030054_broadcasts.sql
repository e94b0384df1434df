-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments, delivery.deliveries, tenancy.tenants in share row exclusive mode;
      lock table delivery.driver_presence in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE TABLE "delivery"."position_broadcasts" ("tenant_id" uuid NOT NULL, "sent_at" timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone, CONSTRAINT "position_broadcasts_pkey" PRIMARY KEY (tenant_id));

ALTER TABLE "delivery"."position_broadcasts" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."position_broadcasts" FORCE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."driver_presence" ADD COLUMN "moved_at" timestamp with time zone;

ALTER TABLE "delivery"."driver_presence" ADD COLUMN "own_sent_at" timestamp with time zone;

CREATE OR REPLACE FUNCTION app.token_grants(tenant_id uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_token jsonb := coalesce(nullif(current_setting('request.jwt.claims', true), ''), '{}')::jsonb;
begin
  if v_token ->> 'sub' is null then
    return '{}';
  end if;
  return (private.identify(jsonb_build_object('sub', v_token -> 'sub', 'issued_at', v_token -> 'iat', 'asked_tenant_id', token_grants.tenant_id,
    'mailbox', false, 'tenant_mode', 'required'))).grants;
exception when sqlstate 'RULE0' then
  return '{}';
end $function$;

REVOKE ALL ON FUNCTION "app"."token_grants"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.assignments_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_changed jsonb;
begin
  if tg_op = 'INSERT' then
    select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
      'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number)) order by n.sequence_number, n.id) into v_changed
    from new_rows n;
  else
    select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
      'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number)) order by n.sequence_number, n.id) into v_changed
    from new_rows n join old_rows o on o.id = n.id
    where n.status <> o.status or n.sequence_number <> o.sequence_number;
  end if;
  perform delivery.broadcast(format('tenant:%s:board', g.tenant), 'assignment.changed', jsonb_build_object('assignments', g.rows))
  from (
    select c.line ->> 'tenant' as tenant, jsonb_agg(c.line -> 'row' order by c.place) as rows
    from jsonb_array_elements(v_changed) with ordinality c (line, place)
    group by c.line ->> 'tenant', (c.place - 1) / 100) g;
  perform delivery.broadcast(format('driver:%s', g.driver), 'assignment.changed', jsonb_build_object('assignments', g.rows))
  from (
    select c.line #>> '{row,driver_id}' as driver, jsonb_agg(c.line -> 'row' order by c.place) as rows
    from jsonb_array_elements(v_changed) with ordinality c (line, place)
    group by c.line #>> '{row,driver_id}', (c.place - 1) / 100) g;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assignments_broadcast"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.broadcast(topic text, event text, payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform realtime.send(broadcast.payload, broadcast.event, broadcast.topic, true);
exception when others then
  raise warning 'the broadcast of % was not sent: %', broadcast.event, sqlerrm;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."broadcast"(text, text, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.broadcast_place(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.next_place(d) - '{full_address,city}'::text[];
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_changed jsonb;
begin
  if tg_op = 'INSERT' then
    select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
      'parent_id', n.parent_id, 'status', n.status, 'from_status', null, 'driver_id', null, 'place', delivery.broadcast_place(n)))
      order by n.delivery_code, n.sequence_plan nulls first) into v_changed
    from new_rows n;
  else
    select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
      'parent_id', n.parent_id, 'status', n.status, 'from_status', o.status, 'driver_id', a.driver_id, 'place', delivery.broadcast_place(n)))
      order by n.delivery_code, n.sequence_plan nulls first) into v_changed
    from new_rows n
    join old_rows o on o.id = n.id
    left join delivery.assignments a on a.tenant_id = n.tenant_id and a.delivery_id = n.id and a.status in ('pending', 'assigned', 'accepted')
    where n.status <> o.status;
  end if;
  perform delivery.broadcast(format('tenant:%s:board', g.tenant), 'delivery.status', jsonb_build_object('deliveries', g.rows))
  from (
    select c.line ->> 'tenant' as tenant, jsonb_agg(c.line -> 'row' order by c.place) as rows
    from jsonb_array_elements(v_changed) with ordinality c (line, place)
    group by c.line ->> 'tenant', (c.place - 1) / 100) g;
  perform delivery.broadcast(format('driver:%s', g.driver), 'delivery.status', jsonb_build_object('deliveries', g.rows))
  from (
    select c.line #>> '{row,driver_id}' as driver, jsonb_agg(c.line -> 'row' order by c.place) as rows
    from jsonb_array_elements(v_changed) with ordinality c (line, place)
    where c.line #>> '{row,driver_id}' is not null
    group by c.line #>> '{row,driver_id}', (c.place - 1) / 100) g;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."deliveries_broadcast"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.driver_broadcast(driver uuid, event text, payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform delivery.broadcast(format('tenant:%s:board', app.tenant_id()), driver_broadcast.event, driver_broadcast.payload);
  perform delivery.broadcast(format('driver:%s', driver), driver_broadcast.event, driver_broadcast.payload);
end $function$;

CREATE OR REPLACE FUNCTION delivery.duty_change(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := coalesce((input ->> 'driver_id')::uuid, case when app.has_role('driver') then app.user_id() end);
  v_on boolean := (input ->> 'on_duty')::boolean;
  v_codes bigint[];
  v_status text;
  v_was boolean;
begin
  if v_driver is null or (v_driver <> app.user_id() and not app.has_permission('manage:operations:tenant')) then
    perform app.fail('forbidden');
  end if;
  select d.status into v_status from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = v_driver for share;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  if v_on and v_status <> 'active' then
    perform app.fail('driver_inactive');
  end if;
  if not v_on and not coalesce((input ->> 'keep_parcels')::boolean, false) then
    v_codes := delivery.parcels_in_hand(v_driver);
    if cardinality(v_codes) > 0 then
      perform app.fail('driver_has_parcels', jsonb_build_object('delivery_codes', to_jsonb(v_codes)));
    end if;
  end if;
  insert into delivery.driver_presence (tenant_id, driver_id) values (app.tenant_id(), v_driver) on conflict do nothing;
  select s.on_duty into v_was from delivery.driver_presence s where s.tenant_id = app.tenant_id() and s.driver_id = v_driver for no key update;
  update delivery.driver_presence s set on_duty = v_on,
    duty_changed_at = case when v_was = v_on then s.duty_changed_at else now() end,
    last_heartbeat_at = case when v_driver = app.user_id() then now() else s.last_heartbeat_at end
  where s.tenant_id = app.tenant_id() and s.driver_id = v_driver;
  if v_was <> v_on then
    perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'driver.duty_changed',
      'entity_type', 'driver', 'entity_id', v_driver, 'event_data',
      jsonb_build_object('driver_id', v_driver, 'on_duty', v_on, 'actor_id', app.user_id()))));
    perform delivery.driver_broadcast(v_driver, 'driver.duty', jsonb_build_object('driver_id', v_driver, 'on_duty', v_on));
  end if;
  return jsonb_build_object('driver', delivery.driver_to_json(v_driver));
end $function$;

CREATE OR REPLACE FUNCTION delivery.may_listen(topic text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_uuid constant text := '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
  v_board uuid := (regexp_match(topic, '^tenant:(' || v_uuid || '):board$'))[1]::uuid;
  v_driver uuid := (regexp_match(topic, '^driver:(' || v_uuid || ')$'))[1]::uuid;
  v_tenants uuid[];
begin
  if v_board is not null then
    return 'permission:manage:operations:tenant' = any (app.token_grants(v_board));
  end if;
  v_tenants := array(select d.tenant_id from delivery.drivers d where d.user_id = v_driver);
  return case when v_driver = app.user_id()
    then exists (select from unnest(v_tenants) t (id) where 'role:driver' = any (app.token_grants(t.id)))
    else cardinality(v_tenants) = 1 and 'permission:manage:operations:tenant' = any (app.token_grants(v_tenants[1])) end;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."may_listen"(text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.positions_broadcast(input jsonb DEFAULT '{}'::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_now timestamptz := clock_timestamp();
  v_last timestamptz;
  v_moved jsonb;
  v_own jsonb;
begin
  insert into delivery.position_broadcasts (tenant_id) values (v_tenant) on conflict do nothing;
  select b.sent_at into v_last from delivery.position_broadcasts b where b.tenant_id = v_tenant for no key update skip locked;
  -- Somebody else is sending it.
  if not found then
    return '{"sent": 0, "due_in_ms": 1000}';
  end if;
  if v_last > v_now - interval '1 second' then
    return jsonb_build_object('sent', 0, 'due_in_ms', ceil(extract(epoch from v_last + interval '1 second' - v_now) * 1000));
  end if;
  update delivery.position_broadcasts b set sent_at = v_now where b.tenant_id = v_tenant;
  -- Looking a little further back catches a position that was written before the last time and committed after it.
  select coalesce(jsonb_agg(delivery.position_to_json(s) || jsonb_build_object('driver_id', s.driver_id) order by s.driver_id), '[]') into v_moved
  from delivery.driver_presence s where s.tenant_id = v_tenant and s.moved_at > v_last - interval '1 second';
  perform delivery.broadcast(format('tenant:%s:board', v_tenant), 'driver.positions', jsonb_build_object('positions', g.rows))
  from (
    select jsonb_agg(m.line order by m.place) as rows from jsonb_array_elements(v_moved) with ordinality m (line, place)
    group by (m.place - 1) / 500) g;
  with own as (
    update delivery.driver_presence s set own_sent_at = v_now
    from jsonb_array_elements(v_moved) m (line)
    where s.tenant_id = v_tenant and s.driver_id = (m.line ->> 'driver_id')::uuid
      and (s.own_sent_at is null or s.own_sent_at <= v_now - interval '10 seconds')
    returning s.driver_id, m.line)
  select jsonb_agg(jsonb_build_object('driver_id', own.driver_id, 'line', own.line)) into v_own from own;
  perform delivery.broadcast(format('driver:%s', o.driver_id), 'driver.positions', jsonb_build_object('positions', jsonb_build_array(o.line)))
  from jsonb_to_recordset(v_own) o (driver_id uuid, line jsonb);
  return jsonb_build_object('sent', jsonb_array_length(v_moved), 'due_in_ms', 0);
end $function$;

CREATE OR REPLACE FUNCTION delivery.positions_record(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
    'next_in_seconds', coalesce((app.settings('general', 'user_settings') ->> 'heartbeat_interval_seconds')::integer, 30));
end $function$;

ALTER TABLE "delivery"."position_broadcasts" ADD CONSTRAINT "position_broadcasts_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE CASCADE;

CREATE TRIGGER assignments_broadcast_changed AFTER UPDATE ON delivery.assignments REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.assignments_broadcast();

CREATE TRIGGER assignments_broadcast_made AFTER INSERT ON delivery.assignments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.assignments_broadcast();

CREATE TRIGGER deliveries_broadcast_made AFTER INSERT ON delivery.deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.deliveries_broadcast();

CREATE TRIGGER deliveries_broadcast_moved AFTER UPDATE ON delivery.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.deliveries_broadcast();

CREATE POLICY "deny_all" ON "delivery"."position_broadcasts" FOR ALL TO "barid_caller" USING (false);

CREATE POLICY "barid_listeners" ON "realtime"."messages" FOR SELECT TO "authenticated" USING (((extension = 'broadcast'::text) AND ( SELECT delivery.may_listen(realtime.topic()) AS may_listen)));

REVOKE ALL ON FUNCTION "app"."token_grants"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."assignments_broadcast"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."broadcast"(text, text, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."broadcast_place"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."broadcast_place"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."deliveries_broadcast"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."driver_broadcast"(uuid, text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."driver_broadcast"(uuid, text, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."may_listen"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."may_listen"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "delivery"."positions_broadcast"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."positions_broadcast"(jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125030054';
end $$;

grant execute on function private.schema_version() to barid_api;
