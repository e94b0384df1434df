-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE OR REPLACE FUNCTION delivery.assignments_hand_over(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_from uuid := (input ->> 'driver_id')::uuid;
  v_to uuid := (input ->> 'to_driver_id')::uuid;
  v_asked uuid[] := case when input ->> 'delivery_ids' is not null then app.uuids(input -> 'delivery_ids') end;
  v_take boolean := coalesce((input ->> 'picked_up')::boolean, true);
  v_held uuid[];
  v_carried uuid[];
  v_open jsonb;
  v_moving jsonb;
  v_plan jsonb;
  v_made jsonb;
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_from) then
    perform app.fail('driver_not_found');
  end if;
  if v_from = v_to then
    perform app.fail('same_driver', '{"field": "to_driver_id"}');
  elsif not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_to) then
    perform app.fail('driver_not_found', '{"field": "to_driver_id"}');
  end if;
  v_held := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_from and a.status in ('pending', 'assigned', 'accepted'));
  perform delivery.lock_deliveries(v_held);
  -- The plan below locks the picks again, and the second driver a second time; here they come in order.
  perform from warehousing.picking_orders o where o.tenant_id = v_tenant and o.delivery_id = any (v_held) order by o.id for share;
  perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id in (v_from, v_to) order by d.user_id for no key update;

  select jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', a.delivery_id, 'status', d.status,
      'estimated_pickup_time', a.estimated_pickup_time, 'estimated_delivery_time', a.estimated_delivery_time, 'notes', a.notes,
      'on_road', d.status not in ('assigned', 'accepted'), 'moves', v_take or d.status in ('assigned', 'accepted'),
      -- Handed over once more before it was confirmed, the parcel is still with the one before.
      'handed_over_from', case when d.status not in ('assigned', 'accepted') then
        case when a.status = 'pending' then coalesce(a.handed_over_from, a.id) else a.id end end)
    order by a.sequence_number, a.assignment_time, a.id) into v_open
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  where a.tenant_id = v_tenant and a.driver_id = v_from and a.status in ('pending', 'assigned', 'accepted')
    -- Assignments added while this waited are not locked, and stay.
    and a.delivery_id = any (v_held) and (v_asked is null or a.delivery_id = any (v_asked));
  if exists (select from unnest(v_asked) q (id)
      where not coalesce(v_open, '[]') @> jsonb_build_array(jsonb_build_object('delivery_id', q.id))) then
    perform app.fail('assignment_not_found', '{"field": "delivery_ids"}');
  end if;
  select jsonb_agg(o.line order by o.place) into v_moving
  from jsonb_array_elements(v_open) with ordinality o (line, place) where (o.line ->> 'moves')::boolean;
  if v_moving is null then
    perform app.fail('nothing_to_hand_over');
  end if;

  perform delivery.assignments_return(array(select (m ->> 'assignment_id')::uuid from jsonb_array_elements(v_moving) m), null);
  v_carried := array(select (m ->> 'delivery_id')::uuid from jsonb_array_elements(v_moving) m where (m ->> 'on_road')::boolean);
  v_plan := delivery.assignments_plan(array(select (m.line ->> 'delivery_id')::uuid
    from jsonb_array_elements(v_moving) with ordinality m (line, place) order by m.place), v_to, null, true, v_carried);
  if v_plan ->> 'code' is not null then
    perform app.fail(v_plan ->> 'code', '{"field": "to_driver_id"}');
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  -- Plan and list are in the same order.
  select jsonb_set(v_plan, '{lines}', jsonb_agg(
    p.line || jsonb_strip_nulls(m.line - '{assignment_id,delivery_id,status,on_road,moves}'::text[]) order by p.place))
  into v_plan
  from jsonb_array_elements(v_plan -> 'lines') with ordinality p (line, place)
  join jsonb_array_elements(v_moving) with ordinality m (line, place) on m.place = p.place;
  v_made := delivery.assignments_write(v_plan, jsonb_build_object('bulk', true, 'confirm', v_carried <> '{}'));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_from, 'assignments_handed_over', jsonb_build_object('to_driver_id', v_to,
    'to_driver_name', (select p.full_name from tenancy.profiles p where p.id = v_to), 'assignment_count', jsonb_array_length(v_moving))
    || delivery.codes_noted(v_tenant, array(select (m ->> 'delivery_id')::uuid from jsonb_array_elements(v_moving) m)));
  return jsonb_build_object('bulk_assignment_id', v_made -> 'bulk_assignment_id', 'assignment_ids', v_made -> 'ids',
    'count', jsonb_array_length(v_moving), 'to_confirm', cardinality(v_carried), 'total_units', v_plan -> 'total', 'driver_capacity_used', v_plan -> 'after',
    'kept', (select coalesce(jsonb_agg(jsonb_build_object('assignment_id', o.line -> 'assignment_id', 'delivery_id', o.line -> 'delivery_id',
        'status', o.line -> 'status') order by o.place), '[]')
      from jsonb_array_elements(v_open) with ordinality o (line, place) where not (o.line ->> 'moves')::boolean));
end $function$;

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

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_completed jsonb;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  if v_warehouse is not null then
    -- It stays until its receiving order is written, which holds it from then on.
    perform from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null for key share;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
    end if;
  end if;
  if d.delivery_flow = 'customer_return' and not delivery.is_transferred(d) and v_warehouse = delivery.ends_in(d)
      or d.delivery_flow = 'pnd_inbound' and v_warehouse is not null
        and v_warehouse is distinct from (delivery.ordered_from(delivery.parcel_terms(d))).warehouse_id then
    if d.delivery_flow = 'pnd_inbound' and v_warehouse is distinct from delivery.ends_in(d) then
      perform delivery.staged_through(d.id, v_warehouse);
    end if;
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'failed';
    v_completed := delivery.delivery_complete(input);
    return jsonb_build_object('delivery', v_completed -> 'delivery', 'receiving_order_id', warehousing.receipt_of(d.id),
      'refunded', false, 'refund_due', null);
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  -- Expected by another warehouse, such as the one it left with an open exception, it does not come there.
  perform warehousing.receipts_withdraw(d.id, coalesce(v_warehouse, case when delivery.leaves_warehouse(d) then d.pickup_warehouse_id end));
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_awaited and d.status = 'in_transit' then
    perform delivery.stop_recorded(d.id);
  end if;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  -- A carrier reports on after its returns.
  if not v_awaited and d.carrier_type = 'internal' then
    perform delivery.outcome_record(d, 'returned');
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.returned_fee_refund(d, delivery.refund_due_event()) end;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
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
  d.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_from.id), delivery.original_place(input, v_from.id));
  d.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_to.id), delivery.original_place(input, v_to.id));
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
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input, v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_provision(driver_id uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zones uuid[] := app.uuids(input -> 'zone_ids');
  v_driver delivery.drivers;
  v_vehicle delivery.vehicles;
begin
  select * into v_driver from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver_id for no key update;
  if not found then
    perform app.fail('driver_not_found');
  end if;
  if (input ->> 'status' = 'active' or (input ->> 'default')::boolean) and not exists (select from tenancy.tenant_users u
      where u.tenant_id = v_tenant and u.user_id = driver_id and u.is_active and u.tenant_user_type = 'driver') then
    perform app.fail('driver_inactive', jsonb_build_object('field', case when input ->> 'status' = 'active' then 'status' else 'default' end));
  end if;
  if input ->> 'vehicle_id' is not null and (input ->> 'vehicle_id')::uuid is distinct from v_driver.vehicle_id then
    select * into v_vehicle from delivery.vehicles v where v.id = (input ->> 'vehicle_id')::uuid for share;
    if not found then
      perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
    end if;
    if not v_vehicle.is_active then
      perform app.fail('vehicle_inactive', '{"field": "vehicle_id"}');
    end if;
    if v_vehicle.unit_capacity < v_driver.capacity_used then
      perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id"}');
    end if;
  end if;
  if input ? 'vehicle_id' and input ->> 'vehicle_id' is null and v_driver.capacity_used > 0 then
    perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id", "text_key": "vehicle_in_use_by_driver"}');
  end if;
  if exists (select from unnest(v_zones) g (id)
      where not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = g.id)) then
    perform app.fail('zone_not_found', '{"field": "zone_ids"}');
  end if;
  update delivery.drivers d set
    vehicle_id = case when input ? 'vehicle_id' then (input ->> 'vehicle_id')::uuid else d.vehicle_id end,
    all_zones = coalesce((input ->> 'all_zones')::boolean, d.all_zones),
    status = coalesce(input ->> 'status', d.status)
  where d.tenant_id = v_tenant and d.user_id = driver_id
  returning * into v_driver;
  if input ? 'zone_ids' then
    delete from delivery.driver_zones z
    where z.tenant_id = v_tenant and z.driver_id = driver_provision.driver_id and z.zone_id <> all (v_zones);
    insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
    select distinct v_tenant, driver_provision.driver_id, g.id from unnest(v_zones) g (id)
    on conflict do nothing;
  end if;
  if (input ->> 'default')::boolean then
    if v_driver.status <> 'active' then
      perform app.fail('driver_inactive', '{"field": "default"}');
    end if;
    insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
    values (v_tenant, 'delivery', 'assignment_change_settings', jsonb_build_object('default_driver_id', driver_id), app.user_id())
    on conflict (tenant_id, module, group_key) do update set settings = s.settings || excluded.settings, updated_by = excluded.updated_by;
  elsif input ? 'default' then
    update tenancy.tenant_settings s set settings = s.settings - 'default_driver_id', updated_by = app.user_id()
    where s.tenant_id = v_tenant and s.module = 'delivery' and s.group_key = 'assignment_change_settings'
      and s.settings ->> 'default_driver_id' = driver_id::text;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_zone_tag(tag uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from delivery.zone_tags t where t.tenant_id = app.tenant_id() and t.id = tag for update;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_move(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_point uuid := (input ->> 'destination_processing_point_id')::uuid;
  v_driver uuid := (input ->> 'driver_id')::uuid;
begin
  if v_point is not null then
    perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit,awaiting_receipt,receiving}');
    if exists (select from delivery.transfer_manifest_items i
        where i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.received_at is not null) then
      perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_received"}');
    end if;
  end if;
  if v_driver is distinct from m.driver_id and v_driver is not null then
    perform delivery.manifest_give(m, v_driver);
  end if;
  if v_point <> m.processing_point_id then
    perform delivery.require_point_in(v_point, 'destination_processing_point_id');
    update delivery.transfer_manifests set processing_point_id = v_point where tenant_id = m.tenant_id and id = m.id;
    perform delivery.manifest_event_add(m.id, 'processing_point_changed', jsonb_build_object('from', m.processing_point_id, 'to', v_point));
  end if;
  return delivery.manifest_to_json(m.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.original_place(input jsonb, address_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select case original_place.address_id when o.dropoff_address_id then o.dropoff_snapshot when o.pickup_address_id then o.pickup_snapshot
      when o.ordered_from_address_id then o.ordered_from_snapshot end
    from delivery.deliveries o where o.id = (input ->> 'original_delivery_id')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_point(point_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.require_point_in(point_id, 'default_processing_point_id');
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_point_in(point_id uuid, field text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_active boolean;
begin
  select p.is_active into v_active from delivery.transfer_processing_points p where p.id = point_id for key share;
  if not found then
    perform app.fail('processing_point_not_found', jsonb_build_object('field', field));
  elsif not v_active then
    perform app.fail('processing_point_inactive', jsonb_build_object('field', field));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_set_zones(service delivery.delivery_services, zone_ids jsonb, zone_tag_ids jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_by_zone boolean := service.zone_access_mode <> 'all_zones' and service.zone_selector_type = 'zone';
  v_by_tag boolean := service.zone_access_mode <> 'all_zones' and service.zone_selector_type = 'tag';
  v_zones uuid[] := app.uuids(zone_ids);
  v_tags uuid[] := app.uuids(zone_tag_ids);
begin
  if v_by_zone and v_zones = '{}' and (zone_ids is not null or not exists (
      select from delivery.delivery_service_zones z where z.tenant_id = service.tenant_id and z.service_id = service.id)) then
    perform app.fail('zone_ids_required_for_selected_zone_mode', '{"field": "zone_ids"}');
  end if;
  if v_by_tag and v_tags = '{}' and (zone_tag_ids is not null or not exists (
      select from delivery.delivery_service_zone_tags t where t.tenant_id = service.tenant_id and t.service_id = service.id)) then
    perform app.fail('zone_tag_ids_required_for_tag_selector', '{"field": "zone_tag_ids"}');
  end if;
  if exists (select from unnest(v_zones) g (id) where not exists (
      select from delivery.zones z where z.tenant_id = service.tenant_id and z.id = g.id)) then
    perform app.fail('invalid_zone_ids', '{"field": "zone_ids"}');
  end if;
  if exists (select from unnest(v_tags) g (id) where not exists (
      select from delivery.zone_tags t where t.tenant_id = service.tenant_id and t.id = g.id)) then
    perform app.fail('invalid_zone_tag_ids', '{"field": "zone_tag_ids"}');
  end if;
  if not v_by_zone or zone_ids is not null then
    delete from delivery.delivery_service_zones z
    where z.tenant_id = service.tenant_id and z.service_id = service.id and (not v_by_zone or z.zone_id <> all (v_zones));
  end if;
  if not v_by_tag or zone_tag_ids is not null then
    delete from delivery.delivery_service_zone_tags t
    where t.tenant_id = service.tenant_id and t.service_id = service.id and (not v_by_tag or t.tag_id <> all (v_tags));
  end if;
  insert into delivery.delivery_service_zones (tenant_id, service_id, zone_id)
  select distinct service.tenant_id, service.id, g.id from unnest(v_zones) g (id) where v_by_zone
  on conflict do nothing;
  begin
    insert into delivery.delivery_service_zone_tags (tenant_id, service_id, tag_id)
    select distinct service.tenant_id, service.id, g.id from unnest(v_tags) g (id) where v_by_tag
    on conflict do nothing;
  exception when foreign_key_violation then
    -- Somebody removed the tag since it was looked for.
    perform app.fail('invalid_zone_tag_ids', '{"field": "zone_tag_ids"}');
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouses_stay()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_field text;
begin
  select case w.id when new.pickup_warehouse_id then 'pickup_warehouse_id' when new.dropoff_warehouse_id then 'dropoff_warehouse_id'
    else 'warehouse_id' end into v_field
  from warehousing.warehouses w
  where w.tenant_id = new.tenant_id and w.id in (new.pickup_warehouse_id, new.dropoff_warehouse_id, new.staging_warehouse_id)
    and w.deleted_at is not null limit 1;
  if found then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', v_field));
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."warehouses_stay"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.zone_set_tags(zone_id uuid, tag_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if exists (select from unnest(tag_ids) g (id)
      where not exists (select from delivery.zone_tags t where t.tenant_id = app.tenant_id() and t.id = g.id)) then
    perform app.fail('zone_tag_not_found');
  end if;
  delete from delivery.zone_tag_map m
  where m.tenant_id = app.tenant_id() and m.zone_id = zone_set_tags.zone_id and m.tag_id <> all (tag_ids);
  insert into delivery.zone_tag_map (tenant_id, zone_id, tag_id)
  select distinct app.tenant_id(), zone_set_tags.zone_id, g.id from unnest(tag_ids) g (id)
  on conflict do nothing;
exception when foreign_key_violation then
  -- Somebody removed one since it was looked for.
  perform app.fail('zone_tag_not_found');
end $function$;

CREATE OR REPLACE FUNCTION delivery.zone_tag_remove(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
  v_services jsonb;
begin
  if not delivery.lock_zone_tag(v_id) then
    perform app.fail('zone_tag_not_found');
  end if;
  select jsonb_agg(u.code order by u.code) into v_services from (
    select s.code from delivery.delivery_service_zone_tags x
    join delivery.delivery_services s on s.tenant_id = x.tenant_id and s.id = x.service_id
    where x.tenant_id = v_tenant and x.tag_id = v_id and s.deleted_at is null order by s.code limit 10) u;
  if v_services is not null then
    perform app.fail('zone_tag_in_use', jsonb_build_object('services', v_services));
  end if;
  delete from delivery.delivery_service_zone_tags x where x.tenant_id = v_tenant and x.tag_id = v_id;
  delete from delivery.zone_tag_map m where m.tenant_id = v_tenant and m.tag_id = v_id;
  delete from delivery.zone_tags t where t.tenant_id = v_tenant and t.id = v_id;
  return jsonb_build_object('id', v_id);
end $function$;

CREATE OR REPLACE FUNCTION money.gateway_put(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_code text := input ->> 'gateway_code';
  g money.payment_gateways;
  v_missing jsonb;
  v_account text;
begin
  insert into money.payment_gateways (tenant_id, gateway_code) values (v_tenant, v_code)
  on conflict on constraint gateway_configured do nothing;
  select * into strict g from money.payment_gateways x where x.tenant_id = v_tenant and x.gateway_code = v_code for update;
  v_account := money.gateway_account(g.settings);
  if v_account <> money.gateway_account(g.settings || coalesce(input -> 'settings', '{}')) then
    g.previous_accounts := (
      select jsonb_object_agg(kept.name, kept.value)
      from (
        select a.name, a.value from jsonb_each(g.previous_accounts || jsonb_build_object(v_account, jsonb_build_object(
          'settings', g.settings, 'replaced_at', clock_timestamp(),
          'secrets', g.secrets || jsonb_strip_nulls(jsonb_build_object('previous_webhook_secret', g.previous_webhook_secret))))) a (name, value)
        order by a.value ->> 'replaced_at' desc limit 10
      ) kept);
    g.previous_webhook_secret := null;
  elsif input #>> '{secrets,webhook_secret}' is not null and g.secrets ? 'webhook_secret'
      and g.webhook_secret_print is distinct from input ->> 'webhook_secret_print'
      and not coalesce(input -> 'webhook_secret_prints' ? g.webhook_secret_print, false) then
    g.previous_webhook_secret := g.secrets ->> 'webhook_secret';
  end if;
  -- Also what this call has just put there: a secret that others have seen is exchanged and forgotten at once.
  if (input ->> 'forget_previous_secret')::boolean then
    g.previous_webhook_secret := null;
    g.previous_accounts := '{}';
  end if;
  g.settings := jsonb_strip_nulls(g.settings || coalesce(input -> 'settings', '{}'));
  g.previous_accounts := g.previous_accounts - coalesce(money.gateway_account(g.settings), '');
  g.secrets := g.secrets || coalesce(input -> 'secrets', '{}');
  g.is_active := coalesce((input ->> 'is_active')::boolean, g.is_active);
  if g.is_active then
    select jsonb_agg(n.name order by n.position) into v_missing
    from jsonb_array_elements_text(input -> 'needs') with ordinality n (name, position)
    where not (g.settings ? n.name or g.secrets ? n.name);
    if v_missing is not null then
      perform app.fail('gateway_incomplete', jsonb_build_object('field', v_missing -> 0, 'missing', v_missing));
    end if;
  end if;
  update money.payment_gateways x set is_active = g.is_active, settings = g.settings, secrets = g.secrets,
    webhook_secret_print = coalesce(input ->> 'webhook_secret_print', x.webhook_secret_print),
    previous_webhook_secret = g.previous_webhook_secret, previous_accounts = g.previous_accounts
  where x.tenant_id = v_tenant and x.id = g.id;
  return money.gateways_get(jsonb_build_object('gateway_code', v_code)) -> 0;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_gateway_transaction(p_code text, p_transaction text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if p_transaction <> '' then
    perform pg_advisory_xact_lock(hashtextextended('gateway transaction ' || p_code || ' ' || p_transaction, 0));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.payment_apply(p_code text, p_tenants uuid[], p_key text, p_proof text, facts jsonb, p_raw text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  p money.payments;
  o storefront.storefront_orders;
  v_named uuid[];
  v_event uuid;
  v_is_new boolean;
  v_end record;
begin
  perform money.lock_gateway_transaction(p_code, facts ->> 'transaction_id');
  -- A refund names the payment it gives back, everything else our number or the gateway's, or our order by its id: of
  -- an order's payments the one that was made so, or the one that waits. Each name is looked up by its own index.
  v_named := case when facts ->> 'kind' = 'refunded' then array(
      select x.id from money.payments x
      where x.gateway_code = p_code and x.gateway_transaction_id = facts ->> 'transaction_id' and x.type <> 'REFUND')
    else array(
      select x.id from unnest(array[facts ->> 'gateway_order_id', facts ->> 'reference']) n (number)
      join money.payments x on x.gateway_code = p_code and x.gateway_order_id = n.number
      union all
      select x.id from money.payments x where x.gateway_code = p_code and x.gateway_reference = facts ->> 'reference'
      union all
      select x.id from money.payments x
      where x.tenant_id = any (p_tenants) and x.order_id = app.as_uuid(facts ->> 'order') and x.type = 'ORDER') end;
  select * into p from money.payments x
  where x.id = any (v_named) and x.gateway_code = p_code and x.tenant_id = any (p_tenants)
    -- The secret of an account speaks of what was opened there: that of a former one pays nothing that was opened since.
    and coalesce(x.gateway_account = facts ->> 'account', true)
  order by x.gateway_order_id is not distinct from facts ->> 'gateway_order_id' desc,
    coalesce(facts ->> 'reference' in (x.gateway_order_id, x.gateway_reference), false) desc,
    x.gateway_transaction_id is not distinct from facts ->> 'transaction_id' desc, x.status = 'pending' desc, x.created_at desc limit 1;
  perform set_config('app.tenant_id', coalesce(p.tenant_id, p_tenants[1])::text, true);
  -- Before the event is written: it names the payment, which two events would share and then both want alone.
  select * into o from storefront.storefront_orders x where x.tenant_id = p.tenant_id and x.id = p.order_id for no key update;
  select * into p from money.payments x where x.tenant_id = p.tenant_id and x.id = p.id for no key update;
  insert into money.payment_webhook_events (tenant_id, gateway_code, event_key, event_type, proof, raw_body, facts, payment_id)
  values (coalesce(p.tenant_id, p_tenants[1]), p_code, p_key, facts ->> 'event', p_proof, p_raw, facts, p.id)
  on conflict on constraint webhook_event_taken do nothing returning id into v_event;
  v_is_new := v_event is not null;
  if not v_is_new then
    update money.payment_webhook_events e set tenant_id = coalesce(p.tenant_id, e.tenant_id), payment_id = coalesce(p.id, e.payment_id)
    where e.gateway_code = p_code and e.event_key = p_key and e.tenant_id = any (p_tenants) and e.outcome = 'unmatched' and e.resolution is null
    returning e.id into v_event;
  end if;
  if v_event is null then
    return jsonb_build_object('outcome', 'duplicate');
  end if;
  if p.id is null then
    -- A company may sell elsewhere by the same account: a payment that names no number of the form of ours is none of ours.
    update money.payment_webhook_events e set reason = 'payment_unknown',
      outcome = case when facts ->> 'kind' = 'refunded' or facts ->> 'kind' = 'paid' and (facts ->> 'order' is not null
        or facts ->> 'gateway_order_id' ~ '^[0-9]{12,18}$') then 'unmatched' else 'ignored' end
    where e.id = v_event returning e.outcome, e.reason into v_end;
    if v_is_new then
      perform money.unmatched_announce(v_event);
    end if;
    return jsonb_build_object('outcome', v_end.outcome, 'reason', v_end.reason);
  end if;
  v_end := money.payment_follow(p, o, facts);
  update money.payment_webhook_events e set outcome = v_end.outcome, reason = v_end.reason where e.id = v_event;
  if facts ->> 'kind' = 'paid' and v_end.outcome = 'processed' then
    perform money.refunds_told_before(p_code, facts ->> 'transaction_id', p_tenants);
  end if;
  if v_is_new then
    perform money.unmatched_announce(v_event);
  end if;
  return jsonb_build_object('outcome', v_end.outcome, 'reason', v_end.reason);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_open(p_payment uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  select * into p from money.payments x where x.id = p_payment and x.gateway_order_id is not null for no key update;
  if p.id is null or p.status <> 'pending' then
    return null;
  elsif p.redirect_url is not null then
    return jsonb_build_object('redirect_url', p.redirect_url, 'gateway_order_id', p.gateway_order_id, 'expires_at', p.expires_at);
  elsif p.opened_at > clock_timestamp() - interval '15 seconds' then
    return jsonb_build_object('wait', true);
  end if;
  update money.payments x set opened_at = clock_timestamp(),
    gateway_order_id = case when x.opened_at is null then x.gateway_order_id else nextval('money.gateway_order_ids')::text end,
    -- Gateways ask for a quarter of an hour; its end moves with the page that it is paid on, so that it is asked about until then.
    expires_at = greatest(x.expires_at, clock_timestamp() + interval '17 minutes'),
    gateway_account = (select money.gateway_account(g.settings) from money.payment_gateways g
      where g.tenant_id = x.tenant_id and g.gateway_code = x.gateway_code)
  where x.id = p.id returning * into p;
  perform set_config('app.tenant_id', p.tenant_id::text, true);
  return jsonb_build_object('open', money.payment_known(p));
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_announce(p_event uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  e money.payment_webhook_events;
  v_data jsonb;
begin
  select * into e from money.payment_webhook_events x where x.tenant_id = v_tenant and x.id = p_event;
  if e.outcome <> 'unmatched' or exists (
      select from money.payment_webhook_events x
      where x.tenant_id = v_tenant and x.gateway_code = e.gateway_code and x.payment_id is not distinct from e.payment_id and x.id <> e.id
        and x.outcome = 'unmatched' and x.resolution is null
        and x.facts ->> 'kind' = e.facts ->> 'kind' and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id'
        and x.facts ->> 'refund_id' is not distinct from e.facts ->> 'refund_id') then
    return;
  end if;
  v_data := jsonb_build_object('payment_event_id', e.id, 'gateway_code', e.gateway_code, 'reason', e.reason, 'payment_id', e.payment_id,
    'order_id', (select p.order_id from money.payments p where p.tenant_id = v_tenant and p.id = e.payment_id),
    'gateway_order_id', e.facts -> 'gateway_order_id', 'gateway_transaction_id', e.facts -> 'transaction_id',
    'amount', e.facts -> 'amount', 'amount_unit', e.facts -> 'unit', 'currency', e.facts -> 'currency');
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'payment.unmatched', 'source_module', 'payment',
    'entity_type', 'payment_webhook_event', 'entity_id', e.id, 'event_data', v_data)));
  perform tenancy.notify_tenant_admins('payment_unmatched', v_data);
end $function$;

CREATE OR REPLACE FUNCTION money.webhook_event_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'event_id')::uuid;
  e money.payment_webhook_events;
begin
  if input ->> 'action' is not null then
    perform money.unmatched_settle(v_id, input ->> 'action');
  end if;
  e := money.lock_unmatched_event(v_id);
  update money.payment_webhook_events x set resolution = input ->> 'resolution', resolution_note = input ->> 'note',
    action = input ->> 'action', resolved_by = app.user_id(), resolved_at = now()
  where x.tenant_id = v_tenant and (x.id = e.id or (x.gateway_code = e.gateway_code and x.payment_id is not distinct from e.payment_id
    and x.outcome = 'unmatched' and x.resolution is null and x.facts ->> 'kind' = e.facts ->> 'kind'
    and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id' and x.facts ->> 'refund_id' is not distinct from e.facts ->> 'refund_id'));
  return (select to_jsonb(l) from money.webhook_events_list l where l.id = e.id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund_book(p_order uuid, p_amount numeric DEFAULT NULL::numeric, p_note text DEFAULT NULL::text, p_hash bytea DEFAULT NULL::bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_left numeric;
begin
  select * into o from storefront.storefront_orders x
  where x.tenant_id = app.tenant_id() and x.id = p_order and app.has_permission('manage:tenant');
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  v_left := storefront.order_refundable(o);
  if v_left <= 0 then
    perform app.fail('nothing_to_refund', case when exists (
        select from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS'
          and money.refunds_open(p) > 0)
      then '{"text_key": "reported_refund_open"}' else '{}' end::jsonb);
  elsif p_amount > v_left then
    perform app.fail('refund_too_high', jsonb_build_object('field', 'amount', 'amount', v_left, 'currency', o.currency));
  end if;
  return storefront.order_give_back(o, coalesce(p_amount, nullif(storefront.order_refund_due(o), 0), v_left), p_note, p_hash);
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_expire()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_orders uuid[];
  v_count bigint := 0;
begin
  for v_tenant in
    select distinct o.tenant_id from storefront.storefront_orders o
    where o.payment_method = 'gateway' and o.payment_status <> 'paid' and o.status in ('pending', 'awaiting_approval')
      and o.created_at < now() - interval '24 hours'
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    with due as (
      select o.id from storefront.storefront_orders o
      where o.tenant_id = v_tenant and o.payment_method = 'gateway' and o.payment_status <> 'paid'
        and o.status in ('pending', 'awaiting_approval') and o.created_at < now() - interval '24 hours'
        and not storefront.order_has_unmatched_payment(o)
        and not (o.created_at > now() - interval '72 hours' and exists (
          select from money.payments p
          where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and (p.expires_at > now() or p.final_answer_at is null)
            and money.payment_may_come(p)))
      order by o.created_at limit 500 for no key update skip locked
    ), ended as (
      update storefront.storefront_orders o set status = 'cancelled', cancelled_at = now(), cancel_reason = 'payment_failed',
        status_note = 'payment_failed'
      from due where o.tenant_id = v_tenant and o.id = due.id returning o.id
    )
    select coalesce(array_agg(e.id), '{}') into v_orders from ended e;
    perform storefront.order_payment_drop(e.id) from unnest(v_orders) e (id);
    v_count := v_count + cardinality(v_orders);
  end loop;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.require_references(patches jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_missing text;
begin
  with named as (
    select n.module || '.' || n.group_key || '.settings.' || n.path as field, n.thing, i.id
    from (values
      ('delivery', 'transfer_manifest', 'default_delivery_service_id', 'service'),
      ('delivery', 'transfer_manifest', 'available_delivery_service_ids', 'service'),
      ('delivery', 'assignment_change_settings', 'default_driver_id', 'driver'),
      ('general', 'delivery', 'return_requests.default_delivery_service_id', 'service'),
      ('general', 'warehouse', 'default_warehouse_id', 'warehouse'),
      ('general', 'currency', 'currency_code', 'currency'),
      ('general', 'timezone', 'name', 'timezone')) n (module, group_key, path, thing)
    join jsonb_array_elements(patches) p on p ->> 'module' = n.module and p ->> 'group' = n.group_key
    cross join lateral (select p -> 'settings' #> string_to_array(n.path, '.') as value) v
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(v.value) when 'array' then v.value when 'string' then jsonb_build_array(v.value) else '[]' end) i (id)
  ), held as (
    select s.id from delivery.delivery_services s
    where s.deleted_at is null and s.id in (select app.as_uuid(n.id) from named n where n.thing = 'service')
    order by s.id for share
  ), held_warehouses as (
    select w.id from warehousing.warehouses w
    where w.deleted_at is null and w.id in (select app.as_uuid(n.id) from named n where n.thing = 'warehouse')
    for key share
  )
  select n.field into v_missing
  from named n
  where not case n.thing
    when 'service' then app.as_uuid(n.id) in (select h.id from held h)
    when 'driver' then exists (select from delivery.drivers d where d.user_id = app.as_uuid(n.id) and d.status = 'active')
    when 'warehouse' then app.as_uuid(n.id) in (select h.id from held_warehouses h)
    when 'currency' then exists (select from tenancy.currencies c where c.code = n.id) and not exists (
      select from tenancy.system_settings y
      where y.key = 'currencies.enabled' and jsonb_typeof(y.value) = 'array' and not y.value ? n.id)
    -- Documents know no other names of time zones than those of the world.
    else exists (select from pg_catalog.pg_timezone_names z
      where z.name = n.id and z.name !~ '^((posix|right)/|(Factory|localtime|posixrules)$)') end
  order by n.field limit 1;
  if v_missing is not null then
    perform app.fail('invalid_reference', jsonb_build_object('field', v_missing));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_assignment_remove(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s warehousing.sorting_sessions := warehousing.lock_sorting_session((input ->> 'id')::uuid, true);
  v_id uuid := (input ->> 'assignment_id')::uuid;
  v_cage warehousing.bins := warehousing.lock_sorting_assignment(s, v_id);
begin
  if v_cage.filled_capacity > 0 then
    perform app.fail('cage_not_empty');
  elsif exists (select from warehousing.sorting_scans n
      where n.tenant_id = s.tenant_id and n.session_id = s.id and n.assignment_id = v_id) then
    perform app.fail('cage_not_empty', '{"text_key": "cage_was_used"}');
  end if;
  delete from warehousing.sorting_assignments a where a.tenant_id = s.tenant_id and a.id = v_id;
  update warehousing.bins b set is_active = false where b.tenant_id = s.tenant_id and b.id = v_cage.id;
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.staff_add(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  perform warehousing.require_warehouse((input ->> 'warehouse_id')::uuid);
  perform from tenancy.tenant_users u
  where u.user_id = (input ->> 'user_id')::uuid and u.tenant_user_type = 'staff' and u.is_active;
  if not found then
    perform app.fail('user_not_found', '{"field": "user_id", "text_key": "user_no_active_staff"}');
  end if;
  insert into warehousing.warehouse_staff (tenant_id, warehouse_id, user_id, employee_id, role)
  values (app.tenant_id(), (input ->> 'warehouse_id')::uuid, (input ->> 'user_id')::uuid, input ->> 'employee_id', input ->> 'role')
  returning id into v_id;
  return warehousing.staff_get(input || jsonb_build_object('id', v_id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
  v_from uuid := (select w.address_id from warehousing.warehouses w where w.id = (input ->> 'id')::uuid and w.deleted_at is null);
begin
  -- Parcels are locked before their warehouse.
  if (input ->> 'address_id')::uuid <> v_from then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
    perform delivery.warehouse_moves((input ->> 'id')::uuid, v_from, (input ->> 'address_id')::uuid);
  end if;
  select * into v_warehouse from warehousing.warehouses w
  where w.id = (input ->> 'id')::uuid and w.deleted_at is null for no key update;
  if not found then
    perform app.fail('warehouse_not_found');
  elsif v_warehouse.address_id <> v_from then
    -- Another call has moved it, and its parcels, since: where this one moves it from is to be asked again.
    raise exception 'warehouse % was moved meanwhile', v_warehouse.id using errcode = 'serialization_failure';
  end if;
  v_wanted := jsonb_populate_record(v_warehouse, input);
  perform warehousing.require_room(v_wanted.total_capacity, v_wanted.available_capacity, input);
  if not input ? 'status' and input ? 'available_capacity' then
    v_wanted.status := case
      when v_wanted.available_capacity <= 0 and v_wanted.status = 'active' then 'full'
      when (v_wanted.available_capacity > 0) is not false and v_wanted.status = 'full' then 'active'
      else v_wanted.status end;
  end if;
  -- A list of those who may is not one of those who may not.
  if v_wanted.access_mode <> v_warehouse.access_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

CREATE TRIGGER warehouses_stay_changed AFTER UPDATE OF pickup_warehouse_id, dropoff_warehouse_id, staging_warehouse_id ON delivery.deliveries FOR EACH ROW WHEN (((new.status <> ALL (ARRAY['delivered'::text, 'returned'::text, 'cancelled'::text])) AND ((new.pickup_warehouse_id IS DISTINCT FROM old.pickup_warehouse_id) OR (new.dropoff_warehouse_id IS DISTINCT FROM old.dropoff_warehouse_id) OR (new.staging_warehouse_id IS DISTINCT FROM old.staging_warehouse_id)))) EXECUTE FUNCTION delivery.warehouses_stay();

CREATE TRIGGER warehouses_stay_made AFTER INSERT ON delivery.deliveries FOR EACH ROW WHEN (((new.pickup_warehouse_id IS NOT NULL) OR (new.dropoff_warehouse_id IS NOT NULL) OR (new.staging_warehouse_id IS NOT NULL))) EXECUTE FUNCTION delivery.warehouses_stay();

REVOKE ALL ON FUNCTION "delivery"."lock_zone_tag"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_zone_tag"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."original_place"(jsonb, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."original_place"(jsonb, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_point_in"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_point_in"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."warehouses_stay"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130205150';
end $$;

grant execute on function private.schema_version() to barid_api;
