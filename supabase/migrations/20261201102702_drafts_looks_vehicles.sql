-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_place(input jsonb, place text, owner uuid)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_submit(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_terms jsonb;
  t delivery.deliveries;
begin
  if not delivery.draft_changes(d) then
    return delivery.delivery_correct(d, input);
  end if;
  perform delivery.require_owner(d);
  v_terms := delivery.draft_terms(d, input);
  if jsonb_strip_nulls(input) ? 'recipient' then
    v_terms := v_terms || jsonb_build_object('recipient', delivery.recipient_corrected(d.recipient, input -> 'recipient'));
  end if;
  t := delivery.delivery_terms(v_terms);
  if (t.pickup_address_id, t.pickup_warehouse_id) is distinct from (d.pickup_address_id, d.pickup_warehouse_id)
      and (delivery.waiting_on_its_way(d)).id is not null then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', case when v_terms ? 'pickup_address_id' then 'pickup_address_id'
      when v_terms ? 'pickup_warehouse_id' then 'pickup_warehouse_id' else 'pickup' end, 'text_key', 'reason_draft_lies_elsewhere'));
  end if;
  perform delivery.delivery_rewrite(d, t, v_terms);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_ordered(d delivery.deliveries)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_priced_from(d delivery.deliveries, from_address delivery.addresses)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when d.ordered_from_snapshot is not null and from_address.id = d.pickup_address_id
    then jsonb_populate_record(from_address, d.ordered_from_snapshot - 'id') else from_address end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_way_missing(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.handovers_undo(ended uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_events jsonb;
begin
  -- In the order of their ids those that delivery.vehicle_again may lock.
  perform from delivery.vehicles v
  where v.tenant_id = v_tenant and v.id in (
    select f.vehicle_id from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    join delivery.drivers d on d.tenant_id = f.tenant_id and d.user_id = f.driver_id and d.vehicle_id is null
    where a.tenant_id = v_tenant and a.id = any (ended))
  order by v.id for no key update;
  with back as (
    insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by,
      responded_at, estimated_pickup_time, estimated_delivery_time)
    select v_tenant, a.delivery_id, f.driver_id, delivery.vehicle_again(f.driver_id, f.vehicle_id), 'accepted', f.sequence_number, a.units, f.notes,
      a.assigned_by, clock_timestamp(), f.estimated_pickup_time, f.estimated_delivery_time
    from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = v_tenant and a.id = any (ended) and a.status in ('rejected', 'returned')
    returning id, driver_id, delivery_id, units
  ), told as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select v_tenant, b.driver_id, 'assignment_created', jsonb_build_object('assignment_id', b.id, 'assignment_count', 1,
      'total_units', b.units, 'requires_driver_response', false) || delivery.codes_noted(v_tenant, array[b.delivery_id])
    from back b
  )
  select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created', 'entity_type', 'assignment',
    'entity_id', b.id, 'event_data', jsonb_build_object('assignment_ids', array[b.id], 'driver_id', b.driver_id, 'status', 'accepted',
      'delivery_ids', array[b.delivery_id], 'total_units', b.units, 'actor_id', app.user_id())) order by b.id)
  into v_events from back b;
  if v_events is not null then
    perform app.events_add(v_events);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_load(driver uuid, input jsonb, OUT vehicle uuid, OUT assignment_ids uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_held uuid[];
begin
  if not input ? 'vehicle_id' then
    return;
  end if;
  v_held := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = driver and a.status in ('pending', 'assigned', 'accepted'));
  perform delivery.lock_deliveries(v_held);
  select d.vehicle_id into vehicle from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver for no key update;
  -- Deliveries that were assigned while this waited are not held, and stay.
  assignment_ids := array(select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = driver and a.vehicle_id is not distinct from vehicle and a.delivery_id = any (v_held)
      and a.status in ('pending', 'assigned', 'accepted'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_reassign(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  if o.assignment_id is null or exists (select from delivery.assignments x
      where x.tenant_id = o.tenant_id and x.delivery_id = d.id and x.status in ('assigned', 'accepted')) then
    return;
  end if;
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by, responded_at,
    from_warehouse_id, to_warehouse_id, route_details, estimated_pickup_time, estimated_delivery_time)
  select x.tenant_id, x.delivery_id, x.driver_id, delivery.vehicle_again(x.driver_id, x.vehicle_id), 'accepted', x.sequence_number, x.units,
    x.notes, app.user_id(), clock_timestamp(), w.from_warehouse_id, w.to_warehouse_id, x.route_details, x.estimated_pickup_time, x.estimated_delivery_time
  from delivery.assignments x
  cross join lateral delivery.ways_ahead(x.tenant_id, array[x.delivery_id]) w
  where x.tenant_id = o.tenant_id and x.id = o.assignment_id
  returning * into a;
  update delivery.outcomes x set new_assignment_id = a.id where x.tenant_id = o.tenant_id and x.id = o.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created',
    'entity_type', 'assignment', 'entity_id', a.id, 'event_data', jsonb_build_object('assignment_ids', array[a.id], 'driver_id', a.driver_id,
      'status', a.status, 'delivery_ids', array[a.delivery_id], 'total_units', a.units, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.place_kept(snapshot jsonb)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_populate_record(null::delivery.addresses,
    coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = (snapshot ->> 'id')::uuid), snapshot));
end $function$;

CREATE OR REPLACE FUNCTION delivery.place_known(input jsonb, place text)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> (place || '_address_id'))::uuid;
  a delivery.addresses;
begin
  if jsonb_typeof(input -> 'kept' -> place) = 'object' then
    return delivery.place_kept(input -> 'kept' -> place);
  elsif v_id is not null then
    select x.* into a from delivery.addresses x where x.id = v_id and exists (select from delivery.usable_addresses u where u.id = x.id);
    return case when a.id is not null then a else jsonb_populate_record(null::delivery.addresses, delivery.original_place(input, v_id)) end;
  elsif jsonb_typeof(input -> place) = 'object' then
    a.latitude := (input #>> array[place, 'latitude'])::double precision;
    a.longitude := (input #>> array[place, 'longitude'])::double precision;
    return a;
  end if;
  select x.* into a from warehousing.warehouses w
  join delivery.addresses x on x.tenant_id = w.tenant_id and x.id = w.address_id
  where w.id = (input ->> (place || '_warehouse_id'))::uuid and w.deleted_at is null;
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.vehicle_again(driver uuid, before uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_own uuid;
  v_active boolean;
begin
  select d.vehicle_id into v_own from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver;
  if before is null or before = v_own then
    return v_own;
  elsif exists (select from delivery.assignments a
      where a.tenant_id = v_tenant and a.vehicle_id = before and a.driver_id = driver and a.status in ('pending', 'assigned', 'accepted')) then
    return before;
  elsif v_own is not null then
    return v_own;
  end if;
  select v.is_active into v_active from delivery.vehicles v where v.tenant_id = v_tenant and v.id = before for no key update;
  return case when v_active and not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.vehicle_id = before)
    and not exists (select from delivery.assignments a
      where a.tenant_id = v_tenant and a.vehicle_id = before and a.status in ('pending', 'assigned', 'accepted')) then before end;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."vehicle_again"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.zones_follow(tenant uuid, boxes text, many integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_boxes jsonb := boxes::jsonb;
  v_ids uuid[];
  v_awaited uuid[];
begin
  perform set_config('app.tenant_id', tenant::text, true);
  -- Back from its door, and to be received: what left a warehouse sets out again from there, and its parcel with it.
  v_awaited := array(
    select f.id from warehousing.receiving_orders r
    join delivery.deliveries l on l.tenant_id = r.tenant_id and l.id = r.delivery_id and l.status = 'returned' and delivery.leaves_warehouse(l)
    cross join unnest(array[l.id, l.parent_id]) f (id)
    where r.tenant_id = tenant and r.status = 'pending' and f.id is not null);
  v_ids := array(
    select d.id from delivery.deliveries d
    where d.tenant_id = tenant
      and (d.status in ('draft', 'pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
        or d.id = any (v_awaited) and d.status = 'returned')
      and (d.pickup_zone_id is distinct from delivery.zone_of_end(tenant, d.pickup_address_id, d.pickup_snapshot, d.pickup_zone_id, v_boxes)
        or d.dropoff_zone_id is distinct from delivery.zone_of_end(tenant, d.dropoff_address_id, d.dropoff_snapshot, d.dropoff_zone_id, v_boxes))
    order by d.id limit many);
  if v_ids = '{}' then
    return 0;
  end if;
  perform delivery.lock_deliveries(v_ids);
  -- As they are now: one may have been sent elsewhere, or have ended, while this waited.
  update delivery.deliveries d set
    pickup_zone_id = z.pickup,
    pickup_snapshot = d.pickup_snapshot || jsonb_build_object('zone_id', z.pickup),
    dropoff_zone_id = z.dropoff,
    dropoff_snapshot = d.dropoff_snapshot || jsonb_build_object('zone_id', z.dropoff)
  from (
    select x.id, delivery.zone_of_end(tenant, x.pickup_address_id, x.pickup_snapshot, x.pickup_zone_id, v_boxes) as pickup,
      delivery.zone_of_end(tenant, x.dropoff_address_id, x.dropoff_snapshot, x.dropoff_zone_id, v_boxes) as dropoff
    from delivery.deliveries x where x.tenant_id = tenant and x.id = any (v_ids)
  ) z
  where d.tenant_id = tenant and d.id = z.id and (d.status not in ('delivered', 'returned', 'cancelled') or d.id = any (v_awaited) and d.status = 'returned')
    and (z.pickup, z.dropoff) is distinct from (d.pickup_zone_id, d.dropoff_zone_id);
  return cardinality(v_ids);
end $function$;

CREATE OR REPLACE FUNCTION money.payments_reconcile()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key)
  select p.tenant_id, 'payment.reconcile', jsonb_build_object('payment_id', p.id), p.id::text
  from money.payments p
  cross join lateral (select money.payment_may_come(p) as is_waited_for) w
  where p.payment_method = 'gateway' and p.status <> 'SUCCESS' and p.redirect_url is not null
    and (w.is_waited_for or p.final_answer_at is null and not exists (
      select from money.payment_webhook_events e where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched'))
    and p.created_at > now() - interval '72 hours' and p.created_at < now() - interval '1 minute'
    and (p.created_at > now() - interval '24 hours 15 minutes' or p.expires_at <= now() and p.final_answer_at is null)
    and (p.last_checked_at is null or not w.is_waited_for and p.last_checked_at < p.processed_at
      or p.last_checked_at < now() - case when p.created_at > now() - interval '24 hours 15 minutes' and w.is_waited_for
        then interval '4 minutes' else interval '1 hour' end)
    and not exists (select from app.jobs j where j.entity_key = p.id::text and j.status in ('queued', 'running'))
  order by p.last_checked_at nulls first limit 1000;
  get diagnostics v_count = row_count;
  perform money.top_ups_end();
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION storefront.domains_recheck()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  update storefront.custom_domains d set status = 'archived', disconnected_at = now()
  where d.status = 'pending_dns' and d.pending_since <= now() - interval '7 days' and not app.is_archived(d.tenant_id);
  insert into app.jobs (tenant_id, kind, payload, entity_key)
  select d.tenant_id, 'storefront.verify_domain', jsonb_build_object('domain_id', d.id), d.id::text
  from (
    select p.tenant_id, p.id from storefront.custom_domains p where p.status = 'pending_dns'
    union all
    select a.tenant_id, a.id from storefront.custom_domains a where a.status = 'active' and a.dns_checked_at <= now() - interval '1 day'
  ) d
  where not app.is_archived(d.tenant_id)
    and not exists (select from app.jobs j where j.entity_key = d.id::text and j.status in ('queued', 'running'));
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."draft_priced_from"(delivery.deliveries, delivery.addresses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_priced_from"(delivery.deliveries, delivery.addresses) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."place_kept"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."place_kept"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."vehicle_again"(uuid, uuid) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201102702';
end $$;

grant execute on function private.schema_version() to barid_api;
