drop view if exists delivery.manifest_items_list cascade;

-- Items of a manifest as its detail shows them, each with the exception that is open on it.
create view delivery.manifest_items_list with (security_invoker = true) as
select i.id, i.manifest_id, i.position, i.barcode_value, i.status, i.destination_branch_id, i.destination_address_id,
  i.delivery_id, i.delivery_id is not null as already_has_order, i.received_at, i.received_by, i.package_details, i.metadata,
  (select jsonb_build_object('id', x.id, 'reason', x.reason, 'notes', x.notes, 'created_at', x.created_at)
    from delivery.transfer_manifest_exceptions x
    where x.tenant_id = i.tenant_id and x.manifest_item_id = i.id and x.status = 'open') as open_exception,
  i.created_at, i.updated_at
from delivery.transfer_manifest_items i;

grant select on delivery.manifest_items_list to barid_caller;
