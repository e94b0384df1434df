-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.driver_provision(driver_id uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zones uuid[] := app.uuids(input -> 'zone_ids');
  v_driver delivery.drivers;
  v_vehicle delivery.vehicles;
begin
  select * into v_driver from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver_id for no key update;
  if not found then
    perform app.fail('driver_not_found');
  end if;
  if (input ->> 'status' = 'active' or (input ->> 'default')::boolean) and not exists (select from tenancy.tenant_users u
      where u.tenant_id = v_tenant and u.user_id = driver_id and u.is_active and u.tenant_user_type = 'driver') then
    perform app.fail('driver_inactive', jsonb_build_object('field', case when input ->> 'status' = 'active' then 'status' else 'default' end));
  end if;
  if input ->> 'vehicle_id' is not null and (input ->> 'vehicle_id')::uuid is distinct from v_driver.vehicle_id then
    select * into v_vehicle from delivery.vehicles v where v.id = (input ->> 'vehicle_id')::uuid for share;
    if not found then
      perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
    end if;
    if not v_vehicle.is_active then
      perform app.fail('vehicle_inactive', '{"field": "vehicle_id"}');
    end if;
    if v_vehicle.unit_capacity < v_driver.capacity_used then
      perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id"}');
    end if;
  end if;
  if input ? 'vehicle_id' and input ->> 'vehicle_id' is null and v_driver.capacity_used > 0 then
    perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id"}');
  end if;
  if exists (select from unnest(v_zones) g (id)
      where not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = g.id)) then
    perform app.fail('zone_not_found', '{"field": "zone_ids"}');
  end if;
  update delivery.drivers d set
    vehicle_id = case when input ? 'vehicle_id' then (input ->> 'vehicle_id')::uuid else d.vehicle_id end,
    all_zones = coalesce((input ->> 'all_zones')::boolean, d.all_zones),
    status = coalesce(input ->> 'status', d.status)
  where d.tenant_id = v_tenant and d.user_id = driver_id
  returning * into v_driver;
  if input ? 'zone_ids' then
    delete from delivery.driver_zones z
    where z.tenant_id = v_tenant and z.driver_id = driver_provision.driver_id and z.zone_id <> all (v_zones);
    insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
    select distinct v_tenant, driver_provision.driver_id, g.id from unnest(v_zones) g (id)
    on conflict do nothing;
  end if;
  if (input ->> 'default')::boolean then
    if v_driver.status <> 'active' then
      perform app.fail('driver_inactive', '{"field": "default"}');
    end if;
    insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
    values (v_tenant, 'delivery', 'assignment_change_settings', jsonb_build_object('default_driver_id', driver_id), app.user_id())
    on conflict (tenant_id, module, group_key) do update set settings = s.settings || excluded.settings, updated_by = excluded.updated_by;
  elsif input ? 'default' then
    update tenancy.tenant_settings s set settings = s.settings - 'default_driver_id', updated_by = app.user_id()
    where s.tenant_id = v_tenant and s.module = 'delivery' and s.group_key = 'assignment_change_settings'
      and s.settings ->> 'default_driver_id' = driver_id::text;
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128135554';
end $$;

grant execute on function private.schema_version() to barid_api;
