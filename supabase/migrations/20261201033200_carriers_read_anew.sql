-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.amount_change_apply(change_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  c delivery.amount_changes;
  d delivery.deliveries;
begin
  select * into strict c from delivery.amount_changes x where x.tenant_id = app.tenant_id() and x.id = change_id and x.status = 'approved';
  update delivery.deliveries x set cod_amount = c.new_cod_amount, ordered_cod_amount = coalesce(x.ordered_cod_amount, x.cod_amount),
    label_outdated = true
  where x.tenant_id = c.tenant_id and x.id = c.delivery_id
  returning * into strict d;
  update delivery.deliveries x set label_outdated = true where x.tenant_id = c.tenant_id and x.parent_id = c.delivery_id;
  perform delivery.change_announce(array[c.delivery_id], '{amount}');
  -- A carrier that has brought it back would fetch it again for the amount of before.
  perform integration.shipments_end(c.delivery_id || array(
    select l.id from delivery.deliveries l where l.tenant_id = c.tenant_id and l.parent_id = c.delivery_id));
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.amount_changed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'amount_change_id', c.id, 'old_cod_amount', c.old_cod_amount, 'new_cod_amount', c.new_cod_amount, 'currency', c.currency,
      'reason', c.reason, 'requested_by', c.requested_by, 'actor_id', app.user_id()))));
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
    -- Nor does a carrier come for it.
    perform integration.shipments_withdraw(array[d.id]);
  end if;
  v_made := delivery.operational_return_make(d, input);
  perform delivery.operational_return_shelve(v_made.id, v_made.picks);
  return delivery.delivery_created_to_json(v_made.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_sent_back(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return delivery.return_under_way(delivery.parcel_of(d)) is not null or d.status = 'returned' and exists (
    select from delivery.deliveries r
    where r.tenant_id = d.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.delivery_flow = 'operational_return'
      and r.status = 'delivered');
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
  select a.tenant_id, a.driver_id, 'assignment_returned', delivery.return_noted(a.tenant_id, a.id, a.delivery_id, 'redirected')
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned) and a.driver_id is distinct from app.user_id();
  update delivery.deliveries x set
    dropoff_address_id = to_address,
    dropoff_snapshot = v_place,
    dropoff_zone_id = (v_place ->> 'zone_id')::uuid,
    recipient = case when jsonb_typeof(redirect_write.recipient) = 'object' then delivery.recipient_corrected(x.recipient, redirect_write.recipient)
      else x.recipient end,
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
  perform delivery.change_announce(array[p.id], array_remove(array['place',
    case when jsonb_typeof(redirect_write.recipient) = 'object'
      and delivery.recipient_corrected(p.recipient, redirect_write.recipient) <> p.recipient then 'recipient' end,
    case when priced.delivery_fee <> p.delivery_fee then 'amount' end], null));
  perform delivery.routes_remeasure(v_family);
  -- A carrier that has brought it back would bring it to the place of before.
  perform integration.shipments_end(v_family);
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

CREATE OR REPLACE FUNCTION integration.cancel_claim(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s integration.carrier_shipments;
begin
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = d.tenant_id and t.delivery_id = d.id and t.status <> 'cancelled' for update;
  if not found then
    perform app.fail('shipment_not_found');
  elsif s.status in ('booking', 'cancelling') and integration.claim_holds(s) then
    perform app.fail('shipment_in_progress');
  elsif d.status not in ('pending', 'assigned', 'accepted', 'cancelled') and not delivery.is_sent_back(d) then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  end if;
  update integration.carrier_shipments t set status = 'cancelling', claim_token = gen_random_uuid(), claimed_at = now()
  where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'carrier_code', s.carrier_code,
    'tracking_number', s.tracking_number, 'carrier_reference', s.carrier_reference,
    'credentials', (select k.credentials from integration.tenant_carriers k
      where k.tenant_id = s.tenant_id and k.carrier_code = s.carrier_code));
end $function$;

CREATE OR REPLACE FUNCTION integration.carrier_brings_back(d delivery.deliveries, home uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if home is not null or delivery.returns_to_warehouse(d) then
    perform warehousing.receipt_expect(d.id, home, true);
  end if;
  if home is null and not delivery.leaves_warehouse(d) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "integration"."carrier_brings_back"(delivery.deliveries, uuid) FROM "barid_caller";

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
  -- It lies with us and goes back to its sender, or is there again: whatever the carrier has in hand, it is not this parcel.
  if v_status <> 'cancelled' and d.id is not null and delivery.is_sent_back(d) then
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
    if v_status = 'returned' then
      perform integration.carrier_brings_back(d, v_home);
    end if;
    if v_status = 'delivered' then
      perform integration.carrier_delivers(s, d);
    end if;
    if v_status in ('delivered', 'returned') then
      -- As what a driver brings back.
      perform delivery.returned_fees_refund_as(array[d.id], jsonb_build_object('event_type', 'carrier_return.refund_due',
        'source_module', 'carriers', 'event_data', jsonb_build_object('carrier_code', carrier_code)));
    end if;
    -- The first news that it has the parcel, whatever came of it since.
    if d.status in ('pending', 'assigned', 'accepted') and v_status <> 'cancelled' then
      perform delivery.carrier_takes(d);
    end if;
    if v_status = 'delivered' and delivery.ends_in(d) is not null then
      perform warehousing.parcel_arrives(d.id, delivery.ends_in(d));
    end if;
  end if;
  insert into integration.carrier_events (tenant_id, carrier_code, carrier_event_id, tracking_number, carrier_status, delivery_id, outcome)
  values (tenant_id, carrier_code, report ->> 'event_id', report ->> 'tracking_number', report ->> 'carrier_status', d.id, v_outcome)
  on conflict on constraint carrier_event_once do nothing;
  v_duplicate := not found;
  if not v_duplicate and d.status = 'cancelled' and v_outcome <> 'too_late' then
    perform integration.cancelled_is_carried(s, d, v_status);
  end if;
  if not v_duplicate and v_status = 'delivered' and s.cash_due > 0 and d.status <> 'delivered' and v_outcome <> 'applied' then
    insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (tenant_id, 'carrier_cash.unbooked', 'carriers', 'delivery', d.id, jsonb_build_object('delivery_id', d.id,
      'shipment_id', s.id, 'carrier_code', carrier_code, 'amount', s.cash_due, 'currency', d.currency, 'status', d.status,
      'outcome', v_outcome));
  end if;
  return jsonb_build_object('outcome', v_outcome, 'duplicate', v_duplicate);
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_answer jsonb := integration.key_claim(input);
  v_credentials text;
  d delivery.deliveries;
  c integration.carriers;
  s integration.carrier_shipments;
  v_again boolean;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer, 'remembered', true);
  end if;
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid for no key update;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  c := integration.carrier_of(input ->> 'carrier_code');
  if c.is_internal or d.carrier_type <> 'external' then
    perform app.fail('delivery_not_external');
  end if;
  select k.credentials into v_credentials from integration.tenant_carriers k
  where k.tenant_id = v_tenant and k.carrier_code = c.code and k.is_enabled;
  if not found then
    perform app.fail('carrier_not_enabled');
  end if;
  perform integration.shipments_end(array[d.id]);
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = v_tenant and t.delivery_id = d.id and t.status <> 'cancelled' for update;
  if found then
    if s.carrier_code <> c.code then
      perform app.fail('shipment_with_other_carrier');
    elsif s.status = 'booked' then
      v_answer := integration.shipment_to_json(s);
      -- A late repetition, after a cancellation, must find this answer and book nothing.
      if input ? 'key' then
        v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
      end if;
      return jsonb_build_object('answer', v_answer);
    elsif s.status <> 'booking' or integration.claim_holds(s) then
      perform app.fail('shipment_in_progress');
    end if;
  end if;
  -- Also where an earlier booking never came back: it would be bought for a delivery that nobody sends any more.
  if d.status <> 'pending' or coalesce(d.carrier_code, c.code) <> c.code then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  elsif d.delivery_flow = 'pnd_parent' then
    perform app.fail('delivery_goes_in_legs');
  end if;
  perform delivery.require_no_return(d);
  perform storefront.require_order_picked(d.id);
  -- A carrier hands over the whole.
  perform delivery.require_amount_for_whole(delivery.parcel_terms(d));
  v_again := s.id is not null;
  if not v_again then
    insert into integration.carrier_shipments (tenant_id, delivery_id, carrier_code, cash_due)
    values (v_tenant, d.id, c.code, integration.cash_for_carrier(d, (input ->> 'collects_cash')::boolean))
    returning * into s;
  end if;
  update integration.carrier_shipments t set claim_token = gen_random_uuid(), claimed_at = now() where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'credentials', v_credentials, 'again', v_again,
    'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'recipient', d.recipient,
      'pickup', d.pickup_snapshot, 'dropoff', d.dropoff_snapshot, 'package_details', d.package_details, 'unit_size', d.unit_size,
      'cash_due', s.cash_due, 'currency', d.currency, 'notes', d.notes));
end $function$;

CREATE OR REPLACE FUNCTION integration.shipments_withdraw(deliveries uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform integration.shipments_end(deliveries);
  perform app.job_add('carriers.shipment_withdraw', jsonb_build_object('shipment_id', s.id), s.id::text)
  from integration.carrier_shipments s
  where s.tenant_id = app.tenant_id() and s.delivery_id = any (deliveries) and s.status <> 'cancelled' and delivery.booking_binds(s);
end $function$;

CREATE OR REPLACE FUNCTION integration.withdraw_begin(shipment uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  s integration.carrier_shipments;
  d delivery.deliveries;
begin
  select t.* into s from integration.carrier_shipments t where t.id = withdraw_begin.shipment;
  perform set_config('app.tenant_id', s.tenant_id::text, true);
  select t.* into d from delivery.deliveries t where t.tenant_id = s.tenant_id and t.id = s.delivery_id for no key update;
  -- Read again: what was booked or cancelled while this waited counts.
  if d.status is distinct from 'cancelled' and not delivery.is_sent_back(d) or not exists (
      select from integration.carrier_shipments t where t.id = withdraw_begin.shipment and t.status <> 'cancelled') then
    return null;
  end if;
  return integration.cancel_claim(d);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."is_sent_back"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_sent_back"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."carrier_brings_back"(delivery.deliveries, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."shipments_withdraw"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."shipments_withdraw"(uuid[]) TO "barid_caller";

-- Bookings of parcels that are sent back already, or have been: their carriers are asked to cancel.
insert into app.jobs (tenant_id, kind, payload, entity_key)
select s.tenant_id, 'carriers.shipment_withdraw', jsonb_build_object('shipment_id', s.id), s.id::text
from integration.carrier_shipments s
join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status in ('pending', 'returned')
where s.status <> 'cancelled' and exists (
    select from delivery.deliveries r
    where r.tenant_id = d.tenant_id and r.original_delivery_id = coalesce(d.parent_id, d.id) and r.delivery_flow = 'operational_return'
      and r.status <> 'cancelled')
  and not exists (
    select from warehousing.receiving_orders n
    where n.tenant_id = s.tenant_id and n.delivery_id = s.delivery_id and n.status = 'received' and n.source <> 'inbound' and n.received_at > s.booked_at)
order by s.id;

-- Second legs whose first leg a carrier has brought back to the sender: nothing follows it.
-- Company by company, by the index of statuses: drafts are few.
update delivery.deliveries b set status = 'cancelled', status_reason = n.status_reason
from (
  select x.id, a.status_reason from tenancy.tenants t
  join delivery.deliveries x on x.tenant_id = t.id and x.status = 'draft' and x.delivery_flow = 'pnd_outbound'
  join delivery.deliveries a on a.tenant_id = x.tenant_id and a.parent_id = x.parent_id and a.delivery_flow = 'pnd_inbound' and a.status = 'returned'
  offset 0) n
where b.id = n.id;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201033200';
end $$;

grant execute on function private.schema_version() to barid_api;
