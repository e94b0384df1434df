select app.tenant_table('delivery.transfer_processing_points', operations => 'insert, update');
select app.touched('delivery.transfer_processing_points');

drop policy tenant on delivery.transfer_processing_points;
create policy tenant on delivery.transfer_processing_points for all to barid_caller
  using (tenant_id = (select app.tenant_id()))
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));
