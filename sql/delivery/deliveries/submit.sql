-- A draft is submitted: it is ordered as it is shown, or refused where it could not be ordered so now.

-- The way that a draft's fee is for, while both of its ends are where they were: a road that was measured since, or whose measure has expired,
-- changes no fee by itself. Its length is kept to the metre, so the way as the crow flies is worked out again. Null: to be found anew.
create or replace function delivery.draft_km(d delivery.deliveries, from_address delivery.addresses, to_address delivery.addresses)
returns double precision
language plpgsql stable set search_path = '' as $$
declare
  v_km double precision := app.distance_km(from_address.latitude, from_address.longitude, to_address.latitude, to_address.longitude);
begin
  return case when delivery.goes_to(d, to_address)
      and (from_address.latitude, from_address.longitude) is not distinct from
        ((d.pickup_snapshot ->> 'latitude')::double precision, (d.pickup_snapshot ->> 'longitude')::double precision)
    then case when round(v_km::numeric, 3) = d.distance_km then v_km else d.distance_km end end;
end $$;

-- The same for a draft d that is changed to the terms of input; null also where they name another service, whose price nobody has agreed to: it
-- is for the way as it is known when it is chosen.
create or replace function delivery.draft_km_kept(
  d delivery.deliveries, input jsonb, from_address delivery.addresses, to_address delivery.addresses
) returns double precision
language plpgsql stable set search_path = '' as $$
begin
  return case when d.delivery_service_id = (input ->> 'delivery_service_id')::uuid then delivery.draft_km(d, from_address, to_address) end;
end $$;

-- Where the way begins that the price of a draft d is for, fetched at an address: where it was ordered from, as long as it is fetched where a waybill
-- has brought it.
create or replace function delivery.draft_priced_from(d delivery.deliveries, from_address delivery.addresses) returns delivery.addresses
language plpgsql stable set search_path = '' as $$
begin
  return case when d.ordered_from_snapshot is not null and from_address.id = d.pickup_address_id
    then jsonb_populate_record(from_address, d.ordered_from_snapshot - 'id') else from_address end;
end $$;

-- Refuses a draft for somebody who is gone, or through a warehouse that stages nothing. What a person sends back is theirs all the same.
-- SECURITY DEFINER: who submits a draft that the office made sees neither its other person nor each warehouse.
-- Fails: customer_not_found, warehouse_not_found, forbidden (app.require_tenant).
create or replace function delivery.require_draft_stands(d delivery.deliveries) returns void
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  perform app.fail('customer_not_found', jsonb_build_object('field', v.field))
  from (values (d.customer_id, 'customer_id'), (d.institution_user_id, 'institution_user_id')) v (id, field)
  where v.id is not null and d.original_delivery_id is null and not exists (
    select from tenancy.tenant_users u where u.tenant_id = d.tenant_id and u.user_id = v.id and u.is_active
      and u.tenant_user_type in ('customer', 'institution'));
  if d.staging_warehouse_id is not null and not exists (
      select from warehousing.warehouses w
      where w.tenant_id = d.tenant_id and w.id = d.staging_warehouse_id and delivery.warehouse_stages(w)) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
end $$;

grant execute on function delivery.require_draft_stands(delivery.deliveries) to barid_caller;

-- A draft d as it is ordered now: checked and priced anew as a change that says nothing does it, but for what the office alone may put into
-- one, which stands. The fee is the one that the draft shows.
-- Fails: what delivery.require_draft_stands, delivery.carrier_checked and delivery.delivery_priced fail with, delivery_price_changed (a change of
-- the draft takes the new price).
create or replace function delivery.draft_ordered(d delivery.deliveries) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  t delivery.deliveries := d;
  v_from delivery.addresses;
  v_to delivery.addresses;
  v_people record;
begin
  perform app.keep_currency();
  perform delivery.require_draft_stands(d);
  perform delivery.carrier_checked(jsonb_build_object('carrier_type', d.carrier_type, 'carrier_code', d.carrier_code));
  -- One of two persons would be forbidden to name the other.
  if app.sees_tenant() or num_nonnulls(d.customer_id, d.institution_user_id) < 2 then
    v_people := delivery.delivery_people(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
      'original_delivery_id', d.original_delivery_id));
    t.customer_id := v_people.customer_id;
    t.institution_user_id := v_people.institution_user_id;
  end if;
  t.currency := (app.currency()).code;
  perform delivery.lock_service_area(d.tenant_id, false);
  -- An address that its owner alone sees is where the draft says.
  t.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.pickup_address_id), d.pickup_snapshot);
  t.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.dropoff_address_id), d.dropoff_snapshot);
  v_from := jsonb_populate_record(null::delivery.addresses, t.pickup_snapshot);
  v_to := jsonb_populate_record(null::delivery.addresses, t.dropoff_snapshot);
  t.pickup_zone_id := v_from.zone_id;
  t.dropoff_zone_id := v_to.zone_id;
  t := delivery.delivery_priced(t, jsonb_strip_nulls(jsonb_build_object('delivery_service_id', d.delivery_service_id,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details,
    'agreed_km', delivery.draft_km(d, v_from, v_to))), delivery.draft_priced_from(d, v_from), v_to);
  if (t.delivery_fee, t.currency) is distinct from (d.delivery_fee, d.currency) then
    perform app.fail('delivery_price_changed', jsonb_build_object('price_before', d.delivery_fee, 'price_after', t.delivery_fee,
      'currency', t.currency));
  end if;
  return t;
end $$;

-- draft -> pending: the order is given and paid for, if it could be given now. {id} -> the delivery
-- An owner's return stays a draft where the office approves returns: it is requested. Ordered by the office, it is approved, as it was asked
-- for. What a waybill made of a piece of inventory stays a draft, whatever became of the waybill. What a waybill has brought to where it goes has
-- arrived there once it is ordered, as an order has: it ends, or waits for who takes its cash.
-- Fails: delivery_not_found, forbidden, invalid_status_transition (also with its parcel on the road, or given up as lost), delivery_is_for_waybill,
-- delivery_goes_in_legs, return_request_pending, what delivery.draft_ordered fails with, insufficient_wallet_balance.
create or replace function delivery.delivery_submit(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_asked boolean := false;
  v_asks boolean := false;
  v_arrived boolean;
begin
  perform delivery.require_owner(d);
  if d.parent_id is not null then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'pending'));
  end if;
  perform delivery.require_move(d, '{draft}', 'pending');
  perform delivery.require_draft_here(d, 'pending');
  perform delivery.require_not_for_waybill(d);
  perform delivery.require_carried_in_one(d.delivery_flow, d.carrier_type);
  if d.delivery_flow = 'customer_return' then
    v_asks := delivery.return_needs_approval();
    if not v_asks then
      v_asked := delivery.return_request_decide(d.id, 'approved', null);
    elsif exists (select from delivery.return_requests q where q.tenant_id = d.tenant_id and q.delivery_id = d.id) then
      perform app.fail('return_request_pending');
    end if;
  end if;
  v_arrived := d.delivery_flow = 'standard' and d.transfer_kind is null and d.current_warehouse_id is not distinct from d.dropoff_warehouse_id
    and (delivery.waiting_on_its_way(d)).id is not null;
  -- A return that the office approves was agreed when it was asked for.
  if not v_asked then
    d := delivery.draft_ordered(d);
  end if;
  update delivery.deliveries x set status = case when v_asks then x.status else 'pending' end, customer_id = d.customer_id,
    institution_user_id = d.institution_user_id, service_snapshot = d.service_snapshot, unit_size = d.unit_size,
    unit_size_source = d.unit_size_source, distance_km = d.distance_km, pickup_snapshot = d.pickup_snapshot,
    dropoff_snapshot = d.dropoff_snapshot, pickup_zone_id = d.pickup_zone_id, dropoff_zone_id = d.dropoff_zone_id
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_asks then
    perform delivery.return_request_ask(d.id);
  else
    perform delivery.delivery_confirm(d);
  end if;
  if v_arrived then
    -- One that was drafted for it would take it on.
    perform warehousing.waybill_remove_delivery(d.id);
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id;
    perform warehousing.transfer_arrives(d.id);
  end if;
  return delivery.delivery_created_to_json(d.id);
end $$;
