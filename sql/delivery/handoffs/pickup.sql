-- Parcels that wait in a warehouse to be put into a driver's hands.

-- The driver takes a picked parcel over: handoff completed, picking order handed off, stock out of the house, custody
-- theirs, delivery picked_up. With a return goes all that lies there of its parcel.
-- {id, proof?, cash_collected?, latitude?, longitude?, occurred_at?} -> {handoff, delivery, cash}
-- Fails: handoff_not_found, assignment_ended (delivery.delivery_unseen), forbidden, handoff_not_pending, invalid_status_transition, assignment_not_accepted,
-- invalid_proof_url, delivery_proof_required, cash_amount_mismatch, warehouse_preparation_inconsistent.
create or replace function delivery.handoff_pickup(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  h delivery.package_handoffs;
  d delivery.deliveries;
  v_cash jsonb;
begin
  select * into h from delivery.package_handoffs x where x.id = v_id;
  if not found then
    perform delivery.delivery_unseen(delivery.handed_off_in(v_id), 'handoff_not_found');
  end if;
  d := delivery.lock_delivery(h.delivery_id);
  select * into h from delivery.package_handoffs x where x.id = v_id for no key update;
  if not found then
    perform app.fail('handoff_not_found');
  end if;
  perform delivery.require_first_report(d, input);
  perform delivery.require_carrier(d);
  if h.status <> 'pending' then
    perform app.fail('handoff_not_pending', jsonb_build_object('status', h.status));
  end if;
  perform delivery.picking_hand_off(h.picking_order_id, d.id);
  v_cash := delivery.delivery_taken(d, input);
  update delivery.package_handoffs x set status = 'completed', custody = 'driver', completed_at = clock_timestamp()
  where x.tenant_id = h.tenant_id and x.id = h.id;
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  perform warehousing.stock_exit('picking_order', h.picking_order_id, 'pick');
  if d.delivery_flow = 'operational_return' then
    perform warehousing.parcel_leaves(d.id, d.pickup_warehouse_id);
  end if;
  return jsonb_build_object('handoff', (select to_jsonb(r) from delivery.handoffs_list r where r.id = v_id),
    'delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $$;

-- The delivery of a handoff. SECURITY DEFINER: a handoff that waits for another driver now is not seen by the one before.
create or replace function delivery.handed_off_in(handoff uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select h.delivery_id from delivery.package_handoffs h where h.tenant_id = app.tenant_id() and h.id = handoff);
end $$;

-- completed -> handed_off for the pick of a delivery. SECURITY DEFINER: the driver sees no picking orders.
-- Fails: warehouse_preparation_inconsistent.
create or replace function delivery.picking_hand_off(p_pick uuid, p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_order warehousing.picking_orders;
begin
  update warehousing.picking_orders p set status = 'handed_off'
  where p.tenant_id = app.tenant_id() and p.id = p_pick and p.delivery_id = p_delivery and p.status = 'completed'
    and (exists (select from warehousing.stock s where s.tenant_id = p.tenant_id and s.reserved_for_id = p.id and s.quantity > 0)
      or exists (select from delivery.deliveries d where d.tenant_id = p.tenant_id and d.id = p_delivery and delivery.leaves_as_it_is(d)))
  returning p.* into v_order;
  if not found then
    perform app.fail('warehouse_preparation_inconsistent');
  end if;
  perform warehousing.picking_event_emit(v_order, 'completed', v_order.status);
end $$;

-- Another company takes what lies in a warehouse, as its driver's pickup does: the pick made for it is handed off, what it has in
-- stock there is booked out, once, and a handoff that waits for a driver is cancelled. Of what lies nowhere, nothing. Never refused: what
-- a carrier has in hand is gone, whatever was prepared for it. With an open exception it is expected back. d is the delivery as it was
-- before; its family is locked, and the wallets are, if it moves money.
create or replace function delivery.carrier_takes(d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
declare
  v_pick uuid := delivery.pick_of(d);
begin
  if d.current_warehouse_id is null then
    return;
  end if;
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  perform delivery.moving_exception_expect(d);
  -- It waits for no driver any more. Brought back, it is prepared anew and handed over by that pick.
  update delivery.package_handoffs h set status = 'cancelled'
  where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.status = 'pending';
  if v_pick is not null then
    perform delivery.picking_hand_off(v_pick, d.id);
    perform warehousing.stock_exit('picking_order', v_pick, 'pick');
  end if;
  -- A return has the stock of what it brings back.
  perform warehousing.parcel_leaves(p.id, d.current_warehouse_id)
  from unnest(array_remove(array[delivery.parcel_of(d), case when d.delivery_flow = 'operational_return' then d.original_delivery_id end], null))
    p (id);
end $$;

-- The pick that waits for the driver or carrier of a delivery, with all it has set aside or takes along; null: there is none. SECURITY DEFINER, as the next.
create or replace function delivery.pick_of(d delivery.deliveries) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select p.id from warehousing.picking_orders p
    where p.tenant_id = app.tenant_id() and p.delivery_id = d.id and p.order_id is null and p.status = 'completed'
      and (exists (select from warehousing.stock s where s.tenant_id = p.tenant_id and s.reserved_for_id = p.id and s.quantity > 0)
        or delivery.leaves_as_it_is(d)));
end $$;

grant execute on function delivery.pick_of(delivery.deliveries), delivery.handed_off_in(uuid) to barid_caller;
grant execute on function delivery.picking_hand_off(uuid, uuid) to barid_caller;
