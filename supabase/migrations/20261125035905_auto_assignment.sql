-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments, delivery.deliveries in share row exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE TABLE "delivery"."driver_searches" ("tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "status" text NOT NULL, "attempts" integer NOT NULL DEFAULT 0, "next_attempt_at" timestamp with time zone, "declined" uuid[] NOT NULL DEFAULT '{}'::uuid[], "passed_over" jsonb NOT NULL DEFAULT '{}'::jsonb, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "updated_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "driver_searches_attempts_check" CHECK ((attempts >= 0)), CONSTRAINT "driver_searches_passed_over_check" CHECK ((jsonb_typeof(passed_over) = 'object'::text)), CONSTRAINT "driver_searches_pkey" PRIMARY KEY (tenant_id, delivery_id), CONSTRAINT "driver_searches_status_check" CHECK ((status = ANY (ARRAY['off'::text, 'searching'::text, 'offered'::text, 'assigned'::text, 'failed'::text]))), CONSTRAINT "next_attempt_while_open" CHECK (((next_attempt_at IS NOT NULL) = (status = ANY (ARRAY['searching'::text, 'offered'::text])))), CONSTRAINT "texts_within_bounds" CHECK ((octet_length(status) <= 1000)));

ALTER TABLE "delivery"."driver_searches" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."driver_searches" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.assignment_bulk_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_dry boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_ids uuid[] := app.uuids(input -> 'delivery_ids');
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_plan jsonb;
  v_made jsonb;
begin
  if not v_dry and (input ->> 'replace_offer')::boolean then
    perform delivery.offers_withdraw(v_ids, v_driver);
  end if;
  v_plan := delivery.assignments_plan(v_ids, v_driver, null, not v_dry);
  if v_dry then
    return delivery.assignments_preview(v_plan);
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  v_made := delivery.assignments_write(v_plan, '{"bulk": true}');
  return jsonb_strip_nulls(jsonb_build_object('assignment_ids', v_made -> 'ids', 'bulk_assignment_id', v_made -> 'bulk_assignment_id',
    'count', jsonb_array_length(v_made -> 'ids'), 'total_units', v_plan -> 'total', 'driver_capacity_used', v_plan -> 'after',
    'resolved_deliveries', delivery.resolved_deliveries(v_plan)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignment_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_plan jsonb;
  v_made jsonb;
begin
  if (input ->> 'replace_offer')::boolean then
    perform delivery.offers_withdraw(array[(input ->> 'delivery_id')::uuid], v_driver);
  end if;
  v_plan := delivery.assignments_plan(array[(input ->> 'delivery_id')::uuid],
    coalesce(v_driver, delivery.staging_driver(), app.refuse('assignment_driver_required', '{"field": "driver_id"}')),
    (input ->> 'vehicle_id')::uuid, true);
  if v_driver is null and not (v_plan #>> '{lines,0,unstaged_inbound}')::boolean and v_plan #>> '{lines,0,code}' is distinct from 'delivery_not_found' then
    perform app.fail('assignment_driver_required', '{"field": "driver_id"}');
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_id');
  v_made := delivery.assignments_write(jsonb_set(v_plan, '{lines,0}', v_plan #> '{lines,0}' || jsonb_strip_nulls(jsonb_build_object(
    'estimated_pickup_time', input -> 'estimated_pickup_time', 'estimated_delivery_time', input -> 'estimated_delivery_time',
    'sequence_number', input -> 'sequence_number', 'notes', input -> 'notes'))), '{}');
  return jsonb_strip_nulls(jsonb_build_object('id', v_made #> '{ids,0}',
    'resolved_delivery_id', delivery.resolved_deliveries(v_plan) #> '{0,assigned_delivery_id}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_plan(delivery_ids uuid[], driver_id uuid, vehicle_id uuid, locked boolean, carried uuid[] DEFAULT '{}'::uuid[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver delivery.drivers;
  v_vehicle delivery.vehicles;
  v_code text;
  v_lines jsonb;
  v_total numeric;
  v_plan jsonb;
begin
  -- A late caller is refused without waiting for locks: of many who want the same, most do.
  if locked and exists (select from delivery.assignments a where a.tenant_id = v_tenant and a.delivery_id = any (delivery_ids)
      and a.status in ('pending', 'assigned', 'accepted')) then
    v_plan := delivery.assignments_plan(delivery_ids, driver_id, vehicle_id, false, carried);
    if v_plan ->> 'code' is not null or jsonb_path_exists(v_plan, '$.lines[*].code ? (@ != null)') then
      return v_plan;
    end if;
  end if;
  if locked then
    perform delivery.lock_deliveries(delivery_ids);
    perform from warehousing.picking_orders o
    where o.tenant_id = v_tenant and o.delivery_id = any (delivery_ids || array(
      select g.id from delivery.deliveries g where g.tenant_id = v_tenant and g.parent_id = any (delivery_ids)))
    order by o.id for share;
    perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = assignments_plan.driver_id for no key update;
  end if;
  select * into v_driver from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = assignments_plan.driver_id;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  select * into v_vehicle from delivery.vehicles v
  where v.tenant_id = v_tenant and v.id = coalesce(assignments_plan.vehicle_id, v_driver.vehicle_id);
  if v_vehicle.id is null and assignments_plan.vehicle_id is not null then
    perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
  end if;
  -- A vehicle that no driver has goes to one at a time: who takes it next waits, and then sees that it is taken.
  if locked and v_vehicle.id is distinct from v_driver.vehicle_id then
    select * into v_vehicle from delivery.vehicles v where v.tenant_id = v_tenant and v.id = v_vehicle.id for no key update;
  elsif locked then
    select * into v_vehicle from delivery.vehicles v where v.tenant_id = v_tenant and v.id = v_vehicle.id for share;
  end if;
  v_code := coalesce(delivery.driver_problem(v_driver, v_vehicle), case
    when v_vehicle.id is distinct from v_driver.vehicle_id and (
        exists (select from delivery.drivers o where o.tenant_id = v_tenant and o.vehicle_id = v_vehicle.id)
        or exists (select from delivery.assignments a where a.tenant_id = v_tenant and a.vehicle_id = v_vehicle.id
          and a.driver_id <> v_driver.user_id and a.status in ('pending', 'assigned', 'accepted'))) then 'driver_vehicle_taken'
  end);
  select jsonb_agg(to_jsonb(j) order by j.place), coalesce(sum(j.units) filter (where j.code is null), 0) into v_lines, v_total
  from delivery.assignments_evaluate(delivery_ids, v_driver.user_id, coalesce(v_vehicle.unit_capacity, 0) - v_driver.capacity_used, carried) j;
  return jsonb_build_object('driver_id', v_driver.user_id, 'vehicle_id', v_vehicle.id,
    'capacity', v_vehicle.unit_capacity, 'used', v_driver.capacity_used, 'total', v_total,
    'after', v_driver.capacity_used + v_total, 'code', v_code, 'lines', coalesce(v_lines, '[]'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.auto_assign(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_dry boolean := coalesce((input ->> 'dry_run')::boolean, false);
  d delivery.deliveries;
begin
  if not v_dry then
    perform delivery.lock_deliveries(array[v_id]);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = v_id;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  if not delivery.is_auto_assignable(d) then
    perform app.fail('delivery_not_auto_assignable');
  end if;
  if d.status <> 'pending' then
    perform app.fail('delivery_status_changed', jsonb_build_object('delivery_ids', array[d.id]));
  end if;
  if v_dry then
    return jsonb_build_object('candidates', (
      select coalesce(jsonb_agg(jsonb_build_object('driver_id', r.driver_id, 'full_name', p.full_name, 'live_stops', r.live_stops,
        'distance_km', round(r.distance_km::numeric, 3), 'eligible', r.reasons = '{}', 'reasons', to_jsonb(r.reasons)) order by r.place), '[]')
      from delivery.driver_ranking(d) r join tenancy.profiles p on p.id = r.driver_id));
  end if;
  insert into delivery.driver_searches as s (tenant_id, delivery_id, status, next_attempt_at)
  values (d.tenant_id, d.id, 'searching', clock_timestamp())
  on conflict (tenant_id, delivery_id) do update set status = 'searching', attempts = 0, next_attempt_at = clock_timestamp(),
    declined = '{}', passed_over = '{}';
  perform app.job_add('delivery.auto_assignment', '{}');
  return jsonb_build_object('auto_assignment', delivery.auto_assignment_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.auto_assignment_settings(OUT enabled boolean, OUT checks jsonb, OUT max_attempts integer, OUT retry_after interval, OUT notify boolean)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_set jsonb := coalesce(app.settings('general', 'delivery') -> 'on_demand_auto_assignment', '{}');
begin
  enabled := app.boolean_or(v_set -> 'enabled', false);
  checks := coalesce(nullif(v_set -> 'priority_checks', 'null'), '{}');
  max_attempts := greatest(coalesce((v_set ->> 'max_retry_attempts')::integer, 3), 1);
  retry_after := make_interval(mins => greatest(coalesce((v_set ->> 'retry_after_minutes')::integer, 5), 1));
  notify := app.boolean_or(v_set -> 'notify_admin_on_failure', false);
end $function$;

CREATE OR REPLACE FUNCTION delivery.auto_assignment_to_json(delivery_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select jsonb_build_object('status', s.status, 'attempts', s.attempts, 'next_attempt_at', s.next_attempt_at,
      'passed_over', delivery.drivers_passed_over(s.passed_over))
    from delivery.driver_searches s where s.tenant_id = app.tenant_id() and s.delivery_id = auto_assignment_to_json.delivery_id),
    jsonb_build_object('status', 'off', 'attempts', 0, 'next_attempt_at', null, 'passed_over', delivery.drivers_passed_over(null)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.board(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_online_since timestamptz := now() - delivery.offline_after();
  v_drivers jsonb;
  v_unassigned jsonb;
  v_late jsonb;
  v_searches jsonb;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  if v_zone is not null and not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = v_zone) then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('id', d.user_id, 'full_name', p.full_name, 'on_duty', coalesce(s.on_duty, false),
      'is_online', coalesce(s.on_duty and s.last_heartbeat_at > v_online_since, false), 'last_position', delivery.position_to_json(s),
      'vehicle', case when v.id is not null then jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) end,
      'capacity', v.unit_capacity, 'load', d.capacity_used, 'stops_left', d.live_stops, 'next_stop', n.stop) order by p.full_name, d.user_id), '[]')
  into v_drivers
  from delivery.drivers d
  join tenancy.profiles p on p.id = d.user_id
  left join delivery.driver_presence s on s.tenant_id = d.tenant_id and s.driver_id = d.user_id
  left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id
  left join lateral (
    select jsonb_build_object('delivery_id', x.id, 'delivery_code', x.delivery_code, 'place', delivery.next_place(x)) as stop
    from delivery.assignments a
    join delivery.deliveries x on x.tenant_id = a.tenant_id and x.id = a.delivery_id
    where a.tenant_id = d.tenant_id and a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')
    order by a.sequence_number limit 1) n on d.live_stops > 0
  where d.tenant_id = v_tenant and (s.on_duty or d.live_stops > 0)
    and (v_zone is null or d.all_zones or exists (
      select from delivery.driver_zones z where z.tenant_id = d.tenant_id and z.driver_id = d.user_id and z.zone_id = v_zone));

  select jsonb_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(jsonb_agg(jsonb_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select d.pickup_zone_id, count(*) as count, min(d.created_at) as oldest_at from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and (v_zone is null or d.pickup_zone_id = v_zone)
    group by d.pickup_zone_id) c
  left join delivery.zones z on z.tenant_id = v_tenant and z.id = c.pickup_zone_id;

  with late as materialized (
    select d.id, least(d.promised_at, d.deliver_before) as due_at from delivery.deliveries d
    where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
      and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.promised_at is not null or d.deliver_before is not null)
      and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id)))
  select jsonb_build_object('total', (select count(*) from late), 'deliveries', coalesce(jsonb_agg(jsonb_build_object('id', d.id,
      'delivery_code', d.delivery_code, 'status', d.status, 'promised_at', d.promised_at, 'deliver_before', d.deliver_before,
      'pickup_zone_id', d.pickup_zone_id, 'dropoff_zone_id', d.dropoff_zone_id, 'driver_id', (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by f.due_at, d.id), '[]')) into v_late
  from (select * from late order by due_at, id limit 50) f
  join delivery.deliveries d on d.tenant_id = v_tenant and d.id = f.id;

  select jsonb_build_object('searching', count(*) filter (where s.status = 'searching'), 'failed_to_assign', count(*) filter (where s.status = 'failed'))
  into v_searches
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return jsonb_build_object('as_of', now(), 'drivers', v_drivers, 'unassigned', v_unassigned, 'late', v_late) || v_searches;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_parcel uuid;
  v_family uuid[];
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  v_parcel := delivery.parcel_of(d);
  v_family := array(select x.id from delivery.deliveries x where x.tenant_id = d.tenant_id and x.parent_id = d.id) || d.id || v_parcel;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id) || jsonb_build_object(
    'package_details', d.package_details, 'staging_warehouse_id', d.staging_warehouse_id,
    'auto_assignment', case when app.sees_tenant() then delivery.auto_assignment_to_json(d.id) end,
    'label_edition', d.label_edition, 'label_outdated', d.label_outdated,
    'legs', (select coalesce(jsonb_agg(to_jsonb(l) order by l.sequence_plan), '[]') from delivery.deliveries_list l where l.parent_id = d.id),
    'exceptions', (select coalesce(jsonb_agg(to_jsonb(e) - 'delivery' order by e.created_at desc, e.id), '[]')
      from delivery.delivery_exceptions_list e where e.delivery_id = any (v_family)),
    'collections', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'driver_id', c.driver_id, 'collection_stage', c.collection_stage,
        'amount', c.amount, 'cod_amount', c.cod_amount, 'delivery_fee_amount', c.delivery_fee_amount,
        'allocations', jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount), 'currency', c.currency,
        'status', c.status, 'collected_at', c.collected_at) order by c.collected_at), '[]')
      from money.cod_collections c where c.tenant_id = d.tenant_id and c.delivery_id = v_parcel),
    'items', (select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'item_id', i.item_id, 'name', i.name, 'sku', i.sku,
        'quantity', i.quantity, 'weight', i.weight, 'length', i.length, 'width', i.width, 'height', i.height) order by i.position), '[]')
      from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel),
    'history', (select coalesce(jsonb_agg(jsonb_build_object('id', h.id, 'from_status', h.from_status, 'to_status', h.to_status,
        'actor', case when h.actor_id is not null then jsonb_build_object('id', h.actor_id, 'full_name', coalesce(delivery.person_name(h.actor_id), '')) end,
        'note', h.note, 'created_at', h.created_at, 'occurred_at', h.occurred_at,
        'place', case when h.latitude is not null then jsonb_build_object('latitude', h.latitude, 'longitude', h.longitude,
          'distance_m', h.distance_m) end) order by h.id), '[]')
      from delivery.delivery_status_history h where h.tenant_id = d.tenant_id and h.delivery_id = d.id),
    'proofs', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'delivery_id', p.delivery_id, 'stage', p.stage, 'kind', p.kind,
        'url', p.url, 'signed_by', p.signed_by, 'created_by', p.created_by, 'created_at', p.created_at) order by p.created_at, p.id), '[]')
      from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = any (v_family)),
    'payments', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'type', p.type, 'status', p.status, 'payment_method', p.payment_method,
        'amount', p.amount, 'currency', p.currency, 'processed_at', p.processed_at, 'created_at', p.created_at) order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = d.tenant_id and p.delivery_id = v_parcel),
    'handoff', (select to_jsonb(h) from delivery.handoffs_list h where h.delivery_id = any (v_family) order by h.created_at desc limit 1),
    'returns', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'delivery_code', r.delivery_code, 'barcode', r.barcode,
        'status', r.status, 'delivery_flow', r.delivery_flow) order by r.created_at), '[]')
      from delivery.deliveries r where r.tenant_id = d.tenant_id and r.original_delivery_id = v_parcel),
    'proof_requirements', jsonb_build_object('pickup', delivery.proof_needs(d, 'pickup'), 'delivery', delivery.proof_needs(d, 'delivery')),
    'policy', (select delivery.service_policy(s) from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_problem(driver delivery.drivers, vehicle delivery.vehicles)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case
    when driver.status <> 'active' or not exists (select from tenancy.tenant_users u
      where u.tenant_id = driver.tenant_id and u.user_id = driver.user_id and u.is_active) then 'driver_not_active'
    when vehicle.id is null then 'driver_has_no_vehicle'
    when not vehicle.is_active then 'vehicle_inactive'
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_ranking(d delivery.deliveries)
 RETURNS TABLE(place bigint, driver_id uuid, live_stops integer, distance_km double precision, reasons text[])
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_checks jsonb := (delivery.auto_assignment_settings()).checks;
  v_online_since timestamptz := now() - delivery.offline_after();
  v_pickup jsonb := delivery.fetched_at(d);
  v_declined uuid[] := coalesce((select s.declined from delivery.driver_searches s
    where s.tenant_id = v_tenant and s.delivery_id = d.id and s.status in ('searching', 'offered')), '{}');
  v_problem text;
  v_places record;
  v_zone delivery.zones;
begin
  -- For nobody, who has room for everything and goes nowhere: what is left is the delivery's own affair.
  select nullif(e.code, 'driver_not_allowed_in_zones') into v_problem
  from delivery.assignments_evaluate(array[d.id], null, 'Infinity') e;
  select z.pickup_zone_id, z.dropoff_zone_id into v_places from delivery.zones_of(array[d.id]) z;
  select * into v_zone from delivery.zones z where z.tenant_id = v_tenant and z.id = v_places.pickup_zone_id;
  return query
  with seen as (
    select r.user_id, r.live_stops, s.on_duty and s.last_heartbeat_at > v_online_since as is_online, p.zone_id is not null as by_name,
      r.all_zones or (p.zone_id is not null and t.zone_id is not null) as goes_there, delivery.driver_problem(r, v) as problem,
      v.unit_capacity - r.capacity_used - d.unit_size as room, v.unit_capacity as capacity,
      app.distance_km(s.latitude, s.longitude, (v_pickup ->> 'latitude')::double precision, (v_pickup ->> 'longitude')::double precision) as km,
      s.recorded_at >= now() - interval '15 minutes' and v_zone.outline operator(pg_catalog.@>) point(s.longitude, s.latitude)
        and not exists (select from unnest(v_zone.holes) h (hole) where h.hole operator(pg_catalog.@>) point(s.longitude, s.latitude)) as is_there
    from delivery.drivers r
    left join delivery.vehicles v on v.tenant_id = r.tenant_id and v.id = r.vehicle_id
    left join delivery.driver_presence s on s.tenant_id = r.tenant_id and s.driver_id = r.user_id
    left join delivery.driver_zones p on p.tenant_id = r.tenant_id and p.driver_id = r.user_id and p.zone_id = v_places.pickup_zone_id
    left join delivery.driver_zones t on t.tenant_id = r.tenant_id and t.driver_id = r.user_id and t.zone_id = v_places.dropoff_zone_id
    where r.tenant_id = v_tenant
  ), checked as (
    select s.user_id, s.live_stops, s.km, s.by_name, array_remove(array[v_problem, s.problem,
      case when not s.goes_there then 'zone' end,
      case when s.room < case when app.boolean_or(v_checks -> 'vehicle_capacity', false) then s.capacity * 0.2 else 0 end then 'capacity' end,
      case when s.user_id = any (v_declined) then 'declined' end,
      case when app.boolean_or(v_checks -> 'driver_online', false) and s.is_online is not true then 'offline' end,
      case when app.boolean_or(v_checks -> 'available_in_zone', false) and s.is_there is not true then 'away' end], null) as why
    from seen s
  ), narrowed as (
    select j.user_id, j.live_stops, j.km, case when app.boolean_or(v_checks -> 'preferred_zone', false) and not j.by_name
      and bool_or(j.by_name and j.why = '{}') over () and not 'zone' = any (j.why) then j.why || 'zone'::text else j.why end as why
    from checked j
  )
  select row_number() over (order by n.why <> '{}', n.live_stops, n.km nulls last, l.assigned_at nulls first, n.user_id),
    n.user_id, n.live_stops, n.km, n.why
  from narrowed n
  left join lateral (
    select max(a.assignment_time) as assigned_at from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = n.user_id) l on n.why = '{}'
  order by 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.drivers_passed_over(counted jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return '{"offline": 0, "capacity": 0, "zone": 0, "away": 0, "declined": 0}' || coalesce(counted, '{}');
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_auto_assignable(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return d.carrier_type = 'internal' and d.delivery_flow in ('standard', 'customer_return') and d.parent_id is null and d.manifest_id is null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.offers_withdraw(delivery_ids uuid[], driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_offers uuid[];
begin
  perform delivery.lock_deliveries(delivery_ids);
  -- The plan that follows locks picks and driver again; here they come in order.
  perform from warehousing.picking_orders o where o.tenant_id = v_tenant and o.delivery_id = any (delivery_ids) order by o.id for share;
  v_offers := array(
    select a.id from delivery.driver_searches s
    join delivery.assignments a on a.tenant_id = s.tenant_id and a.delivery_id = s.delivery_id and a.status = 'pending'
    where s.tenant_id = v_tenant and s.delivery_id = any (delivery_ids) and s.status = 'offered');
  if v_offers = '{}' then
    return;
  end if;
  perform from delivery.drivers r where r.tenant_id = v_tenant and (r.user_id = driver or r.user_id in (
    select a.driver_id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_offers)))
  order by r.user_id for no key update;
  perform delivery.assignments_return(v_offers, null);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', a.delivery_id)
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_offers) and a.driver_id is distinct from driver;
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_continue(s delivery.driver_searches, status text, after interval)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.driver_searches x set status = search_continue.status, attempts = s.attempts, passed_over = s.passed_over,
    next_attempt_at = clock_timestamp() + after, declined = s.declined
  where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
  perform app.job_add('delivery.auto_assignment', '{}', run_at => clock_timestamp() + after);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."search_continue"(delivery.driver_searches, text, interval) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.search_fail(s delivery.driver_searches, d delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.driver_searches x set status = 'failed', attempts = s.attempts, passed_over = s.passed_over, next_attempt_at = null
  where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.auto_assignment_failed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'attempts', s.attempts, 'passed_over', delivery.drivers_passed_over(s.passed_over), 'actor_id', app.user_id()))));
  if (delivery.auto_assignment_settings()).notify then
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct s.tenant_id, u.user_id, 'auto_assignment_failed', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code)
    from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
    where u.tenant_id = s.tenant_id and u.is_active;
  end if;
  return 'failed';
end $function$;

REVOKE ALL ON FUNCTION "delivery"."search_fail"(delivery.driver_searches, delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.search_step(tenant uuid, delivery_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_settings record;
  s delivery.driver_searches;
  d delivery.deliveries;
  v_offer delivery.assignments;
  v_reasons jsonb;
  v_drivers uuid[];
  v_driver uuid;
  v_plan jsonb;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  perform pg_advisory_xact_lock(hashtextextended('driver searches ' || tenant, 0));
  perform delivery.lock_deliveries(array[search_step.delivery_id]);
  select * into s from delivery.driver_searches x where x.tenant_id = tenant and x.delivery_id = search_step.delivery_id for no key update;
  if not found or s.next_attempt_at is null or s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  v_settings := delivery.auto_assignment_settings();
  if s.status = 'offered' then
    select * into v_offer from delivery.assignments a
    where a.tenant_id = tenant and a.delivery_id = s.delivery_id and a.status = 'pending';
    return delivery.search_withdraw(s, v_offer);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = tenant and x.id = s.delivery_id;
  if d.status <> 'pending' or not delivery.is_auto_assignable(d) then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = tenant and x.delivery_id = d.id;
    return 'off';
  end if;
  if s.attempts >= v_settings.max_attempts then
    return delivery.search_fail(s, d);
  end if;

  with ranked as materialized (select r.place, r.driver_id, r.reasons from delivery.driver_ranking(d) r)
  select array(select r.driver_id from ranked r where r.reasons = '{}' order by r.place), (
    select jsonb_object_agg(c.reason, c.count) from (
      select r.reasons[1] as reason, count(*) from ranked r
      where r.reasons[1] in ('offline', 'capacity', 'zone', 'away', 'declined') group by 1) c)
  into v_drivers, v_reasons;
  -- The ranking and the plan know the same rules; the plan has the last word.
  foreach v_driver in array v_drivers loop
    v_plan := delivery.assignments_plan(array[d.id], v_driver, null, false);
    exit when v_plan ->> 'code' is null and v_plan #>> '{lines,0,code}' is null;
    v_plan := null;
  end loop;
  s.passed_over := delivery.drivers_passed_over(v_reasons);
  s.attempts := s.attempts + 1;
  if v_plan is null then
    if s.attempts >= v_settings.max_attempts then
      return delivery.search_fail(s, d);
    end if;
    perform delivery.search_continue(s, 'searching', v_settings.retry_after);
    return 'nobody';
  end if;
  v_plan := delivery.assignments_plan(array[d.id], v_driver, null, true);
  if v_plan ->> 'code' is not null or v_plan #>> '{lines,0,code}' is not null then
    return 'again';
  end if;
  perform delivery.search_continue(s, 'offered', v_settings.retry_after);
  perform delivery.assignments_write(v_plan, '{}');
  update delivery.driver_searches x set status = 'assigned', next_attempt_at = null
  from delivery.assignments a
  where x.tenant_id = tenant and x.delivery_id = d.id and a.tenant_id = tenant and a.delivery_id = d.id and a.status = 'assigned';
  return case when found then 'assigned' else 'offered' end;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."search_step"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.search_withdraw(s delivery.driver_searches, offer delivery.assignments)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if offer.id is null then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
    return 'off';
  end if;
  perform from delivery.drivers r where r.tenant_id = s.tenant_id and r.user_id = offer.driver_id for no key update;
  s.declined := s.declined || offer.driver_id;
  perform delivery.search_continue(s, 'searching', interval '0');
  perform delivery.assignments_return(array[offer.id], 'unanswered');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (s.tenant_id, offer.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', offer.id, 'delivery_id', s.delivery_id));
  return 'withdrawn';
end $function$;

REVOKE ALL ON FUNCTION "delivery"."search_withdraw"(delivery.driver_searches, delivery.assignments) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.searches_begin(delivery_ids uuid[], declined jsonb DEFAULT '[]'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if cardinality(delivery_ids) = 0 then
    return;
  end if;
  insert into delivery.driver_searches as s (tenant_id, delivery_id, status, next_attempt_at, declined)
  select app.tenant_id(), i.id, 'searching', clock_timestamp(), array(
    select x.driver_id from jsonb_to_recordset(searches_begin.declined) x (delivery_id uuid, driver_id uuid) where x.delivery_id = i.id)
  from unnest(delivery_ids) i (id) order by i.id
  on conflict (tenant_id, delivery_id) do update set status = 'searching', next_attempt_at = excluded.next_attempt_at,
    attempts = case when s.status = 'offered' then s.attempts else 0 end,
    declined = case when s.status = 'offered' then s.declined || excluded.declined else excluded.declined end,
    passed_over = case when s.status = 'offered' then s.passed_over else '{}' end
  where s.status <> 'searching';
  perform app.job_add('delivery.auto_assignment', '{}');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."searches_begin"(uuid[], jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.searches_due(tenant uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(s.delivery_id order by s.next_attempt_at, s.delivery_id), '[]')
    from (
      select x.delivery_id, x.next_attempt_at from delivery.driver_searches x
      where x.tenant_id = tenant and x.next_attempt_at <= now()
      order by x.next_attempt_at, x.delivery_id limit 100) s);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."searches_due"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.searches_follow_assignments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_open jsonb;
  v_enabled boolean;
begin
  if tg_op = 'INSERT' then
    -- The search marks its delivery as offered before it assigns.
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    from new_rows n
    where s.tenant_id = n.tenant_id and s.delivery_id = n.delivery_id and s.status in ('searching', 'failed');
    return null;
  end if;
  update delivery.driver_searches s set status = case n.status when 'returned' then 'off' else 'assigned' end, next_attempt_at = null
  from new_rows n join old_rows o on o.id = n.id
  where s.tenant_id = n.tenant_id and s.delivery_id = n.delivery_id
    and ((n.status = 'accepted' and o.status = 'pending' and s.status = 'offered')
      or (n.status = 'returned' and o.status in ('pending', 'assigned', 'accepted') and s.status in ('offered', 'assigned')));
  select jsonb_agg(jsonb_build_object('delivery_id', n.delivery_id, 'driver_id', n.driver_id)) into v_open
  from new_rows n
  join old_rows o on o.id = n.id
  join delivery.deliveries d on d.tenant_id = n.tenant_id and d.id = n.delivery_id
  where n.tenant_id = app.tenant_id() and n.status = 'rejected' and o.status <> 'rejected' and d.status = 'pending' and delivery.is_auto_assignable(d);
  if v_open is not null then
    v_enabled := (delivery.auto_assignment_settings()).enabled;
    -- A search that is under way continues to its end, whatever the setting says now.
    perform delivery.searches_begin(array(
      select x.delivery_id from jsonb_to_recordset(v_open) x (delivery_id uuid)
      where v_enabled or exists (select from delivery.driver_searches s
        where s.tenant_id = app.tenant_id() and s.delivery_id = x.delivery_id and s.status = 'offered')), v_open);
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."searches_follow_assignments"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.searches_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    if (delivery.auto_assignment_settings()).enabled then
      perform delivery.searches_begin(array(select n.id from new_rows n
        where n.tenant_id = app.tenant_id() and n.status = 'pending' and delivery.is_auto_assignable(n)));
    end if;
    return null;
  end if;
  if not exists (select from new_rows n join old_rows o on o.id = n.id where n.status <> o.status or n.carrier_type <> o.carrier_type) then
    return null;
  end if;
  update delivery.driver_searches s set status = 'off', next_attempt_at = null
  from new_rows n join old_rows o on o.id = n.id
  where s.tenant_id = n.tenant_id and s.delivery_id = n.id and s.status in ('searching', 'offered', 'failed')
    and (n.status not in ('pending', 'assigned', 'accepted') or n.carrier_type <> 'internal')
    and (n.status <> o.status or n.carrier_type <> o.carrier_type);
  -- Deliveries that drivers lose before pickup are the affair of their assignments.
  if (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(array(select n.id from new_rows n join old_rows o on o.id = n.id
      where n.tenant_id = app.tenant_id() and n.status = 'pending' and o.status not in ('pending', 'assigned', 'accepted')
        and delivery.is_auto_assignable(n)));
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."searches_follow_deliveries"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.searches_sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_count integer := 0;
begin
  for v_tenant in
    select s.tenant_id from delivery.driver_searches s where s.next_attempt_at <= now()
      and not exists (select from app.jobs j where j.tenant_id = s.tenant_id and j.kind = 'delivery.auto_assignment'
        and j.status in ('queued', 'running') and j.run_at <= now())
    group by s.tenant_id
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    perform app.job_add('delivery.auto_assignment', '{}');
    v_count := v_count + 1;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."searches_sweep"() FROM "barid_caller";

ALTER TABLE "delivery"."driver_searches" ADD CONSTRAINT "driver_searches_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

CREATE INDEX driver_searches_due ON delivery.driver_searches USING btree (tenant_id, next_attempt_at) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX driver_searches_status ON delivery.driver_searches USING btree (tenant_id, status, delivery_id) WHERE (status = ANY (ARRAY['searching'::text, 'offered'::text, 'failed'::text]));

CREATE TRIGGER searches_follow_changed AFTER UPDATE ON delivery.assignments REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.searches_follow_assignments();

CREATE TRIGGER searches_follow_made AFTER INSERT ON delivery.assignments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.searches_follow_assignments();

CREATE TRIGGER searches_follow_made AFTER INSERT ON delivery.deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.searches_follow_deliveries();

CREATE TRIGGER searches_follow_moved AFTER UPDATE ON delivery.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.searches_follow_deliveries();

CREATE TRIGGER touch BEFORE UPDATE ON delivery.driver_searches FOR EACH ROW EXECUTE FUNCTION private.touch();

CREATE POLICY "tenant" ON "delivery"."driver_searches" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "delivery"."driver_searches" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "delivery"."driver_searches" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "delivery"."driver_searches" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "delivery"."auto_assign"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."auto_assign"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."auto_assignment_settings"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."auto_assignment_settings"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."auto_assignment_to_json"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."auto_assignment_to_json"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."driver_problem"(delivery.drivers, delivery.vehicles) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."driver_problem"(delivery.drivers, delivery.vehicles) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."driver_ranking"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."driver_ranking"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."drivers_passed_over"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."drivers_passed_over"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."is_auto_assignable"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_auto_assignable"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."offers_withdraw"(uuid[], uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."offers_withdraw"(uuid[], uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."search_continue"(delivery.driver_searches, text, interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."search_fail"(delivery.driver_searches, delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."search_step"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."search_step"(uuid, uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "delivery"."search_withdraw"(delivery.driver_searches, delivery.assignments) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."searches_begin"(uuid[], jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."searches_due"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."searches_due"(uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "delivery"."searches_follow_assignments"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."searches_follow_deliveries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."searches_sweep"() FROM PUBLIC;

GRANT INSERT, SELECT, UPDATE ON TABLE "delivery"."driver_searches" TO "barid_caller";

insert into integration.event_types (event_type, source_module, entity_type, event_data)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string", "from_user_id": "uuid?", "to_user_id": "uuid?",
      "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data;

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
  return '20261125035905';
end $$;

grant execute on function private.schema_version() to barid_api;
