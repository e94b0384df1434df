select app.tenant_table('storefront.custom_domains', own => '{}', operations => 'insert, update', hidden => 'dns_checked_at',
  write_condition => $$app.has_permission('manage:tenant')$$);
select app.touched('storefront.custom_domains');
