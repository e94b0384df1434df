-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
      set local lock_timeout = '500ms';
      lock table integration.carrier_shipments in access exclusive mode;
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

ALTER TABLE "integration"."carrier_shipments" DROP CONSTRAINT "booked_means_tracked";

ALTER TABLE "integration"."carrier_shipments" ADD COLUMN "carried_noted_at" timestamp with time zone;

CREATE OR REPLACE FUNCTION integration.bookings_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key)
  select s.tenant_id, 'carriers.shipment_withdraw', jsonb_build_object('shipment_id', s.id), s.id::text
  from integration.carrier_shipments s
  where s.tenant_id = new.tenant_id and s.delivery_id = new.id and s.status <> 'cancelled' and not exists (
    select from warehousing.receiving_orders r
    where r.tenant_id = s.tenant_id and r.delivery_id = s.delivery_id and r.status = 'received' and r.source <> 'inbound'
      and r.received_at > s.booked_at)
  order by s.id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "integration"."bookings_follow_deliveries"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.cancel_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_answer jsonb := integration.key_claim(input);
  d delivery.deliveries;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid for no key update;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  return integration.cancel_claim(d);
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
  elsif d.status not in ('pending', 'assigned', 'accepted', 'cancelled') then
    perform app.fail('delivery_not_bookable', jsonb_build_object('status', d.status));
  end if;
  update integration.carrier_shipments t set status = 'cancelling', claim_token = gen_random_uuid(), claimed_at = now()
  where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'carrier_code', s.carrier_code,
    'tracking_number', s.tracking_number, 'carrier_reference', s.carrier_reference,
    'credentials', (select k.credentials from integration.tenant_carriers k
      where k.tenant_id = s.tenant_id and k.carrier_code = s.carrier_code));
end $function$;

CREATE OR REPLACE FUNCTION integration.cancel_end(input jsonb)
 RETURNS integration.carrier_shipments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s integration.carrier_shipments;
  v_cancelled boolean := (input ->> 'cancelled')::boolean;
  v_tracking text := input #>> '{found,tracking_number}';
begin
  update integration.carrier_shipments t set
    status = case when v_cancelled then 'cancelled' when coalesce(t.tracking_number, v_tracking) is null then 'booking' else 'booked' end,
    tracking_number = coalesce(t.tracking_number, v_tracking),
    carrier_reference = coalesce(t.carrier_reference, input #>> '{found,carrier_reference}'),
    label_url = coalesce(t.label_url, input #>> '{found,label_url}'),
    booked_at = case when v_tracking is not null then coalesce(t.booked_at, now()) else t.booked_at end,
    cancelled_at = case when v_cancelled then now() end, claim_token = null, claimed_at = null
  where t.id = (input ->> 'shipment_id')::uuid and t.claim_token = (input ->> 'claim_token')::uuid
  returning t.* into s;
  if not found then
    select t.* into s from integration.carrier_shipments t where t.id = (input ->> 'shipment_id')::uuid and t.status = 'cancelled';
    if not found then
      perform app.fail('shipment_in_progress');
    end if;
    return s;
  end if;
  if v_cancelled then
    perform integration.shipment_cancelled_emit(s);
  end if;
  if (input ->> 'notify')::boolean then
    perform integration.shipment_notify('shipment_not_cancelled', s);
  end if;
  return s;
end $function$;

CREATE OR REPLACE FUNCTION integration.cancel_finish(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_answer jsonb;
  s integration.carrier_shipments;
begin
  perform integration.key_hold(input);
  s := integration.cancel_end(input);
  v_answer := integration.shipment_to_json(s);
  if input ? 'key' and s.status = 'cancelled' then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  elsif input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION integration.cancelled_is_carried(s integration.carrier_shipments, d delivery.deliveries, reported text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if reported not in ('picked_up', 'in_transit', 'delivered') or delivery.return_under_way(delivery.parcel_of(d)) is not null then
    return;
  end if;
  update integration.carrier_shipments t set carried_noted_at = now() where t.id = s.id and t.carried_noted_at is null;
  if found then
    perform integration.shipment_notify('shipment_of_cancelled', s);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "integration"."cancelled_is_carried"(integration.carrier_shipments, delivery.deliveries, text) FROM "barid_caller";

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
      perform money.carrier_cash_collected(delivery.parcel_of(d), s.id, s.carrier_code);
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

CREATE OR REPLACE FUNCTION integration.claim_holds(s integration.carrier_shipments)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(s.claimed_at > now() - interval '2 minutes', false);
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
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
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
      return jsonb_build_object('answer', integration.shipment_to_json(s));
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
  if s.id is null then
    insert into integration.carrier_shipments (tenant_id, delivery_id, carrier_code, cash_due)
    values (v_tenant, d.id, c.code, integration.cash_for_carrier(d, (input ->> 'collects_cash')::boolean))
    returning * into s;
  end if;
  update integration.carrier_shipments t set claim_token = gen_random_uuid(), claimed_at = now() where t.id = s.id returning t.* into s;
  return jsonb_build_object('shipment_id', s.id, 'claim_token', s.claim_token, 'credentials', v_credentials,
    'delivery', jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode, 'recipient', d.recipient,
      'pickup', d.pickup_snapshot, 'dropoff', d.dropoff_snapshot, 'package_details', d.package_details, 'unit_size', d.unit_size,
      'cash_due', s.cash_due, 'currency', d.currency, 'notes', d.notes));
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  s integration.carrier_shipments;
begin
  select t.* into d from delivery.deliveries t where t.id = (input ->> 'delivery_id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  select t.* into s from integration.carrier_shipments t
  where t.tenant_id = d.tenant_id and t.delivery_id = d.id order by t.status = 'cancelled', t.created_at desc limit 1;
  if not found then
    perform app.fail('shipment_not_found');
  end if;
  return integration.shipment_to_json(s);
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_notify(type text, s integration.carrier_shipments)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform tenancy.notify_tenant_admins(type, jsonb_build_object('shipment_id', s.id, 'delivery_id', s.delivery_id,
    'delivery_code', (select d.delivery_code from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id),
    'carrier_code', s.carrier_code, 'tracking_number', s.tracking_number, 'reference', coalesce(s.tracking_number, s.id::text)));
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
  if d.status is distinct from 'cancelled' or not exists (
      select from integration.carrier_shipments t where t.id = withdraw_begin.shipment and t.status <> 'cancelled') then
    return null;
  end if;
  return integration.cancel_claim(d);
end $function$;

REVOKE ALL ON FUNCTION "integration"."withdraw_begin"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.withdraw_finish(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform set_config('app.tenant_id', (select t.tenant_id::text from integration.carrier_shipments t
    where t.id = (input ->> 'shipment_id')::uuid), true);
  return integration.shipment_to_json(integration.cancel_end(input));
end $function$;

REVOKE ALL ON FUNCTION "integration"."withdraw_finish"(jsonb) FROM "barid_caller";

ALTER TABLE "integration"."carrier_shipments" ADD CONSTRAINT "booked_means_tracked" CHECK (((status <> 'booked'::text) OR (tracking_number IS NOT NULL))) NOT VALID;

CREATE VIEW "integration"."shipments_list" WITH (security_invoker=true) AS  SELECT s.id,
    s.delivery_id,
    d.delivery_code,
    d.status AS delivery_status,
    s.carrier_code,
    s.status,
    s.tracking_number,
    s.label_url,
    s.cash_due,
    d.currency,
    s.booked_at,
    s.cancelled_at,
    s.created_at
   FROM (integration.carrier_shipments s
     JOIN delivery.deliveries d ON (((d.tenant_id = s.tenant_id) AND (d.id = s.delivery_id))));

CREATE TRIGGER bookings_follow AFTER UPDATE OF status ON delivery.deliveries FOR EACH ROW WHEN (((new.status = 'cancelled'::text) AND (old.status <> 'cancelled'::text))) EXECUTE FUNCTION integration.bookings_follow_deliveries();

REVOKE ALL ON FUNCTION "integration"."bookings_follow_deliveries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."cancel_claim"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."cancel_claim"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."cancel_end"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."cancel_end"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."cancelled_is_carried"(integration.carrier_shipments, delivery.deliveries, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."claim_holds"(integration.carrier_shipments) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."claim_holds"(integration.carrier_shipments) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."shipment_get"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."shipment_get"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."shipment_notify"(text, integration.carrier_shipments) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."shipment_notify"(text, integration.carrier_shipments) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."withdraw_begin"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."withdraw_begin"(uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "integration"."withdraw_finish"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."withdraw_finish"(jsonb) TO "barid_api";

GRANT SELECT ON TABLE "integration"."shipments_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128100627';
end $$;

grant execute on function private.schema_version() to barid_api;
