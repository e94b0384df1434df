-- A delivery that does not reach its door: it fails, is attempted again, or comes back.

-- True when a failed attempt counts: at the customer's door, not on the way into a warehouse, to another one or back to
-- a sender.
create or replace function delivery.attempt_counts(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.delivery_flow in ('standard', 'pnd_outbound') and not delivery.is_transferred(d);
end $$;

-- Ends an attempt that did not deliver: picked_up|in_transit -> failed, for this reason. It uses up an attempt when it counts; after a
-- refusal operations alone allow another one, however many are left. postpone_to: the day on which it is attempted again.
-- {id, latitude?, longitude?, occurred_at?} -> the delivery as it was
-- Fails: delivery_not_found, forbidden, invalid_status_transition (also on the road by waybill), invalid_occurred_at.
create or replace function delivery.attempt_fails(
  input jsonb, p_reason text, p_notes text, counts boolean, refused boolean, postpone_to date default null
) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'failed');
  perform delivery.require_off_waybill(d, a, 'failed');
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  update delivery.deliveries x set status = 'failed', status_reason = p_reason, status_notes = p_notes, attempts_exhausted = refused,
    attempts_used = x.attempts_used + case when counts and delivery.attempt_counts(d) then 1 else 0 end,
    postponed_to = postpone_to, overnight_notice_at = case d.carrier_type when 'internal' then delivery.overnight_notice(postpone_to) end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'failed'));
  return d;
end $$;

-- picked_up|in_transit -> failed. {id, reason, notes?, latitude?, longitude?, occurred_at?} -> {delivery}
-- Fails: delivery_not_found, forbidden, invalid_status_transition, invalid_occurred_at.
create or replace function delivery.delivery_fail(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.attempt_fails(input, input ->> 'reason', input ->> 'notes', true, false);
begin
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $$;

-- failed -> in_transit with the driver who has it, or with reassign -> pending for another one; postponed it is no longer.
-- {id, reassign?, override_reason?, notes?, latitude?, longitude?, occurred_at?} -> {delivery}
-- Fails: delivery_not_found, forbidden, invalid_status_transition, invalid_occurred_at, delivery_attempts_exhausted (as many as the service
-- allows were made, or it was refused at the door; operations may give an override_reason), return_through_warehouse (it left a warehouse as a
-- parcel of its own, or a door as a return: for another driver it comes there first).
create or replace function delivery.delivery_retry(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_reassign boolean := coalesce((input ->> 'reassign')::boolean, false);
  v_override text := input ->> 'override_reason';
  v_allowed integer;
begin
  perform delivery.require_move(d, '{failed}', case when v_reassign then 'pending' else 'in_transit' end);
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if not v_operations and (v_reassign or v_override is not null) then
    perform app.fail('forbidden');
  end if;
  if v_reassign and (delivery.leaves_warehouse(d) or delivery.returns_from_door(d)) then
    perform app.fail('return_through_warehouse');
  end if;
  perform delivery.require_off_waybill(d, a, case when v_reassign then 'pending' else 'in_transit' end);
  if not v_reassign and a.id is null and d.carrier_type = 'internal' then
    perform app.fail('delivery_has_no_driver');
  end if;
  select s.allowed_delivery_attempts into v_allowed from delivery.delivery_services s
  where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  if (d.attempts_exhausted or delivery.attempt_counts(d) and d.attempts_used >= coalesce(v_allowed, 1)) and v_override is null then
    perform app.fail('delivery_attempts_exhausted', jsonb_build_object('field', 'override_reason',
      'attempts_used', d.attempts_used, 'allowed_delivery_attempts', coalesce(v_allowed, 1))
      || case when d.attempts_exhausted then '{"text_key": "delivery_was_refused"}'::jsonb else '{}' end);
  end if;
  update delivery.deliveries x set status = case when v_reassign then 'pending' else 'in_transit' end,
    status_reason = v_override, status_notes = input ->> 'notes', attempts_exhausted = false, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- On its way again: what was to be received of it stays with the driver.
  perform warehousing.receipts_withdraw(d.id);
  if v_reassign then
    perform delivery.assignment_end(a, 'returned');
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select d.tenant_id, a.driver_id, 'assignment_returned', delivery.return_noted(d.tenant_id, a.id, d.id, v_override)
    where a.driver_id is not null;
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $$;

-- True for a return that a driver has from its receiver's door, not from a warehouse that has it in stock.
create or replace function delivery.returns_from_door(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.made_at_door and not delivery.leaves_warehouse(d);
end $$;

-- True when a door-to-door parcel that comes back into this warehouse is not back, but continues from there: its order neither begins
-- nor ends there. A customer's return, and one that began at a door, continues from, or ends in, whichever warehouse takes it in.
create or replace function delivery.stops_at(d delivery.deliveries, warehouse uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return warehouse is not null and (delivery.returns_from_door(d) or d.delivery_flow = 'customer_return' or d.delivery_flow = 'standard' and d.order_id is null
    and warehouse is distinct from (delivery.ordered_from(d)).warehouse_id and warehouse is distinct from delivery.ends_in(d));
end $$;

-- picked_up|in_transit|failed -> returned, or in_transit. {id, reason?, notes?, warehouse_id?, latitude?, longitude?, occurred_at?}
-- -> {delivery, receiving_order_id, refunded, refund_due} (the last two as money.delivery_fee_refund says)
-- Goods that left a warehouse go back there: their receipt is expected, its driver answers for it until then, and
-- received it waits for another one. The goods of a store's order go back to the warehouse they came from, or to the one
-- that warehouse_id names, and are its stock again. Anything else is back with its sender, for good; unless warehouse_id names
-- a warehouse: then it stays in_transit until staff receive it there (warehousing.parcel_received), and nothing is refunded before; its
-- history has the report also where the status was that already. What is
-- on its way back from a door already ends where it goes, or in a warehouse. A customer's return that comes into the warehouse it goes to is
-- completed, as delivery.delivery_complete does it; so is the first leg of a staged parcel, in whichever warehouse it was not ordered from: the
-- second one leaves from there.
-- Fails: delivery_not_found, forbidden, invalid_status_transition (also on the road by waybill), invalid_occurred_at, warehouse_not_found.
create or replace function delivery.delivery_return(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_completed jsonb;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  if v_warehouse is not null then
    -- It stays until its receiving order is written, which holds it from then on.
    perform from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null for key share;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
    end if;
  end if;
  if d.delivery_flow = 'customer_return' and not delivery.is_transferred(d) and v_warehouse = delivery.ends_in(d)
      or d.delivery_flow = 'pnd_inbound' and v_warehouse is not null
        and v_warehouse is distinct from (delivery.ordered_from(delivery.parcel_terms(d))).warehouse_id then
    if d.delivery_flow = 'pnd_inbound' and v_warehouse is distinct from delivery.ends_in(d) then
      perform delivery.staged_through(d.id, v_warehouse);
    end if;
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'failed';
    v_completed := delivery.delivery_complete(input || jsonb_build_object('ordered_into', d.dropoff_warehouse_id));
    return jsonb_build_object('delivery', v_completed -> 'delivery', 'receiving_order_id', warehousing.receipt_of(d.id),
      'refunded', false, 'refund_due', null);
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  -- Expected by another warehouse, such as the one it left with an open exception, it does not come there.
  perform warehousing.receipts_withdraw(d.id, coalesce(v_warehouse, case when delivery.leaves_warehouse(d) then d.pickup_warehouse_id end));
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_awaited and d.status = 'in_transit' then
    perform delivery.stop_recorded(d.id);
  end if;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  -- A carrier reports on after its returns.
  if not v_awaited and d.carrier_type = 'internal' then
    perform delivery.outcome_record(d, 'returned');
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.returned_fee_refund(d, delivery.refund_due_event()) end;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $$;

-- Lets a staged parcel, by its first leg, go through another warehouse: that leg ends there, and the next one leaves from there. Labels that name
-- the warehouse are outdated. Its family is locked. SECURITY DEFINER: a driver does not see the next leg.
create or replace function delivery.staged_through(p_leg uuid, warehouse uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_place jsonb := delivery.warehouse_place(v_tenant, warehouse, null);
  v_address uuid := v_place ->> 'id';
  v_zone uuid := v_place ->> 'zone_id';
begin
  update delivery.deliveries x set
    staging_warehouse_id = case when x.parent_id is null then warehouse end,
    dropoff_warehouse_id = case when x.leg = 'A' then warehouse else x.dropoff_warehouse_id end,
    dropoff_address_id = case when x.leg = 'A' then v_address else x.dropoff_address_id end,
    dropoff_snapshot = case when x.leg = 'A' then v_place else x.dropoff_snapshot end,
    dropoff_zone_id = case when x.leg = 'A' then v_zone else x.dropoff_zone_id end,
    pickup_warehouse_id = case when x.leg = 'B' then warehouse else x.pickup_warehouse_id end,
    pickup_address_id = case when x.leg = 'B' then v_address else x.pickup_address_id end,
    pickup_snapshot = case when x.leg = 'B' then v_place else x.pickup_snapshot end,
    pickup_zone_id = case when x.leg = 'B' then v_zone else x.pickup_zone_id end,
    label_outdated = x.label_outdated or x.label_edition > 0
  from delivery.deliveries a
  where a.tenant_id = v_tenant and a.id = p_leg and a.delivery_flow = 'pnd_inbound' and x.tenant_id = v_tenant
    and (x.id in (a.id, a.parent_id) or x.parent_id = a.parent_id and x.leg = 'B' and x.status = 'draft');
end $$;

grant execute on function delivery.staged_through(uuid, uuid) to barid_caller;

-- A leg that came back to the sender ends its parcel: what was to follow is not to come. SECURITY DEFINER: a driver does
-- not see the next leg.
create or replace function delivery.delivery_returned_for_good(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update delivery.deliveries l set status = 'cancelled', status_reason = d.status_reason
  from delivery.deliveries d
  where d.tenant_id = app.tenant_id() and d.id = p_delivery and d.status = 'returned'
    and l.tenant_id = d.tenant_id and l.parent_id = d.parent_id and l.status = 'draft';
end $$;

grant execute on function delivery.delivery_returned_for_good(uuid) to barid_caller;

-- True when the policy in force gives the fee back for what happened; a leg out of a warehouse that will set out again has not come back yet.
create or replace function delivery.refunds_fee(d delivery.deliveries, policy text) returns boolean
language plpgsql stable set search_path = '' as $$
declare
  v_service delivery.delivery_services;
begin
  if policy = 'refund_delivery_fee_on_return' and delivery.leaves_warehouse(d) then
    return false;
  end if;
  select * into v_service from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  return coalesce((delivery.service_policy(v_service) #>> array['payment_policies', policy])::boolean, false);
end $$;

-- Gives the fee back when the policy in force says so for what happened (delivery.refunds_fee). -> see money.delivery_fee_refund
-- Fails: insufficient_wallet_balance.
create or replace function delivery.delivery_refund_on(d delivery.deliveries, policy text) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return case when delivery.refunds_fee(d, policy) then money.delivery_fee_refund(delivery.parcel_of(d))
    else '{"refunded": false, "refund_due": null}' end;
end $$;

-- The event of a refund on a return that the tenant's wallet cannot pay; see money.returned_fee_refund.
create or replace function delivery.refund_due_event() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('event_type', 'delivery.refund_due', 'source_module', 'delivery',
    'event_data', jsonb_build_object('actor_id', app.user_id()));
end $$;

-- Gives the fee of a parcel that came back back by the policy in force, or says that it is owed. -> see money.returned_fee_refund
create or replace function delivery.returned_fee_refund(d delivery.deliveries, due jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return case when delivery.refunds_fee(d, 'refund_delivery_fee_on_return') then money.returned_fee_refund(delivery.parcel_of(d), due)
    else '{"refunded": false, "refund_due": null}' end;
end $$;

-- Refunds by the policy in force the fees of parcels that these deliveries brought back as operational returns, or that were received in
-- a warehouse as returned for good; of any others: nothing. Each fee once, as money.returned_fee_refund has it. Of several, all accounts are locked
-- first, with those of customers whose orders end by them (storefront.orders_settle). SECURITY DEFINER: the driver of a return does not see what it
-- was made for, nor do staff see what was paid.
create or replace function delivery.returned_fees_refund_as(deliveries uuid[], due jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_back delivery.deliveries[];
  v_paid uuid[];
  v_in_cash boolean;
begin
  select array_agg(p order by p.id) into v_back
  from delivery.deliveries r
  join delivery.deliveries p on p.tenant_id = r.tenant_id
    and p.id = case r.delivery_flow when 'operational_return' then r.original_delivery_id else r.id end
  where r.tenant_id = v_tenant and r.id = any (deliveries) and p.status = 'returned'
    and case r.delivery_flow when 'operational_return' then r.status = 'delivered' else r.order_id is null end;
  if v_back is null then
    return;
  elsif cardinality(v_back) > 1 then
    -- Where nothing is to be given back no wallet is held.
    select array_agg(b.id), bool_or(f.payment_method = 'cash') into v_paid, v_in_cash
    from unnest(v_back) p
    cross join lateral delivery.parcel_of(p) b (id)
    left join money.payments f on f.tenant_id = v_tenant and f.delivery_id = b.id and f.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE')
      and f.status = 'SUCCESS'
    where p.order_id is not null or f.id is not null and delivery.refunds_fee(p, 'refund_delivery_fee_on_return');
    if v_paid is not null then
      perform money.lock_accounts_of(v_paid, case when v_in_cash then '{wallet,external}' else '{wallet}' end::text[]);
    end if;
  end if;
  perform delivery.returned_fee_refund(p, due) from unnest(v_back) p;
end $$;

-- The same with the event delivery.refund_due.
create or replace function delivery.returned_fees_refund(deliveries uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform delivery.returned_fees_refund_as(deliveries, delivery.refund_due_event());
end $$;

grant execute on function delivery.returned_fees_refund_as(uuid[], jsonb) to barid_caller;
