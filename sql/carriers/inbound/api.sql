-- Carriers' status reports. Carriers have no token: the function proves who it is by the signature, with the secret it
-- asks for here; so these are for the functions alone, outside any request.

-- The sealed webhook secret of an enabled carrier of an active tenant, or null. One that was booked reports on its parcels to the end, also while
-- it is switched off or the tenant suspended: what it delivers is delivered, and its cash is owed.
create or replace function integration.carrier_secret(carrier_code text, tenant_id uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select k.webhook_secret from integration.tenant_carriers k
    join integration.carriers c on c.code = k.carrier_code and c.is_active
    join tenancy.tenants t on t.id = k.tenant_id
    where k.carrier_code = carrier_secret.carrier_code and k.tenant_id = carrier_secret.tenant_id
      and (k.is_enabled and app.is_effective(t) or exists (
        select from integration.carrier_shipments s
        where s.tenant_id = k.tenant_id and s.carrier_code = k.carrier_code and s.status <> 'cancelled')));
end $$;

-- The moves that bring a delivery to a status, each legal: straight, or by way of one other; what a carrier brings back it has had.
-- Null: there are none; delivered is the end, so what was collected there stays collected whatever is reported later. A carrier that cancels
-- ends its booking, and no delivery: before it has the parcel there is nothing to move.
create or replace function integration.moves_to(flow text, from_status text, to_status text) returns text[]
language plpgsql immutable set search_path = '' as $$
begin
  return case when to_status = 'cancelled' then case when from_status in ('pending', 'assigned', 'accepted') then '{}'::text[] end
    when delivery.move_is_legal(flow, from_status, to_status)
    and not (to_status = 'returned' and from_status in ('pending', 'assigned', 'accepted')) then array[to_status] else (
    select array[via.status, to_status] from unnest('{in_transit,accepted,picked_up}'::text[]) with ordinality via (status, place)
    where delivery.move_is_legal(flow, from_status, via.status) and delivery.move_is_legal(flow, via.status, to_status)
    order by via.place limit 1) end;
end $$;

-- The carrier does not come for what it was booked for: the booking ends, and the delivery waits to be booked again or given to a driver. The
-- administrators are notified. One that the office is cancelling just now ends all the same.
create or replace function integration.shipment_given_back(s integration.carrier_shipments, d delivery.deliveries, carrier_status text) returns void
language plpgsql set search_path = '' as $$
begin
  update integration.carrier_shipments t set status = 'cancelled', cancelled_at = now(), claim_token = null, claimed_at = null
  where t.id = s.id and t.status <> 'cancelled';
  update delivery.deliveries t set status_reason = 'carrier_' || coalesce(carrier_status, 'cancelled')
  where t.tenant_id = d.tenant_id and t.id = d.id and t.status <> 'cancelled';
  perform integration.shipment_cancelled_emit(s);
  if d.status <> 'cancelled' then
    perform tenancy.notify_tenant_admins('shipment_cancelled', jsonb_build_object('shipment_id', s.id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'carrier_code', s.carrier_code));
  end if;
end $$;

-- A carrier reports of a delivery that was cancelled: where it says that it has the parcel, or delivered it, the administrators are notified, once for
-- a booking. Not of a parcel that goes back to its sender from a warehouse: the carrier has another in hand.
create or replace function integration.cancelled_is_carried(s integration.carrier_shipments, d delivery.deliveries, reported text) returns void
language plpgsql set search_path = '' as $$
begin
  if reported not in ('picked_up', 'in_transit', 'delivered') or delivery.return_under_way(delivery.parcel_of(d)) is not null then
    return;
  end if;
  update integration.carrier_shipments t set carried_noted_at = now() where t.id = s.id and t.carried_noted_at is null;
  if found then
    perform integration.shipment_notify('shipment_of_cancelled', s);
  end if;
end $$;

-- Locks the accounts that a report books on: before the stock of a store, which the first report moves, since what gives money back locks them
-- first. An order that ends may be refunded as well.
create or replace function integration.lock_report_accounts(s integration.carrier_shipments, d delivery.deliveries, reported text) returns void
language plpgsql set search_path = '' as $$
begin
  if reported = 'delivered' and s.cash_due > 0 then
    perform money.lock_carrier_booking(delivery.parcel_of(d), s.carrier_code);
  elsif reported in ('delivered', 'returned') and d.order_id is not null then
    perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
  end if;
end $$;

-- Books the cash that the carrier was asked to collect, and keeps what an undo needs. d: the delivery before the report.
create or replace function integration.carrier_delivers(s integration.carrier_shipments, d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
begin
  if s.cash_due > 0 then
    perform money.carrier_cash_collected(delivery.parcel_of(d), s.id, s.carrier_code);
  end if;
  -- As it was on its way: there its undo puts it.
  if d.status <> 'picked_up' then
    d.status := 'in_transit';
  end if;
  perform delivery.outcome_record(d, 'delivered');
end $$;

-- Expects what a carrier brings back in its warehouse, `home` or the one that it left; a first leg that is with its sender again ends its parcel.
create or replace function integration.carrier_brings_back(d delivery.deliveries, home uuid) returns void
language plpgsql set search_path = '' as $$
begin
  if home is not null or delivery.returns_to_warehouse(d) then
    perform warehousing.receipt_expect(d.id, home, true);
  end if;
  if home is null and not delivery.leaves_warehouse(d) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
end $$;

-- Takes one report of a carrier: {event_id, tracking_number?, carrier_status?, status?, occurred_at?}; status is ours,
-- or null when the carrier's says nothing to us. Each event_id counts once. One from before the carrier's last, or from before a warehouse
-- received the delivery from it, is too late and moves nothing. Delivered, the cash that the carrier was
-- asked to collect is booked in the same transaction, and what ends in a warehouse is expected there; operations may undo it; brought back, its fee is refunded
-- by the policy in force; cancelled, its booking ends; where delivered cannot be (the order was cancelled), the tenant
-- hears by an event that the carrier may hold cash. That it has the parcel of a cancelled delivery, its administrators hear once.
-- Answers {outcome, duplicate}.
create or replace function integration.carrier_report(carrier_code text, tenant_id uuid, report jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  v_status text := report ->> 'status';
  v_at timestamptz;
  v_moved_at timestamptz;
  v_outcome text;
  v_duplicate boolean;
  v_moves text[];
  v_move text;
  v_delivery uuid;
  v_home uuid;
  s integration.carrier_shipments;
  d delivery.deliveries;
begin
  perform set_config('app.tenant_id', tenant_id::text, true);
  -- The delivery first, then its shipment, as everywhere; reports on one delivery take turns.
  select t.delivery_id into v_delivery from integration.carrier_shipments t
  where t.tenant_id = tenant_id and t.carrier_code = carrier_code and t.tracking_number = report ->> 'tracking_number'
  order by t.created_at desc limit 1;
  if v_delivery is not null then
    perform delivery.lock_deliveries(array[v_delivery]);
    select t.* into d from delivery.deliveries t where t.tenant_id = tenant_id and t.id = v_delivery;
    select t.* into s from integration.carrier_shipments t
    where t.tenant_id = tenant_id and t.delivery_id = v_delivery and t.carrier_code = carrier_code
      and t.tracking_number = report ->> 'tracking_number'
    order by t.created_at desc limit 1 for update;
  end if;
  select e.outcome into v_outcome from integration.carrier_events e
  where e.tenant_id = tenant_id and e.carrier_code = carrier_code and e.carrier_event_id = report ->> 'event_id';
  if found then
    return jsonb_build_object('outcome', v_outcome, 'duplicate', true);
  end if;
  -- Now that it is this report's turn: one that says no time, and waited, is not older than the one it waited for.
  v_at := least((report ->> 'occurred_at')::timestamptz, clock_timestamp());
  v_moves := integration.moves_to(d.delivery_flow, d.status, v_status);
  -- A carrier brings back to where it took over: in a warehouse the parcel is when that has received it.
  if v_status = 'returned' and d.delivery_flow in ('standard', 'customer_return') and d.order_id is null and d.pickup_warehouse_id is not null
      and v_moves is not null then
    v_home := d.pickup_warehouse_id;
    v_moves := case when d.status = 'in_transit' then '{}'::text[] else integration.moves_to(d.delivery_flow, d.status, 'in_transit') end;
  end if;
  -- It lies with us and goes back to its sender, or is there again: whatever the carrier has in hand, it is not this parcel.
  if v_status <> 'cancelled' and d.id is not null and delivery.is_sent_back(d) then
    v_moves := null;
  end if;
  v_outcome := case
    when s.id is null or s.status = 'cancelled' or d.carrier_type <> 'external' then 'unknown_shipment'
    when v_status is null then 'unknown_status'
    when v_at < s.reported_at or exists (
      select from warehousing.receiving_orders r
      where r.tenant_id = tenant_id and r.delivery_id = d.id and r.status = 'received' and r.received_at > v_at) then 'too_late'
    when d.status = v_status then 'unchanged'
    when v_moves is null then 'impossible'
    else 'applied' end;
  if v_outcome in ('applied', 'unchanged') then
    update integration.carrier_shipments t set reported_at = v_at where t.id = s.id;
    if v_status = 'cancelled' then
      perform integration.shipment_given_back(s, d, report ->> 'carrier_status');
    end if;
  end if;
  if v_outcome = 'applied' then
    -- The order comes before the numbers of receipts, also of what its end expects back, and these before wallets.
    perform from storefront.storefront_orders o where o.tenant_id = tenant_id and o.id = d.order_id for no key update;
    if v_status in ('delivered', 'returned') and (d.order_id is not null or delivery.ends_in(d) is not null) then
      perform app.lock_numbers('receiving_order', true);
    end if;
    perform integration.lock_report_accounts(s, d, v_status);
    -- A carrier's clock that is behind, or wrong, delivers nothing before it was ordered or picked up.
    v_moved_at := greatest(v_at, d.created_at, d.picked_up_at);
    foreach v_move in array v_moves loop
      update delivery.deliveries t set status = v_move,
        status_reason = case when v_move in ('failed', 'returned') then 'carrier_' || coalesce(report ->> 'carrier_status', v_move) end,
        attempts_used = t.attempts_used + case when v_move = 'failed' and delivery.attempt_counts(t) then 1 else 0 end,
        picked_up_at = case when v_move in ('picked_up', 'in_transit') then coalesce(t.picked_up_at, v_moved_at) else t.picked_up_at end,
        delivered_at = case when v_move = 'delivered' then v_moved_at else t.delivered_at end
      where t.tenant_id = tenant_id and t.id = d.id;
    end loop;
    -- On its way again, or delivered after all: the warehouse that expected it back does not any more.
    if d.status = 'returned' or d.status = 'failed' and v_status = 'in_transit' or v_status = 'delivered' then
      perform warehousing.receipts_withdraw(d.id);
    end if;
    if v_status = 'returned' then
      perform integration.carrier_brings_back(d, v_home);
    end if;
    if v_status = 'delivered' then
      perform integration.carrier_delivers(s, d);
    end if;
    if v_status in ('delivered', 'returned') then
      -- As what a driver brings back.
      perform delivery.returned_fees_refund_as(array[d.id], jsonb_build_object('event_type', 'carrier_return.refund_due',
        'source_module', 'carriers', 'event_data', jsonb_build_object('carrier_code', carrier_code)));
    end if;
    -- The first news that it has the parcel, whatever came of it since.
    if d.status in ('pending', 'assigned', 'accepted') and v_status <> 'cancelled' then
      perform delivery.carrier_takes(d);
    end if;
    if v_status = 'delivered' and delivery.ends_in(d) is not null then
      perform warehousing.parcel_arrives(d.id, delivery.ends_in(d));
    end if;
  end if;
  insert into integration.carrier_events (tenant_id, carrier_code, carrier_event_id, tracking_number, carrier_status, delivery_id, outcome)
  values (tenant_id, carrier_code, report ->> 'event_id', report ->> 'tracking_number', report ->> 'carrier_status', d.id, v_outcome)
  on conflict on constraint carrier_event_once do nothing;
  v_duplicate := not found;
  if not v_duplicate and d.status = 'cancelled' and v_outcome <> 'too_late' then
    perform integration.cancelled_is_carried(s, d, v_status);
  end if;
  if not v_duplicate and v_status = 'delivered' and s.cash_due > 0 and d.status <> 'delivered' and v_outcome <> 'applied' then
    insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (tenant_id, 'carrier_cash.unbooked', 'carriers', 'delivery', d.id, jsonb_build_object('delivery_id', d.id,
      'shipment_id', s.id, 'carrier_code', carrier_code, 'amount', s.cash_due, 'currency', d.currency, 'status', d.status,
      'outcome', v_outcome));
  end if;
  return jsonb_build_object('outcome', v_outcome, 'duplicate', v_duplicate);
end $$;

-- Deletes reports after 400 days: carriers repeat theirs for days, and a claim against one is barred after a year. A batch a run, so that
-- nobody waits for it. Run by cron. -> how many
create or replace function integration.carrier_events_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from integration.carrier_events e where e.id in (
    select x.id from integration.carrier_events x
    where x.created_at < now() - interval '400 days'
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function integration.carrier_secret(text, uuid), integration.carrier_report(text, uuid, jsonb) to barid_api;

-- The functions' own login (barid_api) and functions alone call these.
revoke execute on function integration.carrier_brings_back(delivery.deliveries,uuid),
  integration.cancelled_is_carried(integration.carrier_shipments,delivery.deliveries,text),
  integration.carrier_delivers(integration.carrier_shipments,delivery.deliveries),
  integration.carrier_events_purge(),
  integration.carrier_report(text,uuid,jsonb),
  integration.carrier_secret(text,uuid),
  integration.lock_report_accounts(integration.carrier_shipments,delivery.deliveries,text),
  integration.shipment_given_back(integration.carrier_shipments,delivery.deliveries,text) from barid_caller;
