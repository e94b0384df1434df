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

-- Here and not among the views: it asks functions, which come after those.
drop view if exists tenancy.tenants_list cascade;

-- All tenants, for those who manage the system; others find the one they are in.
create view tenancy.tenants_list with (security_invoker = true) as
select t.id, t.name, t.slug, t.status, t.contact_info, t.metadata, t.logo_url, t.subscription_status,
  app.is_effective(t) as effective_active, t.effective_until, t.created_at, t.created_by, t.updated_at, t.updated_by,
  (select jsonb_build_object('id', p.id, 'email', p.email) from tenancy.people p where p.id = t.created_by) as created_by_user,
  (select jsonb_build_object('id', p.id, 'email', p.email) from tenancy.people p where p.id = t.updated_by) as updated_by_user,
  jsonb_build_object('count', tenancy.members_of(t.id)) as tenant_users
from tenancy.tenants t;

grant select on tenancy.tenants_list to barid_caller;
