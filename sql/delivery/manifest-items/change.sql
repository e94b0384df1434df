-- The change of an item's order while it is made: priced, then settled, unless it has a failure. `payment_id` is what was paid, `same` says
-- that the order goes there already; `wallet_id` (the institution's) and `new_payment_id` are those of a change of the price.
do $$
begin
  if to_regtype('private.order_change') is null then
    create type private.order_change as (
      position bigint, item_id uuid, manifest_id uuid, delivery_id uuid, delivery_code bigint, institution_user_id uuid, payment_id uuid,
      service_id uuid, price numeric, difference numeric, unit_size numeric, unit_size_source text, distance_km numeric, same boolean,
      wallet_id uuid, new_payment_id uuid, failure text, failure_params jsonb);
  end if;
end $$;

-- Gives the orders of manifest items another destination: priced anew, the difference booked between the institution's
-- wallet and the tenant's. Sets, not loops: one statement each for payments, deliveries and items.
--
-- {item_ids (in scan order), destination (from delivery.manifest_change_destination), dry_run?}
-- -> {changed: [{item_id, price_difference}], failures: [{item_id, code, params?}]}
-- An item fails alone; one that goes there already, to the place where the address is now, is changed by nothing. All of them fail where the
-- destination is gone. A dry run checks, and neither locks nor writes.
-- Locks: the destination (for key share), manifests by id (shared), items by id, deliveries by id, wallets by id.
create or replace function delivery.manifest_orders_change(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb := input -> 'destination';
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_changes private.order_change[];
  v_obstacle text := delivery.manifest_destination_obstacle(v_destination, not v_dry_run);
begin
  if v_obstacle is not null then
    return jsonb_build_object('changed', '[]'::jsonb, 'failures', delivery.items_failed(v_ids, v_obstacle));
  end if;
  if not v_dry_run then
    perform from delivery.transfer_manifests m
    where m.id in (select i.manifest_id from delivery.transfer_manifest_items i where i.id = any (v_ids))
    order by m.id for share;
    perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;
    perform delivery.lock_deliveries(array(select i.delivery_id from delivery.transfer_manifest_items i
      where i.id = any (v_ids) and i.delivery_id is not null));
  end if;
  v_changes := delivery.order_changes_settle(delivery.order_changes_evaluate(v_ids, v_destination), v_dry_run);
  if not v_dry_run then
    perform delivery.order_changes_write(
      array(select c from unnest(v_changes) c where c.failure is null and not c.same order by c.position), v_destination);
  end if;
  return (
    select jsonb_build_object(
      'changed', coalesce(jsonb_agg(jsonb_build_object('item_id', c.item_id, 'price_difference', c.difference)
        order by c.position) filter (where c.failure is null), '[]'),
      'failures', coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', c.item_id, 'code', c.failure,
        'params', c.failure_params)) order by c.position) filter (where c.failure is not null), '[]'))
    from unnest(v_changes) c);
end $$;

-- Evaluates and prices the change of each item's order, in the order the items were sent. Prices begin where those of new orders do;
-- without a service in the destination each order keeps its own, which was agreed with its units.
-- failure: item_not_found, item_void, item_has_no_order, delivery_ended, delivery_already_picked_up,
-- shipment_with_other_carrier, delivery_service_not_available, driver_not_allowed_in_delivery_zone,
-- delivery_already_assigned (its size would be another), invalid_coordinates (the service charges by distance, and nobody knows it), and those of
-- delivery.quote.
create or replace function delivery.order_changes_evaluate(item_ids uuid[], destination jsonb) returns private.order_change[]
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_service uuid := (destination ->> 'service_id')::uuid;
  v_units jsonb := app.settings('general', 'unit_size');
  v_decimals integer := (app.currency()).decimals;
  v_from_source boolean := tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location';
  v_to delivery.addresses;
begin
  select a.* into v_to from delivery.addresses a where a.id = (destination ->> 'address_id')::uuid;
  return array(
    select row(asked.position, asked.id, i.manifest_id, d.id, d.delivery_code, d.institution_user_id, p.id, s.id,
      q.price, case when g.same then 0 else q.price - d.delivery_fee end, q.unit_size,
      case when k.own then d.unit_size_source else q.unit_size_source end, round(k.km::numeric, 3),
      coalesce(g.same, false), null, null, f.code, case
        when f.code in ('delivery_ended', 'delivery_already_picked_up') then jsonb_build_object('status', d.status)
        when f.code = q.error_code then coalesce(q.error_params, '{}') || '{"field": "package_details"}'
        when f.code = 'invalid_coordinates' then jsonb_build_object('field', case when v_to.latitude is not null then 'item_ids'
          when v_branch is not null then 'destination_branch_id' else 'destination_address_id' end) end)::private.order_change
    from unnest(item_ids) with ordinality asked (id, position)
    left join delivery.transfer_manifest_items i on i.id = asked.id
    left join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    left join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
    left join money.payments p on p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'
    left join delivery.delivery_services s on s.tenant_id = d.tenant_id and s.id = coalesce(v_service, d.delivery_service_id)
    left join delivery.addresses a on a.tenant_id = d.tenant_id and a.id = coalesce(d.ordered_from_address_id, d.pickup_address_id)
    cross join lateral (select delivery.order_has_destination(i, d, v_branch, v_to.id, s.id) and delivery.goes_to(d, v_to) as same) g
    cross join lateral (select delivery.road_distance_km(
      case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end,
      case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end,
      v_to.latitude, v_to.longitude) as km, coalesce(s.id = d.delivery_service_id, false) as own) k
    cross join lateral delivery.quote(case when k.own then delivery.service_with_units(s, d.unit_size) else s end,
      case when not k.own then d.package_details end, case when k.own then d.unit_size end, k.km, v_units, v_decimals) q
    cross join lateral (select coalesce(delivery.order_change_obstacle(asked.id, i, d),
      case when not g.same then delivery.order_change_misfit(d, s, v_to.zone_id, q.unit_size,
        coalesce(q.error_code, case when k.km is null and s.price_per_km > 0 then 'invalid_coordinates' end)) end) as code) f
    order by asked.position);
end $$;

-- Why the order of an item cannot go anywhere else any more, or null.
create or replace function delivery.order_change_obstacle(item_id uuid, i delivery.transfer_manifest_items, d delivery.deliveries)
returns text
language plpgsql stable set search_path = '' as $$
begin
  return case
    when i.id is null then 'item_not_found'
    when i.status = 'void' then 'item_void'
    when d.id is null then 'item_has_no_order'
    when d.status in ('delivered', 'returned', 'cancelled') then 'delivery_ended'
    when d.status not in ('pending', 'assigned', 'accepted') or delivery.waits_on_the_road(d) or exists (
      select from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id
        and l.status not in ('draft', 'pending', 'assigned', 'accepted')) or delivery.return_under_way(d.id) is not null then 'delivery_already_picked_up'
    when exists (select from integration.carrier_shipments c
      where c.tenant_id = d.tenant_id and c.delivery_id = d.id and delivery.booking_binds(c)) then 'shipment_with_other_carrier'
  end;
end $$;

-- True when a driver may go into a zone; a place outside of every zone (null) is for drivers of all zones.
create or replace function delivery.driver_reaches(tenant uuid, driver uuid, zone_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from delivery.drivers r where r.tenant_id = tenant and r.user_id = driver and r.all_zones)
    or exists (select from delivery.driver_zones z
      where z.tenant_id = tenant and z.driver_id = driver and z.zone_id = driver_reaches.zone_id);
end $$;

-- Why an order cannot go to this zone with this service, or null; of its own service the zones alone are asked. A driver who has it already
-- keeps it only where they may go, and at the size that their load counts.
create or replace function delivery.order_change_misfit(
  d delivery.deliveries, service delivery.delivery_services, zone_id uuid, unit_size numeric, quote_error text
) returns text
language plpgsql stable set search_path = '' as $$
declare
  v_driver uuid;
begin
  if not (case when service.id = d.delivery_service_id then delivery.ordered_reaches(service, zone_id)
      else delivery.service_allows(service, d.institution_user_id, zone_id) end) then
    return 'delivery_service_not_available';
  elsif quote_error is not null then
    return quote_error;
  end if;
  select a.driver_id into v_driver from delivery.open_assignments a
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id limit 1;
  if found and not delivery.driver_reaches(d.tenant_id, v_driver, zone_id) then
    return 'driver_not_allowed_in_delivery_zone';
  end if;
  return case when unit_size <> d.unit_size and exists (
    select from delivery.deliveries l
    join delivery.open_assignments a on a.tenant_id = l.tenant_id and a.delivery_id = l.id
    where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id)) then 'delivery_already_assigned' end;
end $$;
