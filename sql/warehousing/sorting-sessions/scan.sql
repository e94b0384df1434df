-- Parcels into cages, and what may change about a cage meanwhile.

-- Where in a session a parcel belongs, most exact first: its zone (by id or name), its partner area (what its address
-- names, the carrier that takes it, a tag of its zone), its city; of one kind the cage that was made first.
create or replace function warehousing.sorting_matches(p_session uuid, d delivery.deliveries) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(a.id order by array_position('{zone,partner_area,city}'::text[], a.destination_type), a.created_at, a.id), '{}')
    from warehousing.sorting_assignments a
    where a.tenant_id = d.tenant_id and a.session_id = p_session and a.destination_key = any (case a.destination_type
      when 'city' then array[warehousing.place_key(d.dropoff_snapshot ->> 'city')]
      when 'zone' then array[d.dropoff_zone_id::text, (select warehousing.place_key(z.name) from delivery.zones z
        where z.tenant_id = d.tenant_id and z.id = d.dropoff_zone_id)]
      else array[warehousing.place_key(d.dropoff_snapshot #>> '{contact_info,partner_area}'), warehousing.place_key(d.carrier_code)]
        || array(select warehousing.place_key(t.name) from delivery.zone_tag_map m
          join delivery.zone_tags t on t.tenant_id = m.tenant_id and t.id = m.tag_id
          where m.tenant_id = d.tenant_id and m.zone_id = d.dropoff_zone_id) end));
end $$;

-- The answer of a scan. under_way: the delivery its parcel is under way by now, which may be a return.
create or replace function warehousing.sorting_scan_answer(p_scan uuid, under_way uuid, already boolean) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('scan_id', c.id, 'already_sorted', already, 'scanned_at', c.created_at,
      'put_to', a.cage_location || jsonb_build_object('assignment_id', a.id, 'destination_type', a.destination_type,
        'destination_value', a.destination_value),
      'assignment', to_jsonb(a) - 'tenant_id',
      'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status,
        'delivery_flow', d.delivery_flow, 'label_outdated', d.label_outdated))
    from warehousing.sorting_scans c
    join warehousing.sorting_assignments_list a on a.tenant_id = c.tenant_id and a.id = c.assignment_id
    join delivery.deliveries d on d.tenant_id = c.tenant_id and d.id = under_way
    where c.id = p_scan);
end $$;

-- The cages that match as exactly as the first of them does.
create or replace function warehousing.sorting_alike(s warehousing.sorting_sessions, matches uuid[]) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  return array(
    select a.id from warehousing.sorting_assignments a
    where a.tenant_id = s.tenant_id and a.id = any (matches) and a.destination_type = (
      select f.destination_type from warehousing.sorting_assignments f where f.tenant_id = s.tenant_id and f.id = matches[1])
    order by array_position(matches, a.id));
end $$;

-- The first of these cages with room, or the first of all when they are full. They are locked, with `beside`, the cage that a parcel leaves,
-- so that no other scan leaves or enters them.
create or replace function warehousing.sorting_cage_with_room(s warehousing.sorting_sessions, cages uuid[], beside uuid) returns uuid
language plpgsql set search_path = '' as $$
begin
  perform from warehousing.bins b
  where b.tenant_id = s.tenant_id and b.id in (
    select a.cage_location_id from warehousing.sorting_assignments a where a.tenant_id = s.tenant_id and a.id = any (cages || beside))
  order by b.id for no key update;
  return coalesce((
    select a.id from warehousing.sorting_assignments a
    join warehousing.bins b on b.tenant_id = a.tenant_id and b.id = a.cage_location_id
    where a.tenant_id = s.tenant_id and a.id = any (cages) and b.filled_capacity < b.capacity
    order by array_position(cages, a.id) limit 1), cages[1]);
end $$;

-- Counts one more parcel (1), or one less (-1), in the cage of an assignment. Fails: cage_full.
create or replace function warehousing.sorting_cage_count(s warehousing.sorting_sessions, p_assignment uuid, parcels integer) returns void
language plpgsql set search_path = '' as $$
begin
  update warehousing.bins b set filled_capacity = b.filled_capacity + sorting_cage_count.parcels
  from warehousing.sorting_assignments a
  where a.tenant_id = s.tenant_id and a.id = p_assignment and b.tenant_id = a.tenant_id and b.id = a.cage_location_id
    and (sorting_cage_count.parcels < 0 or b.filled_capacity < b.capacity);
  if not found then
    perform app.fail('cage_full', jsonb_build_object('assignment_id', p_assignment));
  end if;
end $$;

-- Says of a scan which assignment it is of now, when, and by whom. SECURITY DEFINER: nobody else changes scans; it moves one of a session of
-- the caller's tenant that is under way, to another cage of that session, for those who work there.
create or replace function warehousing.sorting_scan_move(p_scan uuid, p_assignment uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update warehousing.sorting_scans c set assignment_id = p_assignment, scanned_by = app.user_id(), created_at = clock_timestamp(), left_at = null
  from warehousing.sorting_sessions s
  where c.tenant_id = app.tenant_id() and c.id = p_scan and s.tenant_id = c.tenant_id and s.id = c.session_id and s.status = 'active'
    and warehousing.works_in(s.warehouse_id);
  if not found then
    perform app.fail('sorting_session_not_active');
  end if;
end $$;

grant execute on function warehousing.sorting_scan_move(uuid, uuid) to barid_caller;

-- The cages of other sessions under way in its warehouse that a parcel lies in. Only what older versions sorted twice lies in several.
create or replace function warehousing.sorting_cages_beside(s warehousing.sorting_sessions, parcel uuid) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  return array(
    select a.cage_location_id from warehousing.sorting_scans c
    join warehousing.sorting_sessions o on o.tenant_id = c.tenant_id and o.id = c.session_id and o.status = 'active'
      and o.warehouse_id = s.warehouse_id and o.id <> s.id
    join warehousing.sorting_assignments a on a.tenant_id = c.tenant_id and a.id = c.assignment_id
    where c.tenant_id = s.tenant_id and c.delivery_id = parcel and c.left_at is null);
end $$;

-- Takes a parcel out of cages beside those of the session that it is scanned in: its scans there stay, with the time at which it left. SECURITY
-- DEFINER: nobody else changes scans; it ends those in a warehouse where the caller works.
create or replace function warehousing.sorting_scans_end(s warehousing.sorting_sessions, parcel uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.require_tenant(s.tenant_id);
  perform warehousing.require_works_in(s.warehouse_id);
  perform warehousing.sorting_leave_cages(s.tenant_id, parcel, warehousing.sorting_cages_beside(s, parcel));
end $$;

grant execute on function warehousing.sorting_scans_end(warehousing.sorting_sessions, uuid) to barid_caller;

-- Puts a parcel into the cage of its destination; one that goes back into that of its return. Scanned again, it stays where it is and the
-- answer is the same, as long as that cage is right: if its destination changed since, also because it goes back, or another cage is chosen,
-- it moves. It leaves the cage of any other session that is under way in the warehouse.
-- {id, delivery_barcode, assignment_id?} -> {put_to, assignment, delivery, scan_id, scanned_at, already_sorted}
-- assignment_id chooses among the cages that match; else it is the first with room of the most exact kind.
-- already_sorted: it lies there since an earlier scan. scan_id stays when it moves, or comes back after it left; scanned_at does not.
-- Locks: the session, the delivery, cages by id.
-- Fails: sorting_session_not_found, forbidden, sorting_session_not_active, delivery_not_found, sorting_assignment_not_found,
-- package_not_sortable (its way is over), package_not_here (no warehouse holds it), package_elsewhere, no_matching_destination, cage_full.
create or replace function warehousing.sorting_scan(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  s warehousing.sorting_sessions := warehousing.lock_sorting_session((input ->> 'id')::uuid);
  v_chosen uuid := (input ->> 'assignment_id')::uuid;
  v_matches uuid[];
  v_right uuid[];
  v_alike uuid[];
  v_beside uuid[];
  v_to uuid;
  v_place uuid;
  v_lay uuid;
  d delivery.deliveries;
  v_parcel uuid;
  c warehousing.sorting_scans;
begin
  select * into d from delivery.deliveries x where x.id = warehousing.parcel_named(input ->> 'delivery_barcode');
  if not found then
    perform app.fail('delivery_not_found', '{"field": "delivery_barcode"}');
  end if;
  d := warehousing.parcel_under_way(d);
  -- It does not leave while it is put into a cage.
  perform delivery.lock_deliveries(array[d.id]);
  select * into d from delivery.deliveries x where x.id = d.id;
  -- On its way back it is still the parcel that may lie in a cage already.
  v_parcel := case d.delivery_flow when 'operational_return' then d.original_delivery_id else d.id end;
  if v_chosen is not null and not exists (select from warehousing.sorting_assignments a
      where a.tenant_id = s.tenant_id and a.session_id = s.id and a.id = v_chosen) then
    perform app.fail('sorting_assignment_not_found', '{"field": "assignment_id"}');
  end if;
  v_matches := warehousing.sorting_matches(s.id, d);
  v_right := case when v_chosen is null then v_matches when v_chosen = any (v_matches) then array[v_chosen] else '{}' end;
  select * into c from warehousing.sorting_scans x where x.tenant_id = s.tenant_id and x.session_id = s.id and x.delivery_id = v_parcel;
  if c.left_at is null and c.assignment_id = any (v_right) then
    return warehousing.sorting_scan_answer(c.id, d.id, true);
  end if;
  if d.status in ('delivered', 'returned', 'cancelled') then
    perform app.fail('package_not_sortable', jsonb_build_object('status', d.status));
  end if;
  v_place := warehousing.parcel_place(d);
  if v_place is null then
    perform app.fail('package_not_here', '{"field": "delivery_barcode"}');
  elsif v_place <> s.warehouse_id then
    perform app.fail('package_elsewhere', jsonb_build_object('current_warehouse_id', v_place));
  end if;
  if v_right = '{}' then
    perform app.fail('no_matching_destination');
  end if;
  -- The cages are locked before anything is written of the scan, whatever it does: two scans never wait for each other in a circle.
  v_lay := case when c.left_at is null then c.assignment_id end;
  v_alike := warehousing.sorting_alike(s, v_right);
  v_beside := warehousing.sorting_cages_beside(s, v_parcel);
  if v_beside <> '{}' then
    v_beside := v_beside || array(
      select a.cage_location_id from warehousing.sorting_assignments a where a.tenant_id = s.tenant_id and a.id = any (v_alike || v_lay));
    perform from warehousing.bins b where b.tenant_id = s.tenant_id and b.id = any (v_beside) order by b.id for no key update;
    perform warehousing.sorting_scans_end(s, v_parcel);
  end if;
  v_to := warehousing.sorting_cage_with_room(s, v_alike, v_lay);
  if c.id is null then
    insert into warehousing.sorting_scans (tenant_id, session_id, assignment_id, delivery_id, scanned_by)
    values (s.tenant_id, s.id, v_to, v_parcel, app.user_id())
    on conflict on constraint already_sorted do nothing returning * into c;
    if c.id is not null then
      perform warehousing.sorting_cage_count(s, v_to, 1);
      return warehousing.sorting_scan_answer(c.id, d.id, false);
    end if;
  end if;
  -- The same parcel at the same moment: the second waited, for the cages or for the scan, and now finds where the first put it.
  select * into strict c from warehousing.sorting_scans x where x.tenant_id = s.tenant_id and x.session_id = s.id and x.delivery_id = v_parcel;
  if c.left_at is null and c.assignment_id = any (v_right) then
    return warehousing.sorting_scan_answer(c.id, d.id, true);
  elsif c.left_at is null and c.assignment_id is distinct from v_lay then
    -- Into a cage that is not locked here: begin again, in the right order.
    raise exception 'delivery % was sorted meanwhile', v_parcel using errcode = 'serialization_failure';
  end if;
  perform warehousing.sorting_cage_count(s, v_to, 1);
  if v_lay is not null then
    perform warehousing.sorting_cage_count(s, v_lay, -1);
  end if;
  perform warehousing.sorting_scan_move(c.id, v_to);
  return warehousing.sorting_scan_answer(c.id, d.id, false);
end $$;

-- An assignment of a session, its cage locked. Fails: sorting_assignment_not_found.
create or replace function warehousing.lock_sorting_assignment(s warehousing.sorting_sessions, assignment_id uuid, out cage warehousing.bins)
language plpgsql set search_path = '' as $$
declare
  v_cage uuid;
begin
  select a.cage_location_id into v_cage from warehousing.sorting_assignments a
  where a.tenant_id = s.tenant_id and a.session_id = s.id and a.id = lock_sorting_assignment.assignment_id;
  if not found then
    perform app.fail('sorting_assignment_not_found');
  end if;
  select * into cage from warehousing.bins b where b.tenant_id = s.tenant_id and b.id = v_cage for no key update;
end $$;

-- {id, assignment_id, staff_id?, capacity?} -> {assignment}
-- Fails: sorting_session_not_found, forbidden, sorting_session_not_active, sorting_assignment_not_found,
-- staff_not_found, staff_not_in_warehouse, capacity_below_filled.
create or replace function warehousing.sorting_assignment_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  s warehousing.sorting_sessions := warehousing.lock_sorting_session((input ->> 'id')::uuid, true);
  v_id uuid := (input ->> 'assignment_id')::uuid;
  v_cage warehousing.bins := warehousing.lock_sorting_assignment(s, v_id);
  v_capacity integer := (input ->> 'capacity')::integer;
  v_staff uuid;
begin
  if input ->> 'staff_id' is not null then
    v_staff := warehousing.sorting_staff(s, (input ->> 'staff_id')::uuid, 'staff_id');
    update warehousing.sorting_assignments a set staff_id = v_staff where a.tenant_id = s.tenant_id and a.id = v_id;
  end if;
  if v_capacity < v_cage.filled_capacity then
    perform app.fail('capacity_below_filled', jsonb_build_object('field', 'capacity', 'filled_capacity', v_cage.filled_capacity));
  end if;
  update warehousing.bins b set capacity = v_capacity where b.tenant_id = s.tenant_id and b.id = v_cage.id and v_capacity is not null;
  return jsonb_build_object('assignment', (
    select to_jsonb(a) - 'tenant_id' from warehousing.sorting_assignments_list a where a.id = v_id));
end $$;

-- Takes a destination away as long as nothing was put into its cage. {id, assignment_id} -> {}
-- Fails: sorting_session_not_found, forbidden, sorting_session_not_active, sorting_assignment_not_found, cage_not_empty.
create or replace function warehousing.sorting_assignment_remove(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  s warehousing.sorting_sessions := warehousing.lock_sorting_session((input ->> 'id')::uuid, true);
  v_id uuid := (input ->> 'assignment_id')::uuid;
  v_cage warehousing.bins := warehousing.lock_sorting_assignment(s, v_id);
begin
  if v_cage.filled_capacity > 0 then
    perform app.fail('cage_not_empty');
  elsif exists (select from warehousing.sorting_scans n
      where n.tenant_id = s.tenant_id and n.session_id = s.id and n.assignment_id = v_id) then
    perform app.fail('cage_not_empty', '{"text_key": "cage_was_used"}');
  end if;
  delete from warehousing.sorting_assignments a where a.tenant_id = s.tenant_id and a.id = v_id;
  update warehousing.bins b set is_active = false where b.tenant_id = s.tenant_id and b.id = v_cage.id;
  return '{}';
end $$;
