-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.call(claims jsonb, rule jsonb, work text, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_answer jsonb;
  v_version text;
  v_reads_only boolean := coalesce((rule ->> 'reads_only')::boolean, false);
  -- A dry run is undone, and made again to see whether what it found was mended: there is nothing to remember.
  v_key text := case when input ->> 'dry_run' is distinct from 'true' then claims ->> 'idempotency_key' end;
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if v_key is not null then
    -- For cores that remember for longer than the engine does.
    perform set_config('app.idempotency_key', v_key, true);
    v_answer := private.idempotency_claim(claims ->> 'operation', v_key, input - 'made', coalesce(rule ->> 'conflict', 'idempotency_conflict'));
    if v_answer is not null then
      return json_build_object('data', v_answer, 'replayed', true, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id');
    end if;
  end if;
  if rule #> '{version,expected}' is not null then
    perform private.version_expect(rule -> 'version');
  end if;
  if v_reads_only and rule ? 'version' then
    v_version := private.version_of(rule -> 'version');
  end if;
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into v_answer using input;
  if v_key is not null then
    perform private.idempotency_store(claims ->> 'operation', v_key, coalesce(v_answer, 'null'));
  end if;
  if not v_reads_only then
    -- A deferred constraint that fails at the commit would be an error outside of this block.
    set constraints all immediate;
    if rule ? 'version' then
      v_version := private.version_of(rule -> 'version');
    end if;
  end if;
  return json_build_object('data', v_answer, 'language', coalesce(app.request_setting('shop_language'), v_language), 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id',
    'version', v_version,
    'jobs', coalesce(nullif(current_setting('app.jobs_queued', true), ''), 'off') = 'on',
    'events', coalesce(nullif(current_setting('app.events_queued', true), ''), 'off') = 'on');
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.adjustment_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_delta bigint := (input ->> 'delta')::bigint;
  v_adjustment uuid := gen_random_uuid();
  v_place jsonb := jsonb_strip_nulls(jsonb_build_object('bin_id', input ->> 'bin_id', 'status', coalesce(input ->> 'status', 'available'),
    'lot_number', input ->> 'lot_number', 'serial_number', input ->> 'serial_number'));
begin
  perform warehousing.require_warehouse(v_warehouse);
  if v_delta > 0 then
    perform warehousing.require_rest_of_parcel((input ->> 'item_id')::uuid, v_warehouse, v_delta);
  end if;
  perform warehousing.stock_post(jsonb_build_array(jsonb_build_object('type', 'adjust', 'item_id', input ->> 'item_id',
    'warehouse_id', v_warehouse, 'quantity', abs(v_delta), case when v_delta > 0 then 'to' else 'from' end, v_place,
    'reference_type', 'adjustment', 'reference_id', v_adjustment, 'reason', input ->> 'reason', 'field', 'delta')));
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory.adjusted', 'source_module', 'warehousing',
    'entity_type', 'warehouse', 'entity_id', v_warehouse, 'event_data', jsonb_build_object('adjustment_id', v_adjustment,
      'warehouse_id', v_warehouse, 'item_id', input ->> 'item_id', 'delta', v_delta, 'actor_id', app.user_id()))));
  return jsonb_build_object('adjustment_id', v_adjustment, 'transactions', warehousing.movements_of(v_adjustment));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_expect(p_delivery uuid, p_warehouse uuid, p_failed boolean)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_exception uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if exists (select from storefront.storefront_order_parts p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.left_at is not null and not exists (
        select from storefront.storefront_order_part_items g where g.tenant_id = p.tenant_id and g.part_id = p.id and g.quantity > g.short)) then
    return null;
  end if;
  -- Its waybill brings it into a warehouse, and it is expected nowhere else.
  if delivery.transfer_under_way(d) ->> 'waybill_id' is not null then
    return null;
  end if;
  select e.id into v_exception from delivery.delivery_exceptions e
  where e.tenant_id = d.tenant_id and e.delivery_id in (d.id, d.parent_id) and e.status = 'open' order by e.created_at desc, e.id limit 1;
  return warehousing.receipt_open(d, coalesce(p_warehouse, (
      select w.id from warehousing.warehouses w where w.tenant_id = d.tenant_id and w.id = d.pickup_warehouse_id and w.deleted_at is null),
    delivery.default_warehouse(), d.pickup_warehouse_id),
    case when p_failed or v_exception is not null then 'failed_delivery_return' else 'delivery_return_handoff' end, v_exception);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_rest_of_parcel(item uuid, warehouse uuid, units bigint)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_parcel uuid;
begin
  select i.parcel_delivery_id into v_parcel from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = item;
  if v_parcel is not null and (
    not exists (
      select from delivery.deliveries d
      where d.tenant_id = v_tenant and v_parcel in (d.id, d.parent_id, d.original_delivery_id) and d.current_warehouse_id = warehouse)
    or units + (select coalesce(sum(s.quantity), 0) from warehousing.stock s where s.tenant_id = v_tenant and s.item_id = item) > (
      select coalesce(sum(i.quantity), 0) from delivery.delivery_items i
      where i.tenant_id = v_tenant and i.delivery_id = v_parcel and i.item_id = item))
  then
    perform app.fail('item_of_parcel', jsonb_build_object('field', 'delta', 'item_id', item));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_arrive(w warehousing.waybills, parcels uuid[], bin uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_bin uuid := coalesce(bin, warehousing.default_receiving_bin(w.destination_warehouse_id));
  v_lines jsonb;
begin
  perform warehousing.parcels_advance(parcels, w.destination_warehouse_id);
  -- Goods that a store's parcel has brought back here are expected as goods.
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'warehouse_id', w.destination_warehouse_id, 'bin_id', v_bin, 'quantity', i.quantity,
    'lot_number', i.lot_number, 'serial_number', i.serial_number, 'field', 'bin_id') order by i.item_id, i.id)
  into v_lines from warehousing.waybill_items i
  join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
  where i.tenant_id = w.tenant_id and i.waybill_id = w.id and i.delivery_id = any (parcels)
    and not (d.status = 'delivered' and warehousing.brings_goods_back(d));
  if v_lines is not null and v_bin is null then
    perform app.fail('bin_id_required_for_received_items', '{"field": "bin_id"}');
  end if;
  -- The deliveries that end here: wallets before stock, as everywhere.
  perform warehousing.waybill_fees_refund(w, parcels);
  perform storefront.orders_settle();
  perform warehousing.stock_receive(v_lines, 'transfer_in', 'waybill', w.id);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_fees_refund(w warehousing.waybills, parcels uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_parcel uuid;
begin
  perform delivery.returned_fees_refund(parcels);
exception when sqlstate 'RULE0' then
  if sqlerrm <> 'insufficient_wallet_balance' then
    raise;
  end if;
  for v_parcel in select p.id from unnest(parcels) p (id) order by p.id loop
    begin
      perform delivery.returned_fees_refund(array[v_parcel]);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'waybill_return.refund_due', 'source_module', 'warehousing',
        'entity_type', 'delivery', 'entity_id', o.id, 'event_data', jsonb_build_object('delivery_id', o.id, 'waybill_id', w.id,
          'amount', o.delivery_fee, 'currency', o.currency))))
      from delivery.deliveries d
      join delivery.deliveries o on o.tenant_id = d.tenant_id
        and o.id = case d.delivery_flow when 'operational_return' then d.original_delivery_id else d.id end
      where d.tenant_id = w.tenant_id and d.id = v_parcel;
    end;
  end loop;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."require_rest_of_parcel"(uuid, uuid, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."require_rest_of_parcel"(uuid, uuid, bigint) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."waybill_fees_refund"(warehousing.waybills, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."waybill_fees_refund"(warehousing.waybills, uuid[]) TO "barid_caller";

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
  return '20261128022245';
end $$;

grant execute on function private.schema_version() to barid_api;
