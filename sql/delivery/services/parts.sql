-- Text somebody wrote, over what is stored: a string is in the language of the request and leaves the
-- others alone, an object {en, ar, ku} replaces them all, null removes them. Empty texts are not kept.
create or replace function delivery.translated(value jsonb, stored jsonb default '{}') returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_object_agg(t.key, t.value) filter (where t.value <> '""'), '{}')
    from jsonb_each(case jsonb_typeof(translated.value)
      when 'string' then stored || jsonb_build_object(coalesce(app.request_setting('language'), 'en'), translated.value)
      when 'object' then translated.value
      else '{}' end) t);
end $$;

-- The settings that name a service: [{source, setting_key}]. source is module.group.
create or replace function delivery.service_setting_references(service_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('source', n.module || '.' || n.group_key, 'setting_key', n.path)
      order by n.module, n.group_key, n.path), '[]')
    from (values
      ('delivery', 'transfer_manifest', 'default_delivery_service_id'),
      ('delivery', 'transfer_manifest', 'available_delivery_service_ids'),
      ('general', 'delivery', 'return_requests.default_delivery_service_id')) n (module, group_key, path)
    cross join lateral (select app.settings(n.module, n.group_key) #> string_to_array(n.path, '.') as value) v
    where v.value = to_jsonb(service_id::text) or (jsonb_typeof(v.value) = 'array' and v.value ? service_id::text));
end $$;

-- Locks a service for a change. Settings that begin to name it wait, and those that do are seen after.
-- Fails: service_not_found.
create or replace function delivery.lock_service(service_id uuid) returns delivery.delivery_services
language plpgsql set search_path = '' as $$
declare
  v_service delivery.delivery_services;
begin
  select * into v_service from delivery.delivery_services s where s.id = service_id and s.deleted_at is null for no key update;
  if not found then
    perform app.fail('service_not_found');
  end if;
  return v_service;
end $$;

-- Fails: delivery_type_not_found.
create or replace function delivery.require_delivery_type(type_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform from delivery.delivery_types t where t.id = type_id;
  if not found then
    perform app.fail('delivery_type_not_found', '{"field": "delivery_type_id"}');
  end if;
end $$;

-- Gives a service the people of its access_mode; null leaves them. A service for everybody names nobody,
-- but ids that are nobody's are refused all the same.
-- Fails: customer_ids_required_for_selected_access_mode, invalid_customer_ids.
create or replace function delivery.service_set_users(service delivery.delivery_services, user_ids jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_sent uuid[] := app.uuids(user_ids);
  v_chosen boolean := service.access_mode <> 'all_users';
  v_unknown jsonb;
begin
  if v_chosen and v_sent = '{}' and (user_ids is not null or not exists (
      select from delivery.delivery_service_users u where u.tenant_id = service.tenant_id and u.service_id = service.id)) then
    perform app.fail('customer_ids_required_for_selected_access_mode', '{"field": "user_ids"}');
  end if;
  select jsonb_agg(g.id order by g.place) into v_unknown from unnest(v_sent) with ordinality g (id, place)
  where not exists (select from tenancy.tenant_users u where u.tenant_id = service.tenant_id and u.user_id = g.id);
  if v_unknown is not null then
    perform app.fail('invalid_customer_ids', jsonb_build_object('field', 'user_ids', 'invalid_ids', v_unknown, 'text_key', 'reason_not_users',
      'ids', (select string_agg(i, ', ') from jsonb_array_elements_text(v_unknown) i)));
  end if;
  if not v_chosen or user_ids is not null then
    delete from delivery.delivery_service_users u
    where u.tenant_id = service.tenant_id and u.service_id = service.id and (not v_chosen or u.user_id <> all (v_sent));
  end if;
  insert into delivery.delivery_service_users (tenant_id, service_id, user_id)
  select distinct service.tenant_id, service.id, g.id from unnest(v_sent) g (id) where v_chosen
  on conflict do nothing;
end $$;

-- True when a change leaves a list of people empty that is empty already: the people whom a service in select_users was for have left. wanted: the
-- service as it shall be.
create or replace function delivery.service_users_stay_empty(service delivery.delivery_services, wanted delivery.delivery_services, user_ids jsonb)
returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return wanted.access_mode = service.access_mode and app.uuids(user_ids) = '{}' and not exists (
    select from delivery.delivery_service_users u where u.tenant_id = service.tenant_id and u.service_id = service.id);
end $$;

-- Takes a person whose membership ends, or begins anew, off the services that are for chosen people: what the office granted to a member ends with the
-- membership. Who is excluded from a service stays so.
create or replace function delivery.service_grants_end() returns trigger
language plpgsql set search_path = '' as $$
begin
  delete from delivery.delivery_service_users u using delivery.delivery_services s
  where u.tenant_id = new.tenant_id and u.user_id = new.user_id
    and s.tenant_id = u.tenant_id and s.id = u.service_id and s.access_mode = 'select_users';
  return null;
end $$;

-- Gives a service the zones, or the zone tags, of its zone_access_mode; null leaves them. What the mode
-- does not use is forgotten, so that it cannot come back unnoticed; ids of nothing are refused all the same.
-- Fails: zone_ids_required_for_selected_zone_mode, invalid_zone_ids, zone_tag_ids_required_for_tag_selector,
-- invalid_zone_tag_ids.
create or replace function delivery.service_set_zones(service delivery.delivery_services, zone_ids jsonb, zone_tag_ids jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_by_zone boolean := service.zone_access_mode <> 'all_zones' and service.zone_selector_type = 'zone';
  v_by_tag boolean := service.zone_access_mode <> 'all_zones' and service.zone_selector_type = 'tag';
  v_zones uuid[] := app.uuids(zone_ids);
  v_tags uuid[] := app.uuids(zone_tag_ids);
begin
  if v_by_zone and v_zones = '{}' and (zone_ids is not null or not exists (
      select from delivery.delivery_service_zones z where z.tenant_id = service.tenant_id and z.service_id = service.id)) then
    perform app.fail('zone_ids_required_for_selected_zone_mode', '{"field": "zone_ids"}');
  end if;
  if v_by_tag and v_tags = '{}' and (zone_tag_ids is not null or not exists (
      select from delivery.delivery_service_zone_tags t where t.tenant_id = service.tenant_id and t.service_id = service.id)) then
    perform app.fail('zone_tag_ids_required_for_tag_selector', '{"field": "zone_tag_ids"}');
  end if;
  if exists (select from unnest(v_zones) g (id) where not exists (
      select from delivery.zones z where z.tenant_id = service.tenant_id and z.id = g.id)) then
    perform app.fail('invalid_zone_ids', '{"field": "zone_ids"}');
  end if;
  if exists (select from unnest(v_tags) g (id) where not exists (
      select from delivery.zone_tags t where t.tenant_id = service.tenant_id and t.id = g.id)) then
    perform app.fail('invalid_zone_tag_ids', '{"field": "zone_tag_ids"}');
  end if;
  if not v_by_zone or zone_ids is not null then
    delete from delivery.delivery_service_zones z
    where z.tenant_id = service.tenant_id and z.service_id = service.id and (not v_by_zone or z.zone_id <> all (v_zones));
  end if;
  if not v_by_tag or zone_tag_ids is not null then
    delete from delivery.delivery_service_zone_tags t
    where t.tenant_id = service.tenant_id and t.service_id = service.id and (not v_by_tag or t.tag_id <> all (v_tags));
  end if;
  insert into delivery.delivery_service_zones (tenant_id, service_id, zone_id)
  select distinct service.tenant_id, service.id, g.id from unnest(v_zones) g (id) where v_by_zone
  on conflict do nothing;
  begin
    insert into delivery.delivery_service_zone_tags (tenant_id, service_id, tag_id)
    select distinct service.tenant_id, service.id, g.id from unnest(v_tags) g (id) where v_by_tag
    on conflict do nothing;
  exception when foreign_key_violation then
    -- Somebody removed the tag since it was looked for.
    perform app.fail('invalid_zone_tag_ids', '{"field": "zone_tag_ids"}');
  end;
end $$;

-- Refuses ranges that end before they begin. Fails: invalid_unit_range, invalid_delivery_time_range.
create or replace function delivery.require_service_ranges(unit_min numeric, unit_max numeric, time_min numeric, time_max numeric) returns void
language plpgsql set search_path = '' as $$
begin
  if unit_min > unit_max then
    perform app.fail('invalid_unit_range', '{"field": "unit_max"}');
  end if;
  if time_min > time_max then
    perform app.fail('invalid_delivery_time_range', '{"field": "estimated_delivery_time_max"}');
  end if;
end $$;
