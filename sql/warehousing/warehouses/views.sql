-- Views show warehouse staff their own warehouses alone (app.own_warehouses). The tables below do not: whoever sends a parcel
-- from one warehouse to another gets the name of both.
drop view if exists warehousing.warehouses_list cascade;

drop view if exists warehousing.bins_list cascade;

drop view if exists warehousing.staff_list cascade;

-- Warehouses as every response shows them; deleted ones are in no list. city and country stand beside the
-- address for filters. user_ids are the first hundred; a caller who does not see the whole tenant finds at most their own.
create view warehousing.warehouses_list with (security_invoker = true) as
select w.id, w.tenant_id, w.address_id, w.name, w.code, w.status, w.total_capacity, w.available_capacity, w.features, w.access_mode,
  (select coalesce(jsonb_agg(u.user_id order by u.user_id), '[]') from (select u.user_id from warehousing.warehouse_users u
    where u.tenant_id = w.tenant_id and u.warehouse_id = w.id order by u.user_id limit 100) u) as user_ids,
  (select count(*) from warehousing.warehouse_users u where u.tenant_id = w.tenant_id and u.warehouse_id = w.id) as user_count,
  jsonb_build_object('id', a.id, 'title', a.title, 'full_address', a.full_address, 'city', a.city, 'country', a.country,
    'latitude', a.latitude, 'longitude', a.longitude) as address,
  a.city, a.country, w.created_at, w.updated_at, w.deleted_at
from warehousing.warehouses w
left join delivery.addresses a on a.tenant_id = w.tenant_id and a.id = w.address_id
where w.deleted_at is null and coalesce(w.id = any ((select app.own_warehouses())::uuid[]), true);

create view warehousing.bins_list with (security_invoker = true) as
select b.id, b.warehouse_id, b.code, b.name, b.location_type, b.capacity, b.filled_capacity, b.is_default_receiving, b.is_temporary,
  b.is_active, b.created_at, b.updated_at
from warehousing.bins b
where coalesce(b.warehouse_id = any ((select app.own_warehouses())::uuid[]), true);

create view warehousing.staff_list with (security_invoker = true) as
select s.id, s.warehouse_id, s.user_id, jsonb_build_object('id', s.user_id, 'full_name', coalesce(p.full_name, '')) as user,
  s.employee_id, s.role, s.is_active, s.created_at, s.updated_at
from warehousing.warehouse_staff s
left join tenancy.profiles p on p.id = s.user_id
where coalesce(s.warehouse_id = any ((select app.own_warehouses())::uuid[]), true);

grant select on warehousing.warehouses_list, warehousing.bins_list, warehousing.staff_list to barid_caller;
