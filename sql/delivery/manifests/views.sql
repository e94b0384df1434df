drop view if exists delivery.manifests_list cascade;

-- Transfer manifests with the names of everybody involved and how far their items are. received_count is
-- counted while items come in and is the recorded one afterwards.
create view delivery.manifests_list with (security_invoker = true) as
select m.id, m.manifest_number, m.status, m.creation_source, m.institution_user_id, m.driver_id, m.processing_point_id,
  jsonb_build_object('id', m.institution_user_id, 'full_name', i.full_name, 'phone', i.phone) as institution,
  jsonb_build_object('id', m.source_branch_id, 'name', b.name, 'code', b.code) as source_branch,
  jsonb_build_object('id', m.processing_point_id, 'name', p.name, 'code', p.code) as processing_point,
  case when m.driver_id is not null then jsonb_build_object('id', m.driver_id, 'full_name', d.full_name) end as driver,
  m.source_address_id, m.destination_branch_id, m.destination_address_id, m.notes,
  (select count(*) from delivery.transfer_manifest_items x
    where x.tenant_id = m.tenant_id and x.manifest_id = m.id) as items_count,
  coalesce(m.received_count, (select count(*) from delivery.transfer_manifest_items x
    where x.tenant_id = m.tenant_id and x.manifest_id = m.id and x.received_at is not null)) as received_count,
  (select count(*) from delivery.transfer_manifest_exceptions x
    where x.tenant_id = m.tenant_id and x.manifest_id = m.id and x.status = 'open') as open_exceptions_count,
  m.picked_up_at, m.departed_at, m.driver_arrived_at, m.receiving_started_at, m.receiver_id, m.received_at, m.received_by,
  m.processing_started_at, m.completed_at, m.cancelled_at, m.cancel_reason, m.created_by, m.created_at, m.updated_at
from delivery.transfer_manifests m
left join tenancy.people i on i.id = m.institution_user_id
left join tenancy.profiles d on d.id = m.driver_id
left join delivery.institution_branches b on b.tenant_id = m.tenant_id and b.id = m.source_branch_id
left join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id;

grant select on delivery.manifests_list to barid_caller;
