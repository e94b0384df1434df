-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.amount_agreed(parcel uuid, before timestamp with time zone DEFAULT 'infinity'::timestamp with time zone)
 RETURNS delivery.amount_changes
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  c delivery.amount_changes;
begin
  select * into c from delivery.amount_changes x
  where x.tenant_id = app.tenant_id() and x.delivery_id = parcel and x.status = 'approved' and x.decided_at < before
  order by x.decided_at desc, x.id desc limit 1;
  return c;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_changes_lapse()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not exists (select from new_rows n where n.parent_id is null and n.status in ('delivered', 'cancelled', 'returned')) then
    return null;
  end if;
  update delivery.amount_changes c set status = 'lapsed', decided_at = clock_timestamp()
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null and c.tenant_id = n.tenant_id and c.delivery_id = n.id and c.status = 'pending'
    and (n.status in ('delivered', 'cancelled') or n.status = 'returned' and (n.delivery_flow <> 'pnd_parent' or exists (
      select from delivery.deliveries l
      where l.tenant_id = n.tenant_id and l.parent_id = n.id and l.delivery_flow = 'pnd_inbound' and l.status = 'returned') or exists (
      select from delivery.deliveries r
      where r.tenant_id = n.tenant_id and r.original_delivery_id = n.id and r.delivery_flow = 'operational_return' and r.status <> 'cancelled')));
  return null;
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
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', v_field));
  end if;
  perform delivery.require_delivery_window(
    case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else p.deliver_after end,
    case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else p.deliver_before end);
  perform delivery.delivery_corrected(p.id, input);
  return delivery.delivery_created_to_json(p.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.has_ended(p delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(p.tenant_id);
  return p.status in ('delivered', 'cancelled') or p.status = 'returned' and not (p.delivery_flow = 'pnd_parent' and exists (
    select from delivery.deliveries l
    join warehousing.receiving_orders r on r.tenant_id = l.tenant_id and r.delivery_id = l.id and r.status = 'pending'
    where l.tenant_id = p.tenant_id and l.parent_id = p.id and l.delivery_flow = 'pnd_outbound' and l.status = 'returned'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_undo(parcel uuid, o delivery.outcomes, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  c delivery.amount_changes;
begin
  select * into c from delivery.amount_changes x
  where x.tenant_id = app.tenant_id() and x.delivery_id = kept_amount_undo.parcel and x.status = 'approved'
    -- Outcomes that do not name their change are older than the naming: it is the first one since.
    and case when o.before ? 'amount_change_id' then x.id = (o.before ->> 'amount_change_id')::uuid else x.decided_at >= o.created_at end
  order by x.decided_at limit 1;
  if found then
    select * into strict p from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = kept_amount_undo.parcel;
    perform delivery.kept_amount_write(p, c.old_cod_amount, (delivery.amount_agreed(p.id, c.decided_at)).kept_items, p_reason);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_items_agreed(parcel uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (delivery.amount_agreed(parcel)).kept_items;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_terms(p delivery.deliveries, to_address delivery.addresses, charge_wallet boolean, OUT priced delivery.deliveries, OUT charged text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_from record := delivery.priced_from(p);
  v_start delivery.addresses;
  v_taken boolean := money.delivery_fee_taken(p.id);
begin
  if p.made_at_door then
    priced := p;
    charged := 'none';
    return;
  end if;
  v_start.latitude := v_from.latitude;
  v_start.longitude := v_from.longitude;
  priced := delivery.delivery_priced(p, jsonb_build_object('delivery_service_id', p.delivery_service_id, 'unit_size', p.unit_size,
    'delivery_fee', p.delivery_fee, 'package_field', 'dropoff_address_id', 'service_field', 'dropoff_address_id',
    'dropoff_field', 'dropoff_address'), v_start, to_address);
  if p.order_id is not null or to_address.id = p.dropoff_address_id or (v_taken and not charge_wallet) then
    priced.delivery_fee := p.delivery_fee;
    priced.service_snapshot := p.service_snapshot;
  end if;
  charged := case when priced.delivery_fee = p.delivery_fee then 'none' when p.payment_method = 'wallet' or v_taken then 'wallet' else 'cash' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_way_missing(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_from record;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found or d.made_at_door then
    return null;
  end if;
  v_from := delivery.priced_from(delivery.parcel_terms(d));
  return delivery.road_distance_missing((input - 'id') || jsonb_build_object('pickup',
    jsonb_build_object('latitude', v_from.latitude, 'longitude', v_from.longitude)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_amount_for_whole(p delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  c delivery.amount_changes;
begin
  -- Its amount is as it was ordered: most parcels.
  if p.ordered_cod_amount is null then
    return;
  end if;
  c := delivery.amount_agreed(p.id);
  if c.kept_items is not null and not delivery.shipment_lives(p.id) then
    perform app.fail('amount_is_for_part', jsonb_build_object('change_id', c.id, 'kept_items', c.kept_items,
      'cod_amount', c.new_cod_amount, 'currency', c.currency));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_changeable(p delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if p.status = 'draft' then
    perform app.fail('delivery_is_draft');
  elsif delivery.has_ended(p) then
    perform app.fail('delivery_ended', jsonb_build_object('status', p.status));
  elsif p.delivery_flow = 'operational_return' then
    perform app.fail('operational_return_fixed');
  elsif delivery.shipment_lives(p.id) then
    perform app.fail('shipment_booked');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_new_amount(p delivery.deliveries, role text, amount numeric, for_part boolean)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_decimals integer := money.decimals_of(p.currency);
begin
  if p.order_id is not null then
    perform app.fail('order_amount_fixed');
  end if;
  perform delivery.require_changeable(p);
  if p.made_at_door then
    perform app.fail('operational_return_fixed', '{"text_key": "return_from_door_is_free"}');
  elsif amount <> round(amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', p.currency, 'decimals', v_decimals));
  elsif amount > 0 and coalesce(p.institution_user_id, p.customer_id) is null then
    perform app.fail('customer_required_for_cod', '{"field": "cod_amount"}');
  elsif role = 'owner' and amount > p.cod_amount and delivery.was_picked_up(p) then
    perform app.fail('amount_may_only_fall', jsonb_build_object('field', 'cod_amount', 'cod_amount', p.cod_amount));
  elsif amount = p.cod_amount and not for_part and delivery.kept_items_agreed(p.id) is null then
    perform app.fail('amount_unchanged', jsonb_build_object('field', 'cod_amount', 'cod_amount', p.cod_amount));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.cash_for_carrier(d delivery.deliveries, collects_cash boolean)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_door record := money.cash_due(v_parcel, 'dropoff');
  v_due numeric := case when d.delivery_flow = 'pnd_inbound' then 0 else v_door.cod + v_door.delivery_fee end;
  v_pickup record;
begin
  if v_due > 0 and not collects_cash then
    perform app.fail('carrier_collects_no_cash', jsonb_build_object('amount', v_due, 'currency', v_parcel.currency));
  end if;
  v_parcel.delivery_fee := v_parcel.delivery_fee - money.delivery_fee_borne(v_parcel.id);
  v_pickup := money.cash_due(v_parcel, 'pickup');
  if v_pickup.cod + v_pickup.delivery_fee > 0 and not exists (
      select from money.cod_collections x
      where x.tenant_id = v_parcel.tenant_id and x.delivery_id = v_parcel.id and x.collection_stage = 'pickup' and x.reversed_at is null) then
    perform app.fail('sender_cash_not_collected', jsonb_build_object('amount', v_pickup.cod + v_pickup.delivery_fee, 'currency', v_parcel.currency));
  end if;
  return v_due;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_collected(p_parcel uuid, p_stage text, p_driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_due record;
  v_row uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_parcel;
  if p_stage = 'pickup' then
    d.delivery_fee := d.delivery_fee - money.delivery_fee_borne(d.id);
  end if;
  v_due := money.cash_due(d, p_stage);
  if v_due.cod + v_due.delivery_fee = 0 then
    return;
  end if;
  insert into money.cod_collections (tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
    currency, collected_at, delivery_code, delivery_number, leg_codes, external_reference_id, customer_name, delivery_address, receiver_name)
  values (d.tenant_id, d.id, p_driver, p_stage, v_due.cod + v_due.delivery_fee, v_due.cod, v_due.delivery_fee, d.currency,
    now(), d.delivery_code, d.delivery_code::text, (
      select coalesce(jsonb_agg(l.delivery_code order by l.sequence_plan), '[]') from delivery.deliveries l
      where l.tenant_id = d.tenant_id and l.parent_id = d.id),
    d.external_reference_id, money.payer_name(d), coalesce(d.dropoff_snapshot ->> 'full_address', ''), coalesce(d.recipient ->> 'name', ''))
  on conflict (tenant_id, delivery_id, collection_stage) where reversed_at is null do nothing
  returning id into v_row;
  if v_row is not null then
    perform money.cash_book(d, p_stage, 'cod_collection', v_row, money.account_of('driver_cash', 'driver', p_driver, d.currency::text));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_due_on(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_cod numeric := d.cod_amount;
  v_fee numeric := d.delivery_fee;
  v_by_sender boolean := d.payer_type = 'sender';
  v_in_cash boolean := d.payment_method = 'cash' or (d.payment_method = 'gateway' and d.order_id is null);
  v_no_pickup boolean;
  v_no_door boolean;
  p delivery.deliveries;
begin
  -- Of a leg the terms are those of its parcel.
  if d.parent_id is not null then
    select x.* into p from delivery.deliveries x where x.tenant_id = v_tenant and x.id = d.parent_id;
    v_cod := p.cod_amount;
    v_fee := p.delivery_fee;
    v_by_sender := p.payer_type = 'sender';
    v_in_cash := p.payment_method = 'cash' or (p.payment_method = 'gateway' and p.order_id is null);
  end if;
  if not v_in_cash then
    v_fee := 0;
  end if;
  v_no_door := d.status in ('delivered', 'cancelled') or d.delivery_flow = 'pnd_inbound' or delivery.is_transferred(d);
  v_no_pickup := d.status = 'cancelled' or v_fee = 0 or not v_by_sender;
  if not v_no_pickup then
    v_no_pickup := exists (select from money.cod_collections c
      where c.tenant_id = v_tenant and c.delivery_id = coalesce(d.parent_id, d.id) and c.collection_stage = 'pickup' and c.reversed_at is null)
    or d.delivery_flow = 'pnd_outbound' and exists (select from delivery.deliveries a
      where a.tenant_id = v_tenant and a.parent_id = d.parent_id and a.delivery_flow = 'pnd_inbound'
        and a.status in ('draft', 'pending', 'assigned', 'accepted'));
  end if;
  -- Since it was picked up a wallet may have borne a change of it.
  if not v_no_pickup and coalesce(p.picked_up_at, d.picked_up_at) is not null then
    v_fee := v_fee - money.delivery_fee_borne(coalesce(d.parent_id, d.id));
  end if;
  return jsonb_build_object(
    'pickup', jsonb_build_object('cod', 0, 'delivery_fee', case when v_no_pickup then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)),
    'delivery', jsonb_build_object('cod', case when v_no_door then 0 else v_cod end,
      'delivery_fee', case when v_by_sender or v_no_door then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)));
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_borne(p_delivery uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((select sum(p.amount) from money.payments p
    where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'), 0);
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_taken(p_delivery uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  return d.payer_type = 'sender' and d.payment_method <> 'wallet' and d.order_id is null and d.picked_up_at is not null
    or exists (select from money.payments p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
      and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS' and p.payment_method = 'cash');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."amount_agreed"(uuid, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_agreed"(uuid, timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."has_ended"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."has_ended"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_amount_for_whole"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_amount_for_whole"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."delivery_fee_borne"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."delivery_fee_borne"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126064221';
end $$;

grant execute on function private.schema_version() to barid_api;
