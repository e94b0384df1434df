-- Stock goes from one warehouse to another at a stroke.

-- A transfer with its movements. {id} -> {inventory_transfer}. Fails: inventory_transfer_not_found.
create or replace function warehousing.inventory_transfer_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_transfer jsonb;
begin
  select to_jsonb(t) || jsonb_build_object(
    'items', (
      select coalesce(jsonb_agg(jsonb_build_object('item_id', x.item_id, 'quantity', x.quantity, 'source_bin_id', x.source_bin_id,
        'destination_bin_id', x.destination_bin_id, 'lot_number', x.lot_number, 'serial_number', x.serial_number,
        'item', jsonb_build_object('id', i.id, 'name', i.name, 'sku', i.sku, 'barcode', i.barcode, 'brand', i.brand, 'model', i.model,
          'unit_size', i.unit_size, 'is_active', i.is_active),
        'source_bin', jsonb_build_object('id', s.id, 'code', s.code, 'name', s.name),
        'destination_bin', jsonb_build_object('id', d.id, 'code', d.code, 'name', d.name)) order by x.position), '[]')
      from warehousing.inventory_transfer_items x
      join warehousing.inventory_items i on i.tenant_id = x.tenant_id and i.id = x.item_id
      join warehousing.bins s on s.tenant_id = x.tenant_id and s.id = x.source_bin_id
      join warehousing.bins d on d.tenant_id = x.tenant_id and d.id = x.destination_bin_id
      where x.tenant_id = app.tenant_id() and x.transfer_id = v_id),
    'transactions', warehousing.movements_of(v_id))
  into v_transfer
  from warehousing.inventory_transfers_list t where t.id = v_id;
  if v_transfer is null then
    perform app.fail('inventory_transfer_not_found');
  end if;
  return jsonb_build_object('inventory_transfer', v_transfer);
end $$;

-- Moves stock, all of it or nothing; lots and serial numbers go along. {source_warehouse_id, destination_warehouse_id,
-- reference_number?, notes?, items: [{item_id, quantity, source_bin_id, destination_bin_id, lot_number?, serial_number?}]}
-- -> {inventory_transfer}
-- Fails: warehouses_must_differ, warehouse_not_found, bin_not_found, bin_inactive, inventory_item_not_found,
-- insufficient_stock (item_id), transfer_reference_exists.
create or replace function warehousing.inventory_transfer_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := gen_random_uuid();
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_destination uuid := (input ->> 'destination_warehouse_id')::uuid;
  v_reference text := input ->> 'reference_number';
  v_items jsonb := input -> 'items';
  v_taken jsonb;
begin
  if v_source = v_destination then
    perform app.fail('warehouses_must_differ', '{"field": "destination_warehouse_id"}');
  end if;
  perform warehousing.require_warehouse(v_source, 'source_warehouse_id');
  perform warehousing.require_warehouse(v_destination, 'destination_warehouse_id');
  perform warehousing.require_places(v_source, (select jsonb_agg(l || jsonb_build_object('bin_id', l -> 'source_bin_id') order by n)
    from jsonb_array_elements(v_items) with ordinality e (l, n)), 'items', 'source_bin_id');
  perform warehousing.require_places(v_destination, (select jsonb_agg(l || jsonb_build_object('bin_id', l -> 'destination_bin_id') order by n)
    from jsonb_array_elements(v_items) with ordinality e (l, n)), 'items', 'destination_bin_id');
  while v_reference is null or (not input ? 'reference_number' and exists (
      select from warehousing.inventory_transfers t where t.tenant_id = v_tenant and t.reference_number = v_reference)) loop
    v_reference := 'INT-' || lpad(app.take_numbers('inventory_transfer')::text, 6, '0');
  end loop;
  insert into warehousing.inventory_transfers (id, tenant_id, reference_number, source_warehouse_id, destination_warehouse_id, notes, performed_by)
  values (v_id, v_tenant, v_reference, v_source, v_destination, input ->> 'notes', app.user_id());
  insert into warehousing.inventory_transfer_items (tenant_id, transfer_id, position, item_id, quantity, source_warehouse_id, source_bin_id,
    destination_warehouse_id, destination_bin_id, lot_number, serial_number)
  select v_tenant, v_id, l.line, l.item_id, l.quantity, v_source, l.source_bin_id, v_destination, l.destination_bin_id, l.lot_number, l.serial_number
  from rows from (jsonb_to_recordset(v_items) as (item_id uuid, quantity bigint, source_bin_id uuid, destination_bin_id uuid, lot_number text,
    serial_number text)) with ordinality l (item_id, quantity, source_bin_id, destination_bin_id, lot_number, serial_number, line);

  -- Both ends at once, so that a transfer the other way waits instead of holding what this one needs.
  perform private.stock_hold((
    select jsonb_agg(jsonb_build_object('item_id', l -> 'item_id', 'bin_id', b.bin)) from jsonb_array_elements(v_items) l
    cross join lateral (values (l -> 'source_bin_id'), (l -> 'destination_bin_id')) b (bin)));
  v_taken := private.stock_allocate((
    select jsonb_agg(l || jsonb_build_object('warehouse_id', v_source, 'bin_id', l -> 'source_bin_id', 'field', format('items.%s.quantity', n - 1)) order by n)
    from jsonb_array_elements(v_items) with ordinality e (l, n)));
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('item_id', f.item_id, 'quantity', f.quantity, 'reference_type', 'transfer', 'reference_id', v_id) || m.move
      order by f.line, f.part, m.step)
    from rows from (jsonb_to_recordset(v_taken) as (line integer, item_id uuid, bin_id uuid, lot_number text, serial_number text, quantity bigint))
      with ordinality f (line, item_id, bin_id, lot_number, serial_number, quantity, part)
    cross join lateral (select jsonb_strip_nulls(jsonb_build_object('lot_number', f.lot_number, 'serial_number', f.serial_number)) as tag) t
    cross join lateral (values
      (1, jsonb_build_object('type', 'transfer_out', 'warehouse_id', v_source, 'from', t.tag || jsonb_build_object('bin_id', f.bin_id))),
      (2, jsonb_build_object('type', 'transfer_in', 'warehouse_id', v_destination,
        'to', t.tag || jsonb_build_object('bin_id', v_items #> array[(f.line - 1)::text, 'destination_bin_id'])))) m (step, move)));
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory_transfer.completed', 'source_module', 'warehousing',
    'entity_type', 'inventory_transfer', 'entity_id', v_id, 'event_data', jsonb_build_object('reference_number', v_reference,
      'source_warehouse_id', v_source, 'destination_warehouse_id', v_destination, 'lines', jsonb_array_length(v_items), 'actor_id', app.user_id()))));
  return warehousing.inventory_transfer_get(jsonb_build_object('id', v_id));
end $$;
