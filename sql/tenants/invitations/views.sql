drop view if exists tenancy.invitations_list cascade;

-- The tenant's invitations as its administrators see them: what they asked for, never whether the address has an account.
create view tenancy.invitations_list with (security_invoker = true) as
select i.id, i.email,
  case when i.status = 'pending' and i.expires_at <= now() then 'expired' else i.status end as status,
  i.person ->> 'full_name' as full_name, i.person ->> 'tenant_user_type' as tenant_user_type, i.person -> 'roles' as roles,
  (select jsonb_build_object('id', p.id, 'full_name', p.full_name) from tenancy.profiles p where p.id = i.invited_by) as invited_by,
  i.expires_at, i.answered_at, i.created_at
from tenancy.invitations i;

grant select on tenancy.invitations_list to barid_caller;
