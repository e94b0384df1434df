-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.booking_binds(s integration.carrier_shipments)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(s.tenant_id);
  return s.status <> 'cancelled' and not exists (
    select from warehousing.receiving_orders r
    join delivery.deliveries d on d.tenant_id = r.tenant_id and d.id = r.delivery_id and d.status = 'pending'
    where r.tenant_id = s.tenant_id and r.delivery_id = s.delivery_id and r.status = 'received' and r.source <> 'inbound'
      and r.received_at > s.booked_at and s.status = 'booked');
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
begin
  perform delivery.require_move(d, '{draft,pending}', d.status);
  -- Its legs would be given to drivers of ours all the same.
  if input ->> 'carrier_type' = 'external' and d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  if input ->> 'carrier_type' = 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
  if input ->> 'carrier_type' = 'external' and input ->> 'carrier_code' is null then
    perform app.fail('carrier_code_required', '{"field": "carrier_code"}');
  end if;
  if exists (
      select from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and delivery.booking_binds(s)
        and (input ->> 'carrier_type' <> 'external' or s.carrier_code is distinct from input ->> 'carrier_code')) then
    perform app.fail('shipment_with_other_carrier');
  end if;
  perform integration.shipments_end(array[d.id]);
  update delivery.deliveries x set carrier_type = input ->> 'carrier_type',
    carrier_code = case input ->> 'carrier_type' when 'external' then input ->> 'carrier_code' end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_change_obstacle(item_id uuid, i delivery.transfer_manifest_items, d delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case
    when i.id is null then 'item_not_found'
    when i.status = 'void' then 'item_void'
    when d.id is null then 'item_has_no_order'
    when d.status in ('delivered', 'returned', 'cancelled') then 'delivery_ended'
    when d.status not in ('pending', 'assigned', 'accepted') or exists (
      select from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id
        and l.status not in ('draft', 'pending', 'assigned', 'accepted')) or delivery.return_under_way(d.id) is not null then 'delivery_already_picked_up'
    when exists (select from integration.carrier_shipments c
      where c.tenant_id = d.tenant_id and c.delivery_id = d.id and delivery.booking_binds(c)) then 'shipment_with_other_carrier'
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.shipment_lives(parcel uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return exists (
    select from integration.carrier_shipments s
    join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id
    where s.tenant_id = v_tenant and (d.id = parcel or d.parent_id = parcel) and delivery.booking_binds(s));
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_answer jsonb := integration.key_claim(input);
  v_credentials text;
  d delivery.deliveries;
  c integration.carriers;
  s integration.carrier_shipments;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid for no key update;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  c := integration.carrier_of(input ->> 'carrier_code');
  if c.is_internal or d.carrier_type <> 'external' then
    perform app.fail('delivery_not_external');
  end if;
  select k.credentials into v_credentials from integration.tenant_carriers k
  where k.tenant_id = v_tenant and k.carrier_code = c.code and k.is_enabled;
  if not found then
    perform app.fail('carrier_not_enabled');
  end if;
  perform integration.shipments_end(array[d.id]);
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = v_tenant and t.delivery_id = d.id and t.status <> 'cancelled' for update;
  if found then
    if s.carrier_code <> c.code then
      perform app.fail('shipment_with_other_carrier');
    elsif s.status = 'booked' then
      return jsonb_build_object('answer', integration.shipment_to_json(s));
    elsif s.status <> 'booking' or s.claimed_at > now() - interval '2 minutes' then
      perform app.fail('shipment_in_progress');
    end if;
  elsif d.status <> 'pending' or coalesce(d.carrier_code, c.code) <> c.code then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  elsif d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  else
    perform delivery.require_no_return(d);
    perform storefront.require_order_picked(d.id);
    insert into integration.carrier_shipments (tenant_id, delivery_id, carrier_code, cash_due)
    values (v_tenant, d.id, c.code, integration.cash_for_carrier(d, (input ->> 'collects_cash')::boolean))
    returning * into s;
  end if;
  update integration.carrier_shipments t set claim_token = gen_random_uuid(), claimed_at = now() where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'credentials', v_credentials,
    'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'recipient', d.recipient,
      'pickup', d.pickup_snapshot, 'dropoff', d.dropoff_snapshot, 'package_details', d.package_details, 'unit_size', d.unit_size,
      'cash_due', s.cash_due, 'currency', d.currency, 'notes', d.notes));
end $function$;

CREATE OR REPLACE FUNCTION integration.shipments_end(deliveries uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s integration.carrier_shipments;
begin
  for s in
    update integration.carrier_shipments t set status = 'cancelled', cancelled_at = now()
    where t.tenant_id = app.tenant_id() and t.delivery_id = any (deliveries) and t.status = 'booked' and not delivery.booking_binds(t)
    returning t.*
  loop
    perform integration.shipment_cancelled_emit(s);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_hand_over(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_parcels uuid[];
  v_stuck record;
begin
  perform warehousing.require_works_in(w.source_warehouse_id);
  perform warehousing.require_waybill(w, 'drafted', true);
  v_parcels := warehousing.lock_waybill_parcels(w);
  w.driver_id := (input ->> 'driver_id')::uuid;
  w.vehicle_id := warehousing.waybill_vehicle(w.driver_id, (input ->> 'vehicle_id')::uuid);
  v_parcels := warehousing.waybill_without_gone(w, v_parcels);
  select d.id, d.status into v_stuck from delivery.deliveries d
  where d.tenant_id = w.tenant_id and d.id = any (v_parcels)
    and not (d.status in ('draft', 'pending') or (d.delivery_flow = 'pnd_parent' and exists (
      select from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.delivery_flow = 'pnd_outbound' and l.status = 'pending')))
  limit 1;
  if found then
    perform app.fail('waybill_delivery_not_ready', jsonb_build_object('delivery_id', v_stuck.id, 'status', v_stuck.status));
  end if;
  perform app.fail('waybill_delivery_not_ready', jsonb_build_object('delivery_id', p.id, 'status', 'pending', 'text_key', 'reason_is_booked'))
  from unnest(v_parcels) p (id) where delivery.shipment_lives(p.id);
  update warehousing.waybills x set status = 'in_transit', driver_id = w.driver_id, vehicle_id = w.vehicle_id, handed_over_at = clock_timestamp()
  where x.tenant_id = w.tenant_id and x.id = w.id;
  update delivery.deliveries d set status = 'in_transit', status_reason = null, status_notes = w.waybill_number
  where d.tenant_id = w.tenant_id and d.status = 'pending'
    and ((d.id = any (v_parcels) and d.delivery_flow <> 'pnd_parent') or (d.parent_id = any (v_parcels) and d.delivery_flow = 'pnd_outbound'));
  perform delivery.parcel_at(p.id, null) from unnest(v_parcels) p (id);
  perform warehousing.waybill_event_emit(w, 'handed_over', jsonb_build_object('delivery_count', cardinality(v_parcels)));
  perform warehousing.stock_exit('waybill', w.id, 'transfer_out');
  return warehousing.waybill_get(input);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."booking_binds"(integration.carrier_shipments) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."booking_binds"(integration.carrier_shipments) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."shipments_end"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."shipments_end"(uuid[]) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126223024';
end $$;

grant execute on function private.schema_version() to barid_api;
