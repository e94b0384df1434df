-- Which rows a demand is met from.

-- Locks what lies open at these places, [{item_id, bin_id}], in the order of ids: for those who take from
-- some and put into others in two steps, so that an opposite move waits instead of meeting in the middle.
create or replace function private.stock_hold(places jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[];
begin
  select array_agg(c.id) into v_rows
  from (select distinct p.item_id, p.bin_id from jsonb_to_recordset(places) as p (item_id uuid, bin_id uuid)) p
  cross join lateral (
    select s.id from warehousing.stock s
    where s.tenant_id = v_tenant and s.bin_id = p.bin_id and s.item_id = p.item_id and s.status = 'available' and s.written_off_at is null
    offset 0) c;
  perform from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_rows) order by s.id for no key update;
end $$;

-- Finds the rows that meet a demand, oldest first, and locks all that could.
--   lines: [{item_id, quantity, warehouse_id?, bin_id?, lot_number?, serial_number?, field?}, ...]; what is left out
--   may be anything. p_reserved_for: null takes available stock, otherwise what is reserved for that.
-- -> [{line, item_id, warehouse_id, bin_id, lot_number, serial_number, quantity}], line from 1
-- Lines that say more choose first, so that a line for any lot does not take the lot another asks for.
-- Fails: insufficient_stock (item_id, field).
create or replace function private.stock_allocate(lines jsonb, p_reserved_for uuid default null) returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_status text := case when p_reserved_for is null then 'available' else 'reserved' end;
  v_rows uuid[];
  v_taken jsonb := '[]';
  v_mask integer;
  v_short record;
begin
  -- Asked line by line (offset 0), each by its item: a plan for all at once reads whole warehouses.
  select array_agg(distinct c.id) into v_rows
  from jsonb_to_recordset(lines) as l (item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text)
  cross join lateral (
    select s.id from warehousing.stock s
    where s.tenant_id = v_tenant and s.item_id = l.item_id and s.status = v_status and s.quantity > 0
      and s.reserved_for_id is not distinct from p_reserved_for and s.written_off_at is null
      and (l.warehouse_id is null or s.warehouse_id = l.warehouse_id) and (l.bin_id is null or s.bin_id = l.bin_id)
      and (l.lot_number is null or s.lot_number = l.lot_number) and (l.serial_number is null or s.serial_number = l.serial_number)
    offset 0) c;
  perform from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_rows) order by s.id for no key update;

  for v_mask in
    select distinct num_nonnulls(l.serial_number) * 8 + num_nonnulls(l.lot_number) * 4 + num_nonnulls(l.bin_id) * 2 + num_nonnulls(l.warehouse_id) as mask
    from jsonb_to_recordset(lines) as l (warehouse_id uuid, bin_id uuid, lot_number text, serial_number text)
    order by mask desc
  loop
    -- Demands of one kind do not overlap unless they are equal: laid end to end beside the rows that may
    -- meet them, each takes the stretch it covers.
    with held as materialized (
      select s.* from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_rows)
    ), demand as materialized (
      select l.line, l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number, l.quantity,
        dense_rank() over (order by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number) as kind,
        sum(l.quantity) over (partition by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number order by l.line) as until
      from rows from (jsonb_to_recordset(lines) as (item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text,
        quantity bigint)) with ordinality l (item_id, warehouse_id, bin_id, lot_number, serial_number, quantity, line)
      where num_nonnulls(l.serial_number) * 8 + num_nonnulls(l.lot_number) * 4 + num_nonnulls(l.bin_id) * 2 + num_nonnulls(l.warehouse_id) = v_mask
    ), supply as materialized (
      select k.kind, s.id, s.item_id, s.warehouse_id, s.bin_id, s.lot_number, s.serial_number, o.quantity,
        sum(o.quantity) over (partition by k.kind order by s.created_at, s.id) as until
      from (select distinct on (d.kind) d.* from demand d order by d.kind) k
      join held s on s.item_id = k.item_id and s.status = v_status and s.quantity > 0
        and (k.warehouse_id is null or s.warehouse_id = k.warehouse_id) and (k.bin_id is null or s.bin_id = k.bin_id)
        and (k.lot_number is null or s.lot_number = k.lot_number) and (k.serial_number is null or s.serial_number = k.serial_number)
      cross join lateral (
        select s.quantity - coalesce(sum(t.quantity), 0) as quantity
        from jsonb_to_recordset(v_taken) as t (stock_id uuid, quantity bigint) where t.stock_id = s.id) o
      where o.quantity > 0
    )
    select v_taken || coalesce(jsonb_agg(jsonb_build_object('line', d.line, 'stock_id', p.id, 'item_id', p.item_id,
      'warehouse_id', p.warehouse_id, 'bin_id', p.bin_id, 'lot_number', p.lot_number, 'serial_number', p.serial_number,
      'quantity', least(d.until, p.until) - greatest(d.until - d.quantity, p.until - p.quantity)) order by d.line, p.until), '[]')
    into v_taken
    from demand d join supply p on p.kind = d.kind and p.until - p.quantity < d.until and d.until - d.quantity < p.until;
  end loop;

  select l.item_id, coalesce(l.field, 'quantity') as field into v_short
  from rows from (jsonb_to_recordset(lines) as (item_id uuid, quantity bigint, field text)) with ordinality l (item_id, quantity, field, line)
  left join (
    select t.line, sum(t.quantity) as quantity from jsonb_to_recordset(v_taken) as t (line bigint, quantity bigint) group by t.line
  ) t on t.line = l.line
  where l.quantity > coalesce(t.quantity, 0)
  order by l.line limit 1;
  if found then
    perform app.fail('insufficient_stock', jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id));
  end if;
  return (select coalesce(jsonb_agg(t.one - 'stock_id' order by (t.one ->> 'line')::integer), '[]') from jsonb_array_elements(v_taken) t (one));
end $$;

grant execute on function private.stock_hold(jsonb), private.stock_allocate(jsonb, uuid) to barid_caller;
