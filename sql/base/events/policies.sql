-- Events are written by app.events_add() and by the system.
alter table integration.system_events enable row level security;
alter table integration.system_events force row level security;

grant select on integration.system_events to barid_caller;

select app.counted('system_events', 'integration.system_events', '{status}');

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
create trigger wake after insert on integration.system_events for each statement execute function integration.events_wake();
