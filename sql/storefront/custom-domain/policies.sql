select app.tenant_table('storefront.custom_domains', own => '{}', writes => 'insert, update', writers => $$app.has_permission('manage:tenant')$$);
select app.touched('storefront.custom_domains');
