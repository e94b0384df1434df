-- Stock comes into a warehouse, or turns out to be more or less than it was thought.

-- The movements that name `reference`, as responses show them. Text, since every level of jsonb copies all below it:
-- whoever answers with hundreds of them makes jsonb of the whole.
create or replace function warehousing.movements_of(reference_id uuid) returns json
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select coalesce(json_agg(json_build_object('id', t.movement_id, 'transaction_type', t.transaction_type, 'quantity', t.quantity,
      'warehouse_id', t.warehouse_id, 'lot_number', t.lot_number, 'serial_number', t.serial_number,
      'item', json_build_object('id', t.item_id, 'name', i.name, 'sku', i.sku),
      'from_bin', case when t.from_bin_id is not null then json_build_object('id', f.id, 'code', f.code, 'name', f.name) end,
      'to_bin', case when t.to_bin_id is not null then json_build_object('id', b.id, 'code', b.code, 'name', b.name) end) order by t.id), '[]')
    from warehousing.inventory_transactions t
    left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = t.item_id
    left join warehousing.bins f on f.tenant_id = v_tenant and f.id = t.from_bin_id
    left join warehousing.bins b on b.tenant_id = v_tenant and b.id = t.to_bin_id
    where t.tenant_id = v_tenant and t.reference_id = movements_of.reference_id);
end $$;

-- Refuses lines, [{item_id, bin_id}], whose bin is not of the warehouse or whose item is none of the tenant's,
-- naming items.<n>.<field>. Fails: bin_not_found, inventory_item_not_found.
create or replace function warehousing.require_places(warehouse_id uuid, lines jsonb, list text, bin_field text default 'bin_id') returns void
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.line - 1 as place, i.id is null as no_item, l.item_id into v_bad
  from rows from (jsonb_to_recordset(lines) as (item_id uuid, bin_id uuid)) with ordinality l (item_id, bin_id, line)
  left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
  left join warehousing.bins b on b.tenant_id = v_tenant and b.warehouse_id = require_places.warehouse_id and b.id = l.bin_id
  where i.id is null or b.id is null
  order by l.line limit 1;
  if found and v_bad.no_item then
    perform app.fail('inventory_item_not_found', jsonb_build_object('field', format('%s.%s.item_id', list, v_bad.place), 'item_id', v_bad.item_id));
  elsif found then
    perform app.fail('bin_not_found', jsonb_build_object('field', format('%s.%s.%s', list, v_bad.place, bin_field)));
  end if;
end $$;

-- Refuses what is in somebody's parcel, [{item_id}], naming <list>.<n>.item_id: it moves with its parcel, by waybills and deliveries,
-- or the parcel would be looked for where it is not. Fails: item_of_parcel.
create or replace function warehousing.require_goods(lines jsonb, list text) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.line - 1 as place, l.item_id into v_bad
  from rows from (jsonb_to_recordset(lines) as (item_id uuid)) with ordinality l (item_id, line)
  join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
  where i.parcel_delivery_id is not null
  order by l.line limit 1;
  if found then
    perform app.fail('item_of_parcel', jsonb_build_object('field', format('%s.%s.item_id', list, v_bad.place), 'item_id', v_bad.item_id));
  end if;
end $$;

-- Puts the lines of a request into a warehouse, {warehouse_id, items: [{item_id, bin_id, quantity, status?, lot_number?, serial_number?}]},
-- by movements of a type. Fails: warehouse_not_found, bin_not_found, bin_inactive, inventory_item_not_found, inventory_item_inactive,
-- item_of_parcel (it comes with its parcel, by a receiving order), serial_number_required, serial_quantity_must_be_one, serial_number_taken.
create or replace function warehousing.goods_in(input jsonb, transaction_type text, reference_type text, reference_id uuid, reason text) returns void
language plpgsql set search_path = '' as $$
declare
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_retired record;
begin
  perform warehousing.require_warehouse(v_warehouse);
  perform warehousing.require_places(v_warehouse, input -> 'items', 'items');
  perform warehousing.require_goods(input -> 'items', 'items');
  select l.line - 1 as place, i.id into v_retired
  from rows from (jsonb_to_recordset(input -> 'items') as (item_id uuid)) with ordinality l (item_id, line)
  join warehousing.inventory_items i on i.id = l.item_id where not i.is_active order by l.line limit 1;
  if found then
    perform app.fail('inventory_item_inactive', jsonb_build_object('field', format('items.%s.item_id', v_retired.place), 'item_id', v_retired.id));
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(l.item || jsonb_build_object('warehouse_id', v_warehouse, 'field', format('items.%s.quantity', l.line - 1)) order by l.line)
    from jsonb_array_elements(input -> 'items') with ordinality l (item, line)),
    goods_in.transaction_type, goods_in.reference_type, goods_in.reference_id, goods_in.reason);
end $$;

-- Takes goods in. {warehouse_id, transaction_type?: receive | initial_stock, notes?, items} -> {receipt_id, transactions}
-- Fails: what goods_in fails with.
create or replace function warehousing.receipt_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_receipt uuid := gen_random_uuid();
begin
  perform warehousing.goods_in(input, coalesce(input ->> 'transaction_type', 'receive'), 'receipt', v_receipt, input ->> 'notes');
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory.received', 'source_module', 'warehousing',
    'entity_type', 'warehouse', 'entity_id', v_warehouse, 'event_data', jsonb_build_object('receipt_id', v_receipt,
      'warehouse_id', v_warehouse, 'lines', jsonb_array_length(input -> 'items'), 'actor_id', app.user_id()))));
  return jsonb_build_object('receipt_id', v_receipt, 'transactions', warehousing.movements_of(v_receipt));
end $$;

-- Takes goods back that come without a delivery, with what it says of why in every movement. {warehouse_id, reason, notes?, items}
-- -> {return_id, transactions}. Fails: what goods_in fails with.
create or replace function warehousing.return_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_return uuid := gen_random_uuid();
begin
  perform warehousing.goods_in(input, 'return', 'return', v_return, concat_ws(': ', input ->> 'reason', input ->> 'notes'));
  perform warehousing.stock_event_emit('inventory.returned', 'return_id', v_return, input);
  return jsonb_build_object('return_id', v_return, 'transactions', warehousing.movements_of(v_return));
end $$;

-- Emits how much came or went by one request.
create or replace function warehousing.stock_event_emit(event_type text, id_field text, id uuid, input jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'warehousing',
    'entity_type', 'warehouse', 'entity_id', input ->> 'warehouse_id', 'event_data', jsonb_build_object(id_field, id,
      'warehouse_id', input ->> 'warehouse_id', 'reason', input ->> 'reason', 'lines', jsonb_array_length(input -> 'items'),
      'units', (select sum(l.quantity) from jsonb_to_recordset(input -> 'items') as l (quantity bigint)), 'actor_id', app.user_id()))));
end $$;

-- Refuses more of what is in somebody's parcel than was sent, and any where the parcel is not: what turns up of it can only be the rest.
-- Of other items: nothing. The parcel is held from here on: it neither leaves meanwhile, nor is its rest found twice. Fails: item_of_parcel.
create or replace function warehousing.require_rest_of_parcel(item uuid, warehouse uuid, units bigint) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_parcel uuid;
begin
  select i.parcel_delivery_id into v_parcel from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = item;
  if v_parcel is null then
    return;
  end if;
  perform delivery.lock_deliveries(array[v_parcel]);
  if not exists (
      select from delivery.deliveries d
      where d.tenant_id = v_tenant and v_parcel in (d.id, d.parent_id, d.original_delivery_id) and d.current_warehouse_id = warehouse)
    or units + (select coalesce(sum(s.quantity), 0) from warehousing.stock s where s.tenant_id = v_tenant and s.item_id = item) > (
      select coalesce(sum(i.quantity), 0) from delivery.delivery_items i
      where i.tenant_id = v_tenant and i.delivery_id = v_parcel and i.item_id = item)
  then
    perform app.fail('item_of_parcel', jsonb_build_object('field', 'delta', 'item_id', item));
  end if;
end $$;

-- Corrects what lies in one place by `delta` units. {warehouse_id, item_id, bin_id, status?, lot_number?, serial_number?, delta, reason}
-- -> {adjustment_id, transactions}. Fails: warehouse_not_found, bin_not_found, bin_inactive, inventory_item_not_found,
-- insufficient_stock (there is less than is taken away), item_of_parcel (more than was sent, or its parcel is not there),
-- serial_number_required, serial_quantity_must_be_one, serial_number_taken.
create or replace function warehousing.adjustment_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_delta bigint := (input ->> 'delta')::bigint;
  v_adjustment uuid := gen_random_uuid();
  v_place jsonb := jsonb_strip_nulls(jsonb_build_object('bin_id', input ->> 'bin_id', 'status', coalesce(input ->> 'status', 'available'),
    'lot_number', input ->> 'lot_number', 'serial_number', input ->> 'serial_number'));
begin
  perform warehousing.require_warehouse(v_warehouse);
  if v_delta > 0 then
    perform warehousing.require_rest_of_parcel((input ->> 'item_id')::uuid, v_warehouse, v_delta);
  end if;
  perform warehousing.stock_post(jsonb_build_array(jsonb_build_object('type', 'adjust', 'item_id', input ->> 'item_id',
    'warehouse_id', v_warehouse, 'quantity', abs(v_delta), case when v_delta > 0 then 'to' else 'from' end, v_place,
    'reference_type', 'adjustment', 'reference_id', v_adjustment, 'reason', input ->> 'reason', 'field', 'delta')));
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory.adjusted', 'source_module', 'warehousing',
    'entity_type', 'warehouse', 'entity_id', v_warehouse, 'event_data', jsonb_build_object('adjustment_id', v_adjustment,
      'warehouse_id', v_warehouse, 'item_id', input ->> 'item_id', 'delta', v_delta, 'actor_id', app.user_id()))));
  return jsonb_build_object('adjustment_id', v_adjustment, 'transactions', warehousing.movements_of(v_adjustment));
end $$;
