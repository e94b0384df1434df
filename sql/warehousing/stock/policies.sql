select app.tenant_table('warehousing.stock', own => '{}', operations => '', audit => false);
select app.tenant_table('warehousing.inventory_transactions', own => '{}', operations => '', audit => false);
select app.append_only('warehousing.inventory_transactions');
select app.touched('warehousing.stock');
select app.counted('stock', 'warehousing.stock', '{warehouse_id,status}', 'quantity');
