drop view if exists delivery.manifest_items_search_rows cascade;

-- Items as the scan screen lists them. An item that says itself where it goes does not go where its manifest goes.
create view delivery.manifest_items_search_rows with (security_invoker = true) as
select i.id as manifest_item_id, i.barcode_value, i.status, m.id as manifest_id, m.manifest_number, m.status as manifest_status,
  jsonb_build_object('id', m.institution_user_id, 'full_name', p.full_name, 'phone', p.phone) as institution,
  jsonb_build_object('id', b.id, 'name', b.name, 'code', b.code) as source_branch,
  case when i.destination_address_id is null then coalesce(i.destination_branch_id, m.destination_branch_id) end as destination_branch_id,
  case when i.destination_branch_id is null then coalesce(i.destination_address_id, m.destination_address_id) end as destination_address_id,
  i.delivery_id, i.delivery_id is not null as already_has_order, i.created_at
from delivery.transfer_manifest_items i
join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
join delivery.institution_branches b on b.tenant_id = m.tenant_id and b.id = m.source_branch_id
left join tenancy.people p on p.id = m.institution_user_id;

grant select on delivery.manifest_items_search_rows to barid_caller;

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
