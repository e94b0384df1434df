select app.tenant_table('money.payment_gateways', own => '{}', operations => 'insert, update',
  write_condition => $$app.has_permission('manage:tenant')$$, hidden => 'secrets,webhook_secret_print,previous_webhook_secret,previous_accounts');
select app.touched('money.payment_gateways');
