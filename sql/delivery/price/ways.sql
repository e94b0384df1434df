-- How long a way is, for every price alike: by road where a routing service has measured it in the last
-- 30 days, otherwise as the crow flies.

-- The measured length in kilometres, or null.
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

-- The way of a price or an order that nobody has measured yet: {from: [latitude, longitude], to: [...]}, or null.
-- {pickup?, dropoff? {latitude, longitude}, pickup_address_id?, dropoff_address_id?}
create or replace function delivery.road_distance_missing(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_from delivery.addresses;
  v_to delivery.addresses;
  v_ends double precision[];
begin
  select a.* into v_from from delivery.addresses a where a.id = (input ->> 'pickup_address_id')::uuid
    and exists (select from delivery.usable_addresses u where u.id = a.id);
  select a.* into v_to from delivery.addresses a where a.id = (input ->> 'dropoff_address_id')::uuid
    and exists (select from delivery.usable_addresses u where u.id = a.id);
  v_ends := array[coalesce((input #>> '{pickup,latitude}')::double precision, v_from.latitude),
    coalesce((input #>> '{pickup,longitude}')::double precision, v_from.longitude),
    coalesce((input #>> '{dropoff,latitude}')::double precision, v_to.latitude),
    coalesce((input #>> '{dropoff,longitude}')::double precision, v_to.longitude)];
  if array_position(v_ends, null) is not null or delivery.road_distance_known(v_ends[1], v_ends[2], v_ends[3], v_ends[4]) is not null then
    return null;
  end if;
  return jsonb_build_object('from', v_ends[1:2], 'to', v_ends[3:4]);
end $$;

-- Keeps what was measured. {from, to, distance_km}, as JSON text.
create or replace function delivery.road_distance_put(way text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into delivery.road_distances (from_latitude, from_longitude, to_latitude, to_longitude, distance_km)
  select (w #>> '{from,0}')::numeric, (w #>> '{from,1}')::numeric, (w #>> '{to,0}')::numeric, (w #>> '{to,1}')::numeric,
    (w ->> 'distance_km')::numeric
  from (select way::jsonb as w) j
  on conflict (from_latitude, from_longitude, to_latitude, to_longitude)
    do update set distance_km = excluded.distance_km, measured_at = now();
end $$;

grant execute on function delivery.road_distance_known(double precision, double precision, double precision, double precision) to barid_caller;
grant execute on function delivery.road_distance_put(text) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.road_distance_put(text) from barid_caller;
