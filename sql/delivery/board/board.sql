-- The dispatcher's board: who is where with what, what nobody carries, and what is late.

-- The drivers of a tenant who are on duty or have stops left, by name; with a zone those who go there: [{id, full_name, status, on_duty,
-- is_online, last_position, vehicle, capacity, load, stops_left, next_stop: {delivery_id, delivery_code, place: {kind, full_address, city,
-- latitude, longitude}} | null}]
-- Where a driver goes next is what delivery.fetched_at, delivery.brought_to and delivery.expected_in say; a whole delivery is not handed to them, since
-- that reads all of its documents. Nowhere for what is postponed, nor, while inactive, to fetch anything.
create or replace function delivery.board_drivers(tenant uuid, zone uuid) returns json
language plpgsql stable set search_path = '' as $$
declare
  v_online_since timestamptz := now() - delivery.offline_after();
begin
  return (
    select coalesce(json_agg(r order by r.full_name, r.id), '[]')
    from (
      select d.user_id as id, p.full_name, d.status, coalesce(s.on_duty, false) as on_duty,
        coalesce(s.on_duty and s.last_heartbeat_at > v_online_since, false) as is_online, case when s.latitude is not null then
          json_build_object('latitude', s.latitude, 'longitude', s.longitude, 'accuracy_m', s.accuracy_m, 'recorded_at', s.recorded_at) end as last_position,
        case when v.id is not null then json_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) end as vehicle,
        v.unit_capacity as capacity, d.capacity_used as load, d.live_stops as stops_left, x.next_stop
      from delivery.drivers d
      join tenancy.profiles p on p.id = d.user_id
      left join delivery.driver_presence s on s.tenant_id = d.tenant_id and s.driver_id = d.user_id
      left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id
      left join lateral (
        select json_build_object('delivery_id', y.id, 'delivery_code', y.delivery_code, 'place', json_build_object(
            'kind', case when y.status in ('pending', 'assigned', 'accepted') then 'pickup' else 'dropoff' end, 'full_address', n.place -> 'full_address',
            'city', n.place -> 'city', 'latitude', n.place -> 'latitude', 'longitude', n.place -> 'longitude')) as next_stop
        from delivery.assignments a
        join delivery.deliveries y on y.tenant_id = a.tenant_id and y.id = a.delivery_id
        left join warehousing.receiving_orders r on r.tenant_id = y.tenant_id and r.delivery_id = y.id and r.status = 'pending'
        cross join lateral (
          select case when y.status in ('pending', 'assigned', 'accepted') then case when y.delivery_flow <> 'pnd_inbound' then y.current_warehouse_id end
              when r.id is not null then r.warehouse_id
              when y.carrier_type = 'internal' and y.transfer_kind = 'single_delivery' then y.dropoff_warehouse_id end as warehouse_id) w
        cross join lateral (
          select case when y.status in ('pending', 'assigned', 'accepted') then y.pickup_snapshot else y.dropoff_snapshot end as ordered) o
        cross join lateral (
          select case when w.warehouse_id is null then o.ordered else delivery.warehouse_place(y.tenant_id, w.warehouse_id, o.ordered) end as place) n
        where a.tenant_id = d.tenant_id and a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')
          and y.postponed_to is null and (d.status = 'active' or y.status not in ('pending', 'assigned', 'accepted'))
        order by a.sequence_number limit 1) x on d.live_stops > 0
      where d.tenant_id = board_drivers.tenant and (s.on_duty or d.live_stops > 0)
        and (board_drivers.zone is null or d.all_zones or exists (
          select from delivery.driver_zones z
          where z.tenant_id = d.tenant_id and z.driver_id = d.user_id and z.zone_id = board_drivers.zone))) r);
end $$;

-- The deliveries of a tenant whose parcels are on the way back by operational returns, or wait for their receipt.
create or replace function delivery.sent_back(tenant uuid) returns uuid[]
language plpgsql stable set search_path = '' as $$
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
    join delivery.deliveries d on d.tenant_id = tenant and (d.id = b.original_delivery_id or d.parent_id = b.original_delivery_id));
end $$;

-- A delivery in a list of the board, with the driver who has it, a leg of it, or nobody: {id, delivery_code, status, promised_at, deliver_before,
-- pickup_zone_id, dropoff_zone_id, driver_id}
create or replace function delivery.on_board(d delivery.deliveries, driver uuid) returns json
language plpgsql immutable set search_path = '' as $$
begin
  return json_build_object('id', d.id, 'delivery_code', d.delivery_code, 'status', d.status, 'promised_at', d.promised_at,
    'deliver_before', d.deliver_before, 'pickup_zone_id', d.pickup_zone_id, 'dropoff_zone_id', d.dropoff_zone_id, 'driver_id', driver);
end $$;

-- The deliveries of a tenant that drivers who are inactive were to fetch and have not; with a zone those that are fetched there:
-- {total, deliveries: the first 50, those that are due first}. Nobody fetches them until the office gives them to somebody else.
create or replace function delivery.board_to_reassign(tenant uuid, zone uuid) returns json
language plpgsql stable set search_path = '' as $$
begin
  return (
    select json_build_object('total', count(*), 'deliveries', coalesce(json_agg(delivery.on_board(w.d, w.driver_id) order by w.place)
      filter (where w.place <= 50), '[]'))
    from (
      select d, r.user_id as driver_id, row_number() over (order by least(d.promised_at, d.deliver_before), d.id) as place
      from delivery.drivers r
      join delivery.assignments a on a.tenant_id = r.tenant_id and a.driver_id = r.user_id and a.status in ('pending', 'assigned', 'accepted')
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id and d.status in ('assigned', 'accepted')
      where r.tenant_id = board_to_reassign.tenant and r.status <> 'active' and r.live_stops > 0
        and (board_to_reassign.zone is null or d.pickup_zone_id = board_to_reassign.zone)) w);
end $$;

-- {zone_id?} -> as JSON text {as_of, drivers, unassigned: {total, by_zone}, to_reassign, late: {total, deliveries: the first 50}, searching,
-- failed_to_assign}
-- Drivers who are on duty or have stops left, by name; with zone_id those who go there. unassigned: what waits for a driver; a parcel that is
-- sent back waits as its return, and its first delivery for nobody. What is unassigned or late is in a
-- zone when it is fetched there or, being late, goes there; searching and failed_to_assign count automatic assignments
-- likewise. late: past promised_at or deliver_before, not yet ended, and not sent back. A driver: see delivery.board_drivers. to_reassign: see
-- delivery.board_to_reassign.
-- SECURITY DEFINER, since the office sees all of its tenant anyway and the policies of so many rows cost more than the rows: every
-- statement names the caller's tenant.
-- Fails: forbidden, zone_not_found.
create or replace function delivery.board(input jsonb) returns text
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_sent_back uuid[];
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
  v_sent_back := delivery.sent_back(v_tenant);
  -- Counted in the index alone; the few that go back are taken off, since their returns are counted or carried in their place.
  with waiting as not materialized (
    select d.id, d.pickup_zone_id, d.created_at from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and (v_zone is null or d.pickup_zone_id = v_zone)),
  back as materialized (select w.id, w.pickup_zone_id from waiting w where w.id = any (v_sent_back))
  select json_build_object('total', coalesce(sum(c.count), 0), 'by_zone', coalesce(json_agg(json_build_object('zone_id', c.pickup_zone_id,
      'name', z.name, 'count', c.count, 'oldest_at', c.oldest_at) order by c.count desc, c.pickup_zone_id), '[]')) into v_unassigned
  from (
    select w.pickup_zone_id, w.count - b.count as count, case when b.count = 0 then w.oldest_at else (
        select min(o.created_at) from waiting o
        where o.pickup_zone_id is not distinct from w.pickup_zone_id and o.id <> all (v_sent_back)) end as oldest_at
    from (select w.pickup_zone_id, count(*) as count, min(w.created_at) as oldest_at from waiting w group by w.pickup_zone_id) w
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
  select json_build_object('total',
      (select count(*) from late) - (select count(*) from late l where l.id = any (v_sent_back)),
    'deliveries', coalesce(json_agg(delivery.on_board(d, (
        select a.driver_id from delivery.assignments a
        where a.tenant_id = d.tenant_id and a.delivery_id in (
          select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id union all select d.id)
          and a.status in ('pending', 'assigned', 'accepted') limit 1)) order by least(d.promised_at, d.deliver_before), d.id), '[]')) into v_late
  from (select * from late l where l.id <> all (v_sent_back) order by least(l.promised_at, l.deliver_before), l.id limit 50) d;

  select count(*) filter (where s.status = 'searching'), count(*) filter (where s.status = 'failed') into v_searching, v_failed
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return json_build_object('as_of', now(), 'drivers', delivery.board_drivers(v_tenant, v_zone), 'unassigned', v_unassigned,
    'to_reassign', delivery.board_to_reassign(v_tenant, v_zone), 'late', v_late, 'searching', v_searching, 'failed_to_assign', v_failed);
end $$;

-- Nobody calls these but the board, which says who may see it.
revoke execute on function delivery.board_drivers(uuid, uuid), delivery.board_to_reassign(uuid, uuid), delivery.sent_back(uuid),
  delivery.on_board(delivery.deliveries, uuid) from barid_caller;
