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

-- squawk-ignore prefer-robust-stmts, ban-drop-not-null
ALTER TABLE "money"."carrier_collections" ALTER COLUMN "shipment_id" DROP NOT NULL;

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_change uuid := (input ->> 'amount_change_id')::uuid;
  v_shipment uuid;
  v_carrier text;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_off_waybill(d, a, 'delivered');
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    if input ->> 'result' is distinct from 'partial' then
      v_change := delivery.amount_at_door(v_parcel, input);
      if v_change is not null then
        v_parcel := delivery.parcel_terms(d);
        v_cash := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
      end if;
      perform delivery.require_amount_for_whole(v_parcel);
    end if;
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id, s.carrier_code into v_shipment, v_carrier from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      -- No booking asked the carrier to collect it: then operations have to say that it did.
      if not found and d.carrier_type = 'external' and coalesce(jsonb_typeof(input -> 'cash_collected'), 'null') <> 'null' then
        select c.code into v_carrier from integration.carriers c where c.code = d.carrier_code and not c.is_internal;
      end if;
      if v_carrier is null then
        perform app.fail('delivery_has_no_driver', case d.carrier_type when 'external'
          then '{"text_key": "carrier_not_asked_for_cash", "field": "cash_collected"}'::jsonb else '{}' end);
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The numbers of receipts come after its order, and before the wallets that its cash moves.
  if v_warehouse is not null then
    perform app.lock_numbers('receiving_order', true);
  elsif d.order_id is not null then
    perform storefront.lock_receipt_numbers(d.id);
  end if;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_carrier is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment, v_carrier);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), v_change);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
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
    -- Its reports leave no outcome.
    (1, 'carrier_reports_outcome', d.carrier_type = 'external' and d.status in ('delivered', 'failed', 'returned'), '{}'),
    (2, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
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
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

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
    if v_status = 'delivered' and s.cash_due > 0 then
      perform money.carrier_cash_collected(delivery.parcel_of(d), s.id, s.carrier_code);
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
  if not v_duplicate and v_status = 'delivered' and s.cash_due > 0 and d.status <> 'delivered' and v_outcome <> 'applied' then
    insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (tenant_id, 'carrier_cash.unbooked', 'carriers', 'delivery', d.id, jsonb_build_object('delivery_id', d.id,
      'shipment_id', s.id, 'carrier_code', carrier_code, 'amount', s.cash_due, 'currency', d.currency, 'status', d.status,
      'outcome', v_outcome));
  end if;
  return jsonb_build_object('outcome', v_outcome, 'duplicate', v_duplicate);
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_answer jsonb := integration.key_claim(input);
  v_credentials text;
  d delivery.deliveries;
  c integration.carriers;
  s integration.carrier_shipments;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid for no key update;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  c := integration.carrier_of(input ->> 'carrier_code');
  if c.is_internal or d.carrier_type <> 'external' then
    perform app.fail('delivery_not_external');
  end if;
  select k.credentials into v_credentials from integration.tenant_carriers k
  where k.tenant_id = v_tenant and k.carrier_code = c.code and k.is_enabled;
  if not found then
    perform app.fail('carrier_not_enabled');
  end if;
  perform integration.shipments_end(array[d.id]);
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = v_tenant and t.delivery_id = d.id and t.status <> 'cancelled' for update;
  if found then
    if s.carrier_code <> c.code then
      perform app.fail('shipment_with_other_carrier');
    elsif s.status = 'booked' then
      return jsonb_build_object('answer', integration.shipment_to_json(s));
    elsif s.status <> 'booking' or s.claimed_at > now() - interval '2 minutes' then
      perform app.fail('shipment_in_progress');
    end if;
  elsif d.status <> 'pending' or coalesce(d.carrier_code, c.code) <> c.code then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  elsif d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  else
    perform delivery.require_no_return(d);
    perform storefront.require_order_picked(d.id);
    -- A carrier hands over the whole.
    perform delivery.require_amount_for_whole(delivery.parcel_terms(d));
    insert into integration.carrier_shipments (tenant_id, delivery_id, carrier_code, cash_due)
    values (v_tenant, d.id, c.code, integration.cash_for_carrier(d, (input ->> 'collects_cash')::boolean))
    returning * into s;
  end if;
  update integration.carrier_shipments t set claim_token = gen_random_uuid(), claimed_at = now() where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'credentials', v_credentials,
    'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'recipient', d.recipient,
      'pickup', d.pickup_snapshot, 'dropoff', d.dropoff_snapshot, 'package_details', d.package_details, 'unit_size', d.unit_size,
      'cash_due', s.cash_due, 'currency', d.currency, 'notes', d.notes));
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
  on conflict on constraint carrier_cash_already_collected do nothing
  returning id into v_row;
  if v_row is not null then
    perform money.cash_book(d, 'dropoff', 'carrier_collection', v_row,
      money.account_of('carrier_cash', 'carrier', null, d.currency::text, p_carrier));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.webhook_event_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'event_id')::uuid;
  e money.payment_webhook_events;
begin
  if input ->> 'action' is not null then
    perform money.unmatched_settle(v_id, input ->> 'action');
  end if;
  e := money.lock_unmatched_event(v_id);
  update money.payment_webhook_events x set resolution = input ->> 'resolution', resolution_note = input ->> 'note',
    action = input ->> 'action', resolved_by = app.user_id(), resolved_at = now()
  where x.tenant_id = v_tenant and (x.id = e.id or (x.payment_id = e.payment_id
    and x.outcome = 'unmatched' and x.resolution is null and x.facts ->> 'kind' = e.facts ->> 'kind'
    and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id' and x.facts ->> 'refund_id' is not distinct from e.facts ->> 'refund_id'));
  return (select to_jsonb(l) from money.webhook_events_list l where l.id = e.id);
end $function$;

REVOKE ALL ON FUNCTION "money"."carrier_cash_collected"(uuid, uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."carrier_cash_collected"(uuid, uuid, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128094024';
end $$;

grant execute on function private.schema_version() to barid_api;
