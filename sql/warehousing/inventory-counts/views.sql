drop view if exists warehousing.inventory_counts_list cascade;

-- Counts without their lines. The last columns are for filters.
create view warehousing.inventory_counts_list with (security_invoker = true) as
select c.id, jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) as warehouse, c.notes, c.whole_bins,
  case when c.counted_by is not null then jsonb_build_object('id', c.counted_by, 'full_name', coalesce(p.full_name, '')) end as counted_by,
  c.created_at, c.lines, c.differences, c.units_found, c.units_missing, c.warehouse_id, c.counted_by as counted_by_id, c.differing
from warehousing.inventory_counts c
left join warehousing.warehouses w on w.tenant_id = c.tenant_id and w.id = c.warehouse_id
left join tenancy.profiles p on p.id = c.counted_by
where coalesce(c.warehouse_id = any ((select app.own_warehouses())::uuid[]), true);

grant select on warehousing.inventory_counts_list to barid_caller;
