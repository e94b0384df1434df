-- The second wall of orders and of what pays them.

-- A customer makes orders of his own, which begin unpaid; what becomes of them is written by administrators, and
-- by the definers that follow money and deliveries.
drop policy writers_add on storefront.storefront_orders;
create policy writers_add on storefront.storefront_orders as restrictive for insert to barid_caller
  with check (user_id = (select app.user_id()) and status = 'pending' and payment_status = 'pending' and delivery_id is null);
drop policy writers_change on storefront.storefront_orders;
create policy writers_change on storefront.storefront_orders as restrictive for update to barid_caller
  using (true) with check ((select app.has_permission('manage:tenant')));
drop policy writers_add on storefront.storefront_order_items;
create policy writers_add on storefront.storefront_order_items as restrictive for insert to barid_caller
  with check (exists (select from storefront.storefront_orders o
    where o.tenant_id = storefront_order_items.tenant_id and o.id = storefront_order_items.order_id and o.user_id = (select app.user_id())));
-- Written by the trigger of orders alone.
revoke insert on storefront.storefront_order_history from barid_caller;

-- A payment is seen by staff, by whose account it is, and by whoever sees the delivery or the order it is for.
drop policy tenant on money.payments;
create policy tenant on money.payments for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or exists (select from money.accounts a where a.tenant_id = payments.tenant_id and a.id = payments.account_id)
    or exists (select from delivery.deliveries d where d.tenant_id = payments.tenant_id and d.id = payments.delivery_id)
    or exists (select from storefront.storefront_orders o where o.tenant_id = payments.tenant_id and o.id = payments.order_id)));

select app.tenant_table('money.payment_gateways', own => '{}', writes => 'insert, update',
  writers => $$app.has_permission('manage:tenant')$$, hidden => 'secrets,webhook_secret_print,previous_webhook_secret');
select app.tenant_table('money.payment_webhook_events', own => '{}', writes => '', writers => $$app.has_permission('manage:tenant')$$,
  hidden => 'raw_body');
-- An event is what it was; what may be said of it later is how it was settled.
grant update (resolution, action, resolution_note, resolved_by, resolved_at) on money.payment_webhook_events to barid_caller;
select app.touched('money.payment_gateways');

select app.counted('storefront_orders', 'storefront.storefront_orders', '{status_group,status}');
