-- The ways of orders and drafts that nobody has measured yet, asked before the call that prices them (shared/routing/measured.ts). They refuse
-- nothing, change nothing and lock nothing: what the call itself refuses has no way.

-- True when a service is priced by the length of the way; one that the caller does not see is not.
create or replace function delivery.service_by_way(service_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from delivery.delivery_services s where s.id = service_by_way.service_id and s.price_per_km > 0);
end $$;

-- The way of an order: a return goes where its original says, and a staged parcel from or to no warehouse. Where an end is not written in the order
-- itself it is asked for only if it has a price. The input of delivery.delivery_create -> as delivery.road_distance_missing
create or replace function delivery.order_way_missing(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_original delivery.deliveries;
  v_written boolean := input ?| '{pickup,pickup_address_id}' and input ?| '{dropoff,dropoff_address_id}';
begin
  if coalesce((input ->> 'staged')::boolean, false) then
    input := input - '{pickup_warehouse_id,dropoff_warehouse_id}'::text[];
  end if;
  if input ->> 'delivery_flow' = 'customer_return' then
    select p.* into v_original from delivery.deliveries o
    join delivery.deliveries p on p.tenant_id = o.tenant_id and p.id = delivery.parcel_of(o) and p.status = 'delivered'
    where o.id = (input ->> 'original_delivery_id')::uuid;
    if not found then
      return null;
    end if;
    input := jsonb_strip_nulls(jsonb_build_object('delivery_service_id', delivery.return_service())
      || delivery.customer_return_ends(v_original, input)) || input || jsonb_build_object('original_delivery_id', v_original.id);
  end if;
  if not v_written and not delivery.service_by_way((input ->> 'delivery_service_id')::uuid) then
    return null;
  end if;
  return delivery.road_distance_missing(input);
end $$;

-- The way of a draft that is changed, or submitted as it is; null also where the length that it has stands, and for a service without a price per
-- kilometre. {id, ...} as delivery.delivery_update reads it -> the same
create or replace function delivery.draft_way_missing(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  d delivery.deliveries;
  v_terms jsonb;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found or not delivery.draft_changes(d) then
    return null;
  end if;
  v_terms := delivery.draft_terms(d, input);
  if not delivery.service_by_way((v_terms ->> 'delivery_service_id')::uuid)
      or delivery.draft_km_kept(d, v_terms, delivery.place_known(v_terms, 'pickup'), delivery.place_known(v_terms, 'dropoff')) is not null then
    return null;
  end if;
  -- As delivery.draft_priced_from: the price is for the way from where it was ordered.
  if d.ordered_from_snapshot is not null and v_terms -> 'kept' ? 'pickup' then
    v_terms := jsonb_set(v_terms, '{kept,pickup}', d.ordered_from_snapshot - 'id');
  end if;
  return delivery.road_distance_missing(v_terms);
end $$;
