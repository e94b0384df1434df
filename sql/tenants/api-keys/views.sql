drop view if exists tenancy.api_keys_list cascade;

-- The tenant's keys as every response shows them, never the key itself. effective_scopes are those that the person who
-- answers for the key has now; one with none has stopped.
create view tenancy.api_keys_list with (security_invoker = true) as
select k.id, k.name, k.hint, k.scopes,
  private.api_key_status(k.revoked_at, k.expires_at, l.scopes) as status,
  l.scopes as effective_scopes, k.created_by as created_by_id,
  (select jsonb_build_object('id', p.id, 'full_name', p.full_name) from tenancy.profiles p where p.id = k.created_by) as created_by,
  k.expires_at, k.revoked_at, k.last_used_at, k.created_at
from tenancy.api_keys k
cross join lateral (select private.api_key_scopes(k.tenant_id, k.created_by, k.scopes) as scopes) l;

grant select on tenancy.api_keys_list to barid_caller;
