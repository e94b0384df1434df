-- Cancellation of deliveries before anybody has them in hand.

-- Cancels a delivery before anybody has it in hand: the parcel and its legs together, the fee by the policy in
-- force, drivers freed, what was picked put back, and the manifest item it was made from can be ordered again.
-- A parcel that was picked up and waits in a warehouse goes back to its sender when operations cancel it: its operational
-- return is made in the same call, and the item of a manifest is not ordered again. Where it was received with nothing in it, and nothing of it
-- lies there, nothing goes back: it ends cancelled.
-- {id, reason, notes?, dropoff_address_id? | dropoff_warehouse_id? (of that return)}
-- -> {delivery, refunded, refund_due, operational_return: delivery or null}; see money.delivery_fee_refund
-- Where it was to collect the fee of a store's order, the next of that order collects it (storefront.order_fee_passes).
-- Locks the item's manifest and the item before the delivery.
-- Fails: delivery_not_found, forbidden, invalid_status_transition, delivery_not_in_warehouse (it is not received yet),
-- insufficient_wallet_balance, return_already_exists, shipment_cash_changes (the next is booked at a carrier, without the fee), what
-- delivery.return_destination fails with. On the road to another warehouse, the refusal names the transfer.
create or replace function delivery.delivery_cancel(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_cancelled record := delivery.parcel_cancel(input);
begin
  return v_cancelled.refund || jsonb_build_object('delivery', delivery.delivery_to_json(v_cancelled.delivery_id),
    'operational_return', delivery.delivery_to_json(v_cancelled.return_id));
end $$;

-- The same, for callers who show none of it. -> the parcel, its operational return or null, and what money.delivery_fee_refund says
create or replace function delivery.parcel_cancel(input jsonb, out delivery_id uuid, out return_id uuid, out refund jsonb)
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_waiting delivery.deliveries;
  v_return record;
  v_missing boolean;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  v_waiting := delivery.waiting_on_its_way(d);
  if v_waiting.id is not null then
    v_missing := warehousing.parcel_is_missing(d, v_waiting.current_warehouse_id);
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, not v_missing, input);
    refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    if v_missing then
      perform warehousing.stock_release('picking_order', p.id) from unnest(v_return.picks) p (id);
      perform warehousing.waybill_remove_delivery(d.id);
      perform delivery.parcel_at(d.id, null);
    else
      perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    end if;
    perform storefront.orders_settle();
    delivery_id := d.id;
    return_id := v_return.id;
    return;
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_draft_here(d, 'cancelled');
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  if delivery.waits_on_the_road(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_on_the_road'));
  end if;
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  if d.delivery_flow = 'customer_return' and d.status = 'draft' then
    perform delivery.return_request_cancel(d.id);
  end if;
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  delivery_id := d.id;
end $$;

-- The parcel d, or its leg, that waits in a warehouse which its order did not begin in; null fields where none does.
create or replace function delivery.waiting_on_its_way(d delivery.deliveries) returns delivery.deliveries
language plpgsql stable set search_path = '' as $$
declare
  v_waiting delivery.deliveries;
begin
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id)
    and (x.delivery_flow in ('standard', 'pnd_outbound') or x.delivery_flow = 'customer_return' and not warehousing.return_is_lost(x))
    -- A draft, too, that a waybill has brought there; a leg that is one waits for nothing of its own.
    and (x.status in ('pending', 'assigned', 'accepted') or x.status = 'draft' and x.id = d.id) and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  return v_waiting;
end $$;

-- Calls off a parcel d of which the leg `waiting` (or d itself) waits in a warehouse, and sends it back, if anything of it is there to be sent.
-- -> as operational_return_make; id is null where nothing goes back
-- Fails: invalid_status_transition (not for operations), delivery_not_in_warehouse, return_already_exists.
create or replace function delivery.delivery_cancel_waiting(
  d delivery.deliveries, waiting delivery.deliveries, goes_back boolean, input jsonb, out id uuid, out picks uuid[]
)
language plpgsql set search_path = '' as $$
declare
  v_made record;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_waits_on_its_way'));
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = waiting.id;
  if not goes_back then
    if delivery.return_under_way(d.id) is not null then
      perform app.fail('return_already_exists');
    end if;
    picks := delivery.delivery_release(d.id);
    return;
  end if;
  v_made := delivery.operational_return_make(waiting, input);
  id := v_made.id;
  picks := v_made.picks;
end $$;

-- Frees all that was bound to a parcel that will not leave now: handoffs, picks, drivers; what an operational return would have brought
-- back sets out again from where it lies. -> the picks, whose stock the caller puts back after the wallets.
-- SECURITY DEFINER: a customer who cancels sees none of it.
create or replace function delivery.delivery_release(parcel uuid) returns uuid[]
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := array(select x.id from delivery.deliveries x where x.tenant_id = v_tenant and (x.id = parcel or x.parent_id = parcel));
  v_picks warehousing.picking_orders[];
  v_searched uuid[];
begin
  update delivery.package_handoffs h set status = 'cancelled'
  where h.tenant_id = v_tenant and h.delivery_id = any (v_family) and h.status = 'pending';
  perform from warehousing.picking_orders p
  where p.tenant_id = v_tenant and p.delivery_id = any (v_family) and p.status in ('pending', 'in_progress', 'completed')
  order by p.id for no key update;
  -- The goods of a store's order are the order's, which may be sent in another way.
  update warehousing.picking_orders p set delivery_id = null
  where p.tenant_id = v_tenant and p.delivery_id = any (v_family) and p.order_id is not null and p.status in ('pending', 'in_progress', 'completed');
  v_picks := array(
    select p from warehousing.picking_orders p
    where p.tenant_id = v_tenant and p.delivery_id = any (v_family) and p.status in ('pending', 'in_progress', 'completed') order by p.id);
  update warehousing.picking_orders p set status = 'cancelled'
  where p.tenant_id = v_tenant and p.id = any (array(select k.id from unnest(v_picks) k));
  perform warehousing.picking_event_emit(k, k.status, 'cancelled') from unnest(v_picks) k;
  -- The driver may be on the way to fetch it and is notified, unless they cancelled it themselves.
  with freed as (
    update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
    where a.tenant_id = v_tenant and a.delivery_id = any (v_family) and a.status in ('pending', 'assigned', 'accepted')
    returning a.id, a.driver_id, a.delivery_id
  )
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, f.driver_id, 'delivery_cancelled', jsonb_build_object('assignment_id', f.id, 'delivery_id', f.delivery_id,
    'delivery_code', d.delivery_code, 'reason', d.status_reason)
  from freed f join delivery.deliveries d on d.tenant_id = v_tenant and d.id = f.delivery_id
  where f.driver_id is distinct from app.user_id();
  -- Not sent back after all, and perhaps in another warehouse by now.
  with restored as (
    update delivery.deliveries o set status_reason = null, status_notes = null,
      pickup_warehouse_id = r.pickup_warehouse_id, pickup_address_id = r.pickup_address_id, pickup_snapshot = r.pickup_snapshot,
      pickup_zone_id = r.pickup_zone_id
    from delivery.deliveries r
    where r.tenant_id = v_tenant and r.id = parcel and r.delivery_flow = 'operational_return' and r.status = 'cancelled'
      and o.tenant_id = v_tenant and (o.parent_id = r.original_delivery_id or o.id = r.original_delivery_id)
      and o.delivery_flow in ('pnd_outbound', 'standard') and o.status = 'pending'
    returning o.*)
  select array_agg(o.id) into v_searched
  from restored o where o.postponed_to is null and delivery.is_auto_assignable(o::delivery.deliveries);
  -- The return ended the search for a driver, and the parcel stayed pending: no move of it begins the search anew.
  if v_searched is not null and (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(v_searched);
  end if;
  return array(select k.id from unnest(v_picks) k);
end $$;

grant execute on function delivery.delivery_release(uuid) to barid_caller;
