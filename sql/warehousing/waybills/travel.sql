-- A waybill's way: sealed, in a driver's hands, received, closed. Locks: the waybill, its parcels by id, stock.

-- A waybill of the tenant, locked. Fails: waybill_not_found.
create or replace function warehousing.lock_waybill(waybill_id uuid) returns warehousing.waybills
language plpgsql set search_path = '' as $$
declare
  w warehousing.waybills;
begin
  select * into w from warehousing.waybills x where x.id = lock_waybill.waybill_id for no key update;
  if not found then
    perform app.fail('waybill_not_found');
  end if;
  return w;
end $$;

-- Refuses what a waybill is not ready for, or done with. Fails: waybill_action_not_allowed.
create or replace function warehousing.require_waybill_open(w warehousing.waybills) returns void
language plpgsql stable set search_path = '' as $$
begin
  -- Drafted are both those that are sealed and those that are not: the answer says which.
  perform app.fail('waybill_action_not_allowed', jsonb_build_object('status', w.status, 'sealed_at', w.sealed_at,
    'state', case when w.status <> 'drafted' then w.status when w.sealed_at is null then 'unsealed' else 'sealed' end));
end $$;

-- Fails: waybill_action_not_allowed.
create or replace function warehousing.require_waybill(w warehousing.waybills, status text, sealed boolean) returns void
language plpgsql stable set search_path = '' as $$
begin
  if w.status <> require_waybill.status or (w.sealed_at is not null) <> sealed then
    perform warehousing.require_waybill_open(w);
  end if;
end $$;

-- Emits what happened to a waybill: ids, warehouses and who did it.
create or replace function warehousing.waybill_event_emit(w warehousing.waybills, happened text, more jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'waybill.' || happened, 'source_module', 'warehousing',
    'entity_type', 'waybill', 'entity_id', w.id, 'event_data', jsonb_build_object('waybill_id', w.id, 'waybill_number', w.waybill_number,
      'source_warehouse_id', w.source_warehouse_id, 'destination_warehouse_id', w.destination_warehouse_id, 'driver_id', w.driver_id,
      'actor_id', app.user_id()) || more)));
end $$;

-- The parcels that are still to travel on a waybill, held. Fails: waybill_has_no_deliveries.
create or replace function warehousing.lock_waybill_parcels(w warehousing.waybills) returns uuid[]
language plpgsql set search_path = '' as $$
declare
  v_parcels uuid[] := array(select p.delivery_id from warehousing.waybill_deliveries p
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.is_open order by p.position);
begin
  perform delivery.lock_deliveries(v_parcels);
  -- As they are now: one may have been cancelled meanwhile.
  v_parcels := array(select p.delivery_id from warehousing.waybill_deliveries p
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.is_open order by p.position);
  if v_parcels = '{}' then
    perform app.fail('waybill_has_no_deliveries');
  end if;
  return v_parcels;
end $$;

-- Closes a drafted waybill's contents. {id, seal_number?} -> {waybill}
-- Fails: waybill_not_found, forbidden, waybill_action_not_allowed, waybill_has_no_deliveries.
create or replace function warehousing.waybill_seal(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
begin
  perform warehousing.require_works_in(w.source_warehouse_id);
  perform warehousing.require_waybill(w, 'drafted', false);
  perform warehousing.lock_waybill_parcels(w);
  update warehousing.waybills x set sealed_at = clock_timestamp(), seal_number = input ->> 'seal_number'
  where x.tenant_id = w.tenant_id and x.id = w.id;
  perform warehousing.waybill_event_emit(w, 'sealed');
  return warehousing.waybill_get(input);
end $$;

-- Calls off a drafted waybill, sealed or not: it is closed, its parcels stay where they lie and may travel otherwise, its stock is free
-- again. Drafts that were made for pieces of inventory stay drafts, for another waybill. {id} -> {waybill}
-- Fails: waybill_not_found, forbidden, waybill_action_not_allowed (on its way, or over).
create or replace function warehousing.waybill_cancel(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_parcels uuid[];
begin
  perform warehousing.require_works_in(w.source_warehouse_id);
  perform warehousing.require_waybill(w, 'drafted', w.sealed_at is not null);
  v_parcels := array(select p.delivery_id from warehousing.waybill_deliveries p
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.is_open order by p.position);
  perform delivery.lock_deliveries(v_parcels);
  update warehousing.waybills x set status = 'closed', closed_at = clock_timestamp(), cancelled_at = clock_timestamp()
  where x.tenant_id = w.tenant_id and x.id = w.id;
  update warehousing.waybill_deliveries p set is_open = false where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.is_open;
  delete from warehousing.waybill_items i where i.tenant_id = w.tenant_id and i.waybill_id = w.id;
  perform warehousing.waybill_event_emit(w, 'cancelled', jsonb_build_object('delivery_ids', to_jsonb(v_parcels)));
  perform warehousing.stock_release('waybill', w.id);
  return warehousing.waybill_get(input);
end $$;

-- Takes off a waybill what another company has carried away meanwhile, with the reason among its discrepancies; its stock is
-- gone with it. -> the parcels that stay on it. Fails: waybill_has_no_deliveries (all are gone).
create or replace function warehousing.waybill_without_gone(w warehousing.waybills, parcels uuid[]) returns uuid[]
language plpgsql set search_path = '' as $$
declare
  v_gone uuid[] := array(
    select distinct coalesce(d.parent_id, d.id) from delivery.deliveries d
    where d.tenant_id = w.tenant_id and (d.id = any (parcels) or d.parent_id = any (parcels)) and d.carrier_type = 'external'
      and d.delivery_flow not in ('pnd_parent', 'pnd_inbound') and d.status not in ('draft', 'pending'));
begin
  if v_gone = '{}' then
    return parcels;
  elsif parcels <@ v_gone then
    perform app.fail('waybill_has_no_deliveries');
  end if;
  update warehousing.waybill_deliveries p set is_open = false
  where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.delivery_id = any (v_gone);
  insert into warehousing.waybill_discrepancies (tenant_id, waybill_id, delivery_id, type, status, resolution, resolved_by, resolved_at)
  select w.tenant_id, w.id, g.id, 'left_before_handover', 'resolved', 'external_carrier', app.user_id(), clock_timestamp() from unnest(v_gone) g (id);
  perform warehousing.parcel_leaves(g.id, w.source_warehouse_id) from unnest(v_gone) g (id);
  return array(select p.id from unnest(parcels) with ordinality p (id, place) where p.id <> all (v_gone) order by p.place);
end $$;

-- Puts a sealed waybill into a driver's hands: its orders are on the road, its stock leaves the source, and the goods of stores leave with
-- their parcels. Drafts bind nobody and stay drafts; what another company has carried away is taken off, and the booking of what it brought back
-- ends. {id, driver_id, vehicle_id?}
-- -> {waybill}
-- Fails: waybill_not_found, forbidden, waybill_action_not_allowed, waybill_has_no_deliveries, driver_not_found, driver_inactive,
-- vehicle_not_found, vehicle_inactive, waybill_delivery_not_ready (moved by somebody else, or booked with a carrier that is to fetch it here),
-- goods_not_picked (of a store's parcel).
create or replace function warehousing.waybill_hand_over(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
  perform integration.shipments_end(array(select d.id from delivery.deliveries d
    where d.tenant_id = w.tenant_id and (d.id = any (v_parcels) or d.parent_id = any (v_parcels))));
  update warehousing.waybills x set status = 'in_transit', driver_id = w.driver_id, vehicle_id = w.vehicle_id, handed_over_at = clock_timestamp()
  where x.tenant_id = w.tenant_id and x.id = w.id;
  update delivery.deliveries d set status = 'in_transit', status_reason = null, status_notes = w.waybill_number
  where d.tenant_id = w.tenant_id and d.status = 'pending'
    and ((d.id = any (v_parcels) and d.delivery_flow <> 'pnd_parent') or (d.parent_id = any (v_parcels) and d.delivery_flow = 'pnd_outbound'));
  perform delivery.parcel_at(p.id, null) from unnest(v_parcels) p (id);
  perform warehousing.waybill_event_emit(w, 'handed_over', jsonb_build_object('delivery_count', cardinality(v_parcels)));
  perform warehousing.stock_exit('waybill', w.id, 'transfer_out');
  perform warehousing.waybill_takes_along(w, v_parcels);
  return warehousing.waybill_get(input);
end $$;

-- Books out what lies in the source of the parcels on a waybill that was not set aside for it, such as damaged units, and records it with its status:
-- it travels with them, and is the same where they are received.
create or replace function warehousing.waybill_takes_along(w warehousing.waybills, parcels uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  -- Read once: it is recorded as it is booked out.
  v_lines jsonb := (
    select jsonb_agg(to_jsonb(s) || jsonb_build_object('delivery_id', d.id) order by s.id)
    from delivery.deliveries d cross join lateral warehousing.parcel_stock(d.id, w.source_warehouse_id) s
    where d.tenant_id = w.tenant_id and d.id = any (parcels) and s.reserved_for_id is null);
begin
  if v_lines is null then
    return;
  end if;
  insert into warehousing.waybill_items (tenant_id, waybill_id, delivery_id, item_id, quantity, lot_number, serial_number, status)
  select w.tenant_id, w.id, l.delivery_id, l.item_id, sum(l.quantity), l.lot_number, l.serial_number, l.status
  from jsonb_to_recordset(v_lines) as l (delivery_id uuid, item_id uuid, quantity bigint, lot_number text, serial_number text, status text)
  group by l.delivery_id, l.item_id, l.lot_number, l.serial_number, l.status;
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'transfer_out', 'item_id', l.item_id, 'warehouse_id', w.source_warehouse_id, 'quantity', l.quantity,
      'from', jsonb_strip_nulls(jsonb_build_object('bin_id', l.bin_id, 'status', l.status, 'lot_number', l.lot_number,
        'serial_number', l.serial_number)), 'reference_type', 'waybill', 'reference_id', w.id))
    from jsonb_to_recordset(v_lines) as l (bin_id uuid, item_id uuid, quantity bigint, lot_number text, serial_number text, status text)));
end $$;

-- The vehicle a driver of the tenant drives: the one named, else their own. Fails: driver_not_found, driver_inactive (as a driver, or as
-- a member of the company), vehicle_not_found, vehicle_inactive.
create or replace function warehousing.waybill_vehicle(driver uuid, vehicle uuid) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_driver record;
  v_active boolean;
begin
  select d.vehicle_id, u.is_active and d.status = 'active' as is_active into v_driver
  from delivery.drivers d
  join tenancy.tenant_users u on u.tenant_id = d.tenant_id and u.user_id = d.user_id
  where d.tenant_id = v_tenant and d.user_id = driver;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  elsif not v_driver.is_active then
    perform app.fail('driver_inactive', '{"field": "driver_id"}');
  end if;
  if vehicle is null then
    return v_driver.vehicle_id;
  end if;
  select v.is_active into v_active from delivery.vehicles v where v.tenant_id = v_tenant and v.id = vehicle;
  if not found then
    perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
  elsif not v_active then
    perform app.fail('vehicle_inactive', '{"field": "vehicle_id"}');
  end if;
  return vehicle;
end $$;

-- Takes a parcel off its waybill before the road, and gives its stock back: it was cancelled. SECURITY DEFINER: a customer
-- who cancels sees no waybill. The parcel is held.
create or replace function warehousing.waybill_remove_delivery(parcel uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_waybill uuid;
  v_items jsonb;
begin
  select p.waybill_id into v_waybill from warehousing.waybill_deliveries p
  join warehousing.waybills w on w.tenant_id = p.tenant_id and w.id = p.waybill_id
  where p.tenant_id = v_tenant and p.delivery_id = parcel and p.is_open and w.status = 'drafted';
  if not found then
    return;
  end if;
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'quantity', i.quantity, 'lot_number', i.lot_number, 'serial_number', i.serial_number))
  into v_items from warehousing.waybill_items i where i.tenant_id = v_tenant and i.waybill_id = v_waybill and i.delivery_id = parcel;
  delete from warehousing.waybill_deliveries p where p.tenant_id = v_tenant and p.waybill_id = v_waybill and p.delivery_id = parcel;
  if v_items is not null then
    perform warehousing.stock_release('waybill', v_waybill, v_items);
  end if;
end $$;

grant execute on function warehousing.waybill_remove_delivery(uuid) to barid_caller;
