select app.tenant_table('warehousing.warehouses', operations => 'insert, update');

-- A warehouse's stock is moved by warehousing.stock_post() alone.
select app.tenant_table('warehousing.bins', own => '{}', operations => 'insert, update');

select app.tenant_table('warehousing.warehouse_users', own => '{user_id}', operations => 'insert, delete');
select app.tenant_table('warehousing.carrier_warehouses', own => '{}');
select app.tenant_table('warehousing.warehouse_staff', own => '{user_id}', operations => 'insert, update');
select app.touched('warehousing.warehouses');
select app.touched('warehousing.bins');
select app.touched('warehousing.warehouse_staff');

drop trigger if exists staff_left on tenancy.tenant_users;
create trigger staff_left after update of left_at on tenancy.tenant_users
  for each row when (new.left_at is not null and old.left_at is null) execute function warehousing.staff_left();
drop trigger if exists warehouse_grants_end on tenancy.tenant_users;
create trigger warehouse_grants_end after update of left_at, is_business on tenancy.tenant_users
  for each row when ((new.left_at is null) <> (old.left_at is null) or (old.is_business and not new.is_business))
  execute function warehousing.warehouse_grants_end();
drop trigger if exists staff_stays on warehousing.warehouse_staff;
create trigger staff_stays after insert on warehousing.warehouse_staff
  for each row when (new.is_active) execute function warehousing.staff_stays();
drop trigger if exists member_left on tenancy.tenant_users;
create trigger member_left after update of is_active, left_at on tenancy.tenant_users
  for each row when ((new.left_at is not null and old.left_at is null) or (old.is_active and not new.is_active))
  execute function warehousing.member_left();

-- A warehouse that is for some people only does not exist for the others; drivers come to any.
drop policy tenant on warehousing.warehouses;
create policy tenant on warehousing.warehouses for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or access_mode = 'all_users' or (select app.has_role('driver'))
      or (access_mode = 'select_users') = exists (
        select from warehousing.warehouse_users u
        where u.tenant_id = warehouses.tenant_id and u.warehouse_id = warehouses.id and u.user_id = (select app.user_id()))));
