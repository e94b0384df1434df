-- Webhooks and carriers: a tenant's staff see them, its administrators write them. What the sender and the
-- carriers' reports write goes through private.

select app.tenant_table('integration.webhook_subscriptions', own => '{}', hidden => 'secret,previous_secret,from_position',
  writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('integration.webhook_events', own => '{}', writes => 'insert, update', audit => false,
  writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('integration.webhook_attempts', own => '{}', writes => 'insert', audit => false,
  writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('integration.tenant_carriers', own => '{}', writes => 'insert, update', hidden => 'credentials,webhook_secret',
  writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('integration.carrier_shipments', own => '{}', writes => 'insert, update', hidden => 'claim_token,claimed_at',
  writers => $$app.has_permission('manage:operations:tenant')$$);
-- A booking that came to nothing leaves nothing.
grant delete on integration.carrier_shipments to barid_caller;
select app.tenant_table('integration.carrier_events', own => '{}', writes => '', audit => false);
select app.append_only('integration.carrier_events');
select app.touched(t) from unnest(array['integration.webhook_subscriptions', 'integration.webhook_events', 'integration.tenant_carriers',
  'integration.carrier_shipments']::regclass[]) t;
select app.counted('system_events', 'integration.system_events', '{status}');
select app.counted('webhook_events', 'integration.webhook_events', '{subscription_id,status}');

alter table integration.carriers enable row level security;
alter table integration.carriers force row level security;
drop policy if exists readable on integration.carriers;
create policy readable on integration.carriers for select to barid_caller using (true);
grant select on integration.carriers to barid_caller;

-- Which events there are is the same for everybody, and written by nobody.
alter table integration.event_types enable row level security;
alter table integration.event_types force row level security;
drop policy if exists readable on integration.event_types;
create policy readable on integration.event_types for select to barid_caller using (true);
grant select on integration.event_types to barid_caller;

-- Events: the system publishes and marks them, in the tenant it names; those who manage a tenant read its own.
drop policy if exists tenant on integration.system_events;
create policy tenant on integration.system_events for select to barid_caller
  using (tenant_id = (select app.tenant_id()) and (select app.has_permission('manage:tenant')) or (select integration.may_publish()));
drop policy if exists published on integration.system_events;
create policy published on integration.system_events for insert to barid_caller
  with check ((tenant_id is null or tenant_id = (select app.tenant_id())) and (select integration.may_publish()));
drop policy if exists marked on integration.system_events;
create policy marked on integration.system_events for update to barid_caller
  using ((tenant_id is null or tenant_id = (select app.tenant_id())) and (select integration.may_publish()));
revoke insert, update on integration.system_events from barid_caller;
grant insert, update (status, processed_at, error_message, retry_count, is_dispatched) on integration.system_events to barid_caller;

drop trigger if exists wake on integration.system_events;
create trigger wake after insert on integration.system_events for each statement execute function private.events_wake();
drop trigger if exists listen on integration.webhook_subscriptions;
create trigger listen before insert or update of is_active on integration.webhook_subscriptions
  for each row execute function private.subscription_listens();
