drop view if exists delivery.institutions_list cascade;

drop view if exists delivery.branches_list cascade;

-- Institutions: tenant users of that type. branches_count counts the branches in use; wallet is the
-- one in the tenant's currency, else the oldest, null when there is none. An institution finds itself.
create view delivery.institutions_list with (security_invoker = true) as
select p.id, p.full_name, p.email, p.phone, p.avatar_url as avatar,
  (select count(*) from delivery.institution_branches b
    where b.tenant_id = u.tenant_id and b.institution_user_id = u.user_id and b.is_active) as branches_count,
  (select jsonb_build_object('balance', a.balance, 'currency', a.currency) from money.accounts a
    where a.tenant_id = u.tenant_id and a.owner_user_id = u.user_id and a.kind = 'wallet' and a.owner_type = 'institution'
    order by a.currency = coalesce((select s.settings ->> 'currency_code' from tenancy.tenant_settings s
      where s.tenant_id = u.tenant_id and s.module = 'general' and s.group_key = 'currency'), 'IQD') desc, a.created_at, a.id
    limit 1) as wallet,
  u.is_active, u.created_at
from tenancy.tenant_users u
join tenancy.people p on p.id = u.user_id
where u.tenant_id = (select app.tenant_id()) and u.tenant_user_type = 'institution'
  and ((select app.sees_tenant()) or u.user_id = (select app.user_id()));

-- Branches with what they point at, for lists and detail.
create view delivery.branches_list with (security_invoker = true) as
select b.id, b.institution_user_id, b.name, b.code, b.address_id, b.default_processing_point_id, b.contact_info,
  b.metadata, b.is_active, b.created_at, b.updated_at,
  to_jsonb(a) as address,
  case when p.id is not null then jsonb_build_object('id', p.id, 'name', p.name, 'code', p.code) end as default_processing_point,
  jsonb_build_object('id', i.id, 'full_name', i.full_name, 'phone', i.phone) as institution_user
from delivery.institution_branches b
join delivery.addresses_list a on a.id = b.address_id
join tenancy.people i on i.id = b.institution_user_id
left join delivery.transfer_processing_points p on p.tenant_id = b.tenant_id and p.id = b.default_processing_point_id;

grant select on delivery.institutions_list, delivery.branches_list to barid_caller;
