select app.tenant_table('warehousing.sorting_sessions', own => '{}', operations => 'insert, update');
select app.tenant_table('warehousing.sorting_assignments', own => '{}');
select app.tenant_table('warehousing.sorting_scans', own => '{}', operations => 'insert', audit => false);
select app.touched('warehousing.sorting_sessions');
