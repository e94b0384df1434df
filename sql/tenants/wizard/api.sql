-- The tenant wizard. Its administrator lives in Supabase Auth, so it takes two transactions around a call
-- there: wizard_begin makes the tenant with everything in it and queues the job that rolls it all back; Auth makes the
-- account; wizard_finish makes it a member, opens the tenant and withdraws that job. An administrator who has an account
-- is invited instead. A call repeated under its Idempotency-Key continues where the one before it stopped.

-- The runs that a caller may continue: their own.
create or replace function tenancy.wizard_caller() returns text
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(app.user_id()::text, app.request_setting('api_key'), '-');
end $$;

-- Refuses to make an administrator for somebody who must not give access; asked before all else.
-- {creates_admin}. Fails: rbac_forbidden.
create or replace function tenancy.wizard_check(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  if (input ->> 'creates_admin')::boolean and not app.has_permission('manage:user_access:system') then
    perform app.fail('rbac_forbidden');
  end if;
  return '{}';
end $$;

-- Marks steps of a run: [{step, status}], status done, skipped, invited (an address that has an account) or pending.
create or replace function tenancy.wizard_steps(steps jsonb, marks jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('step', n.step, 'status', coalesce(marks ->> n.step, (
        select s ->> 'status' from jsonb_array_elements(steps) s where s ->> 'step' = n.step), 'pending')) order by n.position)
    from unnest(array['tenant', 'settings', 'modules', 'subscription', 'admin_user', 'activation'])
      with ordinality n (step, position));
end $$;

-- Finds out who the administrator is to be. -> {user_id, state}: new (Auth is to make the account under this id), made (it
-- has done so in this run already) or invited (the address had an account before).
create or replace function tenancy.wizard_admin_state(run_id uuid, email text) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_user uuid := tenancy.user_with_email(email);
  v_run tenancy.wizard_runs;
begin
  update tenancy.wizard_runs r set
    admin_user_id = coalesce(v_user, case when not r.admin_existed then r.admin_user_id end, gen_random_uuid()),
    admin_existed = v_user is not null and (r.admin_existed or v_user is distinct from r.admin_user_id)
  where r.id = wizard_admin_state.run_id returning r.* into v_run;
  return jsonb_build_object('user_id', v_run.admin_user_id, 'state',
    case when v_user is null then 'new' when v_run.admin_existed then 'invited' else 'made' end);
end $$;

-- The run of this key, locked, or a new one. Fails: idempotency_conflict (another input under this key).
create or replace function tenancy.wizard_run(key text, request jsonb) returns tenancy.wizard_runs
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_hash bytea := sha256(convert_to(request::text, 'UTF8'));
  v_caller text := tenancy.wizard_caller();
  v_run tenancy.wizard_runs;
begin
  loop
    insert into tenancy.wizard_runs (caller, key, input_hash) values (v_caller, wizard_run.key, v_hash)
    on conflict do nothing returning * into v_run;
    exit when found;
    select r.* into v_run from tenancy.wizard_runs r
    where r.caller = v_caller and r.key = wizard_run.key and r.state <> 'undone' for update;
    -- Gone when the call that had it has just been undone: then it is ours to start.
    exit when found;
  end loop;
  if v_run.input_hash <> v_hash then
    perform app.fail('idempotency_conflict');
  end if;
  return v_run;
end $$;

-- First transaction. {creates_admin, key?, request {tenant, settings: patches, enabled_module_ids?,
-- subscription?, admin? {email, full_name, phone?, avatar_url?}}}: all but the password.
-- -> {answer} of a run that was finished under this key, else {run_id, admin? {user_id, state}}.
-- Fails: rbac_forbidden, idempotency_conflict, subscription_required, tenant_slug_taken, invalid_reference.
create or replace function tenancy.wizard_begin(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_request jsonb := input -> 'request';
  v_asked boolean := tenancy.subscriptions_required();
  v_marks jsonb := '{"tenant": "done", "settings": "done"}';
  v_run tenancy.wizard_runs;
  v_tenant uuid;
  v_admin jsonb;
begin
  perform tenancy.wizard_check(input);
  v_run := tenancy.wizard_run(input ->> 'key', v_request);
  if v_run.state = 'done' then
    return jsonb_build_object('answer', v_run.answer);
  end if;
  if v_run.new_tenant_id is null then
    if v_asked and v_request -> 'subscription' is null then
      perform app.fail('subscription_required', '{"field": "subscription"}');
    end if;
    v_tenant := tenancy.tenant_bootstrap(v_request -> 'tenant');
    perform tenancy.settings_save(jsonb_build_object('patches', v_request -> 'settings'));
    if v_request ? 'enabled_module_ids' then
      perform tenancy.modules_save(v_request);
    end if;
    if v_asked then
      perform tenancy.subscription_add(v_request -> 'subscription');
    end if;
    v_marks := v_marks || jsonb_build_object(
      'modules', case when v_request ? 'enabled_module_ids' then 'done' else 'skipped' end,
      'subscription', case when v_asked then 'done' else 'skipped' end,
      'admin_user', case when v_request ? 'admin' then 'pending' else 'skipped' end);
    -- The job is nobody's: one of the tenant's would go with the tenant, and with it what Auth has still to do.
    perform tenancy.enter_tenant(null);
    update tenancy.wizard_runs r set new_tenant_id = v_tenant, steps = tenancy.wizard_steps('[]', v_marks),
      undo_job_id = app.job_add('tenants.wizard_undo', jsonb_build_object('run_id', r.id), r.id::text, now() + interval '15 minutes')
    where r.id = v_run.id;
  end if;
  if v_request ? 'admin' then
    perform tenancy.enter_tenant(null);
    v_admin := tenancy.wizard_admin_state(v_run.id, v_request #>> '{admin,email}');
  end if;
  return jsonb_strip_nulls(jsonb_build_object('run_id', v_run.id, 'admin', v_admin));
end $$;

-- When Auth says that the administrator's e-mail is taken: by this run, or by somebody since it began.
-- {run_id, email} -> {user_id, state}. Fails: user_being_added (taken, and by nobody who can be found).
create or replace function tenancy.wizard_admin(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_admin jsonb;
begin
  perform tenancy.enter_tenant(null);
  v_admin := tenancy.wizard_admin_state((input ->> 'run_id')::uuid, input ->> 'email');
  if v_admin ->> 'state' = 'new' then
    perform app.fail('user_being_added');
  end if;
  return v_admin;
end $$;

-- Last transaction. {run_id, admin?} -> {tenant_id, steps}, the answer of the call.
-- Fails: service_unavailable (the run is being rolled back).
create or replace function tenancy.wizard_finish(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_admin jsonb := input -> 'admin';
  v_run tenancy.wizard_runs;
  v_pays boolean;
  v_answer jsonb;
begin
  select r.* into v_run from tenancy.wizard_runs r where r.id = (input ->> 'run_id')::uuid for update;
  if v_run.state = 'done' then
    return v_run.answer;
  end if;
  perform tenancy.enter_tenant(null);
  if v_run.state is distinct from 'running' or not app.job_withdraw(v_run.undo_job_id) then
    perform app.fail('service_unavailable');
  end if;
  perform tenancy.enter_tenant(v_run.new_tenant_id);
  if v_admin is not null then
    v_admin := v_admin || '{"tenant_user_type": "staff", "roles": ["tenant_admin"], "is_business": false}';
    if v_run.admin_existed then
      perform tenancy.invite(v_admin);
    else
      perform tenancy.user_finish(jsonb_build_object('user_id', v_run.admin_user_id, 'person', v_admin));
    end if;
  end if;
  perform tenancy.tenant_event_emit('created');
  select coalesce(bool_or(s.type <> 'UNLIMITED'), false) into v_pays
  from tenancy.subscriptions s where s.tenant_id = v_run.new_tenant_id and s.status = 'PENDING';
  if not v_pays then
    perform tenancy.move_tenant('active');
  end if;
  v_answer := jsonb_build_object('tenant_id', v_run.new_tenant_id, 'steps', tenancy.wizard_steps(v_run.steps,
    jsonb_build_object('activation', case when v_pays then 'pending' else 'done' end)
    || case when v_admin is null then '{}'
      else jsonb_build_object('admin_user', case when v_run.admin_existed then 'invited' else 'done' end) end));
  update tenancy.wizard_runs r set state = 'done', steps = v_answer -> 'steps', answer = v_answer where r.id = v_run.id;
  return v_answer;
end $$;

-- Takes a failed run back, as far as it is ours to. {run_id} -> {user_id?}: whom Auth may have to remove.
create or replace function tenancy.wizard_undo(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return tenancy.wizard_rollback((input ->> 'run_id')::uuid);
end $$;

-- Reports a run that could not be undone: the queued job tries again. {run_id}
create or replace function tenancy.wizard_undo_failed(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_run tenancy.wizard_runs;
begin
  select r.* into v_run from tenancy.wizard_runs r where r.id = (input ->> 'run_id')::uuid;
  perform tenancy.enter_tenant(null);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'tenant_wizard.rollback_failed',
    'source_module', 'tenants', 'entity_type', 'tenant', 'entity_id', v_run.new_tenant_id,
    'event_data', jsonb_build_object('run_id', v_run.id, 'tenant_id', v_run.new_tenant_id, 'actor_id', app.user_id()))));
  return '{}';
end $$;
