select app.touched('tenancy.tenants');

-- Tables that span tenants.

alter table tenancy.tenants enable row level security;
alter table tenancy.tenants force row level security;

drop policy if exists tenant on tenancy.tenants;

-- Seen by its members; changed by its administrators; made by the system's.
drop policy if exists readable on tenancy.tenants;
create policy readable on tenancy.tenants for select to barid_caller
  using (id = (select app.tenant_id()) or (select app.has_permission('manage:system')));

drop policy if exists changed on tenancy.tenants;
create policy changed on tenancy.tenants for update to barid_caller
  using ((id = (select app.tenant_id()) and (select app.has_permission('manage:tenant'))) or (select app.has_permission('manage:system')));

drop policy if exists added on tenancy.tenants;
create policy added on tenancy.tenants for insert to barid_caller
  with check ((select app.has_permission('manage:system')));

grant select, insert, update on tenancy.tenants to barid_caller;

select app.audited('tenancy.tenants');

-- Written and read by the project's owner alone.
select app.deny_table('tenancy.deleted_tenants');
select app.deny_table('tenancy.erasures');

-- Columns of a tenant that only the system's administrators change; see tenancy.move_tenant.
drop trigger if exists guard on tenancy.tenants;
create trigger guard before update on tenancy.tenants for each row when (current_user = 'barid_caller')
  execute function tenancy.tenant_guard();

alter table tenancy.currencies enable row level security;
alter table tenancy.currencies force row level security;
drop policy if exists readable on tenancy.currencies;
create policy readable on tenancy.currencies for select to barid_caller using (true);
grant select on tenancy.currencies to barid_caller;
