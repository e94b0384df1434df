-- A delivery before it is under way: a draft is changed, an order changes carriers.

-- Refuses a delivery that the caller does not see; of one that was withdrawn from them as a driver, says that alone of it: their phone may
-- have had no network, and they the parcel. Fails: assignment_ended, else with `otherwise`.
create or replace function delivery.delivery_unseen(delivery_id uuid, otherwise text default 'delivery_not_found') returns void
language plpgsql stable set search_path = '' as $$
begin
  perform app.fail('assignment_ended', '{"text_key": "delivery_withdrawn"}')
  from delivery.assignments a
  where a.tenant_id = app.tenant_id() and a.delivery_id = delivery_unseen.delivery_id and a.driver_id = app.user_id() and a.withdrawn
    and app.has_role('driver');
  perform app.fail(otherwise);
end $$;

-- A delivery the caller sees, with its family locked. Fails: delivery_not_found, assignment_ended (delivery.delivery_unseen).
create or replace function delivery.lock_delivery(delivery_id uuid) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  perform from delivery.deliveries x where x.id = lock_delivery.delivery_id;
  if not found then
    perform delivery.delivery_unseen(lock_delivery.delivery_id);
  end if;
  perform delivery.lock_deliveries(array[lock_delivery.delivery_id]);
  -- As it is now, whoever held it before.
  select * into d from delivery.deliveries x where x.id = lock_delivery.delivery_id;
  return d;
end $$;

-- How a refusal names a move that is not possible; one to where it is already was done before.
create or replace function delivery.move_refused(from_status text, to_status text) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('from', from_status, 'to', to_status)
    || case when from_status = to_status then '{"text_key": "status_reached_already"}' else '{}' end::jsonb;
end $$;

-- Refuses a move from any other status than these. Fails: invalid_status_transition.
create or replace function delivery.require_move(d delivery.deliveries, allowed text[], target text) returns void
language plpgsql stable set search_path = '' as $$
begin
  if d.status <> all (allowed) then
    perform app.fail('invalid_status_transition', delivery.move_refused(d.status, target));
  end if;
end $$;

-- Those who may change an order that has not set out: operations any, its customer or institution their own.
-- Fails: forbidden.
create or replace function delivery.require_owner(d delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not app.has_permission('manage:operations:tenant')
      -- A delivery of a store's order belongs to the store: its customer cancels the order, not the delivery, nor what goes back of it.
      and (not coalesce(app.user_id() in (d.customer_id, d.institution_user_id), false) or delivery.is_of_store(d)) then
    perform app.fail('forbidden');
  end if;
end $$;

-- True for what a waybill made of a piece of inventory: its goods are stock that waybills move, and nobody else brings it anywhere. Goods
-- of a store's order are the order's; what comes back has left stock; and the things in a parcel that lay on a shelf are its own.
-- SECURITY DEFINER: neither its customer nor a driver sees what lies in a warehouse. Fails: forbidden (app.require_tenant).
create or replace function delivery.is_for_waybill(d delivery.deliveries) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  return d.order_id is null and d.original_delivery_id is null and exists (
    select from delivery.delivery_items i
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
    where i.tenant_id = d.tenant_id and i.delivery_id = d.id);
end $$;

grant execute on function delivery.is_for_waybill(delivery.deliveries) to barid_caller;

-- Refuses to let anybody but a waybill move what waybills move. Fails: delivery_is_for_waybill.
create or replace function delivery.require_not_for_waybill(d delivery.deliveries) returns void
language plpgsql stable set search_path = '' as $$
begin
  if delivery.is_for_waybill(d) then
    perform app.fail('delivery_is_for_waybill');
  end if;
end $$;

-- True for a draft whose terms its people may still change: a leg that waits as a draft is part of an order, and what leads elsewhere is fixed
-- while a parcel is on the road.
create or replace function delivery.draft_changes(d delivery.deliveries) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return d.status = 'draft' and d.parent_id is null and not delivery.draft_travels(d);
end $$;

-- The terms of a draft after a change, as delivery.delivery_terms reads them, but for its recipient: what is sent replaces what stands, and null
-- takes it away. draft_id names the draft, by which a price knows what it had before, and kept has the ends that the change does not name.
create or replace function delivery.draft_terms(d delivery.deliveries, input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_sent jsonb := jsonb_strip_nulls(input);
  v_old jsonb;
  v_kept jsonb := jsonb_build_object('pickup', d.pickup_snapshot || jsonb_build_object('id', d.pickup_address_id),
    'dropoff', d.dropoff_snapshot || jsonb_build_object('id', d.dropoff_address_id));
  v_end text;
begin
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
  return v_old || v_sent || jsonb_build_object('draft_id', d.id, 'kept', v_kept,
    'delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
end $$;

-- Changes a draft: what is sent replaces what stands (of the recipient part by part), null takes it away, and the price is worked out anew. Of what is
-- ordered already, and of a draft whose parcel a waybill has on the road, only delivery_correct's words. Where a waybill has brought it, it is
-- fetched: from elsewhere nobody would, and its parcel would go back to nobody. {id, ...} -> the delivery
-- Fails: delivery_not_found, forbidden, delivery_already_ordered (it is fetched where it lies), what delivery_create and delivery_correct fail with.
create or replace function delivery.delivery_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_terms jsonb;
  t delivery.deliveries;
begin
  if not delivery.draft_changes(d) then
    return delivery.delivery_correct(d, input);
  end if;
  perform delivery.require_owner(d);
  v_terms := delivery.draft_terms(d, input);
  if jsonb_strip_nulls(input) ? 'recipient' then
    v_terms := v_terms || jsonb_build_object('recipient', delivery.recipient_corrected(d.recipient, input -> 'recipient'));
  end if;
  t := delivery.delivery_terms(v_terms);
  if (t.pickup_address_id, t.pickup_warehouse_id) is distinct from (d.pickup_address_id, d.pickup_warehouse_id)
      and (delivery.waiting_on_its_way(d)).id is not null then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', case when v_terms ? 'pickup_address_id' then 'pickup_address_id'
      when v_terms ? 'pickup_warehouse_id' then 'pickup_warehouse_id' else 'pickup' end, 'text_key', 'reason_draft_lies_elsewhere'));
  end if;
  perform delivery.delivery_rewrite(d, t, v_terms);
  return delivery.delivery_created_to_json(d.id);
end $$;

-- Puts new terms into a draft; what a transfer has recorded stays recorded, and a label that shows them otherwise is outdated.
-- Fails: delivery_goes_in_legs, delivery_is_for_waybill (for another company).
create or replace function delivery.delivery_rewrite(d delivery.deliveries, t delivery.deliveries, input jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  perform delivery.require_carried_in_one(d.delivery_flow, t.carrier_type);
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
end $$;

-- Forgets what is in a draft's parcel, before it is written anew. SECURITY DEFINER: nobody else removes items.
create or replace function delivery.delivery_items_clear(draft_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  delete from delivery.delivery_items i using delivery.deliveries d
  where d.tenant_id = app.tenant_id() and d.id = draft_id and d.status = 'draft' and i.tenant_id = d.tenant_id and i.delivery_id = d.id;
end $$;

grant execute on function delivery.delivery_items_clear(uuid) to barid_caller;

-- Refuses to give a staged parcel as a whole to another company: its legs would be given to drivers of ours all the same.
-- Fails: delivery_goes_in_legs.
create or replace function delivery.require_carried_in_one(flow text, carrier_type text) returns void
language plpgsql stable set search_path = '' as $$
begin
  if flow = 'pnd_parent' and carrier_type = 'external' then
    perform app.fail('delivery_goes_in_legs');
  end if;
end $$;

-- Gives a waiting delivery to another company to carry, or takes it back; of one that a company carries without a booking the code may be corrected.
-- {id, carrier_type, carrier_code?} -> the delivery
-- Fails: delivery_not_found, invalid_status_transition, delivery_goes_in_legs (a staged parcel is carried leg by leg),
-- delivery_is_for_waybill, shipment_with_other_carrier (a carrier has it, who may collect its cash: the booking is cancelled first).
-- Fails also with what carrier_checked fails with.
create or replace function delivery.delivery_carrier(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
  perform delivery.require_carried_in_one(d.delivery_flow, input ->> 'carrier_type');
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
end $$;
