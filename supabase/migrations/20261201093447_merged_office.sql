-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_carrier text;
begin
  perform delivery.require_draft_here(d, d.status);
  -- Under another company's hands only its name is corrected.
  if d.status <> all (case when d.carrier_type = 'external' and input ->> 'carrier_type' = 'external'
      then '{draft,pending,picked_up,in_transit}' else '{draft,pending}' end::text[]) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', d.status, 'text_key', 'carrier_stays'));
  end if;
  perform delivery.require_carried_in_one(d.delivery_flow, input ->> 'carrier_type');
  if input ->> 'carrier_type' = 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
  v_carrier := delivery.carrier_checked(input);
  if exists (
      select from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and delivery.booking_binds(s)
        and s.carrier_code is distinct from v_carrier) then
    perform app.fail('shipment_with_other_carrier');
  end if;
  perform integration.shipments_end(array[d.id]);
  update delivery.deliveries x set carrier_type = input ->> 'carrier_type', carrier_code = v_carrier
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_correct(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  v_field text;
begin
  select * into p from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(p);
  if delivery.has_ended(p) then
    perform app.fail('delivery_ended', jsonb_build_object('status', p.status));
  end if;
  if not app.has_permission('manage:operations:tenant') and delivery.was_picked_up(p) then
    perform app.fail('delivery_already_picked_up');
  end if;
  select k.word into v_field from jsonb_object_keys(input - '{id,package_field}'::text[]) k (word)
  where k.word not in ('recipient', 'notes', 'external_reference_id', 'promised_at', 'deliver_after', 'deliver_before')
  order by k.word limit 1;
  if found then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', v_field)
      || case when delivery.draft_travels(p) then '{"text_key": "reason_draft_on_transfer"}' else '{}' end::jsonb);
  end if;
  perform delivery.require_delivery_window(
    case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else p.deliver_after end,
    case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else p.deliver_before end);
  perform delivery.delivery_corrected(p.id, input);
  return delivery.delivery_created_to_json(p.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_rewrite(d delivery.deliveries, t delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.require_carried_in_one(d.delivery_flow, t.carrier_type);
  if t.carrier_type = 'external' and d.carrier_type <> 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
  update delivery.deliveries x set barcode = coalesce(input ->> 'barcode', x.barcode), customer_id = t.customer_id,
    institution_user_id = t.institution_user_id, delivery_service_id = t.delivery_service_id, service_snapshot = t.service_snapshot,
    carrier_type = t.carrier_type, carrier_code = t.carrier_code, payer_type = t.payer_type, payment_method = t.payment_method,
    cod_amount = t.cod_amount, delivery_fee = t.delivery_fee, currency = t.currency, unit_size = t.unit_size,
    unit_size_source = t.unit_size_source, package_details = t.package_details, distance_km = t.distance_km,
    pickup_address_id = t.pickup_address_id, dropoff_address_id = t.dropoff_address_id, pickup_snapshot = t.pickup_snapshot,
    dropoff_snapshot = t.dropoff_snapshot, pickup_zone_id = t.pickup_zone_id, dropoff_zone_id = t.dropoff_zone_id,
    pickup_warehouse_id = t.pickup_warehouse_id, recipient = t.recipient, notes = t.notes,
    dropoff_warehouse_id = case when x.transfer_kind is null then t.dropoff_warehouse_id else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then t.dropoff_warehouse_id end,
    -- Where it begins, of a draft whose parcel has travelled since, as long as it is fetched where that has come to.
    ordered_from_address_id = case when t.pickup_address_id = x.pickup_address_id then x.ordered_from_address_id end,
    ordered_from_snapshot = case when t.pickup_address_id = x.pickup_address_id then x.ordered_from_snapshot end,
    ordered_from_warehouse_id = case when t.pickup_address_id = x.pickup_address_id then x.ordered_from_warehouse_id end,
    external_reference_id = t.external_reference_id, promised_at = t.promised_at, deliver_after = t.deliver_after,
    deliver_before = t.deliver_before, label_outdated = x.label_outdated or x.label_edition > 0 and (
      delivery.label_differs(x.recipient, x.notes, t.recipient, t.notes)
      or (x.barcode, x.customer_id, x.institution_user_id, x.service_snapshot -> 'name', x.payer_type, x.cod_amount, x.delivery_fee,
          x.currency, x.unit_size, x.package_details, x.pickup_snapshot, x.dropoff_snapshot)
        is distinct from (coalesce(input ->> 'barcode', x.barcode), t.customer_id, t.institution_user_id, t.service_snapshot -> 'name',
          t.payer_type, t.cod_amount, t.delivery_fee, t.currency, t.unit_size, t.package_details, t.pickup_snapshot, t.dropoff_snapshot))
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The contents of a part that comes back are those of its original, and a piece of inventory is what it is.
  if t.package_details is distinct from d.package_details and not d.returns_part and not delivery.is_for_waybill(d) then
    perform delivery.delivery_items_clear(d.id);
    t.id := d.id;
    t.original_delivery_id := d.original_delivery_id;
    t.delivery_code := d.delivery_code;
    perform delivery.delivery_items_write(array[t]);
  end if;
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

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201093447';
end $$;

grant execute on function private.schema_version() to barid_api;
