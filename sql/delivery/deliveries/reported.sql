-- Where and when a step happened, as the device that reported it says. The history keeps it beside the server's own time.

-- Notes for the history of this transaction's moves of a parcel what a step's input says: {latitude?, longitude?, occurred_at?}, with the metres
-- to `place`, where the step should happen: a pickup, a departure and a return where it is fetched, everything else where it goes. Worked out
-- before the move, which may change where the parcel goes.
-- occurred_at is kept as sent, whenever the report arrives: a driver without a network reports later.
-- Fails: invalid_occurred_at (more than 72 hours old, or more than 2 minutes ahead).
create or replace function delivery.move_reported(d delivery.deliveries, input jsonb, place jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
begin
  if v_at not between now() - interval '72 hours' and now() + interval '2 minutes' then
    perform app.fail('invalid_occurred_at', '{"field": "occurred_at"}');
  end if;
  if v_at is not null or input ->> 'latitude' is not null then
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'latitude', input -> 'latitude',
      'longitude', input -> 'longitude', 'occurred_at', v_at, 'distance_m', round(app.distance_km((place ->> 'latitude')::double precision,
        (place ->> 'longitude')::double precision, (input ->> 'latitude')::double precision, (input ->> 'longitude')::double precision) * 1000))::text, true);
  end if;
end $$;
