-- Sorting sessions and who puts what where in them.

-- A destination as it is compared: without case, marks and doubled spaces; letters that Arabic and Kurdish keyboards
-- write in several ways are one.
create or replace function warehousing.place_key(place text) returns text
language plpgsql immutable strict set search_path = '' as $$
begin
  return trim(regexp_replace(
    translate(regexp_replace(lower(normalize(place, nfkc)), '[\u064B-\u065F\u0670\u0640\u200B-\u200F]', '', 'g'),
      U&'\0623\0625\0622\0671\0649\064A\0643\0629', U&'\0627\0627\0627\0627\06CC\06CC\06A9\0647'),
    '\s+', ' ', 'g'));
end $$;

-- A session of the caller's tenant that they may work in, locked as `strength` says: share lets many scan at once and
-- keeps it from ending, update ends it. Fails: sorting_session_not_found, forbidden, sorting_session_not_active.
create or replace function warehousing.lock_sorting_session(session_id uuid, p_alone boolean default false) returns warehousing.sorting_sessions
language plpgsql set search_path = '' as $$
declare
  s warehousing.sorting_sessions;
begin
  if p_alone then
    select * into s from warehousing.sorting_sessions x where x.id = session_id for no key update;
  else
    select * into s from warehousing.sorting_sessions x where x.id = session_id for share;
  end if;
  if s.id is null then
    perform app.fail('sorting_session_not_found');
  end if;
  perform warehousing.require_works_in(s.warehouse_id);
  if s.status <> 'active' then
    perform app.fail('sorting_session_not_active');
  end if;
  return s;
end $$;

-- Active staff of the session's warehouse, named by their place there or by themselves.
-- Fails: staff_not_found, staff_not_in_warehouse (works elsewhere, or no more)
-- A caller who sees only their own warehouses gets nothing about staff elsewhere: staff_not_found.
create or replace function warehousing.sorting_staff(s warehousing.sorting_sessions, named uuid, field text) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid;
begin
  select f.id into v_id from warehousing.warehouse_staff f
  join tenancy.tenant_users u on u.tenant_id = f.tenant_id and u.user_id = f.user_id and u.is_active
  where f.tenant_id = s.tenant_id and f.warehouse_id = s.warehouse_id and f.is_active and named in (f.id, f.user_id);
  if not found then
    perform app.fail(case when exists (select from warehousing.warehouse_staff f where f.tenant_id = s.tenant_id and named in (f.id, f.user_id)
        and coalesce(f.warehouse_id = any (app.own_warehouses()), true))
      then 'staff_not_in_warehouse' else 'staff_not_found' end, jsonb_build_object('field', field));
  end if;
  return v_id;
end $$;

-- Gives destinations to staff, each with a cage (city, partner_area) or trolley (zone) of its own. A destination that has
-- one gets another: parcels go there when the first is full.
-- lines: [{staff_id, destination_type, destination_value, capacity?}] -> ids in the order sent
-- Fails: staff_not_found, staff_not_in_warehouse.
create or replace function warehousing.sorting_assign(s warehousing.sorting_sessions, lines jsonb) returns uuid[]
language plpgsql set search_path = '' as $$
declare
  v_line record;
  v_bin uuid;
  v_staff uuid;
  v_code text;
  v_id uuid;
  v_ids uuid[] := '{}';
begin
  for v_line in
    select l.staff_id, l.destination_type, l.destination_value, coalesce(l.capacity, 10) as capacity, l.place - 1 as place,
      warehousing.place_key(l.destination_value) as key,
      case l.destination_type when 'zone' then 'TROLLEY' else 'CAGE' end as kind
    from rows from (jsonb_to_recordset(lines) as (staff_id uuid, destination_type text, destination_value text, capacity integer))
      with ordinality l (staff_id, destination_type, destination_value, capacity, place)
    order by l.place
  loop
    v_staff := warehousing.sorting_staff(s, v_line.staff_id, format('assignments.%s.staff_id', v_line.place));
    v_code := null;
    while v_code is null or exists (select from warehousing.bins b
        where b.tenant_id = s.tenant_id and b.warehouse_id = s.warehouse_id and b.code = v_code) loop
      v_code := v_line.kind || '-' || app.padded(app.take_numbers('sorting_location'), 6);
    end loop;
    insert into warehousing.bins (tenant_id, warehouse_id, code, name, location_type, capacity, is_temporary)
    values (s.tenant_id, s.warehouse_id, v_code, initcap(v_line.kind) || ' ' || v_line.destination_value, v_line.kind, v_line.capacity, true)
    returning id into v_bin;
    insert into warehousing.sorting_assignments (tenant_id, session_id, warehouse_id, staff_id, destination_type, destination_value,
      destination_key, cage_location_id)
    values (s.tenant_id, s.id, s.warehouse_id, v_staff, v_line.destination_type, v_line.destination_value, v_line.key, v_bin)
    returning id into v_id;
    v_ids := v_ids || v_id;
  end loop;
  return v_ids;
end $$;

-- A session as lists show it, or null.
create or replace function warehousing.sorting_session_to_json(session_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(s) from warehousing.sorting_sessions_list s where s.id = session_id);
end $$;

-- Opens a session. {warehouse_id, assignments?} -> {session}
-- Fails: warehouse_not_found, forbidden, what sorting_assign fails with.
create or replace function warehousing.sorting_session_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  s warehousing.sorting_sessions;
begin
  perform warehousing.require_warehouse((input ->> 'warehouse_id')::uuid);
  perform warehousing.require_works_in((input ->> 'warehouse_id')::uuid);
  insert into warehousing.sorting_sessions (tenant_id, warehouse_id, created_by)
  values (app.tenant_id(), (input ->> 'warehouse_id')::uuid, app.user_id())
  returning * into s;
  -- It is held now, by the reference; who removed it a moment ago has been waited for.
  perform warehousing.require_warehouse(s.warehouse_id);
  perform warehousing.sorting_assign(s, coalesce(nullif(input -> 'assignments', 'null'), '[]'));
  return jsonb_build_object('session', warehousing.sorting_session_to_json(s.id));
end $$;

-- {id} -> {session}. Fails: sorting_session_not_found.
create or replace function warehousing.sorting_session_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('session', app.found(warehousing.sorting_session_to_json((input ->> 'id')::uuid), 'sorting_session_not_found'));
end $$;

-- Ends a session: its places go out of use and keep their names for the record. {id} -> {session}
-- Fails: sorting_session_not_found, forbidden, sorting_session_not_active.
create or replace function warehousing.sorting_session_complete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  s warehousing.sorting_sessions := warehousing.lock_sorting_session((input ->> 'id')::uuid, true);
  v_sorted bigint;
begin
  update warehousing.sorting_sessions x set status = 'completed', ended_at = clock_timestamp()
  where x.tenant_id = s.tenant_id and x.id = s.id;
  update warehousing.bins b set is_active = false
  where b.tenant_id = s.tenant_id and b.id in (
    select a.cage_location_id from warehousing.sorting_assignments a where a.tenant_id = s.tenant_id and a.session_id = s.id);
  select count(*) into v_sorted from warehousing.sorting_scans c where c.tenant_id = s.tenant_id and c.session_id = s.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'sorting_session.completed', 'source_module', 'warehousing',
    'entity_type', 'sorting_session', 'entity_id', s.id, 'event_data', jsonb_build_object('session_id', s.id,
      'warehouse_id', s.warehouse_id, 'sorted_count', v_sorted, 'actor_id', app.user_id()))));
  return jsonb_build_object('session', warehousing.sorting_session_to_json(s.id));
end $$;

-- {id} -> {assignments}. Fails: sorting_session_not_found.
create or replace function warehousing.sorting_assignments_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('assignments', warehousing.sorting_session_get(input) #> '{session,assignments}');
end $$;

-- {id, assignments} -> {assignments, temporary_locations}: those added.
-- Fails: sorting_session_not_found, forbidden, sorting_session_not_active, what sorting_assign fails with.
create or replace function warehousing.sorting_assignments_add(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_ids uuid[] := warehousing.sorting_assign(warehousing.lock_sorting_session((input ->> 'id')::uuid, true), input -> 'assignments');
begin
  return (
    select jsonb_build_object(
      'assignments', jsonb_agg(to_jsonb(a) - 'tenant_id' order by array_position(v_ids, a.id)),
      'temporary_locations', jsonb_agg(a.cage_location || jsonb_build_object('is_active', true) order by array_position(v_ids, a.id)))
    from warehousing.sorting_assignments_list a where a.id = any (v_ids));
end $$;
