-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.count_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.has_no_serial(m private.stock_movement)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if not m.comes then
    return warehousing.returns_as_left(m.type, m.reference_type);
  end if;
  return exists (
    select from warehousing.stock s
    where s.tenant_id = app.tenant_id() and s.bin_id = m.from_bin and s.item_id = m.item_id and s.status = m.from_status
      and s.serial_number is null and s.quantity > 0);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."has_no_serial"(private.stock_movement) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.receipt_pieces(r warehousing.receiving_orders)
 RETURNS TABLE(item_id uuid, bin_id uuid, status text, lot_number text, serial_number text, quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with come as (
    select i.position, i.item_id, i.bin_id, c.status, c.quantity,
      sum(c.quantity) over (partition by i.item_id order by i.position, c.status) as until
    from warehousing.receiving_order_items i
    cross join lateral (values ('available', i.received_quantity - i.damaged_quantity), ('damaged', i.damaged_quantity)) c (status, quantity)
    where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id and c.quantity > 0
  ), part as (
    select p.* from storefront.storefront_order_parts p
    where p.tenant_id = r.tenant_id and p.id in (
      select q.part_id from storefront.order_part_receipts q where q.tenant_id = r.tenant_id and q.receiving_order_id = r.id)
  ), gone as (
    select m.item_id, m.lot_number, m.serial_number, sum(m.units) as quantity,
      sum(sum(m.units)) over (partition by m.item_id order by not exists (
        select from warehousing.stock s where s.tenant_id = r.tenant_id and s.item_id = m.item_id and s.serial_number = m.serial_number
          and s.warehouse_id = r.warehouse_id and s.quantity > 0), min(m.id)) as until
    from (
      select t.id, t.item_id, t.lot_number, t.serial_number, t.quantity as units from part p
      join warehousing.inventory_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.order_id and t.reference_type = 'order'
        and t.transaction_type = 'pick' and t.warehouse_id = p.warehouse_id
      union all
      select t.id, t.item_id, t.lot_number, t.serial_number, -t.quantity from part p
      join storefront.order_part_receipts q on q.tenant_id = p.tenant_id and q.part_id = p.id
      join warehousing.inventory_transactions t on t.tenant_id = p.tenant_id and t.reference_id = q.receiving_order_id
        and t.reference_type = 'receiving_order') m
    group by m.item_id, m.lot_number, m.serial_number having sum(m.units) > 0
  )
  select c.item_id, c.bin_id, c.status, g.lot_number, g.serial_number,
    coalesce(least(c.until, g.until) - greatest(c.until - c.quantity, g.until - g.quantity), c.quantity)::bigint
  from come c
  left join gone g on g.item_id = c.item_id and g.until - g.quantity < c.until and c.until - c.quantity < g.until
  order by c.position, c.status, g.until;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_pieces(lines warehousing.inventory_count_lines[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_stock_movement(movements private.stock_movement[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
  v_bin jsonb;
begin
  select l.*, i.id as known_item, f.id as known_from, t.id as known_to, t.is_active as bin_in_use, t.is_temporary as bin_of_session,
    w.id as known_warehouse into v_bad
  from unnest(movements) l
  left join warehousing.warehouses w on w.tenant_id = v_tenant and w.id = l.warehouse_id and w.deleted_at is null
  left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
  left join warehousing.bins f on f.tenant_id = v_tenant and f.warehouse_id = l.warehouse_id and f.id = l.from_bin
  left join warehousing.bins t on t.tenant_id = v_tenant and t.warehouse_id = l.warehouse_id and t.id = l.to_bin
  where i.id is null or w.id is null or (l.comes and f.id is null) or (l.goes and t.id is null)
    or (l.goes and l.from_bin is distinct from l.to_bin and (not t.is_active or t.is_temporary)) or l.quantity is null or l.quantity <= 0
    or (l.goes and l.to_serial is not null and l.quantity <> 1)
    or (l.goes and i.is_serialized and l.to_serial is null and not warehousing.has_no_serial(l))
  order by l.line limit 1;
  if not found then
    return;
  end if;
  v_bin := jsonb_build_object('field', warehousing.beside_quantity(v_bad.field, case when v_bad.type = 'move' then 'to_bin_id'
    when v_bad.reference_type = 'transfer' then 'destination_bin_id' else 'bin_id' end));
  if v_bad.known_warehouse is null then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', 'warehouse_id'));
  elsif v_bad.known_item is null then
    perform app.fail('inventory_item_not_found', jsonb_build_object('field', 'item_id', 'item_id', v_bad.item_id));
  elsif (v_bad.comes and v_bad.known_from is null) or (v_bad.goes and v_bad.known_to is null) then
    perform app.fail('bin_not_found', jsonb_build_object('field', 'bin_id'));
  elsif v_bad.goes and v_bad.from_bin is distinct from v_bad.to_bin and not v_bad.bin_in_use then
    perform app.fail('bin_inactive', v_bin);
  elsif v_bad.goes and v_bad.from_bin is distinct from v_bad.to_bin and v_bad.bin_of_session then
    perform app.fail('bin_of_sorting_session', v_bin);
  elsif v_bad.quantity is null or v_bad.quantity <= 0 then
    perform app.fail('validation_failed', jsonb_build_object('field', v_bad.field));
  elsif v_bad.to_serial is null then
    perform app.fail('serial_number_required', jsonb_build_object('field', warehousing.beside_quantity(v_bad.field, 'serial_number'),
      'item_id', v_bad.item_id));
  else
    perform app.fail('serial_quantity_must_be_one', jsonb_build_object('field', v_bad.field, 'item_id', v_bad.item_id));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.returns_as_left(transaction_type text, reference_type text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return transaction_type = 'transfer_in' or coalesce(reference_type = 'receiving_order', false);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."returns_as_left"(text, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.serial_is_taken(m private.stock_movement)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  perform app.fail('serial_number_taken', jsonb_strip_nulls(jsonb_build_object('item_id', m.item_id,
      'field', case when m.reference_type in ('receiving_order', 'waybill') then null else warehousing.beside_quantity(m.field, 'serial_number') end,
      'serial_number', m.to_serial)) || coalesce((
    select jsonb_build_object('warehouse', jsonb_build_object('id', w.id, 'name', w.name), 'bin', jsonb_build_object('id', b.id, 'code', b.code))
    from warehousing.stock s
    join warehousing.warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id
    join warehousing.bins b on b.tenant_id = s.tenant_id and b.id = s.bin_id
    where s.tenant_id = app.tenant_id() and s.item_id = m.item_id and s.serial_number = m.to_serial and s.quantity > 0), '{}'));
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."serial_is_taken"(private.stock_movement) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.stock_move(movements private.stock_movement[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_changes private.stock_change[];
  v_serials boolean := exists (select from unnest(movements) l where l.to_serial is not null);
  v_short record;
begin
  if coalesce(cardinality(movements), 0) = 0 then
    return;
  end if;
  -- Closing a warehouse or a bin, or giving an item serial numbers, waits for stock that is still coming in,
  -- and what comes later is checked by the change.
  perform from warehousing.warehouses w where w.tenant_id = v_tenant
    and w.id = any (array(select l.warehouse_id from unnest(movements) l where l.goes)) order by w.id for key share;
  perform from warehousing.bins b where b.tenant_id = v_tenant
    and b.id = any (array(select l.to_bin from unnest(movements) l where l.goes)) order by b.id for key share;
  perform from warehousing.inventory_items i where i.tenant_id = v_tenant
    and i.id = any (array(select l.item_id from unnest(movements) l where l.goes)) order by i.id for key share;
  perform warehousing.require_stock_movement(movements);

  movements := warehousing.stock_open(movements);
  select l as movement into v_short from unnest(movements) l where l.comes and l.from_stock is null order by l.line limit 1;
  if found then
    perform warehousing.stock_short(v_short.movement);
  end if;
  select array_agg((n.id, n.delta, n.written_off)::private.stock_change) into v_changes from (
    select g.id, sum(g.delta)::bigint as delta, bool_or(g.written_off) as written_off from (
      select l.from_stock as id, -l.quantity as delta, l.type = 'write_off' as written_off from unnest(movements) l where l.comes
      union all
      select l.to_stock, l.quantity, false from unnest(movements) l where l.goes) g
    group by g.id) n;
  perform from warehousing.stock s
  where s.tenant_id = v_tenant and s.id = any (array(select c.stock_id from unnest(v_changes) c)) order by s.id for no key update;

  select l as movement, b.twice into v_short
  from (
    select s.id, s.quantity + c.delta > 1 as twice
    from unnest(v_changes) c join warehousing.stock s on s.tenant_id = v_tenant and s.id = c.stock_id
    where s.written_off_at is not null or s.quantity + c.delta < 0 or (s.serial_number is not null and s.quantity + c.delta > 1)
    offset 0) b
  join unnest(movements) l on b.id in (l.from_stock, l.to_stock)
  order by l.line limit 1;
  if found and v_short.twice then
    perform warehousing.serial_is_taken(v_short.movement);
  elsif found then
    perform warehousing.stock_short(v_short.movement);
  end if;

  insert into warehousing.inventory_transactions (tenant_id, transaction_type, item_id, warehouse_id, quantity, from_stock_id, to_stock_id,
    from_bin_id, to_bin_id, from_status, to_status, lot_number, serial_number, reference_type, reference_id, reason, note, performed_by)
  select v_tenant, l.type, l.item_id, l.warehouse_id, l.quantity, l.from_stock, l.to_stock,
    l.from_bin, l.to_bin, case when l.comes then l.from_status end, case when l.goes then l.to_status end,
    coalesce(l.to_lot, l.from_lot), coalesce(l.to_serial, l.from_serial), l.reference_type, l.reference_id, l.reason, l.note, v_actor
  from unnest(movements) l
  order by l.line;

  if not v_serials then
    perform warehousing.stock_write(v_changes);
    return;
  end if;
  -- Decreases first: a serial number may not be in two places, not even for a moment. Where it lies in another one, the index says so.
  begin
    perform warehousing.stock_write(array(select c from unnest(v_changes) c where c.delta < 0));
    perform warehousing.stock_write(array(select c from unnest(v_changes) c where c.delta > 0));
  exception when unique_violation then
    select l.movement into v_short
    from (
      select m as movement, m.line, m.item_id, m.to_serial, m.to_stock,
        first_value(m.to_stock) over (partition by m.item_id, m.to_serial order by m.line) as first
      from unnest(movements) m
      where m.to_serial is not null and m.to_stock = any (array(select c.stock_id from unnest(v_changes) c where c.delta > 0))) l
    where l.to_stock <> l.first or exists (
      select from warehousing.stock s
      where s.tenant_id = v_tenant and s.item_id = l.item_id and s.serial_number = l.to_serial and s.quantity > 0
        and s.id <> all (array(select c.stock_id from unnest(v_changes) c where c.delta < 0)))
    order by l.line limit 1;
    perform warehousing.serial_is_taken(v_short.movement);
  end;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_receive(lines jsonb, transaction_type text DEFAULT 'receive'::text, reference_type text DEFAULT NULL::text, reference_id uuid DEFAULT NULL::uuid, reason text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_here uuid[];
begin
  if warehousing.returns_as_left(transaction_type, reference_type) then
    -- Held until the end: a movement within one place does not ask whether the piece still lies there.
    v_here := array(
      select s.id from warehousing.stock s
      where s.tenant_id = v_tenant and s.quantity > 0 and s.id = any (array(
        select h.id from jsonb_to_recordset(lines) as l (item_id uuid, serial_number text, warehouse_id uuid)
        cross join lateral (
          select x.id from warehousing.stock x
          where x.tenant_id = v_tenant and x.item_id = l.item_id and x.serial_number = l.serial_number and x.quantity > 0
            and x.warehouse_id = l.warehouse_id
          offset 0) h
        where l.serial_number is not null))
      order by s.id for no key update);
  end if;
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', stock_receive.transaction_type, 'item_id', l.item_id, 'warehouse_id', l.warehouse_id,
      'quantity', l.quantity, 'field', coalesce(l.field, 'quantity'), 'to', case when s.id is null then jsonb_strip_nulls(jsonb_build_object('bin_id', l.bin_id,
          'status', coalesce(l.status, 'available'), 'lot_number', l.lot_number, 'serial_number', l.serial_number))
        when l.status = 'damaged' then s.place || '{"status": "damaged"}' else s.place end,
      'reference_type', stock_receive.reference_type, 'reference_id', stock_receive.reference_id, 'reason', stock_receive.reason)
      || case when s.id is null then '{}' else jsonb_build_object('from', s.place) end order by l.line)
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, warehouse_id uuid, bin_id uuid, quantity bigint, status text,
      lot_number text, serial_number text, field text)) with ordinality
      l (item_id, warehouse_id, bin_id, quantity, status, lot_number, serial_number, field, line)
    left join lateral (
      select h.id, jsonb_strip_nulls(jsonb_build_object('bin_id', h.bin_id, 'status', h.status, 'lot_number', h.lot_number,
        'serial_number', h.serial_number, 'reserved_for_type', h.reserved_for_type, 'reserved_for_id', h.reserved_for_id)) as place
      from warehousing.stock h
      where h.tenant_id = v_tenant and h.id = any (v_here) and h.item_id = l.item_id and h.serial_number = l.serial_number
        and (l.status is distinct from 'damaged' or h.reserved_for_id is null)) s on true));
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."has_no_serial"(private.stock_movement) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."returns_as_left"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."serial_is_taken"(private.stock_movement) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128024112';
end $$;

grant execute on function private.schema_version() to barid_api;
