-- The place and the price of a redirect.

-- Where the way begins that a parcel's price is for: where its order begins, or the source of its manifest where the tenant prices from there.
-- SECURITY DEFINER: neither an owner nor a driver sees each place and manifest that a parcel came from. Fails: forbidden (app.require_tenant).
create or replace function delivery.priced_from(d delivery.deliveries, out latitude double precision, out longitude double precision)
language plpgsql stable security definer set search_path = '' as $$
declare
  v_place jsonb := coalesce(d.ordered_from_snapshot, d.pickup_snapshot);
begin
  perform app.require_tenant(d.tenant_id);
  if d.manifest_id is not null and tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location' then
    select m.source_snapshot -> 'address' into v_place from delivery.transfer_manifests m where m.tenant_id = d.tenant_id and m.id = d.manifest_id;
  end if;
  latitude := (v_place ->> 'latitude')::double precision;
  longitude := (v_place ->> 'longitude')::double precision;
end $$;

grant execute on function delivery.priced_from(delivery.deliveries) to barid_caller;

-- The way of a redirect that nobody has measured yet, as delivery.road_distance_missing answers it.
-- {id, dropoff_address_id? | dropoff?} -> {from, to} or null, also for a return that costs nothing and a delivery that the caller does not see
create or replace function delivery.redirect_way_missing(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  d delivery.deliveries;
  v_from record;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found or d.made_at_door then
    return null;
  end if;
  v_from := delivery.priced_from(delivery.parcel_terms(d));
  return delivery.road_distance_missing((input - 'id') || jsonb_build_object('pickup',
    jsonb_build_object('latitude', v_from.latitude, 'longitude', v_from.longitude)));
end $$;

-- The new place of a parcel p; a dry run writes no address down. {dropoff_address_id? | dropoff? {latitude, longitude, full_address?, ...}}
-- Fails: address_not_found, delivery_place_required.
create or replace function delivery.redirect_place(p delivery.deliveries, input jsonb, dry_run boolean) returns delivery.addresses
language plpgsql set search_path = '' as $$
declare
  a delivery.addresses;
begin
  if not dry_run or input ->> 'dropoff_address_id' is not null then
    return delivery.delivery_place(input, 'dropoff', coalesce(p.institution_user_id, p.customer_id));
  end if;
  a.latitude := (input #>> '{dropoff,latitude}')::double precision;
  a.longitude := (input #>> '{dropoff,longitude}')::double precision;
  a.zone_id := delivery.zone_at(p.tenant_id, a.latitude, a.longitude);
  return a;
end $$;

-- The warehouse in which a parcel p ends that is sent to this address; null: at somebody's door. Where it went already it ends as before; a
-- customer's return ends in the warehouse that stands there, as one does that is ordered to there.
create or replace function delivery.redirect_ends_in(p delivery.deliveries, to_address uuid) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return case when to_address = p.dropoff_address_id then delivery.ends_in(p)
    when p.delivery_flow = 'customer_return' then delivery.return_ends_in(p.original_delivery_id, to_address) end;
end $$;

-- The terms of a parcel p that goes to another place: priced with its service and its units, from where it was ordered. The service was agreed
-- when it was ordered, so its zones alone are asked, and its prices are those of now. A store's order keeps the fee that was agreed, and so does
-- a cash fee that was taken, unless the office charges a wallet. One that goes there already keeps its fee, and nothing is asked. A return that
-- was made at the door is free of charge wherever it goes.
-- -> p with its new fee, distance and snapshot of the service; charged: wallet (the difference is booked), cash (it is due), none
-- Fails: delivery_service_not_available, invalid_coordinates.
create or replace function delivery.redirect_terms(
  p delivery.deliveries, to_address delivery.addresses, charge_wallet boolean, out priced delivery.deliveries, out charged text
)
language plpgsql stable set search_path = '' as $$
declare
  v_from record := delivery.priced_from(p);
  v_service delivery.delivery_services := delivery.ordered_service(p);
  v_taken boolean := money.delivery_fee_taken(p.id);
  v_km double precision;
begin
  priced := p;
  charged := 'none';
  if p.made_at_door or delivery.goes_to(p, to_address) then
    return;
  end if;
  if not delivery.ordered_reaches(v_service, to_address.zone_id) then
    perform app.fail('delivery_service_not_available', '{"field": "dropoff_address_id"}');
  end if;
  v_km := delivery.road_distance_km(v_from.latitude, v_from.longitude, to_address.latitude, to_address.longitude);
  priced.distance_km := round(v_km::numeric, 3);
  if p.order_id is not null or (v_taken and not charge_wallet) then
    return;
  end if;
  if v_km is null and v_service.price_per_km > 0 then
    perform app.fail('invalid_coordinates',
      jsonb_build_object('field', case when v_from.latitude is null then 'pickup_location' else 'dropoff_address' end));
  end if;
  priced.delivery_fee := (delivery.quote(delivery.service_with_units(v_service, p.unit_size), null, p.unit_size, v_km,
    app.settings('general', 'unit_size'), (app.currency()).decimals)).price;
  priced.service_snapshot := delivery.service_to_snapshot(v_service);
  if priced.delivery_fee <> p.delivery_fee then
    charged := case when p.payment_method = 'wallet' or v_taken then 'wallet' else 'cash' end;
  end if;
end $$;

-- Drivers who have a parcel, or its leg to the door, and may not go to its new zone. in_hand: the parcel is with them on the road. One who
-- brings it to a warehouse, or back to one, does not go to the door.
-- SECURITY DEFINER: an owner sees no assignments.
create or replace function delivery.redirect_misfits(parcel uuid, zone_id uuid)
returns table (assignment_id uuid, delivery_id uuid, driver_id uuid, in_hand boolean)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  select a.id, d.id, a.driver_id, d.status in ('picked_up', 'in_transit', 'failed')
  from delivery.deliveries d
  join delivery.open_assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
  where d.tenant_id = v_tenant and (d.id = parcel or d.parent_id = parcel)
    and d.delivery_flow <> 'pnd_inbound' and not delivery.is_transferred(d) and d.status <> 'returned'
    and not delivery.driver_reaches(d.tenant_id, a.driver_id, redirect_misfits.zone_id)
  order by a.id;
end $$;

grant execute on function delivery.redirect_misfits(uuid, uuid) to barid_caller;
