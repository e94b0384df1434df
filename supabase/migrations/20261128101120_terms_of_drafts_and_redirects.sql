-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_legs_create(parent_ids uuid[], warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_first bigint := app.take_numbers('delivery_code', 2 * cardinality(parent_ids));
  -- A customer who submits a draft of the office may not see the warehouse.
  v_place jsonb := delivery.warehouse_place(app.tenant_id(), warehouse, null);
  v_address uuid := v_place ->> 'id';
  v_zone uuid := v_place ->> 'zone_id';
begin
  insert into delivery.deliveries (tenant_id, delivery_code, barcode, parent_id, leg, sequence_plan, delivery_flow, status,
    customer_id, institution_user_id, delivery_service_id, payer_type, payment_method, delivery_fee, currency, unit_size,
    unit_size_source, package_details, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot,
    pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, recipient, service_snapshot, manifest_id,
    source_snapshot, snapshot_version, label_assignment, label_outdated, external_reference_id, notes, promised_at, created_by,
    deliver_after, deliver_before)
  select p.tenant_id, v_first + 2 * (asked.position - 1) + g.sequence_plan - 1, p.barcode, p.id, g.leg, g.sequence_plan, g.flow, g.status,
    p.customer_id, p.institution_user_id, p.delivery_service_id, p.payer_type, p.payment_method, 0, p.currency, p.unit_size,
    p.unit_size_source, p.package_details,
    case g.leg when 'A' then p.pickup_address_id else v_address end, case g.leg when 'A' then v_address else p.dropoff_address_id end,
    case g.leg when 'A' then p.pickup_snapshot else v_place end, case g.leg when 'A' then v_place else p.dropoff_snapshot end,
    case g.leg when 'A' then p.pickup_zone_id else v_zone end, case g.leg when 'A' then v_zone else p.dropoff_zone_id end,
    case g.leg when 'B' then warehouse end, case g.leg when 'A' then warehouse end,
    p.recipient, p.service_snapshot, p.manifest_id, p.source_snapshot, p.snapshot_version, p.label_assignment, p.label_outdated, p.external_reference_id,
    p.notes, p.promised_at, p.created_by, p.deliver_after, p.deliver_before
  from unnest(parent_ids) with ordinality asked (id, position)
  join delivery.deliveries p on p.tenant_id = app.tenant_id() and p.id = asked.id
  cross join (values ('A', 1, 'pnd_inbound', 'pending'), ('B', 2, 'pnd_outbound', 'draft')) g (leg, sequence_plan, flow, status)
  order by asked.position, g.sequence_plan;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_priced(d delivery.deliveries, input jsonb, from_address delivery.addresses, to_address delivery.addresses)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
begin
  perform delivery.require_owner(d);
  if d.parent_id is not null then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'pending'));
  end if;
  perform delivery.require_move(d, '{draft}', 'pending');
  perform delivery.require_not_for_waybill(d);
  if d.delivery_flow = 'customer_return' then
    v_asks := delivery.return_needs_approval();
    if not v_asks then
      v_asked := delivery.return_request_decide(d.id, 'approved', null);
    elsif exists (select from delivery.return_requests q where q.tenant_id = d.tenant_id and q.delivery_id = d.id) then
      perform app.fail('return_request_pending');
    end if;
  end if;
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
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_km(d delivery.deliveries, from_address delivery.addresses, to_address delivery.addresses)
 RETURNS double precision
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_km double precision := app.distance_km(from_address.latitude, from_address.longitude, to_address.latitude, to_address.longitude);
begin
  return case when delivery.goes_to(d, to_address)
      and (from_address.latitude, from_address.longitude) is not distinct from
        ((d.pickup_snapshot ->> 'latitude')::double precision, (d.pickup_snapshot ->> 'longitude')::double precision)
    then case when round(v_km::numeric, 3) = d.distance_km then v_km else d.distance_km end end;
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
  -- One of two persons would be forbidden to name the other.
  if app.sees_tenant() or num_nonnulls(d.customer_id, d.institution_user_id) < 2 then
    v_people := delivery.delivery_people(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
      'original_delivery_id', d.original_delivery_id));
    t.customer_id := v_people.customer_id;
    t.institution_user_id := v_people.institution_user_id;
  end if;
  t.currency := (app.currency()).code;
  -- An address that its owner alone sees is where the draft says.
  t.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.pickup_address_id), d.pickup_snapshot);
  t.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.dropoff_address_id), d.dropoff_snapshot);
  v_from := jsonb_populate_record(null::delivery.addresses, t.pickup_snapshot);
  v_to := jsonb_populate_record(null::delivery.addresses, t.dropoff_snapshot);
  t.pickup_zone_id := v_from.zone_id;
  t.dropoff_zone_id := v_to.zone_id;
  t := delivery.delivery_priced(t, jsonb_strip_nulls(jsonb_build_object('delivery_service_id', d.delivery_service_id,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details,
    'agreed_km', delivery.draft_km(d, v_from, v_to))), v_from, v_to);
  if (t.delivery_fee, t.currency) is distinct from (d.delivery_fee, d.currency) then
    perform app.fail('delivery_price_changed', jsonb_build_object('price_before', d.delivery_fee, 'price_after', t.delivery_fee,
      'currency', t.currency));
  end if;
  return t;
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_change_misfit(d delivery.deliveries, service delivery.delivery_services, zone_id uuid, unit_size numeric, quote_error text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_changes_evaluate(item_ids uuid[], destination jsonb)
 RETURNS private.order_change[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.ordered_reaches(service delivery.delivery_services, zone_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return service.deleted_at is not null or delivery.service_reaches(service, zone_id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.ordered_service(d delivery.deliveries)
 RETURNS delivery.delivery_services
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services;
begin
  perform app.require_tenant(d.tenant_id);
  select * into strict v_service from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  return v_service;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_terms(p delivery.deliveries, to_address delivery.addresses, charge_wallet boolean, OUT priced delivery.deliveries, OUT charged text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_draft_stands(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  perform app.fail('customer_not_found', jsonb_build_object('field', v.field))
  from (values (d.customer_id, 'customer_id'), (d.institution_user_id, 'institution_user_id')) v (id, field)
  where v.id is not null and d.original_delivery_id is null and not exists (
    select from tenancy.tenant_users u where u.tenant_id = d.tenant_id and u.user_id = v.id and u.is_active
      and u.tenant_user_type in ('customer', 'institution'));
  if d.staging_warehouse_id is not null and not exists (
      select from warehousing.warehouses w
      where w.tenant_id = d.tenant_id and w.id = d.staging_warehouse_id and w.deleted_at is null and w.status in ('active', 'full')) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_to_snapshot(service delivery.delivery_services)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('id', service.id, 'code', service.code, 'name', service.name, 'service_level', service.service_level,
    'default_price', service.default_price, 'price_per_km', service.price_per_km, 'free_km', service.free_km);
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_with_units(service delivery.delivery_services, units numeric)
 RETURNS delivery.delivery_services
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  service.unit_min := least(service.unit_min, units);
  service.unit_max := greatest(service.unit_max, units);
  return service;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."draft_km"(delivery.deliveries, delivery.addresses, delivery.addresses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_km"(delivery.deliveries, delivery.addresses, delivery.addresses) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."draft_ordered"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_ordered"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."ordered_reaches"(delivery.delivery_services, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."ordered_reaches"(delivery.delivery_services, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."ordered_service"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."ordered_service"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_draft_stands"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_draft_stands"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."service_to_snapshot"(delivery.delivery_services) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."service_to_snapshot"(delivery.delivery_services) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."service_with_units"(delivery.delivery_services, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."service_with_units"(delivery.delivery_services, numeric) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128101120';
end $$;

grant execute on function private.schema_version() to barid_api;
