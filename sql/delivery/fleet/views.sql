drop view if exists delivery.drivers_list cascade;

drop view if exists delivery.vehicles_list cascade;

create view delivery.vehicles_list with (security_invoker = true) as
select v.id, v.name, v.image_url, v.unit_capacity, v.is_active, v.created_at, v.updated_at
from delivery.vehicles v;

-- Drivers by their user id. full_name and phone stand beside `user` for searching and sorting only.
create view delivery.drivers_list with (security_invoker = true) as
select d.user_id as id, jsonb_build_object('id', d.user_id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) as "user",
  case when v.id is not null then jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) end as vehicle,
  d.all_zones,
  (select coalesce(jsonb_agg(z.zone_id order by z.zone_id), '[]') from delivery.driver_zones z
    where z.tenant_id = d.tenant_id and z.driver_id = d.user_id) as zone_ids,
  d.status, d.capacity_used, d.is_online,
  exists (select from tenancy.tenant_settings s
    where s.tenant_id = d.tenant_id and s.module = 'delivery' and s.group_key = 'assignment_change_settings'
      and s.settings ->> 'default_driver_id' = d.user_id::text) as is_default,
  d.created_at, d.updated_at, p.full_name, p.phone
from delivery.drivers d
join tenancy.profiles p on p.id = d.user_id
left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id;

grant select on delivery.drivers_list, delivery.vehicles_list to barid_caller;
