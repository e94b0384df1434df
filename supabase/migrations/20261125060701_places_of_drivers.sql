-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.metres_from_place(d delivery.deliveries, from_status text, latitude double precision, longitude double precision)
 RETURNS double precision
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.next_place(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when d.status in ('pending', 'assigned', 'accepted')
    then '{"kind": "pickup"}'::jsonb || delivery.place_without_people(delivery.fetched_at(d))
    else '{"kind": "dropoff"}'::jsonb || delivery.place_without_people(delivery.brought_to(d)) end;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125060701';
end $$;

grant execute on function private.schema_version() to barid_api;
