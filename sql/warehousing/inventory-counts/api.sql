-- Bins are counted: what was found is compared with the books, what differs is booked, and the count is kept.

-- A count with its lines, in the order they were given; null: none that the caller sees. Text, as movements_of() answers.
create or replace function warehousing.count_to_json(count_id uuid) returns json
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select json_build_object('id', c.id, 'warehouse', c.warehouse, 'notes', c.notes, 'whole_bins', c.whole_bins, 'counted_by', c.counted_by,
      'created_at', c.created_at, 'lines', c.lines, 'differences', c.differences, 'units_found', c.units_found, 'units_missing', c.units_missing,
      'items', (
        select json_agg(json_build_object('item', json_build_object('id', i.id, 'name', i.name, 'sku', i.sku),
          'bin', json_build_object('id', b.id, 'code', b.code, 'name', b.name), 'status', l.status, 'lot_number', l.lot_number,
          'serial_number', l.serial_number, 'expected', l.expected, 'counted', l.counted, 'difference', l.counted - l.expected) order by l.position)
        from warehousing.inventory_count_lines l
        join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
        join warehousing.bins b on b.tenant_id = v_tenant and b.id = l.bin_id
        where l.tenant_id = v_tenant and l.count_id = c.id))
    from warehousing.inventory_counts_list c where c.id = count_to_json.count_id);
end $$;

-- {id} -> {count}. Fails: inventory_count_not_found.
create or replace function warehousing.count_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_count json := warehousing.count_to_json((input ->> 'id')::uuid);
begin
  if v_count is null then
    perform app.fail('inventory_count_not_found');
  end if;
  return json_build_object('count', v_count)::jsonb;
end $$;

-- The lines of a count as rows that the books have still to be looked at for.
create or replace function warehousing.count_lines(warehouse_id uuid, items jsonb) returns warehousing.inventory_count_lines[]
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select array_agg((null, null, l.line, count_lines.warehouse_id, l.bin_id, l.item_id, coalesce(l.status, 'available'), l.lot_number,
      l.serial_number, null, null, l.counted)::warehousing.inventory_count_lines order by l.line)
    from rows from (jsonb_to_recordset(items) as (item_id uuid, bin_id uuid, counted bigint, status text, lot_number text, serial_number text))
      with ordinality l (item_id, bin_id, counted, status, lot_number, serial_number, line));
end $$;

-- Refuses lines without the serial number that their item has, or with several pieces of one. A difference alone would be judged by
-- stock_post(), but what a line says has to be right also where nothing differs. Units that lie there without one, because they came back as
-- they had left before their item was serialized, are counted so: all of them or fewer.
-- Fails: serial_number_required, serial_quantity_must_be_one (items.<n>.<field>).
create or replace function warehousing.require_pieces(lines warehousing.inventory_count_lines[]) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.position - 1 as place, l.item_id, l.serial_number is null as unnamed into v_bad
  from unnest(lines) l
  join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
  where (i.is_serialized and l.serial_number is null and (l.expected = 0 or l.counted > l.expected))
    or (l.serial_number is not null and l.counted > 1)
  order by l.position limit 1;
  if found and v_bad.unnamed then
    perform app.fail('serial_number_required', jsonb_build_object('field', format('items.%s.serial_number', v_bad.place), 'item_id', v_bad.item_id));
  elsif found then
    perform app.fail('serial_quantity_must_be_one', jsonb_build_object('field', format('items.%s.counted', v_bad.place), 'item_id', v_bad.item_id));
  end if;
end $$;

-- Refuses lines without a lot, or without a number, where lots or pieces of the item lie that no line names: what they hold would be booked
-- a second time, without one. What has none may be counted beside them as it is by the books, and in whole bins, where what no line names is
-- missing, as less. Pieces of serialized items are checked by require_pieces(). `sent`: the lines of the request come first.
-- Fails: lot_number_required (items.<n>.<lot_number|serial_number>, item_id).
create or replace function warehousing.require_lots(lines warehousing.inventory_count_lines[], sent integer, whole_bins boolean) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.position - 1 as place, l.item_id, b.name into v_bad
  from unnest(lines[:sent]) l
  join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id and not i.is_serialized
  cross join lateral (
    select case when s.lot_number is distinct from l.lot_number then 'lot_number' else 'serial_number' end as name
    from warehousing.stock s
    where s.tenant_id = v_tenant and s.warehouse_id = l.warehouse_id and s.bin_id = l.bin_id and s.item_id = l.item_id and s.quantity > 0
      and s.status = any (case l.status when 'available' then '{available,reserved}' else array[l.status] end)
      and (s.lot_number = l.lot_number or l.lot_number is null) and (s.lot_number is distinct from l.lot_number or s.serial_number is not null)
      and not exists (
        select from unnest(lines[:sent]) o
        where o.bin_id = l.bin_id and o.item_id = l.item_id and o.status = l.status
          and o.lot_number is not distinct from s.lot_number and o.serial_number is not distinct from s.serial_number)
    order by 1 limit 1) b
  where l.serial_number is null
    and case when whole_bins then l.counted > l.expected else l.counted <> l.expected or l.expected = 0 end
  order by l.position limit 1;
  if found then
    perform app.fail('lot_number_required', jsonb_build_object('field', format('items.%s.%s', v_bad.place, v_bad.name), 'item_id', v_bad.item_id));
  end if;
end $$;

-- Keeps what was counted and books what differs, all of it or nothing: {warehouse_id, notes?, whole_bins? (false),
-- items: [{item_id, bin_id, counted, status? ('available'), lot_number?, serial_number?}]} -> {count, transactions}, each place once.
-- `counted` is all that lies there of that lot or piece with that status; what is set aside for orders is counted as available. With
-- `whole_bins` the bins that are named were counted to the last: what else lies in them is missing, and is told behind the lines.
-- Fails: warehouse_not_found, bin_not_found, bin_inactive (something was found there), inventory_item_not_found, item_of_parcel,
-- serial_number_required, serial_quantity_must_be_one, serial_number_taken (it lies elsewhere), lot_number_required (lots lie there that no
-- line names), count_below_reserved (less was found than is set aside there; of what no line names, field is whole_bins).
create or replace function warehousing.count_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_whole_bins boolean := coalesce((input ->> 'whole_bins')::boolean, false);
  v_count uuid := gen_random_uuid();
  v_lines warehousing.inventory_count_lines[];
  v_sums record;
  v_short record;
begin
  perform warehousing.require_warehouse(v_warehouse);
  perform warehousing.require_places(v_warehouse, input -> 'items', 'items');
  perform warehousing.require_goods(input -> 'items', 'items');
  v_lines := warehousing.count_lines(v_warehouse, input -> 'items');
  v_lines := warehousing.stock_counted(v_lines, v_whole_bins);
  perform warehousing.require_pieces(v_lines);
  perform warehousing.require_lots(v_lines, jsonb_array_length(input -> 'items'), v_whole_bins);
  select l.position, l.item_id, l.reserved into v_short from unnest(v_lines) l where l.counted < l.reserved order by l.position limit 1;
  if found then
    perform app.fail('count_below_reserved', jsonb_build_object('item_id', v_short.item_id, 'reserved', v_short.reserved, 'field',
      case when v_short.position > jsonb_array_length(input -> 'items') then 'whole_bins' else format('items.%s.counted', v_short.position - 1) end));
  end if;

  select count(*) as lines, count(*) filter (where l.counted <> l.expected) as differences,
    sum(greatest(l.counted - l.expected, 0)) as found, sum(greatest(l.expected - l.counted, 0)) as missing
  into v_sums from unnest(v_lines) l;
  insert into warehousing.inventory_counts (id, tenant_id, warehouse_id, notes, whole_bins, counted_by, lines, differences, units_found, units_missing)
  values (v_count, v_tenant, v_warehouse, input ->> 'notes', v_whole_bins, app.user_id(), v_sums.lines, v_sums.differences, v_sums.found, v_sums.missing);
  insert into warehousing.inventory_count_lines (tenant_id, count_id, position, warehouse_id, bin_id, item_id, status, lot_number, serial_number,
    expected, reserved, counted)
  select v_tenant, v_count, l.position, l.warehouse_id, l.bin_id, l.item_id, l.status, l.lot_number, l.serial_number,
    l.expected, l.reserved, l.counted
  from unnest(v_lines) l;
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'count', 'item_id', l.item_id, 'warehouse_id', v_warehouse, 'quantity', abs(l.counted - l.expected),
      case when l.counted > l.expected then 'to' else 'from' end, jsonb_strip_nulls(jsonb_build_object('bin_id', l.bin_id, 'status', l.status,
        'lot_number', l.lot_number, 'serial_number', l.serial_number)),
      'reference_type', 'count', 'reference_id', v_count, 'reason', input ->> 'notes', 'field', format('items.%s.counted', l.position - 1))
      order by l.position)
    from unnest(v_lines) l where l.counted <> l.expected));
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory.counted', 'source_module', 'warehousing',
    'entity_type', 'warehouse', 'entity_id', v_warehouse, 'event_data', jsonb_build_object('count_id', v_count, 'warehouse_id', v_warehouse,
      'lines', v_sums.lines, 'differences', v_sums.differences, 'units_found', v_sums.found, 'units_missing', v_sums.missing, 'actor_id', app.user_id()))));
  return json_build_object('count', warehousing.count_to_json(v_count), 'transactions', warehousing.movements_of(v_count))::jsonb;
end $$;

-- The counts that a search finds: by a part of their notes, or of an item they counted (warehousing.items_found). SECURITY DEFINER because ILIKE is
-- not leakproof: under row-level security PostgreSQL may not use the trigram index for it. It looks at the caller's own tenant only,
-- and answers ids that the caller still has to read through the policies.
create or replace function warehousing.inventory_counts_with(search text) returns setof uuid
language plpgsql stable security definer rows 50 set search_path = '' as $$
begin
  -- Executed as text, so that each search is planned for its own pattern.
  return query execute $query$
    select c.id from warehousing.inventory_counts c where c.tenant_id = $1 and c.notes is not null and app.folded(c.notes) operator(pg_catalog.~~*) any ($2)
    union
    select l.count_id from warehousing.items_found($3) i (id)
    join warehousing.inventory_count_lines l on l.tenant_id = $1 and l.item_id = i.id
  $query$ using app.tenant_id(), app.contains_patterns(search), search;
end $$;

grant execute on function warehousing.inventory_counts_with(text) to barid_caller;
