select app.tenant_table('warehousing.inventory_counts', own => '{}', operations => 'insert', audit => false);
select app.tenant_table('warehousing.inventory_count_lines', own => '{}', operations => 'insert', audit => false);
select app.append_only('warehousing.inventory_counts');
select app.append_only('warehousing.inventory_count_lines');
