select app.tenant_table('delivery.transfer_manifest_exceptions', operations => 'insert, update');

drop policy tenant on delivery.transfer_manifest_exceptions;
create policy tenant on delivery.transfer_manifest_exceptions for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.transfer_manifests m where m.tenant_id = transfer_manifest_exceptions.tenant_id and m.id = transfer_manifest_exceptions.manifest_id)));
