-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.board(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_unassigned json;
  v_late json;
  v_searching bigint;
  v_failed bigint;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  if v_zone is not null and not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = v_zone) then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
  -- Counted in the index alone; the few that go back are taken off, since their returns are counted or carried in their place.
  with back as materialized (
    select d.id, d.pickup_zone_id from delivery.deliveries d
    where d.tenant_id = v_tenant and d.id = any (delivery.waiting_sent_back(v_tenant)))
  select json_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(json_agg(json_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select w.pickup_zone_id, w.count - b.count as count, case when b.count = 0 then w.oldest_at else (
        select min(d.created_at) from delivery.deliveries d
        where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
          and d.pickup_zone_id is not distinct from w.pickup_zone_id and d.id not in (select back.id from back)) end as oldest_at
    from (
      select d.pickup_zone_id, count(*) as count, min(d.created_at) as oldest_at from delivery.deliveries d
      where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
        and (v_zone is null or d.pickup_zone_id = v_zone)
      group by d.pickup_zone_id) w
    cross join lateral (select count(*) as count from back where back.pickup_zone_id is not distinct from w.pickup_zone_id) b
    where w.count > b.count) c
  left join delivery.zones z on z.tenant_id = v_tenant and z.id = c.pickup_zone_id;

  -- Not materialized: counted in the index alone, and the first are read in its order.
  with late as not materialized (
    select * from delivery.deliveries d
    where d.tenant_id = v_tenant and least(d.promised_at, d.deliver_before) < now()
      and d.parent_id is null and d.status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
      and (d.promised_at is not null or d.deliver_before is not null)
      and (v_zone is null or v_zone in (d.pickup_zone_id, d.dropoff_zone_id)))
  select json_build_object('total', (select count(*) from late), 'deliveries', coalesce(json_agg(json_build_object('id', d.id,
      'delivery_code', d.delivery_code, 'status', d.status, 'promised_at', d.promised_at, 'deliver_before', d.deliver_before,
      'pickup_zone_id', d.pickup_zone_id, 'dropoff_zone_id', d.dropoff_zone_id, 'driver_id', (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by least(d.promised_at, d.deliver_before), d.id), '[]')) into v_late
  from (select * from late l order by least(l.promised_at, l.deliver_before), l.id limit 50) d;

  select count(*) filter (where s.status = 'searching'), count(*) filter (where s.status = 'failed') into v_searching, v_failed
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return json_build_object('as_of', now(), 'drivers', delivery.board_drivers(v_tenant, v_zone), 'unassigned', v_unassigned,
    'late', v_late, 'searching', v_searching, 'failed_to_assign', v_failed);
end $function$;

CREATE OR REPLACE FUNCTION delivery.carrier_takes(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_pick uuid := delivery.pick_of(d);
begin
  if d.current_warehouse_id is null then
    return;
  end if;
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  perform delivery.moving_exception_expect(d);
  if v_pick is not null then
    perform delivery.picking_hand_off(v_pick, d.id);
    perform warehousing.stock_exit('picking_order', v_pick, 'pick');
  end if;
  -- A return has the stock of what it brings back.
  perform warehousing.parcel_leaves(p.id, d.current_warehouse_id)
  from unnest(array_remove(array[delivery.parcel_of(d), case when d.delivery_flow = 'operational_return' then d.original_delivery_id end], null))
    p (id);
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
  if a.id is null then
    perform delivery.require_off_waybill(d, 'returned');
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  if not delivery.leaves_warehouse(d) then
    perform warehousing.receipts_withdraw(d.id, v_warehouse);
  end if;
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_awaited and d.status = 'in_transit' then
    perform delivery.stop_recorded(d.id);
  end if;
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
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  update delivery.deliveries x set status = 'picked_up', picked_up_at = clock_timestamp(), status_reason = null, status_notes = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.moving_exception_expect(d);
  perform delivery.delivery_proofs_keep(d, 'pickup', input -> 'proof');
  perform delivery.require_cash(d, 'pickup', input -> 'cash_collected');
  perform money.cash_collected(delivery.parcel_of(d), 'pickup', a.driver_id);
  return delivery.cash_summary(v_due);
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_user uuid := (input ->> 'user_id')::uuid;
  v_type text;
begin
  select u.tenant_user_type into v_type from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_user;
  if not found then
    perform app.fail('user_not_found');
  end if;
  if v_type <> 'driver' then
    perform app.fail('user_not_driver', '{"field": "user_id"}');
  end if;
  perform delivery.lock_default_driver(input);
  perform tenancy.member_provision(v_user, 'driver');
  perform delivery.driver_provision(v_user, input);
  return delivery.driver_to_json(v_user);
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.lock_default_driver(input);
  perform delivery.driver_provision((input ->> 'id')::uuid, input);
  return delivery.driver_to_json((input ->> 'id')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_default_driver(input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if input ? 'default' then
    perform private.lock_tenant();
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.moving_exception_expect(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if delivery.leaves_warehouse(d) and exists (select from delivery.delivery_exceptions e
      where e.tenant_id = d.tenant_id and e.delivery_id in (d.id, d.parent_id) and e.status = 'open')
    and exists (select from delivery.deliveries x
      where x.tenant_id = d.tenant_id and x.id = d.id and x.status in ('picked_up', 'in_transit', 'failed')) then
    perform warehousing.receipt_expect(d.id, null, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.stop_recorded(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery and x.status = 'in_transit';
  perform delivery.require_carrier(d);
  insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status, actor_id, note,
    latitude, longitude, distance_m, occurred_at, reported_as)
  select d.tenant_id, d.id, d.status, d.status, app.user_id(), nullif(concat_ws(': ', d.status_reason, d.status_notes), ''),
    r.latitude, r.longitude, r.distance_m, r.occurred_at, r.reported_as
  from (select nullif(current_setting('app.reported', true), '')::jsonb as said) g
  left join jsonb_to_record(g.said) r (parcel uuid, latitude double precision, longitude double precision, distance_m double precision,
    occurred_at timestamptz, reported_as text) on r.parcel = delivery.parcel_of(d);
end $function$;

CREATE OR REPLACE FUNCTION delivery.waiting_sent_back(tenant uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select d.id
    from (
      select r.original_delivery_id from delivery.deliveries r
      where r.tenant_id = tenant and r.delivery_flow = 'operational_return' and r.status not in ('delivered', 'cancelled')
      union
      select r.original_delivery_id from warehousing.receiving_orders n
      join delivery.deliveries r on r.tenant_id = n.tenant_id and r.id = n.delivery_id
      where n.tenant_id = tenant and n.status = 'pending' and r.delivery_flow = 'operational_return' and r.status = 'delivered') b
    join delivery.deliveries d on d.tenant_id = tenant and (d.id = b.original_delivery_id or d.parent_id = b.original_delivery_id)
    where d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."waiting_sent_back"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.wallets_mine(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_is text := (select u.tenant_user_type from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = app.user_id());
begin
  return (
    select jsonb_build_object(
      'wallet', (array_agg(to_jsonb(w) - 'owner_name' order by w.owner_type is distinct from v_is, w.owner_type) filter (where w.currency = t.code))[1],
      'wallets', coalesce(jsonb_agg(to_jsonb(w) - 'owner_name'
        order by w.currency <> t.code, w.currency, w.owner_type is distinct from v_is, w.owner_type) filter (where w.id is not null), '[]'))
    from app.currency() t
    left join money.wallets_list w on w.owner_id = app.user_id());
end $function$;

CREATE OR REPLACE FUNCTION private.lock_tenant()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from tenancy.tenants t where t.id = app.tenant_id() for no key update;
end $function$;

CREATE OR REPLACE FUNCTION private.version_alone()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform private.lock_tenant();
  perform private.version_unchanged();
end $function$;

CREATE OR REPLACE FUNCTION private.version_unchanged()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_expected jsonb := nullif(current_setting('app.expected_version', true), '')::jsonb;
  v_current text;
begin
  if v_expected is null then
    return;
  end if;
  v_current := private.version_of(jsonb_set(v_expected, '{table}', to_jsonb((v_expected ->> 'table')::oid::regclass::text)));
  if v_current <> v_expected ->> 'version' then
    perform app.fail('version_conflict', jsonb_build_object('current_version', v_current));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.lock_order(order_id uuid)
 RETURNS storefront.storefront_orders
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = lock_order.order_id for no key update;
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  perform private.version_unchanged();
  return o;
end $function$;

CREATE OR REPLACE FUNCTION storefront.lock_order_and_deliveries(order_id uuid)
 RETURNS storefront.storefront_orders
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_deliveries uuid[] := array(select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.order_id = lock_order_and_deliveries.order_id);
  o storefront.storefront_orders;
begin
  perform delivery.lock_deliveries(v_deliveries);
  o := storefront.lock_order(lock_order_and_deliveries.order_id);
  if exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.order_id = o.id and d.id <> all (v_deliveries)) then
    -- Approved between the two looks: begin again, in the right order.
    raise exception 'order % got its deliveries meanwhile', o.id using errcode = 'serialization_failure';
  end if;
  perform from warehousing.picking_orders k where k.tenant_id = v_tenant and k.order_id = o.id order by k.id for no key update;
  -- Nobody picks any more: what was read of the picks is what holds.
  perform private.version_unchanged();
  return o;
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
  v_parcel uuid;
  c warehousing.sorting_scans;
begin
  select * into d from delivery.deliveries x where x.id = warehousing.parcel_named(input ->> 'delivery_barcode');
  if not found then
    perform app.fail('delivery_not_found', '{"field": "delivery_barcode"}');
  end if;
  d := warehousing.parcel_under_way(d);
  -- On its way back it is still the parcel that may lie in a cage already.
  v_parcel := case d.delivery_flow when 'operational_return' then d.original_delivery_id else d.id end;
  if v_chosen is not null and not exists (select from warehousing.sorting_assignments a
      where a.tenant_id = s.tenant_id and a.session_id = s.id and a.id = v_chosen) then
    perform app.fail('sorting_assignment_not_found', '{"field": "assignment_id"}');
  end if;
  v_matches := warehousing.sorting_matches(s.id, d);
  v_right := case when v_chosen is null then v_matches when v_chosen = any (v_matches) then array[v_chosen] else '{}' end;
  select * into c from warehousing.sorting_scans x where x.tenant_id = s.tenant_id and x.session_id = s.id and x.delivery_id = v_parcel;
  if c.assignment_id = any (v_right) then
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
  v_lay := c.assignment_id;
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
  if c.assignment_id = any (v_right) then
    return warehousing.sorting_scan_answer(c.id, d.id, true);
  elsif c.assignment_id is distinct from v_lay then
    -- Into a cage that is not locked here: begin again, in the right order.
    raise exception 'delivery % was sorted meanwhile', v_parcel using errcode = 'serialization_failure';
  end if;
  perform warehousing.sorting_cage_count(s, v_to, 1);
  perform warehousing.sorting_cage_count(s, v_lay, -1);
  perform warehousing.sorting_scan_move(c.id, v_to);
  return warehousing.sorting_scan_answer(c.id, d.id, false);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_scan_answer(p_scan uuid, under_way uuid, already boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE VIEW "storefront"."orders_version" WITH (security_invoker=true) AS  SELECT id,
    (updated_at + COALESCE(( SELECT sum((k.updated_at - o.created_at)) AS sum
           FROM warehousing.picking_orders k
          WHERE ((k.tenant_id = o.tenant_id) AND (k.order_id = o.id))), '00:00:00'::interval)) AS updated_at
   FROM storefront.storefront_orders o
  WHERE (tenant_id = ( SELECT app.tenant_id() AS tenant_id));

REVOKE ALL ON FUNCTION "delivery"."lock_default_driver"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_default_driver"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."moving_exception_expect"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."moving_exception_expect"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."stop_recorded"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."stop_recorded"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."waiting_sent_back"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."lock_tenant"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lock_tenant"() TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."version_unchanged"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."version_unchanged"() TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."sorting_scan_answer"(uuid, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."sorting_scan_answer"(uuid, uuid, boolean) TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."orders_version" TO "barid_caller";

-- Parcels that lie in a cage as their returns, in sessions that are under way: from now on they are known by their first delivery.
update warehousing.sorting_scans c set delivery_id = b.original_delivery_id
from (
  select distinct on (n.tenant_id, n.session_id, r.original_delivery_id) n.id, n.tenant_id, n.session_id, r.original_delivery_id
  from warehousing.sorting_sessions s
  join warehousing.sorting_scans n on n.tenant_id = s.tenant_id and n.session_id = s.id
  join delivery.deliveries r on r.tenant_id = n.tenant_id and r.id = n.delivery_id and r.delivery_flow = 'operational_return'
  where s.status = 'active'
  order by n.tenant_id, n.session_id, r.original_delivery_id, n.created_at desc, n.id) b
where c.tenant_id = b.tenant_id and c.id = b.id and not exists (
  select from warehousing.sorting_scans o
  where o.tenant_id = b.tenant_id and o.session_id = b.session_id and o.delivery_id = b.original_delivery_id);

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126125303';
end $$;

grant execute on function private.schema_version() to barid_api;
