-- Stock goes from one warehouse to another at a stroke.

-- A transfer with its movements. {id} -> {inventory_transfer}. Fails: inventory_transfer_not_found.
create or replace function warehousing.inventory_transfer_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
  v_answer json;
begin
  select json_build_object('inventory_transfer', json_build_object('id', t.id, 'tenant_id', t.tenant_id, 'reference_number', t.reference_number,
    'source_warehouse_id', t.source_warehouse_id, 'destination_warehouse_id', t.destination_warehouse_id, 'status', t.status,
    'notes', t.notes, 'performed_by', t.performed_by, 'created_at', t.created_at, 'source_warehouse', t.source_warehouse,
    'destination_warehouse', t.destination_warehouse, 'performer', t.performer,
    'items', (
      select coalesce(json_agg(json_build_object('item_id', x.item_id, 'quantity', x.quantity, 'source_bin_id', x.source_bin_id,
        'destination_bin_id', x.destination_bin_id, 'lot_number', x.lot_number, 'serial_number', x.serial_number,
        'item', json_build_object('id', i.id, 'name', i.name, 'sku', i.sku, 'barcode', i.barcode, 'brand', i.brand, 'model', i.model,
          'unit_size', i.unit_size, 'is_active', i.is_active),
        'source_bin', json_build_object('id', s.id, 'code', s.code, 'name', s.name),
        'destination_bin', json_build_object('id', d.id, 'code', d.code, 'name', d.name)) order by x.position), '[]')
      from warehousing.inventory_transfer_items x
      join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = x.item_id
      join warehousing.bins s on s.tenant_id = v_tenant and s.id = x.source_bin_id
      join warehousing.bins d on d.tenant_id = v_tenant and d.id = x.destination_bin_id
      where x.tenant_id = v_tenant and x.transfer_id = v_id),
    'transactions', warehousing.movements_of(v_id)))
  into v_answer
  from warehousing.inventory_transfers_list t where t.id = v_id;
  if v_answer is null then
    perform app.fail('inventory_transfer_not_found');
  end if;
  return v_answer::jsonb;
end $$;

-- The lines of a transfer as rows that are still to be written.
create or replace function warehousing.transfer_lines(items jsonb) returns warehousing.inventory_transfer_items[]
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select array_agg((null, null, null, l.line, l.item_id, l.quantity, null, l.source_bin_id, null, l.destination_bin_id,
      l.lot_number, l.serial_number)::warehousing.inventory_transfer_items order by l.line)
    from rows from (jsonb_to_recordset(items) as (item_id uuid, quantity bigint, source_bin_id uuid, destination_bin_id uuid, lot_number text,
      serial_number text)) with ordinality l (item_id, quantity, source_bin_id, destination_bin_id, lot_number, serial_number, line));
end $$;

-- Refuses lines with an item that is none of the tenant's or a bin that is not of its warehouse.
-- Fails: inventory_item_not_found, bin_not_found (items.<n>.<field>).
create or replace function warehousing.require_ends(lines warehousing.inventory_transfer_items[], source uuid, destination uuid) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.position - 1 as place, l.item_id, e.field into v_bad
  from unnest(lines) l
  left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
  left join warehousing.bins s on s.tenant_id = v_tenant and s.warehouse_id = require_ends.source and s.id = l.source_bin_id
  left join warehousing.bins d on d.tenant_id = v_tenant and d.warehouse_id = require_ends.destination and d.id = l.destination_bin_id
  cross join lateral (values (1, i.id is null, 'item_id'), (1, s.id is null, 'source_bin_id'), (2, d.id is null, 'destination_bin_id')) e (turn, wrong, field)
  where e.wrong
  -- The source is checked before the destination.
  order by e.turn, l.position, e.field limit 1;
  if found and v_bad.field = 'item_id' then
    perform app.fail('inventory_item_not_found', jsonb_build_object('field', format('items.%s.item_id', v_bad.place), 'item_id', v_bad.item_id));
  elsif found then
    perform app.fail('bin_not_found', jsonb_build_object('field', format('items.%s.%s', v_bad.place, v_bad.field)));
  end if;
end $$;

-- Moves stock, all of it or nothing; lots and serial numbers go along. {source_warehouse_id, destination_warehouse_id,
-- reference_number?, notes?, items: [{item_id, quantity, source_bin_id, destination_bin_id, lot_number?, serial_number?}]}
-- -> {inventory_transfer}
-- Fails: warehouses_must_differ, warehouse_not_found, bin_not_found, bin_inactive, inventory_item_not_found,
-- item_of_parcel, insufficient_stock (item_id), transfer_reference_exists.
create or replace function warehousing.inventory_transfer_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := gen_random_uuid();
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_destination uuid := (input ->> 'destination_warehouse_id')::uuid;
  v_reference text := input ->> 'reference_number';
  v_lines warehousing.inventory_transfer_items[];
begin
  if v_source = v_destination then
    perform app.fail('warehouses_must_differ', '{"field": "destination_warehouse_id"}');
  end if;
  perform warehousing.require_warehouse(v_source, 'source_warehouse_id');
  perform warehousing.require_warehouse(v_destination, 'destination_warehouse_id');
  v_lines := warehousing.transfer_lines(input -> 'items');
  perform warehousing.require_ends(v_lines, v_source, v_destination);
  perform warehousing.require_goods(input -> 'items', 'items');
  while v_reference is null or (input ->> 'reference_number' is null and exists (
      select from warehousing.inventory_transfers t where t.tenant_id = v_tenant and t.reference_number = v_reference)) loop
    v_reference := 'INT-' || app.padded(app.take_numbers('inventory_transfer'), 6);
  end loop;
  insert into warehousing.inventory_transfers (id, tenant_id, reference_number, source_warehouse_id, destination_warehouse_id, notes, performed_by)
  values (v_id, v_tenant, v_reference, v_source, v_destination, input ->> 'notes', app.user_id());
  insert into warehousing.inventory_transfer_items (tenant_id, transfer_id, position, item_id, quantity, source_warehouse_id, source_bin_id,
    destination_warehouse_id, destination_bin_id, lot_number, serial_number)
  select v_tenant, v_id, l.position, l.item_id, l.quantity, v_source, l.source_bin_id, v_destination, l.destination_bin_id, l.lot_number, l.serial_number
  from unnest(v_lines) l;
  perform warehousing.stock_transfer(v_id, v_source, v_destination, v_lines);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory_transfer.completed', 'source_module', 'warehousing',
    'entity_type', 'inventory_transfer', 'entity_id', v_id, 'event_data', jsonb_build_object('inventory_transfer_id', v_id,
      'reference_number', v_reference, 'source_warehouse_id', v_source, 'destination_warehouse_id', v_destination,
      'lines', cardinality(v_lines), 'actor_id', app.user_id()))));
  return warehousing.inventory_transfer_get(jsonb_build_object('id', v_id));
end $$;
