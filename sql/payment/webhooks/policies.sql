select app.tenant_table('money.payment_webhook_events', own => '{}', operations => '', write_condition => $$app.has_permission('manage:tenant')$$,
  hidden => 'raw_body');
select app.purged('money.payment_webhook_events', 'raw_body');

-- An event is what it was; what may be said of it later is how it was settled.
grant update (resolution, action, resolution_note, resolved_by, resolved_at) on money.payment_webhook_events to barid_caller;
