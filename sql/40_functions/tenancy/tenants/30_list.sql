-- Here and not among the views: it asks functions, which come after those.
drop view if exists tenancy.tenants_list cascade;

-- All tenants, for those who manage the system; others find the one they are in.
create view tenancy.tenants_list with (security_invoker = true) as
select t.id, t.name, t.slug, t.status, t.contact_info, t.metadata, t.logo_url, t.subscription_status,
  tenancy.is_effective(t) as effective_active, t.effective_until, t.created_at, t.created_by, t.updated_at, t.updated_by,
  (select jsonb_build_object('id', p.id, 'email', p.email) from tenancy.profiles p where p.id = t.created_by) as created_by_user,
  (select jsonb_build_object('id', p.id, 'email', p.email) from tenancy.profiles p where p.id = t.updated_by) as updated_by_user,
  jsonb_build_object('count', private.members_of(t.id)) as tenant_users
from tenancy.tenants t;

grant select on tenancy.tenants_list to barid_caller;
