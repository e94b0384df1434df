drop view if exists storefront.markets_list cascade;

-- All markets, for those who review them. The tenant's name is theirs to see who may see every tenant.
create view storefront.markets_list with (security_invoker = true) as
select m.id, m.tenant_id, jsonb_build_object('id', m.tenant_id, 'name', t.name, 'slug', t.slug) as tenant,
  m.code, m.store_name, m.directory_category, m.status, m.publish_status, m.needs_reapproval, m.tagline, m.logo_url,
  m.settings, m.theme_settings, m.banners, m.submit_notes, m.submitted_at, m.approved_by, m.approved_at, m.admin_notes,
  m.is_live, m.is_active, m.created_by, m.updated_by, m.created_at, m.updated_at
from storefront.markets m
left join tenancy.tenants t on t.id = m.tenant_id;

grant select on storefront.markets_list to barid_caller;
