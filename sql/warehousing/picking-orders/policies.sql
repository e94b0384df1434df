select app.tenant_table('warehousing.picking_orders', own => '{}', operations => 'insert, update');
select app.tenant_table('warehousing.picking_order_items', own => '{}');
select app.followed('warehousing.picking_orders');
select app.counted('picking_orders', 'warehousing.picking_orders', '{warehouse_id,status}');
