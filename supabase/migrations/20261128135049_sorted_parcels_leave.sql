-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
      set local lock_timeout = '500ms';
      lock table warehousing.sorting_scans in access exclusive mode;
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

ALTER TABLE "warehousing"."sorting_scans" ADD COLUMN "left_at" timestamp with time zone;

CREATE OR REPLACE FUNCTION warehousing.member_left()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_left jsonb;
begin
  if new.left_at is null and app.user_id() is not null then
    return null;
  end if;
  select coalesce(jsonb_object_agg(l.part, l.value), '{}') into v_left
  from (
    values ('parcels', to_jsonb(nullif(cardinality(delivery.parcels_in_hand(new.user_id)), 0))),
      ('cash_in_hand', warehousing.money_left(new.tenant_id, new.user_id, 'driver_cash')),
      ('cash_on_desk', warehousing.money_left(new.tenant_id, new.user_id, 'cash_on_hand')),
      ('wallet', warehousing.money_left(new.tenant_id, new.user_id, 'wallet')),
      ('picking_orders', (select to_jsonb(nullif(count(*), 0)) from warehousing.picking_orders o
        where o.tenant_id = new.tenant_id and o.assigned_to = new.user_id and o.status in ('pending', 'in_progress'))),
      ('manifests', (select to_jsonb(nullif(count(*), 0)) from delivery.transfer_manifests m
        where m.tenant_id = new.tenant_id and m.driver_id = new.user_id and m.status in ('draft', 'picked_up', 'in_transit'))),
      ('api_keys', to_jsonb(nullif(jsonb_array_length(tenancy.api_keys_stopped(new.user_id)), 0)))
  ) l (part, value)
  where l.value is not null;
  if v_left = '{}' and new.tenant_user_type not in ('staff', 'driver') then
    return null;
  end if;
  perform tenancy.notify_roles(new.tenant_id,
    case new.tenant_user_type when 'driver' then '{tenant_admin,operations_manager,dispatcher}' else '{tenant_admin,operations_manager}' end::text[],
    'member_left', jsonb_build_object('user_id', new.user_id, 'full_name', p.full_name, 'tenant_user_type', new.tenant_user_type) || v_left)
  from tenancy.profiles p where p.id = new.user_id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.money_left(tenant uuid, person uuid, kind text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_agg(jsonb_build_object('amount', s.amount, 'currency', s.currency) order by s.currency)
    from (
      select sum(a.balance) as amount, a.currency from money.accounts a
      where a.tenant_id = tenant and a.owner_user_id = person and a.kind = money_left.kind
      group by a.currency having sum(a.balance) <> 0) s);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."money_left"(uuid, uuid, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.sorted_parcel_leaves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel uuid := case new.delivery_flow when 'operational_return' then new.original_delivery_id else new.id end;
  v_cages uuid[];
begin
  select array_agg(b.id) into v_cages from (
    select b.id from warehousing.sorting_scans c
    join warehousing.sorting_sessions s on s.tenant_id = c.tenant_id and s.id = c.session_id and s.status = 'active'
    join warehousing.sorting_assignments a on a.tenant_id = c.tenant_id and a.id = c.assignment_id
    join warehousing.bins b on b.tenant_id = a.tenant_id and b.id = a.cage_location_id
    where c.tenant_id = new.tenant_id and c.delivery_id = v_parcel and c.left_at is null
      and s.warehouse_id is distinct from new.current_warehouse_id
    order by b.id for no key update of b) b;
  if v_cages is null then
    return null;
  end if;
  with gone as (
    update warehousing.sorting_scans c set left_at = clock_timestamp()
    from warehousing.sorting_assignments a
    where a.tenant_id = new.tenant_id and a.cage_location_id = any (v_cages) and c.tenant_id = a.tenant_id and c.assignment_id = a.id
      and c.delivery_id = v_parcel and c.left_at is null
    returning a.cage_location_id
  )
  update warehousing.bins b set filled_capacity = b.filled_capacity - 1
  from gone where b.tenant_id = new.tenant_id and b.id = gone.cage_location_id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."sorted_parcel_leaves"() FROM "barid_caller";

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
  v_to := warehousing.sorting_cage_with_room(s, warehousing.sorting_alike(s, v_right), v_lay);
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

CREATE OR REPLACE FUNCTION warehousing.sorting_scan_move(p_scan uuid, p_assignment uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update warehousing.sorting_scans c set assignment_id = p_assignment, scanned_by = app.user_id(), created_at = clock_timestamp(), left_at = null
  from warehousing.sorting_sessions s
  where c.tenant_id = app.tenant_id() and c.id = p_scan and s.tenant_id = c.tenant_id and s.id = c.session_id and s.status = 'active'
    and warehousing.works_in(s.warehouse_id);
  if not found then
    perform app.fail('sorting_session_not_active');
  end if;
end $function$;

CREATE TRIGGER sorted_parcel_leaves AFTER UPDATE OF status, current_warehouse_id ON delivery.deliveries FOR EACH ROW WHEN ((((old.current_warehouse_id IS NOT NULL) AND (new.current_warehouse_id IS DISTINCT FROM old.current_warehouse_id)) OR ((new.pickup_warehouse_id IS NOT NULL) AND (old.status = ANY (ARRAY['pending'::text, 'assigned'::text, 'accepted'::text])) AND (new.status = ANY (ARRAY['picked_up'::text, 'in_transit'::text, 'cancelled'::text]))))) EXECUTE FUNCTION warehousing.sorted_parcel_leaves();

REVOKE ALL ON FUNCTION "warehousing"."money_left"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."sorted_parcel_leaves"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128135049';
end $$;

grant execute on function private.schema_version() to barid_api;
