select app.tenant_table('storefront.product_categories', operations => 'insert, update', write_condition => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('storefront.products', operations => 'insert, update', write_condition => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('storefront.product_variants', operations => 'insert, update', write_condition => $$app.has_permission('manage:tenant')$$);
select app.touched('storefront.product_categories');
select app.touched('storefront.products');
select app.touched('storefront.product_variants');

-- The catalogue: staff all of it, everybody else what is on sale.
drop policy tenant on storefront.product_categories;
create policy tenant on storefront.product_categories for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or (is_active and archived_at is null))
  or tenant_id = (select app.shop_tenant_id()) and is_active and archived_at is null)
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));
drop policy tenant on storefront.products;
create policy tenant on storefront.products for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or (is_active and archived_at is null))
  or tenant_id = (select app.shop_tenant_id()) and is_active and archived_at is null)
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));
drop policy tenant on storefront.product_variants;
create policy tenant on storefront.product_variants for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or (is_active and archived_at is null))
  or tenant_id = (select app.shop_tenant_id()) and is_active and archived_at is null)
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));
