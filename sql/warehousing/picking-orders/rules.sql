-- The rules of picking orders, kept by the database whatever a core forgets, and what cores share.

-- Allows legal moves of a picking order only.
create or replace function warehousing.picking_order_guard() returns trigger
language plpgsql set search_path = '' as $$
begin
  if new.status <> old.status and not (old.status || '>' || new.status) = any (array[
    'pending>in_progress', 'pending>completed', 'pending>cancelled',
    'in_progress>completed', 'in_progress>cancelled', 'completed>handed_off'])
    -- A picking order that waits for its driver can still be cancelled with its delivery, one that waits to be sent with its order.
    and not (old.status = 'completed' and new.status = 'cancelled' and (old.delivery_id is not null or old.order_id is not null)) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  return new;
end $$;

drop trigger if exists guard on warehousing.picking_orders;
create trigger guard before update of status on warehousing.picking_orders
  for each row execute function warehousing.picking_order_guard();
grant execute on function warehousing.picking_order_guard() to barid_caller;

-- A write of lines is a change of their order: its ETag, the version that If-Match names and the list of what changed show it. Every writer
-- has locked the order before. One that this transaction made or changed already is left as it is.
create or replace function warehousing.picking_lines_written() returns trigger
language plpgsql set search_path = '' as $$
begin
  update warehousing.picking_orders o set updated_at = clock_timestamp()
  where o.id = any (array(select distinct l.picking_order_id from lines l)) and o.changed <> pg_current_xact_id()::text::bigint;
  return null;
end $$;

drop trigger if exists lines_added on warehousing.picking_order_items;
create trigger lines_added after insert on warehousing.picking_order_items referencing new table as lines
  for each statement execute function warehousing.picking_lines_written();
drop trigger if exists lines_changed on warehousing.picking_order_items;
create trigger lines_changed after update on warehousing.picking_order_items referencing new table as lines
  for each statement execute function warehousing.picking_lines_written();
drop trigger if exists lines_removed on warehousing.picking_order_items;
create trigger lines_removed after delete on warehousing.picking_order_items referencing old table as lines
  for each statement execute function warehousing.picking_lines_written();

-- Picking orders whose reference contains `part`. SECURITY DEFINER because ILIKE is not leakproof: under row-level
-- security PostgreSQL may not use the trigram index for it. It looks at the caller's own tenant only, and
-- answers ids that the caller still has to read through the policies.
create or replace function warehousing.picking_orders_with(part text) returns setof uuid
language plpgsql stable security definer rows 50 set search_path = '' as $$
declare
  v_part text := app.ascii_digits(part);
  -- The common prefix of references is in the index once for each: only what follows is looked up there.
  v_rare text := regexp_replace(v_part, '^p?k?o?-?0*', '', 'i');
begin
  -- Executed as text, so that each search is planned for its own pattern. What is asked in full is asked of an
  -- expression, which the index does not know.
  return query execute $query$
    select o.id from warehousing.picking_orders o
    where o.tenant_id = $1 and o.reference_number operator(pg_catalog.~~*) $2 and (o.reference_number || '') operator(pg_catalog.~~*) $3
  $query$ using app.tenant_id(), app.contains_pattern(v_rare), app.contains_pattern(v_part);
end $$;

grant execute on function warehousing.picking_orders_with(text) to barid_caller;

-- How many picking orders are in each status, of a warehouse or of all that the caller sees: {pending, in_progress, completed,
-- handed_off, cancelled, total}. wanted: {} or {warehouse_id}
create or replace function warehousing.picking_stats(wanted jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_own uuid[] := app.own_warehouses();
begin
  return (
    select jsonb_object_agg(s.status, n.entries) || jsonb_build_object('total', sum(n.entries))
    from unnest(array['pending', 'in_progress', 'completed', 'handed_off', 'cancelled']) s (status)
    left join (
      select c.status, sum((c.counted ->> 'entries')::bigint) as entries
      from unnest(coalesce(v_own, array[null::uuid])) w (id)
      cross join lateral jsonb_each(app.tally_by('picking_orders', 'status',
        wanted || case when w.id is null then '{}' else jsonb_build_object('warehouse_id', w.id) end)) c (status, counted)
      where w.id is null or lower(coalesce(wanted ->> 'warehouse_id', w.id::text)) = w.id::text
      group by c.status
    ) t on t.status = s.status
    cross join lateral (
      -- Kept totals are of whole warehouses; what is given to somebody who does not work there is counted.
      select coalesce(t.entries, 0) + case when v_own is null then 0 else (
        select count(*) from warehousing.picking_orders o
        where o.tenant_id = app.tenant_id() and o.assigned_to = app.user_id() and o.warehouse_id <> all (v_own) and o.status = s.status
          and lower(coalesce(wanted ->> 'warehouse_id', o.warehouse_id::text)) = o.warehouse_id::text) end as entries) n);
end $$;

-- Refuses lines that cannot be picked: an item or a bin that is none, an item that never lay in the bin, more than
-- lies there unreserved and available (lines of one place count together), more picked than asked for, or what is in a parcel and the
-- order not its delivery's.
-- p_order: what this order has reserved itself counts as free.
-- Fails: inventory_item_not_found, bin_not_found, item_of_parcel, item_not_in_bin, insufficient_stock, picked_too_much.
create or replace function warehousing.require_picking_state(warehouse_id uuid, lines jsonb, p_order uuid default null) returns void
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  perform warehousing.require_places(require_picking_state.warehouse_id, lines, 'item_details');
  if not exists (select from warehousing.picking_orders o where o.tenant_id = v_tenant and o.id = p_order and o.delivery_id is not null) then
    perform warehousing.require_goods(lines, 'item_details');
  end if;
  select l.line - 1 as place, l.item_id, l.picked_quantity > l.quantity as too_much, s.holds into v_bad
  from (
    select r.*, sum(r.quantity) over (partition by r.item_id, r.bin_id) as wanted
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, bin_id uuid, quantity bigint, picked_quantity bigint)) with ordinality
      r (item_id, bin_id, quantity, picked_quantity, line)) l
  cross join lateral (
    -- Three looks by what is asked for each, since the place has a row for every order that anything was ever set aside for.
    -- `limit 1` and not `exists`, which may be answered by reading the table to its end once for all lines.
    select coalesce((select true from warehousing.stock k
        where k.tenant_id = v_tenant and k.bin_id = l.bin_id and k.item_id = l.item_id and k.written_off_at is null limit 1),
      (select true from warehousing.stock k
        where k.tenant_id = v_tenant and k.bin_id = l.bin_id and k.item_id = l.item_id and k.written_off_at is not null limit 1), false) as holds,
      coalesce((select sum(k.quantity) from warehousing.stock k
        where k.tenant_id = v_tenant and k.bin_id = l.bin_id and k.item_id = l.item_id and k.status = 'available' and k.written_off_at is null), 0)
      + coalesce((select sum(k.quantity) from warehousing.stock k
        where k.tenant_id = v_tenant and k.reserved_for_id = p_order and k.bin_id = l.bin_id and k.item_id = l.item_id), 0) as free) s
  where l.picked_quantity > l.quantity or not s.holds or s.free < l.wanted
  order by l.line limit 1;
  if not found then
    return;
  end if;
  if v_bad.too_much then
    perform app.fail('picked_too_much', jsonb_build_object('field', format('item_details.%s.picked_quantity', v_bad.place)));
  end if;
  perform app.fail(case when v_bad.holds then 'insufficient_stock' else 'item_not_in_bin' end,
    jsonb_build_object('field', format('item_details.%s.quantity', v_bad.place), 'item_id', v_bad.item_id));
end $$;

-- The progress as it is stored: its times are in UTC, whatever zone they were sent in.
create or replace function warehousing.picking_progress(progress jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_field text;
begin
  progress := coalesce(nullif(progress, 'null'), '{}');
  foreach v_field in array '{start_time,end_time}'::text[] loop
    if progress ? v_field then
      progress := progress || jsonb_build_object(v_field, app.instant(progress ->> v_field));
    end if;
  end loop;
  return progress;
end $$;

-- Refuses people who may not work picking orders: others than active members whose roles let them report progress, as its endpoint asks.
-- Fails: assignee_not_found.
create or replace function warehousing.require_assignee(assignee uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  if assignee is not null and not exists (
      select from tenancy.tenant_users u
      join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      where u.tenant_id = app.tenant_id() and u.user_id = assignee and u.is_active and (r.role_key in ('warehouse_manager', 'warehouse_staff')
        or exists (select from tenancy.role_permissions p where p.role_key = r.role_key
          and p.permission_key in ('view:tenant', 'manage:operations:tenant', 'manage:module:warehouse')))) then
    perform app.fail('assignee_not_found', '{"field": "assigned_to"}');
  end if;
end $$;

-- The status of a line of which another quantity is recorded: the words that picking itself writes follow the quantities, others stay.
create or replace function warehousing.picking_line_status(status text, quantity bigint, picked bigint) returns text
language plpgsql immutable strict set search_path = '' as $$
begin
  return case
    when status not in ('picked', 'short', 'missing') then status
    when picked = quantity then 'picked'
    when status = 'picked' then 'pending'
    when picked > 0 then 'short'
    else status end;
end $$;

-- Writes the lines of an order over those it has. What was picked from a place stays recorded where a line does not say otherwise: it fills
-- the lines of that place in their order, each at most to its quantity, and a line keeps the status of its predecessor.
create or replace function warehousing.picking_set_lines(p_order warehousing.picking_orders, lines jsonb) returns void
language plpgsql set search_path = '' as $$
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
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.picking_lines_written() from barid_caller;
