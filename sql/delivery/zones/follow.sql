-- Deliveries follow the map: a zone was drawn, redrawn, closed or opened.

-- The zone of an end of a delivery by the map of now, if it lies in one of the boxes [[west, south, east, north], ...]; else `stands`, the one it
-- has. The end is where its snapshot says, wherever its address is by now; a zone that somebody chose for the address stands.
create or replace function delivery.zone_of_end(tenant uuid, address uuid, snapshot jsonb, stands uuid, boxes jsonb) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  v_latitude double precision := (snapshot ->> 'latitude')::double precision;
  v_longitude double precision := (snapshot ->> 'longitude')::double precision;
begin
  if not exists (select from jsonb_array_elements(boxes) b (box)
      where v_longitude between (b.box ->> 0)::double precision and (b.box ->> 2)::double precision
        and v_latitude between (b.box ->> 1)::double precision and (b.box ->> 3)::double precision)
    or exists (select from delivery.addresses a where a.tenant_id = tenant and a.id = address and a.zone_chosen) then
    return stands;
  end if;
  return delivery.zone_at(tenant, v_latitude, v_longitude);
end $$;

-- Gives deliveries that have not ended, and have an end in these boxes, their zones by the map of now: the job behind a change of a zone.
-- At most `many` at once, parents with their legs, in the order of locks. -> how many there were; fewer than `many`: there are no more.
-- SECURITY DEFINER: the job has no caller.
create or replace function delivery.zones_follow(tenant uuid, boxes text, many integer) returns integer
language plpgsql security definer set search_path = '' as $$
declare
  v_boxes jsonb := boxes::jsonb;
  v_ids uuid[];
  v_awaited uuid[];
begin
  perform set_config('app.tenant_id', tenant::text, true);
  -- Back from its door, and to be received: what left a warehouse sets out again from there, and its parcel with it.
  v_awaited := array(
    select f.id from warehousing.receiving_orders r
    join delivery.deliveries l on l.tenant_id = r.tenant_id and l.id = r.delivery_id and l.status = 'returned' and delivery.leaves_warehouse(l)
    cross join unnest(array[l.id, l.parent_id]) f (id)
    where r.tenant_id = tenant and r.status = 'pending' and f.id is not null);
  v_ids := array(
    select d.id from delivery.deliveries d
    where d.tenant_id = tenant
      and (d.status in ('draft', 'pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
        or d.id = any (v_awaited) and d.status = 'returned')
      and (d.pickup_zone_id is distinct from delivery.zone_of_end(tenant, d.pickup_address_id, d.pickup_snapshot, d.pickup_zone_id, v_boxes)
        or d.dropoff_zone_id is distinct from delivery.zone_of_end(tenant, d.dropoff_address_id, d.dropoff_snapshot, d.dropoff_zone_id, v_boxes))
    order by d.id limit many);
  if v_ids = '{}' then
    return 0;
  end if;
  perform delivery.lock_deliveries(v_ids);
  -- As they are now: one may have been sent elsewhere, or have ended, while this waited.
  update delivery.deliveries d set
    pickup_zone_id = z.pickup,
    pickup_snapshot = d.pickup_snapshot || jsonb_build_object('zone_id', z.pickup),
    dropoff_zone_id = z.dropoff,
    dropoff_snapshot = d.dropoff_snapshot || jsonb_build_object('zone_id', z.dropoff)
  from (
    select x.id, delivery.zone_of_end(tenant, x.pickup_address_id, x.pickup_snapshot, x.pickup_zone_id, v_boxes) as pickup,
      delivery.zone_of_end(tenant, x.dropoff_address_id, x.dropoff_snapshot, x.dropoff_zone_id, v_boxes) as dropoff
    from delivery.deliveries x where x.tenant_id = tenant and x.id = any (v_ids)
  ) z
  where d.tenant_id = tenant and d.id = z.id and (d.status not in ('delivered', 'returned', 'cancelled') or d.id = any (v_awaited) and d.status = 'returned')
    and (z.pickup, z.dropoff) is distinct from (d.pickup_zone_id, d.dropoff_zone_id);
  return cardinality(v_ids);
end $$;
grant execute on function delivery.zones_follow(uuid, text, integer) to barid_api;

-- Nobody calls these but the job.
revoke execute on function delivery.zone_of_end(uuid, uuid, jsonb, uuid, jsonb), delivery.zones_follow(uuid, text, integer) from barid_caller;
