-- Parcels that lie in a warehouse and go back to where they were ordered from, by a delivery of their own.

-- The place where the order of a parcel begins, wherever it is fetched by now; the warehouse only if that is one's address.
create or replace function delivery.ordered_from(d delivery.deliveries, out address_id uuid, out snapshot jsonb, out warehouse_id uuid, out zone_id uuid)
language plpgsql stable set search_path = '' as $$
begin
  if d.ordered_from_address_id is null then
    address_id := d.pickup_address_id;
    snapshot := d.pickup_snapshot;
    zone_id := d.pickup_zone_id;
    -- A transfer on paper may have named another warehouse.
    select w.id into warehouse_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and w.id = d.pickup_warehouse_id and w.address_id = d.pickup_address_id;
  else
    address_id := d.ordered_from_address_id;
    snapshot := d.ordered_from_snapshot;
    warehouse_id := d.ordered_from_warehouse_id;
    select a.zone_id into zone_id from delivery.addresses a where a.tenant_id = d.tenant_id and a.id = address_id;
  end if;
end $$;

-- Keeps where an order begins when its parcel is fetched in a warehouse from now on. Of what is staged the parcel itself says it.
create or replace function delivery.order_keeps_its_beginning() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_from record := delivery.ordered_from(old);
begin
  new.ordered_from_address_id := v_from.address_id;
  new.ordered_from_snapshot := v_from.snapshot;
  new.ordered_from_warehouse_id := v_from.warehouse_id;
  return new;
end $$;

drop trigger if exists order_keeps_its_beginning on delivery.deliveries;
create trigger order_keeps_its_beginning before update of pickup_address_id on delivery.deliveries
  -- A warehouse that moves takes its orders along (delivery.warehouse_moves).
  for each row when (old.delivery_flow in ('standard', 'customer_return') and old.status <> 'draft' and old.ordered_from_address_id is null
    and old.pickup_address_id <> new.pickup_address_id
    and (new.pickup_warehouse_id is null or new.pickup_warehouse_id is distinct from old.pickup_warehouse_id))
  execute function delivery.order_keeps_its_beginning();

-- The transfer to another warehouse that a parcel is on the road by, as a refusal names it, with the warehouse in words:
-- {transfer_id, waybill_id, destination_warehouse_id, warehouse, text_key}; null when it is on none. A waybill brings it from the handover
-- until its receipt, and what was missing then until somebody has said what became of it.
create or replace function delivery.transfer_under_way(d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Refuses a move of a parcel that a waybill has on the road: what becomes of it is said at the waybill's receipt. With a live assignment
-- `a` it is on no waybill. Fails: invalid_status_transition, with the transfer.
create or replace function delivery.require_off_waybill(d delivery.deliveries, a delivery.assignments, target text) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_transfer jsonb := case when a.id is null then delivery.transfer_under_way(d) end;
begin
  if v_transfer ->> 'waybill_id' is not null then
    perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', target));
  end if;
end $$;

-- Refuses a move of a draft whose parcel a waybill has on the road: it follows its parcel, and can be moved where that arrives. One whose parcel
-- was lost can only be cancelled.
-- Fails: invalid_status_transition, with the transfer for those who see it.
create or replace function delivery.require_draft_here(d delivery.deliveries, target text) returns void
language plpgsql stable set search_path = '' as $$
begin
  if delivery.draft_travels(d) then
    perform app.fail('invalid_status_transition', coalesce(delivery.transfer_under_way(d), '{"text_key": "reason_draft_on_transfer"}')
      || jsonb_build_object('from', d.status, 'to', target));
  elsif target <> 'cancelled' and delivery.draft_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', target, 'text_key', 'reason_draft_lost'));
  end if;
end $$;

-- Sends a parcel that lies in a warehouse back to who sent it, or to where delivery.return_destination says: a delivery of its own, with
-- its own barcode, free of charge. The original keeps its status, goes nowhere else meanwhile, and is returned when that delivery is
-- delivered (delivery.originals_come_back). A parcel that such a delivery has brought into a warehouse continues by another one, and so does a
-- return that ended there, to where its original was ordered from: the rest of a parcel, goods given in exchange, a customer's return.
-- {id, delivery_service_id?, dropoff_address_id? | dropoff_warehouse_id?, reason?, notes?} -> the new delivery
-- Fails: delivery_not_found, service_not_found, delivery_not_in_warehouse (with the transfer it is on, if it is on one),
-- invalid_status_transition, what delivery.return_destination fails with, return_already_exists.
create or replace function delivery.delivery_operational_return(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_made record;
begin
  if d.delivery_flow = 'pnd_parent' or d.delivery_flow = 'operational_return' and not d.returns_part or d.current_warehouse_id is null then
    perform app.fail('delivery_not_in_warehouse', coalesce(delivery.transfer_under_way(d), '{}'));
  end if;
  perform delivery.require_move(d, case d.delivery_flow when 'pnd_inbound' then '{returned}'::text[] when 'operational_return' then '{delivered}'
      when 'customer_return' then '{delivered,returned}' else '{pending,returned}' end
    || case when delivery.was_sent_back_here(d) then '{cancelled}'::text[] else '{}' end, 'returned');
  if d.current_warehouse_id = (delivery.return_destination(delivery.parcel_terms(d), input)).warehouse_id then
    perform app.fail('invalid_status_transition',
      jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_at_sender'));
  end if;
  if d.status = 'pending' then
    update delivery.deliveries x set status_reason = input ->> 'reason', status_notes = input ->> 'notes'
    where x.tenant_id = d.tenant_id and x.id = d.id;
    -- No driver is looked for who would bring it on.
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('searching', 'failed');
    -- Nor does a carrier come for it.
    perform integration.shipments_withdraw(array[d.id]);
  end if;
  v_made := delivery.operational_return_make(d, input);
  perform delivery.operational_return_shelve(v_made.id, v_made.picks);
  return delivery.delivery_created_to_json(v_made.id);
end $$;

-- True for a return that has come to an end, wherever that was.
create or replace function delivery.return_has_ended(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.delivery_flow = 'operational_return' and d.status = 'delivered' or d.delivery_flow = 'customer_return' and d.status in ('delivered', 'returned');
end $$;

-- True for a parcel that lies where an operational return has brought it.
create or replace function delivery.was_sent_back_here(d delivery.deliveries) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from delivery.deliveries r
    where r.tenant_id = d.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.delivery_flow = 'operational_return'
      and r.status = 'delivered' and not r.returns_part and r.current_warehouse_id = d.current_warehouse_id);
end $$;

-- The recipient of a parcel p that goes back to this warehouse, or to its sender's door: a warehouse under its own name, somebody's door under
-- theirs. place: the address there, as snapshots have it. -> {name?, phone?}
create or replace function delivery.return_receiver(p delivery.deliveries, warehouse uuid, place jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_strip_nulls(jsonb_build_object('name', coalesce(delivery.warehouse_name(p.tenant_id, warehouse),
    delivery.person_name(coalesce(p.institution_user_id, p.customer_id)), app.localized(place -> 'title')),
    'phone', place #>> '{contact_info,phone}'));
end $$;

-- The operational return of a parcel p, worked out but for where it is fetched and not written: to delivery.return_destination, under a
-- number of its own, free of charge. {delivery_service_id?, dropoff_address_id? | dropoff_warehouse_id?, at_door?, reason?, notes?}
-- Fails: service_not_found, what delivery.return_destination fails with.
create or replace function delivery.operational_return_of(p delivery.deliveries, input jsonb) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  n delivery.deliveries := p;
  v_to record;
  v_service delivery.delivery_services;
begin
  select * into v_service from delivery.delivery_services s
  where s.id = coalesce((input ->> 'delivery_service_id')::uuid, n.delivery_service_id) and (input ->> 'delivery_service_id' is null or s.deleted_at is null);
  if not found then
    perform app.fail('service_not_found', '{"field": "delivery_service_id"}');
  end if;
  v_to := delivery.return_destination(p, input);
  n.original_delivery_id := p.id;
  n.id := gen_random_uuid();
  n.recipient := delivery.return_receiver(p, v_to.warehouse_id, v_to.snapshot);
  -- A customer's return goes back to the recipient of its original.
  if p.delivery_flow = 'customer_return' and not delivery.return_has_ended(p) and v_to.address_id = (delivery.ordered_from(p)).address_id then
    select o.recipient - 'received_by' into n.recipient from delivery.deliveries o where o.tenant_id = p.tenant_id and o.id = p.original_delivery_id;
  end if;
  n.dropoff_address_id := v_to.address_id;
  n.dropoff_snapshot := v_to.snapshot;
  n.dropoff_zone_id := v_to.zone_id;
  -- The goods of a store are received in their warehouse by themselves, when the parcel is back (storefront.order_goods_expect).
  n.dropoff_warehouse_id := case when n.order_id is null then v_to.warehouse_id end;
  n.staging_warehouse_id := null;
  n.delivery_flow := 'operational_return';
  n.made_at_door := false;
  n.returns_part := false;
  n.status := 'pending';
  n.carrier_type := 'internal';
  n.carrier_code := null;
  n.payer_type := 'sender';
  n.payment_method := 'cash';
  n.cod_amount := 0;
  n.delivery_fee := 0;
  n.distance_km := null;
  n.delivery_service_id := v_service.id;
  n.external_reference_id := null;
  -- It brings nothing of the store's order to anybody.
  n.order_id := null;
  n.promised_at := null;
  n.deliver_after := null;
  n.deliver_before := null;
  n.status_reason := input ->> 'reason';
  n.notes := input ->> 'notes';
  n.created_by := app.user_id();
  n.delivery_code := app.take_numbers('delivery_code');
  n.barcode := delivery.barcode_of_code(n.delivery_code);
  return n;
end $$;

-- The operational return of d, a parcel or the leg of one that lies in a warehouse: what was bound to its way out is freed.
-- {delivery_service_id?, dropoff_address_id? | dropoff_warehouse_id?, reason?, notes?}
-- -> the new delivery, and the picks whose stock operational_return_shelve puts back, after the wallets.
-- Fails: delivery_not_in_warehouse, what delivery.operational_return_of fails with, return_already_exists.
create or replace function delivery.operational_return_make(d delivery.deliveries, input jsonb, out id uuid, out picks uuid[])
language plpgsql set search_path = '' as $$
declare
  p delivery.deliveries;
  n delivery.deliveries;
begin
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    perform app.fail('delivery_not_in_warehouse');
  end if;
  select * into p from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = delivery.parcel_of(d);
  picks := delivery.delivery_release(p.id);
  n := delivery.operational_return_of(p, input);
  select to_jsonb(a), a.zone_id, a.id into n.pickup_snapshot, n.pickup_zone_id, n.pickup_address_id
  from warehousing.warehouses w join delivery.addresses_list a on a.id = w.address_id
  where w.tenant_id = d.tenant_id and w.id = d.current_warehouse_id;
  n.pickup_warehouse_id := d.current_warehouse_id;
  n.current_warehouse_id := d.current_warehouse_id;
  perform delivery.delivery_insert(n);
  perform delivery.delivery_contents_write(n.id, (
    select jsonb_agg(to_jsonb(i) - '{sku,returned_item_id}'::text[] order by i.position)
    from delivery.delivery_items i where i.tenant_id = n.tenant_id and i.delivery_id = n.original_delivery_id));
  id := n.id;
end $$;

-- Readies the stock for a return that was made: what was picked for the way out goes back to its bins, and what lay here without being
-- stock is taken into it, to be picked for its driver like any other.
create or replace function delivery.operational_return_shelve(p_return uuid, picks uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform warehousing.stock_release('picking_order', p.id) from unnest(picks) p (id);
  perform warehousing.waybill_remove_delivery((select r.original_delivery_id from delivery.deliveries r where r.id = p_return));
  perform warehousing.return_shelved(p_return);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.order_keeps_its_beginning() from barid_caller;
