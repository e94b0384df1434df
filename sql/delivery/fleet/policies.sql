select app.tenant_table('delivery.vehicles', operations => 'insert, update');
select app.tenant_table('delivery.drivers', own => '{user_id}');
select app.tenant_table('delivery.driver_zones', own => '{driver_id}');
select app.tenant_table('delivery.teams', operations => '');
select app.tenant_table('delivery.team_members', own => '{user_id}', operations => '');
select app.touched('delivery.vehicles');
select app.touched('delivery.drivers');

-- Vehicles are the business of those who drive and those who send them.
drop policy tenant on delivery.vehicles;
create policy tenant on delivery.vehicles for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or (select app.has_role('driver'))));
