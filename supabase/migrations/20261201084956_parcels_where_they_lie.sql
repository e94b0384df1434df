-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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
      join warehousing.picking_lines(p_order) i on i.place = l.line
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

CREATE OR REPLACE FUNCTION warehousing.picking_lines(p_order warehousing.picking_orders)
 RETURNS TABLE(place bigint, id uuid, picked_quantity bigint, status text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select row_number() over (order by i.position), i.id, i.picked_quantity, i.status
  from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id;
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
  join warehousing.picking_lines(p_order) n on n.place = l.line
  where i.tenant_id = p_order.tenant_id and i.id = n.id;
  if p_order.status = 'completed' then
    perform warehousing.picking_lines_end(p_order);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_entries(r warehousing.receiving_orders, details jsonb)
 RETURNS TABLE(place bigint, line uuid, item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select s.position - 1, s.line, s.item_id, s.bin_id, case when s.received_quantity is not null then s.come end, s.condition,
    case when s.damaged_quantity is not null then s.come - greatest(0, least(s.come, s.received - s.damaged_quantity - s.before))
      + case when s.is_last then greatest(0, s.damaged_quantity - s.received) else 0 end end
  from (
    select e.*, coalesce(e.received_quantity, e.whole) as received, case when e.received_quantity is null then e.quantity
      else greatest(0, case when e.is_last then e.received_quantity - e.before else least(e.quantity, e.received_quantity - e.before) end) end as come
    from (
      select n.*, o.id as line, o.quantity, (sum(o.quantity) over entry)::bigint as whole,
        (sum(o.quantity) over earlier)::bigint - o.quantity as before,
        lead(o.id) over earlier is null as is_last
      from rows from (jsonb_to_recordset(details)
        as (item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint))
        with ordinality n (item_id, bin_id, received_quantity, condition, damaged_quantity, position)
      left join (
        select x.*, row_number() over (order by x.position) as place
        from warehousing.receiving_order_items x where x.tenant_id = r.tenant_id and x.receiving_order_id = r.id) o
        on case when n.item_id is null then n.position = o.place else n.item_id = o.item_id end
      window entry as (partition by n.position), earlier as (partition by n.position order by o.position)
    ) e
  ) s;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_fill(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
  v_bin uuid := coalesce((v_details #>> '{0,bin_id}')::uuid, warehousing.default_receiving_bin(r.warehouse_id));
  v_wrong record;
begin
  select e.place, e.line is null as unknown, e.twice, e.item_id into v_wrong
  from (
    select n.*, row_number() over (partition by n.line order by n.place) > 1 and n.line is not null as twice,
      n.bin_id is not null and not exists (select from warehousing.bins b
        where b.tenant_id = r.tenant_id and b.warehouse_id = r.warehouse_id and b.id = n.bin_id) as nowhere
    from warehousing.receipt_entries(r, v_details) n) e
  where e.line is null or e.twice or e.nowhere
  order by e.place limit 1;
  if found then
    if v_wrong.unknown then
      perform app.fail('inventory_item_not_found', jsonb_build_object('field', format('item_details.%s.item_id', v_wrong.place)));
    elsif v_wrong.twice then
      perform app.fail('item_named_twice', jsonb_build_object('field',
        format('item_details.%s', v_wrong.place) || case when v_wrong.item_id is null then '' else '.item_id' end));
    end if;
    perform app.fail('bin_not_found', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
  end if;
  update warehousing.receiving_order_items i set
    received_quantity = coalesce(n.received_quantity, i.quantity),
    bin_id = coalesce(n.bin_id, v_bin),
    condition = coalesce(n.condition, case when n.damaged_quantity > 0 or w.says_nothing and l.damaged > 0 then 'damaged' end, 'good'),
    damaged_quantity = least(coalesce(n.received_quantity, i.quantity),
      coalesce(n.damaged_quantity, case n.condition when 'damaged' then coalesce(n.received_quantity, i.quantity) end,
        case when w.says_nothing then l.damaged end, 0))
  from warehousing.receiving_order_items o
  left join warehousing.receipt_entries(r, v_details) n on n.line = o.id
  left join (select g.* from delivery.deliveries d cross join lateral warehousing.return_left_with(d) g
    where d.tenant_id = r.tenant_id and d.id = r.delivery_id) l on l.item_id = o.item_id
  cross join lateral (select num_nonnulls(n.received_quantity, n.condition, n.damaged_quantity) = 0 as says_nothing) w
  where o.tenant_id = r.tenant_id and o.receiving_order_id = r.id and i.id = o.id;
  select e.place into v_wrong
  from warehousing.receipt_entries(r, v_details) e
  join warehousing.receiving_order_items i on i.tenant_id = r.tenant_id and i.id = e.line
  where e.damaged_quantity > i.received_quantity order by e.place limit 1;
  if found then
    perform app.fail('damaged_too_much', jsonb_build_object('field', format('item_details.%s.damaged_quantity', v_wrong.place)));
  end if;
  -- A line that nobody wrote of is wrong because of the bin that serves for all.
  select i.*, coalesce(n.place, 0) as place, case when n.bin_id is null then 0 else n.place end as bin_place,
    case when n.item_id is null then i.quantity else (select sum(x.quantity) from warehousing.receiving_order_items x
      where x.tenant_id = r.tenant_id and x.receiving_order_id = r.id and x.item_id = n.item_id) end as expected into v_wrong
  from warehousing.receiving_order_items i
  left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
  left join warehousing.bins b on b.tenant_id = i.tenant_id and b.id = i.bin_id
  where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id
    and (i.received_quantity > i.quantity or (i.received_quantity > 0 and b.is_active is not true))
  order by i.position limit 1;
  if found then
    if v_wrong.received_quantity > v_wrong.quantity then
      perform app.fail('received_too_much', jsonb_build_object('field', format('item_details.%s.received_quantity', v_wrong.place),
        'expected', v_wrong.expected));
    elsif v_wrong.bin_id is null then
      perform app.fail('bin_id_required_for_received_items', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
    end if;
    perform app.fail('bin_inactive', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.bin_place)));
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
        or num_nonnulls(n.received_quantity, n.condition, n.damaged_quantity) > 0
          and (coalesce(n.condition, case when n.damaged_quantity > 0 then 'damaged' else 'good' end) <> i.condition
          or coalesce(n.damaged_quantity, case n.condition when 'damaged' then c.received else 0 end) <> i.damaged_quantity)))
    or exists (select from warehousing.receipt_entries(r, v_details) n where n.line is null) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', r.status, 'text_key', 'reason_received_before',
      'receiver', coalesce((select nullif(p.full_name, '') from tenancy.profiles p where p.id = r.received_by), '–')));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."picking_lines"(warehousing.picking_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."picking_lines"(warehousing.picking_orders) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201084956';
end $$;

grant execute on function private.schema_version() to barid_api;
