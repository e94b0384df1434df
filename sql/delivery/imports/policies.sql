select app.tenant_table('delivery.delivery_imports', own => '{created_by}', operations => 'insert, update', write_condition => 'true');
select app.tenant_table('delivery.delivery_import_lines', operations => 'insert', audit => false, write_condition => 'true');

drop policy tenant on delivery.delivery_import_lines;
create policy tenant on delivery.delivery_import_lines for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from delivery.delivery_imports i where i.tenant_id = delivery_import_lines.tenant_id and i.id = delivery_import_lines.import_id)));
