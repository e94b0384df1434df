-- Notices to the system's administrators, who belong to no tenant. A definer, since a request sees neither
-- them nor their notices; for those who administer a tenant.
create or replace function private.notify_system_admins(type text, payload jsonb) returns void
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

grant execute on function private.notify_system_admins(text, jsonb) to barid_caller;
