-- Moves what the lines of an inventory transfer ask for into their other warehouse; lots and serial numbers go along.
-- Both ends are locked at once, so that a transfer the other way waits instead of holding what this one needs.
-- Fails: insufficient_stock, and what stock_post() fails with.
create or replace function warehousing.stock_transfer(transfer uuid, source uuid, destination uuid, lines warehousing.inventory_transfer_items[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_taken private.stock_part[] := warehousing.stock_take(
    array(select (l.position, l.item_id, stock_transfer.source, l.source_bin_id, l.lot_number, l.serial_number, l.quantity,
        format('items.%s.quantity', l.position - 1),
        warehousing.stock_rank(stock_transfer.source, l.source_bin_id, l.lot_number, l.serial_number))::private.stock_demand
      from unnest(lines) l),
    null,
    array(select c.id from (select distinct l.item_id, l.destination_bin_id from unnest(lines) l) p
      cross join lateral (
        select s.id from warehousing.stock s
        where s.tenant_id = v_tenant and s.bin_id = p.destination_bin_id and s.item_id = p.item_id and s.status = 'available'
          and s.written_off_at is null
        offset 0) c));
begin
  perform warehousing.stock_move(array(
    select (2 * p.n + m.step, m.type, p.item_id, m.warehouse_id, p.quantity, format('items.%s.quantity', p.line - 1),
      m.leaves, case when m.leaves then p.bin_id end, 'available', null, case when m.leaves then p.lot_number end,
      case when m.leaves then p.serial_number end, case when m.leaves then p.stock_id end,
      not m.leaves, case when not m.leaves then lines[p.line].destination_bin_id end, 'available', null, null,
      case when not m.leaves then p.lot_number end, case when not m.leaves then p.serial_number end, null,
      'transfer', transfer, null, null)::private.stock_movement
    from unnest(v_taken) with ordinality p (line, stock_id, item_id, warehouse_id, bin_id, lot_number, serial_number, quantity, n)
    cross join lateral (values (0, 'transfer_out', source, true), (1, 'transfer_in', destination, false)) m (step, type, warehouse_id, leaves)
    order by 1));
end $$;

grant execute on function warehousing.stock_transfer(uuid, uuid, uuid, warehousing.inventory_transfer_items[]) to barid_caller;
