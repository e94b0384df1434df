alter table tenancy.system_settings enable row level security;
alter table tenancy.system_settings force row level security;
drop policy if exists readable on tenancy.system_settings;
create policy readable on tenancy.system_settings for select to barid_caller using (true);
grant select on tenancy.system_settings to barid_caller;

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
