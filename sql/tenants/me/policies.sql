select app.tenant_table('tenancy.notifications', own => '{user_id}', audit => false, write_condition => 'true');

-- A notice of the platform, or of another company's invitation, is its reader's alone, who marks it as read: not their programs', which act in one
-- company. tenancy.notify_system_admins() and tenancy.invitation_delivery() write them.
drop policy tenant on tenancy.notifications;
create policy tenant on tenancy.notifications for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id()))
    or (tenant_id is null and user_id = (select app.user_id()) and (select app.request_setting('api_key_id')) is null))
  with check (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id()))
    or (tenant_id is null and user_id = (select app.user_id()) and (select app.request_setting('api_key_id')) is null));

select app.deny_table('tenancy.active_tenants');
