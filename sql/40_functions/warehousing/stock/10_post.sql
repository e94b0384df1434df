-- The only writer of stock and its movements. Definers, since nobody else may touch those tables, and
-- because a driver who picks a parcel up moves stock that he does not see. Each reads the caller's tenant
-- alone; who may ask is the business of the core that calls it.

-- Movements as rows, in their order.
create or replace function private.stock_lines(movements jsonb) returns table (
  line integer, type text, item_id uuid, warehouse_id uuid, quantity bigint, field text,
  comes boolean, from_bin uuid, from_status text, from_type text, from_for uuid,
  goes boolean, to_bin uuid, to_status text, to_type text, to_for uuid,
  from_lot text, from_serial text, to_lot text, to_serial text,
  reference_type text, reference_id uuid, reason text)
language sql immutable set search_path = '' as $$
  select m.line::integer, m.type, m.item_id, m.warehouse_id, m.quantity, coalesce(m.field, 'quantity'),
    m."from" is not null, (m."from" ->> 'bin_id')::uuid, coalesce(m."from" ->> 'status', 'available'),
    m."from" ->> 'reserved_for_type', (m."from" ->> 'reserved_for_id')::uuid,
    m."to" is not null, (m."to" ->> 'bin_id')::uuid, coalesce(m."to" ->> 'status', 'available'),
    m."to" ->> 'reserved_for_type', (m."to" ->> 'reserved_for_id')::uuid,
    m."from" ->> 'lot_number', m."from" ->> 'serial_number', m."to" ->> 'lot_number', m."to" ->> 'serial_number',
    m.reference_type, m.reference_id, m.reason
  from rows from (jsonb_to_recordset(movements) as (type text, item_id uuid, warehouse_id uuid, quantity bigint, field text,
    "from" jsonb, "to" jsonb, reference_type text, reference_id uuid, reason text)) with ordinality
    m (type, item_id, warehouse_id, quantity, field, "from", "to", reference_type, reference_id, reason, line)
$$;

-- Refuses movements that name no warehouse, no bin of it (in use, where something goes), no item, or a quantity that is none; and a serial
-- number that is missing where the item has them or counts more than one piece.
create or replace function private.stock_check(movements jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.*, i.id as known_item, f.id as known_from, t.id as known_to, t.is_active as bin_in_use, w.id as known_warehouse into v_bad
  from private.stock_lines(movements) l
  left join warehousing.warehouses w on w.tenant_id = v_tenant and w.id = l.warehouse_id and w.deleted_at is null
  left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id
  left join warehousing.bins f on f.tenant_id = v_tenant and f.warehouse_id = l.warehouse_id and f.id = l.from_bin
  left join warehousing.bins t on t.tenant_id = v_tenant and t.warehouse_id = l.warehouse_id and t.id = l.to_bin
  where i.id is null or w.id is null or (l.comes and f.id is null) or (l.goes and t.is_active is not true) or l.quantity is null or l.quantity <= 0
    or (l.goes and l.to_serial is not null and l.quantity <> 1) or (l.goes and i.is_serialized and l.to_serial is null)
  order by l.line limit 1;
  if not found then
    return;
  end if;
  if v_bad.known_warehouse is null then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', 'warehouse_id'));
  elsif v_bad.known_item is null then
    perform app.fail('inventory_item_not_found', jsonb_build_object('field', 'item_id', 'item_id', v_bad.item_id));
  elsif (v_bad.comes and v_bad.known_from is null) or (v_bad.goes and v_bad.known_to is null) then
    perform app.fail('bin_not_found', jsonb_build_object('field', 'bin_id'));
  elsif v_bad.goes and not v_bad.bin_in_use then
    perform app.fail('bin_inactive', jsonb_build_object('field', 'bin_id'));
  elsif v_bad.quantity is null or v_bad.quantity <= 0 then
    perform app.fail('validation_failed', jsonb_build_object('field', v_bad.field));
  elsif v_bad.to_serial is null then
    perform app.fail('serial_number_required', jsonb_build_object('field', 'serial_number', 'item_id', v_bad.item_id));
  else
    perform app.fail('serial_quantity_must_be_one', jsonb_build_object('field', v_bad.field, 'item_id', v_bad.item_id));
  end if;
end $$;

-- Moves whole units from one place to another, all or nothing, and notes each movement:
--   [{type, item_id, warehouse_id, quantity, from?, to?, reference_type?, reference_id?, reason?, field?}, ...]
--   from, to: {bin_id, status? ('available'), lot_number?, serial_number?, reserved_for_type?, reserved_for_id?}
-- Without `from` the units come in, without `to` they go out; both are in the one warehouse. `field` is what a
-- refusal names. Several movements of one place count together: what matters is what is left at the end.
-- A place that a movement of type write_off leaves empty is closed for good.
-- Locks the rows of all places in the order of their ids.
-- Fails: insufficient_stock, serial_number_taken, serial_number_required, serial_quantity_must_be_one,
-- warehouse_not_found, inventory_item_not_found, bin_not_found, bin_inactive.
create or replace function warehousing.stock_post(movements jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_from uuid[];
  v_to uuid[];
  v_short record;
begin
  if coalesce(jsonb_array_length(movements), 0) = 0 then
    return;
  end if;
  -- Whoever closes a warehouse or a bin, or gives an item serial numbers, waits for what is still coming in,
  -- and what comes later is judged by the change.
  perform from warehousing.warehouses w where w.tenant_id = v_tenant
    and w.id in (select l.warehouse_id from private.stock_lines(movements) l where l.goes) order by w.id for key share;
  perform from warehousing.bins b where b.tenant_id = v_tenant
    and b.id in (select l.to_bin from private.stock_lines(movements) l where l.goes) order by b.id for key share;
  perform from warehousing.inventory_items i where i.tenant_id = v_tenant
    and i.id in (select l.item_id from private.stock_lines(movements) l where l.goes) order by i.id for key share;
  perform private.stock_check(movements);

  -- In one order for everybody: two who open the same places would wait for each other in a circle.
  insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, status, lot_number, serial_number, reserved_for_type, reserved_for_id)
  select distinct v_tenant, l.warehouse_id, l.to_bin, l.item_id, l.to_status, l.to_lot, l.to_serial, l.to_type, l.to_for
  from private.stock_lines(movements) l where l.goes
    and not exists (select from warehousing.stock s
      where s.tenant_id = v_tenant and s.bin_id = l.to_bin and s.item_id = l.item_id and s.status = l.to_status
        and s.lot_number is not distinct from l.to_lot and s.serial_number is not distinct from l.to_serial
        and s.reserved_for_id is not distinct from l.to_for and s.written_off_at is null)
  order by l.to_bin, l.item_id, l.to_status, l.to_lot, l.to_serial, l.to_for
  on conflict do nothing;

  -- The row of each place, null where nothing ever lay. Asked line by line, each by its key.
  select array_agg((select s.id from warehousing.stock s
      where s.tenant_id = v_tenant and s.bin_id = l.from_bin and s.item_id = l.item_id and s.status = l.from_status
        and s.lot_number is not distinct from l.from_lot and s.serial_number is not distinct from l.from_serial
        and s.reserved_for_id is not distinct from l.from_for and s.written_off_at is null) order by l.line),
    array_agg((select s.id from warehousing.stock s
      where s.tenant_id = v_tenant and s.bin_id = l.to_bin and s.item_id = l.item_id and s.status = l.to_status
        and s.lot_number is not distinct from l.to_lot and s.serial_number is not distinct from l.to_serial
        and s.reserved_for_id is not distinct from l.to_for and s.written_off_at is null) order by l.line)
  into v_from, v_to from private.stock_lines(movements) l;
  perform from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_from || v_to) order by s.id for no key update;

  select l.field, l.item_id into v_short from private.stock_lines(movements) l where l.comes and v_from[l.line] is null
  order by l.line limit 1;
  if found then
    perform app.fail('insufficient_stock', jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id));
  end if;
  with net as (
    select g.id, sum(g.delta) as delta from (
      select v_from[l.line] as id, -l.quantity as delta from private.stock_lines(movements) l where l.comes
      union all
      select v_to[l.line], l.quantity from private.stock_lines(movements) l where l.goes) g
    group by g.id
  ), bad as materialized (
    select s.id, s.quantity + n.delta > 1 as twice
    from net n join warehousing.stock s on s.tenant_id = v_tenant and s.id = n.id
    where s.written_off_at is not null or s.quantity + n.delta < 0 or (s.serial_number is not null and s.quantity + n.delta > 1)
  )
  select l.field, l.item_id, b.twice into v_short
  from bad b join private.stock_lines(movements) l on b.id in (v_from[l.line], v_to[l.line])
  order by l.line limit 1;
  if found then
    perform app.fail(case when v_short.twice then 'serial_number_taken' else 'insufficient_stock' end,
      jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id));
  end if;

  insert into warehousing.inventory_transactions (tenant_id, transaction_type, item_id, warehouse_id, quantity, from_stock_id, to_stock_id,
    from_bin_id, to_bin_id, from_status, to_status, lot_number, serial_number, reference_type, reference_id, reason, performed_by)
  select v_tenant, l.type, l.item_id, l.warehouse_id, l.quantity, v_from[l.line], v_to[l.line],
    l.from_bin, l.to_bin, case when l.comes then l.from_status end, case when l.goes then l.to_status end,
    coalesce(l.to_lot, l.from_lot), coalesce(l.to_serial, l.from_serial), l.reference_type, l.reference_id, l.reason, v_actor
  from private.stock_lines(movements) l
  order by l.line;

  -- What is left first: a serial number may not be in two places, not even for a moment.
  for sign in 0..1 loop
    update warehousing.stock s set quantity = s.quantity + n.delta,
      written_off_at = case when s.quantity + n.delta = 0 and n.written_off then clock_timestamp() end
    from (
      select g.id, sum(g.delta) as delta, bool_or(g.written_off) as written_off from (
        select v_from[x.line] as id, -x.quantity as delta, x.type = 'write_off' as written_off
        from private.stock_lines(movements) x where x.comes
        union all
        select v_to[x.line], x.quantity, false from private.stock_lines(movements) x where x.goes) g
      group by g.id
    ) n
    where s.tenant_id = v_tenant and s.id = n.id and (sign = 0) = (n.delta < 0) and n.delta <> 0;
  end loop;
end $$;

grant execute on function warehousing.stock_post(jsonb) to barid_caller;
