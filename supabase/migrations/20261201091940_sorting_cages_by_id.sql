-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201091940';
end $$;

grant execute on function private.schema_version() to barid_api;
