-- Tables that span tenants.

alter table tenancy.tenants enable row level security;
alter table tenancy.tenants force row level security;
drop policy if exists tenant on tenancy.tenants;
-- Seen by its members; changed by its administrators; made by the system's.
drop policy if exists readable on tenancy.tenants;
create policy readable on tenancy.tenants for select to barid_caller
  using (id = (select app.tenant_id()) or (select app.has_permission('manage:system')));
drop policy if exists changed on tenancy.tenants;
create policy changed on tenancy.tenants for update to barid_caller
  using ((id = (select app.tenant_id()) and (select app.has_permission('manage:tenant'))) or (select app.has_permission('manage:system')));
drop policy if exists added on tenancy.tenants;
create policy added on tenancy.tenants for insert to barid_caller
  with check ((select app.has_permission('manage:system')));
grant select, insert, update on tenancy.tenants to barid_caller;
select app.audited('tenancy.tenants');
-- What only the system's administrators change of a tenant, and in which order; see tenancy.move_tenant.
drop trigger if exists guard on tenancy.tenants;
create trigger guard before update on tenancy.tenants for each row when (current_user = 'barid_caller')
  execute function private.guard_tenant();

-- A person is known to himself, to those who share his tenant, and to the system's administrators.
alter table tenancy.profiles enable row level security;
alter table tenancy.profiles force row level security;
drop policy if exists member on tenancy.profiles;
create policy member on tenancy.profiles for all to barid_caller
  using (id = (select app.user_id()) or (select app.has_permission('manage:system')) or exists (
    select from tenancy.tenant_users u where u.user_id = profiles.id and u.tenant_id = (select app.tenant_id())))
  with check (id = (select app.user_id()) or (select app.has_permission('manage:tenant')));
-- Who made an account and whether it is proven no request writes.
revoke insert, update on tenancy.profiles from barid_caller;
grant select, update (full_name, phone, avatar_url) on tenancy.profiles to barid_caller;

-- Reference data: everybody reads, nobody writes through a request.
do $$
declare
  v_table regclass;
begin
  foreach v_table in array array['tenancy.roles', 'tenancy.permissions', 'tenancy.role_permissions', 'tenancy.currencies',
    'tenancy.system_settings', 'tenancy.modules']::regclass[] loop
    execute format('alter table %s enable row level security', v_table);
    execute format('alter table %s force row level security', v_table);
    execute format('drop policy if exists readable on %s', v_table);
    execute format('create policy readable on %s for select to barid_caller using (true)', v_table);
    execute format('grant select on %s to barid_caller', v_table);
  end loop;
end $$;

-- But the system's settings are set by its administrators.
drop policy if exists added on tenancy.system_settings;
create policy added on tenancy.system_settings for insert to barid_caller
  with check ((select app.has_permission('manage:system')));
drop policy if exists changed on tenancy.system_settings;
create policy changed on tenancy.system_settings for update to barid_caller
  using ((select app.has_permission('manage:system')));
grant insert, update on tenancy.system_settings to barid_caller;
select app.audited('tenancy.system_settings');
select app.touched('tenancy.system_settings');

-- A wizard's run belongs to whoever started it.
alter table tenancy.wizard_runs enable row level security;
alter table tenancy.wizard_runs force row level security;
drop policy if exists starter on tenancy.wizard_runs;
create policy starter on tenancy.wizard_runs for all to barid_caller
  using ((select app.has_permission('manage:system')) and caller = (select tenancy.wizard_caller()));
grant select, insert, update on tenancy.wizard_runs to barid_caller;
select app.touched('tenancy.wizard_runs');

-- Events are written by app.events_add() and by the system; see 40_integration.sql.
alter table integration.system_events enable row level security;
alter table integration.system_events force row level security;
grant select on integration.system_events to barid_caller;

-- The audit log is read by a tenant's administrators and written by triggers alone.
alter table app.audit_log enable row level security;
alter table app.audit_log force row level security;
drop policy if exists administrators on app.audit_log;
create policy administrators on app.audit_log for select to barid_caller
  using (tenant_id = (select app.tenant_id()) and (select app.has_permission('manage:tenant')));
grant select on app.audit_log to barid_caller;

-- No request reads these; the definers in `private` do. A policy that admits nobody says so.
do $$
declare
  v_table regclass;
begin
  foreach v_table in array array['app.idempotency_keys', 'app.jobs', 'app.rate_buckets', 'tenancy.system_users', 'tenancy.active_tenants',
    'delivery.measured_ways', 'integration.sender_watch']::regclass[] loop
    execute format('alter table %s enable row level security', v_table);
    execute format('alter table %s force row level security', v_table);
    execute format('drop policy if exists nobody on %s', v_table);
    execute format('create policy nobody on %s for all to barid_caller using (false)', v_table);
  end loop;
end $$;

-- Keys are made and seen by a tenant's administrators. What a key is, not even they read again.
select app.tenant_table('tenancy.api_keys', own => '{}', writes => 'insert', hidden => 'key_hash,last_used_at,warned_at',
  writers => $$app.has_permission('manage:tenant')$$);
drop policy if exists administrators on tenancy.api_keys;
create policy administrators on tenancy.api_keys as restrictive for all to barid_caller
  using ((select app.has_permission('manage:tenant')));
revoke select on tenancy.api_keys from barid_caller;
grant select (id, tenant_id, name, hint, scopes, created_by, expires_at, revoked_at, last_used_at, created_at), update (revoked_at, created_by)
  on tenancy.api_keys to barid_caller;
