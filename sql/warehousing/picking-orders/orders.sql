-- Picking orders: what is to be fetched from which bins.

-- An order in full. {id} -> {order}. Fails: picking_order_not_found.
create or replace function warehousing.picking_order_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('order', app.found((
    select to_jsonb(o) || jsonb_build_object(
    'created_by_user', case when o.created_by is not null then jsonb_build_object('id', o.created_by, 'full_name', coalesce(c.full_name, ''),
      'first_name', c.first_name, 'last_name', c.last_name, 'email', c.email) end,
    'assigned_to_user', case when o.assigned_to is not null then jsonb_build_object('id', o.assigned_to, 'full_name', coalesce(a.full_name, ''),
      'first_name', a.first_name, 'last_name', a.last_name, 'email', a.email) end)
    from warehousing.picking_orders_list o
    left join tenancy.people c on c.id = o.created_by
    left join tenancy.people a on a.id = o.assigned_to
    where o.id = (input ->> 'id')::uuid), 'picking_order_not_found'));
end $$;

-- Makes an order, in whatever status it has reached. {warehouse_id, order_type, status, item_details: [{item_id, bin_id,
-- quantity, picked_quantity?, status?}], reference_number?, external_reference?, priority?, picking_progress?, notes?,
-- assigned_to?, due_date?} -> {order}
-- Fails: warehouse_not_found, assignee_not_found, picking_reference_exists, and what require_picking_state and picking_move fail with.
create or replace function warehousing.picking_order_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_reference text := input ->> 'reference_number';
  v_cancelled boolean := input ->> 'status' = 'cancelled';
  v_order warehousing.picking_orders;
begin
  perform warehousing.require_warehouse((input ->> 'warehouse_id')::uuid);
  perform warehousing.require_assignee((input ->> 'assigned_to')::uuid);
  perform warehousing.require_picking_state((input ->> 'warehouse_id')::uuid, input -> 'item_details');
  -- Somebody may have written the next number by hand.
  while v_reference is null or (input ->> 'reference_number' is null and exists (
      select from warehousing.picking_orders o where o.tenant_id = v_tenant and o.reference_number = v_reference and o.order_id is null)) loop
    v_reference := 'PKO-' || app.padded(app.take_numbers('picking_order'), 6);
  end loop;
  insert into warehousing.picking_orders (tenant_id, reference_number, external_reference, warehouse_id, order_type, priority, status,
    picking_progress, notes, due_date, assigned_to, created_by)
  values (v_tenant, v_reference, input ->> 'external_reference', (input ->> 'warehouse_id')::uuid, input ->> 'order_type',
    coalesce((input ->> 'priority')::integer, 0), 'pending', warehousing.picking_progress(input -> 'picking_progress'), input ->> 'notes',
    app.promised_until(input ->> 'due_date'), case when not v_cancelled then (input ->> 'assigned_to')::uuid end, app.user_id())
  returning * into v_order;
  perform warehousing.picking_set_lines(v_order, input -> 'item_details');
  if input ->> 'status' in ('pending', 'in_progress') then
    perform warehousing.picking_assigned(v_order);
  end if;
  if input ->> 'status' <> 'pending' then
    perform warehousing.picking_move(v_order, input ->> 'status');
  end if;
  -- Set afterwards: the person never heard of the order, so that nothing of it is withdrawn.
  if v_cancelled and input ->> 'assigned_to' is not null then
    update warehousing.picking_orders o set assigned_to = (input ->> 'assigned_to')::uuid where o.tenant_id = v_tenant and o.id = v_order.id;
  end if;
  return warehousing.picking_order_get(jsonb_build_object('id', v_order.id));
end $$;

-- New lines for an order. Which items, where and how many, may change until picking has ended, unless the order
-- belongs to a delivery or to a storefront order; what was picked is recorded until then, and for a storefront order until it leaves: what
-- was missing may be found. The lines of an ended order as they are change nothing, and `pending` says nothing of them.
-- Fails: picking_items_fixed, picking_belongs_to_order, and what require_picking_state fails with.
create or replace function warehousing.picking_change_lines(p_order warehousing.picking_orders, lines jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_same boolean := (
    select coalesce(array_agg((i.item_id, i.bin_id, i.quantity)::text order by i.position), '{}')
    from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id) = (
    select coalesce(array_agg((l.item_id, l.bin_id, l.quantity)::text order by l.line), '{}')
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, bin_id uuid, quantity bigint)) with ordinality l (item_id, bin_id, quantity, line));
begin
  if v_same and p_order.status not in ('pending', 'in_progress') and not exists (
      select from rows from (jsonb_to_recordset(lines) as (picked_quantity bigint, status text)) with ordinality l (picked_quantity, status, line)
      join warehousing.picking_lines(p_order) i on i.place = l.line
      where l.picked_quantity <> i.picked_quantity or nullif(l.status, 'pending') <> i.status) then
    return;
  end if;
  if p_order.order_id is not null and p_order.status in ('pending', 'in_progress', 'completed') then
    if not v_same then
      perform app.fail('picking_belongs_to_order', jsonb_build_object('field', 'item_details', 'order_id', p_order.order_id));
    end if;
    perform warehousing.picking_note(p_order, lines);
    return;
  end if;
  if p_order.status not in ('pending', 'in_progress') or (p_order.delivery_id is not null and not v_same) then
    perform app.fail('picking_items_fixed', jsonb_build_object('field', 'item_details', 'status', p_order.status));
  end if;
  if v_same then
    perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
    perform warehousing.picking_note(p_order, lines);
    return;
  elsif p_order.status = 'pending' then
    perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
    perform warehousing.picking_set_lines(p_order, lines);
    return;
  end if;
  -- Stock given back and stock taken instead are locked together, in the common order.
  perform warehousing.lock_stock_places((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'bin_id', p.bin_id)) from (
      select i.item_id, i.bin_id from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id
      union
      select l.item_id, l.bin_id from jsonb_to_recordset(lines) as l (item_id uuid, bin_id uuid)) p));
  perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
  perform warehousing.stock_release('picking_order', p_order.id);
  perform warehousing.picking_set_lines(p_order, lines);
  perform warehousing.picking_reserve(p_order);
end $$;

-- The lines of an order with the place that each has among them, which is that of what is sent of it: their positions have gaps where a store's
-- order was sent without what was not found (storefront.order_cut).
create or replace function warehousing.picking_lines(p_order warehousing.picking_orders)
returns table (place bigint, id uuid, picked_quantity bigint, status text)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select row_number() over (order by i.position), i.id, i.picked_quantity, i.status
  from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id;
end $$;

-- Notes in the lines of an order, which stay what they are, what was picked of each; what a line does not say stays recorded.
-- Fails: picked_too_much.
create or replace function warehousing.picking_note(p_order warehousing.picking_orders, lines jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_place bigint;
begin
  select l.line - 1 into v_place
  from rows from (jsonb_to_recordset(lines) as (quantity bigint, picked_quantity bigint)) with ordinality l (quantity, picked_quantity, line)
  where l.picked_quantity > l.quantity order by l.line limit 1;
  if found then
    perform app.fail('picked_too_much', jsonb_build_object('field', format('item_details.%s.picked_quantity', v_place)));
  end if;
  update warehousing.picking_order_items i set picked_quantity = coalesce(l.picked_quantity, i.picked_quantity),
    status = coalesce(l.status, warehousing.picking_line_status(i.status, i.quantity, coalesce(l.picked_quantity, i.picked_quantity)))
  from rows from (jsonb_to_recordset(lines) as (picked_quantity bigint, status text)) with ordinality l (picked_quantity, status, line)
  join warehousing.picking_lines(p_order) n on n.place = l.line
  where i.tenant_id = p_order.tenant_id and i.id = n.id;
  if p_order.status = 'completed' then
    perform warehousing.picking_lines_end(p_order);
  end if;
end $$;

-- Applies pickers' reports to an order that is locked: what was picked (lines, null: nothing new), then how far it has come (null: as it
-- is). Everything that sets picked quantities or moves a picking order on comes here.
-- Fails: pnd_picking_handed_off_by_driver_pickup, picking_belongs_to_order, invalid_status_transition (of an order that is over, before
-- anything is said of its lines), and what picking_change_lines and picking_move fail with.
create or replace function warehousing.picking_report(p_order warehousing.picking_orders, lines jsonb, to_status text) returns void
language plpgsql set search_path = '' as $$
begin
  if p_order.delivery_id is not null and to_status = 'handed_off' then
    perform app.fail('pnd_picking_handed_off_by_driver_pickup');
  elsif p_order.order_id is not null and to_status in ('cancelled', 'handed_off') and to_status <> p_order.status then
    perform app.fail('picking_belongs_to_order', jsonb_build_object('field', 'status', 'order_id', p_order.order_id));
  elsif p_order.status in ('cancelled', 'handed_off') and to_status <> p_order.status then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', p_order.status, 'to', to_status));
  end if;
  if lines is not null then
    perform warehousing.picking_change_lines(p_order, lines);
  end if;
  if to_status <> p_order.status then
    perform warehousing.picking_move(p_order, to_status);
  end if;
end $$;

-- Notifies the person an order is given to, unless they took it themselves or nothing is left to pick.
create or replace function warehousing.picking_assigned(p_order warehousing.picking_orders) returns void
language plpgsql set search_path = '' as $$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p_order.tenant_id, p_order.assigned_to, 'picking_assigned', jsonb_build_object('picking_order_id', p_order.id,
    'reference_number', p_order.reference_number, 'warehouse_id', p_order.warehouse_id)
  where p_order.assigned_to is not null and p_order.assigned_to is distinct from app.user_id() and p_order.status in ('pending', 'in_progress');
end $$;

-- Notifies who was to pick an order that it was cancelled or given to somebody else, unless they did it themselves or had ended the picking:
-- cancelled with its delivery or its store's order as well.
create or replace function warehousing.picking_withdrawn() returns trigger
language plpgsql set search_path = '' as $$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select old.tenant_id, old.assigned_to, 'picking_withdrawn', jsonb_build_object('picking_order_id', old.id,
    'reference_number', old.reference_number, 'warehouse_id', old.warehouse_id,
    'reason', case when new.status = 'cancelled' then 'cancelled' else 'reassigned' end)
  where old.assigned_to is distinct from app.user_id();
  return null;
end $$;

drop trigger if exists withdrawn on warehousing.picking_orders;
create trigger withdrawn after update of status, assigned_to on warehousing.picking_orders
  for each row when (old.assigned_to is not null and old.status in ('pending', 'in_progress')
    and (new.status = 'cancelled' or new.assigned_to is distinct from old.assigned_to))
  execute function warehousing.picking_withdrawn();

-- Refuses to change what identifies or ranks an order once its picking has begun, and the number of a storefront order's pick, which is
-- the order's. Fails: picking_not_pending, picking_belongs_to_order.
create or replace function warehousing.require_relabelling(p_order warehousing.picking_orders, wanted warehousing.picking_orders) returns void
language plpgsql set search_path = '' as $$
declare
  v_field text;
begin
  select f.field into v_field from (values
    (1, 'reference_number', wanted.reference_number <> p_order.reference_number),
    (2, 'external_reference', wanted.external_reference is distinct from p_order.external_reference),
    (3, 'priority', wanted.priority <> p_order.priority)) f (place, field, changes)
  where f.changes order by f.place limit 1;
  if not found then
    return;
  elsif v_field = 'reference_number' and p_order.order_id is not null then
    perform app.fail('picking_belongs_to_order', jsonb_build_object('field', v_field, 'order_id', p_order.order_id));
  elsif p_order.status <> 'pending' then
    perform app.fail('picking_not_pending', jsonb_build_object('field', v_field, 'status', p_order.status));
  end if;
end $$;

-- Changes what is sent; null clears what may be empty. Lines first, then the status. {id, status?, assigned_to?, item_details?,
-- picking_progress?, notes?, due_date?; while it is pending also reference_number?, external_reference?, priority?} -> {order}
-- Fails: picking_order_not_found, assignee_not_found, picking_reference_exists, and what require_relabelling and picking_report fail with.
create or replace function warehousing.picking_order_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_order warehousing.picking_orders;
  v_wanted warehousing.picking_orders;
begin
  select * into v_order from warehousing.picking_orders o where o.id = (input ->> 'id')::uuid for no key update;
  if not found then
    perform app.fail('picking_order_not_found');
  end if;
  v_wanted := jsonb_populate_record(v_order, input - array['status', 'picking_progress', 'due_date']);
  if input ? 'due_date' then
    v_wanted.due_date := app.promised_until(input ->> 'due_date');
  end if;
  if v_wanted.assigned_to is distinct from v_order.assigned_to then
    perform warehousing.require_assignee(v_wanted.assigned_to);
    perform warehousing.picking_assigned(v_wanted);
  end if;
  perform warehousing.require_relabelling(v_order, v_wanted);
  update warehousing.picking_orders o set assigned_to = v_wanted.assigned_to, notes = v_wanted.notes, due_date = v_wanted.due_date,
    reference_number = v_wanted.reference_number, external_reference = v_wanted.external_reference, priority = v_wanted.priority,
    picking_progress = o.picking_progress || warehousing.picking_progress(input -> 'picking_progress')
  where o.id = v_order.id;
  perform warehousing.picking_report(v_order, input -> 'item_details', input ->> 'status');
  return warehousing.picking_order_get(jsonb_build_object('id', v_order.id));
end $$;
