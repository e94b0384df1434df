select app.tenant_table('storefront.carts', own => '{customer_id}', operations => 'insert, update', write_condition => 'true');
select app.tenant_table('storefront.cart_items', write_condition => 'true');
select app.tenant_table('storefront.customer_addresses', own => '{user_id}', write_condition => 'true');
select app.purged('storefront.carts');
select app.purged('storefront.cart_items');
select app.touched('storefront.carts');
select app.touched('storefront.cart_items');

-- Items of a cart are seen, and changed, by everybody who sees the cart; the parts of an order likewise.
drop policy tenant on storefront.cart_items;
create policy tenant on storefront.cart_items for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from storefront.carts c where c.tenant_id = cart_items.tenant_id and c.id = cart_items.cart_id)));
