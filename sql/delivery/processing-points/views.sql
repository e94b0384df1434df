drop view if exists delivery.processing_points_list cascade;

-- Processing points, for lists.
create view delivery.processing_points_list with (security_invoker = true) as
select p.id, p.name, p.code, p.address_id, p.metadata, p.is_active, p.created_at, p.updated_at
from delivery.transfer_processing_points p;

grant select on delivery.processing_points_list to barid_caller;
