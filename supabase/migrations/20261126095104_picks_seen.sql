-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: d4caef100e168dcc9577c73c68ea67f7cee18a9d82e564a9fc0ac2bc6f4b010d
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table warehousing.picking_order_items in share row exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE OR REPLACE FUNCTION warehousing.picking_lines_written()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.picking_orders o set updated_at = clock_timestamp()
  where o.id = any (array(select distinct l.picking_order_id from lines l)) and o.changed <> pg_current_xact_id()::text::bigint;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."picking_lines_written"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.sorting_alike(s warehousing.sorting_sessions, matches uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select a.id from warehousing.sorting_assignments a
    where a.tenant_id = s.tenant_id and a.id = any (matches) and a.destination_type = (
      select f.destination_type from warehousing.sorting_assignments f where f.tenant_id = s.tenant_id and f.id = matches[1])
    order by array_position(matches, a.id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_cage_count(s warehousing.sorting_sessions, p_assignment uuid, parcels integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.bins b set filled_capacity = b.filled_capacity + sorting_cage_count.parcels
  from warehousing.sorting_assignments a
  where a.tenant_id = s.tenant_id and a.id = p_assignment and b.tenant_id = a.tenant_id and b.id = a.cage_location_id
    and (sorting_cage_count.parcels < 0 or b.filled_capacity < b.capacity);
  if not found then
    perform app.fail('cage_full', jsonb_build_object('assignment_id', p_assignment));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_cage_with_room(s warehousing.sorting_sessions, cages uuid[], beside uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_scan(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s warehousing.sorting_sessions := warehousing.lock_sorting_session((input ->> 'id')::uuid);
  v_chosen uuid := (input ->> 'assignment_id')::uuid;
  v_matches uuid[];
  v_right uuid[];
  v_to uuid;
  v_place uuid;
  v_lay uuid;
  d delivery.deliveries;
  c warehousing.sorting_scans;
begin
  select * into d from delivery.deliveries x where x.id = warehousing.parcel_named(input ->> 'delivery_barcode');
  if not found then
    perform app.fail('delivery_not_found', '{"field": "delivery_barcode"}');
  end if;
  d := warehousing.parcel_under_way(d);
  if v_chosen is not null and not exists (select from warehousing.sorting_assignments a
      where a.tenant_id = s.tenant_id and a.session_id = s.id and a.id = v_chosen) then
    perform app.fail('sorting_assignment_not_found', '{"field": "assignment_id"}');
  end if;
  v_matches := warehousing.sorting_matches(s.id, d);
  v_right := case when v_chosen is null then v_matches when v_chosen = any (v_matches) then array[v_chosen] else '{}' end;
  select * into c from warehousing.sorting_scans x where x.tenant_id = s.tenant_id and x.session_id = s.id and x.delivery_id = d.id;
  if c.assignment_id = any (v_right) then
    return warehousing.sorting_scan_answer(c.id, true);
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
  v_lay := c.assignment_id;
  v_to := warehousing.sorting_cage_with_room(s, warehousing.sorting_alike(s, v_right), v_lay);
  if c.id is null then
    insert into warehousing.sorting_scans (tenant_id, session_id, assignment_id, delivery_id, scanned_by)
    values (s.tenant_id, s.id, v_to, d.id, app.user_id())
    on conflict on constraint already_sorted do nothing returning * into c;
    if c.id is not null then
      perform warehousing.sorting_cage_count(s, v_to, 1);
      return warehousing.sorting_scan_answer(c.id, false);
    end if;
  end if;
  -- The same parcel at the same moment: the second waited, for the cages or for the scan, and now finds where the first put it.
  select * into strict c from warehousing.sorting_scans x where x.tenant_id = s.tenant_id and x.session_id = s.id and x.delivery_id = d.id;
  if c.assignment_id = any (v_right) then
    return warehousing.sorting_scan_answer(c.id, true);
  elsif c.assignment_id is distinct from v_lay then
    -- Into a cage that is not locked here: begin again, in the right order.
    raise exception 'delivery % was sorted meanwhile', d.id using errcode = 'serialization_failure';
  end if;
  perform warehousing.sorting_cage_count(s, v_to, 1);
  perform warehousing.sorting_cage_count(s, v_lay, -1);
  perform warehousing.sorting_scan_move(c.id, v_to);
  return warehousing.sorting_scan_answer(c.id, false);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_scan_move(p_scan uuid, p_assignment uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update warehousing.sorting_scans c set assignment_id = p_assignment, scanned_by = app.user_id(), created_at = clock_timestamp()
  from warehousing.sorting_sessions s
  where c.tenant_id = app.tenant_id() and c.id = p_scan and s.tenant_id = c.tenant_id and s.id = c.session_id and s.status = 'active'
    and warehousing.works_in(s.warehouse_id);
  if not found then
    perform app.fail('sorting_session_not_active');
  end if;
end $function$;

CREATE TRIGGER lines_added AFTER INSERT ON warehousing.picking_order_items REFERENCING NEW TABLE AS lines FOR EACH STATEMENT EXECUTE FUNCTION warehousing.picking_lines_written();

CREATE TRIGGER lines_changed AFTER UPDATE ON warehousing.picking_order_items REFERENCING NEW TABLE AS lines FOR EACH STATEMENT EXECUTE FUNCTION warehousing.picking_lines_written();

CREATE TRIGGER lines_removed AFTER DELETE ON warehousing.picking_order_items REFERENCING OLD TABLE AS lines FOR EACH STATEMENT EXECUTE FUNCTION warehousing.picking_lines_written();

REVOKE ALL ON FUNCTION "warehousing"."picking_lines_written"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."sorting_alike"(warehousing.sorting_sessions, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."sorting_alike"(warehousing.sorting_sessions, uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."sorting_cage_count"(warehousing.sorting_sessions, uuid, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."sorting_cage_count"(warehousing.sorting_sessions, uuid, integer) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."sorting_cage_with_room"(warehousing.sorting_sessions, uuid[], uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."sorting_cage_with_room"(warehousing.sorting_sessions, uuid[], uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."sorting_scan_move"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."sorting_scan_move"(uuid, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126095104';
end $$;

grant execute on function private.schema_version() to barid_api;
