-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.shipment_labels(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_zone text := app.timezone();
  v_unknown jsonb;
  v_labels jsonb;
  v_codes bigint[] := array(select c::bigint from jsonb_array_elements_text(input -> 'delivery_codes') c);
begin
  select jsonb_agg(c.code order by c.position) into v_unknown from unnest(v_codes) with ordinality c (code, position)
  where not exists (select from delivery.deliveries d where d.delivery_code = c.code);
  if v_unknown is not null then
    perform app.fail('delivery_not_found', jsonb_build_object('delivery_codes', v_unknown));
  end if;
  perform delivery.labels_printed(array(select distinct delivery.parcel_of(d) from delivery.deliveries d where d.delivery_code = any (v_codes)));
  select
    jsonb_agg(jsonb_build_object(
      'template', d.label_assignment,
      'delivery_code', d.delivery_code,
      'edition', d.label_edition,
      'barcode', d.barcode,
      'tenant_name', app.localized(t.name),
      'service_name', app.localized(d.service_snapshot -> 'name'),
      'created_on', to_char(d.created_at at time zone v_zone, 'YYYY-MM-DD'),
      'sender', coalesce(delivery.sender_of(d), jsonb_build_object('name', delivery.warehouse_name(d.tenant_id, d.pickup_warehouse_id), 'phone', null))
        || jsonb_build_object('address', d.pickup_snapshot ->> 'full_address', 'city', d.pickup_snapshot ->> 'city'),
      'recipient', jsonb_build_object('name', coalesce(case d.delivery_flow when 'pnd_inbound'
          then delivery.warehouse_name(d.tenant_id, d.dropoff_warehouse_id) else d.recipient ->> 'name' end, ''),
        'phone', case when d.delivery_flow <> 'pnd_inbound' then d.recipient ->> 'phone' end,
        'address', d.dropoff_snapshot ->> 'full_address', 'city', d.dropoff_snapshot ->> 'city'),
      'cod_amount', nullif((delivery.parcel_terms(d)).cod_amount, 0),
      'delivery_fee', nullif((delivery.parcel_terms(d)).delivery_fee, 0),
      'currency', d.currency,
      'decimals', money.decimals_of(d.currency),
      'payer', d.payer_type,
      'unit_size', trim_scale(d.unit_size)::text,
      'pieces', greatest(1, coalesce(jsonb_array_length(case when jsonb_typeof(d.package_details -> 'items') = 'array'
        then d.package_details -> 'items' end), 1)),
      'notes', d.notes,
      'manifest', case when d.source_snapshot is not null then jsonb_build_object(
        'number', d.source_snapshot #>> '{manifest,number}',
        'institution', coalesce(d.source_snapshot #>> '{source,institution,full_name}', ''),
        'branch_name', coalesce(d.source_snapshot #>> '{source,branch,name}', ''),
        'branch_code', coalesce(d.source_snapshot #>> '{source,branch,code}', ''),
        'item_barcode', coalesce(d.source_snapshot #>> '{item,barcode_value}', d.barcode)) end
    ) order by a.position)
  into v_labels
  from unnest(v_codes) with ordinality a (code, position)
  join delivery.deliveries d on d.delivery_code = a.code
  join tenancy.tenants t on t.id = d.tenant_id;
  return v_labels;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.beside_quantity(field text, name text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return regexp_replace(field, '[^.]*$', '') || name;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."beside_quantity"(text, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.goods_in(input jsonb, transaction_type text, reference_type text, reference_id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_assigned(p_order warehousing.picking_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p_order.tenant_id, p_order.assigned_to, 'picking_assigned', jsonb_build_object('picking_order_id', p_order.id,
    'reference_number', p_order.reference_number, 'warehouse_id', p_order.warehouse_id)
  where p_order.assigned_to is not null and p_order.assigned_to is distinct from app.user_id() and p_order.status in ('pending', 'in_progress');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_change_lines(p_order warehousing.picking_orders, lines jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_same boolean := (
    select coalesce(array_agg((i.item_id, i.bin_id, i.quantity)::text order by i.position), '{}')
    from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id) = (
    select coalesce(array_agg((l.item_id, l.bin_id, l.quantity)::text order by l.line), '{}')
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, bin_id uuid, quantity bigint)) with ordinality l (item_id, bin_id, quantity, line));
begin
  if v_same and p_order.status not in ('pending', 'in_progress') and not exists (
      select from rows from (jsonb_to_recordset(lines) as (picked_quantity bigint, status text)) with ordinality l (picked_quantity, status, line)
      join warehousing.picking_order_items i on i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.position = l.line
      where l.picked_quantity <> i.picked_quantity or nullif(l.status, 'pending') <> i.status) then
    return;
  end if;
  if p_order.order_id is not null and p_order.status in ('pending', 'in_progress', 'completed') then
    if not v_same then
      perform app.fail('picking_belongs_to_order', jsonb_build_object('field', 'item_details', 'order_id', p_order.order_id));
    end if;
    perform warehousing.picking_note(p_order, lines);
    return;
  end if;
  if p_order.status not in ('pending', 'in_progress') or (p_order.delivery_id is not null and not v_same) then
    perform app.fail('picking_items_fixed', jsonb_build_object('field', 'item_details', 'status', p_order.status));
  end if;
  if v_same or p_order.status = 'pending' then
    perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
    perform warehousing.picking_set_lines(p_order, lines);
    return;
  end if;
  -- Stock given back and stock taken instead are locked together, in the common order.
  perform warehousing.lock_stock_places((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'bin_id', p.bin_id)) from (
      select i.item_id, i.bin_id from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id
      union
      select l.item_id, l.bin_id from jsonb_to_recordset(lines) as l (item_id uuid, bin_id uuid)) p));
  perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
  perform warehousing.stock_release('picking_order', p_order.id);
  perform warehousing.picking_set_lines(p_order, lines);
  perform warehousing.picking_reserve(p_order);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_finish(p_order warehousing.picking_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_left jsonb;
begin
  update warehousing.picking_order_items i set picked_quantity = i.quantity
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and not exists (
    select from warehousing.picking_order_items x
    where x.tenant_id = p_order.tenant_id and x.picking_order_id = p_order.id
      and (x.picked_quantity > 0 or x.status not in ('pending', 'picked')));
  perform warehousing.picking_lines_end(p_order);
  if p_order.order_id is not null then
    return;
  end if;
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity - i.picked_quantity) order by i.position)
  into v_left
  from warehousing.picking_order_items i
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.picked_quantity < i.quantity;
  if p_order.delivery_id is not null then
    if v_left is not null then
      perform app.fail('picking_incomplete', '{"field": "item_details"}');
    end if;
    return;
  end if;
  if v_left is not null then
    perform warehousing.stock_release('picking_order', p_order.id, v_left);
  end if;
  perform warehousing.stock_exit('picking_order', p_order.id);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_lines_end(p_order warehousing.picking_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.picking_order_items i
  set status = case i.picked_quantity when i.quantity then 'picked' when 0 then 'missing' else 'short' end
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.status = 'pending';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_note(p_order warehousing.picking_orders, lines jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_place bigint;
begin
  select l.line - 1 into v_place
  from rows from (jsonb_to_recordset(lines) as (quantity bigint, picked_quantity bigint)) with ordinality l (quantity, picked_quantity, line)
  where l.picked_quantity > l.quantity order by l.line limit 1;
  if found then
    perform app.fail('picked_too_much', jsonb_build_object('field', format('item_details.%s.picked_quantity', v_place)));
  end if;
  update warehousing.picking_order_items i set picked_quantity = coalesce(l.picked_quantity, 0), status = coalesce(l.status, 'pending')
  from rows from (jsonb_to_recordset(lines) as (picked_quantity bigint, status text)) with ordinality l (picked_quantity, status, line)
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.position = l.line;
  if p_order.status = 'completed' then
    perform warehousing.picking_lines_end(p_order);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_report(p_order warehousing.picking_orders, lines jsonb, to_status text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if p_order.delivery_id is not null and to_status = 'handed_off' then
    perform app.fail('pnd_picking_handed_off_by_driver_pickup');
  elsif p_order.order_id is not null and to_status in ('cancelled', 'handed_off') and to_status <> p_order.status then
    perform app.fail('picking_belongs_to_order', jsonb_build_object('field', 'status', 'order_id', p_order.order_id));
  elsif p_order.status in ('cancelled', 'handed_off') and to_status <> p_order.status then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', p_order.status, 'to', to_status));
  end if;
  if lines is not null then
    perform warehousing.picking_change_lines(p_order, lines);
  end if;
  if to_status <> p_order.status then
    perform warehousing.picking_move(p_order, to_status);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receiving_order_cancel(r warehousing.receiving_orders, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if d.id is not null and (d.status = 'delivered' or (d.delivery_flow = 'operational_return' and r.source = 'inbound')
    or (d.status = 'returned' and not (delivery.leaves_warehouse(d) and exists (
      select from delivery.assignments a where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('assigned', 'accepted'))))) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', 'cancelled',
      'text_key', 'reason_receipt_only'));
  end if;
  update warehousing.receiving_orders o set status = 'cancelled', notes = coalesce(receiving_order_cancel.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  if d.status = 'returned' then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id;
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
    or (l.goes and l.to_serial is not null and l.quantity <> 1) or (l.goes and i.is_serialized and l.to_serial is null)
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

CREATE OR REPLACE FUNCTION warehousing.return_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_return uuid := gen_random_uuid();
begin
  perform warehousing.goods_in(input, 'return', 'return', v_return, concat_ws(': ', input ->> 'reason', input ->> 'notes'));
  perform warehousing.stock_event_emit('inventory.returned', 'return_id', v_return, input);
  return jsonb_build_object('return_id', v_return, 'transactions', warehousing.movements_of(v_return));
end $function$;

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

  select l as movement, l.field, l.item_id, b.twice into v_short
  from (
    select s.id, s.quantity + c.delta > 1 as twice
    from unnest(v_changes) c join warehousing.stock s on s.tenant_id = v_tenant and s.id = c.stock_id
    where s.written_off_at is not null or s.quantity + c.delta < 0 or (s.serial_number is not null and s.quantity + c.delta > 1)
    offset 0) b
  join unnest(movements) l on b.id in (l.from_stock, l.to_stock)
  order by l.line limit 1;
  if found and v_short.twice then
    perform app.fail('serial_number_taken', jsonb_build_object('item_id', v_short.item_id,
      'field', warehousing.beside_quantity(v_short.field, 'serial_number')));
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
    select l.field, l.item_id into v_short
    from (
      select m.*, first_value(m.to_stock) over (partition by m.item_id, m.to_serial order by m.line) as first
      from unnest(movements) m
      where m.to_serial is not null and m.to_stock = any (array(select c.stock_id from unnest(v_changes) c where c.delta > 0))) l
    where l.to_stock <> l.first or exists (
      select from warehousing.stock s
      where s.tenant_id = v_tenant and s.item_id = l.item_id and s.serial_number = l.to_serial and s.quantity > 0
        and s.id <> all (array(select c.stock_id from unnest(v_changes) c where c.delta < 0)))
    order by l.line limit 1;
    perform app.fail('serial_number_taken', jsonb_build_object('item_id', v_short.item_id,
      'field', warehousing.beside_quantity(v_short.field, 'serial_number')));
  end;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_short(m private.stock_movement)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  perform app.fail('insufficient_stock', jsonb_strip_nulls(jsonb_build_object('field', m.field, 'item_id', m.item_id,
    'text_key', case when m.from_lot is null and m.from_serial is null and exists (
      select from warehousing.stock s
      where s.tenant_id = app.tenant_id() and s.bin_id = m.from_bin and s.item_id = m.item_id and s.status = m.from_status and s.quantity > 0
        and (s.lot_number is not null or s.serial_number is not null)) then 'reason_stock_of_lot' end)));
end $function$;

-- Barcodes of goods have ASCII digits from now on, and are asked for in these.
update warehousing.inventory_items i set barcode = app.ascii_digits(i.barcode)
where i.parcel_delivery_id is null and i.barcode <> app.ascii_digits(i.barcode);

REVOKE ALL ON FUNCTION "warehousing"."stock_short"(private.stock_movement) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.stock_write(changes private.stock_change[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  update warehousing.stock s set quantity = s.quantity + c.delta,
    written_off_at = case when s.quantity + c.delta = 0 and c.written_off then clock_timestamp() end
  from unnest(changes) c
  where s.tenant_id = v_tenant and s.id = c.stock_id and c.delta <> 0;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."stock_write"(private.stock_change[]) FROM "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."beside_quantity"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."picking_lines_end"(warehousing.picking_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."picking_lines_end"(warehousing.picking_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."stock_short"(private.stock_movement) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."stock_write"(private.stock_change[]) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126225035';
end $$;

grant execute on function private.schema_version() to barid_api;
