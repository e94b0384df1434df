-- Services and the fleet: the tables of 10_tenants.sql whose readers and writers differ.

select app.tenant_table('delivery.delivery_types', writes => 'insert');
select app.tenant_table('delivery.delivery_services', writes => 'insert, update');
select app.tenant_table('delivery.vehicles', writes => 'insert, update');
select app.tenant_table('delivery.teams', writes => '');
select app.tenant_table('delivery.team_members', own => '{user_id}', writes => '');
select app.tenant_table('delivery.policy_profiles', writes => '');
select app.tenant_table('delivery.delivery_service_teams', writes => 'delete');
select app.tenant_table('delivery.delivery_service_vehicles', writes => 'delete');

-- One policy for each kind of statement, so that no row is judged twice; staff write.
do $$
declare
  v_tenant constant text := 'tenant_id = (select app.tenant_id())';
  v_staff constant text := v_tenant || ' and (select app.sees_tenant())';
  -- Who may order with a service: everybody, or those it names, or those it does not. To other
  -- customers and institutions it does not exist. Drivers carry it for anybody.
  v_service constant text := v_tenant || $rule$ and ((select app.sees_tenant()) or access_mode = 'all_users' or (select app.has_role('driver'))
    or (access_mode = 'select_users') = exists (
      select from delivery.delivery_service_users u
      where u.tenant_id = delivery_services.tenant_id and u.service_id = delivery_services.id and u.user_id = (select app.user_id())))$rule$;
  v_table record;
  v_policy text;
begin
  for v_table in
    select * from (values
      ('delivery_types', v_tenant),
      ('delivery_services', v_service),
      ('delivery_service_users', v_tenant || ' and ((select app.sees_tenant()) or user_id = (select app.user_id()))'),
      ('delivery_service_zones', v_tenant),
      ('delivery_service_zone_tags', v_tenant),
      ('delivery_service_teams', v_tenant),
      ('delivery_service_vehicles', v_tenant),
      ('vehicles', v_tenant || ' and ((select app.sees_tenant()) or (select app.has_role(''driver'')))'),
      ('driver_zones', v_tenant || ' and ((select app.sees_tenant()) or driver_id = (select app.user_id()))')) t (name, readable)
  loop
    foreach v_policy in array array['tenant', 'readable', 'added', 'changed', 'removed'] loop
      execute format('drop policy if exists %I on delivery.%I', v_policy, v_table.name);
    end loop;
    execute format('create policy readable on delivery.%I for select to barid_caller using (%s)', v_table.name, v_table.readable);
    execute format('create policy added on delivery.%I for insert to barid_caller with check (%s)', v_table.name, v_staff);
    execute format('create policy changed on delivery.%I for update to barid_caller using (%s) with check (%s)', v_table.name, v_staff, v_staff);
    execute format('create policy removed on delivery.%I for delete to barid_caller using (%s)', v_table.name, v_staff);
  end loop;
end $$;
