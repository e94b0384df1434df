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
  d.service_snapshot := jsonb_build_object('id', v_service.id, 'code', v_service.code, 'name', v_service.name,
    'service_level', v_service.service_level, 'default_price', v_service.default_price, 'price_per_km', v_service.price_per_km,
    'free_km', v_service.free_km);
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

REVOKE ALL ON FUNCTION "delivery"."draft_km"(delivery.deliveries, delivery.addresses, delivery.addresses) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_km"(delivery.deliveries, delivery.addresses, delivery.addresses) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."draft_ordered"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_ordered"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_draft_stands"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_draft_stands"(delivery.deliveries) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128094901';
end $$;

grant execute on function private.schema_version() to barid_api;
