-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

-- Lists for chosen people have those who stopped being business users before this.
delete from warehousing.warehouse_users u using warehousing.warehouses w, tenancy.tenant_users m
where w.tenant_id = u.tenant_id and w.id = u.warehouse_id and w.access_mode = 'select_users'
  and m.tenant_id = u.tenant_id and m.user_id = u.user_id and not m.is_business;
