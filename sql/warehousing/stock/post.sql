-- The only writer of stock and its movements. Its entrances are SECURITY DEFINER, since nobody else may touch those
-- tables, and because a driver who picks a parcel up moves stock that they do not see. Each reads the caller's tenant
-- alone; who may ask is the business of the core that calls it.

-- A movement, with the rows of both its places once they are known; and what a row gains or loses by all of them.
do $$
begin
  if to_regtype('private.stock_movement') is null then
    create type private.stock_movement as (
      line integer, type text, item_id uuid, warehouse_id uuid, quantity bigint, field text,
      comes boolean, from_bin uuid, from_status text, from_for uuid, from_lot text, from_serial text, from_stock uuid,
      goes boolean, to_bin uuid, to_status text, to_type text, to_for uuid, to_lot text, to_serial text, to_stock uuid,
      reference_type text, reference_id uuid, reason text, note text);
  end if;
  if to_regtype('private.stock_change') is null then
    create type private.stock_change as (stock_id uuid, delta bigint, written_off boolean);
  end if;
end $$;

-- Movements, read out of their JSON once, however often they are asked afterwards.
create or replace function warehousing.stock_movements(movements jsonb) returns private.stock_movement[]
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select array_agg((m.line, m.type, m.item_id, m.warehouse_id, m.quantity, coalesce(m.field, 'quantity'),
      m."from" is not null, f.bin_id, coalesce(f.status, 'available'), f.reserved_for_id, f.lot_number, f.serial_number, null,
      m."to" is not null, t.bin_id, coalesce(t.status, 'available'), t.reserved_for_type, t.reserved_for_id, t.lot_number, t.serial_number, null,
      m.reference_type, m.reference_id, m.reason, m.note)::private.stock_movement order by m.line)
    from rows from (jsonb_to_recordset(movements) as (type text, item_id uuid, warehouse_id uuid, quantity bigint, field text,
      "from" jsonb, "to" jsonb, reference_type text, reference_id uuid, reason text, note text)) with ordinality
      m (type, item_id, warehouse_id, quantity, field, "from", "to", reference_type, reference_id, reason, note, line)
    cross join lateral jsonb_to_record(coalesce(m."from", '{}')) as f (bin_id uuid, status text, reserved_for_id uuid,
      lot_number text, serial_number text)
    cross join lateral jsonb_to_record(coalesce(m."to", '{}')) as t (bin_id uuid, status text, reserved_for_type text, reserved_for_id uuid,
      lot_number text, serial_number text));
end $$;

-- The name of what a line says beside its quantity, which `field` names: items.3.quantity, bin_id -> items.3.bin_id
create or replace function warehousing.beside_quantity(field text, name text) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return regexp_replace(field, '[^.]*$', '') || name;
end $$;

-- True for a movement of units without a serial number that had none before: they lie where it takes them from, or come back from outside as
-- they left (warehousing.returns_as_left). Items become serialized while units of them are out, and such units stay without one.
create or replace function warehousing.has_no_serial(m private.stock_movement) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  if not m.comes then
    return warehousing.returns_as_left(m.type, m.reference_type);
  end if;
  return exists (
    select from warehousing.stock s
    where s.tenant_id = app.tenant_id() and s.bin_id = m.from_bin and s.item_id = m.item_id and s.status = m.from_status
      and s.serial_number is null and s.quantity > 0);
end $$;

-- True for what comes in as it left, without anybody who names it anew: by a transfer or a waybill, or expected by a receiving order.
create or replace function warehousing.returns_as_left(transaction_type text, reference_type text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return transaction_type = 'transfer_in' or coalesce(reference_type = 'receiving_order', false);
end $$;

-- Refuses movements that name no warehouse, no bin of it, no item, or a quantity that is none; and a serial number that is missing where the
-- item has them (but not of what has none: warehousing.has_no_serial) or counts more than one piece. Something goes into bins in use, and into no
-- cage of a sorting session, which is taken down with it; what lies in a bin is set aside there, and free again, whatever became of the bin.
-- Fails: warehouse_not_found, inventory_item_not_found, bin_not_found, bin_inactive, bin_of_sorting_session, validation_failed,
-- serial_number_required, serial_quantity_must_be_one.
create or replace function warehousing.require_stock_movement(movements private.stock_movement[]) returns void
language plpgsql stable set search_path = '' as $$
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
end $$;

-- The same movements with the rows of their places; null where nothing ever lay.
create or replace function warehousing.stock_places(movements private.stock_movement[]) returns private.stock_movement[]
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  -- In the words of the index stock_place: what is set aside for nobody is the tenant's.
  return (
    select array_agg((l.line, l.type, l.item_id, l.warehouse_id, l.quantity, l.field,
      l.comes, l.from_bin, l.from_status, l.from_for, l.from_lot, l.from_serial, coalesce(l.from_stock, f.id),
      l.goes, l.to_bin, l.to_status, l.to_type, l.to_for, l.to_lot, l.to_serial, coalesce(l.to_stock, t.id),
      l.reference_type, l.reference_id, l.reason, l.note)::private.stock_movement order by l.line)
    from unnest(movements) l
    left join warehousing.stock f on l.from_stock is null and f.tenant_id = v_tenant and f.bin_id = l.from_bin and f.item_id = l.item_id
      and f.status = l.from_status and coalesce(f.lot_number, '') = coalesce(l.from_lot, '')
      and coalesce(f.serial_number, '') = coalesce(l.from_serial, '') and coalesce(f.reserved_for_id, f.tenant_id) = coalesce(l.from_for, v_tenant)
      and f.written_off_at is null
    left join warehousing.stock t on l.to_stock is null and t.tenant_id = v_tenant and t.bin_id = l.to_bin and t.item_id = l.item_id
      and t.status = l.to_status and coalesce(t.lot_number, '') = coalesce(l.to_lot, '')
      and coalesce(t.serial_number, '') = coalesce(l.to_serial, '') and coalesce(t.reserved_for_id, t.tenant_id) = coalesce(l.to_for, v_tenant)
      and t.written_off_at is null);
end $$;

-- stock_places(), and opens what something goes to where nothing ever lay.
create or replace function warehousing.stock_open(movements private.stock_movement[]) returns private.stock_movement[]
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  movements := warehousing.stock_places(movements);
  if exists (select from unnest(movements) l where l.goes and l.to_stock is null) then
    -- In one order for everybody: two who open the same places would wait for each other in a circle.
    insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, status, lot_number, serial_number, reserved_for_type, reserved_for_id)
    select distinct v_tenant, l.warehouse_id, l.to_bin, l.item_id, l.to_status, l.to_lot, l.to_serial, l.to_type, l.to_for
    from unnest(movements) l where l.goes and l.to_stock is null
    order by l.to_bin, l.item_id, l.to_status, l.to_lot, l.to_serial, l.to_for
    on conflict do nothing;
    movements := warehousing.stock_places(movements);
  end if;
  return movements;
end $$;

-- Moves whole units from one place to another, all or nothing, and notes each movement:
--   [{type, item_id, warehouse_id, quantity, from?, to?, reference_type?, reference_id?, reason?, note?, field?}, ...]
--   from, to: {bin_id, status? ('available'), lot_number?, serial_number?, reserved_for_type?, reserved_for_id?}
-- Without `from` the units come in, without `to` they go out; both are in the one warehouse. `field` is what a
-- refusal names. Several movements of one place count together: what matters is what is left at the end.
-- A place that a movement of type write_off leaves empty is closed for good.
-- Locks the rows of all places in the order of their ids.
-- Fails: insufficient_stock, serial_number_taken (serial_number; warehouse, bin: where it lies), serial_number_required,
-- serial_quantity_must_be_one, warehouse_not_found, inventory_item_not_found, bin_not_found, bin_inactive.
create or replace function warehousing.stock_post(movements jsonb) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform warehousing.stock_move(warehousing.stock_movements(movements));
end $$;

-- Refuses a movement of more than lies at its place. Where lots or pieces lie there, and it names none, the text says so.
-- Fails: insufficient_stock.
create or replace function warehousing.stock_short(m private.stock_movement) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform app.fail('insufficient_stock', jsonb_strip_nulls(jsonb_build_object('field', m.field, 'item_id', m.item_id,
    'text_key', case when m.from_lot is null and m.from_serial is null and exists (
      select from warehousing.stock s
      where s.tenant_id = app.tenant_id() and s.bin_id = m.from_bin and s.item_id = m.item_id and s.status = m.from_status and s.quantity > 0
        and (s.lot_number is not null or s.serial_number is not null)) then 'reason_stock_of_lot' end)));
end $$;

-- Refuses a piece that would be in two places, and says where it lies; nothing of that where one request names it twice. Who receives a parcel
-- or a waybill has sent no serial number, so no field is named.
-- Fails: serial_number_taken.
create or replace function warehousing.serial_is_taken(m private.stock_movement) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform app.fail('serial_number_taken', jsonb_strip_nulls(jsonb_build_object('item_id', m.item_id,
      'field', case when m.reference_type in ('receiving_order', 'waybill') then null else warehousing.beside_quantity(m.field, 'serial_number') end,
      'serial_number', m.to_serial)) || coalesce((
    select jsonb_build_object('warehouse', jsonb_build_object('id', w.id, 'name', w.name), 'bin', jsonb_build_object('id', b.id, 'code', b.code))
    from warehousing.stock s
    join warehousing.warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id
    join warehousing.bins b on b.tenant_id = s.tenant_id and b.id = s.bin_id
    where s.tenant_id = app.tenant_id() and s.item_id = m.item_id and s.serial_number = m.to_serial and s.quantity > 0), '{}'));
end $$;

-- stock_post() of movements that were read already, in the order of their lines.
create or replace function warehousing.stock_move(movements private.stock_movement[]) returns void
language plpgsql set search_path = '' as $$
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
end $$;

-- Writes what rows of stock gain and lose, which are held.
create or replace function warehousing.stock_write(changes private.stock_change[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  update warehousing.stock s set quantity = s.quantity + c.delta,
    written_off_at = case when s.quantity + c.delta = 0 and c.written_off then clock_timestamp() end
  from unnest(changes) c
  where s.tenant_id = v_tenant and s.id = c.stock_id and c.delta <> 0;
end $$;

grant execute on function warehousing.stock_post(jsonb) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.require_stock_movement(private.stock_movement[]), warehousing.stock_move(private.stock_movement[]),
  warehousing.stock_movements(jsonb), warehousing.stock_open(private.stock_movement[]),
  warehousing.stock_places(private.stock_movement[]), warehousing.stock_write(private.stock_change[]),
  warehousing.stock_short(private.stock_movement), warehousing.serial_is_taken(private.stock_movement),
  warehousing.has_no_serial(private.stock_movement), warehousing.returns_as_left(text,text),
  warehousing.beside_quantity(text,text) from barid_caller;
