-- Stock changes its place within a warehouse: from the dock to a shelf, from one bin into another, out of what is sold.

-- {warehouse_id, notes?, items: [{item_id, from_bin_id, to_bin_id, quantity, status? ('available'), to_status? (as it was), lot_number?,
-- serial_number?}]} -> {move_id, transactions}. All of it or nothing; a lot or piece is moved by its number, what has none without, also
-- where its item was serialized since.
-- Reserved stock stays where its order looks for it.
-- Fails: warehouse_not_found, inventory_item_not_found, bin_not_found, bin_inactive, insufficient_stock, serial_number_required,
-- serial_quantity_must_be_one.
create or replace function warehousing.move_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_move uuid := gen_random_uuid();
begin
  perform warehousing.require_warehouse(v_warehouse);
  perform warehousing.require_places(v_warehouse, (
    select jsonb_agg(jsonb_build_object('item_id', l.item -> 'item_id', 'bin_id', l.item -> e.field) order by l.line)
    from jsonb_array_elements(input -> 'items') with ordinality l (item, line)), 'items', e.field)
  from (values ('from_bin_id'), ('to_bin_id')) e (field);
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'move', 'item_id', l.item -> 'item_id', 'warehouse_id', v_warehouse, 'quantity', l.item -> 'quantity',
      'from', p.place || jsonb_build_object('bin_id', l.item -> 'from_bin_id', 'status', p.status),
      'to', p.place || jsonb_build_object('bin_id', l.item -> 'to_bin_id', 'status', coalesce(l.item ->> 'to_status', p.status)),
      'reference_type', 'move', 'reference_id', v_move, 'reason', input ->> 'notes', 'field', format('items.%s.quantity', l.line - 1)) order by l.line)
    from jsonb_array_elements(input -> 'items') with ordinality l (item, line)
    cross join lateral (select coalesce(l.item ->> 'status', 'available') as status,
      jsonb_strip_nulls(jsonb_build_object('lot_number', l.item -> 'lot_number', 'serial_number', l.item -> 'serial_number')) as place) p));
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory.moved', 'source_module', 'warehousing',
    'entity_type', 'warehouse', 'entity_id', v_warehouse, 'event_data', jsonb_build_object('move_id', v_move,
      'warehouse_id', v_warehouse, 'lines', jsonb_array_length(input -> 'items'), 'actor_id', app.user_id()))));
  return jsonb_build_object('move_id', v_move, 'transactions', warehousing.movements_of(v_move));
end $$;
