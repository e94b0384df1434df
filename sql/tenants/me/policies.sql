select app.tenant_table('tenancy.notifications', own => '{user_id}', audit => false, write_condition => 'true');

-- A notice of the platform is its reader's alone, who marks it as read; tenancy.notify_system_admins() writes it.
drop policy tenant on tenancy.notifications;
create policy tenant on tenancy.notifications for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id()))
    or (tenant_id is null and user_id = (select app.user_id())))
  with check (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id()))
    or (tenant_id is null and user_id = (select app.user_id())));

select app.deny_table('tenancy.active_tenants');
