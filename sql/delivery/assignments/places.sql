-- The place of a warehouse as deliveries keep places, or what stands in its stead. SECURITY DEFINER: a driver who brings a
-- parcel to a warehouse or fetches it there has to know where that is. Fails: forbidden (app.require_tenant).
create or replace function delivery.warehouse_place(tenant uuid, warehouse uuid, otherwise jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(tenant);
  return coalesce((
    select to_jsonb(a) from warehousing.warehouses w join delivery.addresses_list a on a.id = w.address_id
    where w.tenant_id = warehouse_place.tenant and w.id = warehouse_place.warehouse), otherwise);
end $$;

-- Where a driver fetches a delivery: in the warehouse it lies in, else where it was ordered from. A leg into a warehouse
-- lies there when it is over.
create or replace function delivery.fetched_at(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return case when d.current_warehouse_id is null or d.delivery_flow = 'pnd_inbound' then d.pickup_snapshot
    else delivery.warehouse_place(d.tenant_id, d.current_warehouse_id, d.pickup_snapshot) end;
end $$;

-- The destination of the driver: the warehouse that it is transferred to first, else where it was ordered to.
create or replace function delivery.brought_to(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return case when not delivery.is_transferred(d) then d.dropoff_snapshot
    else delivery.warehouse_place(d.tenant_id, d.dropoff_warehouse_id, d.dropoff_snapshot) end;
end $$;

-- The warehouse that expects a parcel which a driver has in hand, such as after their `return`; null: none does. SECURITY DEFINER: drivers do
-- not see what warehouses expect.
create or replace function delivery.expected_in(delivery_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select r.warehouse_id from warehousing.receiving_orders r
    where r.tenant_id = app.tenant_id() and r.delivery_id = expected_in.delivery_id and r.status = 'pending' limit 1);
end $$;

-- A place without its people: {full_address, city, latitude, longitude}.
create or replace function delivery.place_without_people(place jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('full_address', place -> 'full_address', 'city', place -> 'city',
    'latitude', place -> 'latitude', 'longitude', place -> 'longitude');
end $$;

grant execute on function delivery.warehouse_place(uuid, uuid, jsonb), delivery.expected_in(uuid) to barid_caller;
