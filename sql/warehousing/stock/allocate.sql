-- Which rows a demand is met from.

-- A demand, where null matches anything; `rank` is higher the more a line specifies. And the part of a row that meets it.
do $$
begin
  if to_regtype('private.stock_demand') is null then
    create type private.stock_demand as (
      line integer, item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text, quantity bigint, field text, rank integer);
  end if;
  if to_regtype('private.stock_part') is null then
    create type private.stock_part as (
      line integer, stock_id uuid, item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text, quantity bigint);
  end if;
end $$;

-- Locks what lies open at these places, [{item_id, bin_id}], in the order of ids: for those who take from
-- some and put into others in two steps, so that an opposite move waits instead of meeting in the middle.
create or replace function warehousing.lock_stock_places(places jsonb) returns void
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

-- Locks what is available of these items in a warehouse, in the order of ids: for those who number something before they reserve it, since
-- an order of a store numbers its deliveries when it has the stock.
create or replace function warehousing.lock_stock_of_items(item_ids uuid[], warehouse uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from warehousing.stock s
  where s.tenant_id = v_tenant and s.item_id = any (item_ids) and s.warehouse_id = warehouse and s.status = 'available' and s.quantity > 0
    and s.written_off_at is null
  order by s.id for no key update;
end $$;

-- Finds the rows that meet a demand, oldest first, and locks all that could; `beside` are rows to be locked with them.
--   p_reserved_for: null takes available stock, otherwise what is reserved for that.
-- Lines that say more choose first, so that a line for any lot does not take the lot another asks for.
-- Fails: insufficient_stock (item_id, field).
create or replace function warehousing.stock_take(demands private.stock_demand[], p_reserved_for uuid default null, beside uuid[] default '{}')
returns private.stock_part[]
-- Of an array PostgreSQL expects ten rows: it would compare each line with each row, a thousand with a thousand.
language plpgsql set search_path = '' set enable_nestloop = off as $$
declare
  v_tenant uuid := app.tenant_id();
  v_status text := case when p_reserved_for is null then 'available' else 'reserved' end;
  v_rows uuid[];
  v_taken private.stock_part[] := '{}';
  v_rank integer;
  v_short record;
begin
  -- Asked line by line (offset 0), each by its item or by whom it is set aside for: a plan for all at once reads whole warehouses.
  if p_reserved_for is null then
    v_rows := array(
      select c.id from unnest(demands) l
      cross join lateral (
        select s.id from warehousing.stock s
        where s.tenant_id = v_tenant and s.item_id = l.item_id and s.status = 'available' and s.quantity > 0 and s.written_off_at is null
          and (l.warehouse_id is null or s.warehouse_id = l.warehouse_id) and (l.bin_id is null or s.bin_id = l.bin_id)
          and (l.lot_number is null or s.lot_number = l.lot_number) and (l.serial_number is null or s.serial_number = l.serial_number)
        offset 0) c);
  else
    v_rows := array(
      select c.id from unnest(demands) l
      cross join lateral (
        select s.id from warehousing.stock s
        where s.tenant_id = v_tenant and s.reserved_for_id = p_reserved_for and s.item_id = l.item_id and s.quantity > 0
          and (l.warehouse_id is null or s.warehouse_id = l.warehouse_id) and (l.bin_id is null or s.bin_id = l.bin_id)
          and (l.lot_number is null or s.lot_number = l.lot_number) and (l.serial_number is null or s.serial_number = l.serial_number)
        offset 0) c);
  end if;
  perform from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_rows || beside) order by s.id for no key update;

  for v_rank in select distinct l.rank from unnest(demands) l order by l.rank desc loop
    -- Demands of one rank do not overlap unless they are equal: laid end to end beside the rows that may
    -- meet them, each takes the stretch it covers.
    with demand as materialized (
      select l.line, l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number, l.quantity,
        dense_rank() over (order by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number) as kind,
        sum(l.quantity) over (partition by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number order by l.line) as until
      from unnest(demands) l where l.rank = v_rank
    ), held as materialized (
      select s.id, s.item_id, s.warehouse_id, s.bin_id, s.lot_number, s.serial_number, s.created_at, s.quantity - coalesce(t.quantity, 0) as quantity
      from warehousing.stock s
      left join (select p.stock_id, sum(p.quantity) as quantity from unnest(v_taken) p group by p.stock_id) t on t.stock_id = s.id
      where s.tenant_id = v_tenant and s.id = any (v_rows) and s.status = v_status and s.quantity > coalesce(t.quantity, 0)
    ), supply as materialized (
      select k.kind, s.id, s.item_id, s.warehouse_id, s.bin_id, s.lot_number, s.serial_number, s.quantity,
        sum(s.quantity) over (partition by k.kind order by s.created_at, s.id) as until
      from (select distinct on (d.kind) d.* from demand d order by d.kind) k
      join held s on s.item_id = k.item_id
        and (k.warehouse_id is null or s.warehouse_id = k.warehouse_id) and (k.bin_id is null or s.bin_id = k.bin_id)
        and (k.lot_number is null or s.lot_number = k.lot_number) and (k.serial_number is null or s.serial_number = k.serial_number)
    )
    select v_taken || coalesce(array_agg((d.line, p.id, p.item_id, p.warehouse_id, p.bin_id, p.lot_number, p.serial_number,
      least(d.until, p.until) - greatest(d.until - d.quantity, p.until - p.quantity))::private.stock_part order by d.line, p.until), '{}')
    into v_taken
    from demand d join supply p on p.kind = d.kind and p.until - p.quantity < d.until and d.until - d.quantity < p.until;
  end loop;

  select l.item_id, l.field, l.quantity as requested, coalesce(t.quantity, 0) as available into v_short
  from unnest(demands) l
  left join (select p.line, sum(p.quantity) as quantity from unnest(v_taken) p group by p.line) t on t.line = l.line
  where l.quantity > coalesce(t.quantity, 0)
  order by l.line limit 1;
  if found then
    perform app.fail('insufficient_stock', jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id,
      'requested', v_short.requested, 'available', v_short.available) || coalesce((
        select jsonb_build_object('text_key', 'insufficient_stock_of', 'item_name', i.name) from warehousing.inventory_items i
        where i.tenant_id = v_tenant and i.id = v_short.item_id), '{}'));
  end if;
  return v_taken;
end $$;

-- stock_take() in JSON. lines: [{item_id, quantity, warehouse_id?, bin_id?, lot_number?, serial_number?, field?}, ...]; what is
-- left out may be anything. -> [{line, item_id, warehouse_id, bin_id, lot_number, serial_number, quantity}], line from 1
-- Fails: insufficient_stock (item_id, field).
create or replace function warehousing.stock_allocate(lines jsonb, p_reserved_for uuid default null) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_taken private.stock_part[] := warehousing.stock_take((
    select array_agg((l.line, l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number, l.quantity, coalesce(l.field, 'quantity'),
      warehousing.stock_rank(l.warehouse_id, l.bin_id, l.lot_number, l.serial_number))::private.stock_demand order by l.line)
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text,
      quantity bigint, field text)) with ordinality l (item_id, warehouse_id, bin_id, lot_number, serial_number, quantity, field, line)),
    p_reserved_for);
begin
  return (select coalesce(jsonb_agg(to_jsonb(p) - 'stock_id' order by p.line), '[]') from unnest(v_taken) p);
end $$;

-- How much a demand says of where it is met from: higher chooses first.
create or replace function warehousing.stock_rank(warehouse_id uuid, bin_id uuid, lot_number text, serial_number text) returns integer
language plpgsql immutable set search_path = '' as $$
begin
  return num_nonnulls(serial_number) * 8 + num_nonnulls(lot_number) * 4 + num_nonnulls(bin_id) * 2 + num_nonnulls(warehouse_id);
end $$;

grant execute on function warehousing.lock_stock_places(jsonb), warehousing.lock_stock_of_items(uuid[], uuid),
  warehousing.stock_allocate(jsonb, uuid) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.stock_rank(uuid,uuid,text,text),
  warehousing.stock_take(private.stock_demand[],uuid,uuid[]) from barid_caller;
