-- The terms of a delivery: parties, both ends, service and price.

-- Whose delivery it is. Staff name somebody; everybody else orders for themselves. Of a store's order it is whose order it is, whatever
-- became of them in the company since: that was agreed when the order was placed. So are the people of a delivery that a return brings back.
-- {customer_id?, institution_user_id?, order_id?, original_delivery_id?} -> the first two. Fails: forbidden, customer_not_found.
create or replace function delivery.delivery_people(input jsonb, out customer_id uuid, out institution_user_id uuid)
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_person record;
begin
  if input ->> 'order_id' is not null then
    customer_id := (input ->> 'customer_id')::uuid;
    return;
  end if;
  if not app.sees_tenant() then
    for v_person in select v.id from (values ((input ->> 'customer_id')::uuid), ((input ->> 'institution_user_id')::uuid)) v (id) loop
      if v_person.id <> app.user_id() then
        perform app.fail('forbidden');
      end if;
    end loop;
    if app.has_role('institution') then
      institution_user_id := app.user_id();
    else
      customer_id := app.user_id();
    end if;
    return;
  end if;
  if input ->> 'original_delivery_id' is not null then
    select d.customer_id, d.institution_user_id into customer_id, institution_user_id from delivery.deliveries d
    where d.id = (input ->> 'original_delivery_id')::uuid and d.customer_id is not distinct from (input ->> 'customer_id')::uuid
      and d.institution_user_id is not distinct from (input ->> 'institution_user_id')::uuid;
    if found then
      return;
    end if;
  end if;
  for v_person in
    select v.id, v.field, u.tenant_user_type as type
    from (values ((input ->> 'customer_id')::uuid, 'customer_id'), ((input ->> 'institution_user_id')::uuid, 'institution_user_id')) v (id, field)
    left join tenancy.tenant_users u on u.tenant_id = v_tenant and u.user_id = v.id and u.is_active
    where v.id is not null
  loop
    -- An institution may be named as the customer it is.
    if v_person.type = 'institution' then
      institution_user_id := v_person.id;
    elsif v_person.type = 'customer' and v_person.field = 'customer_id' then
      customer_id := v_person.id;
    else
      perform app.fail('customer_not_found', jsonb_build_object('field', v_person.field));
    end if;
  end loop;
end $$;

-- The place of an address as the delivery that this one brings back has it at one of its ends; null: it is none of them. The address may be of
-- another person, whose order the company took, and is seen by nobody else. {original_delivery_id?}
create or replace function delivery.original_place(input jsonb, address_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select case original_place.address_id when o.dropoff_address_id then o.dropoff_snapshot when o.pickup_address_id then o.pickup_snapshot
      when o.ordered_from_address_id then o.ordered_from_snapshot end
    from delivery.deliveries o where o.id = (input ->> 'original_delivery_id')::uuid);
end $$;

-- The address of one end: one that exists, a place that is written down as an address of the owner, or where a
-- warehouse stands; of a return also an end of what it brings back. An end of a draft that its change does not name stands (kept: its snapshot),
-- also where the caller could not choose it.
-- {<end>_address_id | <end> {latitude, longitude, full_address?, ...} | <end>_warehouse_id, original_delivery_id?, kept? {<end>}}
-- Fails: address_not_found, warehouse_not_found, delivery_place_required.
create or replace function delivery.delivery_place(input jsonb, place text, owner uuid) returns delivery.addresses
language plpgsql set search_path = '' as $$
declare
  v_at jsonb := input -> place;
  v_id uuid := (input ->> (place || '_address_id'))::uuid;
  v_warehouse uuid := (input ->> (place || '_warehouse_id'))::uuid;
  v_address delivery.addresses;
begin
  if jsonb_typeof(input -> 'kept' -> place) = 'object' then
    return delivery.place_kept(input -> 'kept' -> place);
  end if;
  if v_warehouse is not null then
    select w.address_id into v_warehouse from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null;
    if not found then
      perform app.fail('warehouse_not_found', jsonb_build_object('field', place || '_warehouse_id'));
    end if;
  end if;
  if v_id is not null and not exists (select from delivery.usable_addresses u where u.id = v_id) then
    v_address := jsonb_populate_record(null::delivery.addresses, delivery.original_place(input, v_id));
    if v_address.id is not null then
      return v_address;
    end if;
    perform app.fail('address_not_found', jsonb_build_object('field', place || '_address_id'));
  end if;
  if v_id is null and v_at is not null then
    insert into delivery.addresses (tenant_id, title, full_address, city, country, latitude, longitude, contact_info, owner_user_id)
    values (app.tenant_id(), coalesce(v_at -> 'title', '{}'), coalesce(nullif(v_at ->> 'full_address', ''),
      (v_at ->> 'latitude') || ', ' || (v_at ->> 'longitude')), v_at ->> 'city', v_at ->> 'country',
      (v_at ->> 'latitude')::double precision, (v_at ->> 'longitude')::double precision, coalesce(v_at -> 'contact_info', '{}'), owner)
    returning id into v_id;
  end if;
  v_id := coalesce(v_id, v_warehouse);
  if v_id is null then
    perform app.fail('delivery_place_required', jsonb_build_object('field', place || '_address_id'));
  end if;
  select * into v_address from delivery.addresses a where a.id = v_id;
  if not found then
    perform app.fail('address_not_found', jsonb_build_object('field', place || '_address_id'));
  end if;
  return v_address;
end $$;

-- True when a delivery goes to this address, and to the place where the address is now: it may have been corrected since.
create or replace function delivery.goes_to(d delivery.deliveries, a delivery.addresses) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.dropoff_address_id = a.id and (a.latitude, a.longitude) is not distinct from
    ((d.dropoff_snapshot ->> 'latitude')::double precision, (d.dropoff_snapshot ->> 'longitude')::double precision);
end $$;

-- Refuses a window in which the receiver can be met that ends before it begins; an end that is open fits any other.
-- Fails: invalid_delivery_window.
create or replace function delivery.require_delivery_window(deliver_after timestamptz, deliver_before timestamptz) returns void
language plpgsql stable set search_path = '' as $$
begin
  if deliver_after >= deliver_before then
    perform app.fail('invalid_delivery_window', '{"field": "deliver_before"}');
  end if;
end $$;

-- The outside carrier that is to carry a delivery; null when the company itself does. One that Barid knows is kept as its code is written there;
-- another one is kept as it was sent, since a company may have an arrangement with a carrier of its own: it is told and reported by hand.
-- {carrier_type?, carrier_code?} -> its code. Fails: carrier_code_required, carrier_not_found (the company's own fleet is no outside carrier).
create or replace function delivery.carrier_checked(input jsonb) returns text
language plpgsql stable set search_path = '' as $$
declare
  v_known integration.carriers;
begin
  if input ->> 'carrier_type' is distinct from 'external' then
    return null;
  elsif input ->> 'carrier_code' is null then
    perform app.fail('carrier_code_required', '{"field": "carrier_code"}');
  end if;
  select * into v_known from integration.carriers c where c.code = lower(input ->> 'carrier_code');
  if v_known.is_internal then
    perform app.fail('carrier_not_found', '{"field": "carrier_code"}');
  end if;
  return coalesce(v_known.code, input ->> 'carrier_code');
end $$;

-- Refuses another carrier than a delivery had before (a new one: none) to all but the office, which alone chooses it: an outside carrier's
-- parcel is given to no driver, and the office has it carried. Fails: forbidden.
create or replace function delivery.require_carrier_of_office(d delivery.deliveries, before delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
begin
  if (d.carrier_type, lower(d.carrier_code)) is distinct from (coalesce(before.carrier_type, 'internal'), lower(before.carrier_code))
      and not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden', '{"field": "carrier_type", "text_key": "carrier_chosen_by_office"}');
  end if;
end $$;

-- True for the delivery of a store's order, by its id. SECURITY DEFINER: a driver of what its customer sends back does not see it.
create or replace function delivery.is_of_order(delivery_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from delivery.deliveries d where d.tenant_id = app.tenant_id() and d.id = is_of_order.delivery_id and d.order_id is not null);
end $$;
grant execute on function delivery.is_of_order(uuid) to barid_caller;

-- True for a delivery that is a store's and not its customer's: one of an order, and a return that its office ordered or that began at the
-- door, of what such a delivery brought, also by way of other returns. What customers order back is theirs, also where it is given back to
-- them. SECURITY DEFINER: as above.
-- Fails: forbidden (app.require_tenant).
create or replace function delivery.is_of_store(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  if d.order_id is not null or d.original_delivery_id is null or d.delivery_flow <> 'operational_return' and not d.made_at_door then
    return d.order_id is not null;
  end if;
  return exists (
    with recursive original as (
      select o.id, o.order_id, o.original_delivery_id, o.delivery_flow, o.made_at_door from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id
      union all
      select o.id, o.order_id, o.original_delivery_id, o.delivery_flow, o.made_at_door from original r
      join delivery.deliveries o on o.tenant_id = d.tenant_id and o.id = r.original_delivery_id
      where r.delivery_flow <> 'customer_return' or r.made_at_door
    )
    select from original r where r.order_id is not null);
end $$;
grant execute on function delivery.is_of_store(delivery.deliveries) to barid_caller;

-- A delivery of these terms, checked and priced but not written. input: the body of POST /delivery/deliveries with
-- `package` and `package_field`, as POST /delivery/price reads them, and of a draft that is changed its draft_id.
-- Fails: what delivery_people, delivery_place, delivery_priced and require_item_prices fail with, delivery_service_id_required,
-- too_many_decimals, order_amount_fixed (what a store's customer sends back is sold to nobody), forbidden (the office alone orders a return
-- that the store pays, and an outside carrier), customer_required_for_cod,
-- customer_required_for_wallet, wallet_is_the_senders, invalid_delivery_window, and what carrier_checked fails with.
create or replace function delivery.delivery_terms(input jsonb) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record;
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
  v_draft delivery.deliveries;
begin
  perform app.keep_currency();
  v_currency := app.currency();
  d.tenant_id := app.tenant_id();
  d.customer_id := v_people.customer_id;
  d.institution_user_id := v_people.institution_user_id;
  d.payer_type := input ->> 'payer_type';
  d.payment_method := input ->> 'payment_method';
  -- Of a storefront order, said by storefront.order_delivery_terms() alone: no client names it.
  d.order_id := (input ->> 'order_id')::uuid;
  d.cod_amount := coalesce((input ->> 'cod_amount')::numeric, 0);
  d.currency := v_currency.code;
  if d.cod_amount <> round(d.cod_amount, v_currency.decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', d.currency, 'decimals', v_currency.decimals));
  end if;
  if input ->> 'delivery_flow' is distinct from 'customer_return' then
    perform delivery.require_item_prices(input -> 'package', d.cod_amount, v_currency.decimals, coalesce(input ->> 'package_field', 'package'));
  end if;
  if input ->> 'delivery_flow' = 'customer_return' and (d.cod_amount > 0 or d.payer_type = 'receiver')
      and delivery.is_of_order((input ->> 'original_delivery_id')::uuid) then
    if d.cod_amount > 0 then
      perform app.fail('order_amount_fixed', '{"text_key": "return_of_order_has_no_amount"}');
    elsif not app.has_permission('manage:operations:tenant') then
      perform app.fail('forbidden', '{"text_key": "return_of_order_paid_by_customer"}');
    end if;
  end if;
  if d.cod_amount > 0 and v_owner is null then
    perform app.fail('customer_required_for_cod', '{"field": "customer_id"}');
  end if;
  if d.payment_method = 'wallet' then
    -- The wallet is the sender's; a receiver pays at the door.
    if d.payer_type <> 'sender' then
      perform app.fail('wallet_is_the_senders', '{"field": "payment_method"}');
    end if;
    if v_owner is null then
      perform app.fail('customer_required_for_wallet', '{"field": "customer_id"}');
    end if;
  end if;
  -- A zone that is redrawn meanwhile finds this delivery, or this its new zone (delivery.zones_follow).
  perform delivery.lock_service_area(d.tenant_id, false);
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  d.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_from.id), delivery.original_place(input, v_from.id),
    input -> 'kept' -> 'pickup');
  d.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_to.id), delivery.original_place(input, v_to.id),
    input -> 'kept' -> 'dropoff');
  d.pickup_warehouse_id := (input ->> 'pickup_warehouse_id')::uuid;
  d.dropoff_warehouse_id := coalesce((input ->> 'dropoff_warehouse_id')::uuid,
    case input ->> 'delivery_flow' when 'customer_return' then delivery.return_ends_in((input ->> 'original_delivery_id')::uuid, v_to.id) end);
  d.recipient := coalesce(input -> 'recipient', '{}');
  d.external_reference_id := input ->> 'external_reference_id';
  d.notes := input ->> 'notes';
  d.promised_at := app.instant(input ->> 'promised_at');
  d.deliver_after := app.instant(input ->> 'deliver_after');
  d.deliver_before := app.instant(input ->> 'deliver_before');
  perform delivery.require_delivery_window(d.deliver_after, d.deliver_before);
  d.carrier_type := coalesce(input ->> 'carrier_type', 'internal');
  d.carrier_code := delivery.carrier_checked(input);
  select * into v_draft from delivery.deliveries x where x.id = (input ->> 'draft_id')::uuid;
  perform delivery.require_carrier_of_office(d, v_draft);
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input || jsonb_build_object('agreed_km',
    delivery.draft_km_kept(v_draft, input, v_from, v_to)), delivery.draft_priced_from(v_draft, v_from), v_to);
end $$;

-- The same with its service and the price of POST /delivery/price. What an order is delivered with was agreed when it
-- was given: whatever became of the service since, the delivery is made at the fee the customer was told.
-- input: {delivery_service_id, package?, unit_size?, delivery_fee? (of an order), agreed_km? (of a draft whose way stays), and the names of
-- fields in refusals: package_field?, service_field?, dropoff_field?}
-- Fails: service_not_found, delivery_service_not_available, service_not_for_returns, invalid_package, invalid_coordinates,
-- unit_size_or_dimensions_required, can_not_use_this_delivery_for_this_unit_size.
create or replace function delivery.delivery_priced(
  d delivery.deliveries, input jsonb, from_address delivery.addresses, to_address delivery.addresses
) returns delivery.deliveries
language plpgsql stable set search_path = '' as $$
declare
  v_service delivery.delivery_services;
  v_km double precision := coalesce((input ->> 'agreed_km')::double precision,
    delivery.road_distance_km(from_address.latitude, from_address.longitude, to_address.latitude, to_address.longitude));
  v_owner uuid := coalesce(d.institution_user_id, d.customer_id);
  v_agreed boolean := d.order_id is not null;
  v_service_field jsonb := jsonb_build_object('field', coalesce(input ->> 'service_field', 'delivery_service_id'));
  v_quote record;
begin
  if input ->> 'delivery_service_id' is null then
    perform app.fail('delivery_service_id_required', '{"field": "delivery_service_id"}');
  end if;
  select * into v_service from delivery.delivery_services s
  where s.id = (input ->> 'delivery_service_id')::uuid and (s.deleted_at is null or v_agreed);
  if not found then
    perform app.fail('service_not_found', v_service_field);
  end if;
  if not v_agreed and (not v_service.active or not delivery.service_reaches(v_service, to_address.zone_id)
      or (v_owner is not null and not delivery.service_open_to(v_service, v_owner))) then
    perform app.fail('delivery_service_not_available', v_service_field);
  end if;
  if d.delivery_flow = 'customer_return' and not v_service.allow_returns then
    perform app.fail('service_not_for_returns', v_service_field);
  end if;
  v_quote := delivery.quote(v_service, input -> 'package', (input ->> 'unit_size')::numeric, v_km,
    app.settings('general', 'unit_size'), (app.currency()).decimals);
  if v_quote.error_code is not null and not (v_agreed and v_quote.error_code = 'can_not_use_this_delivery_for_this_unit_size') then
    perform app.fail(v_quote.error_code,
      coalesce(v_quote.error_params, '{}') || jsonb_build_object('field', coalesce(input ->> 'package_field', 'package')));
  end if;
  if v_km is null and v_service.price_per_km > 0 and not v_agreed then
    perform app.fail('invalid_coordinates',
      jsonb_build_object('field', case when from_address.latitude is null then 'pickup_location'
        else coalesce(input ->> 'dropoff_field', 'delivery_location') end));
  end if;
  d.delivery_service_id := v_service.id;
  d.service_snapshot := delivery.service_to_snapshot(v_service);
  d.package_details := input -> 'package';
  -- The customer of an order was told its fee, and paid or pays it with the order.
  d.delivery_fee := case when v_agreed then (input ->> 'delivery_fee')::numeric else v_quote.price end;
  d.unit_size := v_quote.unit_size;
  d.unit_size_source := v_quote.unit_size_source;
  d.distance_km := round(v_km::numeric, 3);
  return d;
end $$;
