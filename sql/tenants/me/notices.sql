-- Notices to the system's administrators, who belong to no tenant. SECURITY DEFINER, since a request sees neither
-- them nor their notices; for those who administer a tenant.
create or replace function tenancy.notify_system_admins(type text, payload jsonb) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  insert into tenancy.notifications (user_id, type, payload)
  select s.user_id, notify_system_admins.type,
    notify_system_admins.payload || jsonb_build_object('tenant_id', app.tenant_id())
  from tenancy.system_users s;
end $$;

grant execute on function tenancy.notify_system_admins(text, jsonb) to barid_caller;

-- Notifies the active people of a tenant who have one of these roles.
create or replace function tenancy.notify_roles(tenant uuid, roles text[], type text, payload jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select u.tenant_id, u.user_id, notify_roles.type, notify_roles.payload
  from tenancy.tenant_users u
  where u.tenant_id = tenant and u.is_active and exists (
    select from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = any (roles));
end $$;

-- Notifies the administrators of the caller's tenant.
create or replace function tenancy.notify_tenant_admins(type text, payload jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  perform tenancy.notify_roles(app.tenant_id(), '{tenant_admin}', notify_tenant_admins.type, notify_tenant_admins.payload);
end $$;
