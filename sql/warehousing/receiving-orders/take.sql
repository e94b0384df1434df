-- Taking a receipt: stock, and what it means for the delivery that brought it.

-- Matches the sent entries of a receipt with its lines: an entry names a line by its item, else by its
-- place among them: their positions are those of an order, of which not all may have been sent, or be kept in stock.
-- An entry about nothing has no line. Lines of one item share an entry by it: what it says that came fills them in their order, the sound
-- units first, and what is too much is in the last.
create or replace function warehousing.receipt_entries(r warehousing.receiving_orders, details jsonb)
returns table (place bigint, line uuid, item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint)
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Writes into the lines of a receipt what came, where to and in which condition.
-- details: [{item_id?, bin_id?, received_quantity?, condition?, damaged_quantity?}] or null (see receipt_entries). The first one's bin
-- serves for lines without one, then the default receiving bin of the warehouse. Of what is damaged without a number, all is. Of what nobody
-- wrote more about than a bin comes as much damaged as a return left a warehouse with.
-- Fails: inventory_item_not_found, item_named_twice (a line has room for one entry), bin_not_found, bin_inactive,
-- received_too_much, damaged_too_much, bin_id_required_for_received_items.
create or replace function warehousing.receipt_fill(r warehousing.receiving_orders, details jsonb) returns void
language plpgsql set search_path = '' as $$
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
end $$;

-- The stock that a receipt adds: sound goods, and damaged ones. Goods of a store come back as the lots and pieces that left for
-- their order and have not come back yet, with a serial number or without as they left, whatever their item has become; which of several is
-- damaged or missing nobody says, so it is the last. What somebody booked in here meanwhile has come, so it is the first.
create or replace function warehousing.receipt_pieces(r warehousing.receiving_orders)
returns table (item_id uuid, bin_id uuid, status text, lot_number text, serial_number text, quantity bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  return query
  with come as (
    select i.position, i.item_id, i.bin_id, c.status, c.quantity,
      sum(c.quantity) over (partition by i.item_id order by i.position, c.status) as until
    from warehousing.receiving_order_items i
    cross join lateral (values ('available', i.received_quantity - i.damaged_quantity), ('damaged', i.damaged_quantity)) c (status, quantity)
    where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id and c.quantity > 0
  ), part as (
    select p.* from storefront.storefront_order_parts p
    where p.tenant_id = r.tenant_id and p.id in (
      select q.part_id from storefront.order_part_receipts q where q.tenant_id = r.tenant_id and q.receiving_order_id = r.id)
  ), gone as (
    select m.item_id, m.lot_number, m.serial_number, sum(m.units) as quantity,
      sum(sum(m.units)) over (partition by m.item_id order by not exists (
        select from warehousing.stock s where s.tenant_id = r.tenant_id and s.item_id = m.item_id and s.serial_number = m.serial_number
          and s.warehouse_id = r.warehouse_id and s.quantity > 0), min(m.id)) as until
    from (
      select t.id, t.item_id, t.lot_number, t.serial_number, t.quantity as units from part p
      join warehousing.inventory_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.order_id and t.reference_type = 'order'
        and t.transaction_type = 'pick' and t.warehouse_id = p.warehouse_id
      union all
      select t.id, t.item_id, t.lot_number, t.serial_number, -t.quantity from part p
      join storefront.order_part_receipts q on q.tenant_id = p.tenant_id and q.part_id = p.id
      join warehousing.inventory_transactions t on t.tenant_id = p.tenant_id and t.reference_id = q.receiving_order_id
        and t.reference_type = 'receiving_order') m
    group by m.item_id, m.lot_number, m.serial_number having sum(m.units) > 0
  )
  select c.item_id, c.bin_id, c.status, g.lot_number, g.serial_number,
    coalesce(least(c.until, g.until) - greatest(c.until - c.quantity, g.until - g.quantity), c.quantity)::bigint
  from come c
  left join gone g on g.item_id = c.item_id and g.until - g.quantity < c.until and c.until - c.quantity < g.until
  order by c.position, c.status, g.until;
end $$;

-- Receives a pending receipt: a movement of stock for each thing in the parcel, and the delivery's next step:
--   inbound            the parcel lies in the warehouse; the next leg waits for a driver
--   back from the road its driver is free; what left a warehouse waits to leave it again, its exception stays open; what is back for
--                      good is returned, and its fee refunded by the policy in force; what ends here is delivered, and its driver paid
-- Where less than all came, or damaged, administrators and operations managers are notified.
-- The order and the family of its delivery are locked. Locks: the driver who has it, or was asked to take it over, numbers, wallets, stock, what the
-- driver earns.
-- Fails: what receipt_fill fails with, serial_number_taken (a piece was booked in meanwhile, in another
-- warehouse, or is damaged and set aside here: see warehousing.stock_receive).
create or replace function warehousing.receipt_take(p_order uuid, details jsonb, notes text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  r warehousing.receiving_orders;
  d delivery.deliveries;
  v_driver uuid;
  v_missing bigint;
  v_damaged bigint;
begin
  select * into strict r from warehousing.receiving_orders o where o.tenant_id = app.tenant_id() and o.id = p_order for no key update;
  perform delivery.lock_driver(a.driver_id) from delivery.open_assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id;
  -- Handed over on the road, and not confirmed: it came with who has it still.
  select coalesce(f.driver_id, a.driver_id) into v_driver
  from delivery.assignments a
  left join delivery.assignments f on a.status = 'pending' and f.tenant_id = a.tenant_id and f.id = a.handed_over_from
  where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.receipt_fill(r, details);
  update warehousing.receiving_orders o set status = 'received', custody = 'in_warehouse', received_at = clock_timestamp(),
    received_by = app.user_id(), notes = coalesce(receipt_take.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if found then
    perform warehousing.parcel_received(d, r);
    -- Its fee, and what was paid for the order that it ends: wallets before stock, as everywhere.
    perform storefront.orders_settle();
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'warehouse_id', r.warehouse_id, 'bin_id', p.bin_id, 'quantity', p.quantity,
      'status', p.status, 'lot_number', p.lot_number, 'serial_number', p.serial_number))
    from warehousing.receipt_pieces(r) p
    -- A store's parcel that is back is expected as goods.
    where not exists (select from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id and x.status = 'delivered'
      and warehousing.brings_goods_back(x))),
    'receive', 'receiving_order', r.id);
  -- Here its driver has brought it to its end.
  perform money.driver_pay_accrue(x.id, v_driver) from delivery.deliveries x
  where x.tenant_id = r.tenant_id and x.id = r.delivery_id and x.status = 'delivered' and d.status <> 'delivered';
  select coalesce(sum(i.quantity - i.received_quantity), 0), coalesce(sum(i.damaged_quantity), 0) into v_missing, v_damaged
  from warehousing.receiving_order_items i where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'receiving_order.received', 'source_module', 'warehousing',
    'entity_type', 'receiving_order', 'entity_id', r.id, 'event_data', jsonb_build_object('receiving_order_id', r.id,
      'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id, 'source', r.source,
      'missing', v_missing, 'damaged', v_damaged, 'actor_id', app.user_id()))));
  -- Its receiver can only say so: the office decides what becomes of it.
  if v_missing + v_damaged > 0 then
    perform tenancy.notify_roles(r.tenant_id, '{tenant_admin,operations_manager}', 'receipt_incomplete', jsonb_build_object(
      'receiving_order_id', r.id, 'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id,
      'delivery_code', d.delivery_code, 'missing', v_missing, 'damaged', v_damaged));
  end if;
end $$;

-- Updates the delivery that brought the parcel of a receipt.
create or replace function warehousing.parcel_received(d delivery.deliveries, r warehousing.receiving_orders) returns void
language plpgsql set search_path = '' as $$
declare
  -- Goods of a store are unpacked: no parcel lies there.
  v_goods boolean := warehousing.receipt_is_of_goods(r);
  v_continues boolean := d.status in ('picked_up', 'in_transit', 'failed') and not v_goods
    and (d.delivery_flow = 'standard' and d.order_id is not null or delivery.stops_at(d, r.warehouse_id));
begin
  perform warehousing.transfers_on_paper_end(array[delivery.parcel_of(d)], r.warehouse_id);
  if r.source = 'inbound' then
    perform delivery.parcel_at(delivery.parcel_of(d), case when not v_goods then r.warehouse_id end);
    -- It brought a parcel back here.
    if d.delivery_flow = 'operational_return' and d.status = 'delivered' then
      perform delivery.originals_come_back(array[d.original_delivery_id]);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
    update delivery.deliveries n set status = 'pending', pickup_warehouse_id = coalesce(n.pickup_warehouse_id, r.warehouse_id)
    where n.tenant_id = d.tenant_id and n.parent_id = d.parent_id and n.sequence_plan = d.sequence_plan + 1 and n.status = 'draft';
    return;
  end if;
  if v_continues then
    -- It stops here, and continues from here.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    perform warehousing.parcels_advance(array[d.id], r.warehouse_id);
    -- A return that has come to its end.
    perform delivery.returned_fees_refund(array[d.id]);
  elsif d.status in ('picked_up', 'in_transit', 'failed') and v_goods then
    -- Goods that were sent back to the store are its own again, in whichever warehouse.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp() where x.tenant_id = d.tenant_id and x.id = d.id;
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    update delivery.deliveries x set status = 'returned' where x.tenant_id = d.tenant_id and x.id = d.id;
    if not delivery.leaves_warehouse(d) then
      -- Back for good, now that it is here.
      perform delivery.delivery_returned_for_good(d.id);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
  end if;
  if d.order_id is null and not v_goods and not v_continues then
    perform delivery.parcel_at(delivery.parcel_of(d), r.warehouse_id);
  end if;
  if delivery.leaves_warehouse(d) then
    -- It sets out from where it is now.
    update delivery.deliveries x set status = 'pending', pickup_warehouse_id = w.id, pickup_address_id = a.id,
      -- The warehouse may stand elsewhere by now.
      pickup_snapshot = case when x.pickup_address_id = a.id then x.pickup_snapshot else to_jsonb(a) end,
      pickup_zone_id = case when x.pickup_address_id = a.id then x.pickup_zone_id else a.zone_id end
    from warehousing.warehouses w
    join delivery.addresses_list a on a.id = w.address_id
    where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'returned' and w.tenant_id = d.tenant_id and w.id = r.warehouse_id;
  end if;
  update delivery.assignments a set ended_at = clock_timestamp(), status = case
    when a.status <> 'pending' and exists (select from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'delivered')
      then 'completed'
    else 'returned' end
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted');
end $$;

grant execute on function warehousing.receipt_take(uuid, jsonb, text) to barid_caller;

-- Refuses another count of what was received before, which would be lost: a line that says what its receiver did not, or none of what did not
-- come whole. Fails: invalid_status_transition.
create or replace function warehousing.require_same_receipt(r warehousing.receiving_orders, details jsonb) returns void
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Receives or cancels. {id, status: received|cancelled, item_details?, notes?} -> {order}; the same again answers
-- the same, and another count of what was received is refused. Calling off the receipt of a return sends its driver on; a parcel that was
-- already handed over can only be received.
-- Fails: receiving_order_not_found, forbidden (no staff of that warehouse), invalid_status_transition (also of what a waybill brings
-- elsewhere, and of what was counted otherwise before), what receipt_take fails with.
create or replace function warehousing.receiving_order_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_target text := input ->> 'status';
  v_transfer jsonb;
  r warehousing.receiving_orders;
begin
  select * into r from warehousing.receiving_orders o where o.id = v_id;
  if not found then
    perform app.fail('receiving_order_not_found');
  end if;
  if r.delivery_id is not null then
    perform delivery.lock_deliveries(array[r.delivery_id]);
  end if;
  select * into r from warehousing.receiving_orders o where o.id = v_id for no key update;
  perform warehousing.require_works_in(r.warehouse_id);
  if r.status <> v_target then
    if r.status <> 'pending' then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', v_target));
    end if;
    if v_target = 'received' then
      -- Recorded before a waybill took it along, it waits for nothing that could come here.
      select delivery.transfer_under_way(d) into v_transfer from delivery.deliveries d where d.tenant_id = r.tenant_id and d.id = r.delivery_id;
      if v_transfer ->> 'waybill_id' is not null then
        perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', r.status, 'to', v_target));
      end if;
      perform warehousing.receipt_take(r.id, input -> 'item_details', input ->> 'notes');
    else
      perform warehousing.receiving_order_cancel(r, input ->> 'notes');
    end if;
  elsif r.status = 'received' then
    perform warehousing.require_same_receipt(r, input -> 'item_details');
  end if;
  return jsonb_build_object('order', warehousing.receiving_order_to_json(v_id));
end $$;

-- pending -> cancelled; a cancelled return continues with its driver. What is to be taken in for a return lies here already, and goods that
-- a store expects are out until they are received. Fails: invalid_status_transition.
create or replace function warehousing.receiving_order_cancel(r warehousing.receiving_orders, notes text) returns void
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if d.id is null and r.source <> 'supplier' or d.id is not null and (d.status = 'delivered'
    or (d.delivery_flow = 'operational_return' and r.source = 'inbound')
    or (d.status = 'returned' and not (delivery.leaves_warehouse(d) and exists (
      select from delivery.assignments a where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('assigned', 'accepted'))))) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', 'cancelled',
      'text_key', case when d.id is null then 'reason_goods_receipt_only' else 'reason_receipt_only' end));
  end if;
  update warehousing.receiving_orders o set status = 'cancelled', notes = coalesce(receiving_order_cancel.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  if d.status = 'returned' then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id;
  end if;
end $$;

-- Fails: receiving_order_not_found.
create or replace function warehousing.receiving_order_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('order', app.found(warehousing.receiving_order_to_json((input ->> 'id')::uuid), 'receiving_order_not_found'));
end $$;

-- A receiving order as lists show it, or null.
create or replace function warehousing.receiving_order_to_json(order_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(r) from warehousing.receiving_orders_list r where r.id = receiving_order_to_json.order_id);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.parcel_received(delivery.deliveries,warehousing.receiving_orders),
  warehousing.receipt_fill(warehousing.receiving_orders,jsonb),
  warehousing.receipt_pieces(warehousing.receiving_orders) from barid_caller;
