-- The ways that the orders of items are priced by and nobody has measured yet, from wherever their prices begin to the one destination: of 20
-- beginnings, which no batch has in practice; others go as the crow flies. Of items whose service has no price per kilometre there are none.
-- {item_ids, destination_branch_id | destination_address_id, delivery_service_id?} -> [{from: [latitude, longitude], to: [...]}]. Refuses nothing.
create or replace function delivery.manifest_ways_missing(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_settings jsonb := tenancy.manifest_settings();
  v_from_source boolean := v_settings ->> 'delivery_fee_origin' = 'source_location';
  v_service uuid := (input ->> 'delivery_service_id')::uuid;
  v_default text := v_settings ->> 'default_delivery_service_id';
  v_to delivery.addresses;
begin
  select a.* into v_to from delivery.addresses a
  where a.id = coalesce((select b.address_id from delivery.institution_branches b where b.id = (input ->> 'destination_branch_id')::uuid),
    (input ->> 'destination_address_id')::uuid);
  return (
    select coalesce(jsonb_agg(jsonb_build_object('from', jsonb_build_array(w.latitude, w.longitude),
      'to', jsonb_build_array(v_to.latitude, v_to.longitude))), '[]')
    from (
      select distinct o.latitude, o.longitude
      from delivery.transfer_manifest_items i
      join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
      join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id
      left join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
      join delivery.addresses a on a.tenant_id = i.tenant_id and a.id = coalesce(d.ordered_from_address_id, d.pickup_address_id, p.address_id)
      cross join lateral (select
        case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end as latitude,
        case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end as longitude) o
      where i.id = any (app.uuids(input -> 'item_ids')) and o.latitude is not null and o.longitude is not null
        and v_to.latitude is not null and v_to.longitude is not null
        and delivery.service_by_way(coalesce(v_service, d.delivery_service_id, v_default::uuid))
        and delivery.road_distance_known(o.latitude, o.longitude, v_to.latitude, v_to.longitude) is null
      limit 20) w);
end $$;
