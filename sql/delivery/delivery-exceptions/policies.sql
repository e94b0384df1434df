select app.tenant_table('delivery.delivery_exceptions', operations => 'insert, update', write_condition => 'true');
select app.touched('delivery.delivery_exceptions');

drop policy tenant on delivery.delivery_exceptions;
create policy tenant on delivery.delivery_exceptions for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_exceptions.tenant_id and d.id = delivery_exceptions.delivery_id)
  or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_exceptions.tenant_id and d.parent_id = delivery_exceptions.delivery_id)));
