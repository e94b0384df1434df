drop view if exists warehousing.receiving_orders_list cascade;

-- Receipts with their lines, warehouse, delivery and who received them.
create view warehousing.receiving_orders_list with (security_invoker = true) as
select r.id, r.tenant_id, r.reference_number, r.warehouse_id, r.source, r.status, r.custody, r.delivery_id, r.exception_id, r.notes,
  r.created_by, r.received_by, r.received_at, r.created_at, r.updated_at,
  jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) as warehouse,
  case when d.id is not null then jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode,
    'status', d.status, 'delivery_flow', d.delivery_flow) end as delivery,
  case when p.id is not null then jsonb_build_object('id', p.id, 'full_name', p.full_name) end as receiver,
  (select coalesce(jsonb_agg(jsonb_build_object('item_id', i.item_id, 'item', jsonb_build_object('id', n.id, 'name', n.name, 'sku', n.sku),
      'quantity', i.quantity, 'received_quantity', i.received_quantity, 'bin_id', i.bin_id, 'condition', i.condition,
      'damaged_quantity', i.damaged_quantity) order by i.position), '[]')
    from warehousing.receiving_order_items i
    join warehousing.inventory_items n on n.tenant_id = i.tenant_id and n.id = i.item_id
    where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id) as item_details
from warehousing.receiving_orders r
join warehousing.warehouses w on w.tenant_id = r.tenant_id and w.id = r.warehouse_id
left join delivery.deliveries d on d.tenant_id = r.tenant_id and d.id = r.delivery_id
left join tenancy.profiles p on p.id = r.received_by
where coalesce(r.warehouse_id = any ((select app.own_warehouses())::uuid[]), true);

grant select on warehousing.receiving_orders_list to barid_caller;
