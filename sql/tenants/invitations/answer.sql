-- Invitations as a company's administrators make them. Whether an address has an account they never learn.

-- The present state of an invitation: its status, or expired.
create or replace function tenancy.invitation_status(invitation tenancy.invitations) returns text
language plpgsql stable set search_path = '' as $$
begin
  return case when invitation.status = 'pending' and invitation.expires_at <= now() then 'expired' else invitation.status end;
end $$;

-- An invitation as its answers show it.
create or replace function tenancy.invitation_to_json(invitation tenancy.invitations) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('id', invitation.id, 'email', invitation.email, 'status', tenancy.invitation_status(invitation),
    'expires_at', invitation.expires_at);
end $$;

-- Invites an address into the caller's tenant for 14 days, or renews its open invitation with what is sent now, and queues
-- its delivery. Fails: invalid_roles, user_already_member.
create or replace function tenancy.invite(person jsonb, password text default null) returns tenancy.invitations
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_email text := person ->> 'email';
  v_invitation tenancy.invitations;
begin
  perform tenancy.require_roles(person ->> 'tenant_user_type', person -> 'roles');
  insert into tenancy.invitations as i (tenant_id, email, person, sealed_password, invited_by, expires_at)
  values (v_tenant, v_email, person - 'email', password, app.user_id(), now() + interval '14 days')
  on conflict (tenant_id, email) where status = 'pending' do update set person = excluded.person,
    sealed_password = excluded.sealed_password, invited_by = excluded.invited_by, expires_at = excluded.expires_at
  returning i.* into v_invitation;
  -- Asked after the row is held: an acceptance that ran meanwhile has ended by now.
  if exists (select from tenancy.tenant_users u join tenancy.profiles p on p.id = u.user_id
      where u.tenant_id = v_tenant and u.left_at is null and p.email = v_email) then
    perform app.fail('user_already_member');
  end if;
  perform tenancy.invitation_deliver(v_invitation.id);
  return v_invitation;
end $$;

-- Queues the delivery of an invitation.
create or replace function tenancy.invitation_deliver(id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  -- Auth sends so many mails an hour and no more: half a day of attempts outlives that.
  perform app.job_add('tenants.invitation_deliver', jsonb_build_object('invitation_id', invitation_deliver.id),
    'invitation/' || invitation_deliver.id, null, 24);
end $$;

-- {email, full_name, phone?, tenant_user_type, roles, is_business, employee_id?, made: {password? (sealed)}} -> {data: {invitation}}
-- Fails: invalid_roles, user_already_member.
create or replace function tenancy.user_invite(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return jsonb_build_object('data', jsonb_build_object('invitation',
    tenancy.invitation_to_json(tenancy.invite(input - 'made', input #>> '{made,password}'))));
end $$;

-- The invitation of this id, held. Fails: invitation_not_found, invitation_not_pending unless it is open or expired.
create or replace function tenancy.lock_invitation(id uuid) returns tenancy.invitations
language plpgsql set search_path = '' as $$
declare
  v_invitation tenancy.invitations;
begin
  select i.* into v_invitation from tenancy.invitations i where i.id = lock_invitation.id for update;
  if not found then
    perform app.fail('invitation_not_found');
  elsif v_invitation.status <> 'pending' then
    perform app.fail('invitation_not_pending', jsonb_build_object('status', v_invitation.status));
  end if;
  return v_invitation;
end $$;

-- Sends an invitation again, for another 14 days. {id} -> {data: {invitation}}
-- Fails: invitation_not_found, invitation_not_pending.
create or replace function tenancy.invitation_resend(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_invitation tenancy.invitations := tenancy.lock_invitation((input ->> 'id')::uuid);
begin
  update tenancy.invitations i set expires_at = now() + interval '14 days' where i.id = v_invitation.id
  returning i.* into v_invitation;
  perform tenancy.invitation_deliver(v_invitation.id);
  return jsonb_build_object('data', jsonb_build_object('invitation', tenancy.invitation_to_json(v_invitation)));
end $$;

-- Revokes an open invitation; an account that it made and nobody used goes with it, after the delivery that may be making it at this moment: jobs
-- of one key are done one after the other. {id} -> {data: {invitation}}
-- Fails: invitation_not_found, invitation_not_pending.
create or replace function tenancy.invitation_revoke(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_invitation tenancy.invitations := tenancy.lock_invitation((input ->> 'id')::uuid);
begin
  update tenancy.invitations i set status = 'revoked', answered_at = now(), sealed_password = null where i.id = v_invitation.id
  returning i.* into v_invitation;
  if v_invitation.account_id is not null then
    perform app.job_add('tenants.invitation_withdraw', jsonb_build_object('user_id', v_invitation.account_id),
      'invitation/' || v_invitation.id);
  end if;
  return jsonb_build_object('data', jsonb_build_object('invitation', tenancy.invitation_to_json(v_invitation)));
end $$;

-- The caller's own invitations. -> {invitations}
create or replace function tenancy.my_invitations_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('invitations', tenancy.invitations_of_caller());
end $$;

-- The caller's answer to one. {id, accepts} -> {data: {invitation {id, status, tenant_id}}}
-- Fails: what tenancy.invitation_answer fails with.
create or replace function tenancy.my_invitation_answer(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return jsonb_build_object('data', jsonb_build_object('invitation',
    tenancy.invitation_answer((input ->> 'id')::uuid, (input ->> 'accepts')::boolean)));
end $$;

-- The caller leaves a tenant. {tenant_id} -> {tenant_id, left_at}. Fails: forbidden, last_tenant_admin.
create or replace function tenancy.tenant_leave(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return tenancy.membership_end((input ->> 'tenant_id')::uuid);
end $$;
