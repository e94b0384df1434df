-- Drivers and their vehicles.

-- A driver as lists show them. Fails: driver_not_found.
create or replace function delivery.driver_to_json(driver_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_driver jsonb;
begin
  select to_jsonb(d) - 'full_name' - 'phone' into v_driver from delivery.drivers_list d where d.id = driver_id;
  if v_driver is null then
    perform app.fail('driver_not_found');
  end if;
  return v_driver;
end $$;

-- Gives a driver what is sent: {vehicle_id?, all_zones?, zone_ids?, status?, default?}. zone_ids replaces
-- their zones; default makes them the driver of setting delivery.assignment_change_settings, or no longer.
-- Locks: driver, vehicle; the caller holds the settings (delivery.lock_default_driver). Fails: vehicle_not_found, vehicle_inactive, driver_vehicle_taken,
-- insufficient_vehicle_capacity, zone_not_found, driver_inactive (the default driver has to work, and nobody is made active who was
-- shut out, has left, or is no driver any more).
create or replace function delivery.driver_provision(driver_id uuid, input jsonb) returns void
language plpgsql set search_path = '' as $$
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
    if exists (select from delivery.assignments a
        where a.tenant_id = v_tenant and a.vehicle_id = v_vehicle.id and a.driver_id <> v_driver.user_id
          and a.status in ('pending', 'assigned', 'accepted')) then
      perform app.fail('driver_vehicle_taken', '{"field": "vehicle_id", "text_key": "vehicle_loaded"}');
    end if;
  end if;
  if input ? 'vehicle_id' and input ->> 'vehicle_id' is null and v_driver.capacity_used > 0 then
    perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id", "text_key": "vehicle_in_use_by_driver"}');
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
end $$;

-- Holds a driver who may get another vehicle, and the deliveries in theirs, which go along. -> the vehicle and these assignments; of a call that
-- names no vehicle, nothing. Locks: deliveries, driver.
create or replace function delivery.lock_load(driver uuid, input jsonb, out vehicle uuid, out assignment_ids uuid[])
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_held uuid[];
begin
  if not input ? 'vehicle_id' then
    return;
  end if;
  v_held := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = driver and a.status in ('pending', 'assigned', 'accepted'));
  perform delivery.lock_deliveries(v_held);
  select d.vehicle_id into vehicle from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver for no key update;
  -- Deliveries that were assigned while this waited are not held, and stay.
  assignment_ids := array(select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = driver and a.vehicle_id is not distinct from vehicle and a.delivery_id = any (v_held)
      and a.status in ('pending', 'assigned', 'accepted'));
end $$;

-- Gives a driver what is sent, as delivery.driver_provision; what they carry in a vehicle of before goes along into their next one.
-- Locks: deliveries, driver, vehicle, assignments by id. Fails: what driver_provision fails with.
create or replace function delivery.driver_equip(driver uuid, input jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_load record := delivery.lock_load(driver, input);
begin
  perform delivery.driver_provision(driver, input);
  if (input ->> 'vehicle_id')::uuid is distinct from v_load.vehicle and v_load.assignment_ids <> '{}' then
    perform from delivery.assignments a where a.tenant_id = app.tenant_id() and a.id = any (v_load.assignment_ids) order by a.id for no key update;
    update delivery.assignments a set vehicle_id = (input ->> 'vehicle_id')::uuid
    where a.tenant_id = app.tenant_id() and a.id = any (v_load.assignment_ids);
  end if;
end $$;

-- Holds the settings for a call that says who the default driver is: what others save of them with If-Match waits for it, or is found.
create or replace function delivery.lock_default_driver(input jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  if input ? 'default' then
    perform private.lock_tenant();
  end if;
end $$;

-- Equips a member of type driver. They may be a driver already (who is added as a user is made
-- one); then this gives them what is sent. {user_id, vehicle_id?, ...} -> the driver
-- Fails: user_not_found, user_not_driver, and what driver_provision fails with.
create or replace function delivery.driver_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_user uuid := (input ->> 'user_id')::uuid;
  v_type text;
begin
  select u.tenant_user_type into v_type from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_user and u.left_at is null;
  if not found then
    perform app.fail('user_not_found');
  end if;
  if v_type <> 'driver' then
    perform app.fail('user_not_driver', '{"field": "user_id"}');
  end if;
  perform delivery.lock_default_driver(input);
  perform tenancy.member_provision(v_user, 'driver');
  perform delivery.driver_equip(v_user, input);
  return delivery.driver_to_json(v_user);
end $$;

-- Changes what is sent. {id, vehicle_id?, ...} -> the driver. Fails: what driver_provision fails with.
create or replace function delivery.driver_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform delivery.lock_default_driver(input);
  perform delivery.driver_equip((input ->> 'id')::uuid, input);
  return delivery.driver_to_json((input ->> 'id')::uuid);
end $$;

-- Adds a vehicle. {name, unit_capacity, image_url?} -> the vehicle
create or replace function delivery.vehicle_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
begin
  insert into delivery.vehicles (tenant_id, name, unit_capacity, image_url)
  values (app.tenant_id(), input ->> 'name', (input ->> 'unit_capacity')::numeric, input ->> 'image_url') returning id into v_id;
  return (select to_jsonb(v) from delivery.vehicles_list v where v.id = v_id);
end $$;

-- Changes what is sent. {id, name?, unit_capacity?, image_url?, is_active?} -> the vehicle
-- Locks: its driver, then the vehicle. Fails: vehicle_not_found, vehicle_in_use (a driver has it, or was assigned deliveries in it),
-- insufficient_vehicle_capacity (its driver carries more than that, or there is more in it).
create or replace function delivery.vehicle_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_used numeric;
  v_driven boolean;
  v_loaded numeric;
begin
  perform from delivery.drivers d where d.tenant_id = app.tenant_id() and d.vehicle_id = v_id for no key update;
  perform from delivery.vehicles v where v.id = v_id for no key update;
  if not found then
    perform app.fail('vehicle_not_found');
  end if;
  -- Asked again: somebody may have got it while this waited.
  select coalesce(max(d.capacity_used), 0), count(*) > 0 into v_used, v_driven
  from delivery.drivers d where d.tenant_id = app.tenant_id() and d.vehicle_id = v_id;
  -- Also of a driver who has another vehicle; null: nothing is in it.
  select sum(a.units) into v_loaded from delivery.assignments a
  where a.tenant_id = app.tenant_id() and a.vehicle_id = v_id and a.status in ('pending', 'assigned', 'accepted');
  if (v_driven or v_loaded is not null) and input ->> 'is_active' = 'false' then
    perform app.fail('vehicle_in_use', case when v_driven then '{}' else '{"text_key": "vehicle_loaded"}' end::jsonb);
  end if;
  if (input ->> 'unit_capacity')::numeric < greatest(v_used, v_loaded) then
    perform app.fail('insufficient_vehicle_capacity', '{"field": "unit_capacity"}');
  end if;
  update delivery.vehicles v set
    name = coalesce(input ->> 'name', v.name),
    unit_capacity = coalesce((input ->> 'unit_capacity')::numeric, v.unit_capacity),
    image_url = case when input ? 'image_url' then input ->> 'image_url' else v.image_url end,
    is_active = coalesce((input ->> 'is_active')::boolean, v.is_active)
  where v.id = v_id;
  return (select to_jsonb(v) from delivery.vehicles_list v where v.id = v_id);
end $$;
