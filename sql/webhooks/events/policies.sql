select app.tenant_table('integration.webhook_events', own => '{}', operations => 'insert, update', audit => false,
  write_condition => $$app.has_permission('manage:tenant') or not app.sees_tenant() and app.has_role('institution')$$);
select app.tenant_table('integration.webhook_attempts', own => '{}', operations => 'insert', audit => false,
  write_condition => $$app.has_permission('manage:tenant') or not app.sees_tenant() and app.has_role('institution')$$);
select app.touched('integration.webhook_events');
select app.counted('webhook_events', 'integration.webhook_events', '{subscription_id,status}');

-- Besides those who see the company, a merchant reaches what was sent to their own subscription; nobody what was sent to one that is removed.
drop policy tenant on integration.webhook_events;
create policy tenant on integration.webhook_events for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
      and subscription_id <> all ((select integration.subscriptions_removed())::uuid[]) or exists (
    select from integration.webhook_subscriptions s
    where s.tenant_id = webhook_events.tenant_id and s.id = webhook_events.subscription_id and s.owner_user_id = (select app.user_id()))));

drop policy tenant on integration.webhook_attempts;
create policy tenant on integration.webhook_attempts for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from integration.webhook_events e where e.tenant_id = webhook_attempts.tenant_id and e.id = webhook_attempts.event_id)));
