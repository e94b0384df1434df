-- Manifest orders that are staged through a warehouse: who carries them in when nobody was named.

-- The driver of setting delivery.assignment_change_settings, where transfer_manifest's
-- allow_warehouse_staging_without_assigned_driver lets an unassigned leg into the warehouse use that driver; else null.
create or replace function delivery.staging_driver() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (
    select app.as_uuid(app.settings('delivery', 'assignment_change_settings') ->> 'default_driver_id')
    where tenancy.manifest_settings() -> 'allow_warehouse_staging_without_assigned_driver' = 'true');
end $$;

-- Holds that driver, if there is one, and the counter of the codes that legs get, before wallets are locked: the order of locks has both
-- first, and orders are paid before their legs exist. Called where manifest orders are made.
create or replace function delivery.lock_staging_driver() returns void
language plpgsql set search_path = '' as $$
begin
  if delivery.staging_warehouse() is not null then
    perform from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = delivery.staging_driver() for no key update;
    perform app.lock_numbers('delivery_code', true);
  end if;
end $$;

-- Gives the legs into the warehouse of new manifest orders to that driver. It belongs here, where the
-- orders are made: the parcels lie at the processing point, staging them is the next thing that happens,
-- and nobody is at hand to choose a driver for each. What the driver may not get (inactive, no vehicle, full, a
-- zone they do not go to) stays unassigned, for the dispatcher, and never keeps an order from being made.
create or replace function delivery.staged_legs_assign(parent_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_driver uuid := delivery.staging_driver();
  v_plan jsonb;
  v_fit jsonb;
begin
  if v_driver is null or not exists (select from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = v_driver) then
    return;
  end if;
  v_plan := delivery.assignments_plan(parent_ids, v_driver, null, true);
  select jsonb_agg(l.line order by l.place) into v_fit
  from jsonb_array_elements(v_plan -> 'lines') with ordinality l (line, place)
  where l.line ->> 'code' is null and (l.line ->> 'unstaged_inbound')::boolean;
  if v_plan ->> 'code' is null and v_fit is not null then
    perform delivery.assignments_write(v_plan || jsonb_build_object('lines', v_fit), '{"bulk": true}');
  end if;
end $$;
