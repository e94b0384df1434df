-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.carrier_collections in access exclusive mode;
      set local lock_timeout = '166ms';
      lock table money.carrier_remittances in access exclusive mode;
      alter view money.carrier_collections_list reset (security_barrier);
      alter view money.carrier_remittances_list reset (security_barrier);
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "money"."carrier_collections_list";

DROP VIEW "money"."carrier_remittances_list";

ALTER TABLE "money"."carrier_collections" DROP CONSTRAINT "carrier_cash_already_collected";

ALTER TABLE "money"."carrier_collections" DROP CONSTRAINT "carrier_cash_state";

ALTER TABLE "money"."carrier_collections" DROP CONSTRAINT "carrier_collections_status_check";

ALTER TABLE "money"."carrier_remittances" DROP CONSTRAINT "texts_within_bounds";

DROP FUNCTION "money"."carrier_paid"(uuid, timestamp with time zone);

DROP FUNCTION "money"."carrier_positions"(uuid, timestamp with time zone);

ALTER TABLE "money"."carrier_collections" ADD COLUMN "reversed_at" timestamp with time zone;

ALTER TABLE "money"."carrier_remittances" ADD COLUMN "kind" text NOT NULL DEFAULT 'payment'::text;

CREATE OR REPLACE FUNCTION delivery.delivery_outcome(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_result text := input ->> 'result';
  v_reason jsonb;
  v_answer jsonb;
  o delivery.outcomes;
begin
  perform delivery.require_no_outcome(d);
  perform delivery.require_carrier(d);
  if v_result in ('failed', 'refused', 'postponed') then
    v_reason := delivery.outcome_reason(input);
  end if;
  v_answer := case
    when v_result = 'delivered' then delivery.outcome_delivered(input)
    when v_result = 'partial' then delivery.outcome_partial(d, input)
    when v_result = 'exchanged' then delivery.outcome_exchanged(d, input)
    when v_result = 'postponed' then delivery.outcome_postponed(d, input, v_reason)
    -- A carrier has a way of its own to bring back what is refused.
    when v_result = 'refused' and delivery.attempt_counts(d) and d.carrier_type = 'internal'
      and tenancy.attempt_settings() ->> 'after_last' = 'return' then delivery.outcome_sent_back(d, input, v_reason)
    else delivery.outcome_failed(d, input, v_reason) end;
  perform delivery.outcome_complete(d.id);
  o := delivery.outcome_of(d.id);
  -- An earlier one says nothing of this report.
  if o.created_at is distinct from now() then
    return v_answer || '{"undo_until": null}';
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', v_result, 'reason_code', v_reason ->> 'value', 'actor_id', app.user_id()))));
  return v_answer || jsonb_build_object('undo_until', delivery.outcome_undo_until(o));
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_outcome_effects(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  perform from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = d.order_id for no key update;
  perform from delivery.drivers x where x.tenant_id = o.tenant_id and x.user_id = o.driver_id for no key update;
  perform from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at order by c.id for no key update;
  perform money.lock_open_handovers(c.driver_id, c.currency) from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at;
  perform from money.driver_pay p
  where p.tenant_id = o.tenant_id and p.delivery_id = d.id and p.status <> 'reversed' order by p.id for no key update;
  perform money.lock_carrier_cash(d, o.created_at);
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    -- Of a carrier's reports `delivered` alone leaves an outcome: after any other it reports again.
    (1, 'carrier_reports_outcome', d.carrier_type = 'external' and d.status in ('delivered', 'failed', 'returned')
      and delivery.last_move(d.id) is distinct from o.last_move_id, '{}'),
    (2, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
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
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at
      and (r.status <> 'cancelled' or r.picked_up_at is not null)), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at), '{}'),
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_undo(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id <> app.user_id();
  -- Last: it locks accounts, as the accrual does.
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
  if o.driver_id is not null and v_cash <> '{"cod": 0, "delivery_fee": 0}' then
    perform money.handover_uncovered(o.driver_id, v_parcel.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

CREATE OR REPLACE FUNCTION integration.carrier_delivers(s integration.carrier_shipments, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if s.cash_due > 0 then
    perform money.carrier_cash_collected(delivery.parcel_of(d), s.id, s.carrier_code);
  end if;
  -- As it was on its way: there its undo puts it.
  if d.status <> 'picked_up' then
    d.status := 'in_transit';
  end if;
  perform delivery.outcome_record(d, 'delivered');
end $function$;

REVOKE ALL ON FUNCTION "integration"."carrier_delivers"(integration.carrier_shipments, delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.carrier_report(carrier_code text, tenant_id uuid, report jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
  -- It lies with us and goes back to its sender: whatever the carrier has in hand, it is not this parcel.
  if v_status <> 'cancelled' and delivery.return_under_way(delivery.parcel_of(d)) is not null then
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
    -- Before the stock of a store, which the first report moves, since what gives money back locks wallets first. An order that ends may be
    -- refunded as well.
    if v_status = 'delivered' and s.cash_due > 0 or v_status in ('delivered', 'returned') and d.order_id is not null then
      perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
    end if;
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
    if v_status = 'returned' and (v_home is not null or delivery.returns_to_warehouse(d)) then
      perform warehousing.receipt_expect(d.id, v_home, true);
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
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_cash_collected(p_parcel uuid, p_shipment uuid, p_carrier text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_tracking text;
  v_due record;
  v_row uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_parcel;
  select x.tracking_number into v_tracking from integration.carrier_shipments x where x.tenant_id = d.tenant_id and x.id = p_shipment;
  v_due := money.cash_due(d, 'dropoff');
  if v_due.cod + v_due.delivery_fee = 0 then
    return;
  end if;
  insert into money.carrier_collections (tenant_id, carrier_code, delivery_id, shipment_id, amount, cod_amount, delivery_fee_amount,
    currency, collected_at, delivery_code, tracking_number, external_reference_id, customer_name, delivery_address)
  values (d.tenant_id, p_carrier, d.id, p_shipment, v_due.cod + v_due.delivery_fee, v_due.cod, v_due.delivery_fee, d.currency,
    now(), d.delivery_code, v_tracking, d.external_reference_id, money.payer_name(d),
    coalesce(d.dropoff_snapshot ->> 'full_address', ''))
  on conflict (tenant_id, delivery_id) where status <> 'reversed' do nothing
  returning id into v_row;
  if v_row is not null then
    perform money.cash_book(d, 'dropoff', 'carrier_collection', v_row,
      money.account_of('carrier_cash', 'carrier', null, d.currency::text, p_carrier));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, carrier_code text, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'carrier_cash', p.carrier_code, p.currency, p.owed, p.ledger, array(
      select c.id from money.carrier_collections c
      where c.tenant_id = tenant and c.carrier_code = p.carrier_code and c.currency = p.currency and c.collected_at <= as_of
        and (c.reversed_at is null or c.reversed_at > as_of)
        and c.id not in (select p.carrier_collection_id from money.carrier_paid(tenant, as_of) p)
      order by c.collected_at, c.id limit 100)
  from money.carrier_positions(tenant, as_of) p where p.owed <> p.ledger
  union all
  select 'carrier_collection', s.carrier_code, d.currency, s.cash_due, c.amount, array[s.id]
  from integration.carrier_shipments s
  join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status = 'delivered'
  left join money.carrier_collections c on c.tenant_id = s.tenant_id and c.shipment_id = s.id and c.reversed_at is null
  where s.tenant_id = tenant and s.cash_due > 0 and s.status in ('booked', 'cancelling') and d.delivered_at <= as_of
    and c.amount is distinct from s.cash_due
  union all
  select 'carrier_collection_journal', c.carrier_code, c.currency, n.taken, b.amount, array[c.id]
  from money.carrier_collections c
  cross join lateral (select case when c.reversed_at <= as_of then 0 else c.amount end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'carrier_cash' and a.carrier_code = c.carrier_code
    where t.tenant_id = tenant and t.kind in ('cash_collected', 'cash_collected_REVERSAL') and t.reference_type = 'carrier_collection'
      and t.reference_id = c.id and t.created_at <= as_of
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and n.taken is distinct from b.amount
  union all
  select 'carrier_remittance_rows', r.carrier_code, r.currency, r.amount, i.total, i.rows
  from money.carrier_remittances r
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      (array_agg(c.id order by c.id))[1:100] as rows,
      coalesce(bool_and(c.carrier_code = r.carrier_code and c.currency = r.currency and c.amount = i.amount
        and (r.reversed_at is not null or c.remittance_id = r.id and c.remitted_at = r.remitted_at)), false) as alike
    from money.carrier_remittance_items i
    join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
    where i.tenant_id = tenant and i.remittance_id = r.id
  ) i on true
  cross join lateral (
    select count(*) as entries from money.carrier_collections c where c.tenant_id = tenant and c.remittance_id = r.id) c
  where r.tenant_id = tenant and r.remitted_at <= as_of
    and (r.amount is distinct from i.total or r.delivery_fee_amount is distinct from i.fees or r.collections is distinct from i.entries
      or not i.alike or c.entries <> case when r.reversed_at is null then r.collections else 0 end)
  union all
  select 'carrier_remittance_journal', r.carrier_code, r.currency, e.taken, b.taken, array[r.id]
  from money.carrier_remittances r
  cross join lateral (
    select case when r.reversed_at <= as_of then 0 else -r.amount end as taken, case when r.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount), 0) as taken, count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id and a.kind = 'carrier_cash' and a.carrier_code = r.carrier_code
    where j.tenant_id = tenant and replace(j.kind, '_REVERSAL', '') = case r.kind when 'write_off' then 'carrier_write_off' else 'carrier_remittance' end
      and j.reference_type = 'carrier_remittance' and j.reference_id = r.id and j.created_at <= as_of
  ) b on true
  where r.tenant_id = tenant and r.remitted_at <= as_of and (b.taken, b.journals) is distinct from (e.taken, e.journals::bigint)
$function$;

CREATE OR REPLACE FUNCTION money.carrier_journal(r money.carrier_remittances)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return case r.kind when 'write_off' then 'carrier_write_off' else 'carrier_remittance' end;
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_paid(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(carrier_collection_id uuid, remittance_id uuid, kind text)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select i.carrier_collection_id, i.remittance_id, r.kind
  from money.carrier_remittances r
  join money.carrier_remittance_items i on i.tenant_id = r.tenant_id and i.remittance_id = r.id
  where r.tenant_id = tenant and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
$function$;

REVOKE ALL ON FUNCTION "money"."carrier_paid"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.carrier_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(carrier_code text, currency text, collected numeric, remitted numeric, written_off numeric, owed numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with by_row as (
    select c.carrier_code, c.currency::text as currency, sum(c.amount) as collected,
      coalesce(sum(c.amount) filter (where p.kind = 'payment'), 0) as remitted,
      coalesce(sum(c.amount) filter (where p.kind = 'write_off'), 0) as written_off
    from money.carrier_collections c
    left join money.carrier_paid(tenant, as_of) p on p.carrier_collection_id = c.id
    where c.tenant_id = tenant and c.collected_at <= as_of and (c.reversed_at is null or c.reversed_at > as_of)
    group by c.carrier_code, c.currency
  ), by_entry as (
    select a.carrier_code, a.currency::text as currency, sum(e.amount) as held
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'carrier_cash'
    group by a.carrier_code, a.currency
  )
  select coalesce(r.carrier_code, e.carrier_code), coalesce(r.currency, e.currency), coalesce(r.collected, 0), coalesce(r.remitted, 0),
    coalesce(r.written_off, 0), coalesce(r.collected - r.remitted - r.written_off, 0), coalesce(e.held, 0)
  from by_row r full join by_entry e on e.carrier_code = r.carrier_code and e.currency = r.currency
$function$;

REVOKE ALL ON FUNCTION "money"."carrier_positions"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.carrier_remit(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_amount numeric := (input ->> 'amount')::numeric;
  v_rows money.carrier_collections[];
  v_other text;
  v_written_off boolean := coalesce(input ->> 'kind' = 'write_off', false);
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  if not exists (select from integration.carriers c where c.code = input ->> 'carrier_code') then
    perform app.fail('carrier_not_found');
  end if;
  perform money.decimals_checked(v_amount, input ->> 'currency', 'amount');
  perform money.lock_carrier(input ->> 'carrier_code', input ->> 'currency');
  v_rows := money.lock_carrier_collections(input);
  select c.currency into v_other from unnest(v_rows) c where c.currency <> input ->> 'currency' limit 1;
  if found then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_other));
  end if;
  v_rows := money.carrier_rows_paid(v_rows, v_amount, input ?| '{carrier_collection_ids,delivery_ids}');
  insert into money.carrier_remittances (tenant_id, carrier_code, kind, currency, amount, cod_amount, delivery_fee_amount, collections,
    reference, notes, actor_id)
  select v_tenant, input ->> 'carrier_code', coalesce(input ->> 'kind', 'payment'), input ->> 'currency', v_amount, sum(c.cod_amount),
    sum(c.delivery_fee_amount), count(*), input ->> 'reference', input ->> 'notes', app.user_id()
  from unnest(v_rows) c
  returning * into r;
  insert into money.carrier_remittance_items (tenant_id, remittance_id, carrier_collection_id, amount, cod_amount, delivery_fee_amount)
  select v_tenant, r.id, c.id, c.amount, c.cod_amount, c.delivery_fee_amount from unnest(v_rows) c;
  update money.carrier_collections c set status = case when v_written_off then 'written_off' else 'remitted' end, remitted_at = r.remitted_at,
    remittance_id = r.id
  where c.tenant_id = v_tenant and c.id = any (select x.id from unnest(v_rows) x);
  perform money.carrier_remittance_event_emit('carrier_remittance.created', r);
  perform money.post_journal(money.carrier_journal(r), 'carrier_remittance', r.id,
    case when v_written_off then 'Cash written off of ' else 'Cash remitted by ' end || r.carrier_code,
    array[money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code),
      money.account_of(case when v_written_off then 'external' else 'cash_on_hand' end, 'tenant', null, r.currency::text)],
    array[-r.amount, r.amount]);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_event_emit(event_type text, r money.carrier_remittances)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'carriers',
    'entity_type', 'carrier_remittance', 'entity_id', r.id, 'event_data', jsonb_build_object('carrier_remittance_id', r.id, 'kind', r.kind,
      'carrier_code', r.carrier_code, 'currency', r.currency, 'amount', r.amount, 'collections', r.collections, 'reference', r.reference,
      'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_reverse(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[];
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select x.* into r from money.carrier_remittances x
  where x.tenant_id = v_tenant and x.id = (input ->> 'remittance_id')::uuid and x.carrier_code = input ->> 'carrier_code'
  for no key update;
  if r.id is null then
    perform app.fail('remittance_not_found');
  elsif r.reversed_at is not null then
    perform app.fail('remittance_already_reversed');
  end if;
  perform money.lock_carrier(r.carrier_code, r.currency::text);
  -- In the order of their ids, as whoever enters a payment holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.carrier_collections c where c.tenant_id = v_tenant and c.remittance_id = r.id order by c.id for no key update) l;
  update money.carrier_collections c set status = 'owed', remitted_at = null, remittance_id = null
  where c.tenant_id = v_tenant and c.remittance_id = r.id;
  update money.carrier_remittances x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = r.id
  returning * into r;
  perform money.carrier_remittance_event_emit('carrier_remittance.reversed', r);
  if r.kind = 'payment' then
    perform money.lock_returned_cash(money.account_of('cash_on_hand', 'tenant', null, r.currency::text),
      money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code), r.amount, r.currency::text);
  end if;
  perform money.reverse(money.carrier_journal(r), 'carrier_remittance', r.id, input ->> 'reason');
  perform money.cod_holds_again('carrier_collection', v_rows);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_in(tenant uuid, kind text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    with closed as (
      select c.id, c.status = 'remitted' as came_as_cash, c.settlement_payment_id as brought_by
      from money.cod_collections c where kind = 'cod_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'collected'
      union all
      select c.id, c.status = 'remitted', c.remittance_id
      from money.carrier_collections c
      where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status in ('remitted', 'written_off')
    )
    select r.id from closed r
    left join money.wallet_holds h on h.tenant_id = tenant and h.reference_type = kind and h.reference_id = r.id and h.release = 'on_bank' and h.step = 1
    left join lateral (
      select count(*) as parts, bool_or(p.amount <> 0) as there
      from (
        -- By its row (offset 0): without statistics the planner would read all that the settlement brought, for each of its rows.
        select x.amount, x.brought_by from money.desk_parts x
        where h.id is not null and x.tenant_id = tenant and x.reference_type = kind and x.reference_id = r.id
        offset 0) p
      where p.brought_by = r.brought_by
    ) d on true
    -- Settled from the wallet, or written off; not held until the bank; all of it has left the desks; all of it was short, so that none came.
    where not r.came_as_cash or h.id is null or (d.parts > 0 and not d.there)
      or exists (select from money.cod_settlements s where s.tenant_id = tenant and s.payment_id = r.brought_by and s.shortage = s.total);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_uncollected(p_parcel uuid, p_taken_at timestamp with time zone, p_reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_kind text;
  c record;
begin
  with driver as (
    update money.cod_collections x set reversed_at = now()
    where x.tenant_id = v_tenant and x.delivery_id = p_parcel and x.collected_at = p_taken_at and x.status = 'collected' and x.reversed_at is null
    returning 'cod_collection' as kind, x.id, x.cod_amount, x.delivery_fee_amount, x.delivery_code
  ), carrier as (
    update money.carrier_collections x set status = 'reversed', reversed_at = now()
    where x.tenant_id = v_tenant and x.delivery_id = p_parcel and x.collected_at = p_taken_at and x.status = 'owed'
    returning 'carrier_collection' as kind, x.id, x.cod_amount, x.delivery_fee_amount, x.delivery_code
  )
  select * into c from driver union all select * from carrier;
  if c.id is null then
    return '{"cod": 0, "delivery_fee": 0}';
  end if;
  update money.payments p set status = 'CANCELLED'
  where p.tenant_id = v_tenant and p.delivery_id = p_parcel and p.type in ('COD_COLLECTION', 'DELIVERY_FEE') and p.payment_method = 'cash'
    and p.status = 'SUCCESS' and p.processed_at = p_taken_at;
  -- Before the wallet is asked what is available.
  perform money.cod_hold_end(c.kind, c.id);
  -- All accounts of both journals in one order, as a collection books them.
  perform money.lock_balances(array(
    select distinct e.account_id from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    where t.tenant_id = v_tenant and t.reference_type = c.kind and t.reference_id = c.id));
  -- A statement holds the wallet while it is made: it may have come first.
  if money.stated_since(p_parcel, p_taken_at) then
    perform app.fail('outcome_is_settled');
  end if;
  foreach v_kind in array case when c.cod_amount > 0 then '{cash_collected,cod_credit}' else '{cash_collected}' end::text[] loop
    perform money.reverse(v_kind, c.kind, c.id, concat_ws(': ', 'Delivery ' || c.delivery_code, p_reason));
  end loop;
  return jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, carrier_code text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'driver_cash', p.driver_id, null::text, null::uuid, p.currency, p.in_hand, p.ledger, array(
      select c.id from money.cod_collections c
      where c.tenant_id = tenant and c.driver_id = p.driver_id and c.currency = p.currency and c.collected_at <= as_of
        and coalesce(c.remitted_at, c.settled_at, c.reversed_at, 'infinity') > as_of
      order by c.collected_at, c.id limit 100)
  from money.cod_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'collection_journal', c.driver_id, null, null, c.currency, n.taken, b.amount, array[c.id]
  from money.cod_collections c
  cross join lateral (select case when c.reversed_at <= as_of then 0 else c.amount end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = c.driver_id
    where t.tenant_id = tenant and t.kind in ('cash_collected', 'cash_collected_REVERSAL') and t.reference_type = 'cod_collection'
      and t.reference_id = c.id and t.created_at <= as_of
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and b.amount is distinct from n.taken
  union all
  select 'settlement_items', s.driver_id, null, null, s.currency, s.total, i.total, i.rows
  from money.cod_settlements s
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      bool_or(i.reversed_at is distinct from s.reversed_at) as torn, array_agg(i.cod_collection_id) as rows
    from money.cod_settlement_items i where i.tenant_id = tenant and i.payment_id = s.payment_id
  ) i on true
  where s.tenant_id = tenant and s.settled_at <= as_of
    and (s.total is distinct from i.total or s.fee_total is distinct from i.fees or s.collections is distinct from i.entries or i.torn)
  union all
  select 'settled_row', c.driver_id, null, null, c.currency, i.amount, c.amount, array[c.id]
  from money.cod_collections c
  left join money.cod_settlement_items i on i.tenant_id = c.tenant_id and i.cod_collection_id = c.id and i.reversed_at is null
  left join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
  where c.tenant_id = tenant and c.collected_at <= as_of and (
    i.payment_id is distinct from c.settlement_payment_id
    or (i.payment_id is not null and (i.amount <> c.amount or i.cod_amount <> c.cod_amount or s.driver_id <> c.driver_id
      or c.status <> case s.method when 'remit' then 'remitted' else 'settled_by_wallet' end)))
  union all
  select 'settlement_journal', s.driver_id, null, null, s.currency, n.taken, b.amount, array[s.payment_id]
  from money.cod_settlements s
  cross join lateral (select case when s.reversed_at <= as_of then 0 else -s.total end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = s.driver_id
    where t.tenant_id = tenant and t.kind in ('cod_settlement', 'cod_settlement_REVERSAL') and t.reference_type = 'payment'
      and t.reference_id = s.payment_id and t.created_at <= as_of
  ) b on true
  where s.tenant_id = tenant and s.settled_at <= as_of and not s.historical and b.amount is distinct from n.taken
  union all
  select 'driver_shortage', m.driver_id, null, null, m.currency, sum(m.open), sum(m.ledger), array_agg(m.id) filter (where m.id is not null)
  from (
    select s.driver_id, s.currency::text as currency, s.shortage as open, 0 as ledger, s.payment_id as id
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
      and (h.resolved_at is null or h.resolved_at > as_of)
    union all
    select a.owner_user_id, a.currency::text, 0, e.amount, null
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_shortage'
  ) m
  group by m.driver_id, m.currency having sum(m.open) <> sum(m.ledger)
  union all
  select 'cod_credit', null, null, null, r.currency, r.cod, p.paid, r.rows
  from (
    select c.currency, sum(c.cod) as cod, (array_agg(c.id order by c.collected_at desc, c.id) filter (where c.cod > 0 and not exists (
      select from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id and q.type = 'COD_COLLECTION'
        and q.status = 'SUCCESS' and q.amount = c.cod_amount)))[1:100] as rows
    from (
      select x.*, case when x.reversed_at <= as_of then 0 else x.cod_amount end as cod from money.cod_taken(tenant) x
    ) c
    where c.cod_amount > 0 and c.collected_at <= as_of group by c.currency
  ) r
  left join lateral (
    select coalesce(sum(q.amount), 0) as paid from money.payments q
    where q.tenant_id = tenant and q.type = 'COD_COLLECTION' and q.currency = r.currency and q.processed_at <= as_of
      -- Also one that counted then and was cancelled with its row since.
      and (q.status = 'SUCCESS' or q.status = 'CANCELLED' and exists (select from money.cod_taken(tenant) x
        where x.delivery_id = q.delivery_id and x.collected_at = q.processed_at and x.reversed_at > as_of))
  ) p on true
  where r.cod <> p.paid
  union all
  select d.kind, d.driver_id, null, null, d.currency, d.expected, d.found, d.rows from money.reversed_differences(tenant, as_of) d
  union all
  select 'fee_change', null, null, null, p.currency, p.amount, b.paid, array[p.id]
  from money.payments p
  left join lateral (
    select -sum(e.amount) as paid from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
    where t.tenant_id = tenant and t.kind = 'delivery_fee_change' and t.reference_type = 'payment' and t.reference_id = p.id
  ) b on true
  where p.tenant_id = tenant and p.type = 'DELIVERY_FEE_CHANGE' and p.processed_at <= as_of and p.amount is distinct from b.paid
  union all
  select 'ledger', a.owner_user_id, a.carrier_code, null, a.currency, e.total, a.balance, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(e.amount), 0) as total, count(*) as entries from money.ledger_entries e
    where e.tenant_id = tenant and e.account_id = a.id
  ) e
  where a.tenant_id = tenant and (a.balance <> e.total or a.version <> e.entries)
  union all
  select d.kind, null, d.carrier_code, null, d.currency, d.expected, d.found, d.rows from money.carrier_differences(tenant, as_of) d
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.desk_differences(tenant, as_of) d
  union all
  select d.kind, d.driver_id, null, null, d.currency, d.expected, d.found, d.rows from money.driver_pay_differences(tenant, as_of) d
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.cod_hold_differences(tenant, as_of) d
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.statement_differences(tenant, as_of) d
$function$;

CREATE OR REPLACE FUNCTION money.cod_hold_end(kind text, row_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  h money.wallet_holds;
  v_now timestamptz;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = cod_hold_end.kind and x.reference_id = row_id
  order by x.step desc limit 1;
  v_now := greatest(now(), h.created_at);
  if not found or (h.amount < 0 and h.counts_from <= v_now) then
    return;
  end if;
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from, created_at)
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + n.step, n.sign * abs(h.amount), h.release,
    -- A release may not count before due_at.
    least(h.due_at, n.counts_from), n.counts_from, v_now
  from (values (1, 1, h.counts_from), (2, -1, v_now)) n (step, sign, counts_from)
  where h.amount < 0
  union all
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, least(h.due_at, v_now), v_now, v_now
  where h.amount > 0;
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_hold_end"(text, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_holds_follow(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_again uuid[];
begin
  -- Of most cash nothing is held; an insert of no rows would still run every trigger of the table.
  if not exists (select from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery') then
    return;
  end if;
  with written as (
    insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from, created_at)
    select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, h.due_at,
      greatest(now(), h.counts_from, case when h.amount > 0 then h.due_at end), greatest(now(), h.created_at)
    from (
      select distinct on (x.reference_id) x.* from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery'
        -- Nothing is held any more of a row that is reversed (money.cod_hold_end).
        and not exists (select from money.cod_collections c
          where kind = 'cod_collection' and c.tenant_id = tenant and c.id = x.reference_id and c.reversed_at is not null)
        and not exists (select from money.carrier_collections c
          where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = x.reference_id and c.reversed_at is not null)
      order by x.reference_id, x.step desc
    ) h
    left join money.cash_in(tenant, kind, ids) i (id) on i.id = h.reference_id
    where (h.amount > 0) = (i.id is not null)
    order by h.reference_id
    returning reference_id, amount
  )
  select array_agg(w.reference_id) into v_again from written w where w.amount > 0;
  -- COD that is held again may be on a statement already, so its movement is looked at again. What was held is still to be looked at.
  if v_again is not null then
    perform money.movements_pend(tenant, kind, v_again);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_of(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(reference_id uuid, account_id uuid, carrier boolean, out_amount numeric, held numeric, later numeric, sound boolean, at_desk boolean)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  -- Results are brought together by grouping, and rows are read by their keys (offset 0): without statistics a join may read all of one for
  -- each row of the other.
  with brought as (
    -- The rows that were in, by what brought them; there: a part of that lies on a desk.
    select m.kind, m.id, bool_or(m.lies) as there
    from (
      select 'cod_collection' as kind, i.cod_collection_id as id, i.payment_id as brought_by, false as lies
      from money.cod_settlement_items i
      join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
      where i.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
      union all
      select 'carrier_collection', p.carrier_collection_id, p.remittance_id, false from money.carrier_paid(tenant, as_of) p
      union all
      select p.reference_type, p.reference_id, p.brought_by, true
      from money.desk_parts p
      cross join lateral (
        select sum(n.amount) as amount from (
          select x.account_id, x.created_at, x.amount from money.desk_part_moves x where x.tenant_id = tenant and x.part_id = p.part_id offset 0) n
        where n.account_id = p.account_id and n.created_at <= as_of) m
      where p.tenant_id = tenant and p.reference_id is not null
      group by p.reference_type, p.reference_id, p.brought_by, p.account_id having sum(m.amount) <> 0
    ) m
    group by m.kind, m.id, m.brought_by having not bool_and(m.lies)
  ), held as (
    select m.kind, m.id, (array_agg((m.h).account_id order by (m.h).step) filter (where (m.h).step is not null))[1] as account_id,
      min((m.h).release) as release, sum((m.h).amount) as held,
      coalesce(-sum((m.h).amount) filter (where (m.h).counts_from > as_of), 0) as later, max((m.h).amount) as amount,
      count((m.h).step) = max((m.h).step) and count(distinct (m.h).account_id) = 1 and count(distinct abs((m.h).amount)) = 1 as sound,
      bool_or(m.there) is not null as is_in, coalesce(bool_or(m.there), false) as is_there
    from (
      select h.reference_type as kind, h.reference_id as id, null::boolean as there, h
      from money.wallet_holds h where h.tenant_id = tenant and h.created_at <= as_of
      union all
      select b.kind, b.id, b.there, null::money.wallet_holds from brought b
    ) m
    group by m.kind, m.id having count((m.h).step) > 0
  ), taken as (
    select h.*, coalesce(c.delivery_id, r.delivery_id) as delivery_id, coalesce(c.cod_amount, r.cod_amount) as cod_amount,
      not h.is_in and coalesce(c.reversed_at, r.reversed_at) <= as_of is not true as is_out
    from held h
    left join lateral (
      select x.id, x.tenant_id, x.delivery_id, x.cod_amount, x.reversed_at from money.cod_collections x
      where h.kind = 'cod_collection' and x.id = h.id offset 0) c on c.tenant_id = tenant
    left join lateral (
      select x.tenant_id, x.delivery_id, x.cod_amount, x.reversed_at from money.carrier_collections x
      where h.kind = 'carrier_collection' and x.id = h.id offset 0) r on r.tenant_id = tenant
  )
  select t.id, t.account_id, t.kind = 'carrier_collection',
    case when t.release <> 'on_delivery' and t.is_out or t.release = 'on_bank' and t.is_there then coalesce(t.cod_amount, 0) else 0 end,
    t.held, t.later,
    coalesce(t.sound and t.amount = t.cod_amount and exists (
      select from money.payments p where p.tenant_id = tenant and p.delivery_id = t.delivery_id and p.type = 'COD_COLLECTION'
        and p.account_id = t.account_id), false),
    coalesce(t.release = 'on_bank' and t.is_there, false)
  from taken t
$function$;

CREATE OR REPLACE FUNCTION money.cod_taken(tenant uuid)
 RETURNS TABLE(id uuid, delivery_id uuid, currency text, cod_amount numeric, collected_at timestamp with time zone, reversed_at timestamp with time zone)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select c.id, c.delivery_id, c.currency::text, c.cod_amount, c.collected_at, c.reversed_at from money.cod_collections c where c.tenant_id = tenant
  union all
  select c.id, c.delivery_id, c.currency::text, c.cod_amount, c.collected_at, c.reversed_at from money.carrier_collections c where c.tenant_id = tenant
$function$;

REVOKE ALL ON FUNCTION "money"."cod_taken"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'desk_cash', p.user_id, p.currency, p.in_hand, p.ledger, array(
      select x.id from (
        select s.payment_id as id, s.settled_at as at from money.cod_settlements s
        where s.tenant_id = tenant and s.method = 'remit' and s.receiver_id = p.user_id and s.currency = p.currency
          and p.owner_type = case when s.receiver_id = s.driver_id then 'driver' else 'staff' end
        union all
        select r.id, r.remitted_at from money.carrier_remittances r
        where r.tenant_id = tenant and r.kind = 'payment' and p.owner_type = 'tenant' and r.currency = p.currency
        union all
        select h.id, h.resolved_at from money.cash_handovers h
        where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off') and h.currency = p.currency
          and h.counted_by = p.user_id
        union all
        select t.id, t.created_at from money.cash_transfers t
        where t.tenant_id = tenant and t.currency = p.currency and (
          t.from_owner_type = p.owner_type and t.from_user_id is not distinct from p.user_id
          or p.owner_type = 'staff' and t.to_user_id = p.user_id)
        union all
        select t.id, t.paid_at from money.driver_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
        union all
        select t.id, t.paid_at from money.merchant_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
      ) x where x.at <= as_of order by x.at desc, x.id limit 100)
  from money.desk_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'cash_transfer_journal', t.from_user_id, t.currency, e.taken, b.taken, array[t.id]
  from money.cash_transfers t
  cross join lateral (
    select case when t.reversed_at <= as_of then 0 else -t.amount end as taken, case when t.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount) filter (where a.kind = 'cash_on_hand' and a.owner_type = t.from_owner_type
        and a.owner_user_id is not distinct from t.from_user_id), 0) as taken,
      coalesce(sum(l.amount) filter (where case t.kind when 'handover'
        then a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.to_user_id else a.kind = 'external' end), 0) as brought,
      count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id and l.currency = t.currency
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id
    where j.tenant_id = tenant and j.kind in ('cash_transfer', 'cash_transfer_REVERSAL') and j.reference_type = 'cash_transfer'
      and j.reference_id = t.id and j.created_at <= as_of
  ) b on true
  where t.tenant_id = tenant and t.created_at <= as_of
    and (b.taken, b.brought, b.journals) is distinct from (e.taken, -e.taken, e.journals::bigint)
  union all
  select 'desk_parts', a.owner_user_id, a.currency, e.total, m.total, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.ledger_entries x
    where x.tenant_id = tenant and x.account_id = a.id and x.created_at <= as_of) e
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.desk_part_moves x
    where x.tenant_id = tenant and x.account_id = a.id and x.created_at <= as_of) m
  where a.tenant_id = tenant and a.queued_since <= as_of and e.total <> m.total
  union all
  select 'desk_part', a.owner_user_id, a.currency, m.total, p.amount, array[coalesce(p.reference_id, p.part_id)]
  from money.desk_parts p
  join money.accounts a on a.tenant_id = p.tenant_id and a.id = p.account_id
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.desk_part_moves x
    where x.tenant_id = tenant and x.account_id = p.account_id and x.part_id = p.part_id) m
  where p.tenant_id = tenant and m.total <> p.amount
$function$;

CREATE OR REPLACE FUNCTION money.desk_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(owner_type text, user_id uuid, currency text, remitted numeric, shortages numeric, transferred_out numeric, transferred_in numeric, paid_out numeric, in_hand numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with transfer as (
    select t.* from money.cash_transfers t
    where t.tenant_id = tenant and t.created_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
  ), moved (owner_type, user_id, currency, remitted, shortages, given, got, paid, ledger) as (
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, s.total, 0, 0, 0, 0, 0
    from money.cod_settlements s
    where s.tenant_id = tenant and s.method = 'remit' and not s.historical and s.settled_at <= as_of
      and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    -- The shortage at the remittance, less the amount found in a second count.
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, 0,
      case when h.resolution = 'recounted' and h.resolved_at <= as_of then 0 else s.shortage end, 0, 0, 0, 0
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    select 'tenant', null, r.currency::text, r.amount, 0, 0, 0, 0, 0
    from money.carrier_remittances r
    where r.tenant_id = tenant and r.kind = 'payment' and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
    union all
    -- Up to 1.6.0 a shortage that was resolved before its remittance was booked then. Whose desk it was is what the journal says: the counter's, or
    -- the till when the counter was no member of the tenant.
    select a.owner_type, a.owner_user_id, h.currency::text, 0, -e.amount, 0, 0, 0, 0
    from money.cash_handovers h
    join money.ledger_transactions t on t.tenant_id = h.tenant_id and t.kind in ('cash_shortage', 'cash_shortage_REVERSAL') and t.reference_id = h.id
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.created_at <= as_of
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'cash_on_hand'
    where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off')
    union all
    select t.from_owner_type, t.from_user_id, t.currency::text, 0, 0, t.amount, 0, 0, 0 from transfer t
    union all
    select 'staff', t.to_user_id, t.currency::text, 0, 0, 0, t.amount, 0, 0 from transfer t where t.kind = 'handover'
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.driver_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.merchant_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select a.owner_type, a.owner_user_id, a.currency::text, 0, 0, 0, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'cash_on_hand'
  )
  select m.owner_type, m.user_id, m.currency, sum(m.remitted), sum(m.shortages), sum(m.given), sum(m.got),
    sum(m.paid), sum(m.remitted - m.shortages - m.given + m.got - m.paid), sum(m.ledger)
  from moved m group by m.owner_type, m.user_id, m.currency
$function$;

CREATE OR REPLACE FUNCTION money.hold_ended_now(tenant uuid, kind text, row_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select h.amount < 0 and h.created_at >= now() from money.wallet_holds h
    where h.tenant_id = hold_ended_now.tenant and h.reference_type = hold_ended_now.kind and h.reference_id = row_id
    order by h.step desc limit 1), false);
end $function$;

REVOKE ALL ON FUNCTION "money"."hold_ended_now"(uuid, text, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.lock_carrier_cash(d delivery.deliveries, taken_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_parcel uuid := delivery.parcel_of(d);
  c money.carrier_collections;
begin
  select * into c from money.carrier_collections x
  where x.tenant_id = d.tenant_id and x.delivery_id = v_parcel and x.collected_at = taken_at and x.reversed_at is null;
  if c.id is not null then
    perform money.lock_wallets(array[p.customer_id, p.institution_user_id]) from delivery.deliveries p
    where p.tenant_id = d.tenant_id and p.id = v_parcel;
    perform money.lock_carrier(c.carrier_code, c.currency::text);
    perform from money.carrier_collections x where x.tenant_id = d.tenant_id and x.id = c.id for no key update;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.post_journal(kind text, reference_type text, reference_id uuid, description text, account_ids uuid[], amounts numeric[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_journal uuid := gen_random_uuid();
  v_line record;
  v_account money.accounts;
  v_booked money.accounts[];
  v_changes numeric[];
  v_short money.accounts;
  v_desk boolean := false;
  v_queued boolean := false;
begin
  perform money.require_core();
  perform money.amounts_exact(amounts);
  insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, description, actor_id)
  values (v_journal, v_tenant, kind, reference_type, reference_id, description, app.user_id());
  for v_line in select l.account_id, l.amount from unnest(account_ids, amounts) l (account_id, amount) order by l.account_id loop
    update money.accounts a set balance = a.balance + v_line.amount, version = a.version + 1
    where a.tenant_id = v_tenant and a.id = v_line.account_id and (a.floor is null or a.balance + v_line.amount >= a.floor)
    returning a.* into v_account;
    if not found then
      select * into v_short from money.accounts a where a.tenant_id = v_tenant and a.id = v_line.account_id;
      if v_short.id is not null then
        perform money.wallet_short(v_short, v_line.amount);
      end if;
      perform app.fail('wallet_not_found');
    end if;
    v_booked := v_booked || v_account;
    v_changes := v_changes || v_line.amount;
    if v_account.kind = 'cash_on_hand' then
      v_desk := true;
      v_queued := v_queued or v_account.queued_since is not null;
    end if;
    if v_line.amount < 0 and (kind <> 'cod_credit_REVERSAL' or not money.hold_ended_now(v_tenant, reference_type, reference_id)) then
      v_account.balance := v_account.balance - v_line.amount;
      perform money.require_available(v_account, v_line.amount, kind);
    end if;
  end loop;
  insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
  select v_tenant, v_journal, a.id, v_changes[a.ordinality], a.currency, a.balance, a.version from unnest(v_booked) with ordinality a;
  if v_queued or v_desk and money.brings_cash_to_bank(kind, reference_id) then
    perform money.desk_queues_follow(v_journal);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.reversed_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'reversed_row', c.driver_id, c.currency::text, 0::numeric, m.counting, array[c.id]
  from money.cod_collections c
  cross join lateral (
    select coalesce((select sum(q.amount) from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id
        and q.processed_at = c.collected_at and q.type in ('COD_COLLECTION', 'DELIVERY_FEE') and q.status <> 'CANCELLED'), 0)
      + coalesce((select sum(w.amount) from money.driver_pay w
        join delivery.deliveries l on l.tenant_id = tenant and l.id = w.delivery_id and c.delivery_id in (l.id, l.parent_id)
        where w.tenant_id = tenant and w.driver_id = c.driver_id and w.accrued_at = c.collected_at and w.status <> 'reversed'), 0) as counting
  ) m
  where c.tenant_id = tenant and c.reversed_at <= as_of and m.counting <> 0
  union all
  select 'reversed_row', null, c.currency, 0, m.counting, array[c.id]
  from money.carrier_collections c
  cross join lateral (
    select sum(q.amount) as counting from money.payments q
    where q.tenant_id = tenant and q.delivery_id = c.delivery_id and q.processed_at = c.collected_at
      and q.type in ('COD_COLLECTION', 'DELIVERY_FEE') and q.status <> 'CANCELLED'
  ) m
  where c.tenant_id = tenant and c.reversed_at <= as_of and m.counting <> 0
$function$;

CREATE OR REPLACE FUNCTION private.tally_carrier_collections()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        with differences as (
          select c.tenant_id, array[coalesce(c.carrier_code::text, ''), coalesce(c.status::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'carrier_collections', d.dims, d.entries, d.amount from differences d;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        with differences as (
          select c.tenant_id, array[coalesce(c.carrier_code::text, ''), coalesce(c.status::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select -1 as d, o.* from old_rows o
            where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'carrier_collections', d.dims, d.entries, d.amount from differences d;
      else
        with differences as (
          select c.tenant_id, array[coalesce(c.carrier_code::text, ''), coalesce(c.status::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')] as dims, sum(c.d) as entries, coalesce(sum(c.d * c.amount), 0) as amount from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 2 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0)
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
        select d.tenant_id, 'carrier_collections', d.dims, d.entries, d.amount from differences d;
      end if;
      return null;
    end $function$;

ALTER TABLE "money"."carrier_collections" ADD CONSTRAINT "carrier_cash_state" CHECK ((((status = ANY (ARRAY['remitted'::text, 'written_off'::text])) = (remitted_at IS NOT NULL)) AND ((status = ANY (ARRAY['remitted'::text, 'written_off'::text])) = (remittance_id IS NOT NULL)) AND ((status = 'reversed'::text) = (reversed_at IS NOT NULL)))) NOT VALID;

ALTER TABLE "money"."carrier_collections" ADD CONSTRAINT "carrier_collections_status_check" CHECK ((status = ANY (ARRAY['owed'::text, 'remitted'::text, 'written_off'::text, 'reversed'::text]))) NOT VALID;

ALTER TABLE "money"."carrier_remittances" ADD CONSTRAINT "carrier_remittances_kind_check" CHECK ((kind = ANY (ARRAY['payment'::text, 'write_off'::text]))) NOT VALID;

ALTER TABLE "money"."carrier_remittances" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(carrier_code) <= 1000) AND (octet_length(reference) <= 1000) AND (octet_length(notes) <= 4000) AND (octet_length(reversal_reason) <= 4000) AND (octet_length(kind) <= 1000))) NOT VALID;

CREATE VIEW "money"."carrier_collections_list" WITH (security_invoker=true) AS  SELECT c.id,
    c.carrier_code,
    c.delivery_id,
    c.delivery_code,
    c.tracking_number,
    c.external_reference_id,
    c.customer_name,
    c.delivery_address,
    c.amount,
    c.cod_amount,
    c.delivery_fee_amount,
    c.currency,
    c.status,
    c.collected_at,
    c.remitted_at,
    c.remittance_id,
    r.reference AS remittance_reference,
    c.reversed_at
   FROM (money.carrier_collections c
     LEFT JOIN money.carrier_remittances r ON (((r.tenant_id = c.tenant_id) AND (r.id = c.remittance_id))));

CREATE VIEW "money"."carrier_remittances_list" WITH (security_invoker=true) AS  SELECT r.id,
    r.carrier_code,
    r.amount,
    r.cod_amount,
    r.delivery_fee_amount,
    r.currency,
    r.reference,
    r.notes,
    r.remitted_at,
    r.collections AS remitted_count,
        CASE
            WHEN (r.actor_id IS NOT NULL) THEN jsonb_build_object('id', r.actor_id, 'full_name', p.full_name)
            ELSE NULL::jsonb
        END AS entered_by,
    r.reversed_at,
        CASE
            WHEN (r.reversed_by IS NOT NULL) THEN jsonb_build_object('id', r.reversed_by, 'full_name', b.full_name)
            ELSE NULL::jsonb
        END AS reversed_by,
    r.reversal_reason,
    r.kind
   FROM ((money.carrier_remittances r
     LEFT JOIN tenancy.profiles p ON ((p.id = r.actor_id)))
     LEFT JOIN tenancy.profiles b ON ((b.id = r.reversed_by)));

REVOKE ALL ON FUNCTION "integration"."carrier_delivers"(integration.carrier_shipments, delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."carrier_journal"(money.carrier_remittances) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."carrier_journal"(money.carrier_remittances) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."carrier_paid"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."carrier_positions"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_hold_end"(text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_taken"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."hold_ended_now"(uuid, text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."lock_carrier_cash"(delivery.deliveries, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_carrier_cash"(delivery.deliveries, timestamp with time zone) TO "barid_caller";

GRANT SELECT ON TABLE "money"."carrier_collections_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."carrier_remittances_list" TO "barid_caller";

select app.counted('carrier_collections', 'money.carrier_collections', '{carrier_code,status,currency,reversed_at}', 'amount');

insert into integration.event_types (event_type, source_module, entity_type, event_data)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery.outcome}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason_code": "string?", "actor_id": "uuid?"}'),
  ('{delivery.postponed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "postponed_to": "string", "reason_code": "string", "actor_id": "uuid?"}'),
  ('{delivery.outcome_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.pickup_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.refund_due}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "amount": "number", "currency": "string", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "shortage": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_handover.resolved}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "resolution": "string", "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string", "from_user_id": "uuid?", "to_user_id": "uuid?",
      "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.reversed}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.opened}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "actor_id": "uuid?"}'),
  ('{merchant_statement.paid}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reference": "string?", "actor_id": "uuid"}'),
  ('{merchant_statement.reversed}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.voided}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "reason": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill_return.refund_due}', 'warehousing', 'delivery',
    '{"delivery_id": "uuid", "waybill_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_return.refund_due}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "kind": "string", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due,order.fee_not_collected}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "refund_method": "string", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.deleted}', 'tenants', 'tenant', '{"tenant_id": "uuid", "files": "integer", "people": "integer", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128133332';
end $$;

grant execute on function private.schema_version() to barid_api;
