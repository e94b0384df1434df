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
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_of_store(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  if d.order_id is not null or d.original_delivery_id is null or d.delivery_flow <> 'operational_return' and not d.made_at_door then
    return d.order_id is not null;
  end if;
  return exists (
    with recursive original as (
      select o.id, o.order_id, o.original_delivery_id, o.delivery_flow, o.made_at_door from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id
      union all
      select o.id, o.order_id, o.original_delivery_id, o.delivery_flow, o.made_at_door from original r
      join delivery.deliveries o on o.tenant_id = d.tenant_id and o.id = r.original_delivery_id
      where r.delivery_flow <> 'customer_return' or r.made_at_door
    )
    select from original r where r.order_id is not null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.place_known(input jsonb, place text)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> (place || '_address_id'))::uuid;
  v_kept jsonb := nullif(input -> 'kept' -> place, 'null');
  a delivery.addresses;
begin
  if v_kept is not null then
    return jsonb_populate_record(null::delivery.addresses,
      coalesce((select to_jsonb(l) from delivery.addresses_list l where l.id = (v_kept ->> 'id')::uuid), v_kept));
  elsif v_id is not null then
    select x.* into a from delivery.addresses x where x.id = v_id and exists (select from delivery.usable_addresses u where u.id = x.id);
    return case when a.id is not null then a else jsonb_populate_record(null::delivery.addresses, delivery.original_place(input, v_id)) end;
  elsif jsonb_typeof(input -> place) = 'object' then
    a.latitude := (input #>> array[place, 'latitude'])::double precision;
    a.longitude := (input #>> array[place, 'longitude'])::double precision;
    return a;
  end if;
  select x.* into a from warehousing.warehouses w
  join delivery.addresses x on x.tenant_id = w.tenant_id and x.id = w.address_id
  where w.id = (input ->> (place || '_warehouse_id'))::uuid and w.deleted_at is null;
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.vehicle_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.zones_follow(tenant uuid, boxes text, many integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_boxes jsonb := boxes::jsonb;
  v_ids uuid[];
  v_awaited uuid[];
begin
  perform set_config('app.tenant_id', tenant::text, true);
  -- Back from its door, and to be received: from there a leg sets out again, and its parcel with it.
  v_awaited := array(
    select f.id from warehousing.receiving_orders r
    join delivery.deliveries l on l.tenant_id = r.tenant_id and l.id = r.delivery_id and l.status = 'returned' and l.parent_id is not null
    cross join unnest(array[l.id, l.parent_id]) f (id)
    where r.tenant_id = tenant and r.status = 'pending' and f.id is not null);
  v_ids := array(
    select d.id from delivery.deliveries d
    where d.tenant_id = tenant
      and (d.status in ('draft', 'pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
        or d.id = any (v_awaited) and d.status = 'returned')
      and (d.pickup_zone_id is distinct from delivery.zone_of_end(tenant, d.pickup_address_id, d.pickup_snapshot, d.pickup_zone_id, v_boxes)
        or d.dropoff_zone_id is distinct from delivery.zone_of_end(tenant, d.dropoff_address_id, d.dropoff_snapshot, d.dropoff_zone_id, v_boxes))
    order by d.id limit many);
  if v_ids = '{}' then
    return 0;
  end if;
  perform delivery.lock_deliveries(v_ids);
  -- As they are now: one may have been sent elsewhere, or have ended, while this waited.
  update delivery.deliveries d set
    pickup_zone_id = z.pickup,
    pickup_snapshot = d.pickup_snapshot || jsonb_build_object('zone_id', z.pickup),
    dropoff_zone_id = z.dropoff,
    dropoff_snapshot = d.dropoff_snapshot || jsonb_build_object('zone_id', z.dropoff)
  from (
    select x.id, delivery.zone_of_end(tenant, x.pickup_address_id, x.pickup_snapshot, x.pickup_zone_id, v_boxes) as pickup,
      delivery.zone_of_end(tenant, x.dropoff_address_id, x.dropoff_snapshot, x.dropoff_zone_id, v_boxes) as dropoff
    from delivery.deliveries x where x.tenant_id = tenant and x.id = any (v_ids)
  ) z
  where d.tenant_id = tenant and d.id = z.id and (d.status not in ('delivered', 'returned', 'cancelled') or d.id = any (v_awaited) and d.status = 'returned')
    and (z.pickup, z.dropoff) is distinct from (d.pickup_zone_id, d.dropoff_zone_id);
  return cardinality(v_ids);
end $function$;

CREATE OR REPLACE FUNCTION money.fee_refund_owed_end(d delivery.deliveries, p_said_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_notice jsonb;
begin
  perform app.require_tenant(d.tenant_id);
  with ended as (
    update money.payments p set refund_owed_at = null
    where p.tenant_id = v_tenant and p.delivery_id in (d.id, d.parent_id, d.original_delivery_id) and p.refund_owed_at = p_said_at
    returning p.delivery_id, p.amount)
  select jsonb_build_object('delivery_id', x.id, 'delivery_code', x.delivery_code, 'amount', sum(e.amount), 'currency', x.currency) into v_notice
  from ended e
  join delivery.deliveries x on x.tenant_id = v_tenant and x.id = e.delivery_id
  group by x.id;
  if v_notice is not null then
    perform tenancy.notify_tenant_admins('refund_due_ended', v_notice);
  end if;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201094858';
end $$;

grant execute on function private.schema_version() to barid_api;
