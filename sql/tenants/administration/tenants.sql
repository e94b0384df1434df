-- SECURITY DEFINER functions for the administration of tenants, beyond the rights of its callers.

-- Holds requests to the rules on a tenant's own row: only those who manage the system change its address,
-- status and subscription, and a status moves only where it may. Whoever works on the database itself is
-- free to mend. Fails: forbidden, invalid_status_transition.
create or replace function tenancy.tenant_guard() returns trigger
language plpgsql set search_path = '' as $$
begin
  if (new.slug, new.status, new.subscription_status, new.effective_until, new.created_by)
      is distinct from (old.slug, old.status, old.subscription_status, old.effective_until, old.created_by)
      and not app.has_permission('manage:system') then
    perform app.fail('forbidden');
  end if;
  if new.status <> old.status and not tenancy.may_move(old.status, new.status) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  return new;
end $$;

-- How many users a tenant has, without those who left. For those who manage the system; null for everybody else.
create or replace function tenancy.members_of(tenant_id uuid) returns bigint
language plpgsql stable security definer set search_path = '' as $$
begin
  return case when app.has_permission('manage:system') then
    (select count(*) from tenancy.tenant_users u where u.tenant_id = members_of.tenant_id and u.left_at is null) end;
end $$;

-- Undoes what an unfinished run of the wizard made, and answers {user_id}: whom Auth is to remove as
-- well, when the run may have made somebody. Doing it again, or after the run was finished, does nothing more.
-- Fails: forbidden (a request of somebody who does not manage the system).
create or replace function tenancy.wizard_rollback(run_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_run tenancy.wizard_runs;
begin
  if current_setting('role', true) = 'barid_caller' and not app.has_permission('manage:system') then
    perform app.fail('forbidden');
  end if;
  select r.* into v_run from tenancy.wizard_runs r where r.id = run_id for update;
  if not found or v_run.state = 'done' then
    return '{}';
  end if;
  delete from tenancy.tenants t where t.id = v_run.new_tenant_id;
  update tenancy.wizard_runs r set state = 'undone' where r.id = run_id;
  return jsonb_build_object('user_id', case when not v_run.admin_existed then v_run.admin_user_id end);
end $$;

-- Forgets runs of the wizard a week after their end. Run by cron.
create or replace function tenancy.wizard_runs_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from tenancy.wizard_runs where state <> 'running' and updated_at < now() - interval '7 days';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function tenancy.members_of(uuid), tenancy.wizard_rollback(uuid) to barid_caller;
grant execute on function tenancy.wizard_rollback(uuid) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function tenancy.tenant_guard(), tenancy.wizard_runs_purge() from barid_caller;
