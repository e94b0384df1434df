-- The price of moving a package with a service.
--
-- Units: measured when every item is fully measured (this overrides asked units), else the asked units,
-- else the tenant's missing_unit_size_fallback over the service's range (service_half: its middle). Of units three
-- decimals count, as deliveries keep them: the price shown before is the one that is charged and written. The service's range is checked
-- with units as they were asked for: six decimals, since a sum that a client added up may be a little beside.
-- price = default_price x units + price_per_km x max(0, km - free_km), rounded to `decimals`.
-- Distance is the great circle; without coordinates on both ends it is null and costs nothing.
-- Never raises: error_code is null or invalid_package (error_params: item, name, reason_key), unit_size_or_dimensions_required,
-- can_not_use_this_delivery_for_this_unit_size (error_params: calculated_unit_size, allowed_unit_min,
-- allowed_unit_max, violation below_minimum or above_maximum).
create or replace function delivery.quote(
  service delivery.delivery_services, package jsonb, asked_units numeric, distance_km double precision,
  unit_settings jsonb, decimals integer,
  out price numeric, out unit_size numeric, out unit_size_source text, out error_code text, out error_params jsonb
)
language plpgsql immutable set search_path = '' as $$
declare
  v_measured record;
  v_asked numeric;
begin
  v_measured := delivery.package_units(package, unit_settings);
  if v_measured.wrong then
    error_code := 'invalid_package';
    error_params := delivery.package_fault(package);
    return;
  end if;
  if v_measured.units is not null then
    unit_size := v_measured.units;
    unit_size_source := 'package_details';
  elsif asked_units is not null then
    unit_size := round(asked_units, 3);
    v_asked := round(asked_units, 6);
    unit_size_source := 'unit_size';
  elsif delivery.fallback_units(service, unit_settings) is not null then
    unit_size := delivery.fallback_units(service, unit_settings);
    unit_size_source := unit_settings ->> 'missing_unit_size_fallback';
  else
    error_code := 'unit_size_or_dimensions_required';
    return;
  end if;
  v_asked := coalesce(v_asked, unit_size);
  if v_asked < service.unit_min or v_asked > service.unit_max then
    error_code := 'can_not_use_this_delivery_for_this_unit_size';
    error_params := jsonb_build_object('calculated_unit_size', trim_scale(v_asked), 'allowed_unit_min', service.unit_min,
      'allowed_unit_max', service.unit_max,
      'violation', case when v_asked < service.unit_min then 'below_minimum' else 'above_maximum' end);
    return;
  end if;
  price := round(service.default_price * unit_size
    + service.price_per_km * greatest(0, coalesce(distance_km, 0)::numeric - service.free_km), decimals);
end $$;

-- The units of a parcel without a size, by the tenant's missing_unit_size_fallback; null without one.
create or replace function delivery.fallback_units(service delivery.delivery_services, unit_settings jsonb) returns numeric
language plpgsql immutable set search_path = '' as $$
begin
  return case unit_settings ->> 'missing_unit_size_fallback' when 'service_min' then service.unit_min when 'service_max' then service.unit_max
    when 'service_half' then round((service.unit_min + service.unit_max) / 2, 3) end;
end $$;

-- True when a person may order with a service (access_mode).
create or replace function delivery.service_open_to(service delivery.delivery_services, user_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return case service.access_mode when 'all_users' then true
    else (service.access_mode = 'select_users') = exists (
      select from delivery.delivery_service_users u
      where u.tenant_id = service.tenant_id and u.service_id = service.id and u.user_id = service_open_to.user_id) end;
end $$;

-- True when a service delivers into a zone (zone_access_mode); a place outside every zone is null.
create or replace function delivery.service_reaches(service delivery.delivery_services, zone_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return case service.zone_access_mode when 'all_zones' then true
    else (service.zone_access_mode = 'select_zones') = case service.zone_selector_type
      when 'zone' then exists (
        select from delivery.delivery_service_zones z
        where z.tenant_id = service.tenant_id and z.service_id = service.id and z.zone_id = service_reaches.zone_id)
      else exists (
        select from delivery.delivery_service_zone_tags t
        join delivery.zone_tag_map m on m.tenant_id = t.tenant_id and m.tag_id = t.tag_id
        where t.tenant_id = service.tenant_id and t.service_id = service.id and m.zone_id = service_reaches.zone_id) end end;
end $$;

-- True when a service may be used by a person and for a drop-off zone; false when there is no such service.
create or replace function delivery.service_allows(service delivery.delivery_services, user_id uuid, zone_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(delivery.service_open_to(service, user_id) and delivery.service_reaches(service, zone_id), false);
end $$;

-- The part of a service that a delivery keeps.
create or replace function delivery.service_to_snapshot(service delivery.delivery_services) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('id', service.id, 'code', service.code, 'name', service.name, 'service_level', service.service_level,
    'default_price', service.default_price, 'price_per_km', service.price_per_km, 'free_km', service.free_km);
end $$;

-- The service of an order is agreed: it may be switched off, deleted or closed to its orderer since, and it takes the units of the order.

-- The service of an order as it is now. SECURITY DEFINER: an owner does not see a service that is closed to them.
-- Fails: forbidden (app.require_tenant).
create or replace function delivery.ordered_service(d delivery.deliveries) returns delivery.delivery_services
language plpgsql stable security definer set search_path = '' as $$
declare
  v_service delivery.delivery_services;
begin
  perform app.require_tenant(d.tenant_id);
  select * into strict v_service from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  return v_service;
end $$;

grant execute on function delivery.ordered_service(delivery.deliveries) to barid_caller;

-- The same service with the units of an order in its range.
create or replace function delivery.service_with_units(service delivery.delivery_services, units numeric) returns delivery.delivery_services
language plpgsql immutable set search_path = '' as $$
begin
  service.unit_min := least(service.unit_min, units);
  service.unit_max := greatest(service.unit_max, units);
  return service;
end $$;

-- True when an order may be sent into a zone with its service. A deletion takes away the service's zones, and neither the order nor its snapshot
-- names them: a deleted one goes anywhere, where the drivers of the zone do, rather than leave a parcel where nobody wants it.
create or replace function delivery.ordered_reaches(service delivery.delivery_services, zone_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return service.deleted_at is not null or delivery.service_reaches(service, zone_id);
end $$;
