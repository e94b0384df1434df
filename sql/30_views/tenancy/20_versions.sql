drop view if exists tenancy.settings_version cascade;
drop view if exists tenancy.modules_version cascade;

-- When anything of a tenant's settings was last changed: what a change with If-Match must find.
create view tenancy.settings_version with (security_invoker = true) as
select t.id as tenant_id, greatest(t.created_at, (
    select max(s.updated_at) from tenancy.tenant_settings s where s.tenant_id = t.id)) as updated_at
from tenancy.tenants t;

-- The same of the modules it has.
create view tenancy.modules_version with (security_invoker = true) as
select t.id as tenant_id, greatest(t.created_at, (
    select max(m.updated_at) from tenancy.tenant_modules m where m.tenant_id = t.id)) as updated_at
from tenancy.tenants t;

grant select on tenancy.settings_version, tenancy.modules_version to barid_caller;
