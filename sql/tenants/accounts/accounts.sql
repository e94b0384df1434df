-- Reads of people beyond the caller's tenant. SECURITY DEFINER, each with its own narrow question.

-- The caller's own active memberships, in all tenants, and whether each may be used now.
-- -> [{tenant_id, slug, name, tenant_user_type, roles, permissions, status, subscription_status, effective_active, effective_until}], oldest first.
create or replace function tenancy.memberships_of_caller() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
        'tenant_id', t.id, 'slug', t.slug, 'name', t.name, 'tenant_user_type', u.tenant_user_type,
        'roles', g.roles, 'permissions', g.permissions, 'status', t.status, 'subscription_status', t.subscription_status,
        'effective_active', app.is_effective(t), 'effective_until', t.effective_until)
      order by u.created_at, t.id), '[]')
    from tenancy.tenant_users u
    join tenancy.tenants t on t.id = u.tenant_id
    cross join lateral (
      select coalesce(jsonb_agg(distinct r.role_key order by r.role_key), '[]') as roles,
        coalesce(jsonb_agg(distinct p.permission_key order by p.permission_key) filter (where p.permission_key is not null), '[]') as permissions
      from tenancy.tenant_user_roles r
      left join tenancy.role_permissions p on p.role_key = r.role_key
      where r.tenant_id = u.tenant_id and r.user_id = u.user_id) g
    where u.user_id = app.user_id() and u.is_active);
end $$;

-- Makes the caller's tenant the one their next token names. Fails: forbidden (no active member of it, or a system
-- administrator, whose tokens name none).
create or replace function tenancy.choose_tenant() returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not exists (select from tenancy.tenant_users u
      where u.tenant_id = app.tenant_id() and u.user_id = app.user_id() and u.is_active)
      or exists (select from tenancy.system_users s where s.user_id = app.user_id()) then
    perform app.fail('forbidden');
  end if;
  insert into tenancy.active_tenants (user_id, tenant_id, updated_at)
  values (app.user_id(), app.tenant_id(), clock_timestamp())
  on conflict (user_id) do update set tenant_id = excluded.tenant_id, updated_at = excluded.updated_at;
end $$;

-- The first company that a person joins is the one their tokens name, until they choose another; so is the next one
-- when they are no member of the chosen one any more. A system administrator's tokens name none.
create or replace function tenancy.choose_first_tenant() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into tenancy.active_tenants as a (user_id, tenant_id)
  select new.user_id, new.tenant_id
  where not exists (select from tenancy.system_users s where s.user_id = new.user_id)
  on conflict (user_id) do update set tenant_id = excluded.tenant_id, updated_at = clock_timestamp()
  where not exists (
    select from tenancy.tenant_users u where u.tenant_id = a.tenant_id and u.user_id = a.user_id and u.is_active);
  return null;
end $$;

-- The id of the Auth user with this (lower-case) e-mail, or null. For those who administer a tenant.
create or replace function tenancy.user_with_email(address text) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  return (select u.id from auth.users u where u.email = address and not u.is_sso_user and u.deleted_at is null);
end $$;

-- True when a person may become a member of this tenant with the account they have: the tenant made it, or its owner has
-- proven the mailbox. Who registered did so by confirming the address. Of other accounts somebody else knows the
-- password: another company's administrator, or a stranger who registered with the address.
create or replace function tenancy.may_join(user_id uuid, tenant_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from tenancy.profiles p
    join auth.users u on u.id = p.id
    where p.id = may_join.user_id and (p.proven_at is not null or p.made_by_tenant = may_join.tenant_id
      or (p.made_by_tenant is null and u.email_confirmed_at is not null)));
end $$;

-- Records that the caller confirmed their account just now; tokens of before, but those that prove the mailbox, hold no more, nor do keys of their
-- own programs: the person who made the account could have made them.
-- Fails: mailbox_not_proven.
create or replace function tenancy.prove_account() returns timestamptz
language plpgsql security definer set search_path = '' as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  if not 'mailbox' = any (app.grants()) then
    perform app.fail('mailbox_not_proven');
  end if;
  update tenancy.profiles p set proven_at = v_now where p.id = app.user_id();
  update tenancy.api_keys k set revoked_at = v_now
  where k.created_by = app.user_id() and private.acts_as_maker(k.scopes) and k.revoked_at is null;
  return v_now;
end $$;

-- True when nobody but the caller's tenant knows this person, so that its administrator may change what
-- the profile says. Otherwise the profile is the person's own.
create or replace function tenancy.is_member_only_here(user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return not exists (select from tenancy.tenant_users u
      where u.user_id = is_member_only_here.user_id and u.tenant_id is distinct from app.tenant_id())
    and not exists (select from tenancy.system_users s where s.user_id = is_member_only_here.user_id);
end $$;

-- True when Auth has deleted the account of a member of the caller's tenant softly: nobody signs in with it any more.
create or replace function tenancy.account_is_deleted(user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from auth.users u
    join tenancy.tenant_users m on m.tenant_id = app.tenant_id() and m.user_id = u.id
    where u.id = account_is_deleted.user_id and u.deleted_at is not null);
end $$;

-- True while a user who was being added, and did not become a member, may be removed from Auth.
create or replace function tenancy.removal_pending(user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from app.jobs j
    where j.kind = 'tenants.remove_auth_user' and j.entity_key = removal_pending.user_id::text
      and j.status in ('queued', 'running'));
end $$;

-- True when a user belongs to no tenant and is no system administrator. Asked by the job that removes
-- what a broken attempt to add a user left in Auth.
create or replace function tenancy.is_without_membership(user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return not exists (select from tenancy.tenant_users u where u.user_id = is_without_membership.user_id)
    and not exists (select from tenancy.system_users s where s.user_id = is_without_membership.user_id);
end $$;

grant execute on function tenancy.memberships_of_caller(), tenancy.choose_tenant(), tenancy.user_with_email(text),
  tenancy.prove_account(), tenancy.is_member_only_here(uuid), tenancy.removal_pending(uuid), tenancy.account_is_deleted(uuid) to barid_caller;
grant execute on function tenancy.is_without_membership(uuid) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function tenancy.is_without_membership(uuid), tenancy.choose_first_tenant(), tenancy.may_join(uuid,uuid) from barid_caller;
