-- Invitations as the invited person meets them. The entrances are SECURITY DEFINER: the person is not in the company yet, and
-- the company must not learn who has an account.

-- The address whose mails the caller reads, by the account they signed in with; null without one. System administrators
-- have none here: they belong to no company.
create or replace function tenancy.mailbox_of_caller() returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select u.email from auth.users u
    where u.id = app.user_id() and u.email_confirmed_at is not null and not u.is_sso_user and u.deleted_at is null
      and not exists (select from tenancy.system_users s where s.user_id = u.id));
end $$;

-- The caller's open invitations, the newest first, 100 at most.
-- -> [{id, status, tenant {id, slug, name, logo_url}, tenant_user_type, roles, invited_by {id, full_name}?, expires_at, created_at}]
create or replace function tenancy.invitations_of_caller() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_email text := tenancy.mailbox_of_caller();
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(l) order by l.created_at desc, l.id), '[]')
    from (
      select i.id, i.status,
        jsonb_build_object('id', t.id, 'slug', t.slug, 'name', t.name, 'logo_url', t.logo_url) as tenant,
        i.person ->> 'tenant_user_type' as tenant_user_type, i.person -> 'roles' as roles,
        (select jsonb_build_object('id', p.id, 'full_name', p.full_name) from tenancy.profiles p
          where p.id = i.invited_by and not exists (select from tenancy.system_users s where s.user_id = p.id)) as invited_by,
        i.expires_at, i.created_at
      from tenancy.invitations i
      join tenancy.tenants t on t.id = i.tenant_id and t.status <> 'archived'
      where i.email = v_email and i.status = 'pending' and i.expires_at > now()
      order by i.created_at desc, i.id
      limit 100) l);
end $$;

-- Makes a person a member of the caller's tenant as an invitation says, or brings one back who left.
-- Fails: user_already_member.
create or replace function tenancy.member_admit(user_id uuid, person jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  insert into tenancy.tenant_users as u (tenant_id, user_id, tenant_user_type, is_business, employee_id)
  values (v_tenant, member_admit.user_id, person ->> 'tenant_user_type',
    coalesce((person ->> 'is_business')::boolean, false), person ->> 'employee_id')
  on conflict on constraint user_already_member do update set tenant_user_type = excluded.tenant_user_type,
    is_business = excluded.is_business, employee_id = excluded.employee_id, is_active = true, left_at = null,
    was_shut_out = false
  where u.left_at is not null;
  if not found then
    perform app.fail('user_already_member');
  end if;
  insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
  select v_tenant, member_admit.user_id, r.key from jsonb_array_elements_text(person -> 'roles') r (key);
  perform tenancy.member_provision(member_admit.user_id, person ->> 'tenant_user_type');
  update delivery.drivers d set status = 'active'
  where d.tenant_id = v_tenant and d.user_id = member_admit.user_id and person ->> 'tenant_user_type' = 'driver';
end $$;

-- Writes an event about a member into the caller's tenant.
create or replace function tenancy.member_event_emit(event_type text, user_id uuid, tenant_user_type text) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', member_event_emit.event_type, 'source_module', 'tenants',
    'entity_type', 'user', 'entity_id', member_event_emit.user_id, 'event_data', jsonb_build_object(
      'user_id', member_event_emit.user_id, 'tenant_user_type', member_event_emit.tenant_user_type, 'actor_id', app.user_id()))));
end $$;

-- The caller accepts or declines an invitation to their address. -> {id, status, tenant_id}
-- Fails: invitation_not_found (also another person's, or of a company that is archived), invitation_not_pending, account_not_confirmed, user_already_member.
create or replace function tenancy.invitation_answer(invitation_id uuid, accepts boolean) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_user uuid := app.user_id();
  v_before text := coalesce(app.tenant_id()::text, '');
  v_invitation tenancy.invitations;
begin
  select i.* into v_invitation from tenancy.invitations i
  where i.id = invitation_id and i.email = tenancy.mailbox_of_caller()
    and exists (select from tenancy.tenants t where t.id = i.tenant_id and t.status <> 'archived') for update;
  if not found then
    perform app.fail('invitation_not_found');
  elsif v_invitation.status <> 'pending' or v_invitation.expires_at <= now() then
    perform app.fail('invitation_not_pending', jsonb_build_object('status', tenancy.invitation_status(v_invitation)));
  elsif accepts and not tenancy.may_join(v_user, v_invitation.tenant_id) then
    perform app.fail('account_not_confirmed');
  end if;
  -- Rows, log and event belong to the company that is joined.
  perform set_config('app.tenant_id', v_invitation.tenant_id::text, true);
  update tenancy.invitations i set status = case when accepts then 'accepted' else 'declined' end, answered_at = now(),
    sealed_password = null
  where i.id = v_invitation.id returning i.* into v_invitation;
  if accepts then
    perform tenancy.member_admit(v_user, v_invitation.person);
    -- The profile is the person's own; the invitation fills what an account that it made leaves open.
    update tenancy.profiles p set
      full_name = coalesce(nullif(p.full_name, ''), v_invitation.person ->> 'full_name'),
      phone = coalesce(p.phone, v_invitation.person ->> 'phone'),
      avatar_url = coalesce(p.avatar_url, v_invitation.person ->> 'avatar_url')
    where p.id = v_user and v_user = v_invitation.account_id;
    perform tenancy.member_event_emit('tenant_user.joined', v_user, v_invitation.person ->> 'tenant_user_type');
  end if;
  perform set_config('app.tenant_id', v_before, true);
  return jsonb_build_object('id', v_invitation.id, 'status', v_invitation.status, 'tenant_id', v_invitation.tenant_id);
end $$;

-- Ends a person's membership of the transaction's tenant, active or not; what they did there stays. -> when; null: they are no member.
create or replace function tenancy.member_leaves(user_id uuid) returns timestamptz
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  u tenancy.tenant_users;
begin
  update tenancy.tenant_users x set is_active = false, left_at = now(), was_shut_out = not x.is_active
  where x.tenant_id = v_tenant and x.user_id = member_leaves.user_id and x.left_at is null
  returning x.* into u;
  if not found then
    return null;
  end if;
  delete from tenancy.tenant_user_roles r where r.tenant_id = v_tenant and r.user_id = u.user_id;
  delete from tenancy.active_tenants a where a.tenant_id = v_tenant and a.user_id = u.user_id;
  update delivery.drivers d set status = 'inactive' where d.tenant_id = v_tenant and d.user_id = u.user_id and d.status <> 'inactive';
  perform tenancy.member_event_emit('tenant_user.left', u.user_id, u.tenant_user_type);
  return u.left_at;
end $$;

-- Ends the caller's membership of a tenant by their own decision, active or not; what they did there stays. Who was shut out comes back
-- by an invitation only, and not through the store.
-- -> {tenant_id, left_at}. Fails: forbidden (no member), last_tenant_admin.
create or replace function tenancy.membership_end(tenant_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_user uuid := app.user_id();
  v_before text := coalesce(app.tenant_id()::text, '');
  v_was_admin boolean;
  v_left timestamptz;
begin
  perform set_config('app.tenant_id', membership_end.tenant_id::text, true);
  -- One change of a tenant's users at a time: two administrators must not both leave.
  perform from tenancy.tenants t where t.id = membership_end.tenant_id for no key update;
  v_was_admin := tenancy.is_active_admin(v_user);
  v_left := tenancy.member_leaves(v_user);
  if v_left is null then
    perform app.fail('forbidden');
  end if;
  if v_was_admin then
    perform tenancy.require_another_admin();
  end if;
  perform set_config('app.tenant_id', v_before, true);
  return jsonb_build_object('tenant_id', membership_end.tenant_id, 'left_at', v_left);
end $$;

grant execute on function tenancy.invitations_of_caller(), tenancy.invitation_answer(uuid, boolean),
  tenancy.membership_end(uuid) to barid_caller;

-- The steps that notify the invited person. Called by the job that delivers invitations.
-- -> {step: make, user_id, email, full_name, password? (sealed)}: Auth is to make the account and send its mail;
--    {step: mail, email}: the account was made before, by this invitation or another company's, and never confirmed: its mail is sent again;
--    {step: none}: the person has an account, and finds a notice there. System administrators find none.
create or replace function tenancy.invitation_delivery(invitation_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_invitation tenancy.invitations;
  v_user record;
begin
  select i.* into v_invitation from tenancy.invitations i where i.id = invitation_id and i.status = 'pending' for update;
  if not found then
    return '{"step": "none"}';
  end if;
  select u.id, u.email_confirmed_at,
    exists (select from tenancy.system_users s where s.user_id = u.id) as is_system
  into v_user from auth.users u where u.email = v_invitation.email and not u.is_sso_user and u.deleted_at is null;
  if v_user.id is null then
    update tenancy.invitations i set account_id = coalesce(i.account_id, gen_random_uuid()),
      password_given = i.password_given or i.sealed_password is not null
    where i.id = v_invitation.id returning i.* into v_invitation;
    return jsonb_strip_nulls(jsonb_build_object('step', 'make', 'user_id', v_invitation.account_id, 'email', v_invitation.email,
      'full_name', v_invitation.person ->> 'full_name', 'password', v_invitation.sealed_password));
  elsif v_user.email_confirmed_at is null and exists (select from tenancy.invitations i where i.account_id = v_user.id) then
    return jsonb_build_object('step', 'mail', 'email', v_invitation.email);
  elsif v_user.email_confirmed_at is not null and not v_user.is_system then
    insert into tenancy.notifications (user_id, type, payload)
    select v_user.id, 'tenant_invitation', jsonb_build_object('invitation_id', v_invitation.id, 'tenant', t.slug)
    from tenancy.tenants t where t.id = v_invitation.tenant_id;
  end if;
  return '{"step": "none"}';
end $$;

-- Notes that an invitation was delivered: its password is needed no more.
create or replace function tenancy.invitation_delivered(invitation_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update tenancy.invitations i set sealed_password = null where i.id = invitation_id and i.sealed_password is not null;
end $$;

-- True when nobody ever used the account that an invitation made: its address was never confirmed, it belongs nowhere and
-- no other open invitation waits for it.
create or replace function tenancy.account_unused(user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return tenancy.is_without_membership(account_unused.user_id) and exists (
    select from auth.users u where u.id = account_unused.user_id and u.email_confirmed_at is null
      and not exists (select from tenancy.invitations i
        where i.email = u.email and i.status = 'pending' and i.expires_at > now()));
end $$;

-- Clears up after invitations: accounts that were made for one and never confirmed go when none waits for them any more, whichever company's was
-- the last, and invitations 90 days after they ended. Run by cron. -> how many invitations went.
create or replace function tenancy.invitations_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  insert into app.jobs (kind, entity_key, payload)
  select 'tenants.invitation_withdraw', 'account/' || a.account_id, jsonb_build_object('user_id', a.account_id)
  from (
    select distinct i.account_id from tenancy.invitations i
    where i.account_id is not null and (i.status <> 'pending' or i.expires_at <= now())) a
  where tenancy.account_unused(a.account_id);
  delete from tenancy.invitations i where i.expires_at < now() - interval '90 days';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function tenancy.invitation_delivery(uuid), tenancy.invitation_delivered(uuid), tenancy.account_unused(uuid)
  to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function tenancy.account_unused(uuid), tenancy.invitation_delivered(uuid), tenancy.invitation_delivery(uuid),
  tenancy.invitations_purge(), tenancy.mailbox_of_caller(), tenancy.member_admit(uuid,jsonb),
  tenancy.member_event_emit(text,uuid,text), tenancy.member_leaves(uuid) from barid_caller;
