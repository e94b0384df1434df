-- Parcels that leave a warehouse: picked by Execute, and then taken over by their driver.

-- Prepares a parcel for its driver: one completed picking order with all of it reserved; of an operational return with what of it is available,
-- and what is damaged or in question goes along when it is picked up. Again: the same order, of a return with what has become available since.
-- {id, warehouse_id?} -> {picking_order{id, reference_number, status, warehouse_id, delivery_id, item_details}, delivery}
-- Fails: delivery_not_found, delivery_not_executable (goes from door to door), invalid_status_transition,
-- return_under_way, warehouse_preparation_inconsistent (not all of it lies in that warehouse, of a return nothing; or it is on a waybill).
create or replace function delivery.delivery_execute(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_asked uuid := (input ->> 'warehouse_id')::uuid;
  v_pick uuid;
  v_lines jsonb;
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
    -- A parcel on a waybill travels to another warehouse first.
    if coalesce(v_asked, d.pickup_warehouse_id) <> d.pickup_warehouse_id or delivery.on_waybill(delivery.parcel_of(d)) then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    v_pick := gen_random_uuid();
    -- Somebody may have written the next number by hand.
    while v_reference is null or exists (select from warehousing.picking_orders p
        where p.tenant_id = d.tenant_id and p.reference_number = v_reference and p.order_id is null) loop
      v_reference := 'PKO-' || app.padded(app.take_numbers('picking_order'), 6);
    end loop;
    -- The items of a parcel, where each lies; whatever is missing is one and the same refusal.
    if d.delivery_flow = 'operational_return' then
      v_lines := warehousing.return_to_pick(d.id, d.pickup_warehouse_id);
    else
      select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'quantity', i.quantity, 'warehouse_id', d.pickup_warehouse_id) order by i.position)
      into v_lines
      from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d) and i.item_id is not null;
    end if;
    begin
      v_found := warehousing.stock_reserve('picking_order', v_pick, v_lines);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_stock' then
        raise;
      end if;
      v_found := null;
    end;
    if v_found is null or v_found = '[]' and not delivery.leaves_as_it_is(d) then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    insert into warehousing.picking_orders (id, tenant_id, reference_number, warehouse_id, order_type, status, delivery_id, completed_date,
      created_by, picking_progress)
    values (v_pick, d.tenant_id, v_reference, d.pickup_warehouse_id, 'individual',
      'completed', d.id, clock_timestamp(), app.user_id(), jsonb_build_object('start_time', now(), 'end_time', now()))
    returning * into v_order;
    perform warehousing.picking_event_emit(v_order, 'pending', v_order.status);
  elsif d.delivery_flow = 'operational_return' then
    v_lines := warehousing.return_to_pick(d.id, d.pickup_warehouse_id, v_pick);
    if v_lines is not null then
      v_found := warehousing.stock_reserve('picking_order', v_pick, v_lines);
    end if;
  end if;
  insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity, picked_quantity, status)
  select d.tenant_id, v_pick, f.position + coalesce((select max(i.position) from warehousing.picking_order_items i
    where i.tenant_id = d.tenant_id and i.picking_order_id = v_pick), 0), f.warehouse_id, f.item_id, f.bin_id, f.quantity, f.quantity, 'picked'
  from rows from (jsonb_to_recordset(v_found) as (warehouse_id uuid, item_id uuid, bin_id uuid, quantity bigint))
    with ordinality f (warehouse_id, item_id, bin_id, quantity, position);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'picking_order', delivery.pick_to_json(v_pick));
end $$;

-- Undoes what Execute prepared, while no driver is given the parcel: its pick is cancelled, what it set aside is free where it lies, and it may
-- be transferred, sent back or prepared again. reason stands in the notes of the pick.
-- {id, reason?} -> {picking_order{id, reference_number, status, warehouse_id, delivery_id, item_details}, delivery}
-- Locks: as delivery.lock_deliveries, the pick, stock.
-- Fails: delivery_not_found, delivery_not_executable, invalid_status_transition (a driver is given it, or has it), delivery_not_prepared.
create or replace function delivery.delivery_execute_undo(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_pick warehousing.picking_orders;
begin
  if not delivery.leaves_warehouse(d) then
    perform app.fail('delivery_not_executable');
  end if;
  perform delivery.require_move(d, '{pending}', 'pending');
  select * into v_pick from warehousing.picking_orders p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.status = 'completed' for no key update;
  if not found then
    perform app.fail('delivery_not_prepared');
  end if;
  update warehousing.picking_orders p set status = 'cancelled', notes = coalesce(input ->> 'reason', p.notes)
  where p.tenant_id = d.tenant_id and p.id = v_pick.id;
  update delivery.package_handoffs h set status = 'cancelled'
  where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.status = 'pending';
  perform warehousing.stock_release('picking_order', v_pick.id);
  perform warehousing.picking_event_emit(v_pick, v_pick.status, 'cancelled');
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'picking_order', delivery.pick_to_json(v_pick.id));
end $$;

-- A pick made for a delivery, as the two calls above answer it.
create or replace function delivery.pick_to_json(pick uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', p.id, 'reference_number', p.reference_number, 'status', p.status, 'warehouse_id', p.warehouse_id,
      'delivery_id', p.delivery_id, 'completed_date', p.completed_date, 'item_details', (
        select coalesce(jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity,
          'picked_quantity', i.picked_quantity, 'status', i.status) order by i.position), '[]')
        from warehousing.picking_order_items i where i.tenant_id = p.tenant_id and i.picking_order_id = p.id))
    from warehousing.picking_orders p where p.id = pick);
end $$;

-- The name of a person, or null.
create or replace function delivery.person_name(person uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select p.full_name from tenancy.profiles p where p.id = person);
end $$;
