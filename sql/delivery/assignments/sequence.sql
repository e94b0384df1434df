-- The order of a driver's list. Dispatchers see and set every driver's, drivers their own.

-- Whose assignments a list shows when a driver is asked for: a driver's own, whatever they ask. Fails: invalid_uuid.
create or replace function delivery.driver_filter(asked text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return case when app.sees_tenant() then app.parse_uuid(asked, 'driver_id') else app.user_id() end;
end $$;

-- Checks a driver_id filter; a list that matches no rows does not run delivery.driver_filter. {driver_id} -> {}. Fails: invalid_uuid.
create or replace function delivery.require_driver_id(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  perform delivery.driver_filter(input ->> 'driver_id');
  return '{}';
end $$;

-- Fails: forbidden, driver_not_found.
create or replace function delivery.sequence_of(driver_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not app.has_permission('manage:operations:tenant') and driver_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
  if not exists (select from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = sequence_of.driver_id) then
    perform app.fail('driver_not_found');
  end if;
end $$;

-- {driver_id} -> {assignments, total}: the driver's active assignments in order.
create or replace function delivery.sequence_read(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_driver uuid := (input ->> 'driver_id')::uuid;
begin
  perform delivery.sequence_of(v_driver);
  return (
    select jsonb_build_object('assignments', coalesce(jsonb_agg(to_jsonb(l) - '{customer,delivery_details,route,driver_id,vehicle_id,assigned_by_id}'::text[]
        order by l.sequence_number, l.assignment_time, l.id), '[]'), 'total', count(*))
    from delivery.assignments_list l
    where l.tenant_id = app.tenant_id() and l.driver_id = v_driver and l.status in ('pending', 'assigned', 'accepted'));
end $$;

-- {driver_id, assignments: [{assignment_id, sequence_number}]} -> {updated_count}
-- One row that is not active or not the driver's fails the whole. Locks: assignments by id. Fails: what sequence_of fails
-- with, invalid_sequence {assignment_ids} (those that are in the way).
create or replace function delivery.sequence_write(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_asked integer := jsonb_array_length(input -> 'assignments');
  v_count integer;
begin
  perform delivery.sequence_of(v_driver);
  perform from delivery.assignments a
  where a.tenant_id = v_tenant and a.driver_id = v_driver
    and a.id in (select l.assignment_id from jsonb_to_recordset(input -> 'assignments') l (assignment_id uuid))
  order by a.id for no key update;
  update delivery.assignments a set sequence_number = l.sequence_number
  from (
    select n.assignment_id, min(n.sequence_number) as sequence_number
    from jsonb_to_recordset(input -> 'assignments') n (assignment_id uuid, sequence_number integer)
    group by n.assignment_id having count(*) = 1
  ) l
  where a.tenant_id = v_tenant and a.id = l.assignment_id and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted');
  get diagnostics v_count = row_count;
  if v_count <> v_asked then
    perform app.fail('invalid_sequence', jsonb_build_object('field', 'assignments', 'assignment_ids', array(
      select n.assignment_id from jsonb_to_recordset(input -> 'assignments') n (assignment_id uuid)
      group by n.assignment_id
      having count(*) > 1 or not exists (select from delivery.assignments a where a.tenant_id = v_tenant and a.id = n.assignment_id
        and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted'))
      order by 1)));
  end if;
  return jsonb_build_object('updated_count', v_count);
end $$;

-- The input of a proposed sequence. {driver_id} -> {start: {latitude, longitude} | null, detour, assignments: [{assignment_id,
-- delivery_id, delivery_code, picked_up, pickup, dropoff: {latitude, longitude} | null, pickup_by, dropoff_after, dropoff_by}]}
-- start: the driver's latest position, or their own latest pickup or delivery where that was later. dropoff_by: the earliest of the assignment's estimate,
-- the promised time and the end of the receiver's window; the last two bind nobody who brings a parcel into a warehouse, as does who has it in
-- hand while one expects it. What is postponed to another day is no stop. detour: how much longer roads are than great circles at the first place.
create or replace function delivery.sequence_stops(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;
