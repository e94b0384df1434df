select app.tenant_table('delivery.policy_profiles', operations => '');
select app.tenant_table('delivery.delivery_services', operations => 'insert, update');
select app.tenant_table('delivery.delivery_service_users', own => '{user_id}');
select app.tenant_table('delivery.delivery_service_zones');
select app.tenant_table('delivery.delivery_service_zone_tags');
select app.tenant_table('delivery.delivery_service_teams', operations => 'delete');
select app.tenant_table('delivery.delivery_service_vehicles', operations => 'delete');
select app.touched('delivery.delivery_services');

drop trigger if exists service_grants_end on tenancy.tenant_users;
create trigger service_grants_end after update of left_at on tenancy.tenant_users
  for each row when ((new.left_at is null) <> (old.left_at is null)) execute function delivery.service_grants_end();

-- Each deleted service is a group of its own: there are few.
select app.counted('services', 'delivery.delivery_services', '{deleted_at,active,delivery_type_id}');

-- A service that is for some people only does not exist for the others; drivers carry it for anybody.
drop policy tenant on delivery.delivery_services;
create policy tenant on delivery.delivery_services for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or access_mode = 'all_users' or (select app.has_role('driver'))
      or (access_mode = 'select_users') = exists (
        select from delivery.delivery_service_users u
        where u.tenant_id = delivery_services.tenant_id and u.service_id = delivery_services.id and u.user_id = (select app.user_id()))));
