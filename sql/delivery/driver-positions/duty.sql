-- Going on and off duty, and being heard of.

-- How long after the last sign of life a driver on duty counts as online: setting
-- general.user_settings.offline_threshold_seconds, 120 seconds when unset.
create or replace function delivery.offline_after() returns interval
language plpgsql stable set search_path = '' as $$
begin
  return make_interval(secs => coalesce((app.settings('general', 'user_settings') ->> 'offline_threshold_seconds')::integer, 120));
end $$;

-- The parcels that a driver has in hand: picked up and neither delivered nor received again by whom they go back to.
-- -> their codes, the lowest first. SECURITY DEFINER: the driver who gives a parcel does not see the row of the one who is to confirm it.
create or replace function delivery.parcels_in_hand(driver uuid) returns bigint[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return array(
    select h.delivery_code from (
      select d.delivery_code, d.status from delivery.assignments a
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      where a.tenant_id = app.tenant_id() and a.driver_id = driver and a.status in ('pending', 'assigned', 'accepted')
        and (a.status <> 'pending' or a.handed_over_from is null)
      union all
      -- A parcel that is being handed over is in the hands of the driver who gives it.
      select d.delivery_code, d.status from delivery.assignments a
      join delivery.assignments g on g.tenant_id = a.tenant_id and g.id = a.handed_over_from
      join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
      where a.tenant_id = app.tenant_id() and a.status = 'pending' and g.driver_id = driver
    ) h
    where h.status in ('picked_up', 'in_transit', 'failed', 'returned')
    order by h.delivery_code);
end $$;

-- Says that a driver went on or off duty: event driver.duty_changed, and a message to boards and to the driver.
create or replace function delivery.duty_announce(driver uuid, on_duty boolean) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'driver.duty_changed',
    'entity_type', 'driver', 'entity_id', driver, 'event_data',
    jsonb_build_object('driver_id', driver, 'on_duty', duty_announce.on_duty, 'actor_id', app.user_id()))));
  perform delivery.driver_broadcast(driver, 'driver.duty', jsonb_build_object('driver_id', driver, 'on_duty', duty_announce.on_duty));
end $$;

-- A driver who is made inactive is off duty: given a rest, shut out, or gone. Parcels in hand stay theirs until the office takes them.
-- Active again, they go on duty themselves.
create or replace function delivery.inactive_off_duty() returns trigger
language plpgsql set search_path = '' as $$
begin
  update delivery.driver_presence s set on_duty = false, duty_changed_at = now()
  where s.tenant_id = new.tenant_id and s.driver_id = new.user_id and s.on_duty;
  if found then
    perform delivery.duty_announce(new.user_id, false);
  end if;
  return null;
end $$;

-- Says to boards and to the driver that a driver works again or no more: what the board lists to be given to others changes with it.
create or replace function delivery.driver_status_broadcast() returns trigger
language plpgsql set search_path = '' as $$
begin
  perform delivery.driver_broadcast(new.user_id, 'driver.status', jsonb_build_object('driver_id', new.user_id, 'status', new.status));
  return null;
end $$;

-- Puts a driver on or off duty; both count as a sign of life. {on_duty, keep_parcels?, driver_id?} -> {driver}
-- A driver changes their own duty; the office that of the driver it names.
-- Fails: forbidden (somebody else's, or nobody's), driver_not_found, driver_inactive, driver_has_parcels {delivery_codes}.
create or replace function delivery.duty_change(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_driver uuid := coalesce((input ->> 'driver_id')::uuid, case when app.has_role('driver') then app.user_id() end);
  v_on boolean := (input ->> 'on_duty')::boolean;
  v_codes bigint[];
  v_status text;
  v_was boolean;
begin
  if v_driver is null or (v_driver <> app.user_id() and not app.has_permission('manage:operations:tenant')) then
    perform app.fail('forbidden');
  end if;
  select d.status into v_status from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = v_driver for share;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  if v_on and v_status <> 'active' then
    perform app.fail('driver_inactive');
  end if;
  if not v_on and not coalesce((input ->> 'keep_parcels')::boolean, false) then
    v_codes := delivery.parcels_in_hand(v_driver);
    if cardinality(v_codes) > 0 then
      perform app.fail('driver_has_parcels', jsonb_build_object('delivery_codes', to_jsonb(v_codes))
        || case when v_driver = app.user_id() then '{"text_key": "driver_has_parcels_in_hand"}'::jsonb else '{}' end);
    end if;
  end if;
  insert into delivery.driver_presence (tenant_id, driver_id) values (app.tenant_id(), v_driver) on conflict do nothing;
  select s.on_duty into v_was from delivery.driver_presence s where s.tenant_id = app.tenant_id() and s.driver_id = v_driver for no key update;
  update delivery.driver_presence s set on_duty = v_on,
    duty_changed_at = case when v_was = v_on then s.duty_changed_at else now() end,
    last_heartbeat_at = case when v_driver = app.user_id() then now() else s.last_heartbeat_at end
  where s.tenant_id = app.tenant_id() and s.driver_id = v_driver;
  if v_was <> v_on then
    perform delivery.duty_announce(v_driver, v_on);
  end if;
  return jsonb_build_object('driver', delivery.driver_to_json(v_driver));
end $$;

-- The latest position of a driver as answers show it: {latitude, longitude, accuracy_m, recorded_at}, or null.
create or replace function delivery.position_to_json(presence delivery.driver_presence) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return case when presence.recorded_at is not null then jsonb_build_object('latitude', presence.latitude, 'longitude', presence.longitude,
    'accuracy_m', presence.accuracy_m, 'recorded_at', presence.recorded_at) end;
end $$;
