-- Logs.
select app.append_only('app.audit_log');

-- The audit log is read by a tenant's administrators and written by triggers alone.
alter table app.audit_log enable row level security;
alter table app.audit_log force row level security;

drop policy if exists administrators on app.audit_log;
create policy administrators on app.audit_log for select to barid_caller
  using (tenant_id = (select app.tenant_id()) and (select app.has_permission('manage:tenant')));

grant select on app.audit_log to barid_caller;
