-- The price of a delivery before it is ordered, by the same calculation that charges it.
-- {delivery_service_id, pickup?{latitude, longitude}, dropoff?{latitude, longitude}, unit_size?, package?,
-- package_field?, service_field?, place_fields [2]: what the client calls them, has_dropoff?: it goes somewhere, though the place is not known}
-- -> {price, unit_size, unit_size_source}
-- Without places there is no distance and no zone to check; a service that charges by distance needs both. A drop-off whose place is not
-- known is in no zone.
-- Fails: service_not_found, delivery_service_not_available (switched off, or not for that drop-off zone),
-- invalid_coordinates, invalid_package, unit_size_or_dimensions_required, can_not_use_this_delivery_for_this_unit_size.
create or replace function delivery.price_preview(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_service delivery.delivery_services;
  v_latitude double precision := (input #>> '{dropoff,latitude}')::double precision;
  v_longitude double precision := (input #>> '{dropoff,longitude}')::double precision;
  v_km double precision := delivery.road_distance_km((input #>> '{pickup,latitude}')::double precision,
    (input #>> '{pickup,longitude}')::double precision, v_latitude, v_longitude);
  v_service_field jsonb := jsonb_build_object('field', coalesce(input ->> 'service_field', 'delivery_service_id'));
  v_quote record;
begin
  select * into v_service from delivery.delivery_services s
  where s.id = (input ->> 'delivery_service_id')::uuid and s.deleted_at is null;
  if not found then
    perform app.fail('service_not_found', v_service_field);
  end if;
  if not v_service.active or ((v_latitude is not null or app.boolean_or(input -> 'has_dropoff', false))
      and not delivery.service_reaches(v_service, delivery.zone_at(v_service.tenant_id, v_latitude, v_longitude))) then
    perform app.fail('delivery_service_not_available', v_service_field);
  end if;
  v_quote := delivery.quote(v_service, input -> 'package', (input ->> 'unit_size')::numeric, v_km,
    app.settings('general', 'unit_size'), (app.currency()).decimals);
  if v_quote.error_code is not null then
    perform app.fail(v_quote.error_code,
      coalesce(v_quote.error_params, '{}') || jsonb_build_object('field', coalesce(input ->> 'package_field', 'package')));
  end if;
  if v_km is null and v_service.price_per_km > 0 then
    perform app.fail('invalid_coordinates',
      jsonb_build_object('field', input -> 'place_fields' -> case when input ? 'pickup' then 1 else 0 end));
  end if;
  return jsonb_build_object('price', v_quote.price, 'unit_size', v_quote.unit_size, 'unit_size_source', v_quote.unit_size_source);
end $$;
