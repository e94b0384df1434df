-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.amount_changes in access exclusive mode;
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

ALTER TABLE "delivery"."amount_changes" ADD COLUMN "by_report" boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION delivery.amount_changes_unheard(parcel uuid, since timestamp with time zone, reporter uuid)
 RETURNS SETOF delivery.amount_changes
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select c.* from delivery.amount_changes c
  where c.tenant_id = app.tenant_id() and c.delivery_id = parcel and c.status = 'approved' and c.decided_at > since
    and not exists (select from delivery.amount_changes x
      where x.tenant_id = c.tenant_id and x.delivery_id = parcel and x.status = 'approved' and x.decided_at > since and x.requested_by = reporter
        and not x.by_report)
  order by c.decided_at, c.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_write(p delivery.deliveries, amount numeric, kept jsonb, p_reason text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at, by_report)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, 'approved', app.user_id(), app.user_id(), clock_timestamp(), true)
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_release(parcel uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := array(select x.id from delivery.deliveries x where x.tenant_id = v_tenant and (x.id = parcel or x.parent_id = parcel));
  v_picks warehousing.picking_orders[];
  v_searched uuid[];
begin
  update delivery.package_handoffs h set status = 'cancelled'
  where h.tenant_id = v_tenant and h.delivery_id = any (v_family) and h.status = 'pending';
  perform from warehousing.picking_orders p
  where p.tenant_id = v_tenant and p.delivery_id = any (v_family) and p.status in ('pending', 'in_progress', 'completed')
  order by p.id for no key update;
  -- The goods of a store's order are the order's, which may be sent in another way.
  update warehousing.picking_orders p set delivery_id = null
  where p.tenant_id = v_tenant and p.delivery_id = any (v_family) and p.order_id is not null and p.status in ('pending', 'in_progress', 'completed');
  v_picks := array(
    select p from warehousing.picking_orders p
    where p.tenant_id = v_tenant and p.delivery_id = any (v_family) and p.status in ('pending', 'in_progress', 'completed') order by p.id);
  update warehousing.picking_orders p set status = 'cancelled'
  where p.tenant_id = v_tenant and p.id = any (array(select k.id from unnest(v_picks) k));
  perform warehousing.picking_event_emit(k, k.status, 'cancelled') from unnest(v_picks) k;
  -- The driver may be on the way to fetch it and is notified, unless they cancelled it themselves.
  with freed as (
    update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
    where a.tenant_id = v_tenant and a.delivery_id = any (v_family) and a.status in ('pending', 'assigned', 'accepted')
    returning a.id, a.driver_id, a.delivery_id
  )
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, f.driver_id, 'delivery_cancelled', jsonb_build_object('assignment_id', f.id, 'delivery_id', f.delivery_id,
    'delivery_code', d.delivery_code, 'reason', d.status_reason)
  from freed f join delivery.deliveries d on d.tenant_id = v_tenant and d.id = f.delivery_id
  where f.driver_id is distinct from app.user_id();
  -- Not sent back after all, and perhaps in another warehouse by now.
  with restored as (
    update delivery.deliveries o set status_reason = null, status_notes = null,
      pickup_warehouse_id = r.pickup_warehouse_id, pickup_address_id = r.pickup_address_id, pickup_snapshot = r.pickup_snapshot,
      pickup_zone_id = r.pickup_zone_id
    from delivery.deliveries r
    where r.tenant_id = v_tenant and r.id = parcel and r.delivery_flow = 'operational_return' and r.status = 'cancelled'
      and o.tenant_id = v_tenant and (o.parent_id = r.original_delivery_id or o.id = r.original_delivery_id)
      and o.delivery_flow in ('pnd_outbound', 'standard') and o.status = 'pending'
    returning o.*)
  select array_agg(o.id) into v_searched
  from restored o where o.postponed_to is null and delivery.is_auto_assignable(o::delivery.deliveries);
  -- The return ended the search for a driver, and the parcel stayed pending: no move of it begins the search anew.
  if v_searched is not null and (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(v_searched);
  end if;
  return array(select k.id from unnest(v_picks) k);
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
    where s.rebuild_asked_at is not null or s.zone <> delivery.performance_zone(s.tenant_id) order by s.tenant_id
  loop
    perform delivery.performance_recompute(v_tenant);
    v_count := v_count + 1;
  end loop;
  return v_count;
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
  -- The others are up to date as well, but for those that are counted anew at this moment: these say so themselves.
  update delivery.performance_state s set computed_at = clock_timestamp(), zone = coalesce(s.zone, delivery.performance_zone(s.tenant_id))
  where s.tenant_id in (
    select x.tenant_id from delivery.performance_state x
    where only_tenant is null or x.tenant_id = only_tenant for no key update skip locked);
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION delivery.routes_store(tenant uuid, routes text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  -- The log of changes names the company that the request acts in.
  perform set_config('app.tenant_id', tenant::text, true);
  perform from delivery.assignments a
  where a.tenant_id = tenant and a.id in (select r.id from jsonb_to_recordset(routes::jsonb) r (id uuid))
  order by a.id for no key update;
  update delivery.assignments a set route_details = r.route_details
  from jsonb_to_recordset(routes::jsonb) r (id uuid, "from" jsonb, "to" jsonb, route_details jsonb)
  where a.tenant_id = tenant and a.id = r.id and r.route_details ->> 'source' = 'routing'
    and a.route_details ->> 'source' is distinct from 'routing'
    and (r."from" is null or exists (
      select from delivery.deliveries d
      cross join lateral delivery.work_places(d, a.from_warehouse_id, a.to_warehouse_id) p
      where d.tenant_id = a.tenant_id and d.id = a.delivery_id
        and jsonb_build_array(p.from_latitude, p.from_longitude) = r."from" and jsonb_build_array(p.to_latitude, p.to_longitude) = r."to"));
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

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
    select x.seen_at, x.place
    from (
      select a.delivery_id, a.assignment_time, a.ended_at from delivery.assignments a
      where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('accepted', 'assigned', 'completed', 'returned')
      order by a.assignment_time desc nulls last, a.id desc limit 200
    ) recent
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = recent.delivery_id
    cross join lateral (values (d.delivered_at, d.dropoff_snapshot), (d.picked_up_at, d.pickup_snapshot)) x (seen_at, place)
    -- While it was theirs: another driver may have had it before, or since. A delivery is written just before its assignment ends.
    where x.seen_at >= recent.assignment_time and x.seen_at <= coalesce(recent.ended_at, 'infinity')
    union all
    select p.recorded_at, jsonb_build_object('latitude', p.latitude, 'longitude', p.longitude)
    from delivery.driver_presence p where p.tenant_id = v_tenant and p.driver_id = v_driver
  ) s
  where s.place ->> 'latitude' is not null and s.place ->> 'longitude' is not null
  order by s.seen_at desc limit 1;

  select coalesce(jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id, 'delivery_code', d.delivery_code,
      'picked_up', w.in_hand,
      'pickup', case when f.latitude is not null then jsonb_build_object('latitude', f.latitude, 'longitude', f.longitude) end,
      'dropoff', case when t.latitude is not null then jsonb_build_object('latitude', t.latitude, 'longitude', t.longitude) end,
      'pickup_by', a.estimated_pickup_time, 'dropoff_after', case when w.to_door then d.deliver_after end,
      'dropoff_by', case when w.to_door then least(a.estimated_delivery_time, d.promised_at, d.deliver_before) else a.estimated_delivery_time end)
    order by a.sequence_number, a.assignment_time, a.id), '[]') into v_list
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  cross join lateral (select d.status in ('picked_up', 'in_transit', 'failed', 'returned') as in_hand offset 0) h
  cross join lateral (select case when h.in_hand then delivery.expected_in(d.id) end as warehouse_id offset 0) e
  cross join lateral (select h.in_hand, e.warehouse_id, d.delivery_flow <> 'pnd_inbound' and e.warehouse_id is null and delivery.ends_in(d) is null
    and not delivery.is_transferred(d) as to_door) w
  -- Not from the addresses: a driver does not see every one.
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.fetched_at(d) as place offset 0) p) f
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select case when w.warehouse_id is null then delivery.brought_to(d)
      else delivery.warehouse_place(d.tenant_id, w.warehouse_id, d.dropoff_snapshot) end as place offset 0) p) t
  where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted') and d.postponed_to is null;
  return jsonb_build_object('start', case when v_start is not null then jsonb_build_object(
    'latitude', v_start -> 'latitude', 'longitude', v_start -> 'longitude') end, 'assignments', v_list,
    'detour', delivery.detour_factor(coalesce((v_list #>> '{0,pickup,latitude}')::double precision,
      (v_list #>> '{0,dropoff,latitude}')::double precision, (v_start ->> 'latitude')::double precision)));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130232739';
end $$;

grant execute on function private.schema_version() to barid_api;
