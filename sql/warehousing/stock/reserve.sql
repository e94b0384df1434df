-- Reserving, giving back and letting go: what cores of orders and parcels call.

-- Sets stock aside for a picking order or a storefront order, all or nothing. Only what is available, holds
-- something and was never written off; oldest first.
--   lines: [{item_id, quantity, warehouse_id?, bin_id?, lot_number?, serial_number?, field?}, ...]
-- -> [{line, item_id, warehouse_id, bin_id, lot_number, serial_number, quantity}]
-- Fails: insufficient_stock (item_id, field).
create or replace function warehousing.stock_reserve(p_type text, p_id uuid, lines jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_found jsonb := warehousing.stock_allocate(lines);
begin
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'reserve', 'item_id', f.item_id, 'warehouse_id', f.warehouse_id, 'quantity', f.quantity,
      'from', p.place, 'to', p.place || jsonb_build_object('status', 'reserved', 'reserved_for_type', p_type, 'reserved_for_id', p_id),
      'reference_type', p_type, 'reference_id', p_id) order by f.line)
    from jsonb_to_recordset(v_found) as f (line integer, item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text, quantity bigint)
    cross join lateral (select jsonb_strip_nulls(jsonb_build_object(
      'bin_id', f.bin_id, 'lot_number', f.lot_number, 'serial_number', f.serial_number)) as place) p));
  return v_found;
end $$;

-- Reserved stock by its holder, in one warehouse or in all: the rows of stock_allocate(), one a place.
create or replace function warehousing.stock_reserved(p_type text, p_id uuid, warehouse uuid default null) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item_id', s.item_id, 'warehouse_id', s.warehouse_id, 'bin_id', s.bin_id,
      'lot_number', s.lot_number, 'serial_number', s.serial_number, 'quantity', s.quantity) order by s.created_at, s.id), '[]')
    from warehousing.stock s
    where s.tenant_id = app.tenant_id() and s.reserved_for_id = p_id and s.reserved_for_type = p_type and s.quantity > 0
      and (warehouse is null or s.warehouse_id = warehouse));
end $$;

-- Gives what is reserved back to where it was taken from: all of it, or only `lines`
-- [{item_id, quantity, warehouse_id?, bin_id?, lot_number?, serial_number?}]. -> what was given back, as stock_reserve() answers.
-- Fails: insufficient_stock (lines ask for more than is reserved).
create or replace function warehousing.stock_release(p_type text, p_id uuid, lines jsonb default null) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_found jsonb := case when lines is null then warehousing.stock_reserved(p_type, p_id) else warehousing.stock_allocate(lines, p_id) end;
begin
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'release', 'item_id', f.item_id, 'warehouse_id', f.warehouse_id, 'quantity', f.quantity,
      'from', p.place || jsonb_build_object('status', 'reserved', 'reserved_for_type', p_type, 'reserved_for_id', p_id), 'to', p.place,
      'reference_type', p_type, 'reference_id', p_id))
    from jsonb_to_recordset(v_found) as f (item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text, quantity bigint)
    cross join lateral (select jsonb_strip_nulls(jsonb_build_object(
      'bin_id', f.bin_id, 'lot_number', f.lot_number, 'serial_number', f.serial_number)) as place) p));
  return v_found;
end $$;

-- Lets what is reserved leave the house, all of it, or what of it lies in one warehouse. The movements are of `transaction_type` and name
-- `reference_type`, `reference_id`: whoever it was reserved for unless said. -> what left, as stock_reserve() answers.
create or replace function warehousing.stock_exit(
  p_type text, p_id uuid, transaction_type text default 'pick', reference_type text default null, reference_id uuid default null,
  warehouse uuid default null
) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_found jsonb := warehousing.stock_reserved(p_type, p_id, warehouse);
begin
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', stock_exit.transaction_type, 'item_id', f.item_id, 'warehouse_id', f.warehouse_id,
      'quantity', f.quantity, 'from', jsonb_strip_nulls(jsonb_build_object('bin_id', f.bin_id, 'lot_number', f.lot_number,
        'serial_number', f.serial_number, 'status', 'reserved', 'reserved_for_type', p_type, 'reserved_for_id', p_id)),
      'reference_type', coalesce(stock_exit.reference_type, p_type), 'reference_id', coalesce(stock_exit.reference_id, p_id)))
    from jsonb_to_recordset(v_found) as f (item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text, quantity bigint)));
  return v_found;
end $$;

-- Takes stock into the house: [{item_id, warehouse_id, bin_id, quantity, status? ('available'), lot_number?,
-- serial_number?, field?}, ...]; transaction_type is receive, initial_stock, return or transfer_in. Of what returns as it left
-- (warehousing.returns_as_left) a piece that was booked in meanwhile, as by a count, is not booked twice: where it lies in this warehouse, its
-- movement begins and ends there, or makes it damaged there; a piece that is damaged and set aside for somebody is refused, as it would be sent.
-- Fails: what stock_post() fails with.
create or replace function warehousing.stock_receive(
  lines jsonb, transaction_type text default 'receive', reference_type text default null, reference_id uuid default null, reason text default null
) returns void
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- Where a warehouse of the caller's tenant receives when nobody says otherwise, or null.
create or replace function warehousing.default_receiving_bin(warehouse uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select b.id from warehousing.bins b
    where b.tenant_id = app.tenant_id() and b.warehouse_id = warehouse and b.is_default_receiving and b.is_active);
end $$;

grant execute on function warehousing.stock_reserve(text, uuid, jsonb), warehousing.stock_release(text, uuid, jsonb),
  warehousing.stock_exit(text, uuid, text, text, uuid, uuid), warehousing.stock_receive(jsonb, text, text, uuid, text),
  warehousing.default_receiving_bin(uuid) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.stock_reserved(text,uuid,uuid) from barid_caller;
