drop view if exists tenancy.users_list cascade;

drop view if exists tenancy.people cascade;

-- Profiles as a company shows them. Of somebody who has left it the names alone, which stand under their work: what they changed since is
-- no affair of the company.
create view tenancy.people with (security_invoker = true) as
select p.id, p.full_name, p.first_name, p.last_name,
  case when ((select app.tenant_id()) = any (p.left_tenants)) is not true then p.email end as email,
  case when ((select app.tenant_id()) = any (p.left_tenants)) is not true then p.phone end as phone,
  case when ((select app.tenant_id()) = any (p.left_tenants)) is not true then p.avatar_url end as avatar_url
from tenancy.profiles p;

-- The tenant's users as every response shows them, without those who left. id is the user's id.
create view tenancy.users_list with (security_invoker = true) as
select u.user_id as id, p.email, p.phone, p.full_name, p.first_name, p.last_name, p.avatar_url,
  u.tenant_user_type, u.is_business, u.is_active, u.employee_id,
  (select coalesce(jsonb_agg(r.role_key order by r.role_key), '[]')
    from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id) as roles,
  u.created_at, greatest(u.updated_at, p.updated_at) as updated_at
from tenancy.tenant_users u
join tenancy.profiles p on p.id = u.user_id
where u.left_at is null;

grant select on tenancy.people, tenancy.users_list to barid_caller;
