-- Stock by the books at counted places.

-- The rows that a count of these lines may write: those of the places it names, opened where something was found and nothing ever lay,
-- and with `whole_bins` every other place of the same bins that holds something. What is in parcels is none of it: it goes with them.
create or replace function warehousing.stock_count_rows(lines warehousing.inventory_count_lines[], whole_bins boolean) returns uuid[]
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[] := array(
    select p.to_stock
    from unnest(warehousing.stock_open(array(
      select (l.position, 'count', l.item_id, l.warehouse_id, l.counted, null, false, null, null, null, null, null, null,
        l.counted > 0, l.bin_id, l.status, null, null, l.lot_number, l.serial_number, null, null, null, null, null)::private.stock_movement
      from unnest(lines) l))) p
    where p.to_stock is not null);
begin
  if whole_bins then
    v_rows := array(
      select r.id from unnest(v_rows) r (id)
      union
      select s.id from (select distinct l.warehouse_id, l.bin_id from unnest(lines) l) b
      cross join lateral (
        select s.id, s.item_id from warehousing.stock s
        where s.tenant_id = v_tenant and s.warehouse_id = b.warehouse_id and s.bin_id = b.bin_id and s.reserved_for_id is null and s.quantity > 0
        offset 0) s
      where (select i.parcel_delivery_id from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = s.item_id) is null);
  end if;
  return v_rows;
end $$;

-- The quantities of these lines by the books, read at once: `expected` is all that lies at a place, `reserved` what of it is
-- set aside for somebody. With `whole_bins` what else lies in the same bins follows them, as found nowhere (counted 0).
-- `settled`: each row that a difference would be booked on is among `held`.
create or replace function warehousing.stock_count_look(
  lines warehousing.inventory_count_lines[], whole_bins boolean, held uuid[], out beside warehousing.inventory_count_lines[], out settled boolean
)
-- Of an array PostgreSQL expects ten rows: it would compare each line with each row, a thousand with a thousand.
language plpgsql stable set search_path = '' set enable_nestloop = off as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  with here as materialized (
    select s.* from (
      select distinct l.warehouse_id, l.bin_id, l.item_id, e.status
      from unnest(lines) l
      cross join lateral (values (l.status), (case when l.status = 'available' then 'reserved' end)) e (status)
      where e.status is not null and not whole_bins) p
    cross join lateral (
      select s.id, s.warehouse_id, s.bin_id, s.item_id, s.status, s.lot_number, s.serial_number, s.quantity from warehousing.stock s
      where s.tenant_id = v_tenant and s.warehouse_id = p.warehouse_id and s.status = p.status and s.bin_id = p.bin_id and s.item_id = p.item_id
        and s.quantity > 0
      offset 0) s
    union all
    select s.* from (select distinct l.warehouse_id, l.bin_id from unnest(lines) l where whole_bins) p
    cross join lateral (
      select s.id, s.warehouse_id, s.bin_id, s.item_id, s.status, s.lot_number, s.serial_number, s.quantity from warehousing.stock s
      where s.tenant_id = v_tenant and s.warehouse_id = p.warehouse_id and s.bin_id = p.bin_id and s.quantity > 0
      offset 0) s
    where (select i.parcel_delivery_id from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = s.item_id) is null
  ), places as (
    -- Texts of lots and serials are never empty, so nothing else is like none.
    select h.warehouse_id, h.bin_id, h.item_id, case h.status when 'reserved' then 'available' else h.status end as status,
      coalesce(h.lot_number, '') as lot, coalesce(h.serial_number, '') as serial, sum(h.quantity)::bigint as expected,
      coalesce(sum(h.quantity) filter (where h.status = 'reserved'), 0)::bigint as reserved,
      bool_and(h.status = 'reserved' or r.id is not null) as settled
    from here h left join unnest(held) r (id) on r.id = h.id
    group by 1, 2, 3, 4, 5, 6
  ), told as (
    select row_number() over (order by l.position nulls last,
        case when l.position is null then (select b.code from warehousing.bins b where b.tenant_id = v_tenant and b.id = p.bin_id) end,
        case when l.position is null then (select i.sku from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = p.item_id) end,
        p.item_id, p.status, p.lot, p.serial) as position,
      coalesce(l.warehouse_id, p.warehouse_id) as warehouse_id, coalesce(l.bin_id, p.bin_id) as bin_id, coalesce(l.item_id, p.item_id) as item_id,
      coalesce(l.status, p.status) as status, coalesce(l.lot_number, nullif(p.lot, '')) as lot_number,
      coalesce(l.serial_number, nullif(p.serial, '')) as serial_number, coalesce(p.expected, 0) as expected,
      coalesce(p.reserved, 0) as reserved, coalesce(l.counted, 0) as counted, coalesce(p.settled, true) as settled
    from unnest(lines) l
    full join places p on p.bin_id = l.bin_id and p.item_id = l.item_id and p.status = l.status
      and p.lot = coalesce(l.lot_number, '') and p.serial = coalesce(l.serial_number, '')
    where whole_bins or l.position is not null
  )
  select array_agg((null, null, t.position, t.warehouse_id, t.bin_id, t.item_id, t.status, t.lot_number, t.serial_number, t.expected,
      t.reserved, t.counted)::warehousing.inventory_count_lines order by t.position), bool_and(t.settled)
  into beside, settled
  from told t;
end $$;

-- Lines that were counted, [(position from 1, warehouse_id, bin_id, item_id, status, lot_number, serial_number, counted)], beside what the
-- books say (see stock_count_look), with every row locked that a difference is booked on, in the order of ids: until the end nobody
-- puts anything there, takes it away or sets it aside. What is set aside is looked at and not locked: it only becomes less, and no
-- difference is booked on it, so whoever takes it meanwhile has taken it after the count.
create or replace function warehousing.stock_counted(lines warehousing.inventory_count_lines[], whole_bins boolean)
returns warehousing.inventory_count_lines[]
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[];
  v_closed boolean;
  v_look record;
begin
  for attempt in 1..20 loop
    v_rows := warehousing.stock_count_rows(lines, whole_bins);
    begin
      select coalesce(bool_or(h.closed), false) into v_closed from (
        select s.written_off_at is not null as closed from warehousing.stock s
        where s.tenant_id = v_tenant and s.id = any (v_rows) order by s.id for no key update) h;
      v_look := warehousing.stock_count_look(lines, whole_bins, v_rows);
      if v_look.settled and not v_closed then
        return v_look.beside;
      end if;
      raise exception using errcode = 'COUNT', message = 'something came to a place of the count that is not held';
    exception when sqlstate 'COUNT' then
      -- It came while the count waited for others. Locked now, it would be out of order: all is let go, and begun again.
      null;
    end;
  end loop;
  raise exception 'what lies in the bins of the count changed all the time' using errcode = 'serialization_failure';
end $$;

grant execute on function warehousing.stock_counted(warehousing.inventory_count_lines[], boolean) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.stock_count_look(warehousing.inventory_count_lines[],boolean,uuid[]),
  warehousing.stock_count_rows(warehousing.inventory_count_lines[],boolean) from barid_caller;
