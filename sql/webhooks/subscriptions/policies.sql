-- Webhooks and carriers: a tenant's staff see them, its administrators write them. What the sender and the
-- carriers' reports write goes through private.

select app.tenant_table('integration.webhook_subscriptions', own => '{}', hidden => 'secret,previous_secret,from_position',
  write_condition => $$app.has_permission('manage:tenant')$$);

select app.touched('integration.webhook_subscriptions');

drop trigger if exists listen on integration.webhook_subscriptions;
create trigger listen before insert or update of is_active on integration.webhook_subscriptions
  for each row execute function integration.subscription_listens();
