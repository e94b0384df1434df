-- Makes the requests of one member take turns, where they change what a member has at most one of. SECURITY DEFINER,
-- since members may not lock their own membership.
create or replace function tenancy.lock_member() returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = app.user_id() for no key update;
end $$;

grant execute on function tenancy.lock_member() to barid_caller;

-- The tenants that a user has left; null: none.
create or replace function tenancy.left_tenants_of(user_id uuid) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  return nullif(array(
    select u.tenant_id from tenancy.tenant_users u where u.user_id = left_tenants_of.user_id and u.left_at is not null order by 1), '{}');
end $$;

-- Records in the profile of a person who leaves a tenant, or comes back, which they have left. SECURITY DEFINER: no request writes that column.
create or replace function tenancy.keep_left_tenants() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- Of two tenants that are left at once, the later one reads the other.
  perform from tenancy.profiles p where p.id = new.user_id for no key update;
  update tenancy.profiles p set left_tenants = tenancy.left_tenants_of(p.id) where p.id = new.user_id;
  return null;
end $$;

revoke execute on function tenancy.left_tenants_of(uuid), tenancy.keep_left_tenants() from barid_caller;
