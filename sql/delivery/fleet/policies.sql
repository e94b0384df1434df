select app.tenant_table('delivery.vehicles', operations => 'insert, update');
select app.tenant_table('delivery.drivers', own => '{user_id}');
select app.tenant_table('delivery.driver_zones', own => '{driver_id}');
select app.tenant_table('delivery.teams', operations => '');
select app.tenant_table('delivery.team_members', own => '{user_id}', operations => '');
select app.touched('delivery.vehicles');
select app.touched('delivery.drivers');

drop trigger if exists off_duty on delivery.drivers;
create trigger off_duty after update of status on delivery.drivers
  for each row when (new.status = 'inactive' and old.status <> 'inactive') execute function delivery.inactive_off_duty();
drop trigger if exists status_broadcast on delivery.drivers;
create trigger status_broadcast after update of status on delivery.drivers
  for each row when (new.status <> old.status) execute function delivery.driver_status_broadcast();

-- Vehicles are the business of those who drive and those who send them.
drop policy tenant on delivery.vehicles;
create policy tenant on delivery.vehicles for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or (select app.has_role('driver'))));
