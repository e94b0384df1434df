-- Makes the requests of one member take turns, where they change what a member has at most one of. SECURITY DEFINER,
-- since members may not lock their own membership.
create or replace function tenancy.lock_member() returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = app.user_id() for no key update;
end $$;

grant execute on function tenancy.lock_member() to barid_caller;
