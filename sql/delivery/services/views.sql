drop view if exists delivery.services_list cascade;

drop view if exists delivery.delivery_types_list cascade;

create view delivery.delivery_types_list with (security_invoker = true) as
select t.id, t.code, app.localized(t.name) as name, t.name as name_translations, t.created_at
from delivery.delivery_types t;

-- The catalogue as lists show it, with the first hundred of user_ids; deleted services are in no list. A caller who does
-- not see the whole tenant finds at most their own id there. search_names: the name in every language, a line each.
-- Every service has a type; joined to the left, types are not read where services are only counted.
create view delivery.services_list with (security_invoker = true) as
select s.id, s.code, app.localized(s.name) as name, s.name as name_translations,
  (select string_agg(n.value, E'\n') from jsonb_each_text(s.name) n) as search_names,
  app.localized(s.description) as description, s.description as description_translations,
  s.image_url, s.priority, s.service_level, s.default_price, s.price_per_km, s.free_km,
  s.estimated_delivery_time_min, s.estimated_delivery_time_max, s.allowed_delivery_attempts, s.unit_min, s.unit_max,
  '{"tracking": false, "signature_required": false, "insurance_available": false}' || s.service_options as service_options,
  jsonb_build_object('id', t.id, 'code', t.code, 'name', app.localized(t.name)) as delivery_type,
  s.active, s.allow_returns, s.access_mode,
  (select coalesce(jsonb_agg(u.user_id order by u.user_id), '[]') from (select u.user_id from delivery.delivery_service_users u
    where u.tenant_id = s.tenant_id and u.service_id = s.id order by u.user_id limit 100) u) as user_ids,
  (select count(*) from delivery.delivery_service_users u where u.tenant_id = s.tenant_id and u.service_id = s.id) as user_count,
  s.zone_access_mode, s.zone_selector_type, s.created_at, s.updated_at
from delivery.delivery_services s
left join delivery.delivery_types t on t.tenant_id = s.tenant_id and t.id = s.delivery_type_id
where s.deleted_at is null;

grant select on delivery.services_list, delivery.delivery_types_list to barid_caller;
