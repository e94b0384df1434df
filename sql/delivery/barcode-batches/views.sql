drop view if exists delivery.barcode_batches_list cascade;

-- Barcode batches with their first and last barcode and how many of them items carry.
create view delivery.barcode_batches_list with (security_invoker = true) as
select b.id, b.batch_number, b.quantity, b.service_indicator, b.issuer, b.institution_user_id, b.branch_id,
  (select c.barcode from delivery.transfer_barcodes c
    where c.tenant_id = b.tenant_id and c.batch_id = b.id and c.position = 1) as first_barcode,
  (select c.barcode from delivery.transfer_barcodes c
    where c.tenant_id = b.tenant_id and c.batch_id = b.id and c.position = b.quantity) as last_barcode,
  (select count(*) from delivery.transfer_barcodes c
    where c.tenant_id = b.tenant_id and c.batch_id = b.id and c.status = 'used') as used_count,
  b.created_at
from delivery.transfer_barcode_batches b;

grant select on delivery.barcode_batches_list to barid_caller;
