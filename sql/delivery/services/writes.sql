-- Delivery services: what can be ordered, for how much, by whom and to where.

-- Adds a service. {name, code, service_level, unit_min, unit_max, delivery_type_id, description?, image_url?,
-- priority?, default_price?, price_per_km?, free_km?, estimated_delivery_time_min?, estimated_delivery_time_max?,
-- allowed_delivery_attempts?, service_options?, active?, allow_returns?, access_mode?, user_ids?, zone_access_mode?,
-- zone_selector_type?, zone_ids?, zone_tag_ids?, policy_mode?, policy_overrides?} -> {id}
-- Fails: delivery_type_not_found, service_code_already_exists, invalid_unit_range, invalid_delivery_time_range,
-- and what service_set_users and service_set_zones fail with.
create or replace function delivery.service_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_service delivery.delivery_services;
begin
  perform delivery.require_delivery_type((input ->> 'delivery_type_id')::uuid);
  perform delivery.require_service_ranges((input ->> 'unit_min')::numeric, (input ->> 'unit_max')::numeric,
    (input ->> 'estimated_delivery_time_min')::numeric, (input ->> 'estimated_delivery_time_max')::numeric);
  insert into delivery.delivery_services (tenant_id, code, name, description, image_url, priority, service_level,
    default_price, price_per_km, free_km, estimated_delivery_time_min, estimated_delivery_time_max,
    allowed_delivery_attempts, unit_min, unit_max, service_options, delivery_type_id, active, allow_returns,
    access_mode, zone_access_mode, zone_selector_type, policy_mode, policy_overrides)
  values (app.tenant_id(), input ->> 'code', delivery.translated(input -> 'name'), delivery.translated(input -> 'description'),
    input ->> 'image_url', (input ->> 'priority')::integer, input ->> 'service_level',
    coalesce((input ->> 'default_price')::numeric, 0), coalesce((input ->> 'price_per_km')::numeric, 0),
    coalesce((input ->> 'free_km')::numeric, 0), (input ->> 'estimated_delivery_time_min')::numeric,
    (input ->> 'estimated_delivery_time_max')::numeric, coalesce((input ->> 'allowed_delivery_attempts')::integer, 1),
    (input ->> 'unit_min')::numeric, (input ->> 'unit_max')::numeric, coalesce(input -> 'service_options', '{}'),
    (input ->> 'delivery_type_id')::uuid, coalesce((input ->> 'active')::boolean, true),
    coalesce((input ->> 'allow_returns')::boolean, false), coalesce(input ->> 'access_mode', 'all_users'),
    coalesce(input ->> 'zone_access_mode', 'all_zones'), coalesce(input ->> 'zone_selector_type', 'zone'),
    coalesce(input ->> 'policy_mode', 'tenant'), coalesce(input -> 'policy_overrides', '{}'))
  returning * into v_service;
  perform delivery.service_set_users(v_service, input -> 'user_ids');
  perform delivery.service_set_zones(v_service, input -> 'zone_ids', input -> 'zone_tag_ids');
  return jsonb_build_object('id', v_service.id);
end $$;

-- Changes what is sent; null clears what may be empty. {id, any field of service_create} -> {}
-- Fails: service_not_found, delivery_type_not_found, service_code_already_exists, invalid_unit_range,
-- invalid_delivery_time_range, delivery_service_type_change_blocked_by_settings (setting_references),
-- delivery_service_in_use_by_settings (a default is not switched off),
-- and what service_set_users and service_set_zones fail with.
create or replace function delivery.service_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_service delivery.delivery_services := delivery.lock_service((input ->> 'id')::uuid);
  v_references jsonb;
  -- The service as it shall be: what is sent over what is stored, a null as well.
  v_wanted delivery.delivery_services := jsonb_populate_record(v_service, input - array['name', 'description', 'service_options']);
  v_stays_empty boolean := delivery.service_users_stay_empty(v_service, v_wanted, input -> 'user_ids');
begin
  perform delivery.require_service_ranges(v_wanted.unit_min, v_wanted.unit_max,
    v_wanted.estimated_delivery_time_min, v_wanted.estimated_delivery_time_max);
  if v_wanted.delivery_type_id <> v_service.delivery_type_id then
    perform delivery.require_delivery_type(v_wanted.delivery_type_id);
    v_references := delivery.service_setting_references(v_service.id);
    if v_references <> '[]' then
      perform app.fail('delivery_service_type_change_blocked_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  if v_service.active and not v_wanted.active then
    v_references := jsonb_path_query_array(delivery.service_setting_references(v_service.id),
      '$[*] ? (@.setting_key like_regex "default_delivery_service_id$")');
    if v_references <> '[]' then
      perform app.fail('delivery_service_in_use_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  update delivery.delivery_services s set
    name = case when input ? 'name' then delivery.translated(input -> 'name', s.name) else s.name end,
    description = case when input ? 'description' then delivery.translated(input -> 'description', s.description) else s.description end,
    service_options = s.service_options || coalesce(input -> 'service_options', '{}'),
    code = v_wanted.code, image_url = v_wanted.image_url, priority = v_wanted.priority, service_level = v_wanted.service_level,
    default_price = v_wanted.default_price, price_per_km = v_wanted.price_per_km, free_km = v_wanted.free_km,
    estimated_delivery_time_min = v_wanted.estimated_delivery_time_min,
    estimated_delivery_time_max = v_wanted.estimated_delivery_time_max,
    allowed_delivery_attempts = v_wanted.allowed_delivery_attempts, unit_min = v_wanted.unit_min, unit_max = v_wanted.unit_max,
    delivery_type_id = v_wanted.delivery_type_id, active = v_wanted.active, allow_returns = v_wanted.allow_returns,
    access_mode = v_wanted.access_mode, zone_access_mode = v_wanted.zone_access_mode,
    zone_selector_type = v_wanted.zone_selector_type, policy_mode = v_wanted.policy_mode,
    policy_overrides = v_wanted.policy_overrides
  where s.id = v_service.id
  returning * into v_service;
  if not v_stays_empty then
    perform delivery.service_set_users(v_service, input -> 'user_ids');
  end if;
  perform delivery.service_set_zones(v_service, input -> 'zone_ids', input -> 'zone_tag_ids');
  return '{}';
end $$;

-- Removes a service for good: nobody finds it any more and its code is free. The row stays for the
-- deliveries that were made with it; who could use it is forgotten. {id} -> {}
-- Fails: service_not_found, delivery_service_in_use_by_settings (setting_references), delivery_service_in_use (orders
-- of the store wait for approval with it, or drafts to be submitted).
create or replace function delivery.service_delete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_service delivery.delivery_services := delivery.lock_service((input ->> 'id')::uuid);
  v_references jsonb := delivery.service_setting_references(v_service.id);
begin
  if v_references <> '[]' then
    perform app.fail('delivery_service_in_use_by_settings', jsonb_build_object('setting_references', v_references));
  end if;
  -- An order that is being made with it is waited for, and then seen.
  perform from delivery.delivery_services s where s.id = v_service.id for update;
  if exists (select from storefront.storefront_orders o where o.tenant_id = v_service.tenant_id
        and o.delivery_service_id = v_service.id and o.status in ('pending', 'awaiting_approval'))
      or exists (select from delivery.deliveries d where d.tenant_id = v_service.tenant_id
        and d.delivery_service_id = v_service.id and d.status = 'draft' and d.parent_id is null) then
    perform app.fail('delivery_service_in_use');
  end if;
  delete from delivery.delivery_service_users u where u.tenant_id = v_service.tenant_id and u.service_id = v_service.id;
  delete from delivery.delivery_service_zones z where z.tenant_id = v_service.tenant_id and z.service_id = v_service.id;
  delete from delivery.delivery_service_zone_tags t where t.tenant_id = v_service.tenant_id and t.service_id = v_service.id;
  delete from delivery.delivery_service_teams t where t.tenant_id = v_service.tenant_id and t.service_id = v_service.id;
  delete from delivery.delivery_service_vehicles v where v.tenant_id = v_service.tenant_id and v.service_id = v_service.id;
  update delivery.delivery_services s set active = false, deleted_at = now() where s.id = v_service.id;
  return '{}';
end $$;
