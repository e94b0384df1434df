-- Waybills come to be: parcels and pieces of inventory that travel together.

-- A waybill with all that is on it, or null.
create or replace function warehousing.waybill_to_json(waybill_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(w) - 'driver_id' || jsonb_build_object(
      'deliveries', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode,
          'status', d.status, 'delivery_flow', d.delivery_flow, 'current_warehouse_id', d.current_warehouse_id,
          'received_state', p.received_state) order by p.position), '[]')
        from warehousing.waybill_deliveries p
        join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
        where p.tenant_id = w.tenant_id and p.waybill_id = w.id),
      'items', (select coalesce(jsonb_agg(jsonb_build_object('delivery_id', i.delivery_id, 'item_id', i.item_id, 'name', i.name,
          'quantity', i.quantity, 'stock_quantity', coalesce((select sum(x.quantity) from warehousing.waybill_items x
            where x.tenant_id = p.tenant_id and x.waybill_id = p.waybill_id and x.delivery_id = i.delivery_id and x.item_id = i.item_id), 0))
          order by p.position, i.position), '[]')
        from warehousing.waybill_deliveries p
        join delivery.delivery_items i on i.tenant_id = p.tenant_id and i.delivery_id = p.delivery_id
        where p.tenant_id = w.tenant_id and p.waybill_id = w.id),
      'discrepancies', (select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'delivery_id', x.delivery_id, 'type', x.type,
          'status', x.status, 'resolution', x.resolution, 'notes', x.notes, 'resolved_by', x.resolved_by, 'resolved_at', x.resolved_at,
          'created_at', x.created_at) order by x.created_at, x.id), '[]')
        from warehousing.waybill_discrepancies x where x.tenant_id = w.tenant_id and x.waybill_id = w.id))
    from warehousing.waybills_list w where w.id = waybill_to_json.waybill_id);
end $$;

-- {id} -> {waybill}. Fails: waybill_not_found.
create or replace function warehousing.waybill_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('waybill', app.found(warehousing.waybill_to_json((input ->> 'id')::uuid), 'waybill_not_found'));
end $$;

-- A draft delivery for a piece of raw inventory, from one warehouse to the other. -> its id
-- Fails: what delivery_create fails with.
create or replace function warehousing.raw_delivery_create(item_id uuid, source uuid, destination uuid, defaults jsonb) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_item warehousing.inventory_items;
  v_id uuid;
begin
  select * into strict v_item from warehousing.inventory_items i where i.id = raw_delivery_create.item_id;
  v_id := (delivery.delivery_create(defaults || jsonb_build_object('status', 'draft', 'pickup_warehouse_id', source,
    'dropoff_warehouse_id', destination, 'unit_size', v_item.unit_size, 'package_field', 'new_delivery_defaults')) ->> 'id')::uuid;
  update delivery.delivery_items i set item_id = v_item.id, name = v_item.name where i.tenant_id = v_item.tenant_id and i.delivery_id = v_id;
  return v_id;
end $$;

-- Sets the stock of parcels aside for their waybill, as far as it lies in the source. Of raw pieces all of it; of a store's parcel nothing:
-- its goods are set aside for its order, and leave with the parcel.
-- Fails: insufficient_stock (somebody took it meanwhile).
create or replace function warehousing.waybill_reserve(w warehousing.waybills, parcels uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_lines jsonb;
  v_found jsonb;
begin
  select jsonb_agg(jsonb_build_object('delivery_id', n.delivery_id, 'item_id', n.item_id, 'warehouse_id', w.source_warehouse_id,
    'quantity', n.quantity, 'field', 'inventory_item_ids') order by n.place)
  into v_lines
  from (
    select p.place, i.delivery_id, i.item_id, case when t.parcel_delivery_id is null then i.quantity
      else least(i.quantity, warehousing.units_available(i.item_id, w.source_warehouse_id)) end as quantity
    from unnest(parcels) with ordinality p (id, place)
    join delivery.deliveries d on d.tenant_id = w.tenant_id and d.id = p.id
    join delivery.delivery_items i on i.tenant_id = d.tenant_id and i.delivery_id = d.id
    join warehousing.inventory_items t on t.tenant_id = i.tenant_id and t.id = i.item_id
    where t.parcel_delivery_id is not null or delivery.is_for_waybill(d)) n
  where n.quantity > 0;
  if v_lines is null then
    return;
  end if;
  v_found := warehousing.stock_reserve('waybill', w.id, v_lines);
  insert into warehousing.waybill_items (tenant_id, waybill_id, delivery_id, item_id, quantity, lot_number, serial_number)
  select w.tenant_id, w.id, l.delivery_id, f.item_id, sum(f.quantity), f.lot_number, f.serial_number
  from jsonb_to_recordset(v_found) as f (line bigint, item_id uuid, quantity bigint, lot_number text, serial_number text)
  join rows from (jsonb_to_recordset(v_lines) as (delivery_id uuid)) with ordinality l (delivery_id, line) on l.line = f.line
  group by l.delivery_id, f.item_id, f.lot_number, f.serial_number;
end $$;

-- Makes a waybill of a selection; raw inventory gets draft deliveries. It ends drafted; its transfer is written with its
-- first parcel. {source_warehouse_id, destination_warehouse_id?, package_barcodes?, delivery_ids?, inventory_item_ids?,
-- new_delivery_defaults?, notes?} -> {transfer_id, mode, operation_type, delivery_ids, waybill_id, waybill_number, status, rejected,
-- waybill, operation_result}
-- Locks: parcels, the stock of raw inventory, numbers, the stock of parcels. Two waybills with the same parcel: the second finds it taken.
-- Fails: warehouse_not_found, warehouses_must_differ, no_transferable_packages, destination_warehouse_required,
-- new_delivery_defaults_required, insufficient_stock, what delivery_create fails with.
create or replace function warehousing.waybill_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_judged jsonb;
  v_reused uuid[];
  v_made uuid[] := '{}';
  v_raw uuid;
  w warehousing.waybills;
begin
  perform warehousing.require_route(v_source, (input ->> 'destination_warehouse_id')::uuid);
  v_judged := warehousing.transfer_evaluate_locked(input, 'waybill');
  w.destination_warehouse_id := (v_judged ->> 'destination_warehouse_id')::uuid;
  if w.destination_warehouse_id is null then
    perform app.fail('destination_warehouse_required', '{"field": "destination_warehouse_id"}');
  end if;
  perform warehousing.require_route(v_source, w.destination_warehouse_id);
  v_reused := warehousing.transfer_parcels(v_judged);
  perform warehousing.lock_stock_of_items(array(
    select (l.line ->> 'id')::uuid from jsonb_array_elements(v_judged -> 'lines') l (line)
    where l.line ->> 'reason' is null and (l.line ->> 'raw')::boolean), v_source);
  for v_raw in
    select (n.line ->> 'id')::uuid from jsonb_array_elements(v_judged -> 'lines') with ordinality n (line, place)
    where n.line ->> 'reason' is null and (n.line ->> 'raw')::boolean order by n.place
  loop
    if coalesce(jsonb_typeof(input -> 'new_delivery_defaults'), 'null') = 'null' then
      perform app.fail('new_delivery_defaults_required', '{"field": "new_delivery_defaults"}');
    end if;
    v_made := v_made || warehousing.raw_delivery_create(v_raw, v_source, w.destination_warehouse_id, input -> 'new_delivery_defaults');
  end loop;
  while w.waybill_number is null or exists (
      select from warehousing.waybills x where x.tenant_id = app.tenant_id() and x.waybill_number = w.waybill_number) loop
    w.waybill_number := 'WB-' || app.padded(app.take_numbers('waybill'), 6);
  end loop;
  insert into warehousing.waybills (tenant_id, waybill_number, source_warehouse_id, destination_warehouse_id, notes, created_by)
  values (app.tenant_id(), w.waybill_number, v_source, w.destination_warehouse_id, input ->> 'notes', app.user_id())
  returning * into w;
  -- Both ends are held now, by the references; who removed one a moment ago has been waited for.
  perform warehousing.require_route(v_source, w.destination_warehouse_id);
  insert into warehousing.waybill_deliveries (tenant_id, waybill_id, delivery_id, position)
  select w.tenant_id, w.id, p.id, p.place from unnest(v_reused || v_made) with ordinality p (id, place);
  -- The person who put it on the list has it at hand.
  perform delivery.parcel_at(p.id, v_source) from unnest(v_reused || v_made) p (id);
  perform warehousing.waybill_reserve(w, v_reused || v_made);
  return jsonb_build_object(
    'transfer_id', (select t.id from warehousing.package_transfers t where t.tenant_id = w.tenant_id and t.waybill_id = w.id),
    'mode', 'delivery_operation', 'operation_type', 'waybill', 'delivery_ids', to_jsonb(v_reused || v_made), 'waybill_id', w.id,
    'waybill_number', w.waybill_number, 'status', w.status, 'rejected', warehousing.transfer_rejected(v_judged),
    'waybill', warehousing.waybill_to_json(w.id),
    'operation_result', jsonb_build_object('accepted', warehousing.transfer_accepted(v_judged),
      'rejected', warehousing.transfer_rejected(v_judged), 'reused_delivery_ids', to_jsonb(v_reused), 'created_delivery_ids', to_jsonb(v_made),
      'destination_lock', jsonb_build_object('warehouse_id', w.destination_warehouse_id,
        'source', case when (v_judged ->> 'inferred')::boolean then 'inferred' else 'request' end)));
end $$;
