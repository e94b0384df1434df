select app.touched('tenancy.profiles');

-- A person's profile is visible to them, to those who share their tenant, and to the system's administrators.
alter table tenancy.profiles enable row level security;
alter table tenancy.profiles force row level security;

drop policy if exists member on tenancy.profiles;
create policy member on tenancy.profiles for all to barid_caller
  using (id = (select app.user_id()) or (select app.has_permission('manage:system')) or exists (
    select from tenancy.tenant_users u where u.user_id = profiles.id and u.tenant_id = (select app.tenant_id())))
  with check (id = (select app.user_id()) or (select app.has_permission('manage:tenant')));

-- No request writes who made an account nor whether it is confirmed.
revoke insert, update on tenancy.profiles from barid_caller;

grant select, update (full_name, first_name, last_name, phone, avatar_url) on tenancy.profiles to barid_caller;

-- Changes that a company makes of a person stand in its log; those by the person, or by Auth, are no company's affair.
drop trigger if exists audit_update on tenancy.profiles;
create trigger audit_update after update on tenancy.profiles referencing old table as old_rows new table as new_rows
  for each statement when (app.tenant_id() is not null) execute function private.audit('email,made_by_tenant,proven_at,left_tenants');

select app.deny_table('tenancy.system_users');
