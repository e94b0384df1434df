select app.tenant_table('integration.webhook_events', own => '{}', writes => 'insert, update', audit => false,
  writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('integration.webhook_attempts', own => '{}', writes => 'insert', audit => false,
  writers => $$app.has_permission('manage:tenant')$$);
select app.touched('integration.webhook_events');
select app.counted('webhook_events', 'integration.webhook_events', '{subscription_id,status}');
