select app.tenant_table('integration.webhook_events', own => '{}', operations => 'insert, update', audit => false,
  write_condition => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('integration.webhook_attempts', own => '{}', operations => 'insert', audit => false,
  write_condition => $$app.has_permission('manage:tenant')$$);
select app.touched('integration.webhook_events');
select app.counted('webhook_events', 'integration.webhook_events', '{subscription_id,status}');
