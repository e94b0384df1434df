drop view if exists warehousing.sorting_sessions_list cascade;

drop view if exists warehousing.sorting_assignments_list cascade;

-- Assignments in their expanded form.
create view warehousing.sorting_assignments_list with (security_invoker = true) as
select a.id, a.tenant_id, a.session_id, a.staff_id, a.destination_type, a.destination_value, a.cage_location_id, a.created_at,
  jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name, 'location_type', b.location_type, 'total_capacity', b.capacity,
    'filled_capacity', b.filled_capacity) as cage_location,
  jsonb_build_object('id', s.id, 'full_name', coalesce(p.full_name, ''), 'employee_id', s.employee_id) as staff
from warehousing.sorting_assignments a
join warehousing.bins b on b.tenant_id = a.tenant_id and b.id = a.cage_location_id
join warehousing.warehouse_staff s on s.tenant_id = a.tenant_id and s.id = a.staff_id
left join tenancy.profiles p on p.id = s.user_id;

-- Sessions with their assignments and the places made for them.
create view warehousing.sorting_sessions_list with (security_invoker = true) as
select s.id, s.tenant_id, s.warehouse_id, s.status, s.started_at, s.ended_at, s.created_by, s.created_at, s.updated_at,
  jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) as warehouse,
  (select coalesce(jsonb_agg(to_jsonb(a) - 'tenant_id' order by a.created_at, a.id), '[]')
    from warehousing.sorting_assignments_list a where a.tenant_id = s.tenant_id and a.session_id = s.id) as assignments,
  (select coalesce(jsonb_agg(jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name, 'location_type', b.location_type,
      'total_capacity', b.capacity, 'filled_capacity', b.filled_capacity, 'is_active', b.is_active) order by a.created_at, a.id), '[]')
    from warehousing.sorting_assignments a
    join warehousing.bins b on b.tenant_id = a.tenant_id and b.id = a.cage_location_id
    where a.tenant_id = s.tenant_id and a.session_id = s.id) as temporary_locations
from warehousing.sorting_sessions s
join warehousing.warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id
where coalesce(s.warehouse_id = any ((select app.own_warehouses())::uuid[]), true);

grant select on warehousing.sorting_assignments_list, warehousing.sorting_sessions_list to barid_caller;
