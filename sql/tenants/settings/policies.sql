-- Operations name the default driver, which is a setting.
select app.tenant_table('tenancy.tenant_settings',
  write_condition => $$app.has_permission('manage:tenant') or app.has_permission('manage:operations:tenant')$$);

select app.touched('tenancy.tenant_settings');
