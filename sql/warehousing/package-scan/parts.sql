-- The view of a parcel for a scanner. Everything here only reads.

-- The delivery and its legs.
create or replace function warehousing.scan_family(d delivery.deliveries) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
  return (
    select d.id || array(select l.id from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id order by l.sequence_plan));
end $$;

-- True while something is still to happen to a delivery.
create or replace function warehousing.scan_is_active(d delivery.deliveries) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return (
    select d.status not in ('draft', 'delivered', 'cancelled', 'returned') or exists (
      select from warehousing.receiving_orders r
      where r.tenant_id = d.tenant_id and r.delivery_id = any (warehousing.scan_family(d)) and r.status = 'pending'));
end $$;

-- The delivery a parcel's barcode stands for now: the return that is under way with it, which has a number of its own while the parcel still
-- wears the old one; else the delivery itself.
create or replace function warehousing.parcel_under_way(d delivery.deliveries) returns delivery.deliveries
language plpgsql stable set search_path = '' as $$
declare
  v_return delivery.deliveries;
begin
  select n.* into v_return from delivery.deliveries n
  where n.tenant_id = d.tenant_id and n.original_delivery_id = d.id and n.delivery_flow in ('operational_return', 'customer_return')
    and warehousing.scan_is_active(n)
  order by n.created_at desc limit 1;
  return case when v_return.id is null then d else v_return end;
end $$;

-- A handoff that a driver may take now: their own, answered, the pick complete, and nothing wrong with the parcel,
-- its legs or what it comes back from.
create or replace function warehousing.scan_handoff(deliveries uuid[]) returns delivery.package_handoffs
language plpgsql stable set search_path = '' as $$
declare
  v_found delivery.package_handoffs;
begin
  select h.* into v_found from delivery.package_handoffs h
  join delivery.assignments a on a.tenant_id = h.tenant_id and a.id = h.assignment_id and a.status in ('assigned', 'accepted')
  join warehousing.picking_orders p on p.tenant_id = h.tenant_id and p.id = h.picking_order_id and p.status = 'completed'
  where h.tenant_id = (select app.tenant_id()) and h.delivery_id = any (deliveries) and h.status = 'pending' and h.driver_id is not null
    and not exists (select from delivery.preparation_problem(array[h.delivery_id]))
  order by h.created_at desc limit 1;
  return v_found;
end $$;

-- The receipt that is expected of these deliveries, in a warehouse where the caller may take it; null when there is none.
create or replace function warehousing.scan_receipt(deliveries uuid[]) returns warehousing.receiving_orders
language plpgsql stable set search_path = '' as $$
declare
  v_found warehousing.receiving_orders;
begin
  select r.* into v_found from warehousing.receiving_orders r
  where r.tenant_id = (select app.tenant_id()) and r.delivery_id = any (deliveries) and r.status = 'pending'
    and r.custody = 'awaiting_warehouse_receipt' and warehousing.works_in(r.warehouse_id)
  order by r.created_at desc limit 1;
  return v_found;
end $$;

-- The picking order of the goods that a store's delivery brings, as long as it is to be picked here; whole: all of it was.
create or replace function warehousing.scan_pick(d delivery.deliveries, out pick uuid, out ended boolean, out whole boolean)
language plpgsql stable set search_path = '' as $$
begin
  if d.order_id is not null and d.status in ('pending', 'assigned', 'accepted') then
    select k.id, k.status = 'completed', k.status = 'completed' and not exists (
        select from warehousing.picking_order_items i where i.tenant_id = k.tenant_id and i.picking_order_id = k.id and i.picked_quantity < i.quantity)
    into pick, ended, whole
    from warehousing.picking_orders k
    where k.tenant_id = d.tenant_id and k.delivery_id = d.id and k.order_id = d.order_id and k.status in ('pending', 'in_progress', 'completed');
  end if;
end $$;

-- The next step of a warehouse with a delivery: receive, execute, pick, assign, handoff, in_delivery or none.
create or replace function warehousing.scan_next_action(d delivery.deliveries) returns text
language plpgsql stable set search_path = '' as $$
declare
  v_leg delivery.deliveries;
  v_problem text;
  v_pick record := warehousing.scan_pick(d);
begin
  if d.delivery_flow = 'pnd_parent' then
    -- A leg that ended in a warehouse is not over until it was received there.
    select l.* into v_leg from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status <> 'cancelled' and (l.status <> 'delivered' or exists (
      select from warehousing.receiving_orders r where r.tenant_id = l.tenant_id and r.delivery_id = l.id and r.status = 'pending'))
    order by l.sequence_plan limit 1;
    return case when v_leg.id is null then 'none' else warehousing.scan_next_action(v_leg) end;
  end if;
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    return 'receive';
  end if;
  if d.status = 'failed' and d.status_reason = 'lost' then
    -- Turned up again: the office says where it is by `return`, which makes its receipt.
    return 'none';
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    return 'in_delivery';
  elsif v_pick.pick is not null and not v_pick.whole then
    -- Picked, but not all was there: the store says what becomes of its order.
    return case when v_pick.ended then 'none' else 'pick' end;
  elsif d.status in ('assigned', 'accepted') then
    if v_pick.pick is not null then
      return 'handoff';
    elsif delivery.leaves_warehouse(d) then
      return case when (warehousing.scan_handoff(array[d.id])).id is not null then 'handoff' else 'none' end;
    end if;
    return 'in_delivery';
  elsif d.status <> 'pending' or d.carrier_type <> 'internal' then
    return 'none';
  end if;
  select p.code into v_problem from delivery.preparation_problem(array[d.id]) p;
  if v_problem is null then
    return 'assign';
  end if;
  -- Not picked, and nothing else in its way: it lies here, whole (of a return any part of it), and travels nowhere.
  if v_problem = 'warehouse_preparation_inconsistent' and delivery.leaves_warehouse(d) and not delivery.on_waybill(delivery.parcel_of(d))
    and not exists (select from warehousing.picking_orders p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
      and p.status in ('pending', 'in_progress', 'completed'))
    and (case when d.delivery_flow = 'operational_return'
      then delivery.leaves_as_it_is(d) or warehousing.return_to_pick(d.id, d.pickup_warehouse_id) is not null
      else not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d)
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, d.pickup_warehouse_id)) end) then
    return 'execute';
  end if;
  return 'none';
end $$;

-- A delivery as scans show it. label_outdated: what its label shows (place, receiver, amount, notes) was changed since.
-- next: what comes next with it, where that is known already.
create or replace function warehousing.scan_summary(d delivery.deliveries, next text default null) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'status', d.status,
    'delivery_flow', d.delivery_flow, 'is_active', warehousing.scan_is_active(d), 'label_outdated', d.label_outdated,
    'next_action', coalesce(next, warehousing.scan_next_action(d))) || delivery.carried(d);
end $$;

-- The legs of a delivery in their order, as scans show them.
create or replace function warehousing.scan_legs(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(warehousing.scan_summary(l) order by l.sequence_plan), '[]')
    from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id);
end $$;

-- The next step with a staged parcel: that of the first of its legs that is not over; null without legs.
create or replace function warehousing.scan_next_of(legs jsonb) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select l.leg ->> 'next_action' from jsonb_array_elements(legs) with ordinality l (leg, place)
    where l.leg ->> 'status' <> 'cancelled' and (l.leg ->> 'status' <> 'delivered' or l.leg ->> 'next_action' = 'receive')
    order by l.place limit 1);
end $$;

-- Which screen to open for a displayed delivery: a receipt or a handoff of its own family that can be carried out now, a pick
-- that waits for it, else the delivery itself.
create or replace function warehousing.scan_target(d delivery.deliveries, receipt warehousing.receiving_orders, handoff delivery.package_handoffs) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_pick record := warehousing.scan_pick(d);
begin
  return case
    when receipt.id is not null then jsonb_build_object('action', 'open_receiving_order', 'entity_id', receipt.id, 'reason',
      case receipt.source when 'inbound' then 'inbound_ready_to_receive' else 'failed_delivery_return_ready_to_receive' end)
    when handoff.id is not null then jsonb_build_object('action', 'open_handoff', 'entity_id', handoff.id, 'reason', 'handoff_ready_for_driver')
    when not v_pick.ended then jsonb_build_object('action', 'open_picking_order', 'entity_id', v_pick.pick, 'reason', 'goods_to_pick')
    else jsonb_build_object('action', 'open_delivery', 'entity_id', d.id, 'reason', 'delivery_details_available') end;
end $$;

-- The contents of a parcel, each with its own exceptions and those of the whole parcel.
create or replace function warehousing.scan_items(d delivery.deliveries, family uuid[]) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'item_id', i.item_id, 'name', i.name, 'sku', i.sku,
      'quantity', i.quantity, 'weight', i.weight,
      'length', i.length, 'width', i.width, 'height', i.height,
      'has_exception', e.times > 0, 'has_open_exception', coalesce(jsonb_array_length(e.open), 0) > 0,
      'open_exception', e.open -> 0, 'open_exceptions', coalesce(e.open, '[]'), 'open_exception_count', coalesce(jsonb_array_length(e.open), 0))
      order by i.position), '[]')
    from delivery.delivery_items i
    cross join lateral (
      select count(*) as times, jsonb_agg(jsonb_build_object('id', x.id, 'delivery_id', x.delivery_id, 'type', x.type, 'status', x.status,
        'notes', x.notes, 'items', x.items, 'created_at', x.created_at) order by x.created_at desc, x.id) filter (where x.status = 'open') as open
      from delivery.delivery_exceptions x
      where x.tenant_id = d.tenant_id and x.delivery_id = any (family)
        and (x.items = '[]' or exists (select from jsonb_array_elements(x.items) n where n ->> 'delivery_item_id' = i.id::text))) e
    where i.tenant_id = d.tenant_id and i.delivery_id = d.id);
end $$;
