-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.attempt_fails(input jsonb, p_reason text, p_notes text, counts boolean, refused boolean, postpone_to date DEFAULT NULL::date)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'failed');
  if a.id is null then
    perform delivery.require_off_waybill(d, 'failed');
  end if;
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  update delivery.deliveries x set status = 'failed', status_reason = p_reason, status_notes = p_notes, attempts_exhausted = refused,
    attempts_used = x.attempts_used + case when counts and delivery.attempt_counts(d) then 1 else 0 end,
    postponed_to = postpone_to, overnight_notice_at = case d.carrier_type when 'internal' then delivery.overnight_notice(postpone_to) end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'failed'));
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
begin
  perform delivery.require_move(d, '{draft,pending}', d.status);
  -- Its legs would be given to drivers of ours all the same.
  if input ->> 'carrier_type' = 'external' and d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  if input ->> 'carrier_type' = 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
  if input ->> 'carrier_type' = 'external' and input ->> 'carrier_code' is null then
    perform app.fail('carrier_code_required', '{"field": "carrier_code"}');
  end if;
  if exists (
      select from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled'
        and (input ->> 'carrier_type' <> 'external' or s.carrier_code is distinct from input ->> 'carrier_code')) then
    perform app.fail('shipment_with_other_carrier');
  end if;
  update delivery.deliveries x set carrier_type = input ->> 'carrier_type',
    carrier_code = case input ->> 'carrier_type' when 'external' then input ->> 'carrier_code' end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_shipment uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  if a.id is null then
    perform delivery.require_off_waybill(d, 'delivered');
  end if;
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    if input ->> 'result' is distinct from 'partial' then
      perform delivery.require_amount_for_whole(v_parcel);
    end if;
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id into v_shipment from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      if not found then
        perform app.fail('delivery_has_no_driver');
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_shipment is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), (input ->> 'amount_change_id')::uuid);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_pickup(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_handoff uuid;
  v_cash jsonb;
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  select h.id into v_handoff from delivery.package_handoffs h
  where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.status = 'pending';
  if v_handoff is not null or delivery.leaves_warehouse(d) then
    perform app.fail('pickup_by_handoff', jsonb_build_object('handoff_id', v_handoff));
  end if;
  perform delivery.require_not_for_waybill(d);
  v_cash := delivery.delivery_taken(d, input);
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  if d.current_warehouse_id is not null then
    perform warehousing.parcel_leaves(d.id, d.current_warehouse_id);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_retry(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
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
  if a.id is null then
    perform delivery.require_off_waybill(d, case when v_reassign then 'pending' else 'in_transit' end);
  end if;
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
    select d.tenant_id, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id)
    where a.driver_id is not null;
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  if a.id is null then
    perform delivery.require_off_waybill(d, 'returned');
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  if not delivery.leaves_warehouse(d) then
    perform warehousing.receipts_withdraw(d.id, v_warehouse);
  end if;
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.delivery_refund_on(d, 'refund_delivery_fee_on_return') end;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_rewrite(d delivery.deliveries, t delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries x set barcode = coalesce(input ->> 'barcode', x.barcode), customer_id = t.customer_id,
    institution_user_id = t.institution_user_id, delivery_service_id = t.delivery_service_id, service_snapshot = t.service_snapshot,
    carrier_type = t.carrier_type, carrier_code = t.carrier_code, payer_type = t.payer_type, payment_method = t.payment_method,
    cod_amount = t.cod_amount, delivery_fee = t.delivery_fee, currency = t.currency, unit_size = t.unit_size,
    unit_size_source = t.unit_size_source, package_details = t.package_details, distance_km = t.distance_km,
    pickup_address_id = t.pickup_address_id, dropoff_address_id = t.dropoff_address_id, pickup_snapshot = t.pickup_snapshot,
    dropoff_snapshot = t.dropoff_snapshot, pickup_zone_id = t.pickup_zone_id, dropoff_zone_id = t.dropoff_zone_id,
    pickup_warehouse_id = t.pickup_warehouse_id, recipient = t.recipient, notes = t.notes,
    dropoff_warehouse_id = case when x.transfer_kind is null then t.dropoff_warehouse_id else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then t.dropoff_warehouse_id end,
    external_reference_id = t.external_reference_id, promised_at = t.promised_at, deliver_after = t.deliver_after,
    deliver_before = t.deliver_before
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The contents of a part that comes back are those of its original, and a piece of inventory is what it is.
  if t.package_details is distinct from d.package_details and not d.returns_part and not delivery.is_for_waybill(d) then
    perform delivery.delivery_items_clear(d.id);
    t.id := d.id;
    t.original_delivery_id := d.original_delivery_id;
    t.delivery_code := d.delivery_code;
    perform delivery.delivery_items_write(array[t]);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_submit(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
begin
  perform delivery.require_owner(d);
  if d.parent_id is not null then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'pending'));
  end if;
  perform delivery.require_move(d, '{draft}', 'pending');
  perform delivery.require_not_for_waybill(d);
  if d.delivery_flow = 'customer_return' then
    if not delivery.return_needs_approval() then
      perform delivery.return_request_decide(d.id, 'approved', null);
    elsif exists (select from delivery.return_requests q where q.tenant_id = d.tenant_id and q.delivery_id = d.id) then
      perform app.fail('return_request_pending');
    else
      perform delivery.return_request_ask(d.id);
      return delivery.delivery_created_to_json(d.id);
    end if;
  end if;
  update delivery.deliveries x set status = 'pending' where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_confirm(d);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_for_waybill(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return d.order_id is null and d.original_delivery_id is null and exists (
    select from delivery.delivery_items i
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
    where i.tenant_id = d.tenant_id and i.delivery_id = d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_sent_back(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_return uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'returned');
  if a.id is null then
    perform delivery.require_off_waybill(d, 'returned');
  end if;
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  v_return := delivery.return_from_door(d, 'operational_return', null, jsonb_build_object('reason', reason -> 'value', 'notes', input -> 'note'));
  update delivery.deliveries x set status = 'returned', status_reason = reason ->> 'value', status_notes = input ->> 'note',
    attempts_used = x.attempts_used + case when (reason ->> 'counts')::boolean then 1 else 0 end, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- A warehouse that expected it gets its return, if anything.
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.outcome_record(d, 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  perform delivery.assignment_end(a, 'returned');
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d),
    'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_not_for_waybill(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if delivery.is_for_waybill(d) then
    perform app.fail('delivery_is_for_waybill');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_off_waybill(d delivery.deliveries, target text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_transfer jsonb := delivery.transfer_under_way(d);
begin
  if v_transfer ->> 'waybill_id' is not null then
    perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', target));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.transfer_under_way(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if d.current_warehouse_id is not null then
    return null;
  end if;
  return (
    select jsonb_build_object('transfer_id', t.id, 'waybill_id', t.waybill_id, 'destination_warehouse_id', w.id, 'warehouse', w.name,
      'text_key', 'reason_on_transfer')
    from warehousing.package_transfer_deliveries p
    join warehousing.package_transfers t on t.tenant_id = p.tenant_id and t.id = p.transfer_id
    join warehousing.warehouses w on w.tenant_id = t.tenant_id and w.id = t.destination_warehouse_id
    left join warehousing.waybills y on y.tenant_id = t.tenant_id and y.id = t.waybill_id
    left join warehousing.waybill_deliveries b on b.tenant_id = t.tenant_id and b.waybill_id = t.waybill_id and b.delivery_id = p.delivery_id
    where p.tenant_id = d.tenant_id and p.delivery_id = delivery.parcel_of(d)
      and case when t.waybill_id is null then delivery.is_transferred(d) and d.status in ('picked_up', 'in_transit', 'failed')
        and t.operation_type = 'single_delivery' and t.destination_warehouse_id = d.dropoff_warehouse_id
        else d.status in ('in_transit', 'failed', 'returned') and (b.is_open and y.status = 'in_transit'
          or b.received_state = 'missing' and exists (select from warehousing.waybill_discrepancies m
            where m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id and m.status = 'open')) end
    order by t.created_at desc, t.id limit 1);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcels_advance(parcels uuid[], warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := array(select d.id from delivery.deliveries d
    where d.tenant_id = v_tenant and (d.id = any (parcels) or d.parent_id = any (parcels)));
  v_here delivery.addresses;
  v_snapshot jsonb;
begin
  select a.* into v_here from warehousing.warehouses h
  join delivery.addresses a on a.tenant_id = h.tenant_id and a.id = h.address_id
  where h.tenant_id = v_tenant and h.id = warehouse;
  select to_jsonb(a) into v_snapshot from delivery.addresses_list a where a.id = v_here.id;
  perform warehousing.receipts_withdraw(f.id) from unnest(v_family) f (id);
  perform delivery.parcel_at(p.id, warehouse) from unnest(parcels) p (id);
  update delivery.deliveries d set status = 'in_transit'
  where d.tenant_id = v_tenant and d.id = any (v_family) and d.delivery_flow not in ('pnd_parent', 'pnd_inbound')
    and (d.status = 'failed' or d.status = 'returned' and delivery.leaves_warehouse(d));
  update delivery.deliveries d set status = case when e.ends then 'delivered' else 'pending' end, status_reason = null, status_notes = null,
    delivered_at = case when e.ends then clock_timestamp() end,
    pickup_warehouse_id = case when e.ends then d.pickup_warehouse_id else warehouse end,
    pickup_address_id = case when e.ends then d.pickup_address_id else v_here.id end,
    pickup_snapshot = case when e.ends then d.pickup_snapshot else v_snapshot end,
    pickup_zone_id = case when e.ends then d.pickup_zone_id else v_here.zone_id end,
    -- Parcels that continue from here do not end here.
    dropoff_warehouse_id = case when e.ends then warehouse else nullif(delivery.ends_in(d), warehouse) end,
    transfer_kind = null, ordered_to_warehouse_id = null
  from (
    select x.id, x.dropoff_warehouse_id is not distinct from warehouse and x.dropoff_address_id = v_here.id
      and c.cod + c.delivery_fee = 0 as ends
    from delivery.deliveries x cross join lateral money.cash_due(x, 'dropoff') c
    where x.tenant_id = v_tenant
      and ((x.id = any (parcels) and x.delivery_flow <> 'pnd_parent') or (x.parent_id = any (parcels) and x.delivery_flow = 'pnd_outbound'))
  ) e
  where d.tenant_id = v_tenant and d.id = e.id and d.status = 'in_transit';
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
  return warehousing.receipt_open(d, coalesce(p_warehouse, d.pickup_warehouse_id),
    case when p_failed or v_exception is not null then 'failed_delivery_return' else 'delivery_return_handoff' end, v_exception);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receiving_order_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_target text := input ->> 'status';
  v_transfer jsonb;
  r warehousing.receiving_orders;
begin
  select * into r from warehousing.receiving_orders o where o.id = v_id;
  if not found then
    perform app.fail('receiving_order_not_found');
  end if;
  if r.delivery_id is not null then
    perform delivery.lock_deliveries(array[r.delivery_id]);
  end if;
  select * into r from warehousing.receiving_orders o where o.id = v_id for no key update;
  perform warehousing.require_works_in(r.warehouse_id);
  if r.status <> v_target then
    if r.status <> 'pending' then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', v_target));
    end if;
    if v_target = 'received' then
      -- Recorded before a waybill took it along, it waits for nothing that could come here.
      select delivery.transfer_under_way(d) into v_transfer from delivery.deliveries d where d.tenant_id = r.tenant_id and d.id = r.delivery_id;
      if v_transfer ->> 'waybill_id' is not null then
        perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', r.status, 'to', v_target));
      end if;
      perform warehousing.receipt_take(r.id, input -> 'item_details', input ->> 'notes');
    else
      perform warehousing.receiving_order_cancel(r, input ->> 'notes');
    end if;
  end if;
  return jsonb_build_object('order', warehousing.receiving_order_to_json(v_id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.transfer_arrives(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if d.status = 'picked_up' then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id;
  end if;
  perform warehousing.parcels_advance(array[d.id], d.dropoff_warehouse_id);
  if delivery.leaves_warehouse(d) then
    perform warehousing.parcel_arrives(d.id, d.dropoff_warehouse_id);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.transfer_evaluate(input jsonb, use text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_destination uuid := (input ->> 'destination_warehouse_id')::uuid;
  v_lines jsonb;
  v_inferred boolean := false;
begin
  with found as materialized (
    select s.*, row_number() over (partition by coalesce(s.parcel_id, s.item_id) order by s.place) as time
    from warehousing.transfer_selection(input) s
  )
  select jsonb_agg(jsonb_build_object('kind', f.kind, 'value', f.value,
    'id', coalesce(p.id, f.item_id), 'raw', p.id is null and f.item_id is not null,
    'barcode', p.barcode, 'delivery_code', p.delivery_code, 'status', p.status, 'current_warehouse_id', p.current_warehouse_id,
    'destination', nullif(p.dropoff_warehouse_id, v_source),
    'reason', case
      when p.id is null and f.item_id is null then 'not_found'
      when f.time > 1 then 'duplicate'
      when p.id is null then case when warehousing.units_available(f.item_id, v_source) < 1 then 'not_available' end
      when exists (select from warehousing.waybill_deliveries w
        where w.tenant_id = v_tenant and w.delivery_id = p.id and w.is_open) then 'already_in_waybill'
      when coalesce(p.current_warehouse_id, case when p.status in ('draft', 'pending') and p.delivery_flow <> 'pnd_parent'
        then p.pickup_warehouse_id end) <> v_source then 'wrong_source_warehouse'
      when not warehousing.parcel_is_movable(p, l, use) or delivery.return_under_way(p.id) is not null
        -- No driver takes it along.
        or use = 'single_delivery' and delivery.is_for_waybill(p) then 'not_transferable_status'
      when delivery.has_unresolved_exception(p.id) or (l.id is not null and delivery.has_unresolved_exception(l.id)) then 'open_exception'
      -- No warehouse holds it and none is where it is ordered from. On paper a staged one may move before it is brought.
      when p.current_warehouse_id is null and p.pickup_warehouse_id is null and not (use = 'system_only' and p.delivery_flow = 'pnd_parent')
        then 'package_not_here'
      -- Out of a warehouse goes the whole parcel; a delivery from door to door may have nothing on a shelf, and what a store sold is set aside.
      when use = 'waybill' and (l.id is not null or delivery.leaves_warehouse(p)) and exists (
        select from delivery.delivery_items i
        where i.tenant_id = v_tenant and i.delivery_id = p.id and p.order_id is null
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, v_source)) then 'not_available'
    end) order by f.place)
  into v_lines
  from found f
  left join delivery.deliveries p on p.tenant_id = v_tenant and p.id = f.parcel_id
  left join lateral (
    select x.* from delivery.deliveries x
    where p.delivery_flow = 'pnd_parent' and x.tenant_id = v_tenant and x.parent_id = p.id and x.status not in ('delivered', 'cancelled')
    order by x.sequence_plan limit 1) l on true;
  if v_destination is null then
    select (n.line ->> 'destination')::uuid into v_destination from jsonb_array_elements(v_lines) with ordinality n (line, place)
    where n.line ->> 'reason' is null and (n.line ->> 'destination')::uuid <> v_source order by n.place limit 1;
    v_inferred := v_destination is not null;
  end if;
  if use = 'waybill' and v_destination is not null then
    select jsonb_agg(case when n.line ->> 'reason' is null and (n.line ->> 'destination')::uuid <> v_destination
      then n.line || '{"reason": "destination_mismatch"}' else n.line end order by n.place)
    into v_lines from jsonb_array_elements(v_lines) with ordinality n (line, place);
  end if;
  return jsonb_build_object('lines', coalesce(v_lines, '[]'), 'destination_warehouse_id', v_destination, 'inferred', v_inferred);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.transfer_selection(input jsonb)
 RETURNS TABLE(place bigint, kind text, value text, parcel_id uuid, item_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select p.place, 'package' as kind, p.value, null::uuid as id
    from jsonb_array_elements_text(coalesce(input -> 'package_barcodes', '[]')) with ordinality p (value, place)
    union all
    select 1000000 + p.place, 'delivery', p.value, p.value::uuid
    from jsonb_array_elements_text(coalesce(input -> 'delivery_ids', '[]')) with ordinality p (value, place)
    union all
    select 2000000 + p.place, 'inventory_item', p.value, p.value::uuid
    from jsonb_array_elements_text(coalesce(input -> 'inventory_item_ids', '[]')) with ordinality p (value, place)
  ), mine as materialized (
    select (select app.tenant_id()) as tenant_id, (input ->> 'source_warehouse_id')::uuid as source
  )
  select a.place, a.kind, a.value,
    case a.kind when 'package' then warehousing.parcel_named(a.value)
      when 'delivery' then (select coalesce(d.parent_id, d.id) from delivery.deliveries d where d.tenant_id = m.tenant_id and d.id = a.id)
      else coalesce(i.parcel_delivery_id, (
        select d.id from delivery.delivery_items x
        join delivery.deliveries d on d.tenant_id = x.tenant_id and d.id = x.delivery_id
        where x.tenant_id = m.tenant_id and x.item_id = a.id and d.status in ('draft', 'pending') and d.current_warehouse_id = m.source
          and delivery.is_for_waybill(d)
          and not exists (select from warehousing.waybill_deliveries w where w.tenant_id = d.tenant_id and w.delivery_id = d.id and w.is_open)
        order by d.delivery_code limit 1)) end,
    i.id
  from asked a
  cross join mine m
  left join warehousing.inventory_items i on a.kind = 'inventory_item' and i.tenant_id = m.tenant_id and i.id = a.id;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_reserve(w warehousing.waybills, parcels uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_lines jsonb;
  v_found jsonb;
begin
  select jsonb_agg(jsonb_build_object('delivery_id', n.delivery_id, 'item_id', n.item_id, 'warehouse_id', w.source_warehouse_id,
    'quantity', n.quantity, 'field', 'inventory_item_ids') order by n.place)
  into v_lines
  from (
    select p.place, i.delivery_id, i.item_id, case when t.parcel_delivery_id is null then i.quantity
      else least(i.quantity, warehousing.units_available(i.item_id, w.source_warehouse_id)) end as quantity
    from unnest(parcels) with ordinality p (id, place)
    join delivery.deliveries d on d.tenant_id = w.tenant_id and d.id = p.id
    join delivery.delivery_items i on i.tenant_id = d.tenant_id and i.delivery_id = d.id
    join warehousing.inventory_items t on t.tenant_id = i.tenant_id and t.id = i.item_id
    where t.parcel_delivery_id is not null or delivery.is_for_waybill(d)) n
  where n.quantity > 0;
  if v_lines is null then
    return;
  end if;
  v_found := warehousing.stock_reserve('waybill', w.id, v_lines);
  insert into warehousing.waybill_items (tenant_id, waybill_id, delivery_id, item_id, quantity, lot_number, serial_number)
  select w.tenant_id, w.id, l.delivery_id, f.item_id, sum(f.quantity), f.lot_number, f.serial_number
  from jsonb_to_recordset(v_found) as f (line bigint, item_id uuid, quantity bigint, lot_number text, serial_number text)
  join rows from (jsonb_to_recordset(v_lines) as (delivery_id uuid)) with ordinality l (delivery_id, line) on l.line = f.line
  group by l.delivery_id, f.item_id, f.lot_number, f.serial_number;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_vehicle(driver uuid, vehicle uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver record;
  v_active boolean;
begin
  select d.vehicle_id, u.is_active and d.status = 'active' as is_active into v_driver
  from delivery.drivers d
  join tenancy.tenant_users u on u.tenant_id = d.tenant_id and u.user_id = d.user_id
  where d.tenant_id = v_tenant and d.user_id = driver;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  elsif not v_driver.is_active then
    perform app.fail('driver_inactive', '{"field": "driver_id"}');
  end if;
  if vehicle is null then
    return v_driver.vehicle_id;
  end if;
  select v.is_active into v_active from delivery.vehicles v where v.tenant_id = v_tenant and v.id = vehicle;
  if not found then
    perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
  elsif not v_active then
    perform app.fail('vehicle_inactive', '{"field": "vehicle_id"}');
  end if;
  return vehicle;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."is_for_waybill"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_for_waybill"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_not_for_waybill"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_not_for_waybill"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_off_waybill"(delivery.deliveries, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_off_waybill"(delivery.deliveries, text) TO "barid_caller";

-- Receipts of parcels that a waybill has brought into another warehouse meanwhile: received, they would add what lies there already.
update warehousing.receiving_orders r set status = 'cancelled'
from delivery.deliveries d
where r.status = 'pending' and r.source <> 'inbound' and d.tenant_id = r.tenant_id and d.id = r.delivery_id
  and d.status in ('pending', 'delivered') and d.current_warehouse_id <> r.warehouse_id and exists (
    select from warehousing.waybill_deliveries p
    join warehousing.waybills w on w.tenant_id = p.tenant_id and w.id = p.waybill_id
    where p.tenant_id = d.tenant_id and p.delivery_id in (d.id, d.parent_id) and p.received_state = 'received'
      and w.destination_warehouse_id = d.current_warehouse_id);

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126064640';
end $$;

grant execute on function private.schema_version() to barid_api;
