-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table warehousing.picking_orders in share row exclusive mode;
      set local lock_timeout = '250ms';
      alter view warehousing.inventory_list reset (security_barrier);
      alter view warehousing.picking_orders_list reset (security_barrier);
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "warehousing"."inventory_list";

DROP VIEW "warehousing"."picking_orders_list";

CREATE OR REPLACE FUNCTION delivery.transfer_under_way(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if d.current_warehouse_id is not null then
    return null;
  end if;
  return (
    select jsonb_build_object('transfer_id', t.id, 'waybill_id', t.waybill_id, 'destination_warehouse_id', w.id, 'warehouse', w.name,
      'text_key', case b.received_state when 'missing' then 'reason_missing_of_waybill' else 'reason_on_transfer' end)
    from warehousing.package_transfer_deliveries p
    join warehousing.package_transfers t on t.tenant_id = p.tenant_id and t.id = p.transfer_id
    join warehousing.warehouses w on w.tenant_id = t.tenant_id and w.id = t.destination_warehouse_id
    left join warehousing.waybills y on y.tenant_id = t.tenant_id and y.id = t.waybill_id
    left join warehousing.waybill_deliveries b on b.tenant_id = t.tenant_id and b.waybill_id = t.waybill_id and b.delivery_id = p.delivery_id
    where p.tenant_id = d.tenant_id and p.delivery_id = delivery.parcel_of(d)
      and case when t.waybill_id is null then delivery.is_transferred(d) and d.status in ('picked_up', 'in_transit', 'failed')
        and t.operation_type = 'single_delivery' and t.destination_warehouse_id = d.dropoff_warehouse_id
        else d.status in ('in_transit', 'failed', 'returned') and (b.is_open and y.status = 'in_transit'
          or b.received_state = 'missing' and exists (select from warehousing.waybill_discrepancies m
            where m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id and m.status = 'open')) end
    order by t.created_at desc, t.id limit 1);
end $function$;

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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.package_transfer_validate(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_judged jsonb;
  v_destination uuid;
begin
  perform warehousing.require_route((input ->> 'source_warehouse_id')::uuid, (input ->> 'destination_warehouse_id')::uuid);
  v_judged := warehousing.transfer_evaluate(input, 'waybill');
  v_destination := (v_judged ->> 'destination_warehouse_id')::uuid;
  -- One that follows from a parcel is judged as the creation judges it.
  perform warehousing.require_route((input ->> 'source_warehouse_id')::uuid, v_destination);
  return jsonb_build_object(
    'valid', (select coalesce(jsonb_agg(jsonb_build_object('barcode', n.line -> 'barcode', 'delivery_id', n.line -> 'id',
        'delivery_code', n.line -> 'delivery_code', 'status', n.line -> 'status',
        'current_warehouse_id', n.line -> 'current_warehouse_id') order by n.place), '[]')
      from jsonb_array_elements(v_judged -> 'lines') with ordinality n (line, place)
      where n.line ->> 'reason' is null and not (n.line ->> 'raw')::boolean),
    'invalid', (select coalesce(jsonb_agg(jsonb_build_object('barcode', case n.line ->> 'kind' when 'package' then n.line -> 'value'
        else coalesce(nullif(n.line -> 'barcode', 'null'), n.line -> 'value') end, 'reason', n.line -> 'reason') order by n.place), '[]')
      from jsonb_array_elements(v_judged -> 'lines') with ordinality n (line, place) where n.line ->> 'reason' is not null),
    'accepted', warehousing.transfer_accepted(v_judged),
    'rejected', warehousing.transfer_rejected(v_judged),
    'destination_lock', case when v_destination is not null then jsonb_build_object('warehouse_id', v_destination,
      'source', case when (v_judged ->> 'inferred')::boolean then 'inferred' else 'request' end) end,
    'requires_new_delivery_defaults', exists (select from jsonb_array_elements(v_judged -> 'lines') l
      where l ->> 'reason' is null and (l ->> 'raw')::boolean),
    'can_create', v_destination is not null and jsonb_array_length(warehousing.transfer_accepted(v_judged)) > 0);
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
  if v_same then
    perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
    perform warehousing.picking_note(p_order, lines);
    return;
  elsif p_order.status = 'pending' then
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

CREATE OR REPLACE FUNCTION warehousing.picking_line_status(status text, quantity bigint, picked bigint)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE STRICT
 SET search_path TO ''
AS $function$
begin
  return case
    when status not in ('picked', 'short', 'missing') then status
    when picked = quantity then 'picked'
    when status = 'picked' then 'pending'
    when picked > 0 then 'short'
    else status end;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_lines_end(p_order warehousing.picking_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.picking_order_items i
  set status = case i.picked_quantity when i.quantity then 'picked' when 0 then 'missing' else 'short' end
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.status in ('pending', 'picked', 'short', 'missing');
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
  update warehousing.picking_order_items i set picked_quantity = coalesce(l.picked_quantity, i.picked_quantity),
    status = coalesce(l.status, warehousing.picking_line_status(i.status, i.quantity, coalesce(l.picked_quantity, i.picked_quantity)))
  from rows from (jsonb_to_recordset(lines) as (picked_quantity bigint, status text)) with ordinality l (picked_quantity, status, line)
  where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id and i.position = l.line;
  if p_order.status = 'completed' then
    perform warehousing.picking_lines_end(p_order);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_set_lines(p_order warehousing.picking_orders, lines jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_before warehousing.picking_order_items[] := array(
    select i from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id);
begin
  delete from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id;
  insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity, picked_quantity, status)
  select p_order.tenant_id, p_order.id, l.line, p_order.warehouse_id, l.item_id, l.bin_id, l.quantity, t.picked,
    coalesce(l.status, warehousing.picking_line_status(w.status, l.quantity, t.picked), 'pending')
  from (
    select n.*, row_number() over (partition by n.item_id, n.bin_id order by n.line) as nth,
      coalesce(sum(n.picked_quantity) over (partition by n.item_id, n.bin_id), 0) as said,
      coalesce(sum(n.quantity) filter (where n.picked_quantity is null) over (partition by n.item_id, n.bin_id order by n.line
        rows between unbounded preceding and 1 preceding), 0) as earlier
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, bin_id uuid, quantity bigint, picked_quantity bigint, status text))
      with ordinality n (item_id, bin_id, quantity, picked_quantity, status, line)) l
  left join (
    select b.item_id, b.bin_id, b.status, row_number() over (partition by b.item_id, b.bin_id order by b.position) as nth
    from unnest(v_before) b) w on w.item_id = l.item_id and w.bin_id = l.bin_id and w.nth = l.nth
  left join (
    select b.item_id, b.bin_id, sum(b.picked_quantity) as picked from unnest(v_before) b group by b.item_id, b.bin_id) p
    on p.item_id = l.item_id and p.bin_id = l.bin_id
  cross join lateral (
    select coalesce(l.picked_quantity, greatest(0, least(l.quantity, coalesce(p.picked, 0) - l.said - l.earlier)))::bigint as picked) t;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_withdrawn()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select old.tenant_id, old.assigned_to, 'picking_withdrawn', jsonb_build_object('picking_order_id', old.id,
    'reference_number', old.reference_number, 'warehouse_id', old.warehouse_id,
    'reason', case when new.status = 'cancelled' then 'cancelled' else 'reassigned' end)
  where old.assigned_to is distinct from app.user_id();
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receiving_order_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_target text := input ->> 'status';
  v_transfer jsonb;
  r warehousing.receiving_orders;
begin
  select * into r from warehousing.receiving_orders o where o.id = v_id;
  if not found then
    perform app.fail('receiving_order_not_found');
  end if;
  if r.delivery_id is not null then
    perform delivery.lock_deliveries(array[r.delivery_id]);
  end if;
  select * into r from warehousing.receiving_orders o where o.id = v_id for no key update;
  perform warehousing.require_works_in(r.warehouse_id);
  if r.status <> v_target then
    if r.status <> 'pending' then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', v_target));
    end if;
    if v_target = 'received' then
      -- Recorded before a waybill took it along, it waits for nothing that could come here.
      select delivery.transfer_under_way(d) into v_transfer from delivery.deliveries d where d.tenant_id = r.tenant_id and d.id = r.delivery_id;
      if v_transfer ->> 'waybill_id' is not null then
        perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', r.status, 'to', v_target));
      end if;
      perform warehousing.receipt_take(r.id, input -> 'item_details', input ->> 'notes');
    else
      perform warehousing.receiving_order_cancel(r, input ->> 'notes');
    end if;
  elsif r.status = 'received' then
    perform warehousing.require_same_receipt(r, input -> 'item_details');
  end if;
  return jsonb_build_object('order', warehousing.receiving_order_to_json(v_id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_assignee(assignee uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if assignee is not null and not exists (
      select from tenancy.tenant_users u
      join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      where u.tenant_id = app.tenant_id() and u.user_id = assignee and u.is_active and (r.role_key in ('warehouse_manager', 'warehouse_staff')
        or exists (select from tenancy.role_permissions p where p.role_key = r.role_key
          and p.permission_key in ('view:tenant', 'manage:operations:tenant', 'manage:module:warehouse')))) then
    perform app.fail('assignee_not_found', '{"field": "assigned_to"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_lots(lines warehousing.inventory_count_lines[], sent integer, whole_bins boolean)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_room(total numeric, available numeric, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if available > total and input ?| '{total_capacity,available_capacity}' then
    perform app.fail('validation_failed', jsonb_build_object('field', case when input ? 'available_capacity' then 'available_capacity'
      else 'total_capacity' end, 'reason_key', 'reason_more_than_total'));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_same_receipt(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
begin
  if exists (
      select from warehousing.receiving_order_items i
      left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
      cross join lateral (select coalesce(n.received_quantity, i.quantity) as received) c
      where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id and (c.received <> i.received_quantity
        or n.bin_id <> i.bin_id
        or n.line is not null and (coalesce(n.condition, case when n.damaged_quantity > 0 then 'damaged' else 'good' end) <> i.condition
          or coalesce(n.damaged_quantity, case n.condition when 'damaged' then c.received else 0 end) <> i.damaged_quantity)))
    or exists (select from warehousing.receipt_entries(r, v_details) n where n.line is null) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', r.status, 'text_key', 'reason_received_before',
      'receiver', coalesce((select nullif(p.full_name, '') from tenancy.profiles p where p.id = r.received_by), '–')));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
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
  end if;
  v_wanted := jsonb_populate_record(v_warehouse, input);
  perform warehousing.require_room(v_wanted.total_capacity, v_wanted.available_capacity, input);
  if not input ? 'status' and input ? 'available_capacity' then
    v_wanted.status := case
      when v_wanted.available_capacity <= 0 and v_wanted.status = 'active' then 'full'
      when (v_wanted.available_capacity > 0) is not false and v_wanted.status = 'full' then 'active'
      else v_wanted.status end;
  end if;
  -- A list of those who may is not one of those who may not.
  if v_wanted.access_mode <> v_warehouse.access_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_discrepancy_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_resolution text := coalesce(input ->> 'resolution', 'found');
  x warehousing.waybill_discrepancies;
begin
  perform warehousing.require_works_in(w.destination_warehouse_id);
  select * into x from warehousing.waybill_discrepancies y
  where y.tenant_id = w.tenant_id and y.waybill_id = w.id and y.id = (input ->> 'discrepancy_id')::uuid;
  if not found then
    perform app.fail('discrepancy_not_found');
  end if;
  if x.status = 'resolved' and x.resolution = v_resolution then
    return warehousing.waybill_get(input);
  elsif x.status = 'resolved' and x.resolution = 'lost' then
    perform app.fail('waybill_action_not_allowed', jsonb_build_object('status', w.status, 'sealed_at', w.sealed_at, 'text_key', 'reason_given_up'));
  elsif x.status = 'resolved' then
    perform warehousing.require_waybill_open(w);
  end if;
  perform delivery.lock_deliveries(array[x.delivery_id]);
  update warehousing.waybill_discrepancies y set status = 'resolved', resolution = v_resolution, notes = input ->> 'notes',
    resolved_by = app.user_id(), resolved_at = clock_timestamp()
  where y.tenant_id = x.tenant_id and y.id = x.id;
  if v_resolution = 'found' then
    update warehousing.waybill_deliveries p set received_state = 'received'
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.delivery_id = x.delivery_id;
    perform warehousing.waybill_arrive(w, array[x.delivery_id], (input ->> 'bin_id')::uuid);
  else
    update delivery.deliveries d set status = 'failed', status_reason = 'lost', status_notes = w.waybill_number
    where d.tenant_id = w.tenant_id and d.status = 'in_transit' and d.delivery_flow <> 'pnd_parent' and x.delivery_id in (d.id, d.parent_id);
  end if;
  return warehousing.waybill_get(input);
end $function$;

CREATE VIEW "warehousing"."inventory_list" WITH (security_invoker=true) AS  SELECT s.id,
    s.warehouse_id,
    s.bin_id,
    s.item_id,
    s.status,
    s.lot_number,
    s.serial_number,
    s.quantity,
    s.reserved_for_type,
    s.reserved_for_id,
    jsonb_build_object('id', i.id, 'name', i.name, 'sku', i.sku) AS item,
    jsonb_build_object('id', b.id, 'code', b.code, 'name', b.name) AS bin,
    jsonb_build_object('id', w.id, 'name', w.name, 'code', w.code) AS warehouse,
    s.created_at,
    s.updated_at
   FROM (((warehousing.stock s
     LEFT JOIN warehousing.inventory_items i ON (((i.tenant_id = s.tenant_id) AND (i.id = s.item_id))))
     LEFT JOIN warehousing.bins b ON (((b.tenant_id = s.tenant_id) AND (b.id = s.bin_id))))
     LEFT JOIN warehousing.warehouses w ON (((w.tenant_id = s.tenant_id) AND (w.id = s.warehouse_id))))
  WHERE ((s.quantity > 0) AND (COALESCE((s.warehouse_id = ANY (( SELECT app.own_warehouses() AS own_warehouses)::uuid[])), true) OR ((s.reserved_for_id IS NOT NULL) AND (EXISTS ( SELECT
           FROM warehousing.picking_orders o
          WHERE ((o.tenant_id = s.tenant_id) AND (o.assigned_to = ( SELECT app.user_id() AS user_id)) AND (o.warehouse_id = s.warehouse_id) AND ((s.reserved_for_id = o.id) OR (s.reserved_for_id = o.order_id))))))));

CREATE VIEW "warehousing"."picking_orders_list" WITH (security_invoker=true) AS  SELECT o.id,
    o.tenant_id,
    o.warehouse_id,
    o.reference_number,
    o.external_reference,
    o.order_type,
    o.priority,
    o.status,
    ( SELECT COALESCE(jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity, 'picked_quantity', i.picked_quantity, 'status', i.status) ORDER BY i."position"), '[]'::jsonb) AS "coalesce"
           FROM warehousing.picking_order_items i
          WHERE ((i.tenant_id = o.tenant_id) AND (i.picking_order_id = o.id))) AS item_details,
    ((jsonb_build_object('start_time', NULL::unknown, 'end_time', NULL::unknown, 'picker_notes', NULL::unknown) || o.picking_progress) || ( SELECT jsonb_build_object('total_items', COALESCE(sum(i.quantity), (0)::numeric), 'picked_items', COALESCE(sum(i.picked_quantity), (0)::numeric)) AS jsonb_build_object
           FROM warehousing.picking_order_items i
          WHERE ((i.tenant_id = o.tenant_id) AND (i.picking_order_id = o.id)))) AS picking_progress,
    o.notes,
    o.due_date,
    o.completed_date,
    o.assigned_to,
    o.created_by,
    o.delivery_id,
    o.order_id,
    o.created_at,
    o.updated_at,
        CASE
            WHEN (o.created_by IS NOT NULL) THEN jsonb_build_object('id', o.created_by, 'full_name', COALESCE(c.full_name, ''::text))
            ELSE NULL::jsonb
        END AS created_by_user,
        CASE
            WHEN (o.assigned_to IS NOT NULL) THEN jsonb_build_object('id', o.assigned_to, 'full_name', COALESCE(a.full_name, ''::text))
            ELSE NULL::jsonb
        END AS assigned_to_user,
    jsonb_build_object('id', o.warehouse_id, 'name', w.name, 'code', w.code) AS warehouse
   FROM (((warehousing.picking_orders o
     LEFT JOIN warehousing.warehouses w ON (((w.tenant_id = o.tenant_id) AND (w.id = o.warehouse_id))))
     LEFT JOIN tenancy.profiles c ON ((c.id = o.created_by)))
     LEFT JOIN tenancy.profiles a ON ((a.id = o.assigned_to)))
  WHERE (COALESCE((o.warehouse_id = ANY (( SELECT app.own_warehouses() AS own_warehouses)::uuid[])), true) OR (o.assigned_to = ( SELECT app.user_id() AS user_id)));

CREATE TRIGGER withdrawn AFTER UPDATE OF status, assigned_to ON warehousing.picking_orders FOR EACH ROW WHEN (((old.assigned_to IS NOT NULL) AND (old.status = ANY (ARRAY['pending'::text, 'in_progress'::text])) AND ((new.status = 'cancelled'::text) OR (new.assigned_to IS DISTINCT FROM old.assigned_to)))) EXECUTE FUNCTION warehousing.picking_withdrawn();

REVOKE ALL ON FUNCTION "warehousing"."picking_line_status"(text, bigint, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."picking_line_status"(text, bigint, bigint) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."picking_withdrawn"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."picking_withdrawn"() TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."receipt_entries"(warehousing.receiving_orders, jsonb) FROM "barid_caller";

GRANT EXECUTE ON FUNCTION "warehousing"."receipt_entries"(warehousing.receiving_orders, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."require_lots"(warehousing.inventory_count_lines[], integer, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."require_lots"(warehousing.inventory_count_lines[], integer, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."require_room"(numeric, numeric, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."require_room"(numeric, numeric, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."require_same_receipt"(warehousing.receiving_orders, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."require_same_receipt"(warehousing.receiving_orders, jsonb) TO "barid_caller";

GRANT SELECT ON TABLE "warehousing"."inventory_list" TO "barid_caller";

GRANT SELECT ON TABLE "warehousing"."picking_orders_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128135957';
end $$;

grant execute on function private.schema_version() to barid_api;
