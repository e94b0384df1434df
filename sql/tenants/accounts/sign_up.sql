-- The tenant that knows the first password of an account being made, or null when its owner registers. Who makes one for
-- a tenant chooses its id before: it stands in the removal that tenancy.user_begin queues, in the run of the wizard, or
-- in an invitation, where the tenant knows the password only if it sent one.
create or replace function tenancy.account_creator(user_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    (select r.new_tenant_id from tenancy.wizard_runs r
      where r.admin_user_id = account_creator.user_id and not r.admin_existed order by r.created_at desc limit 1),
    (select j.tenant_id from app.jobs j
      where j.kind = 'tenants.remove_auth_user' and j.entity_key = account_creator.user_id::text and j.status in ('queued', 'running')
      order by j.id desc limit 1),
    (select i.tenant_id from tenancy.invitations i
      where i.account_id = account_creator.user_id and (i.password_given or i.sealed_password is not null) order by i.created_at desc limit 1));
end $$;

-- Ends what a person may do, once Auth has deleted their account softly: they manage the system no more, and are shut out of every
-- company, a driver off duty. Their rows stay for what refers to them, roles too.
create or replace function tenancy.account_ended(user_id uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_before text := coalesce(app.tenant_id()::text, '');
  v_tenant uuid;
begin
  delete from tenancy.system_users s where s.user_id = account_ended.user_id;
  for v_tenant in
    select u.tenant_id from tenancy.tenant_users u where u.user_id = account_ended.user_id and u.is_active order by u.tenant_id
  loop
    -- Log and events belong to the company.
    perform set_config('app.tenant_id', v_tenant::text, true);
    update tenancy.tenant_users u set is_active = false where u.tenant_id = v_tenant and u.user_id = account_ended.user_id;
    update delivery.drivers d set status = 'inactive' where d.tenant_id = v_tenant and d.user_id = account_ended.user_id;
  end loop;
  perform set_config('app.tenant_id', v_before, true);
end $$;

-- Every user of Supabase Auth has a profile: this copies what Auth received when the user is made, and
-- follows a changed e-mail. A picture is kept by an address of the web alone: who registers says what they like.
-- Of a user whom Auth deletes softly the profile keeps the names alone, which stand under their work; their rights
-- end with tenancy.account_ended.
create or replace function tenancy.follow_auth_user() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_told jsonb := coalesce(new.raw_user_meta_data, '{}');
  v_name text := left(coalesce(v_told ->> 'full_name', v_told ->> 'name', ''), 200);
begin
  if tg_op = 'INSERT' then
    insert into tenancy.profiles (id, email, full_name, first_name, last_name, phone, avatar_url, made_by_tenant)
    values (new.id, new.email, v_name, left(v_told ->> 'first_name', 100),
      left(v_told ->> 'last_name', 100), left(v_told ->> 'phone', 40), substring(left(v_told ->> 'avatar_url', 2000) from '^https://[^[:space:]]+$'),
      tenancy.account_creator(new.id))
    on conflict (id) do nothing;
  elsif to_jsonb(new) ->> 'deleted_at' is not null then
    perform tenancy.account_ended(new.id);
    update tenancy.profiles set email = null, phone = null, avatar_url = null where id = new.id;
  else
    update tenancy.profiles p set email = new.email, full_name = coalesce(nullif(p.full_name, ''), v_name)
    where p.id = new.id;
  end if;
  return null;
end $$;

-- "or replace", because on a hosted project migrations may make triggers on auth.users but drop none.
create or replace trigger barid_profile after insert on auth.users
  for each row execute function tenancy.follow_auth_user();
create or replace trigger barid_profile_email after update of email on auth.users
  for each row when (old.email is distinct from new.email) execute function tenancy.follow_auth_user();

-- Nobody calls these but other functions and triggers.
revoke execute on function tenancy.follow_auth_user(), tenancy.account_creator(uuid), tenancy.account_ended(uuid) from barid_caller;
