-- The dispatcher's board: who is where with what, what nobody carries, and what is late.

-- The place that a driver goes to next for a delivery: where it is fetched until it is picked up, then where it goes.
-- -> {kind: pickup|dropoff, full_address, city, latitude, longitude}
create or replace function delivery.next_place(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return case when d.status in ('pending', 'assigned', 'accepted')
    then '{"kind": "pickup"}'::jsonb || delivery.place_without_people(delivery.fetched_at(d))
    else '{"kind": "dropoff"}'::jsonb || delivery.place_without_people(delivery.brought_to(d)) end;
end $$;

-- {zone_id?} -> {as_of, drivers, unassigned: {total, by_zone}, late: {total, deliveries: the first 50}, searching, failed_to_assign}
-- Drivers who are on duty or have stops left, by name; with zone_id those who go there. What is unassigned or late is in a
-- zone when it is fetched there or, being late, goes there; searching and failed_to_assign count automatic assignments
-- likewise. late: past promised_at or deliver_before, and not yet ended.
-- SECURITY DEFINER, since the office sees all of its tenant anyway and the policies of so many rows cost more than the rows: every
-- statement names the caller's tenant.
-- Fails: forbidden, zone_not_found.
create or replace function delivery.board(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_zone uuid := (input ->> 'zone_id')::uuid;
  v_online_since timestamptz := now() - delivery.offline_after();
  v_drivers jsonb;
  v_unassigned jsonb;
  v_late jsonb;
  v_searches jsonb;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
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

  select jsonb_build_object('searching', count(*) filter (where s.status = 'searching'), 'failed_to_assign', count(*) filter (where s.status = 'failed'))
  into v_searches
  from delivery.driver_searches s
  where s.tenant_id = v_tenant and s.status in ('searching', 'failed') and (v_zone is null or exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.pickup_zone_id = v_zone));

  return jsonb_build_object('as_of', now(), 'drivers', v_drivers, 'unassigned', v_unassigned, 'late', v_late) || v_searches;
end $$;
