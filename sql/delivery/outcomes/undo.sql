-- Undo of an outcome: the delivery is on its way again, and all that the outcome made is reversed.
-- Rows that an outcome made carry the time of its transaction: `= o.created_at` means made by it, `>=` by it or later.

-- Locks a parcel, its legs and the returns that were made of it, or the parcel of which it gave something back. -> the delivery that the undo
-- is about: of a staged parcel the leg under way, else the last one. Fails: delivery_not_found, assignment_ended (delivery.delivery_unseen).
create or replace function delivery.lock_for_undo(p_delivery uuid) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.id = p_delivery;
  if not found then
    perform delivery.delivery_unseen(p_delivery);
  end if;
  perform delivery.lock_deliveries(array[d.id, delivery.gave_back_of(d.id)] || delivery.made_of(delivery.parcel_of(d)));
  return delivery.delivery_to_move(d.id);
end $$;

-- The returns that were made of a parcel and not cancelled, or cancelled when they had been fetched. SECURITY DEFINER: a driver does not see all of
-- them.
create or replace function delivery.made_of(parcel uuid) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return array(select r.id from delivery.deliveries r
    where r.tenant_id = app.tenant_id() and r.original_delivery_id = parcel
      and (r.status <> 'cancelled' or r.picked_up_at is not null and not r.made_at_door));
end $$;

-- The parcel of which an operational return gives its customer back what they had sent: their return was cancelled on its way. Null for any
-- other delivery. SECURITY DEFINER: its driver sees neither.
create or replace function delivery.gave_back_of(p_delivery uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select r.original_delivery_id from delivery.deliveries d
    join delivery.deliveries r on r.tenant_id = d.tenant_id and r.id = d.original_delivery_id
      and r.delivery_flow = 'customer_return' and r.status = 'cancelled'
    where d.tenant_id = app.tenant_id() and d.id = p_delivery and d.delivery_flow = 'operational_return');
end $$;

-- Locks what stands between an outcome and its undo, in the order in which completions and settlements hold it: the store's order, the
-- receipt that expects its goods, the driver, the row of cash, the driver's open handovers of cash, the pay; of a carrier what
-- money.lock_carrier_cash does. The deliveries are locked. Fails: forbidden (app.require_tenant).
create or replace function delivery.lock_outcome_effects(o delivery.outcomes, d delivery.deliveries) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.require_tenant(o.tenant_id);
  perform from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = d.order_id for no key update;
  perform from warehousing.receiving_orders r
  where r.tenant_id = o.tenant_id and r.id = (
    select p.receiving_order_id from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = d.id) for no key update;
  perform from delivery.drivers x where x.tenant_id = o.tenant_id and x.user_id = o.driver_id for no key update;
  perform from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at order by c.id for no key update;
  perform money.lock_open_handovers(c.driver_id, c.currency) from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at;
  perform from money.driver_pay p
  where p.tenant_id = o.tenant_id and p.delivery_id = d.id and p.status <> 'reversed' order by p.id for no key update;
  perform money.lock_carrier_cash(d, o.created_at);
end $$;

-- The first thing that forbids an undo: {code, params}; code is null when nothing does. A new obstacle is a line here; the lowest number is
-- answered. SECURITY DEFINER: neither drivers nor operations see all of it. The deliveries are locked, and what
-- delivery.lock_outcome_effects locks; statements are not: money.cash_uncollected looks at them again under the lock of the wallet.
-- Fails: forbidden (app.require_tenant).
create or replace function delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, out code text, out params jsonb)
language plpgsql stable security definer set search_path = '' as $$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    -- Of a carrier's reports `delivered` alone leaves an outcome: after any other it reports again. One from before outcomes of carriers were
    -- kept left none: nobody knows any more what it changed.
    (1, 'carrier_reports_outcome', d.carrier_type = 'external' and d.status in ('failed', 'returned')
      and delivery.last_move(d.id) is distinct from o.last_move_id, '{}'),
    (2, 'no_outcome_to_undo', o.id is null or d.carrier_type = 'external' and d.status = 'delivered'
      and delivery.last_move(d.id) is distinct from o.last_move_id, jsonb_build_object('status', d.status)),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until, 'until', app.clock(v_until))),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since,
    -- and is not cancelled, or was fetched before that.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at or r.picked_up_at is not null)
      and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Or the goods that were in it, which its store expected back.
    (8, 'outcome_went_on', exists (select from storefront.storefront_order_parts p
      join warehousing.receiving_orders r on r.tenant_id = p.tenant_id and r.id = p.receiving_order_id
      where p.tenant_id = o.tenant_id and p.delivery_id = d.id and r.created_at >= o.created_at and r.status = 'received'), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at
      and (r.status <> 'cancelled' or r.picked_up_at is not null)), '{}'),
    -- It came back to the customer who sends it, and they have ordered another return since.
    (9, 'outcome_went_on', o.result = 'returned' and d.delivery_flow = 'customer_return' and exists (select from delivery.deliveries r
      where r.tenant_id = o.tenant_id and r.original_delivery_id = d.original_delivery_id and r.id <> d.id and r.created_at >= o.created_at
        and r.status <> 'cancelled'), '{}'),
    -- Its fee was given back since; by its return alone, that is reversed, unless a desk has paid it.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at and p.status <> 'CANCELLED'
      and not (o.result = 'returned' and p.created_at = o.created_at and (p.payment_method = 'wallet' or p.status = 'pending'))), '{}'),
    -- The goods of a store's order are its stock again.
    (11, 'outcome_went_on', o.result = 'returned' and d.order_id is not null, '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (12, 'outcome_is_settled', exists (select from money.carrier_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status in ('remitted', 'written_off')), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $$;

-- Puts an outcome out of force: its returns are cancelled, the delivery is as before the attempt and in its driver's hands, even if that
-- exceeds the capacity of the vehicle, and the receiving order that waited for it is cancelled. SECURITY DEFINER: a driver may not
-- write deliveries and assignments that have left the driver's list. Fails: forbidden (app.require_tenant).
create or replace function delivery.outcome_withdraw(o delivery.outcomes, d delivery.deliveries, reason text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_returns uuid[] := array(select r.id from delivery.deliveries r
    where r.tenant_id = o.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.created_at = o.created_at and r.status = 'picked_up');
  -- An attempt that did not deliver changed no place: one that is another by now was redirected since, and stays.
  v_places jsonb := case when o.result in ('delivered', 'partial', 'exchanged') then o.before else to_jsonb(d) end;
begin
  perform app.require_tenant(o.tenant_id);
  v_places := v_places || delivery.first_leg_restore(o, d);
  -- First, since by it the guard of deliveries knows that these moves are an undo.
  update delivery.outcomes x set undone_at = now(), undone_by = app.user_id(), undo_reason = reason, undone_in = pg_current_xact_id()
  where x.tenant_id = o.tenant_id and x.id = o.id;
  update delivery.deliveries r set status = 'cancelled', status_reason = 'outcome_undone', status_notes = reason
  where r.tenant_id = o.tenant_id and r.id = any (v_returns);
  -- returned: taken back from the driver.
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = o.tenant_id and a.delivery_id = any (v_returns) and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.arrival_withdraw(d.id);
  if o.result = 'returned' then
    perform delivery.return_withdraw(d);
  end if;
  update delivery.deliveries x set delivered_in_part = false
  where x.tenant_id = o.tenant_id and x.id in (d.id, delivery.parcel_of(d)) and x.delivered_in_part;
  update delivery.deliveries x set status = o.from_status, status_reason = 'outcome_undone', status_notes = reason, delivered_at = null,
    attempts_used = (o.before ->> 'attempts_used')::integer, attempts_exhausted = (o.before ->> 'attempts_exhausted')::boolean,
    recipient = x.recipient - 'received_by' || jsonb_strip_nulls(jsonb_build_object('received_by', o.before -> 'received_by')),
    transfer_kind = v_places ->> 'transfer_kind', dropoff_warehouse_id = (v_places ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (v_places ->> 'ordered_to_warehouse_id')::uuid, postponed_to = (o.before ->> 'postponed_to')::date,
    overnight_notice_at = null
  where x.tenant_id = o.tenant_id and x.id = d.id;
  perform delivery.end_where_it_stands(d.id);
  if o.result = 'partial' or o.before ->> 'amount_change_id' is not null then
    perform delivery.kept_amount_undo(delivery.parcel_of(d), o, reason);
  end if;
  perform delivery.outcome_reassign(o, d);
  perform delivery.redirect_again(delivery.parcel_of(d), (o.before ->> 'redirect_id')::uuid);
end $$;

-- Lets a staged parcel go through the warehouse again that it was ordered to, when its first leg was brought to another one (delivery.delivery_return)
-- and that is undone; a warehouse that was deleted since it does not go to. -> {dropoff_warehouse_id} of the leg; {}: it was brought to no other one.
-- The family is locked.
create or replace function delivery.first_leg_restore(o delivery.outcomes, d delivery.deliveries) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_warehouse uuid := (o.before ->> 'dropoff_warehouse_id')::uuid;
begin
  if d.delivery_flow <> 'pnd_inbound' or o.result <> 'delivered' or o.before ->> 'transfer_kind' is not null or v_warehouse = d.dropoff_warehouse_id then
    return '{}';
  end if;
  -- It stays until the deliveries that name it are written, which hold it from then on.
  perform from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = v_warehouse and w.deleted_at is null for key share;
  if not found then
    return jsonb_build_object('dropoff_warehouse_id', d.dropoff_warehouse_id);
  end if;
  perform delivery.staged_through(d.id, v_warehouse);
  return jsonb_build_object('dropoff_warehouse_id', v_warehouse);
end $$;

-- Lets a delivery that ends in a warehouse go to where that stands now: it may have got another address while the delivery was over.
create or replace function delivery.end_where_it_stands(p_delivery uuid) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.deliveries x set dropoff_address_id = a.id, dropoff_snapshot = to_jsonb(a), dropoff_zone_id = a.zone_id,
    label_outdated = x.label_outdated or x.label_edition > 0
  from warehousing.warehouses w
  join delivery.addresses_list a on a.id = w.address_id
  where x.tenant_id = app.tenant_id() and x.id = p_delivery and w.tenant_id = x.tenant_id and w.id = delivery.ends_in(x) and w.deleted_at is null
    and w.address_id <> x.dropoff_address_id;
end $$;

-- Undoes what a return made of a delivery: no warehouse expects it, and the leg that was to follow it follows.
create or replace function delivery.return_withdraw(d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
begin
  perform warehousing.receipts_withdraw(d.id);
  update delivery.deliveries l set status = 'draft', status_reason = null
  where l.tenant_id = d.tenant_id and l.parent_id = d.parent_id and d.leg = 'A' and l.leg = 'B' and l.status = 'cancelled';
end $$;

-- Gives the delivery back to its driver by a copy of the assignment that the outcome ended; nothing where one is live, or nobody carried it.
create or replace function delivery.outcome_reassign(o delivery.outcomes, d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
declare
  a delivery.assignments;
begin
  if o.assignment_id is null or exists (select from delivery.assignments x
      where x.tenant_id = o.tenant_id and x.delivery_id = d.id and x.status in ('assigned', 'accepted')) then
    return;
  end if;
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by, responded_at,
    from_warehouse_id, to_warehouse_id, route_details, estimated_pickup_time, estimated_delivery_time)
  select x.tenant_id, x.delivery_id, x.driver_id, delivery.vehicle_again(x.driver_id, x.vehicle_id), 'accepted', x.sequence_number, x.units,
    x.notes, app.user_id(), clock_timestamp(), w.from_warehouse_id, w.to_warehouse_id, x.route_details, x.estimated_pickup_time, x.estimated_delivery_time
  from delivery.assignments x
  cross join lateral delivery.ways_ahead(x.tenant_id, array[x.delivery_id]) w
  where x.tenant_id = o.tenant_id and x.id = o.assignment_id
  returning * into a;
  update delivery.outcomes x set new_assignment_id = a.id where x.tenant_id = o.tenant_id and x.id = o.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created',
    'entity_type', 'assignment', 'entity_id', a.id, 'event_data', jsonb_build_object('assignment_ids', array[a.id], 'driver_id', a.driver_id,
      'status', a.status, 'delivery_ids', array[a.delivery_id], 'total_units', a.units, 'actor_id', app.user_id()))));
end $$;

-- Undoes the last outcome of a delivery, whether `complete`, `fail`, `outcome`, `return` or its carrier reported it. {id, reason} -> {delivery,
-- cash{cod, delivery_fee, currency}}; cash: what was taken and is reversed now. Its driver may for the minutes of the setting delivery.attempts.undo_minutes,
-- operations for 72 hours.
-- Locks: as delivery.lock_deliveries with the returns that were made of it, the store's order, the receipt that expects its goods, the driver,
-- the row of cash, the driver's open handovers of cash, the pay, accounts.
-- Fails: delivery_not_found, forbidden, what delivery.outcome_obstacle names, insufficient_wallet_balance (the owner spent the COD).
create or replace function delivery.outcome_undo(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
  o delivery.outcomes;
  v_parcel delivery.deliveries;
  v_obstacle record;
  v_cash jsonb;
begin
  -- The outcome is read under the lock of its delivery.
  d := delivery.lock_for_undo((input ->> 'id')::uuid);
  o := delivery.outcome_of(d.id);
  v_parcel := delivery.parcel_terms(d);
  if not app.has_permission('manage:operations:tenant') and o.id is not null and o.driver_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
  perform delivery.lock_outcome_effects(o, d);
  v_obstacle := delivery.outcome_obstacle(o, d);
  if v_obstacle.code is not null then
    perform app.fail(v_obstacle.code, v_obstacle.params);
  end if;
  perform delivery.outcome_withdraw(o, d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, o.created_at, input ->> 'reason');
  if o.result = 'returned' then
    perform money.delivery_fee_unrefund(v_parcel.id, o.created_at, input ->> 'reason');
  end if;
  perform money.fee_refund_owed_end(d, o.created_at);
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id is not null and o.driver_id is distinct from app.user_id();
  -- Last: it locks accounts, as the accrual does.
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
  if o.driver_id is not null and v_cash <> '{"cod": 0, "delivery_fee": 0}' then
    perform money.handover_uncovered(o.driver_id, v_parcel.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $$;
