-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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
  if not app.has_permission('manage:operations:tenant') and (delivery.was_picked_up(p) or delivery.draft_travels(p)) then
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
  perform delivery.require_carried_in_one(d.delivery_flow, d.carrier_type);
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
  v_draft delivery.deliveries;
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
  select * into v_draft from delivery.deliveries x where x.id = (input ->> 'draft_id')::uuid;
  perform delivery.require_carrier_of_office(d, v_draft);
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input || jsonb_build_object('agreed_km',
    delivery.draft_km_kept(v_draft, input, v_from, v_to)), v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  if t.pickup_address_id <> d.pickup_address_id and (delivery.waiting_on_its_way(d)).id is not null then
    perform app.fail('delivery_already_ordered', jsonb_build_object('field', case when v_terms ? 'pickup_address_id' then 'pickup_address_id'
      when v_terms ? 'pickup_warehouse_id' then 'pickup_warehouse_id' else 'pickup' end, 'text_key', 'reason_draft_lies_elsewhere'));
  end if;
  perform delivery.delivery_rewrite(d, t, v_terms);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_terms(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201094309';
end $$;

grant execute on function private.schema_version() to barid_api;
