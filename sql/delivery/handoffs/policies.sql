select app.tenant_table('delivery.package_handoffs', own => '{driver_id}', writes => 'insert, update', writers => 'true');
select app.touched('delivery.package_handoffs');
