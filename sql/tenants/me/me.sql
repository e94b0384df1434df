-- The caller's account and tenant. -> {user, memberships, active_tenant_id}
-- active_tenant_id is the tenant this token's calls go to; null when it names none the caller is in.
-- Fails: forbidden (an API key or the system is nobody).
create or replace function tenancy.me_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_user jsonb;
begin
  select jsonb_build_object('id', p.id, 'email', p.email, 'full_name', p.full_name, 'first_name', p.first_name,
    'last_name', p.last_name, 'phone', p.phone, 'avatar_url', p.avatar_url,
    'is_system_admin', app.has_role('system_admin'))
  into v_user from tenancy.profiles p where p.id = app.user_id();
  if v_user is null then
    perform app.fail('forbidden');
  end if;
  return jsonb_build_object('user', v_user, 'memberships', tenancy.memberships_of_caller(),
    'active_tenant_id', app.tenant_id());
end $$;

-- Changes what the caller's profile says, in all their tenants; what was copied under an order or a document stays. In no company's log: it is
-- the person's own. {full_name?, first_name?, last_name?, phone?, avatar_url?}, where null removes what may be missing
-- -> what me_get answers. Fails: forbidden (an API key or the system is nobody).
create or replace function tenancy.profile_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant text := coalesce(app.tenant_id()::text, '');
begin
  perform set_config('app.tenant_id', '', true);
  update tenancy.profiles p set
    full_name = coalesce(input ->> 'full_name', p.full_name),
    first_name = case when input ? 'first_name' then input ->> 'first_name' else p.first_name end,
    last_name = case when input ? 'last_name' then input ->> 'last_name' else p.last_name end,
    phone = case when input ? 'phone' then input ->> 'phone' else p.phone end,
    avatar_url = case when input ? 'avatar_url' then input ->> 'avatar_url' else p.avatar_url end
  where p.id = app.user_id();
  perform set_config('app.tenant_id', v_tenant, true);
  return tenancy.me_get('{}');
end $$;

-- Whose account is about to be confirmed. -> {user_id}
create or replace function tenancy.account_confirm_begin(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('user_id', app.user_id());
end $$;

-- Once Auth has the new password: the account is its owner's. -> {confirmed_at}. Fails: mailbox_not_proven.
create or replace function tenancy.account_confirm_finish(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return jsonb_build_object('confirmed_at', tenancy.prove_account());
end $$;

-- Chooses the tenant of the path for the caller's next token. -> {active_tenant_id}
-- Fails: forbidden.
create or replace function tenancy.tenant_switch(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform tenancy.choose_tenant();
  return jsonb_build_object('active_tenant_id', app.tenant_id());
end $$;

-- The person who made the caller's tenant, or changed it last: {id, email}; the address for those alone who see the whole tenant. SECURITY
-- DEFINER, since that is mostly somebody of the system, whose profile members do not see; it answers for these two alone.
create or replace function tenancy.tenant_writer(writer uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', p.id, 'email', case when app.sees_tenant() then p.email end) from tenancy.people p
    join tenancy.tenants t on t.id = app.tenant_id() and writer in (t.created_by, t.updated_by)
    where p.id = writer);
end $$;
grant execute on function tenancy.tenant_writer(uuid) to barid_caller;

-- The caller's tenant as its detail shows it. Its users are those who work with it and have not left, a thousand at most: customers are
-- many, and listed elsewhere. Those who do not see the whole tenant find only themselves. Fails: tenant_not_found.
create or replace function tenancy.tenant_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found((
    select jsonb_build_object('id', t.id, 'name', t.name, 'slug', t.slug, 'status', t.status,
    'contact_info', t.contact_info, 'metadata', t.metadata, 'logo_url', t.logo_url,
    'subscription_status', t.subscription_status, 'effective_active', app.is_effective(t),
    'effective_until', t.effective_until, 'created_at', t.created_at, 'created_by', t.created_by,
    'updated_at', t.updated_at, 'updated_by', t.updated_by,
    'created_by_user', tenancy.tenant_writer(t.created_by), 'updated_by_user', tenancy.tenant_writer(t.updated_by),
    'tenant_users', (
      select coalesce(jsonb_agg(jsonb_build_object('user_id', u.user_id, 'created_at', u.created_at,
        'user', jsonb_build_object('id', p.id, 'email', p.email)) order by u.created_at, u.user_id), '[]')
      from (
        select m.user_id, m.created_at from tenancy.tenant_users m
        where m.tenant_id = t.id and m.left_at is null and (m.user_id = app.user_id() or app.sees_tenant() and m.tenant_user_type <> 'customer')
        order by m.user_id = app.user_id() desc, m.created_at, m.user_id limit 1000) u
      join tenancy.profiles p on p.id = u.user_id),
    'statistics', jsonb_build_object('active_users', (
      select count(*) from tenancy.tenant_users u where u.tenant_id = t.id and u.is_active)))
    from tenancy.tenants t where t.id = app.tenant_id()), 'tenant_not_found');
end $$;
