-- Stock movements of a picking order's steps.

-- Sets aside what an order's lines ask for. Fails: insufficient_stock.
create or replace function warehousing.picking_reserve(p_order warehousing.picking_orders) returns void
language plpgsql set search_path = '' as $$
begin
  perform warehousing.stock_reserve('picking_order', p_order.id, (
    select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'warehouse_id', i.warehouse_id, 'bin_id', i.bin_id, 'quantity', i.quantity,
      'field', format('item_details.%s.quantity', i.position - 1)) order by i.position)
    from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id));
end $$;

-- Says of each line of an ended pick what its quantities say: picked, short, or missing where nothing was found. Another word of somebody's stays.
create or replace function warehousing.picking_lines_end(p_order warehousing.picking_orders) returns void
language plpgsql set search_path = '' as $$
begin
  update warehousing.picking_order_items i
  set status = case i.picked_quantity when i.quantity then 'picked' when 0 then 'missing' else 'short' end
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.status in ('pending', 'picked', 'short', 'missing');
end $$;

-- Ends the picking: what was picked leaves the house, what was left is free again. When nobody recorded what was
-- picked, all was; a line whose status says neither pending nor picked was recorded. The pick of a delivery stays reserved until its
-- driver takes it, and must be whole. The pick of an order stays reserved until the order leaves, and may be short: whether the order
-- is sent so is for its shop to say.
-- Fails: picking_incomplete.
create or replace function warehousing.picking_finish(p_order warehousing.picking_orders) returns void
language plpgsql set search_path = '' as $$
declare
  v_left jsonb;
begin
  update warehousing.picking_order_items i set picked_quantity = i.quantity
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and not exists (
    select from warehousing.picking_order_items x
    where x.tenant_id = p_order.tenant_id and x.picking_order_id = p_order.id
      and (x.picked_quantity > 0 or x.status not in ('pending', 'picked')));
  perform warehousing.picking_lines_end(p_order);
  if p_order.order_id is not null then
    return;
  end if;
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity - i.picked_quantity) order by i.position)
  into v_left
  from warehousing.picking_order_items i
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.picked_quantity < i.quantity;
  if p_order.delivery_id is not null then
    if v_left is not null then
      perform app.fail('picking_incomplete', '{"field": "item_details"}');
    end if;
    return;
  end if;
  if v_left is not null then
    perform warehousing.stock_release('picking_order', p_order.id, v_left);
  end if;
  perform warehousing.stock_exit('picking_order', p_order.id);
end $$;

-- Emits that an order came into a status, the same of every way it may come there.
create or replace function warehousing.picking_event_emit(p_order warehousing.picking_orders, from_status text, to_status text) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object(
    'event_type', 'picking_order.' || case to_status when 'in_progress' then 'started' else to_status end,
    'source_module', 'warehousing', 'entity_type', 'picking_order', 'entity_id', p_order.id,
    'event_data', jsonb_build_object('picking_order_id', p_order.id, 'reference_number', p_order.reference_number,
      'warehouse_id', p_order.warehouse_id, 'delivery_id', p_order.delivery_id, 'from', from_status, 'to', to_status,
      'actor_id', app.user_id()))));
end $$;

-- Moves an order on, its stock with it. The order is locked. An order that is made already further on has
-- gone through the steps before. Fails: invalid_status_transition, insufficient_stock, picking_incomplete.
create or replace function warehousing.picking_move(p_order warehousing.picking_orders, to_status text) returns void
language plpgsql set search_path = '' as $$
begin
  if p_order.status = 'completed' and to_status = 'cancelled' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', p_order.status, 'to', to_status));
  end if;
  -- The guard refuses a move there is not, before any stock is touched.
  update warehousing.picking_orders o set status = to_status,
    completed_date = case when to_status = 'completed' then clock_timestamp() else o.completed_date end,
    picking_progress = case to_status
      when 'in_progress' then jsonb_build_object('start_time', clock_timestamp()) || o.picking_progress
      when 'completed' then jsonb_build_object('start_time', clock_timestamp(), 'end_time', clock_timestamp()) || o.picking_progress
      else o.picking_progress end
  where o.id = p_order.id;
  if p_order.status = 'pending' and to_status in ('in_progress', 'completed') and p_order.order_id is null then
    perform warehousing.picking_reserve(p_order);
  end if;
  if to_status = 'completed' then
    perform warehousing.picking_finish(p_order);
  elsif to_status = 'cancelled' and p_order.status = 'in_progress' then
    perform warehousing.stock_release('picking_order', p_order.id);
  end if;
  perform warehousing.picking_event_emit(p_order, p_order.status, to_status);
end $$;
