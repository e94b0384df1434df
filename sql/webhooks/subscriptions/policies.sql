-- Webhooks and carriers: a tenant's staff see them, its administrators write them. What the sender and the
-- carriers' reports write goes through private.

-- A merchant sees and writes their own. People who see the company reach all of them, and the functions hold them to what is theirs.
select app.tenant_table('integration.webhook_subscriptions', own => '{owner_user_id}', hidden => 'secret,previous_secret,from_position,failing_since',
  write_condition => $$app.has_permission('manage:tenant') or not app.sees_tenant() and app.has_role('institution')$$);

-- One that is removed is there for nobody; the sender and the clock alone find it.
drop policy if exists not_removed on integration.webhook_subscriptions;
create policy not_removed on integration.webhook_subscriptions as restrictive for all to barid_caller using (removed_at is null);

select app.touched('integration.webhook_subscriptions');

drop trigger if exists listen on integration.webhook_subscriptions;
create trigger listen before insert or update of is_active on integration.webhook_subscriptions
  for each row execute function integration.subscription_listens();
