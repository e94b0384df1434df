-- Warehouses of the tenant.

-- A warehouse. {id} -> {warehouse}. Fails: warehouse_not_found.
create or replace function warehousing.warehouse_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('warehouse', app.found((
    select to_jsonb(w) - array['city', 'country'] || jsonb_build_object('user_ids', (
      select coalesce(jsonb_agg(u.user_id order by u.user_id), '[]') from warehousing.warehouse_users u where u.warehouse_id = w.id))
    from warehousing.warehouses_list w where w.id = (input ->> 'id')::uuid), 'warehouse_not_found'));
end $$;

-- Refuses more free room than there is in all, in fields that were sent. Fails: validation_failed.
create or replace function warehousing.require_room(total numeric, available numeric, input jsonb) returns void
language plpgsql stable set search_path = '' as $$
begin
  if available > total and input ?| '{total_capacity,available_capacity}' then
    perform app.fail('validation_failed', jsonb_build_object('field', case when input ? 'available_capacity' then 'available_capacity'
      else 'total_capacity' end, 'reason_key', 'reason_more_than_total'));
  end if;
end $$;

-- Adds a warehouse. {name, code, address_id, status?, total_capacity?, available_capacity?, features?, access_mode?, user_ids?}
-- -> {warehouse}. Fails: address_not_found, warehouse_code_exists, invalid_customer_ids.
create or replace function warehousing.warehouse_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_warehouse warehousing.warehouses;
begin
  perform warehousing.require_room((input ->> 'total_capacity')::numeric, (input ->> 'available_capacity')::numeric, input);
  perform delivery.require_public_address((input ->> 'address_id')::uuid);
  insert into warehousing.warehouses (tenant_id, name, code, address_id, status, total_capacity, available_capacity, features, access_mode)
  values (app.tenant_id(), input ->> 'name', input ->> 'code', (input ->> 'address_id')::uuid, coalesce(input ->> 'status', 'active'),
    (input ->> 'total_capacity')::numeric, coalesce(input ->> 'available_capacity', input ->> 'total_capacity')::numeric,
    coalesce(input -> 'features', '{}'), coalesce(input ->> 'access_mode', 'all_users'))
  returning * into v_warehouse;
  perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $$;

-- Changes what is sent; null clears what may be empty. A warehouse without room left becomes full, and one
-- that was full and has room again becomes active, unless a status is sent. Another access_mode takes the people it
-- means. At another address it takes along what is under way to it or from it (delivery.warehouse_moves).
-- {id, any field of warehouse_create} -> {warehouse}. Fails: warehouse_not_found, address_not_found, warehouse_code_exists, invalid_customer_ids.
create or replace function warehousing.warehouse_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
  v_stays_empty boolean;
  v_changes_mode boolean;
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
  v_changes_mode := v_wanted.access_mode <> v_warehouse.access_mode;
  -- A list of those who may is not one of those who may not.
  if v_changes_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  -- Nobody of the old list is in the new one unasked: all who are sent are added, and have to be business users now.
  if v_changes_mode then
    -- A person who leaves at the same moment is taken off after their membership.
    perform from tenancy.tenant_users u
    where u.tenant_id = v_warehouse.tenant_id and (u.user_id = any (app.uuids(input -> 'user_ids')) or u.user_id in (
      select x.user_id from warehousing.warehouse_users x where x.tenant_id = v_warehouse.tenant_id and x.warehouse_id = v_warehouse.id))
    order by u.user_id for share;
    delete from warehousing.warehouse_users u where u.tenant_id = v_warehouse.tenant_id and u.warehouse_id = v_warehouse.id;
  end if;
  if not v_stays_empty then
    perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  end if;
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $$;

-- Removes a warehouse: nobody finds it any more and its code is free; the row stays for what names it.
-- {id} -> {}. Fails: warehouse_not_found, warehouse_has_inventory (anything lies in it, whatever its status),
-- warehouse_in_use (something is still to come in, leave, be picked, sorted or found there), warehouse_in_use_by_settings.
create or replace function warehousing.warehouse_delete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
begin
  -- Incoming stock locks the warehouse until it has arrived; stock that comes later finds it deleted.
  perform from warehousing.warehouses w where w.id = v_id and w.deleted_at is null for update;
  if not found then
    perform app.fail('warehouse_not_found');
  end if;
  if exists (select from warehousing.stock s where s.tenant_id = v_tenant and s.warehouse_id = v_id and s.quantity > 0) then
    perform app.fail('warehouse_has_inventory');
  end if;
  if exists (select from warehousing.receiving_orders r where r.tenant_id = v_tenant and r.warehouse_id = v_id and r.status = 'pending')
    or exists (select from warehousing.picking_orders p
      where p.tenant_id = v_tenant and p.warehouse_id = v_id and p.status in ('pending', 'in_progress'))
    or exists (select from warehousing.sorting_sessions n where n.tenant_id = v_tenant and n.warehouse_id = v_id and n.status = 'active')
    or exists (select from warehousing.waybills b where b.tenant_id = v_tenant and b.status in ('drafted', 'in_transit')
      and v_id in (b.source_warehouse_id, b.destination_warehouse_id))
    -- A parcel that was missing may turn up.
    or exists (select from warehousing.waybills b join warehousing.waybill_discrepancies x on x.tenant_id = b.tenant_id and x.waybill_id = b.id
      where b.tenant_id = v_tenant and b.destination_warehouse_id = v_id and b.status = 'received' and x.status = 'open')
    -- Goods that a shop sent itself may come back.
    or exists (select from storefront.storefront_order_parts p join storefront.storefront_orders o on o.tenant_id = p.tenant_id and o.id = p.order_id
      where p.tenant_id = v_tenant and p.warehouse_id = v_id and p.left_at is not null and p.delivery_id is null and o.status = 'shipped')
    or exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.status not in ('delivered', 'returned', 'cancelled')
      and (v_id in (d.pickup_warehouse_id, d.dropoff_warehouse_id, d.ordered_to_warehouse_id, d.ordered_from_warehouse_id, d.current_warehouse_id,
        d.staging_warehouse_id)
        or (d.delivery_flow = 'operational_return' or d.made_at_door) and delivery.goods_go_back_to(d) = v_id)
      -- A waybill that was cancelled, or has arrived, leaves the drafts of its pieces of inventory, and nothing of them is on its way.
      and not (d.status = 'draft' and delivery.is_for_waybill(d) and not exists (
        select from warehousing.waybill_deliveries x where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.is_open))) then
    perform app.fail('warehouse_in_use');
  end if;
  if (app.settings('general', 'warehouse') ->> 'default_warehouse_id')::uuid = v_id then
    perform app.fail('warehouse_in_use_by_settings', jsonb_build_object('setting_references',
      jsonb_build_array(jsonb_build_object('source', 'general.warehouse', 'setting_key', 'default_warehouse_id'))));
  end if;
  update warehousing.warehouses w set deleted_at = now() where w.id = v_id;
  return '{}';
end $$;
