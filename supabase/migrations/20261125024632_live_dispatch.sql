-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries, delivery.delivery_status_history, delivery.assignments, delivery.drivers, delivery.drivers_list in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."drivers_list";

CREATE SCHEMA "partitions" AUTHORIZATION "postgres";

CREATE TABLE "delivery"."driver_positions" ("tenant_id" uuid NOT NULL, "driver_id" uuid NOT NULL, "recorded_at" timestamp with time zone NOT NULL, "latitude" double precision NOT NULL, "longitude" double precision NOT NULL, "accuracy_m" double precision, "speed_kmh" double precision, "heading" double precision, "battery_percent" double precision, "received_at" timestamp with time zone NOT NULL) PARTITION BY RANGE (recorded_at);

ALTER TABLE "delivery"."driver_positions" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."driver_positions" FORCE ROW LEVEL SECURITY;

CREATE TABLE "delivery"."driver_presence" ("tenant_id" uuid NOT NULL, "driver_id" uuid NOT NULL, "on_duty" boolean NOT NULL DEFAULT false, "duty_changed_at" timestamp with time zone NOT NULL DEFAULT now(), "last_heartbeat_at" timestamp with time zone, "latitude" double precision, "longitude" double precision, "accuracy_m" double precision, "recorded_at" timestamp with time zone, CONSTRAINT "driver_presence_accuracy_m_check" CHECK ((accuracy_m >= (0)::double precision)), CONSTRAINT "driver_presence_latitude_check" CHECK (((latitude >= ('-90'::integer)::double precision) AND (latitude <= (90)::double precision))), CONSTRAINT "driver_presence_longitude_check" CHECK (((longitude >= ('-180'::integer)::double precision) AND (longitude <= (180)::double precision))), CONSTRAINT "driver_presence_pkey" PRIMARY KEY (tenant_id, driver_id), CONSTRAINT "position_whole" CHECK ((((latitude IS NULL) = (longitude IS NULL)) AND ((latitude IS NULL) = (recorded_at IS NULL)))));

ALTER TABLE "delivery"."driver_presence" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."driver_presence" FORCE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."driver_presence" SET (fillfactor=50);

CREATE TABLE "partitions"."driver_positions_default" PARTITION OF "delivery"."driver_positions" DEFAULT;

ALTER TABLE "delivery"."deliveries" ADD COLUMN "deliver_after" timestamp with time zone;

ALTER TABLE "delivery"."deliveries" ADD COLUMN "deliver_before" timestamp with time zone;

ALTER TABLE "delivery"."delivery_status_history" ADD COLUMN "latitude" double precision;

ALTER TABLE "delivery"."delivery_status_history" ADD COLUMN "longitude" double precision;

ALTER TABLE "delivery"."delivery_status_history" ADD COLUMN "distance_m" double precision;

ALTER TABLE "delivery"."delivery_status_history" ADD COLUMN "occurred_at" timestamp with time zone;

ALTER TABLE "delivery"."drivers" ADD COLUMN "live_stops" integer NOT NULL DEFAULT 0;

-- Assignments are locked above, so that none begins or ends between this count and the triggers that keep it.
update delivery.drivers d set live_stops = a.stops
from (select x.tenant_id, x.driver_id, count(*) as stops from delivery.assignments x
  where x.status in ('pending', 'assigned', 'accepted') group by x.tenant_id, x.driver_id) a
where d.tenant_id = a.tenant_id and d.user_id = a.driver_id;

ALTER TABLE "delivery"."driver_positions" ALTER COLUMN "received_at" SET DEFAULT now();

ALTER TYPE "private"."load_change" ADD ATTRIBUTE "stops" integer CASCADE;

CREATE OR REPLACE FUNCTION delivery.assignments_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'UPDATE' then
    -- A route may still be measured after the end; nothing else changes.
    if exists (select from old_rows o join new_rows n on n.id = o.id
        where o.status in ('rejected', 'completed', 'returned')
          and to_jsonb(n) - '{updated_at,changed,route_details}'::text[] <> to_jsonb(o) - '{updated_at,changed,route_details}'::text[]) then
      perform app.fail('assignment_ended');
    end if;
    if exists (select from old_rows o join new_rows n on n.id = o.id
        where o.status <> n.status and n.status <> all (case o.status
          when 'pending' then '{accepted,rejected,returned}'::text[]
          else '{completed,returned,rejected}'::text[] end)) then
      perform app.fail('invalid_status_transition');
    end if;
    perform delivery.capacity_shift(array(
      select row(c.tenant_id, c.driver_id, sum(c.units), sum(c.stops))::private.load_change from (
        select n.tenant_id, n.driver_id, n.units, 1 as stops from new_rows n where n.status in ('pending', 'assigned', 'accepted')
        union all
        select o.tenant_id, o.driver_id, -o.units, -1 from old_rows o where o.status in ('pending', 'assigned', 'accepted')
      ) c group by c.tenant_id, c.driver_id having sum(c.units) <> 0 or sum(c.stops) <> 0 order by c.driver_id));
  else
    perform delivery.capacity_shift(array(
      select row(n.tenant_id, n.driver_id, sum(n.units), count(*))::private.load_change from new_rows n
      where n.status in ('pending', 'assigned', 'accepted')
      group by n.tenant_id, n.driver_id order by n.driver_id));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.board(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_online_since timestamptz := now() - delivery.offline_after();
  v_drivers jsonb;
  v_unassigned jsonb;
  v_late jsonb;
begin
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

  return jsonb_build_object('as_of', now(), 'drivers', v_drivers, 'unassigned', v_unassigned, 'late', v_late);
end $function$;

CREATE OR REPLACE FUNCTION delivery.capacity_shift(changes private.load_change[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if cardinality(changes) = 0 then
    return;
  end if;
  perform from delivery.drivers d
  where (d.tenant_id, d.user_id) in (select c.tenant_id, c.driver_id from unnest(changes) c)
  order by d.user_id for no key update;
  update delivery.drivers d set capacity_used = d.capacity_used + c.units, live_stops = d.live_stops + c.stops
  from unnest(changes) c where d.tenant_id = c.tenant_id and d.user_id = c.driver_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_after_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parents uuid[];
  v_wrong record;
begin
  if not exists (select from new_rows n join old_rows o on o.id = n.id where n.status <> o.status) then
    return null;
  end if;
  select o.status as was, n.status as becomes into v_wrong from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and not delivery.move_is_legal(n.delivery_flow, o.status, n.status) limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_wrong.was, 'to', v_wrong.becomes));
  end if;
  perform delivery.require_no_return(n) from new_rows n join old_rows o on o.id = n.id
  where o.status = 'pending' and n.status not in ('pending', 'returned', 'cancelled') and n.delivery_flow in ('standard', 'pnd_outbound');
  insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status, actor_id, note,
    latitude, longitude, distance_m, occurred_at)
  select n.tenant_id, n.id, o.status, n.status, app.user_id(), nullif(concat_ws(': ', n.status_reason, n.status_notes), ''),
    r.latitude, r.longitude, delivery.metres_from_place(n, o.status, r.latitude, r.longitude), r.occurred_at
  from new_rows n join old_rows o on o.id = n.id
  left join lateral (
    select * from jsonb_to_record(nullif(current_setting('app.reported', true), '')::jsonb)
      x (parcel uuid, latitude double precision, longitude double precision, occurred_at timestamptz)
    where x.parcel = delivery.parcel_of(n)) r on true
  where n.status <> o.status order by n.delivery_code, n.sequence_plan nulls first;
  -- Subscribers hear of parcels; a leg shows in its parent.
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select n.tenant_id, 'delivery.' || n.status, 'delivery', 'delivery', n.id,
    delivery.event_data(n) || jsonb_build_object('from_status', o.status)
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null order by n.delivery_code;

  select array_agg(distinct n.parent_id) into v_parents
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status and n.parent_id is not null;
  if v_parents is not null then
    perform from delivery.deliveries p where p.id = any (v_parents) order by p.id for no key update;
    update delivery.deliveries p set status = f.status, status_reason = f.reason, status_notes = f.notes, attempts_used = f.attempts,
      picked_up_at = coalesce(p.picked_up_at, f.picked_up_at),
      delivered_at = case when f.status = 'delivered' then f.delivered_at end
    from (
      select l.tenant_id, l.parent_id, delivery.parent_status(array_agg(l.status order by l.sequence_plan)) as status,
        (array_agg(l.status_reason order by l.updated_at desc, l.sequence_plan desc))[1] as reason,
        (array_agg(l.status_notes order by l.updated_at desc, l.sequence_plan desc))[1] as notes, sum(l.attempts_used) as attempts,
        min(l.picked_up_at) as picked_up_at, max(l.delivered_at) as delivered_at
      from delivery.deliveries l where l.parent_id = any (v_parents)
      group by l.tenant_id, l.parent_id
    ) f
    where p.tenant_id = f.tenant_id and p.id = f.parent_id and (p.status <> f.status or p.attempts_used <> f.attempts);
  end if;
  perform delivery.originals_come_back(array(
    select n.original_delivery_id from new_rows n join old_rows o on o.id = n.id
    where n.status = 'delivered' and o.status <> 'delivered' and n.delivery_flow = 'operational_return'
      -- A return that ends in a warehouse is back when it is received there (warehousing.parcel_received).
      and (n.dropoff_warehouse_id is null or n.current_warehouse_id = n.dropoff_warehouse_id)));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_shipment uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.move_reported(d, input);
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof');
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id into v_shipment from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      if not found then
        perform app.fail('delivery_has_no_driver');
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof');
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_shipment is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_depart(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, case d.carrier_type when 'external' then '{pending,picked_up}'::text[] else '{picked_up}' end, 'in_transit');
  perform delivery.move_reported(d, input);
  perform storefront.require_order_picked(d.id);
  update delivery.deliveries x set status = 'in_transit', picked_up_at = coalesce(x.picked_up_at, clock_timestamp())
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if d.status = 'pending' then
    perform delivery.carrier_takes(d);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_fail(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, '{picked_up,in_transit}', 'failed');
  perform delivery.move_reported(d, input);
  update delivery.deliveries x set status = 'failed', status_reason = input ->> 'reason', status_notes = input ->> 'notes',
    attempts_used = x.attempts_used + case when delivery.attempt_counts(d) then 1 else 0 end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
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

CREATE OR REPLACE FUNCTION delivery.delivery_retry(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_reassign boolean := coalesce((input ->> 'reassign')::boolean, false);
  v_override text := input ->> 'override_reason';
  v_allowed integer;
begin
  perform delivery.require_move(d, '{failed}', case when v_reassign then 'pending' else 'in_transit' end);
  perform delivery.move_reported(d, input);
  if not v_operations and (v_reassign or v_override is not null) then
    perform app.fail('forbidden');
  end if;
  if v_reassign and delivery.leaves_warehouse(d) then
    perform app.fail('return_through_warehouse');
  end if;
  if not v_reassign and a.id is null and d.carrier_type = 'internal' then
    perform app.fail('delivery_has_no_driver');
  end if;
  select s.allowed_delivery_attempts into v_allowed from delivery.delivery_services s
  where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  if delivery.attempt_counts(d) and d.attempts_used >= coalesce(v_allowed, 1) and v_override is null then
    perform app.fail('delivery_attempts_exhausted', jsonb_build_object('field', 'override_reason',
      'attempts_used', d.attempts_used, 'allowed_delivery_attempts', coalesce(v_allowed, 1)));
  end if;
  update delivery.deliveries x set status = case when v_reassign then 'pending' else 'in_transit' end,
    status_reason = v_override, status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- On its way again: what was to be received of it stays with the driver.
  perform warehousing.receipts_withdraw(d.id);
  if v_reassign then
    perform delivery.assignment_end(a, 'returned');
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select d.tenant_id, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id)
    where a.driver_id is not null;
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.move_reported(d, input);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  if not delivery.leaves_warehouse(d) then
    perform warehousing.receipts_withdraw(d.id, v_warehouse);
  end if;
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.delivery_refund_on(d, 'refund_delivery_fee_on_return') end;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_taken(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_due jsonb := money.cash_to_take(d, 'pickup');
begin
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  if a.status is distinct from 'assigned' and a.status is distinct from 'accepted' then
    perform app.fail('assignment_not_accepted', jsonb_build_object('status', a.status));
  end if;
  perform delivery.move_reported(d, input);
  update delivery.deliveries x set status = 'picked_up', picked_up_at = clock_timestamp(), status_reason = null, status_notes = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_proofs_keep(d, 'pickup', input -> 'proof');
  perform delivery.require_cash(d, 'pickup', input -> 'cash_collected');
  perform money.cash_collected(delivery.parcel_of(d), 'pickup', a.driver_id);
  return delivery.cash_summary(v_due);
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
  end if;
  return jsonb_build_object('driver', delivery.driver_to_json(v_driver));
end $function$;

CREATE OR REPLACE FUNCTION delivery.metres_from_place(d delivery.deliveries, from_status text, latitude double precision, longitude double precision)
 RETURNS double precision
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := case when d.status in ('picked_up', 'returned') or (d.status = 'in_transit' and from_status <> 'failed')
    then d.pickup_snapshot else d.dropoff_snapshot end;
begin
  return case when latitude is not null then round(app.distance_km((v_place ->> 'latitude')::double precision,
    (v_place ->> 'longitude')::double precision, latitude, longitude) * 1000) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.move_reported(d delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
begin
  if v_at not between now() - interval '72 hours' and now() + interval '2 minutes' then
    perform app.fail('invalid_occurred_at', '{"field": "occurred_at"}');
  end if;
  if v_at is not null or input ->> 'latitude' is not null then
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'latitude', input -> 'latitude',
      'longitude', input -> 'longitude', 'occurred_at', v_at)::text, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.next_place(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_fetch boolean := d.status in ('pending', 'assigned', 'accepted');
  v_place jsonb := case when v_fetch then d.pickup_snapshot else d.dropoff_snapshot end;
begin
  return jsonb_build_object('kind', case when v_fetch then 'pickup' else 'dropoff' end, 'full_address', v_place -> 'full_address',
    'city', v_place -> 'city', 'latitude', v_place -> 'latitude', 'longitude', v_place -> 'longitude');
end $function$;

CREATE OR REPLACE FUNCTION delivery.offline_after()
 RETURNS interval
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return make_interval(secs => coalesce((app.settings('general', 'user_settings') ->> 'offline_threshold_seconds')::integer, 120));
end $function$;

CREATE OR REPLACE FUNCTION delivery.parcels_in_hand(driver uuid)
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select d.delivery_code from delivery.assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    where a.tenant_id = app.tenant_id() and a.driver_id = driver and a.status in ('pending', 'assigned', 'accepted')
      and d.status in ('picked_up', 'in_transit', 'failed', 'returned')
      -- A parcel that is being handed over is in the hands of the driver who gives it.
      and (a.status <> 'pending' or a.handed_over_from is null)
    order by d.delivery_code);
end $function$;

CREATE OR REPLACE FUNCTION delivery.position_to_json(presence delivery.driver_presence)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return case when presence.recorded_at is not null then jsonb_build_object('latitude', presence.latitude, 'longitude', presence.longitude,
    'accuracy_m', presence.accuracy_m, 'recorded_at', presence.recorded_at) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.positions_partition(ahead integer DEFAULT 7)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_day date;
  v_name text;
  v_count integer := 0;
begin
  for v_day in select g::date from generate_series(timezone('UTC', now())::date - 1, timezone('UTC', now())::date + ahead, interval '1 day') g loop
    v_name := format('driver_positions_%s', to_char(v_day, 'YYYYMMDD'));
    if to_regclass('partitions.' || v_name) is null then
      execute format('create table partitions.%I (like delivery.driver_positions including defaults including constraints)', v_name);
      execute format('with moved as (delete from partitions.driver_positions_default where recorded_at >= %1$L and recorded_at < %2$L returning *)
        insert into partitions.%3$I select * from moved', v_day::timestamp at time zone 'UTC', (v_day + 1)::timestamp at time zone 'UTC', v_name);
      execute format('alter table delivery.driver_positions attach partition partitions.%I for values from (%L) to (%L)',
        v_name, v_day::timestamp at time zone 'UTC', (v_day + 1)::timestamp at time zone 'UTC');
      v_count := v_count + 1;
    end if;
  end loop;
  for v_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'delivery.driver_positions'::regclass and c.relname ~ '^driver_positions_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < timezone('UTC', now())::date - 30
  loop
    execute format('drop table partitions.%I', v_name);
    v_count := v_count + 1;
  end loop;
  delete from partitions.driver_positions_default where recorded_at < now() - interval '30 days';
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."positions_partition"(integer) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.positions_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_to timestamptz := coalesce(app.instant(input ->> 'to'), app.instant(input ->> 'from') + interval '24 hours', now());
  v_from timestamptz := coalesce(app.instant(input ->> 'from'), v_to - interval '24 hours');
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found');
  end if;
  if v_to < v_from or v_to - v_from > interval '24 hours' then
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
      update delivery.driver_presence s set recorded_at = k.recorded_at, latitude = k.latitude, longitude = k.longitude, accuracy_m = k.accuracy_m
      from (select * from kept order by recorded_at desc limit 1) k
      where s.tenant_id = v_tenant and s.driver_id = v_driver and (s.recorded_at is null or s.recorded_at < k.recorded_at)
    )
    select count(*) into v_accepted from kept;
  end if;
  return jsonb_build_object('accepted', v_accepted, 'ignored', jsonb_array_length(input -> 'positions') - v_accepted,
    'next_in_seconds', coalesce((app.settings('general', 'user_settings') ->> 'heartbeat_interval_seconds')::integer, 30));
end $function$;

ALTER TABLE "delivery"."deliveries" ADD CONSTRAINT "deliver_window_in_order" CHECK ((deliver_after < deliver_before)) NOT VALID;

ALTER TABLE "delivery"."delivery_status_history" ADD CONSTRAINT "delivery_status_history_distance_m_check" CHECK ((distance_m >= (0)::double precision)) NOT VALID;

ALTER TABLE "delivery"."delivery_status_history" ADD CONSTRAINT "delivery_status_history_latitude_check" CHECK (((latitude >= ('-90'::integer)::double precision) AND (latitude <= (90)::double precision))) NOT VALID;

ALTER TABLE "delivery"."delivery_status_history" ADD CONSTRAINT "delivery_status_history_longitude_check" CHECK (((longitude >= ('-180'::integer)::double precision) AND (longitude <= (180)::double precision))) NOT VALID;

ALTER TABLE "delivery"."delivery_status_history" ADD CONSTRAINT "reported_place_whole" CHECK (((latitude IS NULL) = (longitude IS NULL))) NOT VALID;

ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_accuracy_m_check" CHECK ((accuracy_m >= (0)::double precision));

ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_battery_percent_check" CHECK (((battery_percent >= (0)::double precision) AND (battery_percent <= (100)::double precision)));

ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_heading_check" CHECK (((heading >= (0)::double precision) AND (heading <= (360)::double precision)));

ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_latitude_check" CHECK (((latitude >= ('-90'::integer)::double precision) AND (latitude <= (90)::double precision)));

ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_longitude_check" CHECK (((longitude >= ('-180'::integer)::double precision) AND (longitude <= (180)::double precision)));

-- The table is new and empty.
-- squawk-ignore adding-serial-primary-key-field
ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_pkey" PRIMARY KEY (tenant_id, driver_id, recorded_at);

ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_speed_kmh_check" CHECK ((speed_kmh >= (0)::double precision));

ALTER TABLE "delivery"."driver_positions" ADD CONSTRAINT "driver_positions_tenant_id_driver_id_fkey" FOREIGN KEY (tenant_id, driver_id) REFERENCES delivery.drivers(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE "delivery"."driver_presence" ADD CONSTRAINT "driver_presence_tenant_id_driver_id_fkey" FOREIGN KEY (tenant_id, driver_id) REFERENCES delivery.drivers(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE "delivery"."drivers" ADD CONSTRAINT "drivers_live_stops_check" CHECK ((live_stops >= 0)) NOT VALID;

CREATE VIEW "delivery"."drivers_list" WITH (security_invoker=true) AS  SELECT d.user_id AS id,
    jsonb_build_object('id', d.user_id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS "user",
        CASE
            WHEN (v.id IS NOT NULL) THEN jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url)
            ELSE NULL::jsonb
        END AS vehicle,
    d.all_zones,
    ( SELECT COALESCE(jsonb_agg(z.zone_id ORDER BY z.zone_id), '[]'::jsonb) AS "coalesce"
           FROM delivery.driver_zones z
          WHERE ((z.tenant_id = d.tenant_id) AND (z.driver_id = d.user_id))) AS zone_ids,
    d.status,
    d.capacity_used,
    COALESCE((s.on_duty AND (s.last_heartbeat_at > (now() - ( SELECT delivery.offline_after() AS offline_after)))), false) AS is_online,
    (EXISTS ( SELECT
           FROM tenancy.tenant_settings s_1
          WHERE ((s_1.tenant_id = d.tenant_id) AND (s_1.module = 'delivery'::text) AND (s_1.group_key = 'assignment_change_settings'::text) AND ((s_1.settings ->> 'default_driver_id'::text) = (d.user_id)::text)))) AS is_default,
    d.created_at,
    d.updated_at,
    p.full_name,
    p.phone,
    COALESCE(s.on_duty, false) AS on_duty,
    s.last_heartbeat_at,
        CASE
            WHEN (( SELECT app.has_permission('manage:operations:tenant'::text) AS has_permission) OR (d.user_id = ( SELECT app.user_id() AS user_id))) THEN delivery.position_to_json(s.*)
            ELSE NULL::jsonb
        END AS last_position
   FROM (((delivery.drivers d
     JOIN tenancy.profiles p ON ((p.id = d.user_id)))
     LEFT JOIN delivery.driver_presence s ON (((s.tenant_id = d.tenant_id) AND (s.driver_id = d.user_id))))
     LEFT JOIN delivery.vehicles v ON (((v.tenant_id = d.tenant_id) AND (v.id = d.vehicle_id))));

CREATE POLICY "tenant" ON "delivery"."driver_positions" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "delivery"."driver_positions" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT true));

CREATE POLICY "write_insert" ON "delivery"."driver_positions" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT true));

CREATE POLICY "write_update" ON "delivery"."driver_positions" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT true));

CREATE POLICY "tenant" ON "delivery"."driver_presence" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "delivery"."driver_presence" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT true));

CREATE POLICY "write_insert" ON "delivery"."driver_presence" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT true));

CREATE POLICY "write_update" ON "delivery"."driver_presence" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT true));

REVOKE ALL ON FUNCTION "delivery"."board"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."board"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."duty_change"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."duty_change"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."metres_from_place"(delivery.deliveries, text, double precision, double precision) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."metres_from_place"(delivery.deliveries, text, double precision, double precision) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."move_reported"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."move_reported"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."next_place"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."next_place"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."offline_after"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."offline_after"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."parcels_in_hand"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."parcels_in_hand"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."position_to_json"(delivery.driver_presence) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."position_to_json"(delivery.driver_presence) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."positions_partition"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."positions_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."positions_read"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."positions_record"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."positions_record"(jsonb) TO "barid_caller";

GRANT INSERT, SELECT ON TABLE "delivery"."driver_positions" TO "barid_caller";

GRANT INSERT, SELECT, UPDATE ON TABLE "delivery"."driver_presence" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."drivers_list" TO "barid_caller";

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
  return '20261125024632';
end $$;

grant execute on function private.schema_version() to barid_api;
