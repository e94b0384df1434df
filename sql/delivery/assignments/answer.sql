-- An assignment before pickup: the driver's answer, and its cancellation.

-- The driver's answer to one assignment or to a whole bulk, all or nothing. What was withdrawn from the driver is no longer part
-- of its bulk, and cannot be answered.
-- {assignment_id? | bulk_assignment_id?, status: accepted | rejected, reason?} -> {status, updated_count}
-- The same answer again is no mistake: it finds everything as it left it.
-- A rejected delivery is pending again and its units are free; the pick and the reservation stay. A parcel that is on the road
-- keeps its status: accepted, it is in this driver's hands; rejected, it stays with the previous driver, who is notified. So is the office,
-- unless another driver is searched for.
-- Locks: deliveries, driver, assignments. Fails: assignment_not_found, bulk_assignment_not_found, forbidden
-- (somebody else's), assignment_not_pending {status} (of the first that does not wait), driver_inactive.
create or replace function delivery.assignments_answer(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_me uuid := app.user_id();
  v_one uuid := (input ->> 'assignment_id')::uuid;
  v_bulk uuid := (input ->> 'bulk_assignment_id')::uuid;
  v_answer text := input ->> 'status';
  v_driver uuid := delivery.assignment_driver(v_one, v_bulk);
  v_rows delivery.assignments[];
  v_deliveries uuid[];
begin
  if v_driver is null then
    perform app.fail(case when v_bulk is null then 'assignment_not_found' else 'bulk_assignment_not_found' end);
  end if;
  if v_driver is distinct from v_me then
    perform app.fail('forbidden');
  end if;
  select array_agg(a.delivery_id) into v_deliveries from delivery.assignments a
  where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned';
  perform delivery.lock_deliveries(coalesce(v_deliveries, '{}'));
  perform delivery.lock_answering_drivers(v_one, v_bulk);
  perform from delivery.assignments a where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk)
  order by a.id for no key update;
  -- As they are now: while this waited, some of them may have been withdrawn.
  v_rows := array(select a from delivery.assignments a
    where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned' order by a.id);
  v_deliveries := array(select r.delivery_id from unnest(v_rows) r);

  if cardinality(v_rows) > 0 and not exists (select from unnest(v_rows) r where r.status = 'pending') and not exists (
      select from unnest(v_rows) r where r.responded_at is null
        or r.status <> all (case v_answer when 'accepted' then '{accepted,completed}'::text[] else '{rejected}' end)) then
    return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
  end if;
  if cardinality(v_rows) = 0 or exists (select from unnest(v_rows) r where r.status <> 'pending') then
    perform app.fail('assignment_not_pending', case when cardinality(v_rows) = 0 then '{"status": "returned", "text_key": "assignment_withdrawn"}'
      else jsonb_build_object('status', (select r.status from unnest(v_rows) r where r.status <> 'pending' limit 1)) end);
  end if;

  -- Somebody who was given a rest fetches nothing new; a parcel on the road they do confirm.
  if v_answer = 'accepted' and exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (v_deliveries) and d.status = 'assigned')
    and exists (select from delivery.drivers r where r.tenant_id = v_tenant and r.user_id = v_me and r.status <> 'active') then
    perform app.fail('driver_inactive');
  end if;

  -- The delivery first: drivers may change only what they still carry. A parcel on the road keeps its status and is written all the same,
  -- so that the list of what changed since shows the driver who has it now.
  update delivery.deliveries d set status = case when d.status <> 'assigned' then d.status when v_answer = 'accepted' then 'accepted' else 'pending' end
  where d.tenant_id = v_tenant and d.id = any (v_deliveries);
  update delivery.assignments a set status = v_answer, responded_at = clock_timestamp(), response_reason = input ->> 'reason',
    ended_at = case v_answer when 'rejected' then clock_timestamp() end
  where a.tenant_id = v_tenant and a.id in (select r.id from unnest(v_rows) r);
  if v_answer = 'rejected' then
    perform delivery.assignments_restore(array(select r.id from unnest(v_rows) r where r.handed_over_from is not null));
    perform delivery.rejections_notify(array(select r.id from unnest(v_rows) r));
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery',
    'event_type', case when v_bulk is null then 'assignment.' else 'bulk_assignment.' end || v_answer,
    'entity_type', case when v_bulk is null then 'assignment' else 'bulk_assignment' end, 'entity_id', coalesce(v_bulk, v_one),
    'event_data', jsonb_build_object('assignment_ids', (select jsonb_agg(r.id) from unnest(v_rows) r), 'driver_id', v_driver,
      'delivery_ids', to_jsonb(v_deliveries), 'status', v_answer, 'actor_id', v_me)
      || case when v_bulk is null then '{}' else jsonb_build_object('bulk_assignment_id', v_bulk) end)));
  return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
end $$;

-- Locks the driver who answers and those who have the parcels in hand, in the order of their ids. SECURITY DEFINER: a driver does not
-- see the others.
create or replace function delivery.lock_answering_drivers(assignment uuid, bulk uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from delivery.drivers d
  where d.tenant_id = v_tenant and (d.user_id = app.user_id() or d.user_id in (
    select f.driver_id from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = v_tenant and (a.id = assignment or a.bulk_assignment_id = bulk)))
  order by d.user_id for no key update;
end $$;

-- Gives parcels whose handover was rejected back to those who have them in hand. SECURITY DEFINER: a driver writes nobody else's assignments.
create or replace function delivery.assignments_restore(rejected uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform delivery.handovers_undo(array(select a.id from delivery.assignments a
    where a.tenant_id = app.tenant_id() and a.id = any (rejected) and a.status = 'rejected' and a.driver_id = app.user_id()));
end $$;

-- The vehicle in which a driver has a parcel again that was in the vehicle `before`: that one while other deliveries of theirs are in it, else the
-- one they have. A driver without one gets `before`, if it is in use and neither another driver's nor holds deliveries of one. The driver is
-- locked by the caller. Locks: that vehicle.
create or replace function delivery.vehicle_again(driver uuid, before uuid) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_own uuid;
  v_active boolean;
begin
  select d.vehicle_id into v_own from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver;
  if before is null or before = v_own then
    return v_own;
  elsif exists (select from delivery.assignments a
      where a.tenant_id = v_tenant and a.vehicle_id = before and a.driver_id = driver and a.status in ('pending', 'assigned', 'accepted')) then
    return before;
  elsif v_own is not null then
    return v_own;
  end if;
  select v.is_active into v_active from delivery.vehicles v where v.tenant_id = v_tenant and v.id = before for no key update;
  return case when v_active and not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.vehicle_id = before)
    and not exists (select from delivery.assignments a
      where a.tenant_id = v_tenant and a.vehicle_id = before and a.status in ('pending', 'assigned', 'accepted')) then before end;
end $$;

-- Gives parcels of handovers that have ended before they were confirmed back to those who have them in hand: an assignment that needs no
-- answer, a notification and an event each. The deliveries and both drivers are locked by the caller.
create or replace function delivery.handovers_undo(ended uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_events jsonb;
begin
  -- In the order of their ids those that delivery.vehicle_again may lock.
  perform from delivery.vehicles v
  where v.tenant_id = v_tenant and v.id in (
    select f.vehicle_id from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    join delivery.drivers d on d.tenant_id = f.tenant_id and d.user_id = f.driver_id and d.vehicle_id is null
    where a.tenant_id = v_tenant and a.id = any (ended))
  order by v.id for no key update;
  with back as (
    insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by,
      responded_at, estimated_pickup_time, estimated_delivery_time)
    select v_tenant, a.delivery_id, f.driver_id, delivery.vehicle_again(f.driver_id, f.vehicle_id), 'accepted', f.sequence_number, a.units, f.notes,
      a.assigned_by, clock_timestamp(), f.estimated_pickup_time, f.estimated_delivery_time
    from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = v_tenant and a.id = any (ended) and a.status in ('rejected', 'returned')
    returning id, driver_id, delivery_id, units
  ), told as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select v_tenant, b.driver_id, 'assignment_created', jsonb_build_object('assignment_id', b.id, 'assignment_count', 1,
      'total_units', b.units, 'requires_driver_response', false) || delivery.codes_noted(v_tenant, array[b.delivery_id])
    from back b
  )
  select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created', 'entity_type', 'assignment',
    'entity_id', b.id, 'event_data', jsonb_build_object('assignment_ids', array[b.id], 'driver_id', b.driver_id, 'status', 'accepted',
      'delivery_ids', array[b.delivery_id], 'total_units', b.units, 'actor_id', app.user_id())) order by b.id)
  into v_events from back b;
  if v_events is not null then
    perform app.events_add(v_events);
  end if;
end $$;

grant execute on function delivery.lock_answering_drivers(uuid, uuid), delivery.assignments_restore(uuid[]) to barid_caller;

-- Nobody calls these but other functions.
revoke execute on function delivery.handovers_undo(uuid[]), delivery.vehicle_again(uuid, uuid) from barid_caller;

-- Ends live assignments: deliveries that nobody has picked up wait for a driver again, those on the road keep their status. Who never had the
-- parcel, nor confirmed a handover of it, reads it no more.
-- The deliveries and their driver are locked by the caller.
create or replace function delivery.assignments_return(assignment_ids uuid[], reason text) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_withdrawn uuid[];
begin
  perform from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (assignment_ids) order by a.id for no key update;
  v_withdrawn := array(
    select a.id from delivery.assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    where a.tenant_id = v_tenant and a.id = any (assignment_ids) and (a.status = 'pending' or d.status in ('assigned', 'accepted')));
  update delivery.deliveries d set status = 'pending', status_reason = null
  from delivery.assignments a
  where a.tenant_id = v_tenant and a.id = any (assignment_ids) and d.tenant_id = a.tenant_id and d.id = a.delivery_id
    and d.status in ('assigned', 'accepted');
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp(), response_reason = coalesce(reason, a.response_reason),
    withdrawn = a.id = any (v_withdrawn)
  where a.tenant_id = v_tenant and a.id = any (assignment_ids);
end $$;

-- Withdraws a delivery from its driver before pickup. {id, reason?} -> {id, delivery_id, status}
-- Locks: delivery, driver, assignment. Fails: assignment_not_found, assignment_ended, delivery_already_picked_up.
create or replace function delivery.assignment_unassign(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
  v_assignment delivery.assignments;
  v_delivery_status text;
begin
  select * into v_assignment from delivery.assignments a where a.tenant_id = v_tenant and a.id = v_id;
  if not found then
    perform app.fail('assignment_not_found');
  end if;
  perform delivery.lock_deliveries(array[v_assignment.delivery_id]);
  perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_assignment.driver_id for no key update;
  select * into v_assignment from delivery.assignments a where a.tenant_id = v_tenant and a.id = v_id for no key update;
  select d.status into v_delivery_status from delivery.deliveries d where d.tenant_id = v_tenant and d.id = v_assignment.delivery_id;
  if v_assignment.status not in ('pending', 'assigned', 'accepted') then
    perform app.fail('assignment_ended');
  end if;
  if v_delivery_status not in ('assigned', 'accepted') then
    perform app.fail('delivery_already_picked_up');
  end if;
  perform delivery.assignments_return(array[v_id], input ->> 'reason');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_assignment.driver_id, 'assignment_returned',
    delivery.return_noted(v_tenant, v_id, v_assignment.delivery_id, input ->> 'reason'));
  return jsonb_build_object('id', v_id, 'delivery_id', v_assignment.delivery_id, 'status', 'returned');
end $$;
