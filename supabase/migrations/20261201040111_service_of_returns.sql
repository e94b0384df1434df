-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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
  if v_service.active and not v_wanted.active or v_service.allow_returns and not v_wanted.allow_returns then
    v_references := jsonb_path_query_array(delivery.service_setting_references(v_service.id),
      case when v_service.active and not v_wanted.active then '$[*] ? (@.setting_key like_regex "default_delivery_service_id$")'
        else '$[*] ? (@.setting_key == "return_requests.default_delivery_service_id")' end::jsonpath);
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

CREATE OR REPLACE FUNCTION tenancy.require_return_service(before text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_now text := tenancy.return_service();
  v_failure jsonb := '{"field": "general.delivery.settings.return_requests.default_delivery_service_id"}';
  v_service delivery.delivery_services;
begin
  if v_now is null or v_now = before then
    return;
  end if;
  select * into v_service from delivery.delivery_services s where s.id = app.as_uuid(v_now);
  if not v_service.active then
    perform app.fail('delivery_service_not_available', v_failure);
  elsif not v_service.allow_returns then
    perform app.fail('delivery_service_not_available', v_failure || '{"text_key": "service_not_for_returns"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.return_service()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}';
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_save(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency record;
  v_now record;
  v_before jsonb := tenancy.manifest_settings();
  v_return_service text := tenancy.return_service();
  v_amounts jsonb;
  v_groups jsonb;
  v_saved jsonb;
begin
  perform private.version_alone();
  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
  perform app.keep_currency(v_groups @> '[["general", "currency"]]');
  v_currency := app.currency();
  v_amounts := tenancy.setting_amounts();
  insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
  select app.tenant_id(), p ->> 'module', p ->> 'group', app.merge_patch('{}', p -> 'settings'), app.user_id()
  from jsonb_array_elements(input -> 'patches') p
  order by p ->> 'module', p ->> 'group'
  on conflict (tenant_id, module, group_key) do update set updated_by = excluded.updated_by,
    settings = app.merge_patch(s.settings, (
      select q -> 'settings' from jsonb_array_elements(input -> 'patches') q
      where q ->> 'module' = excluded.module and q ->> 'group' = excluded.group_key));
  perform tenancy.require_references(input -> 'patches');
  if v_groups @> '[["delivery", "transfer_manifest"]]' then
    perform tenancy.require_workflow();
    perform tenancy.require_default_service(v_before);
  end if;
  if v_groups @> '[["general", "delivery"]]' then
    perform tenancy.require_return_service(v_return_service);
  end if;
  v_now := app.currency();
  if (v_now.code, v_now.decimals) <> (v_currency.code, v_currency.decimals) then
    perform tenancy.currency_changed(v_currency.code);
    v_amounts := '{}';
  end if;
  perform tenancy.require_coins_of_settings(v_amounts);
  v_saved := tenancy.settings_get(jsonb_build_object('groups', v_groups));
  return case when v_now.code = v_currency.code then v_saved
    else jsonb_set(v_saved, '{general,currency,kept_amounts}', tenancy.kept_amounts()) end;
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."require_return_service"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."require_return_service"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."return_service"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."return_service"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201040111';
end $$;

grant execute on function private.schema_version() to barid_api;
