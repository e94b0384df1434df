drop view if exists tenancy.api_keys_list cascade;

-- The tenant's keys as every response shows them, never the key itself.
create view tenancy.api_keys_list with (security_invoker = true) as
select k.id, k.name, k.hint, k.scopes,
  case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired' else 'active' end as status,
  (select jsonb_build_object('id', p.id, 'full_name', p.full_name) from tenancy.profiles p where p.id = k.created_by) as created_by,
  k.expires_at, k.revoked_at, k.last_used_at, k.created_at
from tenancy.api_keys k;

grant select on tenancy.api_keys_list to barid_caller;
