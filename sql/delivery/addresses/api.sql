-- Addresses: places that everything else points at.

-- Refuses an address that is neither the tenant's nor this person's: what everybody comes to must not
-- stand at a customer's private address. Fails: address_not_found.
create or replace function delivery.require_public_address(address_id uuid, person uuid default null) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform from delivery.addresses a
  where a.id = require_public_address.address_id and (a.owner_user_id is null or a.owner_user_id = person);
  if not found then
    perform app.fail('address_not_found', '{"field": "address_id"}' || case when exists (
      select from delivery.addresses a where a.id = require_public_address.address_id)
      then '{"text_key": "reason_address_of_a_person"}'::jsonb else '{}' end);
  end if;
end $$;

-- An address of the caller's address book. {id}. Fails: address_not_found.
create or replace function delivery.address_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found((
    select to_jsonb(a)
    from delivery.own_addresses_list a where a.id = (input ->> 'id')::uuid), 'address_not_found');
end $$;

-- Refuses a zone the tenant does not have. Fails: zone_not_found.
create or replace function delivery.require_zone(zone_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform from delivery.zones z where z.id = require_zone.zone_id;
  if not found then
    perform app.fail('zone_not_found', '{"field": "zone_id"}');
  end if;
end $$;

-- Adds an address: staff to the tenant's, everybody else to their own.
-- {title?, full_address, city?, country?, latitude?, longitude?, contact_info?, zone_id?} -> the address
-- Without a zone_id its zone follows from the coordinates; without a city it is the zone's name. Fails: zone_not_found.
create or replace function delivery.address_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
begin
  if input ->> 'zone_id' is not null then
    perform delivery.require_zone((input ->> 'zone_id')::uuid);
  end if;
  insert into delivery.addresses (tenant_id, title, full_address, city, country, latitude, longitude, contact_info, zone_id, owner_user_id)
  values (app.tenant_id(), coalesce(input -> 'title', '{}'), input ->> 'full_address', input ->> 'city', input ->> 'country',
    (input ->> 'latitude')::double precision, (input ->> 'longitude')::double precision,
    coalesce(input -> 'contact_info', '{}'), (input ->> 'zone_id')::uuid,
    case when not app.sees_tenant() then app.user_id() end)
  returning id into v_id;
  return delivery.address_get(jsonb_build_object('id', v_id));
end $$;

-- Adds the addresses of a file. {lines, dry_run, refused?} -> see app.import_lines
-- Fails: import_has_errors; a line: as address_create.
create or replace function delivery.address_import(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return app.import_lines('delivery.address_create', '{id}', input);
end $$;

-- Changes what is sent; null empties country and coordinates, and gives the city back to the zone. {id, ...} -> the address
-- A city that is the zone's name follows the address to another zone. A zone_id stands until the place moves;
-- zone_id null goes back to the zone of the coordinates.
-- Fails: address_not_found, zone_not_found.
create or replace function delivery.address_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  perform delivery.lock_service_area(app.tenant_id(), false);
  perform delivery.address_get(input);
  if input ->> 'zone_id' is not null then
    perform delivery.require_zone((input ->> 'zone_id')::uuid);
  end if;
  update delivery.addresses a set
    title = coalesce(input -> 'title', a.title),
    full_address = coalesce(input ->> 'full_address', a.full_address),
    city = case
      when input ? 'city' then input ->> 'city'
      when a.city = delivery.city_of_zone(a.tenant_id, a.zone_id) and (input ? 'zone_id'
        or (n.latitude, n.longitude) is distinct from (a.latitude, a.longitude)) then null
      else a.city end,
    country = case when input ? 'country' then input ->> 'country' else a.country end,
    latitude = n.latitude,
    longitude = n.longitude,
    contact_info = coalesce(input -> 'contact_info', a.contact_info),
    zone_id = coalesce((input ->> 'zone_id')::uuid, a.zone_id),
    zone_chosen = case
      when input ? 'zone_id' then input ->> 'zone_id' is not null
      when (n.latitude, n.longitude) is distinct from (a.latitude, a.longitude) then false
      else a.zone_chosen end
  from (
    select o.id,
      case when input ? 'latitude' then (input ->> 'latitude')::double precision else o.latitude end as latitude,
      case when input ? 'longitude' then (input ->> 'longitude')::double precision else o.longitude end as longitude
    from delivery.addresses o where o.id = v_id
  ) n
  where a.id = n.id;
  return delivery.address_get(input);
end $$;
