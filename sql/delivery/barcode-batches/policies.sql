select app.tenant_table('delivery.transfer_barcode_batches', own => '{institution_user_id}', operations => 'insert');
select app.tenant_table('delivery.transfer_barcodes', operations => 'insert, update', audit => false, write_condition => 'true');

-- Barcodes are printed by staff and used up by whoever scans one into a manifest.
drop policy tenant on delivery.transfer_barcodes;
create policy tenant on delivery.transfer_barcodes for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or (select app.has_role('driver')) or (select app.has_role('institution'))));

drop policy write_insert on delivery.transfer_barcodes;
create policy write_insert on delivery.transfer_barcodes as restrictive for insert to barid_caller
  with check ((select app.sees_tenant()));
