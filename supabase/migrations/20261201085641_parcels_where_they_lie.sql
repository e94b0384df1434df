-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_carrier text;
begin
  perform delivery.require_draft_here(d, d.status);
  -- Under another company's hands only its name is corrected.
  if d.status <> all (case when d.carrier_type = 'external' and input ->> 'carrier_type' = 'external'
      then '{draft,pending,picked_up,in_transit}' else '{draft,pending}' end::text[]) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', d.status, 'text_key', 'carrier_stays'));
  end if;
  -- Its legs would be given to drivers of ours all the same.
  if input ->> 'carrier_type' = 'external' and d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  if input ->> 'carrier_type' = 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
  v_carrier := delivery.carrier_checked(input);
  if exists (
      select from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and delivery.booking_binds(s)
        and s.carrier_code is distinct from v_carrier) then
    perform app.fail('shipment_with_other_carrier');
  end if;
  perform integration.shipments_end(array[d.id]);
  update delivery.deliveries x set carrier_type = input ->> 'carrier_type', carrier_code = v_carrier
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_correct(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  v_field text;
begin
  select * into p from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(p);
  if delivery.has_ended(p) then
    perform app.fail('delivery_ended', jsonb_build_object('status', p.status));
  end if;
  if not app.has_permission('manage:operations:tenant') and p.status not in ('pending', 'assigned', 'accepted') then
    perform app.fail('delivery_already_picked_up');
  end if;
  select k.word into v_field from jsonb_object_keys(input - '{id,package_field}'::text[]) k (word)
  where k.word not in ('recipient', 'notes', 'external_reference_id', 'promised_at', 'deliver_after', 'deliver_before')
  order by k.word limit 1;
  if found then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', v_field)
      || case when delivery.draft_travels(p) then '{"text_key": "reason_draft_on_transfer"}' else '{}' end::jsonb);
  end if;
  perform delivery.require_delivery_window(
    case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else p.deliver_after end,
    case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else p.deliver_before end);
  perform delivery.delivery_corrected(p.id, input);
  return delivery.delivery_created_to_json(p.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_execute(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_asked uuid := (input ->> 'warehouse_id')::uuid;
  v_pick uuid;
  v_lines jsonb;
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
    -- A parcel on a waybill travels to another warehouse first.
    if coalesce(v_asked, d.pickup_warehouse_id) <> d.pickup_warehouse_id or delivery.on_waybill(delivery.parcel_of(d)) then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    v_pick := gen_random_uuid();
    -- Somebody may have written the next number by hand.
    while v_reference is null or exists (select from warehousing.picking_orders p
        where p.tenant_id = d.tenant_id and p.reference_number = v_reference and p.order_id is null) loop
      v_reference := 'PKO-' || app.padded(app.take_numbers('picking_order'), 6);
    end loop;
    -- The items of a parcel, where each lies; whatever is missing is one and the same refusal.
    if d.delivery_flow = 'operational_return' then
      v_lines := warehousing.return_to_pick(d.id, d.pickup_warehouse_id);
    else
      select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'quantity', i.quantity, 'warehouse_id', d.pickup_warehouse_id) order by i.position)
      into v_lines
      from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d) and i.item_id is not null;
    end if;
    begin
      v_found := warehousing.stock_reserve('picking_order', v_pick, v_lines);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_stock' then
        raise;
      end if;
      v_found := null;
    end;
    if v_found is null or v_found = '[]' and not delivery.leaves_as_it_is(d) then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    insert into warehousing.picking_orders (id, tenant_id, reference_number, warehouse_id, order_type, status, delivery_id, completed_date,
      created_by, picking_progress)
    values (v_pick, d.tenant_id, v_reference, d.pickup_warehouse_id, 'individual',
      'completed', d.id, clock_timestamp(), app.user_id(), jsonb_build_object('start_time', now(), 'end_time', now()))
    returning * into v_order;
    perform warehousing.picking_event_emit(v_order, 'pending', v_order.status);
  elsif d.delivery_flow = 'operational_return' then
    v_lines := warehousing.return_to_pick(d.id, d.pickup_warehouse_id, v_pick);
    if v_lines is not null then
      v_found := warehousing.stock_reserve('picking_order', v_pick, v_lines);
    end if;
  end if;
  insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity, picked_quantity, status)
  select d.tenant_id, v_pick, f.position + coalesce((select max(i.position) from warehousing.picking_order_items i
    where i.tenant_id = d.tenant_id and i.picking_order_id = v_pick), 0), f.warehouse_id, f.item_id, f.bin_id, f.quantity, f.quantity, 'picked'
  from rows from (jsonb_to_recordset(v_found) as (warehouse_id uuid, item_id uuid, bin_id uuid, quantity bigint))
    with ordinality f (warehouse_id, item_id, bin_id, quantity, position);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'picking_order', delivery.pick_to_json(v_pick));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_rewrite(d delivery.deliveries, t delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if t.carrier_type = 'external' and d.carrier_type <> 'external' then
    perform delivery.require_not_for_waybill(d);
  end if;
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
    -- Where it begins, of a draft whose parcel has travelled since, as long as it is fetched where that has come to.
    ordered_from_address_id = case when t.pickup_address_id = x.pickup_address_id then x.ordered_from_address_id end,
    ordered_from_snapshot = case when t.pickup_address_id = x.pickup_address_id then x.ordered_from_snapshot end,
    ordered_from_warehouse_id = case when t.pickup_address_id = x.pickup_address_id then x.ordered_from_warehouse_id end,
    external_reference_id = t.external_reference_id, promised_at = t.promised_at, deliver_after = t.deliver_after,
    deliver_before = t.deliver_before, label_outdated = x.label_outdated or x.label_edition > 0 and (
      delivery.label_differs(x.recipient, x.notes, t.recipient, t.notes)
      or (x.barcode, x.customer_id, x.institution_user_id, x.service_snapshot -> 'name', x.payer_type, x.cod_amount, x.delivery_fee,
          x.currency, x.unit_size, x.package_details, x.pickup_snapshot, x.dropoff_snapshot)
        is distinct from (coalesce(input ->> 'barcode', x.barcode), t.customer_id, t.institution_user_id, t.service_snapshot -> 'name',
          t.payer_type, t.cod_amount, t.delivery_fee, t.currency, t.unit_size, t.package_details, t.pickup_snapshot, t.dropoff_snapshot))
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
  v_asked boolean := false;
  v_asks boolean := false;
begin
  perform delivery.require_owner(d);
  if d.parent_id is not null then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'pending'));
  end if;
  perform delivery.require_move(d, '{draft}', 'pending');
  perform delivery.require_draft_here(d, 'pending');
  perform delivery.require_not_for_waybill(d);
  if d.delivery_flow = 'customer_return' then
    v_asks := delivery.return_needs_approval();
    if not v_asks then
      v_asked := delivery.return_request_decide(d.id, 'approved', null);
    elsif exists (select from delivery.return_requests q where q.tenant_id = d.tenant_id and q.delivery_id = d.id) then
      perform app.fail('return_request_pending');
    end if;
  end if;
  -- A return that the office approves was agreed when it was asked for.
  if not v_asked then
    d := delivery.draft_ordered(d);
  end if;
  update delivery.deliveries x set status = case when v_asks then x.status else 'pending' end, customer_id = d.customer_id,
    institution_user_id = d.institution_user_id, service_snapshot = d.service_snapshot, unit_size = d.unit_size,
    unit_size_source = d.unit_size_source, distance_km = d.distance_km, pickup_snapshot = d.pickup_snapshot,
    dropoff_snapshot = d.dropoff_snapshot, pickup_zone_id = d.pickup_zone_id, dropoff_zone_id = d.dropoff_zone_id
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_asks then
    perform delivery.return_request_ask(d.id);
  else
    perform delivery.delivery_confirm(d);
  end if;
  return delivery.delivery_created_to_json(d.id);
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
  -- A leg that waits as a draft is part of an order; what leads elsewhere is fixed while a parcel is on the road.
  if d.status <> 'draft' or d.parent_id is not null or delivery.draft_travels(d) then
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
  if v_sent ? 'recipient' then
    v_sent := v_sent || jsonb_build_object('recipient', delivery.recipient_corrected(d.recipient, input -> 'recipient'));
  end if;
  v_sent := v_old || v_sent || jsonb_build_object('delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_sent), v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_travels(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return d.status = 'draft' and d.current_warehouse_id is null and exists (
    select from warehousing.waybill_deliveries b
    join warehousing.waybills y on y.tenant_id = b.tenant_id and y.id = b.waybill_id
    where b.tenant_id = d.tenant_id and b.delivery_id = d.id and (b.is_open and y.status = 'in_transit' or exists (
      select from warehousing.waybill_discrepancies m
      where m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id and m.status = 'open')))
    and not delivery.is_for_waybill(d);
end $function$;

CREATE OR REPLACE FUNCTION delivery.on_waybill(parcel uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from warehousing.waybill_deliveries w where w.tenant_id = app.tenant_id() and w.delivery_id = parcel and w.is_open);
end $function$;

CREATE OR REPLACE FUNCTION delivery.parcel_cancel(input jsonb, OUT delivery_id uuid, OUT return_id uuid, OUT refund jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_waiting delivery.deliveries;
  v_return record;
  v_missing boolean;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  v_waiting := delivery.waiting_on_its_way(d);
  if v_waiting.id is not null then
    v_missing := warehousing.parcel_is_missing(d, v_waiting.current_warehouse_id);
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, not v_missing, input);
    refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    if v_missing then
      perform warehousing.stock_release('picking_order', p.id) from unnest(v_return.picks) p (id);
      perform warehousing.waybill_remove_delivery(d.id);
      perform delivery.parcel_at(d.id, null);
    else
      perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    end if;
    perform storefront.orders_settle();
    delivery_id := d.id;
    return_id := v_return.id;
    return;
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_draft_here(d, 'cancelled');
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  if delivery.waits_on_the_road(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_on_the_road'));
  end if;
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  if d.delivery_flow = 'customer_return' and d.status = 'draft' then
    perform delivery.return_request_cancel(d.id);
  end if;
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  delivery_id := d.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_draft_here(d delivery.deliveries, target text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if delivery.draft_travels(d) then
    perform app.fail('invalid_status_transition', coalesce(delivery.transfer_under_way(d), '{"text_key": "reason_draft_on_transfer"}')
      || jsonb_build_object('from', d.status, 'to', target));
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
      'text_key', case when b.received_state = 'missing' then 'reason_missing_of_waybill' when d.status = 'draft' then 'reason_draft_on_transfer'
        else 'reason_on_transfer' end)
    from warehousing.package_transfer_deliveries p
    join warehousing.package_transfers t on t.tenant_id = p.tenant_id and t.id = p.transfer_id
    join warehousing.warehouses w on w.tenant_id = t.tenant_id and w.id = t.destination_warehouse_id
    left join warehousing.waybills y on y.tenant_id = t.tenant_id and y.id = t.waybill_id
    left join warehousing.waybill_deliveries b on b.tenant_id = t.tenant_id and b.waybill_id = t.waybill_id and b.delivery_id = p.delivery_id
    where p.tenant_id = d.tenant_id and p.delivery_id = delivery.parcel_of(d)
      and case when t.waybill_id is null then delivery.is_transferred(d) and d.status in ('picked_up', 'in_transit', 'failed')
        and t.operation_type = 'single_delivery' and t.destination_warehouse_id = d.dropoff_warehouse_id
        else (d.status in ('in_transit', 'failed', 'returned') or d.status = 'draft' and delivery.draft_travels(d)) and (b.is_open and y.status = 'in_transit'
          or b.received_state = 'missing' and exists (select from warehousing.waybill_discrepancies m
            where m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id and m.status = 'open')) end
    order by t.created_at desc, t.id limit 1);
end $function$;

CREATE OR REPLACE FUNCTION delivery.waiting_on_its_way(d delivery.deliveries)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_waiting delivery.deliveries;
begin
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id)
    and (x.delivery_flow in ('standard', 'pnd_outbound') or x.delivery_flow = 'customer_return' and not warehousing.return_is_lost(x))
    -- A draft, too, that a waybill has brought there; a leg that is one waits for nothing of its own.
    and (x.status in ('pending', 'assigned', 'accepted') or x.status = 'draft' and x.id = d.id) and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  return v_waiting;
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
  -- That of a piece of inventory stays what its waybill was for.
  v_drafts uuid[] := array(select d.id from delivery.deliveries d
    where d.tenant_id = v_tenant and d.id = any (parcels) and d.status = 'draft' and not delivery.is_for_waybill(d));
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
  -- Of an order this is kept as it moves (delivery.order_keeps_its_beginning).
  update delivery.deliveries d
  set ordered_from_address_id = b.address_id, ordered_from_snapshot = b.snapshot, ordered_from_warehouse_id = b.warehouse_id
  from (select x.id, f.* from delivery.deliveries x cross join lateral delivery.ordered_from(x) f
    where x.tenant_id = v_tenant and x.id = any (v_drafts)) b
  where d.tenant_id = v_tenant and d.id = b.id;
  update delivery.deliveries d set status = case when d.status = 'draft' then d.status when e.ends then 'delivered' else 'pending' end,
    status_reason = null, status_notes = null, delivered_at = case when e.ends then clock_timestamp() end,
    pickup_warehouse_id = case when e.ends then d.pickup_warehouse_id else warehouse end,
    pickup_address_id = case when e.ends then d.pickup_address_id else v_here.id end,
    pickup_snapshot = case when e.ends then d.pickup_snapshot else v_snapshot end,
    pickup_zone_id = case when e.ends then d.pickup_zone_id else v_here.zone_id end,
    -- Parcels that continue from here do not end here.
    dropoff_warehouse_id = case when e.ends then warehouse else nullif(delivery.ends_in(d), warehouse) end,
    transfer_kind = null, ordered_to_warehouse_id = null
  from (
    select x.id, (delivery.ends_in(x) is not distinct from warehouse
        or x.dropoff_address_id = v_here.id and (x.dropoff_warehouse_id is not distinct from warehouse or warehousing.brings_goods_back(x)))
      and c.cod + c.delivery_fee = 0 and x.status <> 'draft' as ends
    from delivery.deliveries x cross join lateral money.cash_due(x, 'dropoff') c
    where x.tenant_id = v_tenant
      and ((x.id = any (parcels) and x.delivery_flow <> 'pnd_parent') or (x.parent_id = any (parcels) and x.delivery_flow = 'pnd_outbound'))
  ) e
  where d.tenant_id = v_tenant and d.id = e.id and (d.status = 'in_transit' or d.id = any (v_drafts));
  -- A staged parcel has what transfers on paper recorded in itself, not in its legs.
  update delivery.deliveries p set dropoff_warehouse_id = delivery.ends_in(p), transfer_kind = null, ordered_to_warehouse_id = null
  where p.tenant_id = v_tenant and p.delivery_flow = 'pnd_parent' and p.transfer_kind is not null and p.dropoff_warehouse_id = warehouse
    and p.id = any (array(select delivery.parcel_of(f) from delivery.deliveries f where f.tenant_id = v_tenant and f.id = any (v_family)));
  -- Goods that a customer sent back, or that came back to their store, end here as goods, not as a parcel: staff unpack them.
  perform warehousing.receipt_open(d, warehouse, 'inbound') from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.delivery_flow = 'customer_return' and d.status = 'delivered'
    and exists (select from warehousing.goods_sent_back(d));
  perform delivery.parcel_at(d.id, null) from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.status = 'delivered' and warehousing.brings_goods_back(d);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_change_lines(p_order warehousing.picking_orders, lines jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_same boolean := (
    select coalesce(array_agg((i.item_id, i.bin_id, i.quantity)::text order by i.position), '{}')
    from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id) = (
    select coalesce(array_agg((l.item_id, l.bin_id, l.quantity)::text order by l.line), '{}')
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, bin_id uuid, quantity bigint)) with ordinality l (item_id, bin_id, quantity, line));
begin
  if v_same and p_order.status not in ('pending', 'in_progress') and not exists (
      select from rows from (jsonb_to_recordset(lines) as (picked_quantity bigint, status text)) with ordinality l (picked_quantity, status, line)
      join warehousing.picking_lines(p_order) i on i.place = l.line
      where l.picked_quantity <> i.picked_quantity or nullif(l.status, 'pending') <> i.status) then
    return;
  end if;
  if p_order.order_id is not null and p_order.status in ('pending', 'in_progress', 'completed') then
    if not v_same then
      perform app.fail('picking_belongs_to_order', jsonb_build_object('field', 'item_details', 'order_id', p_order.order_id));
    end if;
    perform warehousing.picking_note(p_order, lines);
    return;
  end if;
  if p_order.status not in ('pending', 'in_progress') or (p_order.delivery_id is not null and not v_same) then
    perform app.fail('picking_items_fixed', jsonb_build_object('field', 'item_details', 'status', p_order.status));
  end if;
  if v_same then
    perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
    perform warehousing.picking_note(p_order, lines);
    return;
  elsif p_order.status = 'pending' then
    perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
    perform warehousing.picking_set_lines(p_order, lines);
    return;
  end if;
  -- Stock given back and stock taken instead are locked together, in the common order.
  perform warehousing.lock_stock_places((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'bin_id', p.bin_id)) from (
      select i.item_id, i.bin_id from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id
      union
      select l.item_id, l.bin_id from jsonb_to_recordset(lines) as l (item_id uuid, bin_id uuid)) p));
  perform warehousing.require_picking_state(p_order.warehouse_id, lines, p_order.id);
  perform warehousing.stock_release('picking_order', p_order.id);
  perform warehousing.picking_set_lines(p_order, lines);
  perform warehousing.picking_reserve(p_order);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_lines(p_order warehousing.picking_orders)
 RETURNS TABLE(place bigint, id uuid, picked_quantity bigint, status text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select row_number() over (order by i.position), i.id, i.picked_quantity, i.status
  from warehousing.picking_order_items i where i.tenant_id = p_order.tenant_id and i.picking_order_id = p_order.id;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_note(p_order warehousing.picking_orders, lines jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_place bigint;
begin
  select l.line - 1 into v_place
  from rows from (jsonb_to_recordset(lines) as (quantity bigint, picked_quantity bigint)) with ordinality l (quantity, picked_quantity, line)
  where l.picked_quantity > l.quantity order by l.line limit 1;
  if found then
    perform app.fail('picked_too_much', jsonb_build_object('field', format('item_details.%s.picked_quantity', v_place)));
  end if;
  update warehousing.picking_order_items i set picked_quantity = coalesce(l.picked_quantity, i.picked_quantity),
    status = coalesce(l.status, warehousing.picking_line_status(i.status, i.quantity, coalesce(l.picked_quantity, i.picked_quantity)))
  from rows from (jsonb_to_recordset(lines) as (picked_quantity bigint, status text)) with ordinality l (picked_quantity, status, line)
  join warehousing.picking_lines(p_order) n on n.place = l.line
  where i.tenant_id = p_order.tenant_id and i.id = n.id;
  if p_order.status = 'completed' then
    perform warehousing.picking_lines_end(p_order);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_entries(r warehousing.receiving_orders, details jsonb)
 RETURNS TABLE(place bigint, line uuid, item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select s.position - 1, s.line, s.item_id, s.bin_id, case when s.received_quantity is not null then s.come end, s.condition,
    case when s.damaged_quantity is not null then s.come - greatest(0, least(s.come, s.received - s.damaged_quantity - s.before))
      + case when s.is_last then greatest(0, s.damaged_quantity - s.received) else 0 end end
  from (
    select e.*, coalesce(e.received_quantity, e.whole) as received, case when e.received_quantity is null then e.quantity
      else greatest(0, case when e.is_last then e.received_quantity - e.before else least(e.quantity, e.received_quantity - e.before) end) end as come
    from (
      select n.*, o.id as line, o.quantity, (sum(o.quantity) over entry)::bigint as whole,
        (sum(o.quantity) over earlier)::bigint - o.quantity as before,
        lead(o.id) over earlier is null as is_last
      from rows from (jsonb_to_recordset(details)
        as (item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint))
        with ordinality n (item_id, bin_id, received_quantity, condition, damaged_quantity, position)
      left join (
        select x.*, row_number() over (order by x.position) as place
        from warehousing.receiving_order_items x where x.tenant_id = r.tenant_id and x.receiving_order_id = r.id) o
        on case when n.item_id is null then n.position = o.place else n.item_id = o.item_id end
      window entry as (partition by n.position), earlier as (partition by n.position order by o.position)
    ) e
  ) s;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_fill(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
  v_bin uuid := coalesce((v_details #>> '{0,bin_id}')::uuid, warehousing.default_receiving_bin(r.warehouse_id));
  v_wrong record;
begin
  select e.place, e.line is null as unknown, e.twice, e.item_id into v_wrong
  from (
    select n.*, row_number() over (partition by n.line order by n.place) > 1 and n.line is not null as twice,
      n.bin_id is not null and not exists (select from warehousing.bins b
        where b.tenant_id = r.tenant_id and b.warehouse_id = r.warehouse_id and b.id = n.bin_id) as nowhere
    from warehousing.receipt_entries(r, v_details) n) e
  where e.line is null or e.twice or e.nowhere
  order by e.place limit 1;
  if found then
    if v_wrong.unknown then
      perform app.fail('inventory_item_not_found', jsonb_build_object('field', format('item_details.%s.item_id', v_wrong.place)));
    elsif v_wrong.twice then
      perform app.fail('item_named_twice', jsonb_build_object('field',
        format('item_details.%s', v_wrong.place) || case when v_wrong.item_id is null then '' else '.item_id' end));
    end if;
    perform app.fail('bin_not_found', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
  end if;
  update warehousing.receiving_order_items i set
    received_quantity = coalesce(n.received_quantity, i.quantity),
    bin_id = coalesce(n.bin_id, v_bin),
    condition = coalesce(n.condition, case when n.damaged_quantity > 0 or w.says_nothing and l.damaged > 0 then 'damaged' end, 'good'),
    damaged_quantity = least(coalesce(n.received_quantity, i.quantity),
      coalesce(n.damaged_quantity, case n.condition when 'damaged' then coalesce(n.received_quantity, i.quantity) end,
        case when w.says_nothing then l.damaged end, 0))
  from warehousing.receiving_order_items o
  left join warehousing.receipt_entries(r, v_details) n on n.line = o.id
  left join (select g.* from delivery.deliveries d cross join lateral warehousing.return_left_with(d) g
    where d.tenant_id = r.tenant_id and d.id = r.delivery_id) l on l.item_id = o.item_id
  cross join lateral (select num_nonnulls(n.received_quantity, n.condition, n.damaged_quantity) = 0 as says_nothing) w
  where o.tenant_id = r.tenant_id and o.receiving_order_id = r.id and i.id = o.id;
  select e.place into v_wrong
  from warehousing.receipt_entries(r, v_details) e
  join warehousing.receiving_order_items i on i.tenant_id = r.tenant_id and i.id = e.line
  where e.damaged_quantity > i.received_quantity order by e.place limit 1;
  if found then
    perform app.fail('damaged_too_much', jsonb_build_object('field', format('item_details.%s.damaged_quantity', v_wrong.place)));
  end if;
  -- A line that nobody wrote of is wrong because of the bin that serves for all.
  select i.*, coalesce(n.place, 0) as place, case when n.bin_id is null then 0 else n.place end as bin_place,
    case when n.item_id is null then i.quantity else (select sum(x.quantity) from warehousing.receiving_order_items x
      where x.tenant_id = r.tenant_id and x.receiving_order_id = r.id and x.item_id = n.item_id) end as expected into v_wrong
  from warehousing.receiving_order_items i
  left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
  left join warehousing.bins b on b.tenant_id = i.tenant_id and b.id = i.bin_id
  where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id
    and (i.received_quantity > i.quantity or (i.received_quantity > 0 and b.is_active is not true))
  order by i.position limit 1;
  if found then
    if v_wrong.received_quantity > v_wrong.quantity then
      perform app.fail('received_too_much', jsonb_build_object('field', format('item_details.%s.received_quantity', v_wrong.place),
        'expected', v_wrong.expected));
    elsif v_wrong.bin_id is null then
      perform app.fail('bin_id_required_for_received_items', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
    end if;
    perform app.fail('bin_inactive', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.bin_place)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_same_receipt(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
begin
  if exists (
      select from warehousing.receiving_order_items i
      left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
      cross join lateral (select coalesce(n.received_quantity, i.quantity) as received) c
      where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id and (c.received <> i.received_quantity
        or n.bin_id <> i.bin_id
        or num_nonnulls(n.received_quantity, n.condition, n.damaged_quantity) > 0
          and (coalesce(n.condition, case when n.damaged_quantity > 0 then 'damaged' else 'good' end) <> i.condition
          or coalesce(n.damaged_quantity, case n.condition when 'damaged' then c.received else 0 end) <> i.damaged_quantity)))
    or exists (select from warehousing.receipt_entries(r, v_details) n where n.line is null) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', r.status, 'to', r.status, 'text_key', 'reason_received_before',
      'receiver', coalesce((select nullif(p.full_name, '') from tenancy.profiles p where p.id = r.received_by), '–')));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.scan_next_action(d delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_leg delivery.deliveries;
  v_problem text;
  v_pick record := warehousing.scan_pick(d);
begin
  if d.delivery_flow = 'pnd_parent' then
    -- A leg that ended in a warehouse is not over until it was received there.
    select l.* into v_leg from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status <> 'cancelled' and (l.status <> 'delivered' or exists (
      select from warehousing.receiving_orders r where r.tenant_id = l.tenant_id and r.delivery_id = l.id and r.status = 'pending'))
    order by l.sequence_plan limit 1;
    return case when v_leg.id is null then 'none' else warehousing.scan_next_action(v_leg) end;
  end if;
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    return 'receive';
  end if;
  if d.status = 'failed' and d.status_reason = 'lost' then
    -- Turned up again: the office says where it is by `return`, which makes its receipt.
    return 'none';
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    return 'in_delivery';
  elsif v_pick.pick is not null and not v_pick.whole then
    -- Picked, but not all was there: the store says what becomes of its order.
    return case when v_pick.ended then 'none' else 'pick' end;
  elsif d.status in ('assigned', 'accepted') then
    if v_pick.pick is not null then
      return 'handoff';
    elsif delivery.leaves_warehouse(d) then
      return case when (warehousing.scan_handoff(array[d.id])).id is not null then 'handoff' else 'none' end;
    end if;
    return 'in_delivery';
  elsif d.status <> 'pending' or d.carrier_type <> 'internal' then
    return 'none';
  end if;
  select p.code into v_problem from delivery.preparation_problem(array[d.id]) p;
  if v_problem is null then
    return 'assign';
  end if;
  -- Not picked, and nothing else in its way: it lies here, whole (of a return any part of it), and travels nowhere.
  if v_problem = 'warehouse_preparation_inconsistent' and delivery.leaves_warehouse(d) and not delivery.on_waybill(delivery.parcel_of(d))
    and not exists (select from warehousing.picking_orders p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
      and p.status in ('pending', 'in_progress', 'completed'))
    and (case when d.delivery_flow = 'operational_return'
      then delivery.leaves_as_it_is(d) or warehousing.return_to_pick(d.id, d.pickup_warehouse_id) is not null
      else not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d)
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, d.pickup_warehouse_id)) end) then
    return 'execute';
  end if;
  return 'none';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorted_parcel_leaves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel uuid := case new.delivery_flow when 'operational_return' then new.original_delivery_id else new.id end;
  v_cages uuid[];
begin
  select array_agg(b.id) into v_cages from (
    select b.id from warehousing.sorting_scans c
    join warehousing.sorting_sessions s on s.tenant_id = c.tenant_id and s.id = c.session_id and s.status = 'active'
    join warehousing.sorting_assignments a on a.tenant_id = c.tenant_id and a.id = c.assignment_id
    join warehousing.bins b on b.tenant_id = a.tenant_id and b.id = a.cage_location_id
    where c.tenant_id = new.tenant_id and c.delivery_id = v_parcel and c.left_at is null
      and s.warehouse_id is distinct from new.current_warehouse_id
    order by b.id for no key update of b) b;
  if v_cages is null then
    return null;
  end if;
  perform warehousing.sorting_leave_cages(new.tenant_id, v_parcel, v_cages);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_cages_beside(s warehousing.sorting_sessions, parcel uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select a.cage_location_id from warehousing.sorting_scans c
    join warehousing.sorting_sessions o on o.tenant_id = c.tenant_id and o.id = c.session_id and o.status = 'active'
      and o.warehouse_id = s.warehouse_id and o.id <> s.id
    join warehousing.sorting_assignments a on a.tenant_id = c.tenant_id and a.id = c.assignment_id
    where c.tenant_id = s.tenant_id and c.delivery_id = parcel and c.left_at is null);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_leave_cages(tenant uuid, parcel uuid, cages uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  with gone as (
    update warehousing.sorting_scans c set left_at = clock_timestamp()
    from warehousing.sorting_assignments a
    where a.tenant_id = sorting_leave_cages.tenant and a.cage_location_id = any (cages) and c.tenant_id = a.tenant_id and c.assignment_id = a.id
      and c.delivery_id = parcel and c.left_at is null
    returning a.cage_location_id
  )
  update warehousing.bins b set filled_capacity = b.filled_capacity - 1
  from gone where b.tenant_id = sorting_leave_cages.tenant and b.id = gone.cage_location_id;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."sorting_leave_cages"(uuid, uuid, uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.sorting_scan(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s warehousing.sorting_sessions := warehousing.lock_sorting_session((input ->> 'id')::uuid);
  v_chosen uuid := (input ->> 'assignment_id')::uuid;
  v_matches uuid[];
  v_right uuid[];
  v_alike uuid[];
  v_beside uuid[];
  v_to uuid;
  v_place uuid;
  v_lay uuid;
  d delivery.deliveries;
  v_parcel uuid;
  c warehousing.sorting_scans;
begin
  select * into d from delivery.deliveries x where x.id = warehousing.parcel_named(input ->> 'delivery_barcode');
  if not found then
    perform app.fail('delivery_not_found', '{"field": "delivery_barcode"}');
  end if;
  d := warehousing.parcel_under_way(d);
  -- It does not leave while it is put into a cage.
  perform delivery.lock_deliveries(array[d.id]);
  select * into d from delivery.deliveries x where x.id = d.id;
  -- On its way back it is still the parcel that may lie in a cage already.
  v_parcel := case d.delivery_flow when 'operational_return' then d.original_delivery_id else d.id end;
  if v_chosen is not null and not exists (select from warehousing.sorting_assignments a
      where a.tenant_id = s.tenant_id and a.session_id = s.id and a.id = v_chosen) then
    perform app.fail('sorting_assignment_not_found', '{"field": "assignment_id"}');
  end if;
  v_matches := warehousing.sorting_matches(s.id, d);
  v_right := case when v_chosen is null then v_matches when v_chosen = any (v_matches) then array[v_chosen] else '{}' end;
  select * into c from warehousing.sorting_scans x where x.tenant_id = s.tenant_id and x.session_id = s.id and x.delivery_id = v_parcel;
  if c.left_at is null and c.assignment_id = any (v_right) then
    return warehousing.sorting_scan_answer(c.id, d.id, true);
  end if;
  if d.status in ('delivered', 'returned', 'cancelled') then
    perform app.fail('package_not_sortable', jsonb_build_object('status', d.status));
  end if;
  v_place := warehousing.parcel_place(d);
  if v_place is null then
    perform app.fail('package_not_here', '{"field": "delivery_barcode"}');
  elsif v_place <> s.warehouse_id then
    perform app.fail('package_elsewhere', jsonb_build_object('current_warehouse_id', v_place));
  end if;
  if v_right = '{}' then
    perform app.fail('no_matching_destination');
  end if;
  -- The cages are locked before anything is written of the scan, whatever it does: two scans never wait for each other in a circle.
  v_lay := case when c.left_at is null then c.assignment_id end;
  v_alike := warehousing.sorting_alike(s, v_right);
  v_beside := warehousing.sorting_cages_beside(s, v_parcel);
  if v_beside <> '{}' then
    perform from warehousing.bins b
    where b.tenant_id = s.tenant_id and (b.id = any (v_beside) or b.id in (
      select a.cage_location_id from warehousing.sorting_assignments a where a.tenant_id = s.tenant_id and a.id = any (v_alike || v_lay)))
    order by b.id for no key update;
    perform warehousing.sorting_scans_end(s, v_parcel);
  end if;
  v_to := warehousing.sorting_cage_with_room(s, v_alike, v_lay);
  if c.id is null then
    insert into warehousing.sorting_scans (tenant_id, session_id, assignment_id, delivery_id, scanned_by)
    values (s.tenant_id, s.id, v_to, v_parcel, app.user_id())
    on conflict on constraint already_sorted do nothing returning * into c;
    if c.id is not null then
      perform warehousing.sorting_cage_count(s, v_to, 1);
      return warehousing.sorting_scan_answer(c.id, d.id, false);
    end if;
  end if;
  -- The same parcel at the same moment: the second waited, for the cages or for the scan, and now finds where the first put it.
  select * into strict c from warehousing.sorting_scans x where x.tenant_id = s.tenant_id and x.session_id = s.id and x.delivery_id = v_parcel;
  if c.left_at is null and c.assignment_id = any (v_right) then
    return warehousing.sorting_scan_answer(c.id, d.id, true);
  elsif c.left_at is null and c.assignment_id is distinct from v_lay then
    -- Into a cage that is not locked here: begin again, in the right order.
    raise exception 'delivery % was sorted meanwhile', v_parcel using errcode = 'serialization_failure';
  end if;
  perform warehousing.sorting_cage_count(s, v_to, 1);
  if v_lay is not null then
    perform warehousing.sorting_cage_count(s, v_lay, -1);
  end if;
  perform warehousing.sorting_scan_move(c.id, v_to);
  return warehousing.sorting_scan_answer(c.id, d.id, false);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.sorting_scans_end(s warehousing.sorting_sessions, parcel uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(s.tenant_id);
  perform warehousing.require_works_in(s.warehouse_id);
  perform warehousing.sorting_leave_cages(s.tenant_id, parcel, warehousing.sorting_cages_beside(s, parcel));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."draft_travels"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_travels"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."on_waybill"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."on_waybill"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_draft_here"(delivery.deliveries, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_draft_here"(delivery.deliveries, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."picking_lines"(warehousing.picking_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."picking_lines"(warehousing.picking_orders) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."sorting_cages_beside"(warehousing.sorting_sessions, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."sorting_cages_beside"(warehousing.sorting_sessions, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."sorting_leave_cages"(uuid, uuid, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."sorting_scans_end"(warehousing.sorting_sessions, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."sorting_scans_end"(warehousing.sorting_sessions, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201085641';
end $$;

grant execute on function private.schema_version() to barid_api;
