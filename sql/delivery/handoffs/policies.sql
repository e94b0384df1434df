select app.tenant_table('delivery.package_handoffs', own => '{driver_id}', operations => 'insert, update', write_condition => 'true');
select app.touched('delivery.package_handoffs');
