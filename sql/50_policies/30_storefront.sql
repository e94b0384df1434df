-- The second wall of the storefront. Two callers differ from elsewhere: customers, who find what is on sale
-- and what is theirs, and the public, who has no tenant at all: once private.open_shop() let a request into a
-- live market, app.shop_tenant_id() shows it that market, active categories, products and variants, and
-- approved reviews, and no row of any other table.

select app.tenant_table('storefront.markets', writes => 'insert, update',
  writers => $$app.has_permission('manage:tenant') or app.has_permission('manage:system')$$);
select app.tenant_table('storefront.custom_domains', own => '{}', writes => 'insert, update', writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('storefront.product_categories', writes => 'insert, update', writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('storefront.products', writes => 'insert, update', writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('storefront.product_variants', writes => 'insert, update', writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('storefront.product_reviews', own => '{user_id}', writes => 'insert, update', writers => 'true');
select app.tenant_table('storefront.carts', own => '{customer_id}', writes => 'insert, update', writers => 'true');
select app.tenant_table('storefront.cart_items', writers => 'true');
select app.tenant_table('storefront.customer_addresses', own => '{user_id}', writers => 'true');
select app.tenant_table('storefront.storefront_orders', own => '{user_id}', writes => 'insert, update', writers => 'true');
select app.tenant_table('storefront.storefront_order_items', writes => 'insert', writers => 'true');
select app.tenant_table('storefront.storefront_order_history', writes => 'insert', audit => false, writers => 'true');

-- The parts of an order are written by the definers that send it.
select app.tenant_table('storefront.storefront_order_parts', own => '{}', writes => '', audit => false);
select app.tenant_table('storefront.storefront_order_part_items', own => '{}', writes => '', audit => false);

select app.append_only('storefront.storefront_order_items');
select app.append_only('storefront.storefront_order_history');

select app.touched(t) from unnest(array['storefront.markets', 'storefront.custom_domains', 'storefront.product_categories',
  'storefront.products', 'storefront.product_variants', 'storefront.product_reviews', 'storefront.carts',
  'storefront.cart_items']::regclass[]) t;
select app.followed('storefront.storefront_orders');

-- Markets: staff their own, everybody in it once it is open; those who manage the system review them all.
drop policy tenant on storefront.markets;
create policy tenant on storefront.markets for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or is_live)
    or tenant_id = (select app.shop_tenant_id()) and is_live
    or (select app.has_permission('manage:system')))
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));

-- The catalogue: staff all of it, everybody else what is on sale.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['product_categories', 'products', 'product_variants'] loop
    execute format('drop policy tenant on storefront.%I', v_table);
    execute format($policy$
      create policy tenant on storefront.%I for all to barid_caller
      using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or (is_active and archived_at is null))
        or tenant_id = (select app.shop_tenant_id()) and is_active and archived_at is null)
      with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()))$policy$, v_table);
  end loop;
end $$;

-- A review is everybody's once approved; before, its writer's and the staff's. Only staff judge one.
drop policy tenant on storefront.product_reviews;
create policy tenant on storefront.product_reviews for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or status = 'approved' or user_id = (select app.user_id()))
    or tenant_id = (select app.shop_tenant_id()) and status = 'approved')
  with check (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id())));
drop policy writers_change on storefront.product_reviews;
create policy writers_change on storefront.product_reviews as restrictive for update to barid_caller
  using ((select app.has_permission('manage:tenant'))) with check ((select app.has_permission('manage:tenant')));

-- What is in a cart is seen, and changed, by whoever sees the cart; the parts of an order likewise.
drop policy tenant on storefront.cart_items;
create policy tenant on storefront.cart_items for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from storefront.carts c where c.tenant_id = cart_items.tenant_id and c.id = cart_items.cart_id)));
do $$
declare
  v_table text;
begin
  foreach v_table in array array['storefront_order_items', 'storefront_order_history'] loop
    execute format('drop policy tenant on storefront.%I', v_table);
    execute format($policy$
      create policy tenant on storefront.%1$I for all to barid_caller
      using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
        select from storefront.storefront_orders o where o.tenant_id = %1$I.tenant_id and o.id = %1$I.order_id)))$policy$, v_table);
  end loop;
end $$;

-- Reference data: everybody reads, nobody writes through a request.
alter table storefront.payment_method_types enable row level security;
alter table storefront.payment_method_types force row level security;
drop policy if exists readable on storefront.payment_method_types;
create policy readable on storefront.payment_method_types for select to barid_caller using (true);
grant select on storefront.payment_method_types to barid_caller;
