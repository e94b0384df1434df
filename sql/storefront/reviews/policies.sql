select app.tenant_table('storefront.product_reviews', own => '{user_id}', operations => 'insert, update', write_condition => 'true');
select app.touched('storefront.product_reviews');

-- A review is everybody's once approved; before, its writer's and the staff's. Only staff moderate one.
drop policy tenant on storefront.product_reviews;
create policy tenant on storefront.product_reviews for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or status = 'approved' or user_id = (select app.user_id()))
    or tenant_id = (select app.shop_tenant_id()) and status = 'approved')
  with check (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id())));

drop policy write_update on storefront.product_reviews;
create policy write_update on storefront.product_reviews as restrictive for update to barid_caller
  using ((select app.has_permission('manage:tenant'))) with check ((select app.has_permission('manage:tenant')));
