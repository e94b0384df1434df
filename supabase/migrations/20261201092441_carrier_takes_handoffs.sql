-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.carrier_takes(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_pick uuid := delivery.pick_of(d);
begin
  if d.current_warehouse_id is null then
    return;
  end if;
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  perform delivery.moving_exception_expect(d);
  -- It waits for no driver any more. Brought back, it is prepared anew and handed over by that pick.
  update delivery.package_handoffs h set status = 'cancelled'
  where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.status = 'pending';
  if v_pick is not null then
    perform delivery.picking_hand_off(v_pick, d.id);
    perform warehousing.stock_exit('picking_order', v_pick, 'pick');
  end if;
  -- A return has the stock of what it brings back.
  perform warehousing.parcel_leaves(p.id, d.current_warehouse_id)
  from unnest(array_remove(array[delivery.parcel_of(d), case when d.delivery_flow = 'operational_return' then d.original_delivery_id end], null))
    p (id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_carrier text;
begin
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
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', v_field));
  end if;
  perform delivery.require_delivery_window(
    case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else p.deliver_after end,
    case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else p.deliver_before end);
  perform delivery.delivery_corrected(p.id, input);
  return delivery.delivery_created_to_json(p.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_contents jsonb;
  v_staged boolean := coalesce((input ->> 'staged')::boolean, false);
  -- An owner's return that waits for the office is a draft until then.
  v_asked boolean := input ->> 'delivery_flow' = 'customer_return' and input ->> 'status' is distinct from 'draft' and delivery.return_needs_approval();
begin
  if input ->> 'delivery_flow' = 'customer_return' then
    -- Before it is looked at: of two returns at the same moment the second finds the first, and one beside an undo finds it undone.
    perform delivery.lock_deliveries(array[(input ->> 'original_delivery_id')::uuid]);
    input := delivery.customer_return_input(input);
    v_contents := delivery.returned_contents((input ->> 'original_delivery_id')::uuid, input -> 'return_items');
  end if;
  if v_staged then
    input := input || jsonb_build_object('warehouse_id', delivery.staging_of(input)) - '{pickup_warehouse_id,dropoff_warehouse_id}'::text[];
  end if;
  d := delivery.delivery_terms(input);
  d.original_delivery_id := (input ->> 'original_delivery_id')::uuid;
  d.status := case when v_asked then 'draft' else input ->> 'status' end;
  d.barcode := input ->> 'barcode';
  if v_staged then
    d.delivery_flow := 'pnd_parent';
    d.staging_warehouse_id := (input ->> 'warehouse_id')::uuid;
    perform delivery.require_carried_in_one(d.delivery_flow, d.carrier_type);
  end if;
  -- By itself: what reads in the statement that writes would not see it.
  d.returns_part := v_contents is not null;
  d.id := delivery.delivery_write(d, v_contents);
  if v_asked then
    perform delivery.return_request_ask(d.id);
  end if;
  return delivery.delivery_created_to_json(d.id);
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

CREATE OR REPLACE FUNCTION delivery.driver_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_user uuid := (input ->> 'user_id')::uuid;
  v_type text;
begin
  select u.tenant_user_type into v_type from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_user and u.left_at is null;
  if not found then
    perform app.fail('user_not_found');
  end if;
  if v_type <> 'driver' then
    perform app.fail('user_not_driver', '{"field": "user_id"}');
  end if;
  perform delivery.lock_default_driver(input);
  perform tenancy.member_provision(v_user, 'driver');
  perform delivery.driver_equip(v_user, input);
  return delivery.driver_to_json(v_user);
end $function$;

CREATE OR REPLACE FUNCTION delivery.driver_equip(driver uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_load record := delivery.lock_load(driver, input);
begin
  perform delivery.driver_provision(driver, input);
  if (input ->> 'vehicle_id')::uuid is distinct from v_load.vehicle and v_load.assignment_ids <> '{}' then
    perform from delivery.assignments a where a.tenant_id = app.tenant_id() and a.id = any (v_load.assignment_ids) order by a.id for no key update;
    update delivery.assignments a set vehicle_id = (input ->> 'vehicle_id')::uuid
    where a.tenant_id = app.tenant_id() and a.id = any (v_load.assignment_ids);
  end if;
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
    if exists (select from delivery.assignments a
        where a.tenant_id = v_tenant and a.vehicle_id = v_vehicle.id and a.driver_id <> v_driver.user_id
          and a.status in ('pending', 'assigned', 'accepted')) then
      perform app.fail('driver_vehicle_taken', '{"field": "vehicle_id"}');
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

CREATE OR REPLACE FUNCTION delivery.driver_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.lock_default_driver(input);
  perform delivery.driver_equip((input ->> 'id')::uuid, input);
  return delivery.driver_to_json((input ->> 'id')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_of_store(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  if d.order_id is not null or d.original_delivery_id is null or d.delivery_flow <> 'operational_return' and not d.made_at_door then
    return d.order_id is not null;
  end if;
  return exists (
    with recursive original as (
      select o.id, o.order_id, o.original_delivery_id from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id
      union all
      select o.id, o.order_id, o.original_delivery_id from original r
      join delivery.deliveries o on o.tenant_id = d.tenant_id and o.id = r.original_delivery_id
    )
    select from original r where r.order_id is not null);
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
    where a.tenant_id = v_tenant and a.driver_id = driver and a.vehicle_id = vehicle and a.delivery_id = any (v_held)
      and a.status in ('pending', 'assigned', 'accepted'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_carried_in_one(flow text, carrier_type text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if flow = 'pnd_parent' and carrier_type = 'external' then
    perform app.fail('delivery_goes_in_legs');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_owner(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if not app.has_permission('manage:operations:tenant')
      -- A delivery of a store's order belongs to the store: its customer cancels the order, not the delivery, nor what goes back of it.
      and (not coalesce(app.user_id() in (d.customer_id, d.institution_user_id), false) or delivery.is_of_store(d)) then
    perform app.fail('forbidden');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_over uuid[];
  v_open boolean;
begin
  if tg_op = 'INSERT' then
    if (delivery.auto_assignment_settings()).enabled then
      perform delivery.searches_begin(array(select n.id from new_rows n
        where n.tenant_id = app.tenant_id() and n.status = 'pending' and delivery.is_auto_assignable(n)));
    end if;
    return null;
  end if;
  select array_agg(n.id) filter (where (n.status not in ('pending', 'assigned', 'accepted') or n.carrier_type <> 'internal')
      and (n.status <> o.status or n.carrier_type <> o.carrier_type)),
    coalesce(bool_or(n.status = 'pending' and n.postponed_to is null
      and (o.status not in ('pending', 'assigned', 'accepted') or o.postponed_to is not null or o.carrier_type <> n.carrier_type)), false)
  into v_over, v_open
  from new_rows n join old_rows o on o.id = n.id;
  if v_over is not null then
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    from new_rows n
    where n.id = any (v_over) and s.tenant_id = n.tenant_id and s.delivery_id = n.id and s.status in ('searching', 'offered', 'failed');
  end if;
  -- Deliveries that drivers lose before pickup are the affair of their assignments.
  if v_open and (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(array(select n.id from new_rows n join old_rows o on o.id = n.id
      where n.tenant_id = app.tenant_id() and n.status = 'pending' and n.postponed_to is null
        and (o.status not in ('pending', 'assigned', 'accepted')
          or (o.postponed_to is not null or o.carrier_type <> n.carrier_type) and delivery.return_under_way(n.id) is null)
        and delivery.is_auto_assignable(n)));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.vehicle_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_used numeric;
  v_driven boolean;
  v_loaded numeric;
begin
  perform from delivery.drivers d where d.tenant_id = app.tenant_id() and d.vehicle_id = v_id for no key update;
  perform from delivery.vehicles v where v.id = v_id for no key update;
  if not found then
    perform app.fail('vehicle_not_found');
  end if;
  -- Asked again: somebody may have got it while this waited.
  select coalesce(max(d.capacity_used), 0), count(*) > 0 into v_used, v_driven
  from delivery.drivers d where d.tenant_id = app.tenant_id() and d.vehicle_id = v_id;
  -- Also of a driver who has another vehicle; null: nothing is in it.
  select sum(a.units) into v_loaded from delivery.assignments a
  where a.tenant_id = app.tenant_id() and a.vehicle_id = v_id and a.status in ('pending', 'assigned', 'accepted');
  if (v_driven or v_loaded is not null) and input ->> 'is_active' = 'false' then
    perform app.fail('vehicle_in_use');
  end if;
  if (input ->> 'unit_capacity')::numeric < greatest(v_used, v_loaded) then
    perform app.fail('insufficient_vehicle_capacity', '{"field": "unit_capacity"}');
  end if;
  update delivery.vehicles v set
    name = coalesce(input ->> 'name', v.name),
    unit_capacity = coalesce((input ->> 'unit_capacity')::numeric, v.unit_capacity),
    image_url = case when input ? 'image_url' then input ->> 'image_url' else v.image_url end,
    is_active = coalesce((input ->> 'is_active')::boolean, v.is_active)
  where v.id = v_id;
  return (select to_jsonb(v) from delivery.vehicles_list v where v.id = v_id);
end $function$;

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
  -- Back from its door, and to be received: from there a leg sets out again, and its parcel with it.
  v_awaited := array(
    select f.id from warehousing.receiving_orders r
    join delivery.deliveries l on l.tenant_id = r.tenant_id and l.id = r.delivery_id and l.status = 'returned'
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

REVOKE ALL ON FUNCTION "delivery"."driver_equip"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."driver_equip"(uuid, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."is_of_store"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_of_store"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."lock_load"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_load"(uuid, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_carried_in_one"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_carried_in_one"(text, text) TO "barid_caller";

-- Handoffs of picks that a carrier took. One whose parcel has come back and was prepared anew is of the pick made since; the others end.
update delivery.package_handoffs h set picking_order_id = n.id, warehouse_id = n.warehouse_id
from warehousing.picking_orders p, warehousing.picking_orders n
where h.status = 'pending' and p.tenant_id = h.tenant_id and p.id = h.picking_order_id and p.status = 'handed_off'
  and n.tenant_id = h.tenant_id and n.delivery_id = h.delivery_id and n.status = 'completed' and n.order_id is null;
update delivery.package_handoffs h set status = 'cancelled'
from warehousing.picking_orders p
where h.status = 'pending' and p.tenant_id = h.tenant_id and p.id = h.picking_order_id and p.status = 'handed_off';

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201092441';
end $$;

grant execute on function private.schema_version() to barid_api;
