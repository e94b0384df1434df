select app.tenant_table('storefront.custom_domains', own => '{}', operations => 'insert, update', write_condition => $$app.has_permission('manage:tenant')$$);
select app.touched('storefront.custom_domains');
