-- The tenant's users. A company invites people (invitations.sql); those who manage the system make one together with the
-- account, in three steps, because the account lives in Supabase Auth: user_begin refuses whatever can be refused and
-- queues the removal of what the next step may leave behind; Auth makes the account; user_finish withdraws that removal
-- and makes the membership.

-- A user of the tenant as responses show them. Fails: user_not_found.
create or replace function tenancy.user_to_json(user_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_user jsonb;
begin
  select to_jsonb(r) into v_user from tenancy.users_list r where r.id = user_to_json.user_id;
  if v_user is null then
    perform app.fail('user_not_found');
  end if;
  return v_user;
end $$;

-- Staff need at least one role of staff; everybody else has the one role of their kind.
-- Fails: invalid_roles.
create or replace function tenancy.require_roles(user_type text, roles jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_of_kind text[] := array['driver', 'institution', 'customer'];
begin
  if (user_type = 'staff' and (jsonb_array_length(roles) = 0 or roles ?| v_of_kind))
      or (user_type <> 'staff' and roles <> jsonb_build_array(user_type)) then
    perform app.fail('invalid_roles', '{"field": "roles"}');
  end if;
end $$;

-- The rows a member of a kind needs besides the membership: a driver their row; drivers, institutions and
-- customers a wallet in the tenant's currency. Doing it twice changes nothing.
create or replace function tenancy.member_provision(user_id uuid, user_type text) returns void
language plpgsql set search_path = '' as $$
begin
  if user_type = 'driver' then
    insert into delivery.drivers (tenant_id, user_id) values (app.tenant_id(), member_provision.user_id)
    on conflict do nothing;
  end if;
  if user_type in ('driver', 'institution', 'customer') then
    perform money.account_of('wallet', user_type, member_provision.user_id, (app.currency()).code);
  end if;
end $$;

-- First step. {person {email, full_name, phone?, tenant_user_type, roles, is_business, employee_id?}, key?}
-- -> {answer} of an earlier call with the same key, or {user_id, job_id}: the id that the account shall have in Auth.
-- Fails: forbidden, idempotency_conflict, invalid_roles, user_already_member, user_being_added, account_exists (its owner
-- joins by accepting an invitation).
create or replace function tenancy.user_begin(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_person jsonb := input -> 'person';
  v_answer jsonb;
  v_user uuid;
begin
  perform tenancy.enter_tenant(app.tenant_id());
  if input ? 'key' then
    v_answer := private.idempotency_claim(app.request_setting('operation'), input ->> 'key', v_person, 'idempotency_conflict');
    if v_answer is not null then
      return jsonb_build_object('answer', v_answer);
    end if;
  end if;
  perform tenancy.require_roles(v_person ->> 'tenant_user_type', v_person -> 'roles');
  v_user := tenancy.user_with_email(v_person ->> 'email');
  if v_user is not null then
    if exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_user and u.left_at is null) then
      perform app.fail('user_already_member');
    elsif tenancy.removal_pending(v_user) then
      perform app.fail('user_being_added');
    end if;
    perform app.fail('account_exists', '{"field": "email"}');
  end if;
  v_user := gen_random_uuid();
  return jsonb_build_object('user_id', v_user, 'job_id', app.job_add('tenants.remove_auth_user',
    jsonb_build_object('user_id', v_user), v_user::text, now() + interval '5 minutes'));
end $$;

-- Last step, once Auth has the account. {person, key?, user_id, job_id?} -> {user}
-- Fails: service_unavailable (the call took so long that the removal of the account has begun).
create or replace function tenancy.user_finish(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_person jsonb := input -> 'person';
  v_user uuid := (input ->> 'user_id')::uuid;
  v_answer jsonb;
begin
  perform tenancy.enter_tenant(app.tenant_id());
  if input ? 'key' then
    v_answer := private.idempotency_claim(app.request_setting('operation'), input ->> 'key', v_person, 'idempotency_conflict');
    if v_answer is not null then
      return v_answer;
    end if;
  end if;
  if input ? 'job_id' and not app.job_withdraw((input ->> 'job_id')::bigint) then
    perform app.fail('service_unavailable');
  end if;
  insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type, is_business, employee_id)
  values (app.tenant_id(), v_user, v_person ->> 'tenant_user_type', (v_person ->> 'is_business')::boolean,
    v_person ->> 'employee_id');
  insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
  select app.tenant_id(), v_user, r.key from jsonb_array_elements_text(v_person -> 'roles') r (key);
  update tenancy.profiles p set
    full_name = coalesce(nullif(p.full_name, ''), v_person ->> 'full_name'),
    phone = coalesce(p.phone, v_person ->> 'phone'),
    avatar_url = coalesce(p.avatar_url, v_person ->> 'avatar_url')
  where p.id = v_user;
  perform tenancy.member_provision(v_user, v_person ->> 'tenant_user_type');
  v_answer := jsonb_build_object('user', tenancy.user_to_json(v_user));
  if input ? 'key' then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  end if;
  return v_answer;
end $$;

-- Instead of the last step, when it must not come: forgets the key, so that the same call may be made
-- again, and withdraws the removal when nothing is left to remove. {key?, job_id?}
create or replace function tenancy.user_abandon(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  -- The key first, as every step of adding a person takes it.
  if input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  if input ? 'job_id' then
    perform app.job_withdraw((input ->> 'job_id')::bigint);
  end if;
  return '{}';
end $$;

-- True when this user is an active administrator of the caller's tenant.
create or replace function tenancy.is_active_admin(user_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = 'tenant_admin'
    where u.tenant_id = app.tenant_id() and u.user_id = is_active_admin.user_id and u.is_active);
end $$;

-- Refuses to let an administrator go when nobody is left. Fails: last_tenant_admin.
create or replace function tenancy.require_another_admin() returns void
language plpgsql stable set search_path = '' as $$
begin
  if not exists (select from tenancy.tenant_user_roles r
      where r.tenant_id = app.tenant_id() and r.role_key = 'tenant_admin' and tenancy.is_active_admin(r.user_id)) then
    perform app.fail('last_tenant_admin');
  end if;
end $$;

-- Changes what is sent; e-mail and kind may be sent as they are, for clients that send whole rows.
-- {user_id, email?, tenant_user_type?, full_name?, phone?, roles?, is_business?, employee_id?, is_active?}
-- -> {user, stopped_api_keys [{id, name, hint}]}: keys the person answers for, which do nothing any more.
-- Fails: user_not_found, invalid_roles, user_field_fixed (e-mail, kind, the profile of somebody whom others know as well, and
-- is_active of an account that Auth has deleted), cannot_deactivate_self, last_tenant_admin.
create or replace function tenancy.user_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_user uuid := (input ->> 'user_id')::uuid;
  v_before jsonb;
  v_was_admin boolean;
  v_fixed text;
begin
  -- One change of a tenant's users at a time: two administrators must not remove each other.
  perform from tenancy.tenants t where t.id = app.tenant_id() for no key update;
  v_before := tenancy.user_to_json(v_user);
  v_was_admin := tenancy.is_active_admin(v_user);
  select k.key into v_fixed from jsonb_each(input) k
  where k.value is distinct from v_before -> k.key
    and (k.key in ('email', 'tenant_user_type')
      or k.key in ('full_name', 'phone') and v_user is distinct from app.user_id() and not tenancy.is_member_only_here(v_user))
  order by k.key limit 1;
  if v_fixed is not null then
    perform app.fail('user_field_fixed', jsonb_build_object('field', v_fixed));
  end if;
  if input ->> 'is_active' = 'false' and v_user = app.user_id() then
    perform app.fail('cannot_deactivate_self');
  end if;

  update tenancy.profiles p set
    full_name = coalesce(input ->> 'full_name', p.full_name),
    phone = case when input ? 'phone' then input ->> 'phone' else p.phone end
  where p.id = v_user and input ?| array['full_name', 'phone'];
  update tenancy.tenant_users u set
    is_business = coalesce((input ->> 'is_business')::boolean, u.is_business),
    is_active = coalesce((input ->> 'is_active')::boolean, u.is_active),
    employee_id = case when input ? 'employee_id' then input ->> 'employee_id' else u.employee_id end
  where u.tenant_id = app.tenant_id() and u.user_id = v_user and input ?| array['is_business', 'is_active', 'employee_id'];
  -- Looked at once the membership is held, which Auth's deletion changes too.
  if input ->> 'is_active' = 'true' and tenancy.account_is_deleted(v_user) then
    perform app.fail('user_field_fixed', '{"field": "is_active"}');
  end if;
  if input ? 'roles' then
    perform tenancy.require_roles(v_before ->> 'tenant_user_type', input -> 'roles');
    delete from tenancy.tenant_user_roles r
    where r.tenant_id = app.tenant_id() and r.user_id = v_user and not input -> 'roles' ? r.role_key;
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    select app.tenant_id(), v_user, r.key from jsonb_array_elements_text(input -> 'roles') r (key)
    on conflict do nothing;
  end if;
  -- Clients that send whole rows repeat what is: a driver whom operations gave a rest stays inactive.
  if (input ->> 'is_active')::boolean <> (v_before ->> 'is_active')::boolean then
    update delivery.drivers d set status = case when (input ->> 'is_active')::boolean then 'active' else 'inactive' end
    where d.tenant_id = app.tenant_id() and d.user_id = v_user and v_before ->> 'tenant_user_type' = 'driver';
  end if;
  if v_was_admin and not tenancy.is_active_admin(v_user) then
    perform tenancy.require_another_admin();
  end if;
  return jsonb_build_object('user', tenancy.user_to_json(v_user), 'stopped_api_keys', tenancy.api_keys_stopped(v_user));
end $$;

-- The roles a tenant can give, each with its permissions. -> [{key, name, permissions}]
create or replace function tenancy.roles_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('key', r.key, 'name', r.name, 'permissions', (
        select coalesce(jsonb_agg(p.permission_key order by p.permission_key), '[]')
        from tenancy.role_permissions p where p.role_key = r.key))
      order by r.key)
    from tenancy.roles r);
end $$;

-- The permissions that roles of a tenant can carry. -> [{key, name}]
create or replace function tenancy.permissions_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('key', p.key, 'name', p.name) order by p.key)
    from tenancy.permissions p
    where exists (select from tenancy.role_permissions r where r.permission_key = p.key));
end $$;
