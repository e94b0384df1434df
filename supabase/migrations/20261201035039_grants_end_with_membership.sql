-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.tenant_users in share row exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE OR REPLACE FUNCTION delivery.service_grants_end()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from delivery.delivery_service_users u using delivery.delivery_services s
  where u.tenant_id = new.tenant_id and u.user_id = new.user_id
    and s.tenant_id = u.tenant_id and s.id = u.service_id and s.access_mode = 'select_users';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_users_stay_empty(service delivery.delivery_services, wanted delivery.delivery_services, user_ids jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return wanted.access_mode = service.access_mode and app.uuids(user_ids) = '{}' and not exists (
    select from delivery.delivery_service_users u where u.tenant_id = service.tenant_id and u.service_id = service.id);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_grants_end()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from warehousing.warehouse_users u using warehousing.warehouses w
  where u.tenant_id = new.tenant_id and u.user_id = new.user_id
    and w.tenant_id = u.tenant_id and w.id = u.warehouse_id and w.access_mode = 'select_users';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
  v_stays_empty boolean;
  v_from uuid := (select w.address_id from warehousing.warehouses w where w.id = (input ->> 'id')::uuid and w.deleted_at is null);
begin
  -- Parcels are locked before their warehouse.
  if (input ->> 'address_id')::uuid <> v_from then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
    perform delivery.warehouse_moves((input ->> 'id')::uuid, v_from, (input ->> 'address_id')::uuid);
  end if;
  select * into v_warehouse from warehousing.warehouses w
  where w.id = (input ->> 'id')::uuid and w.deleted_at is null for no key update;
  if not found then
    perform app.fail('warehouse_not_found');
  elsif v_warehouse.address_id <> v_from then
    -- Another call has moved it, and its parcels, since: where this one moves it from is to be asked again.
    raise exception 'warehouse % was moved meanwhile', v_warehouse.id using errcode = 'serialization_failure';
  end if;
  v_wanted := jsonb_populate_record(v_warehouse, input);
  v_stays_empty := warehousing.warehouse_users_stay_empty(v_warehouse, v_wanted.access_mode, input -> 'user_ids');
  perform warehousing.require_room(v_wanted.total_capacity, v_wanted.available_capacity, input);
  if not input ? 'status' and input ? 'available_capacity' then
    v_wanted.status := case
      when v_wanted.available_capacity <= 0 and v_wanted.status = 'active' then 'full'
      when (v_wanted.available_capacity > 0) is not false and v_wanted.status = 'full' then 'active'
      else v_wanted.status end;
  end if;
  -- A list of those who may is not one of those who may not.
  if v_wanted.access_mode <> v_warehouse.access_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  if not v_stays_empty then
    perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  end if;
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_users_stay_empty(warehouse warehousing.warehouses, access_mode text, user_ids jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return warehouse_users_stay_empty.access_mode = warehouse.access_mode and app.uuids(user_ids) = '{}' and not exists (
    select from warehousing.warehouse_users u where u.tenant_id = warehouse.tenant_id and u.warehouse_id = warehouse.id);
end $function$;

CREATE TRIGGER service_grants_end AFTER UPDATE OF left_at ON tenancy.tenant_users FOR EACH ROW WHEN (((new.left_at IS NULL) <> (old.left_at IS NULL))) EXECUTE FUNCTION delivery.service_grants_end();

CREATE TRIGGER warehouse_grants_end AFTER UPDATE OF left_at ON tenancy.tenant_users FOR EACH ROW WHEN (((new.left_at IS NULL) <> (old.left_at IS NULL))) EXECUTE FUNCTION warehousing.warehouse_grants_end();

REVOKE ALL ON FUNCTION "delivery"."service_grants_end"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."service_grants_end"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."service_users_stay_empty"(delivery.delivery_services, delivery.delivery_services, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."service_users_stay_empty"(delivery.delivery_services, delivery.delivery_services, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."warehouse_grants_end"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."warehouse_grants_end"() TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."warehouse_users_stay_empty"(warehousing.warehouses, text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."warehouse_users_stay_empty"(warehousing.warehouses, text, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201035039';
end $$;

grant execute on function private.schema_version() to barid_api;
