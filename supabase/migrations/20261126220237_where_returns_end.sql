-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_redirect(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_office boolean := app.has_permission('manage:operations:tenant');
  d delivery.deliveries;
  p delivery.deliveries;
  v_to delivery.addresses;
  v_terms record;
  v_difference numeric;
  v_unassigned uuid[];
begin
  if not v_dry_run then
    perform delivery.lock_manifest_item(v_id);
    d := delivery.lock_delivery(v_id);
  else
    select * into d from delivery.deliveries x where x.id = v_id;
    if not found then
      perform app.fail('delivery_not_found');
    end if;
  end if;
  p := delivery.parcel_terms(d);
  perform delivery.require_owner(p);
  if input ->> 'charge' is not null and not v_office then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_changeable(p);
  if not v_office and delivery.was_picked_up(p) then
    perform app.fail('delivery_already_picked_up');
  end if;
  perform delivery.require_no_return(p);
  v_to := delivery.redirect_place(p, input, v_dry_run);
  if p.delivery_flow = 'customer_return' and not p.made_at_door and v_to.id = (delivery.ordered_from(p)).address_id then
    perform app.fail('redirect_to_customer', jsonb_build_object('field', 'dropoff_address_id'));
  end if;
  v_terms := delivery.redirect_terms(p, v_to, input ->> 'charge' is not null);
  v_difference := (v_terms.priced).delivery_fee - p.delivery_fee;
  if exists (select from delivery.redirect_misfits(p.id, v_to.zone_id) m where m.in_hand) then
    perform app.fail('redirect_needs_other_driver', jsonb_build_object('field', 'dropoff_address_id'));
  end if;
  v_unassigned := array(select m.assignment_id from delivery.redirect_misfits(p.id, v_to.zone_id) m);
  if not v_dry_run then
    perform delivery.redirect_write(p, v_to.id, v_terms.priced, input -> 'recipient', v_unassigned);
  end if;
  if v_terms.charged = 'wallet' then
    perform money.delivery_fee_change(p.id, v_difference, v_dry_run);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'dry_run', v_dry_run, 'driver_unassigned', v_unassigned <> '{}',
    'price', jsonb_build_object('before', p.delivery_fee, 'after', (v_terms.priced).delivery_fee, 'difference', v_difference,
      'currency', p.currency, 'charged', v_terms.charged));
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
  v_completed jsonb;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  if d.delivery_flow = 'customer_return' and v_warehouse = delivery.ends_in(d) then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'failed';
    v_completed := delivery.delivery_complete(input);
    return jsonb_build_object('delivery', v_completed -> 'delivery', 'receiving_order_id', warehousing.receipt_of(d.id),
      'refunded', false, 'refund_due', null);
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
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.delivery_refund_on(d, 'refund_delivery_fee_on_return') end;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record := app.currency();
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
begin
  d.tenant_id := app.tenant_id();
  d.customer_id := v_people.customer_id;
  d.institution_user_id := v_people.institution_user_id;
  d.payer_type := input ->> 'payer_type';
  d.payment_method := input ->> 'payment_method';
  -- Of a storefront order, said by storefront.order_delivery_terms() alone: no client names it.
  d.order_id := (input ->> 'order_id')::uuid;
  d.cod_amount := coalesce((input ->> 'cod_amount')::numeric, 0);
  d.currency := v_currency.code;
  if d.cod_amount <> round(d.cod_amount, v_currency.decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', d.currency, 'decimals', v_currency.decimals));
  end if;
  if input ->> 'delivery_flow' is distinct from 'customer_return' then
    perform delivery.require_item_prices(input -> 'package', d.cod_amount, v_currency.decimals, coalesce(input ->> 'package_field', 'package'));
  end if;
  if input ->> 'delivery_flow' = 'customer_return' and (d.cod_amount > 0 or d.payer_type = 'receiver')
      and delivery.is_of_order((input ->> 'original_delivery_id')::uuid) then
    if d.cod_amount > 0 then
      perform app.fail('order_amount_fixed', '{"text_key": "return_of_order_has_no_amount"}');
    elsif not app.has_permission('manage:operations:tenant') then
      perform app.fail('forbidden', '{"text_key": "return_of_order_paid_by_customer"}');
    end if;
  end if;
  if d.cod_amount > 0 and v_owner is null then
    perform app.fail('customer_required_for_cod', '{"field": "customer_id"}');
  end if;
  if d.payment_method = 'wallet' then
    -- The wallet is the sender's; a receiver pays at the door.
    if d.payer_type <> 'sender' then
      perform app.fail('wallet_is_the_senders', '{"field": "payment_method"}');
    end if;
    if v_owner is null then
      perform app.fail('customer_required_for_wallet', '{"field": "customer_id"}');
    end if;
  end if;
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  select to_jsonb(a) into d.pickup_snapshot from delivery.addresses_list a where a.id = v_from.id;
  select to_jsonb(a) into d.dropoff_snapshot from delivery.addresses_list a where a.id = v_to.id;
  d.pickup_warehouse_id := (input ->> 'pickup_warehouse_id')::uuid;
  d.dropoff_warehouse_id := coalesce((input ->> 'dropoff_warehouse_id')::uuid,
    case input ->> 'delivery_flow' when 'customer_return' then delivery.return_ends_in((input ->> 'original_delivery_id')::uuid, v_to.id) end);
  d.recipient := coalesce(input -> 'recipient', '{}');
  d.external_reference_id := input ->> 'external_reference_id';
  d.notes := input ->> 'notes';
  d.promised_at := app.instant(input ->> 'promised_at');
  d.deliver_after := app.instant(input ->> 'deliver_after');
  d.deliver_before := app.instant(input ->> 'deliver_before');
  perform delivery.require_delivery_window(d.deliver_after, d.deliver_before);
  d.carrier_type := coalesce(input ->> 'carrier_type', 'internal');
  d.carrier_code := case d.carrier_type when 'external' then coalesce(input ->> 'carrier_code',
    app.refuse('carrier_code_required', '{"field": "carrier_code"}')::text) end;
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input, v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_sent jsonb := jsonb_strip_nulls(input);
  v_old jsonb;
  v_end text;
begin
  -- A leg that waits as a draft is part of an order.
  if d.status <> 'draft' or d.parent_id is not null then
    return delivery.delivery_correct(d, input);
  end if;
  perform delivery.require_owner(d);
  v_old := jsonb_strip_nulls(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
    'delivery_service_id', d.delivery_service_id, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'cod_amount', d.cod_amount,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details, 'recipient', d.recipient,
    'external_reference_id', d.external_reference_id, 'notes', d.notes, 'promised_at', d.promised_at,
    'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'carrier_type', d.carrier_type, 'carrier_code', d.carrier_code,
    'original_delivery_id', d.original_delivery_id, 'pickup_address_id', d.pickup_address_id, 'dropoff_address_id', d.dropoff_address_id,
    'pickup_warehouse_id', d.pickup_warehouse_id,
    -- Of what goes back the address says it.
    'dropoff_warehouse_id', nullif(delivery.ends_in(d), case d.delivery_flow when 'customer_return'
      then delivery.return_ends_in(d.original_delivery_id, d.dropoff_address_id) end)));
  v_old := v_old - array(select k.word from jsonb_object_keys(input) k (word) where not v_sent ? k.word);
  -- A place is said in one way: a new one takes the others away.
  foreach v_end in array '{pickup,dropoff}'::text[] loop
    if v_sent ?| array[v_end, v_end || '_address_id', v_end || '_warehouse_id'] then
      v_old := v_old - array[v_end || '_address_id', v_end || '_warehouse_id'];
    end if;
  end loop;
  if v_sent ?| '{customer_id,institution_user_id}' then
    v_old := v_old - '{customer_id,institution_user_id}'::text[];
  end if;
  v_sent := v_old || v_sent || jsonb_build_object('delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_sent), v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_ends_in(p delivery.deliveries, to_address uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when to_address = p.dropoff_address_id then delivery.ends_in(p)
    when p.delivery_flow = 'customer_return' then delivery.return_ends_in(p.original_delivery_id, to_address) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_destination(d delivery.deliveries, input jsonb, OUT address_id uuid, OUT snapshot jsonb, OUT warehouse_id uuid, OUT zone_id uuid)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_named boolean := num_nonnulls(input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') > 0;
  v_ended boolean := delivery.return_has_ended(d);
  -- A customer's return that was cancelled goes back to them, wherever returns go.
  v_mode text := case when d.delivery_flow = 'customer_return' and not v_ended then 'sender' else delivery.return_destination_mode() end;
  v_sender record := delivery.ordered_from(case when v_ended then delivery.original_of(d) else d end);
begin
  if v_named and d.order_id is not null then
    perform app.fail('return_destination_fixed',
      jsonb_build_object('field', case when input ->> 'dropoff_address_id' is null then 'dropoff_warehouse_id' else 'dropoff_address_id' end));
  elsif v_named then
    address_id := (input ->> 'dropoff_address_id')::uuid;
    warehouse_id := coalesce((input ->> 'dropoff_warehouse_id')::uuid, delivery.return_ends_in(d.id, address_id));
  elsif v_mode = 'choose' and d.order_id is null and not coalesce((input ->> 'at_door')::boolean, false) then
    perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
  elsif v_mode = 'warehouse' and d.order_id is null then
    warehouse_id := nullif(delivery.returns_warehouse(), d.current_warehouse_id);
  end if;
  if warehouse_id is not null then
    select w.address_id into address_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and w.id = return_destination.warehouse_id and w.deleted_at is null;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "dropoff_warehouse_id"}');
    elsif warehouse_id = d.current_warehouse_id then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_there'));
    end if;
  end if;
  if address_id is null then
    address_id := v_sender.address_id;
    snapshot := v_sender.snapshot;
    warehouse_id := v_sender.warehouse_id;
    zone_id := v_sender.zone_id;
    return;
  end if;
  select to_jsonb(a), a.zone_id into snapshot, zone_id from delivery.addresses_list a where a.id = return_destination.address_id;
  if not found then
    perform app.fail('address_not_found', '{"field": "dropoff_address_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_ends_in(parcel uuid, address uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select w.id from warehousing.warehouses w
    left join delivery.deliveries p on p.tenant_id = w.tenant_id and p.id = return_ends_in.parcel
    where w.tenant_id = v_tenant and w.address_id = return_ends_in.address and w.deleted_at is null
    order by exists (
        select from storefront.storefront_order_parts o
        where o.tenant_id = v_tenant and o.delivery_id = p.id and o.picking_order_id is not null and o.warehouse_id = w.id) desc,
      w.id = (delivery.ordered_from(p)).warehouse_id desc nulls last, w.id = delivery.default_warehouse() desc nulls last, w.created_at, w.id
    limit 1);
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
      perform money.carrier_cash_collected(delivery.parcel_of(d), s.id);
    end if;
    if v_status in ('delivered', 'returned') then
      perform integration.carrier_return_refund(d, carrier_code);
    end if;
    -- The first news that it has the parcel, whatever came of it since.
    if d.status in ('pending', 'assigned', 'accepted') and v_status <> 'cancelled' then
      perform delivery.carrier_takes(d);
    end if;
    if v_status = 'delivered' and delivery.ends_in(d) is not null then
      perform integration.carrier_arrives(d, delivery.ends_in(d));
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

CREATE OR REPLACE FUNCTION warehousing.parcel_received(d delivery.deliveries, r warehousing.receiving_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- Goods of a store are unpacked: no parcel lies there.
  v_goods boolean := warehousing.receipt_is_of_goods(r);
  v_continues boolean := d.status in ('picked_up', 'in_transit', 'failed') and not v_goods
    and (d.delivery_flow = 'standard' and d.order_id is not null or delivery.stops_at(d, r.warehouse_id));
begin
  if r.source = 'inbound' then
    perform delivery.parcel_at(delivery.parcel_of(d), case when not v_goods then r.warehouse_id end);
    -- It brought a parcel back here.
    if d.delivery_flow = 'operational_return' and d.status = 'delivered' then
      perform delivery.originals_come_back(array[d.original_delivery_id]);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
    update delivery.deliveries n set status = 'pending', pickup_warehouse_id = coalesce(n.pickup_warehouse_id, r.warehouse_id)
    where n.tenant_id = d.tenant_id and n.parent_id = d.parent_id and n.sequence_plan = d.sequence_plan + 1 and n.status = 'draft';
    return;
  end if;
  if v_continues then
    -- It stops here, and continues from here.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    perform warehousing.parcels_advance(array[d.id], r.warehouse_id);
    -- A return that has come to its end.
    perform delivery.returned_fees_refund(array[d.id]);
  elsif d.status in ('picked_up', 'in_transit', 'failed') and v_goods then
    -- Goods that were sent back to the store are its own again, in whichever warehouse.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp() where x.tenant_id = d.tenant_id and x.id = d.id;
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    update delivery.deliveries x set status = 'returned' where x.tenant_id = d.tenant_id and x.id = d.id;
    if not delivery.leaves_warehouse(d) then
      -- Back for good, now that it is here.
      perform delivery.delivery_returned_for_good(d.id);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
  end if;
  if d.order_id is null and not v_goods and not v_continues then
    perform delivery.parcel_at(delivery.parcel_of(d), r.warehouse_id);
  end if;
  if delivery.leaves_warehouse(d) then
    -- It sets out from where it is now.
    update delivery.deliveries x set status = 'pending', pickup_warehouse_id = w.id, pickup_address_id = a.id,
      pickup_snapshot = case when x.pickup_warehouse_id = w.id then x.pickup_snapshot else to_jsonb(a) end,
      pickup_zone_id = case when x.pickup_warehouse_id = w.id then x.pickup_zone_id else a.zone_id end
    from warehousing.warehouses w
    join delivery.addresses_list a on a.id = w.address_id
    where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'returned' and w.tenant_id = d.tenant_id and w.id = r.warehouse_id;
  end if;
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_of(p_delivery uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select r.id from warehousing.receiving_orders r
    where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status <> 'cancelled' order by r.created_at desc, r.id limit 1);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."return_ends_in"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_ends_in"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."receipt_of"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."receipt_of"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126220237';
end $$;

grant execute on function private.schema_version() to barid_api;
