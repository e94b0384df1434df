-- Parcels that leave a warehouse: picked by Execute, taken over by their driver, or sent back to who sent them.

-- Prepares a parcel for its driver: one completed picking order with all of it reserved. Again: the same order.
-- {id, warehouse_id?} -> {picking_order{id, reference_number, status, warehouse_id, delivery_id, item_details}, delivery}
-- Fails: delivery_not_found, delivery_not_executable (goes from door to door), invalid_status_transition,
-- return_under_way, warehouse_preparation_inconsistent (not all of it lies in that warehouse).
create or replace function delivery.delivery_execute(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_asked uuid := (input ->> 'warehouse_id')::uuid;
  v_pick uuid;
  v_found jsonb;
  v_reference text;
  v_order warehousing.picking_orders;
begin
  if not delivery.leaves_warehouse(d) then
    perform app.fail('delivery_not_executable');
  end if;
  select p.id into v_pick from warehousing.picking_orders p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.status = 'completed';
  if not found then
    perform delivery.require_move(d, '{pending}', 'executed');
    perform delivery.require_no_return(d);
    if coalesce(v_asked, d.pickup_warehouse_id) <> d.pickup_warehouse_id then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    v_pick := gen_random_uuid();
    -- Somebody may have written the next number by hand.
    while v_reference is null or exists (select from warehousing.picking_orders p
        where p.tenant_id = d.tenant_id and p.reference_number = v_reference and p.order_id is null) loop
      v_reference := 'PKO-' || app.padded(app.take_numbers('picking_order'), 6);
    end loop;
    -- The items of a parcel, where each lies; whatever is missing is one and the same refusal.
    begin
      v_found := warehousing.stock_reserve('picking_order', v_pick, (
        select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'quantity', i.quantity, 'warehouse_id', d.pickup_warehouse_id) order by i.position)
        from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d) and i.item_id is not null));
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_stock' then
        raise;
      end if;
      v_found := null;
    end;
    if coalesce(jsonb_array_length(v_found), 0) = 0 then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    insert into warehousing.picking_orders (id, tenant_id, reference_number, warehouse_id, order_type, status, delivery_id, completed_date,
      created_by, picking_progress)
    values (v_pick, d.tenant_id, v_reference, d.pickup_warehouse_id, 'individual',
      'completed', d.id, clock_timestamp(), app.user_id(), jsonb_build_object('total_items', jsonb_array_length(v_found),
        'picked_items', jsonb_array_length(v_found), 'start_time', now(), 'end_time', now()))
    returning * into v_order;
    insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity, picked_quantity, status)
    select d.tenant_id, v_pick, f.position, f.warehouse_id, f.item_id, f.bin_id, f.quantity, f.quantity, 'picked'
    from rows from (jsonb_to_recordset(v_found) as (warehouse_id uuid, item_id uuid, bin_id uuid, quantity bigint))
      with ordinality f (warehouse_id, item_id, bin_id, quantity, position);
    perform warehousing.picking_event_emit(v_order, 'pending', v_order.status);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'picking_order', (
    select jsonb_build_object('id', p.id, 'reference_number', p.reference_number, 'status', p.status, 'warehouse_id', p.warehouse_id,
      'delivery_id', p.delivery_id, 'completed_date', p.completed_date, 'item_details', (
        select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity,
          'picked_quantity', i.picked_quantity, 'status', i.status) order by i.position)
        from warehousing.picking_order_items i where i.tenant_id = p.tenant_id and i.picking_order_id = p.id))
    from warehousing.picking_orders p where p.id = v_pick));
end $$;

-- Sends a parcel that lies in a warehouse back to who sent it: a delivery of its own, with its own barcode, free of
-- charge. The original keeps its status, goes nowhere else meanwhile, and is returned when that delivery is delivered
-- (delivery.originals_come_back). {id, delivery_service_id?, reason?, notes?} -> the new delivery
-- Fails: delivery_not_found, service_not_found, delivery_not_in_warehouse, invalid_status_transition, return_already_exists.
create or replace function delivery.delivery_operational_return(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_id uuid;
begin
  if d.delivery_flow not in ('pnd_outbound', 'pnd_inbound', 'standard') or d.current_warehouse_id is null then
    perform app.fail('delivery_not_in_warehouse');
  end if;
  perform delivery.require_move(d, case d.delivery_flow when 'pnd_inbound' then '{returned}'::text[] else '{pending,returned}' end, 'returned');
  if d.status = 'pending' then
    update delivery.deliveries x set status_reason = input ->> 'reason', status_notes = input ->> 'notes'
    where x.tenant_id = d.tenant_id and x.id = d.id;
  end if;
  v_id := delivery.operational_return_make(d, input);
  return delivery.delivery_created_to_json(v_id);
end $$;

-- The operational return of d, a parcel or the leg of one that lies in a warehouse: what was bound to its way out is freed. {delivery_service_id?, reason?, notes?} -> the id of the new delivery
-- Fails: delivery_not_in_warehouse, service_not_found, return_already_exists.
create or replace function delivery.operational_return_make(d delivery.deliveries, input jsonb) returns uuid
language plpgsql set search_path = '' as $$
declare
  n delivery.deliveries;
  v_place jsonb;
  v_zone uuid;
  v_service delivery.delivery_services;
  v_picks uuid[];
begin
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    perform app.fail('delivery_not_in_warehouse');
  end if;
  select * into n from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = delivery.parcel_of(d);
  select * into v_service from delivery.delivery_services s
  where s.id = coalesce((input ->> 'delivery_service_id')::uuid, n.delivery_service_id) and (input ->> 'delivery_service_id' is null or s.deleted_at is null);
  if not found then
    perform app.fail('service_not_found', '{"field": "delivery_service_id"}');
  end if;
  v_picks := delivery.delivery_release(n.id);

  select to_jsonb(a), a.zone_id, a.id into v_place, v_zone, n.dropoff_address_id
  from warehousing.warehouses w join delivery.addresses_list a on a.id = w.address_id
  where w.tenant_id = d.tenant_id and w.id = d.current_warehouse_id;
  n.original_delivery_id := n.id;
  n.id := gen_random_uuid();
  n.recipient := jsonb_strip_nulls(jsonb_build_object('name', coalesce(delivery.person_name(coalesce(n.institution_user_id, n.customer_id)),
    app.localized(n.pickup_snapshot -> 'title')), 'phone', n.pickup_snapshot #>> '{contact_info,phone}'));
  -- From the warehouse (just read into the drop-off) to where it was picked up.
  select n.dropoff_address_id, n.pickup_address_id, v_place, n.pickup_snapshot, v_zone, n.pickup_zone_id
  into n.pickup_address_id, n.dropoff_address_id, n.pickup_snapshot, n.dropoff_snapshot, n.pickup_zone_id, n.dropoff_zone_id;
  n.pickup_warehouse_id := d.current_warehouse_id;
  n.current_warehouse_id := d.current_warehouse_id;
  n.dropoff_warehouse_id := null;
  n.staging_warehouse_id := null;
  n.delivery_flow := 'operational_return';
  n.status := 'pending';
  n.carrier_type := 'internal';
  n.carrier_code := null;
  n.payer_type := 'sender';
  n.payment_method := 'cash';
  n.cod_amount := 0;
  n.delivery_fee := 0;
  n.distance_km := null;
  n.delivery_service_id := v_service.id;
  n.external_reference_id := null;
  -- It brings nothing of the store's order to anybody.
  n.order_id := null;
  n.promised_at := null;
  n.status_reason := input ->> 'reason';
  n.notes := input ->> 'notes';
  n.created_by := app.user_id();
  n.delivery_code := app.take_numbers('delivery_code');
  n.barcode := delivery.barcode_of_code(n.delivery_code);
  perform delivery.delivery_insert(n);
  insert into delivery.delivery_items (tenant_id, delivery_id, position, item_id, name, quantity, weight, length, width, height)
  select i.tenant_id, n.id, i.position, i.item_id, i.name, i.quantity, i.weight, i.length, i.width, i.height
  from delivery.delivery_items i where i.tenant_id = n.tenant_id and i.delivery_id = n.original_delivery_id;
  -- Goods picked for the way out go back to their bins; numbers are taken before stock, as everywhere.
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(n.original_delivery_id);
  return n.id;
end $$;

-- The name of a person, or null.
create or replace function delivery.person_name(person uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select p.full_name from tenancy.profiles p where p.id = person);
end $$;
