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

REVOKE ALL ON FUNCTION "warehousing"."picking_line_status"(text, bigint, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."picking_line_status"(text, bigint, bigint) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128132040';
end $$;

grant execute on function private.schema_version() to barid_api;
