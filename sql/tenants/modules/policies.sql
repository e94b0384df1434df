-- Modules and subscription are written by the system; the tenant's people read them.
select app.tenant_table('tenancy.tenant_modules', operations => 'insert, update', write_condition => $$app.has_permission('manage:system')$$);

select app.touched('tenancy.tenant_modules');

alter table tenancy.modules enable row level security;
alter table tenancy.modules force row level security;
drop policy if exists readable on tenancy.modules;
create policy readable on tenancy.modules for select to barid_caller using (true);
grant select on tenancy.modules to barid_caller;
