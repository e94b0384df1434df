-- Pickers report how far they have come.

-- The lines of an order with what was reported of them, [{item_id, bin_id, picked_quantity}], as picking_report() takes them; a line that
-- is not named stays as it is. What was taken from a place that several lines name fills them in their order. What is not complete when the
-- picking ends was recorded by that: it is short, or missing.
-- Fails: picking_line_not_found, picked_too_much (items.<n>).
create or replace function warehousing.picking_lines_reported(p_order warehousing.picking_orders, items jsonb, to_status text) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_bad record;
begin
  select r.place, l.whole is null as unknown into v_bad
  from rows from (jsonb_to_recordset(items) as (item_id uuid, bin_id uuid, picked_quantity bigint)) with ordinality
    r (item_id, bin_id, picked_quantity, place)
  left join lateral (
    select sum(i.quantity) as whole from warehousing.picking_order_items i
    where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.item_id = r.item_id and i.bin_id = r.bin_id) l on true
  where l.whole is null or r.picked_quantity > l.whole
  order by r.place limit 1;
  if found and v_bad.unknown then
    perform app.fail('picking_line_not_found', jsonb_build_object('field', format('items.%s', v_bad.place - 1)));
  elsif found then
    perform app.fail('picked_too_much', jsonb_build_object('field', format('items.%s.picked_quantity', v_bad.place - 1)));
  end if;
  return (
    select jsonb_agg(jsonb_build_object('item_id', l.item_id, 'bin_id', l.bin_id, 'quantity', l.quantity, 'picked_quantity', l.taken,
      'status', case when l.reported is null then l.status when l.taken = l.quantity then 'picked' when to_status <> 'completed' then 'pending'
        when l.taken = 0 then 'missing' else 'short' end) order by l.position)
    from (
      select i.*, r.picked_quantity as reported, case when r.picked_quantity is null then i.picked_quantity
        else greatest(0, least(i.quantity, r.picked_quantity - (sum(i.quantity) over earlier - i.quantity))) end as taken
      from warehousing.picking_order_items i
      left join jsonb_to_recordset(items) as r (item_id uuid, bin_id uuid, picked_quantity bigint) on r.item_id = i.item_id and r.bin_id = i.bin_id
      where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id
      window earlier as (partition by i.item_id, i.bin_id order by i.position)) l);
end $$;

-- Reports the picked quantities and the progress of an order, by its assignee or anybody who works in its warehouse. A program's key is nobody's
-- assignee, of an order that is given to nobody either.
-- {id, status: in_progress | completed, items: [{item_id, bin_id, picked_quantity}], picker_notes?} -> {order}
-- Completed without any line recorded, all of it was picked, as everywhere.
-- Fails: picking_order_not_found, forbidden, and what picking_lines_reported and picking_report fail with.
create or replace function warehousing.picking_order_progress(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_order warehousing.picking_orders;
begin
  select * into v_order from warehousing.picking_orders o where o.id = (input ->> 'id')::uuid for no key update;
  if not found then
    perform app.fail('picking_order_not_found');
  elsif v_order.assigned_to is null or v_order.assigned_to is distinct from app.user_id() then
    perform warehousing.require_works_in(v_order.warehouse_id);
  end if;
  if input ? 'picker_notes' then
    update warehousing.picking_orders o set picking_progress = o.picking_progress || jsonb_build_object('picker_notes', input -> 'picker_notes')
    where o.id = v_order.id;
  end if;
  perform warehousing.picking_report(v_order, case when jsonb_array_length(input -> 'items') > 0
    then warehousing.picking_lines_reported(v_order, input -> 'items', input ->> 'status') end, input ->> 'status');
  return warehousing.picking_order_get(jsonb_build_object('id', v_order.id));
end $$;
