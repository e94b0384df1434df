-- Row-level security of users and their roles: only callers with manage:tenant write them. tests/sql/walls.txt lists the
-- resulting rights of each role.

select app.tenant_table('tenancy.tenant_users', operations => 'insert, update', write_condition => $$app.has_permission('manage:tenant')$$);

select app.tenant_table('tenancy.tenant_user_roles', own => '{user_id}', write_condition => $$app.has_permission('manage:tenant')$$);
select app.touched('tenancy.tenant_users');

drop trigger if exists choose_first_tenant on tenancy.tenant_users;
create trigger choose_first_tenant after insert or update of is_active on tenancy.tenant_users
  for each row when (new.is_active) execute function tenancy.choose_first_tenant();

-- Reference data: everybody reads, nobody writes through a request.
alter table tenancy.roles enable row level security;
alter table tenancy.roles force row level security;
drop policy if exists readable on tenancy.roles;
create policy readable on tenancy.roles for select to barid_caller using (true);
grant select on tenancy.roles to barid_caller;
alter table tenancy.permissions enable row level security;
alter table tenancy.permissions force row level security;
drop policy if exists readable on tenancy.permissions;
create policy readable on tenancy.permissions for select to barid_caller using (true);
grant select on tenancy.permissions to barid_caller;
alter table tenancy.role_permissions enable row level security;
alter table tenancy.role_permissions force row level security;
drop policy if exists readable on tenancy.role_permissions;
create policy readable on tenancy.role_permissions for select to barid_caller using (true);
grant select on tenancy.role_permissions to barid_caller;

drop trigger if exists keep_left_tenants on tenancy.tenant_users;
create trigger keep_left_tenants after update of left_at on tenancy.tenant_users
  for each row when ((new.left_at is null) <> (old.left_at is null)) execute function tenancy.keep_left_tenants();
