-- Stock that is lost or spoilt is written off, and what was written off is found again: it is kept as movements and nowhere else.

-- Books units as lost or spoilt, each line with the reason and its own note: {warehouse_id, reason,
-- items: [{item_id, bin_id, status? ('available'), lot?, serial?, quantity, note?}]} -> {write_off_id, transactions}. All of it or nothing; a
-- lot or piece is named by its number, what has none without. A row that is left empty is closed for good. What is reserved stays with
-- its order.
-- Fails: warehouse_not_found, bin_not_found, inventory_item_not_found, item_of_parcel (it goes with its parcel), insufficient_stock.
create or replace function warehousing.write_off_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_write_off uuid := gen_random_uuid();
begin
  perform warehousing.require_warehouse(v_warehouse);
  perform warehousing.require_places(v_warehouse, input -> 'items', 'items');
  perform warehousing.require_goods(input -> 'items', 'items');
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'write_off', 'item_id', l.item_id, 'warehouse_id', v_warehouse, 'quantity', l.quantity,
      'from', jsonb_strip_nulls(jsonb_build_object('bin_id', l.bin_id, 'status', coalesce(l.status, 'available'), 'lot_number', l.lot,
        'serial_number', l.serial)),
      'reference_type', 'write_off', 'reference_id', v_write_off, 'reason', input ->> 'reason', 'note', l.note,
      'field', format('items.%s.quantity', l.line - 1)) order by l.line)
    from rows from (jsonb_to_recordset(input -> 'items') as (item_id uuid, bin_id uuid, status text, lot text, serial text, quantity bigint,
      note text)) with ordinality l (item_id, bin_id, status, lot, serial, quantity, note, line)));
  perform warehousing.stock_event_emit('inventory.written_off', 'write_off_id', v_write_off, input);
  return jsonb_build_object('write_off_id', v_write_off, 'transactions', warehousing.movements_of(v_write_off));
end $$;

-- The write-offs that took units of an item.
create or replace function warehousing.write_offs_of(item text) returns table (id uuid)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select distinct t.reference_id from warehousing.inventory_transactions t
  where t.tenant_id = app.tenant_id() and t.item_id = item::uuid and t.transaction_type = 'write_off';
end $$;

-- A write-off with its lines, in the order they were given. {id} -> {write_off}. Fails: write_off_not_found.
create or replace function warehousing.write_off_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return jsonb_build_object('write_off', app.found((
    select to_jsonb(w) - '{warehouse_id,written_off_by_id}'::text[] || jsonb_build_object('items', (
    select jsonb_agg(jsonb_build_object('id', t.movement_id, 'item', jsonb_build_object('id', i.id, 'name', i.name, 'sku', i.sku),
      'bin', jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name), 'status', t.from_status, 'lot_number', t.lot_number,
      'serial_number', t.serial_number, 'quantity', t.quantity, 'note', t.note) order by t.id)
    from warehousing.inventory_transactions t
    join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = t.item_id
    join warehousing.bins b on b.tenant_id = v_tenant and b.id = t.from_bin_id
    where t.tenant_id = v_tenant and t.reference_id = w.id))
    from warehousing.write_offs_list w where w.id = (input ->> 'id')::uuid), 'write_off_not_found'));
end $$;
