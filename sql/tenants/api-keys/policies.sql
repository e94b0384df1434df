-- Keys are made and seen by a tenant's administrators, and an institution's by itself. What a key is, not even they read again.
select app.tenant_table('tenancy.api_keys', own => '{created_by}', operations => 'insert', hidden => 'key_hash,last_used_at,warned_at',
  write_condition => $$app.has_permission('manage:tenant') or app.has_role('institution')$$);

drop policy if exists administrators on tenancy.api_keys;
create policy administrators on tenancy.api_keys as restrictive for all to barid_caller
  using ((select app.has_permission('manage:tenant')) or (private.acts_as_maker(scopes) and created_by = (select app.user_id())));

revoke select on tenancy.api_keys from barid_caller;

grant select (id, tenant_id, name, hint, scopes, created_by, expires_at, revoked_at, last_used_at, created_at), update (revoked_at, created_by)
  on tenancy.api_keys to barid_caller;

drop trigger if exists api_keys_end on tenancy.tenant_users;
create trigger api_keys_end after update of left_at on tenancy.tenant_users
  for each row when (new.left_at is null and old.left_at is not null) execute function tenancy.api_keys_end();
