-- Lengths and times of ways, for prices, orders of stops and searches for drivers alike: by road where a routing service has measured them in the
-- last 30 days, otherwise as the crow flies.

-- The length in kilometres that was measured in the last 30 days, or null.
create or replace function delivery.road_distance_known(from_latitude double precision, from_longitude double precision,
  to_latitude double precision, to_longitude double precision) returns double precision
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select w.distance_km from delivery.road_distances w
    where w.from_latitude = round(road_distance_known.from_latitude::numeric, 5) and w.from_longitude = round(road_distance_known.from_longitude::numeric, 5)
      and w.to_latitude = round(road_distance_known.to_latitude::numeric, 5) and w.to_longitude = round(road_distance_known.to_longitude::numeric, 5)
      and w.measured_at > now() - interval '30 days');
end $$;

-- Kilometres of the way that a price is for. Null when a coordinate is missing.
create or replace function delivery.road_distance_km(from_latitude double precision, from_longitude double precision,
  to_latitude double precision, to_longitude double precision) returns double precision
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(delivery.road_distance_known(from_latitude, from_longitude, to_latitude, to_longitude),
    app.distance_km(from_latitude, from_longitude, to_latitude, to_longitude));
end $$;

-- The end of a draft that its change does not name: its address as the caller sees it, else as the draft has it (its snapshot).
create or replace function delivery.place_kept(snapshot jsonb) returns delivery.addresses
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_populate_record(null::delivery.addresses,
    coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = (snapshot ->> 'id')::uuid), snapshot));
end $$;

-- Where one end of a price or an order is, as delivery.delivery_place finds it, but writing nothing down and refusing nothing: an address that the
-- caller may use, a place, or where a warehouse stands; of a return also an end of what it brings back, and of a draft an end that its change does
-- not name. Null: nobody knows. {<end>_address_id | <end> {latitude, longitude} | <end>_warehouse_id, original_delivery_id?, kept? {<end>}}
create or replace function delivery.place_known(input jsonb, place text) returns delivery.addresses
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> (place || '_address_id'))::uuid;
  a delivery.addresses;
begin
  if jsonb_typeof(input -> 'kept' -> place) = 'object' then
    return delivery.place_kept(input -> 'kept' -> place);
  elsif v_id is not null then
    select x.* into a from delivery.addresses x where x.id = v_id and exists (select from delivery.usable_addresses u where u.id = x.id);
    return case when a.id is not null then a else jsonb_populate_record(null::delivery.addresses, delivery.original_place(input, v_id)) end;
  elsif jsonb_typeof(input -> place) = 'object' then
    a.latitude := (input #>> array[place, 'latitude'])::double precision;
    a.longitude := (input #>> array[place, 'longitude'])::double precision;
    return a;
  end if;
  select x.* into a from warehousing.warehouses w
  join delivery.addresses x on x.tenant_id = w.tenant_id and x.id = w.address_id
  where w.id = (input ->> (place || '_warehouse_id'))::uuid and w.deleted_at is null;
  return a;
end $$;

-- The way of a price or an order that is still to be measured, by its ends as delivery.place_known reads them
-- -> {from: [latitude, longitude], to: [...]}; null where its length is known, or one of its ends is not.
create or replace function delivery.road_distance_missing(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_from delivery.addresses := delivery.place_known(input, 'pickup');
  v_to delivery.addresses := delivery.place_known(input, 'dropoff');
  v_ends double precision[] := array[v_from.latitude, v_from.longitude, v_to.latitude, v_to.longitude];
begin
  if array_position(v_ends, null) is not null or delivery.road_distance_known(v_ends[1], v_ends[2], v_ends[3], v_ends[4]) is not null then
    return null;
  end if;
  return jsonb_build_object('from', v_ends[1:2], 'to', v_ends[3:4]);
end $$;

-- Keeps what was measured: {from, to, distance_km, duration_minutes?} or a list of these, as JSON text. Written in the order of the key,
-- so that two who keep the same ways do not deadlock; of a way given twice one is kept, no matter which.
create or replace function delivery.road_distance_put(way text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into delivery.road_distances (from_latitude, from_longitude, to_latitude, to_longitude, distance_km, duration_minutes)
  select distinct on (k.from_latitude, k.from_longitude, k.to_latitude, k.to_longitude) k.from_latitude, k.from_longitude,
    k.to_latitude, k.to_longitude, (m.w ->> 'distance_km')::numeric, (m.w ->> 'duration_minutes')::numeric
  from (select way::jsonb as sent) j
  cross join lateral jsonb_array_elements(case jsonb_typeof(j.sent) when 'array' then j.sent else jsonb_build_array(j.sent) end) m (w)
  cross join lateral (
    select round((m.w #>> '{from,0}')::numeric, 5) as from_latitude, round((m.w #>> '{from,1}')::numeric, 5) as from_longitude,
      round((m.w #>> '{to,0}')::numeric, 5) as to_latitude, round((m.w #>> '{to,1}')::numeric, 5) as to_longitude) k
  order by k.from_latitude, k.from_longitude, k.to_latitude, k.to_longitude
  on conflict (from_latitude, from_longitude, to_latitude, to_longitude)
    do update set distance_km = excluded.distance_km, duration_minutes = excluded.duration_minutes, measured_at = now();
end $$;

-- The ways between places that are kept with their time. places: [[latitude, longitude], ...] as JSON text ->
-- [[from, to, kilometres, minutes], ...], from and to counted from 0. SECURITY DEFINER: the ways belong to no tenant.
create or replace function delivery.road_ways_known(places text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    with place as (
      select p.position - 1 as number, round((p.at ->> 0)::numeric, 5) as latitude, round((p.at ->> 1)::numeric, 5) as longitude
      from jsonb_array_elements(places::jsonb) with ordinality p (at, position)
    )
    select coalesce(jsonb_agg(jsonb_build_array(f.number, t.number, w.distance_km, w.duration_minutes)), '[]')
    from place f
    cross join place t
    join delivery.road_distances w on w.from_latitude = f.latitude and w.from_longitude = f.longitude
      and w.to_latitude = t.latitude and w.to_longitude = t.longitude
    where f.number <> t.number and w.measured_at > now() - interval '30 days' and w.duration_minutes is not null);
end $$;

-- How much longer roads are than great circles, between 1 and 3: learned from the ways that start within half a degree of this latitude,
-- at any longitude, of more than 1,000 from the southernmost; 1.3 where there are none. SECURITY DEFINER: the ways belong to no tenant.
create or replace function delivery.detour_factor(latitude double precision) returns double precision
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select greatest(1, least(3, coalesce(sum(w.distance_km) / nullif(sum(app.distance_km(w.from_latitude, w.from_longitude,
      w.to_latitude, w.to_longitude)), 0), 1.3)))
    from (
      select * from delivery.road_distances r
      where r.from_latitude between (detour_factor.latitude - 0.5)::numeric and (detour_factor.latitude + 0.5)::numeric
        and r.measured_at > now() - interval '30 days'
      order by r.from_latitude, r.from_longitude, r.to_latitude, r.to_longitude limit 1000) w);
end $$;

-- Removes the ways that nobody uses any more, because they were measured more than 30 days ago. Run by cron.
create or replace function delivery.road_distances_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from delivery.road_distances where measured_at < now() - interval '30 days';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function delivery.road_distance_known(double precision, double precision, double precision, double precision) to barid_caller;
grant execute on function delivery.detour_factor(double precision) to barid_caller;
grant execute on function delivery.road_distance_put(text), delivery.road_ways_known(text) to barid_api;

-- The functions' own login (barid_api) and cron alone call these.
revoke execute on function delivery.road_distance_put(text), delivery.road_ways_known(text), delivery.road_distances_purge() from barid_caller;
