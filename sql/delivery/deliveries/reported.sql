-- Where and when a step happened, as the device that reported it says. The history keeps it beside the server's own time.

-- Notes for the history of this transaction's moves of a parcel what a step's input says: {latitude?, longitude?, occurred_at?}.
-- occurred_at is kept as sent, whenever the report arrives: a driver without a network reports later.
-- Fails: invalid_occurred_at (more than 72 hours old, or more than 2 minutes ahead).
create or replace function delivery.move_reported(d delivery.deliveries, input jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
begin
  if v_at not between now() - interval '72 hours' and now() + interval '2 minutes' then
    perform app.fail('invalid_occurred_at', '{"field": "occurred_at"}');
  end if;
  if v_at is not null or input ->> 'latitude' is not null then
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'latitude', input -> 'latitude',
      'longitude', input -> 'longitude', 'occurred_at', v_at)::text, true);
  end if;
end $$;

-- The metres between a point and the place where a delivery's move should happen: a pickup, a departure and a return where it is
-- fetched, everything else where it goes. Null when either is unknown.
create or replace function delivery.metres_from_place(d delivery.deliveries, from_status text, latitude double precision, longitude double precision)
returns double precision
language plpgsql stable set search_path = '' as $$
declare
  v_place jsonb;
begin
  if latitude is null then
    return null;
  end if;
  v_place := case when d.status in ('picked_up', 'returned') or (d.status = 'in_transit' and from_status <> 'failed')
    then delivery.fetched_at(d) else delivery.brought_to(d) end;
  return round(app.distance_km((v_place ->> 'latitude')::double precision, (v_place ->> 'longitude')::double precision,
    latitude, longitude) * 1000);
end $$;
