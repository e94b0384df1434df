-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "order_keeps_its_beginning" ON "delivery"."deliveries";

CREATE OR REPLACE FUNCTION delivery.customer_return_input(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_original delivery.deliveries;
  v_mode text := delivery.return_destination_mode();
  v_home uuid;
  v_sender record;
  v_filled jsonb;
begin
  select p.* into v_original from delivery.deliveries o
  join delivery.deliveries p on p.tenant_id = o.tenant_id and p.id = delivery.parcel_of(o)
  where o.id = (input ->> 'original_delivery_id')::uuid;
  if not found then
    perform app.fail('delivery_not_found', '{"field": "original_delivery_id"}');
  end if;
  if v_original.status <> 'delivered' or v_original.delivery_flow in ('customer_return', 'operational_return') then
    perform app.fail('original_not_delivered', jsonb_build_object('field', 'original_delivery_id', 'status', v_original.status));
  end if;
  v_home := delivery.sold_from(v_original);
  v_sender := delivery.ordered_from(v_original);
  v_filled := jsonb_build_object('delivery_service_id',
    app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}');
  if input ->> 'customer_id' is null and input ->> 'institution_user_id' is null then
    v_filled := v_filled || jsonb_build_object('customer_id', v_original.customer_id, 'institution_user_id', v_original.institution_user_id);
  end if;
  if num_nonnulls(input -> 'pickup', input ->> 'pickup_address_id', input ->> 'pickup_warehouse_id') = 0 then
    v_filled := v_filled || jsonb_build_object('pickup_address_id', v_original.dropoff_address_id);
  end if;
  if num_nonnulls(input -> 'dropoff', input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') = 0 then
    if v_original.order_id is not null and v_home is null and v_sender.warehouse_id is not null and delivery.default_returns_warehouse() is not null then
      v_filled := v_filled || jsonb_build_object('dropoff_warehouse_id', delivery.default_returns_warehouse());
    elsif v_original.order_id is not null or v_mode = 'sender' then
      v_filled := v_filled || jsonb_build_object('dropoff_address_id',
        coalesce(v_home, v_sender.address_id));
    elsif v_mode = 'warehouse' then
      v_filled := v_filled || jsonb_build_object('dropoff_warehouse_id', delivery.returns_warehouse());
    else
      perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
    end if;
    -- A warehouse takes it back under its own name, as a sender under theirs.
    v_filled := v_filled || jsonb_build_object('recipient', jsonb_build_object(
      'name', coalesce(delivery.warehouse_name(v_original.tenant_id, coalesce((v_filled ->> 'dropoff_warehouse_id')::uuid, v_sender.warehouse_id)),
        delivery.person_name(coalesce(v_original.institution_user_id, v_original.customer_id))),
      'phone', case when not v_filled ? 'dropoff_warehouse_id' then v_sender.snapshot #> '{contact_info,phone}' end));
  end if;
  return jsonb_strip_nulls(v_filled) || input || jsonb_build_object('original_delivery_id', v_original.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.default_returns_warehouse()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select w.id from warehousing.warehouses w
    where w.tenant_id = app.tenant_id() and w.id::text = lower(app.settings('general', 'warehouse') ->> 'default_warehouse_id')
      and w.deleted_at is null and w.status in ('active', 'full'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_refund jsonb;
  v_waiting delivery.deliveries;
  v_return record;
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
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id)
    and (x.delivery_flow in ('standard', 'pnd_outbound') or x.delivery_flow = 'customer_return' and not warehousing.return_is_lost(x))
    and x.status in ('pending', 'assigned', 'accepted') and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  if found then
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, input);
    v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    perform storefront.orders_settle();
    return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', delivery.delivery_to_json(v_return.id));
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
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
  v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_operational_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  end if;
  v_made := delivery.operational_return_make(d, input);
  perform delivery.operational_return_shelve(v_made.id, v_made.picks);
  return delivery.delivery_created_to_json(v_made.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_returned_in_part(parcel uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.deliveries r
    join delivery.delivery_items x on x.tenant_id = r.tenant_id and x.delivery_id = r.id and x.returned_item_id is not null
    where r.tenant_id = app.tenant_id() and r.original_delivery_id = parcel and r.returns_part and delivery.return_counts(r));
end $function$;

CREATE OR REPLACE FUNCTION delivery.operational_return_of(p delivery.deliveries, input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  -- A warehouse takes it back under its own name, as somebody's door under theirs.
  n.recipient := jsonb_strip_nulls(jsonb_build_object('name', coalesce(delivery.warehouse_name(n.tenant_id, v_to.warehouse_id),
    delivery.person_name(coalesce(n.institution_user_id, n.customer_id)), app.localized(v_to.snapshot -> 'title')),
    'phone', v_to.snapshot #>> '{contact_info,phone}'));
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.original_of(d delivery.deliveries)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  o delivery.deliveries;
begin
  select * into o from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = d.original_delivery_id;
  return o;
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
    (1, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at)
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

CREATE OR REPLACE FUNCTION delivery.parcel_at(parcel uuid, warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_parcels uuid[] := parcel || array(
    select o.id from delivery.deliveries r
    join delivery.deliveries o on o.tenant_id = r.tenant_id and o.id = r.original_delivery_id
    -- The rest of a parcel that was delivered in part is not the parcel.
    where r.tenant_id = v_tenant and r.id = parcel and r.delivery_flow = 'operational_return'
      and (o.status <> 'delivered' or delivery.return_has_ended(o)));
begin
  update delivery.deliveries d set current_warehouse_id = warehouse
  where d.tenant_id = v_tenant and (d.id = any (v_parcels) or d.parent_id = any (v_parcels)) and d.current_warehouse_id is distinct from warehouse;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_ends_in(p delivery.deliveries, to_address uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if to_address = p.dropoff_address_id then
    return delivery.ends_in(p);
  elsif p.delivery_flow <> 'customer_return' then
    return null;
  end if;
  return coalesce(case when not p.made_at_door then delivery.sold_in(p.original_delivery_id, to_address) end, (
    select w.id from warehousing.warehouses w
    where w.tenant_id = p.tenant_id and w.id = delivery.default_returns_warehouse() and w.address_id = to_address
      and delivery.return_destination_mode() = 'warehouse' and (p.made_at_door or not delivery.is_of_order(p.original_delivery_id))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_write(p delivery.deliveries, to_address uuid, priced delivery.deliveries, recipient jsonb, unassigned uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_place jsonb;
  v_ends_in uuid := delivery.redirect_ends_in(p, to_address);
  v_family uuid[] := p.id || array(select l.id from delivery.deliveries l where l.tenant_id = v_tenant and l.parent_id = p.id);
begin
  select to_jsonb(a) into strict v_place from delivery.addresses x join delivery.addresses_list a on a.id = x.id
  where x.tenant_id = v_tenant and x.id = to_address;
  perform from delivery.drivers r
  where r.tenant_id = v_tenant and r.user_id in (
    select a.driver_id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned))
  order by r.user_id for no key update;
  perform delivery.assignments_return(unassigned, 'redirected');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select a.tenant_id, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', a.delivery_id)
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned) and a.driver_id is distinct from app.user_id();
  update delivery.deliveries x set
    dropoff_address_id = to_address,
    dropoff_snapshot = v_place,
    dropoff_zone_id = (v_place ->> 'zone_id')::uuid,
    recipient = case when jsonb_typeof(redirect_write.recipient) = 'object' then redirect_write.recipient else x.recipient end,
    delivery_fee = priced.delivery_fee,
    service_snapshot = priced.service_snapshot,
    distance_km = priced.distance_km,
    -- A transfer to another warehouse on the way stays.
    dropoff_warehouse_id = case when x.transfer_kind is null then v_ends_in else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then v_ends_in end,
    label_outdated = true
  where x.tenant_id = v_tenant and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  if p.manifest_item_id is not null then
    update delivery.transfer_manifest_items i set destination_branch_id = null, destination_address_id = to_address
    where i.tenant_id = v_tenant and i.id = p.manifest_item_id;
    perform delivery.manifest_event_add(p.manifest_id, 'destination_changed', jsonb_build_object('delivery_id', p.id,
      'delivery_code', p.delivery_code, 'destination_branch_id', null, 'destination_address_id', to_address,
      'delivery_service_id', p.delivery_service_id, 'price_difference', priced.delivery_fee - p.delivery_fee), p.manifest_item_id);
  end if;
  perform delivery.drivers_notify(array[p.id]);
  perform delivery.routes_remeasure(v_family);
  -- The driver did not refuse it, and the office has not taken it in hand: the search for another one begins anew.
  if unassigned <> '{}' and (delivery.auto_assignment_settings()).enabled and delivery.is_auto_assignable(p) then
    perform delivery.searches_begin(array[p.id]);
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected',
    'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'previous_address_id', p.dropoff_address_id, 'dropoff_address_id', to_address, 'dropoff_zone_id', v_place -> 'zone_id',
      'delivery_fee', priced.delivery_fee, 'price_difference', priced.delivery_fee - p.delivery_fee, 'currency', p.currency,
      'driver_unassigned', unassigned <> '{}', 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_counts(r delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case
    when r.status = 'cancelled' then r.current_warehouse_id is not null and (r.delivery_flow = 'customer_return' or r.made_at_door)
    when r.status = 'returned' and r.delivery_flow = 'customer_return' then r.current_warehouse_id is not null or exists (
      select from warehousing.receiving_orders n
      join warehousing.receiving_order_items i on i.tenant_id = n.tenant_id and i.receiving_order_id = n.id
      join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
      where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'received')
    else true end;
end $function$;

-- Returns of a store's goods that a redirect has sent away and back, and are not over: they end in the warehouse again.
update delivery.deliveries r set dropoff_warehouse_id = w.id
from storefront.storefront_order_parts p
join warehousing.warehouses w on w.tenant_id = p.tenant_id and w.id = p.warehouse_id and w.deleted_at is null
where p.tenant_id = r.tenant_id and p.delivery_id = r.original_delivery_id and p.picking_order_id is not null
  and w.address_id = r.dropoff_address_id and r.dropoff_warehouse_id is null and r.transfer_kind is null
  and r.delivery_flow = 'customer_return' and not r.made_at_door and r.status not in ('delivered', 'returned', 'cancelled');

REVOKE ALL ON FUNCTION "delivery"."return_counts"(delivery.deliveries) FROM "barid_caller";

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
    warehouse_id := (input ->> 'dropoff_warehouse_id')::uuid;
    address_id := (input ->> 'dropoff_address_id')::uuid;
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

CREATE OR REPLACE FUNCTION delivery.return_has_ended(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return d.delivery_flow = 'operational_return' and d.status = 'delivered' or d.delivery_flow = 'customer_return' and d.status in ('delivered', 'returned');
end $function$;

CREATE OR REPLACE FUNCTION delivery.returned_units()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (
      select from (select distinct n.tenant_id, n.returned_item_id from new_rows n where n.returned_item_id is not null) n
      join delivery.delivery_items i on i.tenant_id = n.tenant_id and i.id = n.returned_item_id
      where i.quantity < (
          select sum(x.quantity) from delivery.delivery_items x
          join delivery.deliveries r on r.tenant_id = x.tenant_id and r.id = x.delivery_id
          where x.tenant_id = i.tenant_id and x.returned_item_id = i.id and delivery.return_counts(r))
        or exists (select from delivery.deliveries r where r.tenant_id = i.tenant_id and r.original_delivery_id = i.delivery_id
          and not r.returns_part and delivery.return_counts(r))) then
    perform app.fail('return_already_exists');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.returned_whole()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (
      select from new_rows n
      join delivery.deliveries r on r.tenant_id = n.tenant_id and r.original_delivery_id = n.original_delivery_id and r.id <> n.id
      where n.original_delivery_id is not null and not n.returns_part and delivery.return_counts(r)
        and not (n.delivery_flow = 'operational_return' and r.delivery_flow = 'operational_return' and r.status = 'delivered')
        and (not r.returns_part or exists (
        select from delivery.delivery_items x where x.tenant_id = r.tenant_id and x.delivery_id = r.id and x.returned_item_id is not null))) then
    perform app.fail('return_already_exists');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.returns_warehouse()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(delivery.default_returns_warehouse(), app.refuse('return_destination_required', '{"field": "dropoff_warehouse_id"}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.stops_at(d delivery.deliveries, warehouse uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return warehouse is not null and (delivery.returns_from_door(d) or d.delivery_flow = 'customer_return' or d.delivery_flow = 'standard' and d.order_id is null
    and warehouse is distinct from (delivery.ordered_from(d)).warehouse_id and warehouse is distinct from delivery.ends_in(d));
end $function$;

CREATE OR REPLACE FUNCTION delivery.units_to_return(parcel uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  if exists (select from delivery.deliveries r
      where r.tenant_id = v_tenant and r.original_delivery_id = parcel and not r.returns_part and delivery.return_counts(r)) then
    return null;
  end if;
  return (
    select coalesce(jsonb_agg(jsonb_build_object('name', i.name, 'quantity', i.quantity - c.back, 'weight', i.weight, 'length', i.length,
      'width', i.width, 'height', i.height, 'returned_item_id', i.id) order by i.position) filter (where c.back < i.quantity), '[]')
    from delivery.delivery_items i
    cross join lateral (
      select coalesce(sum(x.quantity), 0)::bigint as back from delivery.delivery_items x
      join delivery.deliveries r on r.tenant_id = x.tenant_id and r.id = x.delivery_id
      where x.tenant_id = v_tenant and x.returned_item_id = i.id and delivery.return_counts(r)) c
    where i.tenant_id = v_tenant and i.delivery_id = parcel);
end $function$;

CREATE OR REPLACE FUNCTION delivery.was_sent_back_here(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.deliveries r
    where r.tenant_id = d.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.delivery_flow = 'operational_return'
      and r.status = 'delivered' and not r.returns_part and r.current_warehouse_id = d.current_warehouse_id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_after_deliveries_moved()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_moved record;
  o storefront.storefront_orders;
begin
  for v_moved in
    select n.id, n.order_id, n.status, w.status as was, n.tenant_id, n.carrier_type from new_rows n join old_rows w on w.id = n.id
    where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit', 'delivered', 'returned', 'cancelled')
    order by n.order_id, n.id
  loop
    select * into o from storefront.storefront_orders x where x.tenant_id = v_moved.tenant_id and x.id = v_moved.order_id for no key update;
    if v_moved.status in ('picked_up', 'in_transit', 'delivered') then
      perform storefront.order_part_leaves(p, v_moved.carrier_type = 'external')
      from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = v_moved.id;
      if o.status in ('approved', 'confirmed') then
        perform storefront.order_shipped(o);
        o.status := 'shipped';
      end if;
    end if;
    if v_moved.was = 'returned' then
      perform storefront.order_fee_comes_back(o, v_moved.id);
    elsif v_moved.status in ('returned', 'cancelled') then
      perform storefront.order_fee_passes(o, v_moved.id);
    end if;
    -- Undone.
    if v_moved.was = 'delivered' or v_moved.was = 'returned' and o.status = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
  end loop;
  -- Goods that were sent back are received when their parcel is back, whatever becomes of the rest of the order.
  for v_moved in
    select p.order_id from new_rows n join old_rows w on w.id = n.id
    join delivery.deliveries p on p.tenant_id = n.tenant_id and p.id = n.original_delivery_id
    where n.delivery_flow = 'operational_return' and n.status = 'delivered' and w.status <> 'delivered' and p.order_id is not null
    order by p.order_id
  loop
    perform from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = v_moved.order_id for no key update;
    perform storefront.order_goods_expect(v_moved.order_id);
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.brings_goods_back(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return d.delivery_flow = 'operational_return' and exists (
    select from storefront.storefront_order_parts p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.original_delivery_id and p.picking_order_id is not null and p.left_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_arrives(p_delivery uuid, p_warehouse uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_order uuid;
  r warehousing.receiving_orders;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  if d.status = 'delivered' and warehousing.brings_goods_back(d) then
    perform delivery.originals_come_back(array[d.original_delivery_id]);
    return null;
  end if;
  v_order := warehousing.receipt_open(d, p_warehouse, 'inbound');
  select * into strict r from warehousing.receiving_orders x where x.tenant_id = d.tenant_id and x.id = v_order;
  if not app.boolean_or(app.settings('general', 'warehouse') -> 'handoff_required', false)
      and warehousing.default_receiving_bin(p_warehouse) is not null and not warehousing.receipt_is_of_goods(r) then
    perform warehousing.receipt_take(v_order, null, null);
  end if;
  return v_order;
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
    select x.id, (delivery.ends_in(x) is not distinct from warehouse
        or x.dropoff_address_id = v_here.id and (x.dropoff_warehouse_id is not distinct from warehouse or warehousing.brings_goods_back(x)))
      and c.cod + c.delivery_fee = 0 as ends
    from delivery.deliveries x cross join lateral money.cash_due(x, 'dropoff') c
    where x.tenant_id = v_tenant
      and ((x.id = any (parcels) and x.delivery_flow <> 'pnd_parent') or (x.parent_id = any (parcels) and x.delivery_flow = 'pnd_outbound'))
  ) e
  where d.tenant_id = v_tenant and d.id = e.id and d.status = 'in_transit';
  -- Goods that a customer sent back, or that came back to their store, end here as goods, not as a parcel: staff unpack them.
  perform warehousing.receipt_open(d, warehouse, 'inbound') from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.delivery_flow = 'customer_return' and d.status = 'delivered'
    and exists (select from warehousing.goods_sent_back(d));
  perform delivery.parcel_at(d.id, null) from delivery.deliveries d
  where d.tenant_id = v_tenant and d.id = any (parcels) and d.status = 'delivered' and warehousing.brings_goods_back(d);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_take(p_order uuid, details jsonb, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r warehousing.receiving_orders;
  d delivery.deliveries;
begin
  select * into strict r from warehousing.receiving_orders o where o.tenant_id = app.tenant_id() and o.id = p_order for no key update;
  perform delivery.lock_driver(a.driver_id) from delivery.assignments a
  where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.receipt_fill(r, details);
  update warehousing.receiving_orders o set status = 'received', custody = 'in_warehouse', received_at = clock_timestamp(),
    received_by = app.user_id(), notes = coalesce(receipt_take.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if found then
    perform warehousing.parcel_received(d, r);
    -- Its fee, and what was paid for the order that it ends: wallets before stock, as everywhere.
    perform storefront.orders_settle();
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'warehouse_id', r.warehouse_id, 'bin_id', p.bin_id, 'quantity', p.quantity,
      'status', p.status, 'lot_number', p.lot_number, 'serial_number', p.serial_number))
    from warehousing.receipt_pieces(r) p
    -- A store's parcel that is back is expected as goods.
    where not exists (select from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id and x.status = 'delivered'
      and warehousing.brings_goods_back(x))),
    'receive', 'receiving_order', r.id);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'receiving_order.received', 'source_module', 'warehousing',
    'entity_type', 'receiving_order', 'entity_id', r.id, 'event_data', jsonb_build_object('receiving_order_id', r.id,
      'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id, 'source', r.source,
      'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.return_is_lost(r delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(r.tenant_id);
  return r.current_warehouse_id is not null
    and not exists (select from warehousing.receiving_orders n where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'pending')
    and not exists (
      select from delivery.delivery_items i
      join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.item_id and s.warehouse_id = r.current_warehouse_id and s.quantity > 0
      where i.tenant_id = r.tenant_id and i.delivery_id = r.id)
    and (exists (select from warehousing.receiving_orders n
        where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.warehouse_id = r.current_warehouse_id and n.status = 'received')
      or exists (
        select from delivery.delivery_items i
        join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.item_id and s.warehouse_id = r.current_warehouse_id
        where i.tenant_id = r.tenant_id and i.delivery_id = r.id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.return_shelved(p_return uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r delivery.deliveries;
  o delivery.deliveries;
  v_receipt uuid;
begin
  select * into strict r from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_return;
  select * into strict o from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.original_delivery_id;
  if o.delivery_flow not in ('standard', 'customer_return')
    or (o.order_id is null and exists (select from delivery.delivery_items i
      where i.tenant_id = r.tenant_id and i.delivery_id = r.id and warehousing.units_available(i.item_id, r.current_warehouse_id) > 0))
    -- Received here, and less than all of it came.
    or exists (select from warehousing.receiving_orders n
      where n.tenant_id = r.tenant_id and n.delivery_id = o.id and n.warehouse_id = r.current_warehouse_id and n.status = 'received'
        and n.received_at > coalesce(o.picked_up_at, '-infinity')) then
    return;
  end if;
  if o.order_id is null then
    perform warehousing.parcel_items_known(o.id);
  end if;
  update delivery.delivery_items i set item_id = (
    select k.id from delivery.delivery_items x
    join warehousing.inventory_items k on k.tenant_id = x.tenant_id and k.id = x.item_id and k.parcel_delivery_id = o.id
    where x.tenant_id = i.tenant_id and x.delivery_id = o.id and x.position = i.position)
  where i.tenant_id = r.tenant_id and i.delivery_id = r.id;
  v_receipt := warehousing.receipt_open(r, r.current_warehouse_id, 'inbound');
  if warehousing.default_receiving_bin(r.current_warehouse_id) is not null then
    perform warehousing.receipt_take(v_receipt, null, null);
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
  perform delivery.returned_fees_refund(parcels);
  perform storefront.orders_settle();
  perform warehousing.stock_receive(v_lines, 'transfer_in', 'waybill', w.id);
end $function$;

CREATE TRIGGER order_keeps_its_beginning BEFORE UPDATE OF pickup_address_id ON delivery.deliveries FOR EACH ROW WHEN (((old.delivery_flow = ANY (ARRAY['standard'::text, 'customer_return'::text])) AND (old.status <> 'draft'::text) AND (old.ordered_from_address_id IS NULL) AND (old.pickup_address_id <> new.pickup_address_id) AND ((new.pickup_warehouse_id IS NULL) OR (new.pickup_warehouse_id IS DISTINCT FROM old.pickup_warehouse_id)))) EXECUTE FUNCTION delivery.order_keeps_its_beginning();

REVOKE ALL ON FUNCTION "delivery"."default_returns_warehouse"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."default_returns_warehouse"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."original_of"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."original_of"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_ends_in"(delivery.deliveries, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_ends_in"(delivery.deliveries, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_counts"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."return_has_ended"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_has_ended"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."was_sent_back_here"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."was_sent_back_here"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."brings_goods_back"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."brings_goods_back"(delivery.deliveries) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126193108';
end $$;

grant execute on function private.schema_version() to barid_api;
