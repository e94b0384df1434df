-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view delivery.delivery_imports_list reset (security_barrier);
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

DROP VIEW "delivery"."delivery_imports_list";

CREATE OR REPLACE FUNCTION delivery.delivery_cancel_waiting(d delivery.deliveries, waiting delivery.deliveries, goes_back boolean, input jsonb, OUT id uuid, OUT picks uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_made record;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled', 'text_key', 'reason_waits_on_its_way'));
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = waiting.id;
  if not goes_back then
    if delivery.return_under_way(d.id) is not null then
      perform app.fail('return_already_exists');
    end if;
    picks := delivery.delivery_release(d.id);
    return;
  end if;
  v_made := delivery.operational_return_make(waiting, input);
  id := v_made.id;
  picks := v_made.picks;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_place(input jsonb, place text, owner uuid)
 RETURNS delivery.addresses
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_at jsonb := input -> place;
  v_id uuid := (input ->> (place || '_address_id'))::uuid;
  v_warehouse uuid := (input ->> (place || '_warehouse_id'))::uuid;
  v_kept jsonb := nullif(input -> 'kept' -> place, 'null');
  v_address delivery.addresses;
begin
  if v_kept is not null then
    return jsonb_populate_record(null::delivery.addresses,
      coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = (v_kept ->> 'id')::uuid), v_kept));
  end if;
  if v_warehouse is not null then
    select w.address_id into v_warehouse from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null;
    if not found then
      perform app.fail('warehouse_not_found', jsonb_build_object('field', place || '_warehouse_id'));
    end if;
  end if;
  if v_id is not null and not exists (select from delivery.usable_addresses u where u.id = v_id) then
    v_address := jsonb_populate_record(null::delivery.addresses, delivery.original_place(input, v_id));
    if v_address.id is not null then
      return v_address;
    end if;
    perform app.fail('address_not_found', jsonb_build_object('field', place || '_address_id'));
  end if;
  if v_id is null and v_at is not null then
    insert into delivery.addresses (tenant_id, title, full_address, city, country, latitude, longitude, contact_info, owner_user_id)
    values (app.tenant_id(), coalesce(v_at -> 'title', '{}'), coalesce(nullif(v_at ->> 'full_address', ''),
      (v_at ->> 'latitude') || ', ' || (v_at ->> 'longitude')), v_at ->> 'city', v_at ->> 'country',
      (v_at ->> 'latitude')::double precision, (v_at ->> 'longitude')::double precision, coalesce(v_at -> 'contact_info', '{}'), owner)
    returning id into v_id;
  end if;
  v_id := coalesce(v_id, v_warehouse);
  if v_id is null then
    perform app.fail('delivery_place_required', jsonb_build_object('field', place || '_address_id'));
  end if;
  select * into v_address from delivery.addresses a where a.id = v_id;
  if not found then
    perform app.fail('address_not_found', jsonb_build_object('field', place || '_address_id'));
  end if;
  return v_address;
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
  v_arrived boolean;
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
  v_arrived := d.delivery_flow = 'standard' and d.transfer_kind is null and d.current_warehouse_id is not distinct from d.dropoff_warehouse_id
    and (delivery.waiting_on_its_way(d)).id is not null;
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
  if v_arrived then
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id;
    perform warehousing.transfer_arrives(d.id);
  end if;
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record;
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
begin
  perform app.keep_currency();
  v_currency := app.currency();
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
  -- A zone that is redrawn meanwhile finds this delivery, or this its new zone (delivery.zones_follow).
  perform delivery.lock_service_area(d.tenant_id, false);
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  d.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_from.id), delivery.original_place(input, v_from.id),
    input -> 'kept' -> 'pickup');
  d.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = v_to.id), delivery.original_place(input, v_to.id),
    input -> 'kept' -> 'dropoff');
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
  d.carrier_code := delivery.carrier_checked(input);
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
  v_kept jsonb := jsonb_build_object('pickup', d.pickup_snapshot || jsonb_build_object('id', d.pickup_address_id),
    'dropoff', d.dropoff_snapshot || jsonb_build_object('id', d.dropoff_address_id));
  v_end text;
  t delivery.deliveries;
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
    if input ?| array[v_end, v_end || '_address_id', v_end || '_warehouse_id'] then
      v_kept := v_kept - v_end;
    end if;
  end loop;
  if v_sent ?| '{customer_id,institution_user_id}' then
    v_old := v_old - '{customer_id,institution_user_id}'::text[];
  end if;
  if v_sent ? 'recipient' then
    v_sent := v_sent || jsonb_build_object('recipient', delivery.recipient_corrected(d.recipient, input -> 'recipient'));
  end if;
  v_sent := v_old || v_sent || jsonb_build_object('kept', v_kept,
    'delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  t := delivery.delivery_terms(v_sent);
  if t.pickup_address_id <> d.pickup_address_id and (delivery.waiting_on_its_way(d)).id is not null then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', case when v_sent ? 'pickup_address_id' then 'pickup_address_id'
      when v_sent ? 'pickup_warehouse_id' then 'pickup_warehouse_id' else 'pickup' end, 'text_key', 'reason_draft_lies_elsewhere'));
  end if;
  perform delivery.delivery_rewrite(d, t, v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_is_lost(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return d.status = 'draft' and d.current_warehouse_id is null and exists (
    select from warehousing.waybill_deliveries b
    join warehousing.waybill_discrepancies m on m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id
    where b.tenant_id = d.tenant_id and b.delivery_id = d.id and m.status = 'resolved' and m.resolution = 'lost')
    and not delivery.is_for_waybill(d);
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
  elsif target <> 'cancelled' and delivery.draft_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', target, 'text_key', 'reason_draft_lost'));
  end if;
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
  perform warehousing.transfers_on_paper_end(array[delivery.parcel_of(d)], r.warehouse_id);
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
      -- The warehouse may stand elsewhere by now.
      pickup_snapshot = case when x.pickup_address_id = a.id then x.pickup_snapshot else to_jsonb(a) end,
      pickup_zone_id = case when x.pickup_address_id = a.id then x.pickup_zone_id else a.zone_id end
    from warehousing.warehouses w
    join delivery.addresses_list a on a.id = w.address_id
    where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'returned' and w.tenant_id = d.tenant_id and w.id = r.warehouse_id;
  end if;
  update delivery.assignments a set ended_at = clock_timestamp(), status = case
    when a.status <> 'pending' and exists (select from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'delivered')
      then 'completed'
    else 'returned' end
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted');
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
  -- Not those of pieces of inventory, which stay what their waybill was for.
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
    -- Parcels that continue from here do not end here; a draft binds nobody yet, and goes where it says.
    dropoff_warehouse_id = case when e.ends then warehouse when d.status = 'draft' then delivery.ends_in(d)
      else nullif(delivery.ends_in(d), warehouse) end,
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
  perform warehousing.transfers_on_paper_end(array(
    select delivery.parcel_of(f) from delivery.deliveries f where f.tenant_id = v_tenant and f.id = any (v_family)), warehouse);
  -- Goods that a customer sent back, or that came back to their store, end here as goods, not as a parcel: staff unpack them.
  perform warehousing.receipt_open(d, warehouse, 'inbound') from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.delivery_flow = 'customer_return' and d.status = 'delivered'
    and exists (select from warehousing.goods_sent_back(d));
  perform delivery.parcel_at(d.id, null) from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.status = 'delivered' and warehousing.brings_goods_back(d);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.transfers_on_paper_end(parcels uuid[], warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries p set dropoff_warehouse_id = delivery.ends_in(p), transfer_kind = null, ordered_to_warehouse_id = null
  where p.tenant_id = app.tenant_id() and p.id = any (parcels) and p.delivery_flow = 'pnd_parent' and p.transfer_kind is not null
    and p.dropoff_warehouse_id = warehouse;
end $function$;

CREATE VIEW "delivery"."delivery_imports_list" WITH (security_invoker=true) AS  SELECT i.id,
    i.created_at,
        CASE
            WHEN (i.created_by IS NOT NULL) THEN jsonb_build_object('id', i.created_by, 'full_name', delivery.person_name(i.created_by))
            ELSE NULL::jsonb
        END AS created_by,
    i.cancelled_at,
        CASE
            WHEN (i.cancelled_by IS NOT NULL) THEN jsonb_build_object('id', i.cancelled_by, 'full_name', delivery.person_name(i.cancelled_by))
            ELSE NULL::jsonb
        END AS cancelled_by,
    c.imported,
    c.cancelled,
    c.cancellable
   FROM (delivery.delivery_imports i
     CROSS JOIN LATERAL ( SELECT count(*) AS imported,
            count(*) FILTER (WHERE (d.status = 'cancelled'::text)) AS cancelled,
            count(*) FILTER (WHERE ((d.status = ANY (ARRAY['draft'::text, 'pending'::text, 'assigned'::text, 'accepted'::text])) AND (d.picked_up_at IS NULL) AND (NOT ((d.ordered_from_address_id IS NOT NULL) AND ((delivery.waiting_on_its_way(d.*)).id IS NOT NULL))) AND (NOT ((d.status = 'draft'::text) AND (d.pickup_warehouse_id IS NOT NULL) AND delivery.draft_travels(d.*))))) AS cancellable
           FROM (delivery.delivery_import_lines l
             JOIN delivery.deliveries d ON (((d.tenant_id = l.tenant_id) AND (d.id = l.delivery_id))))
          WHERE ((l.tenant_id = i.tenant_id) AND (l.import_id = i.id))) c);

REVOKE ALL ON FUNCTION "delivery"."draft_is_lost"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."draft_is_lost"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."transfers_on_paper_end"(uuid[], uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."transfers_on_paper_end"(uuid[], uuid) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."delivery_imports_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201093515';
end $$;

grant execute on function private.schema_version() to barid_api;
