-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.ended_deliveries in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."ended_deliveries";

CREATE OR REPLACE FUNCTION delivery.delivery_execute(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_asked uuid := (input ->> 'warehouse_id')::uuid;
  v_pick uuid;
  v_found jsonb;
  v_reference text;
  v_order warehousing.picking_orders;
begin
  if not delivery.leaves_warehouse(d) then
    perform app.fail('delivery_not_executable');
  end if;
  select p.id into v_pick from warehousing.picking_orders p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.status = 'completed';
  if not found then
    perform delivery.require_move(d, '{pending}', 'executed');
    perform delivery.require_no_return(d);
    if coalesce(v_asked, d.pickup_warehouse_id) <> d.pickup_warehouse_id then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    v_pick := gen_random_uuid();
    -- Somebody may have written the next number by hand.
    while v_reference is null or exists (select from warehousing.picking_orders p
        where p.tenant_id = d.tenant_id and p.reference_number = v_reference and p.order_id is null) loop
      v_reference := 'PKO-' || app.padded(app.take_numbers('picking_order'), 6);
    end loop;
    -- The items of a parcel, where each lies; whatever is missing is one and the same refusal.
    begin
      v_found := warehousing.stock_reserve('picking_order', v_pick, (
        select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'quantity', i.quantity, 'warehouse_id', d.pickup_warehouse_id) order by i.position)
        from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d) and i.item_id is not null));
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_stock' then
        raise;
      end if;
      v_found := null;
    end;
    if coalesce(jsonb_array_length(v_found), 0) = 0 then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    insert into warehousing.picking_orders (id, tenant_id, reference_number, warehouse_id, order_type, status, delivery_id, completed_date,
      created_by, picking_progress)
    values (v_pick, d.tenant_id, v_reference, d.pickup_warehouse_id, 'individual',
      'completed', d.id, clock_timestamp(), app.user_id(), jsonb_build_object('start_time', now(), 'end_time', now()))
    returning * into v_order;
    insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity, picked_quantity, status)
    select d.tenant_id, v_pick, f.position, f.warehouse_id, f.item_id, f.bin_id, f.quantity, f.quantity, 'picked'
    from rows from (jsonb_to_recordset(v_found) as (warehouse_id uuid, item_id uuid, bin_id uuid, quantity bigint))
      with ordinality f (warehouse_id, item_id, bin_id, quantity, position);
    perform warehousing.picking_event_emit(v_order, 'pending', v_order.status);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'picking_order', (
    select jsonb_build_object('id', p.id, 'reference_number', p.reference_number, 'status', p.status, 'warehouse_id', p.warehouse_id,
      'delivery_id', p.delivery_id, 'completed_date', p.completed_date, 'item_details', (
        select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity,
          'picked_quantity', i.picked_quantity, 'status', i.status) order by i.position)
        from warehousing.picking_order_items i where i.tenant_id = p.tenant_id and i.picking_order_id = p.id))
    from warehousing.picking_orders p where p.id = v_pick));
end $function$;

CREATE OR REPLACE FUNCTION money.cash_due_on(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_cod numeric := d.cod_amount;
  v_fee numeric := d.delivery_fee;
  v_by_sender boolean := d.payer_type = 'sender';
  v_in_cash boolean := d.payment_method = 'cash' or (d.payment_method = 'gateway' and d.order_id is null);
  v_no_pickup boolean;
  v_no_door boolean;
  p delivery.deliveries;
begin
  -- Of a leg the terms are those of its parcel.
  if d.parent_id is not null then
    select x.* into p from delivery.deliveries x where x.tenant_id = v_tenant and x.id = d.parent_id;
    v_cod := p.cod_amount;
    v_fee := p.delivery_fee;
    v_by_sender := p.payer_type = 'sender';
    v_in_cash := p.payment_method = 'cash' or (p.payment_method = 'gateway' and p.order_id is null);
  end if;
  if not v_in_cash then
    v_fee := 0;
  elsif v_by_sender and coalesce(p.picked_up_at, d.picked_up_at) is not null then
    -- Since it was picked up a wallet may have borne a change of it.
    v_fee := v_fee - money.delivery_fee_borne(coalesce(d.parent_id, d.id));
  end if;
  -- Returned, a leg that waits to be received sets out again.
  v_no_door := d.status in ('delivered', 'cancelled') or d.delivery_flow in ('standard', 'customer_return') and d.status = 'returned'
    or d.delivery_flow = 'pnd_inbound' or delivery.is_transferred(d);
  v_no_pickup := d.status = 'cancelled' or v_fee = 0 or not v_by_sender;
  if not v_no_pickup then
    v_no_pickup := exists (select from money.cod_collections c
      where c.tenant_id = v_tenant and c.delivery_id = coalesce(d.parent_id, d.id) and c.collection_stage = 'pickup' and c.reversed_at is null)
    or d.delivery_flow = 'pnd_outbound' and exists (select from delivery.deliveries a
      where a.tenant_id = v_tenant and a.parent_id = d.parent_id and a.delivery_flow = 'pnd_inbound'
        and a.status in ('draft', 'pending', 'assigned', 'accepted'));
  end if;
  return jsonb_build_object(
    'pickup', jsonb_build_object('cod', 0, 'delivery_fee', case when v_no_pickup then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)),
    'delivery', jsonb_build_object('cod', case when v_no_door then 0 else v_cod end,
      'delivery_fee', case when v_by_sender or v_no_door then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)));
end $function$;

CREATE OR REPLACE FUNCTION money.cod_reversal_event_emit(s money.cod_settlements)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.reversed', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', s.payment_id, 'event_data', jsonb_build_object('settlement_payment_id', s.payment_id,
      'method', s.method, 'driver_id', s.driver_id, 'receiver_id', s.receiver_id, 'currency', s.currency, 'total', s.total,
      'shortage', s.shortage, 'collections', s.collections, 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select s.tenant_id, p.id, 'cod_settlement_reversed', jsonb_build_object('settlement_payment_id', s.payment_id, 'currency', s.currency,
    -- Of the driver's cash what was missing did not come to who received it.
    'amount', case when p.id = s.driver_id then s.total else s.total - s.shortage end)
  from (select s.driver_id union select s.receiver_id) p (id)
  where p.id <> app.user_id();
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settle(method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key text := app.request_setting('idempotency_key');
  v_rows money.cod_collections[];
  v_driver uuid;
  v_receiver uuid;
  v_currency text;
  v_wallet uuid;
  v_total numeric;
  v_fees numeric;
  v_mixed boolean;
  v_ids uuid[];
  v_payment uuid := gen_random_uuid();
  v_known money.cod_settlements;
  v_handover money.cash_handovers;
  v_short numeric := 0;
begin
  if v_key is not null then
    select s.* into v_known from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_known.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_known.payment_id);
    end if;
  end if;

  v_rows := money.lock_cod_collections(scope, collection_ids, driver_id);
  v_driver := v_rows[1].driver_id;
  v_currency := v_rows[1].currency;
  select sum(r.amount), sum(r.delivery_fee_amount), min(r.currency) <> max(r.currency), array_agg(r.id)
  into v_total, v_fees, v_mixed, v_ids from unnest(v_rows) r;
  if method = 'remit' then
    v_receiver := money.cod_receiver(receiver_id);
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_currency, v_total);
    v_short := case v_handover.status when 'discrepancy' then v_handover.declared_amount - v_handover.counted_amount else 0 end;
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, reference,
    actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case method when 'remit' then 'cash' else 'wallet' end, v_total,
    v_currency, v_wallet, cod_settle.reference, v_actor, now(),
    money.cod_snapshot(v_rows, method, scope, reference, notes, v_receiver)
    || case when v_short > 0 then jsonb_build_object('counted', v_total - v_short, 'shortage', v_short) else '{}' end);
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, shortage, shortage_handover_id, notes, reference, idempotency_key, input_hash)
  values (v_payment, v_tenant, method, scope, v_driver, v_actor, v_receiver, v_currency,
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint);
  perform money.cod_items_write(v_payment, v_rows);
  if v_handover.id is not null then
    update money.cash_handovers h set settlement_payment_id = v_payment where h.tenant_id = v_tenant and h.id = v_handover.id;
  end if;
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  perform money.receipt_request(v_payment);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_payment, method, v_driver, v_receiver, v_wallet, v_currency, v_total, v_fees, v_short);
  return money.cod_settlement_to_json(v_payment);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_unbook(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_accounts record;
  t money.driver_payouts;
begin
  select x.* into t from money.driver_payouts x where x.tenant_id = v_tenant and x.id = (input ->> 'id')::uuid for no key update;
  if t.id is null then
    perform app.fail('driver_payout_not_found');
  elsif not money.pays_into_wallets() and (t.method = 'wallet' or t.actor_id <> app.user_id()) then
    perform app.fail('forbidden');
  elsif t.reversed_at is not null then
    perform app.fail('driver_payout_already_reversed');
  end if;
  update money.driver_payouts x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id;
  update money.driver_payout_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payout_id = t.id;
  perform from money.driver_pay p where p.tenant_id = v_tenant and p.payout_id = t.id order by p.id for no key update;
  update money.driver_pay p set status = 'accrued', paid_at = null, payout_id = null where p.tenant_id = v_tenant and p.payout_id = t.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'driver_pay.reversed', 'source_module', 'delivery',
    'entity_type', 'driver_payout', 'entity_id', t.id, 'event_data', jsonb_build_object('payout_id', t.id, 'driver_id', t.driver_id, 'method', t.method,
      'amount', t.amount, 'currency', t.currency, 'count', t.accruals, 'reference', t.reference, 'reason', input ->> 'reason',
      'actor_id', app.user_id()))));
  v_accounts := money.driver_payout_accounts(t);
  perform money.lock_balances(array_remove(array[v_accounts.paid, v_accounts.outside], null));
  if t.method = 'cash' then
    perform money.reverse('driver_payout_cash', 'driver_payout', t.id, input ->> 'reason');
  end if;
  perform money.reverse('driver_payout', 'driver_payout', t.id, input ->> 'reason');
  return t.id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_rows(p_id uuid)
 RETURNS TABLE(kind text, delivery_code bigint, external_reference_id text, collected_at timestamp with time zone, released_at timestamp with time zone, cod numeric, delivery_fee numeric, refund numeric, adjustment numeric, net numeric)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  select case when l.delivery_id is not null then 'delivery' when min(l.movement) = 0 then 'opening' when min(l.movement) > 0 then min(l.kind)
      when sum(l.amount) < 0 then 'kept' else 'kept_before' end,
    min(l.delivery_code), min(l.external_reference_id), coalesce(min(l.collected_at) filter (where l.kind = 'cod'), min(l.collected_at)),
    max(l.released_at),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), sum(l.amount)
  from money.merchant_statement_lines l
  where l.tenant_id = app.tenant_id() and l.statement_id = p_id
  group by l.delivery_id, case when l.delivery_id is null then l.position end
  order by min(l.position);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_void_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
begin
  if s.status <> 'open' then
    perform app.fail('statement_not_open', jsonb_build_object('from', s.status));
  end if;
  perform from money.accounts a where a.tenant_id = v_tenant and a.id = s.account_id for no key update;
  update money.merchant_statements x set status = 'void', voided_at = now(), voided_by = app.user_id(), void_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = s.id;
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select l.tenant_id, l.account_id, l.movement from money.merchant_statement_lines l
  where l.tenant_id = v_tenant and l.statement_id = s.id and l.movement is not null;
  perform money.statement_event_emit('merchant_statement.voided', s, jsonb_build_object('reason', input ->> 'reason'));
  return s.id;
end $function$;

CREATE VIEW "delivery"."ended_deliveries" WITH (security_invoker=true) AS  SELECT d.tenant_id,
    d.id AS delivery_id,
    a.driver_id,
    d.created_at,
    (NOT ((d.delivery_flow = 'pnd_inbound'::text) AND (d.status = 'delivered'::text))) AS counted,
    ((d.parent_id IS NOT NULL) AND (d.picked_up_at IS NOT NULL)) AS handled_leg,
    (d.status = 'delivered'::text) AS successful,
        CASE
            WHEN (d.status = 'delivered'::text) THEN (d.delivered_at <= COALESCE(d.promised_at,
            CASE
                WHEN (d.dropoff_warehouse_id IS NULL) THEN p.promised_at
                ELSE NULL::timestamp with time zone
            END))
            ELSE NULL::boolean
        END AS on_time,
        CASE
            WHEN (d.status = 'delivered'::text) THEN round((EXTRACT(epoch FROM (d.delivered_at - d.picked_up_at)) / (60)::numeric), 2)
            ELSE NULL::numeric
        END AS minutes,
        CASE
            WHEN ((d.status <> 'cancelled'::text) OR (d.picked_up_at IS NOT NULL)) THEN COALESCE(round(((a.route_details ->> 'distance_km'::text))::numeric, 3), d.distance_km)
            ELSE NULL::numeric
        END AS distance_km,
        CASE
            WHEN ((d.status = 'delivered'::text) AND ((d.parent_id IS NULL) OR (d.dropoff_warehouse_id IS NULL))) THEN
            CASE
                WHEN (d.order_id IS NOT NULL) THEN GREATEST(d.cod_amount, d.delivery_fee)
                ELSE COALESCE((p.cod_amount + p.delivery_fee), (d.cod_amount + d.delivery_fee))
            END
            ELSE (0)::numeric
        END AS value
   FROM ((delivery.deliveries d
     LEFT JOIN delivery.deliveries p ON (((p.tenant_id = d.tenant_id) AND (p.id = d.parent_id))))
     CROSS JOIN LATERAL ( SELECT a_1.driver_id,
            a_1.route_details,
            a_1.status,
            a_1.assignment_time
           FROM delivery.assignments a_1
          WHERE ((a_1.tenant_id = d.tenant_id) AND (a_1.delivery_id = d.id) AND (a_1.status <> 'rejected'::text))
          ORDER BY a_1.assignment_time DESC, a_1.id DESC
         LIMIT 1) a)
  WHERE ((d.status = ANY (ARRAY['delivered'::text, 'failed'::text, 'returned'::text, 'cancelled'::text])) AND (d.carrier_type = 'internal'::text) AND ((a.status <> 'returned'::text) OR (d.status = 'cancelled'::text) OR ((d.status <> 'delivered'::text) AND ((d.picked_up_at >= a.assignment_time) OR ( SELECT (h.to_status = ANY (ARRAY['picked_up'::text, 'in_transit'::text, 'failed'::text, 'delivered'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.created_at <= a.assignment_time))
          ORDER BY h.id DESC
         LIMIT 1)))) AND (NOT (d.made_at_door AND (d.status = 'cancelled'::text) AND (NOT (d.status_reason IS DISTINCT FROM 'outcome_undone'::text)))) AND ((d.status <> 'cancelled'::text) OR ( SELECT (h.from_status <> ALL (ARRAY['draft'::text, 'pending'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'cancelled'::text))
          ORDER BY h.id DESC
         LIMIT 1)));

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
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
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
      "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "actor_id": "uuid?"}'),
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
    '{"carrier_remittance_id": "uuid", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
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
  ('{order.shortened,order.refund_due}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "actor_id": "uuid?"}'),
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
  return '20261126095431';
end $$;

grant execute on function private.schema_version() to barid_api;
