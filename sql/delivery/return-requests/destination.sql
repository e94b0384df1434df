-- Where a return goes: the setting general.delivery.return_requests.destination_mode, or the place that its request names.

-- The mode: sender, warehouse or choose; an unknown word means sender.
create or replace function delivery.return_destination_mode() returns text
language plpgsql stable set search_path = '' as $$
declare
  v_mode text := app.settings('general', 'delivery') #>> '{return_requests,destination_mode}';
begin
  return case when v_mode in ('warehouse', 'choose') then v_mode else 'sender' end;
end $$;

-- The tenant's default warehouse (setting general.warehouse.default_warehouse_id), whatever its status, which is for people; null: there is none.
create or replace function delivery.default_warehouse() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (
    select w.id from warehousing.warehouses w
    where w.tenant_id = app.tenant_id() and w.id::text = lower(app.settings('general', 'warehouse') ->> 'default_warehouse_id')
      and w.deleted_at is null);
end $$;

-- True when deliveries are staged through a warehouse: the default one, and any other that is in use (active or full).
create or replace function delivery.warehouse_stages(w warehousing.warehouses) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return w.deleted_at is null and (w.status in ('active', 'full') or w.id = delivery.default_warehouse());
end $$;

-- The default warehouse, to which returns go. Fails: return_destination_required (there is none).
create or replace function delivery.returns_warehouse() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(delivery.default_warehouse(), app.refuse('return_destination_required', '{"field": "dropoff_warehouse_id"}'));
end $$;

-- Refuses a place for a return that the caller does not see. {dropoff_address_id? | dropoff_warehouse_id?}
-- Fails: address_not_found, warehouse_not_found.
create or replace function delivery.require_return_place(input jsonb) returns void
language plpgsql stable set search_path = '' as $$
begin
  if input ->> 'dropoff_address_id' is not null and not exists (
      select from delivery.addresses a where a.id = (input ->> 'dropoff_address_id')::uuid) then
    perform app.fail('address_not_found', '{"field": "dropoff_address_id"}');
  elsif input ->> 'dropoff_warehouse_id' is not null and not exists (
      select from warehousing.warehouses w where w.id = (input ->> 'dropoff_warehouse_id')::uuid and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "dropoff_warehouse_id"}');
  end if;
end $$;

-- The delivery that a return brings back, as the caller sees it.
create or replace function delivery.original_of(d delivery.deliveries) returns delivery.deliveries
language plpgsql stable set search_path = '' as $$
declare
  o delivery.deliveries;
begin
  select * into o from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = d.original_delivery_id;
  return o;
end $$;

-- The place to which a parcel d goes back as an operational return: the one that is named, which is a warehouse where one stands, else that of the
-- setting. A parcel that lies
-- in the default warehouse goes from there to its sender; of a return that has ended that is the sender of its original. The goods of a store's
-- order always go back to where they are sold from.
-- at_door: a driver who has it in hand is asked nothing; where somebody would have to choose, or there is no default warehouse, it goes to its
-- sender.
-- {dropoff_address_id? | dropoff_warehouse_id?, at_door?} -> as delivery.ordered_from
-- Fails: return_destination_required, return_destination_fixed, address_not_found, warehouse_not_found, invalid_status_transition (it
-- lies there).
create or replace function delivery.return_destination(
  d delivery.deliveries, input jsonb, out address_id uuid, out snapshot jsonb, out warehouse_id uuid, out zone_id uuid
)
language plpgsql stable set search_path = '' as $$
declare
  v_at_door boolean := coalesce((input ->> 'at_door')::boolean, false);
  v_named boolean := num_nonnulls(input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') > 0;
  v_ended boolean := delivery.return_has_ended(d);
  -- A customer's return that was cancelled goes back to them, wherever returns go.
  v_mode text := case when d.delivery_flow = 'customer_return' and not v_ended then 'sender' else delivery.return_destination_mode() end;
  v_sender record := delivery.ordered_from(case when v_ended then delivery.original_of(d) else d end);
begin
  if v_named and d.order_id is not null then
    perform app.fail('return_destination_fixed',
      jsonb_build_object('field', case when input ->> 'dropoff_address_id' is null then 'dropoff_warehouse_id' else 'dropoff_address_id' end));
  elsif v_named then
    address_id := (input ->> 'dropoff_address_id')::uuid;
    warehouse_id := coalesce((input ->> 'dropoff_warehouse_id')::uuid, delivery.return_ends_in(d.id, address_id));
  elsif v_mode = 'choose' and d.order_id is null and not v_at_door then
    perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
  elsif v_mode = 'warehouse' and d.order_id is null then
    warehouse_id := nullif(case when v_at_door then delivery.default_warehouse() else delivery.returns_warehouse() end, d.current_warehouse_id);
  end if;
  if warehouse_id is not null then
    select w.address_id into address_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and w.id = return_destination.warehouse_id and w.deleted_at is null;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "dropoff_warehouse_id"}');
    elsif warehouse_id = d.current_warehouse_id then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_there'));
    end if;
  end if;
  if address_id is null then
    address_id := v_sender.address_id;
    snapshot := v_sender.snapshot;
    warehouse_id := v_sender.warehouse_id;
    zone_id := v_sender.zone_id;
    return;
  end if;
  select to_jsonb(a), a.zone_id into snapshot, zone_id from delivery.addresses_list a where a.id = return_destination.address_id;
  if not found then
    perform app.fail('address_not_found', '{"field": "dropoff_address_id"}');
  end if;
end $$;
