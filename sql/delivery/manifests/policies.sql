select app.tenant_table('delivery.transfer_manifests', own => '{driver_id,institution_user_id}', operations => 'insert, update', write_condition => 'true');
select app.tenant_table('delivery.transfer_manifest_items', write_condition => 'true');
select app.audited_by_column('delivery.transfer_manifest_items');
select app.tenant_table('delivery.transfer_manifest_proofs', operations => 'insert', write_condition => 'true');
select app.tenant_table('delivery.transfer_manifest_events', operations => 'insert', audit => false, write_condition => 'true');
select app.append_only('delivery.transfer_manifest_events');
select app.touched('delivery.transfer_manifests');
select app.touched('delivery.transfer_manifest_items');

-- A manifest is seen by its driver and its institution, each while they are one: who drove for others, left, and came back as an institution
-- reads no other institution's parcels.
drop policy tenant on delivery.transfer_manifests;
create policy tenant on delivery.transfer_manifests for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or driver_id = (select app.user_id()) and (select app.has_role('driver'))
    or institution_user_id = (select app.user_id()) and (select app.has_role('institution'))));

-- Parts of a manifest are seen, and written, by everybody who sees the manifest.
drop policy tenant on delivery.transfer_manifest_items;
create policy tenant on delivery.transfer_manifest_items for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.transfer_manifests m where m.tenant_id = transfer_manifest_items.tenant_id and m.id = transfer_manifest_items.manifest_id)));
drop policy tenant on delivery.transfer_manifest_proofs;
create policy tenant on delivery.transfer_manifest_proofs for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.transfer_manifests m where m.tenant_id = transfer_manifest_proofs.tenant_id and m.id = transfer_manifest_proofs.manifest_id)));
drop policy tenant on delivery.transfer_manifest_events;
create policy tenant on delivery.transfer_manifest_events for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.transfer_manifests m where m.tenant_id = transfer_manifest_events.tenant_id and m.id = transfer_manifest_events.manifest_id)));
