-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table tenancy.tenant_users in share row exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

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
  v_settlement money.cod_settlements;
  v_items money.cod_settlement_items[];
  v_receipt text;
  v_handover money.cash_handovers;
  v_short numeric := 0;
begin
  if v_key is not null then
    select s.* into v_settlement from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_settlement.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_settlement, money.cod_items_of(v_settlement), (
        select r.status from money.settlement_receipts r where r.tenant_id = v_tenant and r.payment_id = v_settlement.payment_id));
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
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint)
  returning * into v_settlement;
  v_items := money.cod_items_record(v_payment, v_rows);
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  perform money.handovers_settle(v_settlement, v_handover);
  v_receipt := money.receipt_request(v_settlement, v_items);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_payment, method, v_driver, v_receiver, v_wallet, v_currency, v_total, v_fees, v_short);
  return money.cod_settlement_to_json(v_settlement, v_items, v_receipt);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_event_emit(event_type text, h money.cash_handovers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'delivery',
    'entity_type', 'cash_handover', 'entity_id', h.id, 'event_data', jsonb_build_object('cash_handover_id', h.id,
      'driver_id', h.driver_id, 'declared_amount', h.declared_amount, 'counted_amount', h.counted_amount, 'currency', h.currency,
      'settlement_payment_id', h.settlement_payment_id, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION money.handover_of(driver uuid, currency text, total numeric)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_office boolean := money.settles_for_office();
  v_row money.cash_handovers;
begin
  select u.* into v_row from money.cash_handovers u
  where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
    and u.status in ('counted', 'resolved') and u.settlement_payment_id is null and u.declared_amount = total
  -- A row that another transaction has locked is waited for: one that was skipped would be remitted by nobody.
  order by u.created_at limit 1 for no key update;
  if v_row.id is null and not v_required then
    -- A transaction that counts, resolves or cancels it is waited for as well: a shortage is booked once, and one that was
    -- counted in full meanwhile is this remittance's all the same.
    select u.* into v_row from money.cash_handovers u
    where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
      and (u.status = 'discrepancy' and u.counted_amount < u.declared_amount or u.status in ('counted', 'resolved')
        or u.status = 'declared' and v_office)
      and u.settlement_payment_id is null and u.declared_amount = total
    order by u.status = 'declared', u.created_at limit 1 for no key update;
  elsif v_row.id is null then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', handover_of.currency));
  end if;
  return v_row;
end $function$;

CREATE OR REPLACE FUNCTION money.handovers_settle(s money.cod_settlements, used money.cash_handovers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  if used.id is not null then
    update money.cash_handovers h set settlement_payment_id = s.payment_id,
      status = case h.status when 'declared' then 'counted' else h.status end,
      counted_amount = coalesce(h.counted_amount, h.declared_amount),
      counted_by = case h.status when 'declared' then s.actor_id else h.counted_by end, counted_at = coalesce(h.counted_at, now())
    where h.tenant_id = s.tenant_id and h.id = used.id
    returning * into v_row;
    if used.status = 'declared' then
      perform money.handover_event_emit('cash_handover.counted', v_row);
      return;
    end if;
  end if;
  -- Of two settlements the later one waits here, and its next statement reads what the earlier one left.
  select h.* into v_row from money.cash_handovers h
  where h.tenant_id = s.tenant_id and h.driver_id = s.driver_id and h.currency = s.currency and h.status = 'declared'
  for no key update;
  if v_row.id is null then
    return;
  end if;
  update money.cash_handovers h set status = 'cancelled', settlement_payment_id = case when used.id is null then s.payment_id end
  where h.tenant_id = s.tenant_id and h.id = v_row.id
    and (h.declared_amount = s.total and s.method = 'remit' and used.id is null
      or h.declared_amount > (
        select coalesce(sum(c.amount), 0) from money.cod_collections c
        where c.tenant_id = s.tenant_id and c.driver_id = s.driver_id and c.currency = s.currency and c.status = 'collected'
          and c.reversed_at is null))
  returning * into v_row;
  if found then
    perform money.handover_event_emit('cash_handover.cancelled', v_row);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.join_shop(store_name text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_user uuid := app.user_id();
  v_caller text := coalesce(app.tenant_id()::text, '');
  v_shop record;
  v_joined boolean;
  v_member tenancy.tenant_users;
begin
  if v_user is null then
    perform app.fail('forbidden');
  end if;
  v_shop := storefront.open_shop(join_shop.store_name);
  -- Log, event and wallet belong to the tenant that is joined; the answer is remembered under the key of a
  -- caller who was in none.
  perform set_config('app.tenant_id', v_shop.tenant_id::text, true);
  insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (v_shop.tenant_id, v_user, 'customer')
  on conflict (tenant_id, user_id) do update set tenant_user_type = 'customer', is_business = excluded.is_business,
    employee_id = excluded.employee_id, is_active = true, left_at = null
  where tenant_users.left_at is not null and not tenant_users.was_shut_out;
  v_joined := found;
  select * into v_member from tenancy.tenant_users u where u.tenant_id = v_shop.tenant_id and u.user_id = v_user;
  if not v_member.is_active then
    perform app.fail('forbidden');
  end if;
  if v_joined then
    insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key) values (v_shop.tenant_id, v_user, 'customer')
    on conflict do nothing;
    perform money.account_of('wallet', 'customer', v_user, v_shop.currency);
    perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'customer.joined', 'source_module', 'storefront',
      'entity_type', 'customer', 'entity_id', v_user,
      'event_data', jsonb_build_object('customer_id', v_user, 'market_id', v_shop.market_id, 'actor_id', v_user))));
  end if;
  perform set_config('app.tenant_id', v_caller, true);
  return jsonb_build_object('tenant_id', v_shop.tenant_id, 'market_id', v_shop.market_id,
    'tenant_user_type', v_member.tenant_user_type, 'joined', v_joined);
end $function$;

CREATE OR REPLACE FUNCTION storefront.require_order_picked(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_pick uuid;
begin
  select k.id into v_pick
  from storefront.storefront_order_parts p
  join warehousing.picking_orders k on k.tenant_id = p.tenant_id and k.id = p.picking_order_id
  where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.left_at is null
    and (k.status in ('pending', 'in_progress') and (not storefront.picks_as_it_leaves() or exists (
        select from warehousing.picking_order_items i
        where i.tenant_id = k.tenant_id and i.picking_order_id = k.id and i.picked_quantity < i.quantity and i.status not in ('pending', 'picked')))
      or storefront.order_missing(p.order_id, p.id) <> '[]');
  if found then
    perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', v_pick));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.api_keys_end()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update tenancy.api_keys k set revoked_at = now()
  where k.tenant_id = new.tenant_id and k.created_by = new.user_id and k.revoked_at is null and k.expires_at > now();
  return null;
end $function$;

CREATE TRIGGER api_keys_end AFTER UPDATE OF left_at ON tenancy.tenant_users FOR EACH ROW WHEN (((new.left_at IS NULL) AND (old.left_at IS NOT NULL))) EXECUTE FUNCTION tenancy.api_keys_end();

REVOKE ALL ON FUNCTION "money"."handovers_settle"(money.cod_settlements, money.cash_handovers) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handovers_settle"(money.cod_settlements, money.cash_handovers) TO "barid_caller";

REVOKE ALL ON FUNCTION "tenancy"."api_keys_end"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."api_keys_end"() TO "barid_caller";

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
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
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
  ('{order.shortened,order.refund_due,order.fee_not_collected}', 'storefront', 'order',
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
  return '20261127085351';
end $$;

grant execute on function private.schema_version() to barid_api;
