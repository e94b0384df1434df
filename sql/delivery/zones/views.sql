drop view if exists delivery.zones_list cascade;

drop view if exists delivery.zone_tags_list cascade;

create view delivery.zone_tags_list with (security_invoker = true) as
select t.id, t.name, t.created_at
from delivery.zone_tags t;

-- Zones with their tags; the polygon as GeoJSON.
create view delivery.zones_list with (security_invoker = true) as
select z.id, z.name, jsonb_build_object('type', 'Polygon', 'coordinates', z.polygon) as polygon,
  (select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name) order by t.name, t.id), '[]')
    from delivery.zone_tag_map m join delivery.zone_tags t on t.tenant_id = m.tenant_id and t.id = m.tag_id
    where m.tenant_id = z.tenant_id and m.zone_id = z.id) as tags,
  z.is_active, z.created_at, z.updated_at
from delivery.zones z;

grant select on delivery.zones_list, delivery.zone_tags_list to barid_caller;
