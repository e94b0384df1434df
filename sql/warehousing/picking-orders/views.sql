drop view if exists warehousing.picking_orders_list cascade;

-- Picking orders as lists show them. Times and notes of the progress are what was recorded, its counts what the lines say.
create view warehousing.picking_orders_list with (security_invoker = true) as
select o.id, o.tenant_id, o.warehouse_id, o.reference_number, o.external_reference, o.order_type, o.priority, o.status,
  (select coalesce(jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity,
      'picked_quantity', i.picked_quantity, 'status', i.status) order by i.position), '[]')
    from warehousing.picking_order_items i where i.tenant_id = o.tenant_id and i.picking_order_id = o.id) as item_details,
  jsonb_build_object('start_time', null, 'end_time', null, 'picker_notes', null) || o.picking_progress || (
    select jsonb_build_object('total_items', coalesce(sum(i.quantity), 0), 'picked_items', coalesce(sum(i.picked_quantity), 0))
    from warehousing.picking_order_items i where i.tenant_id = o.tenant_id and i.picking_order_id = o.id) as picking_progress,
  o.notes, o.due_date, o.completed_date, o.assigned_to, o.created_by, o.delivery_id, o.order_id, o.created_at, o.updated_at,
  case when o.created_by is not null then jsonb_build_object('id', o.created_by, 'full_name', coalesce(c.full_name, '')) end as created_by_user,
  case when o.assigned_to is not null then jsonb_build_object('id', o.assigned_to, 'full_name', coalesce(a.full_name, '')) end as assigned_to_user,
  jsonb_build_object('id', o.warehouse_id, 'name', w.name, 'code', w.code) as warehouse
from warehousing.picking_orders o
left join warehousing.warehouses w on w.tenant_id = o.tenant_id and w.id = o.warehouse_id
left join tenancy.profiles c on c.id = o.created_by
left join tenancy.profiles a on a.id = o.assigned_to
-- Of those whose work is limited to warehouses: what is to be picked there, and what is given to them elsewhere.
where coalesce(o.warehouse_id = any ((select app.own_warehouses())::uuid[]), true) or o.assigned_to = (select app.user_id());

grant select on warehousing.picking_orders_list to barid_caller;
