drop view if exists delivery.drivers_list cascade;

drop view if exists delivery.vehicles_list cascade;

create view delivery.vehicles_list with (security_invoker = true) as
select v.id, v.name, v.image_url, v.unit_capacity, v.is_active, v.created_at, v.updated_at
from delivery.vehicles v;

-- Drivers by their user id. full_name and phone stand beside `user` for searching and sorting only. Where drivers are is for the
-- office and themselves.
create view delivery.drivers_list with (security_invoker = true) as
select d.user_id as id, jsonb_build_object('id', d.user_id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) as "user",
  case when v.id is not null then jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) end as vehicle,
  d.all_zones,
  (select coalesce(jsonb_agg(z.zone_id order by z.zone_id), '[]') from delivery.driver_zones z
    where z.tenant_id = d.tenant_id and z.driver_id = d.user_id) as zone_ids,
  d.status, d.capacity_used, coalesce(s.on_duty and s.last_heartbeat_at > now() - (select delivery.offline_after()), false) as is_online,
  exists (select from tenancy.tenant_settings s
    where s.tenant_id = d.tenant_id and s.module = 'delivery' and s.group_key = 'assignment_change_settings'
      and s.settings ->> 'default_driver_id' = d.user_id::text) as is_default,
  d.created_at, d.updated_at, p.full_name, p.phone, coalesce(s.on_duty, false) as on_duty, s.last_heartbeat_at,
  case when (select app.has_permission('manage:operations:tenant')) or d.user_id = (select app.user_id())
    then delivery.position_to_json(s) end as last_position
from delivery.drivers d
join tenancy.people p on p.id = d.user_id
left join delivery.driver_presence s on s.tenant_id = d.tenant_id and s.driver_id = d.user_id
left join delivery.vehicles v on v.tenant_id = d.tenant_id and v.id = d.vehicle_id;

grant select on delivery.drivers_list, delivery.vehicles_list to barid_caller;
