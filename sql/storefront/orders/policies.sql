select app.tenant_table('storefront.storefront_orders', own => '{user_id}', operations => 'insert, update', write_condition => 'true');
select app.tenant_table('storefront.storefront_order_items', operations => 'insert', write_condition => 'true');
select app.tenant_table('storefront.storefront_order_history', operations => 'insert', audit => false, write_condition => 'true');

-- The parts of an order are written by the SECURITY DEFINER functions that send it.
select app.tenant_table('storefront.storefront_order_parts', own => '{}', operations => '', audit => false);

select app.tenant_table('storefront.storefront_order_part_items', own => '{}', operations => '', audit => false);
select app.append_only('storefront.storefront_order_items');
select app.append_only('storefront.storefront_order_history');
select app.followed('storefront.storefront_orders');

drop policy tenant on storefront.storefront_order_items;
create policy tenant on storefront.storefront_order_items for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from storefront.storefront_orders o where o.tenant_id = storefront_order_items.tenant_id and o.id = storefront_order_items.order_id)));
drop policy tenant on storefront.storefront_order_history;
create policy tenant on storefront.storefront_order_history for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from storefront.storefront_orders o where o.tenant_id = storefront_order_history.tenant_id and o.id = storefront_order_history.order_id)));

-- Row-level security of orders and their payments.

-- Customers make orders of their own, which begin unpaid; what becomes of them is written by administrators, and
-- by the SECURITY DEFINER functions that follow money and deliveries.
drop policy write_insert on storefront.storefront_orders;
create policy write_insert on storefront.storefront_orders as restrictive for insert to barid_caller
  with check (user_id = (select app.user_id()) and status = 'pending' and payment_status = 'pending' and delivery_id is null);

drop policy write_update on storefront.storefront_orders;
create policy write_update on storefront.storefront_orders as restrictive for update to barid_caller
  using (true) with check ((select app.has_permission('manage:tenant')));

drop policy write_insert on storefront.storefront_order_items;
create policy write_insert on storefront.storefront_order_items as restrictive for insert to barid_caller
  with check (exists (select from storefront.storefront_orders o
    where o.tenant_id = storefront_order_items.tenant_id and o.id = storefront_order_items.order_id and o.user_id = (select app.user_id())));

-- Written by the trigger of orders alone.
revoke insert on storefront.storefront_order_history from barid_caller;

select app.counted('storefront_orders', 'storefront.storefront_orders', '{status_group,status}');
