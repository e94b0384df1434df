-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.carrier_checked(input jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_known integration.carriers;
begin
  if input ->> 'carrier_type' is distinct from 'external' then
    return null;
  elsif input ->> 'carrier_code' is null then
    perform app.fail('carrier_code_required', '{"field": "carrier_code"}');
  end if;
  select * into v_known from integration.carriers c where c.code = lower(input ->> 'carrier_code');
  if v_known.is_internal then
    perform app.fail('carrier_not_found', '{"field": "carrier_code"}');
  end if;
  return coalesce(v_known.code, input ->> 'carrier_code');
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_carrier(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_carrier text;
begin
  -- Under another company's hands only its name is corrected.
  perform delivery.require_move(d, case when d.carrier_type = 'external' and input ->> 'carrier_type' = 'external'
    then '{draft,pending,picked_up,in_transit}' else '{draft,pending}' end::text[], d.status);
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

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_change uuid := (input ->> 'amount_change_id')::uuid;
  v_shipment uuid;
  v_carrier text;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_off_waybill(d, a, 'delivered');
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    if input ->> 'result' is distinct from 'partial' then
      v_change := delivery.amount_at_door(v_parcel, input);
      if v_change is not null then
        v_parcel := delivery.parcel_terms(d);
        v_cash := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
      end if;
      perform delivery.require_amount_for_whole(v_parcel);
    end if;
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id, s.carrier_code into v_shipment, v_carrier from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      -- No booking asked the carrier to collect it: then operations have to say that it did.
      if not found and d.carrier_type = 'external' and coalesce(jsonb_typeof(input -> 'cash_collected'), 'null') <> 'null' then
        select c.code into v_carrier from integration.carriers c where c.code = d.carrier_code and not c.is_internal;
      end if;
      if v_carrier is null then
        perform app.fail('delivery_has_no_driver', case when d.carrier_type <> 'external' then '{}'
          when exists (select from integration.carriers c where c.code = d.carrier_code)
            then '{"text_key": "carrier_not_asked_for_cash", "field": "cash_collected"}'::jsonb
          else jsonb_build_object('text_key', 'carrier_without_account', 'field', 'cash_collected', 'carrier_code', d.carrier_code) end);
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The numbers of receipts come after its order, and before the wallets that its cash moves.
  if v_warehouse is not null then
    perform app.lock_numbers('receiving_order', true);
  elsif d.order_id is not null then
    perform storefront.lock_receipt_numbers(d.id);
  end if;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_carrier is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment, v_carrier);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), v_change);
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

CREATE OR REPLACE FUNCTION delivery.delivery_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_contents jsonb;
  v_staged boolean := coalesce((input ->> 'staged')::boolean, false);
  -- An owner's return that waits for the office is a draft until then.
  v_asked boolean := input ->> 'delivery_flow' = 'customer_return' and input ->> 'status' is distinct from 'draft' and delivery.return_needs_approval();
begin
  if input ->> 'delivery_flow' = 'customer_return' then
    -- Before it is looked at: of two returns at the same moment the second finds the first, and one beside an undo finds it undone.
    perform delivery.lock_deliveries(array[(input ->> 'original_delivery_id')::uuid]);
    input := delivery.customer_return_input(input);
    v_contents := delivery.returned_contents((input ->> 'original_delivery_id')::uuid, input -> 'return_items');
  end if;
  if v_staged then
    input := input || jsonb_build_object('warehouse_id', delivery.staging_of(input)) - '{pickup_warehouse_id,dropoff_warehouse_id}'::text[];
  end if;
  d := delivery.delivery_terms(input);
  d.original_delivery_id := (input ->> 'original_delivery_id')::uuid;
  d.status := case when v_asked then 'draft' else input ->> 'status' end;
  d.barcode := input ->> 'barcode';
  if v_staged then
    d.delivery_flow := 'pnd_parent';
    d.staging_warehouse_id := (input ->> 'warehouse_id')::uuid;
  end if;
  -- By itself: what reads in the statement that writes would not see it.
  d.returns_part := v_contents is not null;
  d.id := delivery.delivery_write(d, v_contents);
  if v_asked then
    perform delivery.return_request_ask(d.id);
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
  if v_sent ? 'recipient' then
    v_sent := v_sent || jsonb_build_object('recipient', delivery.recipient_corrected(d.recipient, input -> 'recipient'));
  end if;
  v_sent := v_old || v_sent || jsonb_build_object('delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_sent), v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.draft_ordered(d delivery.deliveries)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  t delivery.deliveries := d;
  v_from delivery.addresses;
  v_to delivery.addresses;
  v_people record;
begin
  perform app.keep_currency();
  perform delivery.require_draft_stands(d);
  perform delivery.carrier_checked(jsonb_build_object('carrier_type', d.carrier_type, 'carrier_code', d.carrier_code));
  -- One of two persons would be forbidden to name the other.
  if app.sees_tenant() or num_nonnulls(d.customer_id, d.institution_user_id) < 2 then
    v_people := delivery.delivery_people(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
      'original_delivery_id', d.original_delivery_id));
    t.customer_id := v_people.customer_id;
    t.institution_user_id := v_people.institution_user_id;
  end if;
  t.currency := (app.currency()).code;
  perform delivery.lock_service_area(d.tenant_id, false);
  -- An address that its owner alone sees is where the draft says.
  t.pickup_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.pickup_address_id), d.pickup_snapshot);
  t.dropoff_snapshot := coalesce((select to_jsonb(a) from delivery.addresses_list a where a.id = d.dropoff_address_id), d.dropoff_snapshot);
  v_from := jsonb_populate_record(null::delivery.addresses, t.pickup_snapshot);
  v_to := jsonb_populate_record(null::delivery.addresses, t.dropoff_snapshot);
  t.pickup_zone_id := v_from.zone_id;
  t.dropoff_zone_id := v_to.zone_id;
  t := delivery.delivery_priced(t, jsonb_strip_nulls(jsonb_build_object('delivery_service_id', d.delivery_service_id,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details,
    'agreed_km', delivery.draft_km(d, v_from, v_to))), v_from, v_to);
  if (t.delivery_fee, t.currency) is distinct from (d.delivery_fee, d.currency) then
    perform app.fail('delivery_price_changed', jsonb_build_object('price_before', d.delivery_fee, 'price_after', t.delivery_fee,
      'currency', t.currency));
  end if;
  return t;
end $function$;

CREATE OR REPLACE FUNCTION delivery.positions_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_from timestamptz := app.day_start(input ->> 'from');
  -- The last microsecond that is asked for.
  v_to timestamptz := coalesce(app.day_end(input ->> 'to') - interval '1 microsecond',
    case when length(input ->> 'from') = 10 then app.day_end(input ->> 'from') - interval '1 microsecond' else v_from + interval '24 hours' end, now());
  v_zone text := app.timezone();
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found');
  end if;
  v_from := coalesce(v_from, case when length(input ->> 'to') = 10 then app.day_start(input ->> 'to') else v_to - interval '24 hours' end);
  if v_to < v_from or least(v_to - v_from, (v_to at time zone v_zone) - (v_from at time zone v_zone)) > interval '24 hours' then
    perform app.fail('invalid_date_range', '{"field": "to"}');
  end if;
  return jsonb_build_object(
    'rows', (select coalesce(jsonb_agg(to_jsonb(p) order by p.recorded_at), '[]') from (
      select x.recorded_at, x.latitude, x.longitude, x.accuracy_m, x.speed_kmh, x.heading, x.battery_percent, x.received_at
      from delivery.driver_positions x
      where x.tenant_id = v_tenant and x.driver_id = v_driver and x.recorded_at between v_from and v_to
      order by x.recorded_at limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) p),
    'total', (select count(*) from delivery.driver_positions x
      where x.tenant_id = v_tenant and x.driver_id = v_driver and x.recorded_at between v_from and v_to));
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services;
begin
  perform delivery.require_delivery_type((input ->> 'delivery_type_id')::uuid);
  perform delivery.require_service_ranges((input ->> 'unit_min')::numeric, (input ->> 'unit_max')::numeric,
    (input ->> 'estimated_delivery_time_min')::numeric, (input ->> 'estimated_delivery_time_max')::numeric);
  insert into delivery.delivery_services (tenant_id, code, name, description, image_url, priority, service_level,
    default_price, price_per_km, free_km, estimated_delivery_time_min, estimated_delivery_time_max,
    allowed_delivery_attempts, unit_min, unit_max, service_options, delivery_type_id, active, allow_returns,
    access_mode, zone_access_mode, zone_selector_type, policy_mode, policy_overrides)
  values (app.tenant_id(), input ->> 'code', delivery.translated(input -> 'name'), delivery.translated(input -> 'description'),
    input ->> 'image_url', (input ->> 'priority')::integer, input ->> 'service_level',
    coalesce((input ->> 'default_price')::numeric, 0), coalesce((input ->> 'price_per_km')::numeric, 0),
    coalesce((input ->> 'free_km')::numeric, 0), (input ->> 'estimated_delivery_time_min')::numeric,
    (input ->> 'estimated_delivery_time_max')::numeric, coalesce((input ->> 'allowed_delivery_attempts')::integer, 1),
    (input ->> 'unit_min')::numeric, (input ->> 'unit_max')::numeric, coalesce(input -> 'service_options', '{}'),
    (input ->> 'delivery_type_id')::uuid, coalesce((input ->> 'active')::boolean, true),
    coalesce((input ->> 'allow_returns')::boolean, false), coalesce(input ->> 'access_mode', 'all_users'),
    coalesce(input ->> 'zone_access_mode', 'all_zones'), coalesce(input ->> 'zone_selector_type', 'zone'),
    coalesce(input ->> 'policy_mode', 'tenant'), coalesce(input -> 'policy_overrides', '{}'))
  returning * into v_service;
  perform delivery.service_set_users(v_service, input -> 'user_ids');
  perform delivery.service_set_zones(v_service, input -> 'zone_ids', input -> 'zone_tag_ids');
  return jsonb_build_object('id', v_service.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.service_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services := delivery.lock_service((input ->> 'id')::uuid);
  v_references jsonb;
  -- The service as it shall be: what is sent over what is stored, a null as well.
  v_wanted delivery.delivery_services := jsonb_populate_record(v_service, input - array['name', 'description', 'service_options']);
begin
  perform delivery.require_service_ranges(v_wanted.unit_min, v_wanted.unit_max,
    v_wanted.estimated_delivery_time_min, v_wanted.estimated_delivery_time_max);
  if v_wanted.delivery_type_id <> v_service.delivery_type_id then
    perform delivery.require_delivery_type(v_wanted.delivery_type_id);
    v_references := delivery.service_setting_references(v_service.id);
    if v_references <> '[]' then
      perform app.fail('delivery_service_type_change_blocked_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  if v_service.active and not v_wanted.active then
    v_references := jsonb_path_query_array(delivery.service_setting_references(v_service.id),
      '$[*] ? (@.setting_key like_regex "default_delivery_service_id$")');
    if v_references <> '[]' then
      perform app.fail('delivery_service_in_use_by_settings', jsonb_build_object('setting_references', v_references));
    end if;
  end if;
  update delivery.delivery_services s set
    name = case when input ? 'name' then delivery.translated(input -> 'name', s.name) else s.name end,
    description = case when input ? 'description' then delivery.translated(input -> 'description', s.description) else s.description end,
    service_options = s.service_options || coalesce(input -> 'service_options', '{}'),
    code = v_wanted.code, image_url = v_wanted.image_url, priority = v_wanted.priority, service_level = v_wanted.service_level,
    default_price = v_wanted.default_price, price_per_km = v_wanted.price_per_km, free_km = v_wanted.free_km,
    estimated_delivery_time_min = v_wanted.estimated_delivery_time_min,
    estimated_delivery_time_max = v_wanted.estimated_delivery_time_max,
    allowed_delivery_attempts = v_wanted.allowed_delivery_attempts, unit_min = v_wanted.unit_min, unit_max = v_wanted.unit_max,
    delivery_type_id = v_wanted.delivery_type_id, active = v_wanted.active, allow_returns = v_wanted.allow_returns,
    access_mode = v_wanted.access_mode, zone_access_mode = v_wanted.zone_access_mode,
    zone_selector_type = v_wanted.zone_selector_type, policy_mode = v_wanted.policy_mode,
    policy_overrides = v_wanted.policy_overrides
  where s.id = v_service.id
  returning * into v_service;
  perform delivery.service_set_users(v_service, input -> 'user_ids');
  perform delivery.service_set_zones(v_service, input -> 'zone_ids', input -> 'zone_tag_ids');
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settle(method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key text := app.request_setting('idempotency_key');
  v_rows money.cod_collections[];
  v_driver uuid;
  v_receiver uuid;
  v_currency text;
  v_wallet uuid;
  v_total numeric;
  v_fees numeric;
  v_mixed boolean;
  v_ids uuid[];
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
  v_items money.cod_settlement_items[];
  v_receipt text;
  v_open money.cash_handovers[];
  v_handover money.cash_handovers;
  v_short numeric := 0;
  v_borne text;
begin
  if v_key is not null then
    select s.* into v_settlement from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_settlement.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_settlement, money.cod_items_of(v_settlement), (
        select r.status from money.settlement_receipts r where r.tenant_id = v_tenant and r.payment_id = v_settlement.payment_id));
    end if;
  end if;

  v_rows := money.lock_cod_collections(scope, collection_ids, driver_id);
  v_driver := v_rows[1].driver_id;
  v_currency := v_rows[1].currency;
  select sum(r.amount), sum(r.delivery_fee_amount), min(r.currency) <> max(r.currency), array_agg(r.id)
  into v_total, v_fees, v_mixed, v_ids from unnest(v_rows) r;
  if method = 'remit' then
    v_receiver := money.cod_receiver(receiver_id);
    -- Also people of the office who took it as a driver name somebody else.
    if v_receiver = v_driver and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver' then
      perform app.fail('receiver_required', '{"field": "remitted_to_user_id"}');
    end if;
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  v_open := money.lock_open_handovers(v_driver, v_currency);
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_open, v_total, v_currency);
    if v_handover.status = 'resolved' and v_handover.resolution in ('driver_owes', 'written_off') and not money.shortage_is_booked(v_handover) then
      v_borne := v_handover.resolution;
    end if;
    v_short := case when v_handover.status = 'discrepancy' or v_borne is not null then v_handover.declared_amount - v_handover.counted_amount else 0 end;
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, reference,
    actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case method when 'remit' then 'cash' else 'wallet' end, v_total,
    v_currency, v_wallet, cod_settle.reference, v_actor, now(),
    money.cod_snapshot(v_rows, method, scope, reference, notes, v_receiver)
    || case when v_short > 0 then jsonb_build_object('counted', v_total - v_short, 'shortage', v_short) else '{}' end);
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, shortage, shortage_handover_id, notes, reference, idempotency_key, input_hash)
  values (v_payment, v_tenant, method, scope, v_driver, v_actor, v_receiver, v_currency,
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint)
  returning * into v_settlement;
  v_items := money.cod_items_record(v_payment, v_rows);
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  perform money.handovers_settle(v_settlement, v_handover, v_open);
  v_receipt := money.receipt_request(v_settlement, v_items);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_settlement, v_wallet, v_borne);
  return money.cod_settlement_to_json(v_settlement, v_items, v_receipt);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_of(driver uuid, open money.cash_handovers[], total numeric, p_currency text)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_row money.cash_handovers;
begin
  -- Most remittances have none.
  if open <> '{}' then
    select h.* into v_row from unnest(open) h
    where h.declared_amount = total
      and (h.status in ('counted', 'resolved') or not v_required and (h.status = 'discrepancy' or money.settles_for_office()))
    order by h.status = 'declared', h.status = 'discrepancy', h.created_at limit 1;
  end if;
  if v_row.id is null and v_required then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', p_currency) || case when exists (
        select from money.cash_handovers h
        where h.tenant_id = app.tenant_id() and h.driver_id = driver and h.currency = p_currency and h.declared_amount = total and h.status = 'discrepancy')
      then '{"text_key": "reason_handover_differs"}' else '{}' end::jsonb);
  end if;
  return v_row;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_make(p_wallet uuid, p_until timestamp with time zone, p_cycle_day date DEFAULT NULL::date)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_wallet money.accounts;
  v_marks money.merchant_accounts;
  v_rule record;
  v_lines money.merchant_statement_lines[];
  v_unsettled bigint[];
  v_pending bigint[];
  v_looked_to bigint;
  v_kept numeric;
  v_net numeric;
  v_cod boolean;
  v_id uuid := gen_random_uuid();
  v_number bigint;
  v_now timestamptz;
  s money.merchant_statements;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = p_wallet for no key update;
  if exists (select from money.merchant_statements o where o.tenant_id = v_tenant and o.account_id = p_wallet and o.cycle_day = p_cycle_day) then
    return null;
  end if;
  select m.* into v_marks from money.merchant_accounts m where m.tenant_id = v_tenant and m.account_id = p_wallet;
  v_rule := money.statement_rule_for(v_wallet.owner_user_id, v_wallet.currency::text);
  v_kept := money.kept_of(v_tenant, p_wallet);
  -- One query, so that holds, movements and what is pending are those of one moment.
  with moved as materialized (
    select * from money.statement_movements(v_tenant, p_wallet, coalesce(v_marks.looked_to, 0), p_until)
  ), line as (
    select m.movement, case when m.stated then 'adjustment' else m.kind end as kind, m.amount, m.delivery_id, m.happened_at, m.released_at, m.kind as origin
    from moved m where m.amount <> 0
    union all
    select null, 'adjustment', k.amount, null, now(), now(), null from (values (v_kept), (-v_rule.keep)) k (amount) where k.amount <> 0
  )
  select
    (select array_agg(row(v_tenant, null, l.position, p_wallet, l.movement, l.kind, l.amount, l.delivery_id, d.delivery_code, d.external_reference_id,
          l.happened_at, l.released_at)::money.merchant_statement_lines)
      from (select x.*, row_number() over (order by x.movement is null, x.happened_at, x.movement, x.amount desc) as position from line x) l
      left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = l.delivery_id),
    (select sum(l.amount) from line l),
    (select bool_or(l.origin = 'cod') from line l),
    (select array_agg(p.id) from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet),
    (select min(m.movement) - 1 from moved m where not m.early and m.movement > coalesce(v_marks.looked_to, 0)),
    (select array_agg(m.movement) from moved m where not m.settled)
  into v_lines, v_net, v_cod, v_pending, v_looked_to, v_unsettled;
  -- Its lines may be later than its own transaction, which waited for the wallet: the statement is never older than they are.
  v_now := clock_timestamp();
  if coalesce(v_net, 0) <= 0 or v_net < v_rule.minimum or p_cycle_day is not null and v_cod is not true then
    return null;
  end if;
  v_looked_to := coalesce(v_looked_to, v_wallet.version);
  v_number := money.statement_number_next();
  insert into money.merchant_statements (id, tenant_id, number, account_id, owner_user_id, currency, opened_at, opened_by, period_from, period_to,
    gross_cod, fees, refunds, adjustments, net, lines, cycle_day, hash)
  select v_id, v_tenant, v_number, p_wallet, v_wallet.owner_user_id, v_wallet.currency, v_now, app.user_id(),
    least(coalesce((select max(x.period_to) from money.merchant_statements x where x.tenant_id = v_tenant and x.account_id = p_wallet and x.status <> 'void'),
      v_marks.opened_at, v_wallet.created_at), least(p_until, v_now)), least(p_until, v_now),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), v_net, count(*), p_cycle_day,
    money.statement_hash(v_id, v_tenant, v_number, v_wallet.owner_user_id, v_wallet.currency::text, v_net, v_lines)
  from unnest(v_lines) l
  returning * into s;
  insert into money.merchant_statement_lines (tenant_id, statement_id, position, account_id, movement, kind, amount, delivery_id, delivery_code,
    external_reference_id, collected_at, released_at)
  select l.tenant_id, s.id, l.position, l.account_id, l.movement, l.kind, l.amount, l.delivery_id, l.delivery_code, l.external_reference_id, l.collected_at,
    l.released_at
  from unnest(v_lines) l;
  delete from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet and p.id = any (v_pending);
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select v_tenant, p_wallet, u.movement from unnest(v_unsettled) u (movement) where u.movement <= v_looked_to;
  insert into money.merchant_accounts (tenant_id, account_id, looked_to) values (v_tenant, p_wallet, v_looked_to)
  on conflict (tenant_id, account_id) do update set looked_to = excluded.looked_to;
  perform money.statement_event_emit('merchant_statement.opened', s);
  return s.id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_open_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_owner uuid := (input ->> 'owner_user_id')::uuid;
  v_currency text := coalesce(input ->> 'currency', (app.currency()).code);
  v_wallets uuid[] := money.merchant_wallets(v_owner, v_currency);
  v_wallet uuid;
  v_id uuid;
begin
  if v_wallets = '{}' and not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_owner
      and u.tenant_user_type in ('customer', 'institution')) then
    perform app.fail('merchant_not_found', '{"field": "owner_user_id"}');
  end if;
  perform from money.accounts a where a.tenant_id = app.tenant_id() and a.id = any (v_wallets) order by a.id for no key update;
  foreach v_wallet in array v_wallets loop
    v_id := money.statement_make(v_wallet, coalesce(app.day_end(input ->> 'date_to'), 'infinity'));
    exit when v_id is not null;
  end loop;
  if v_id is null then
    perform app.fail('statement_below_minimum', jsonb_build_object('minimum', (money.statement_rule_for(v_owner, v_currency)).minimum, 'currency', v_currency));
  end if;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_rule_for(owner uuid, currency text, OUT minimum numeric, OUT keep numeric)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  select r.minimum, r.keep into minimum, keep from money.statement_rule(statement_rule_for.currency) r;
  if not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = statement_rule_for.owner
      and u.is_active and u.left_at is null) then
    minimum := 0;
    keep := 0;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.memberships_of_caller()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
        'tenant_id', t.id, 'slug', t.slug, 'name', t.name, 'tenant_user_type', u.tenant_user_type,
        'roles', g.roles, 'permissions', g.permissions, 'status', t.status, 'subscription_status', t.subscription_status,
        'effective_active', app.is_effective(t), 'effective_until', t.effective_until)
      order by u.created_at, t.id), '[]')
    from tenancy.tenant_users u
    join tenancy.tenants t on t.id = u.tenant_id
    cross join lateral (
      select coalesce(jsonb_agg(distinct r.role_key order by r.role_key), '[]') as roles,
        coalesce(jsonb_agg(distinct p.permission_key order by p.permission_key) filter (where p.permission_key is not null), '[]') as permissions
      from tenancy.tenant_user_roles r
      left join tenancy.role_permissions p on p.role_key = r.role_key
      where r.tenant_id = u.tenant_id and r.user_id = u.user_id) g
    where u.user_id = app.user_id() and u.is_active);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.member_left()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_left jsonb;
begin
  if new.left_at is null and app.user_id() is not null then
    return null;
  end if;
  select coalesce(jsonb_object_agg(l.part, l.value), '{}') into v_left
  from (
    values ('parcels', to_jsonb(nullif(cardinality(delivery.parcels_in_hand(new.user_id)), 0))),
      ('cash_in_hand', warehousing.money_left(new.tenant_id, new.user_id, 'driver_cash')),
      ('cash_on_desk', warehousing.money_left(new.tenant_id, new.user_id, 'cash_on_hand')),
      ('pay', warehousing.money_left(new.tenant_id, new.user_id, 'driver_payable')),
      ('wallet', warehousing.money_left(new.tenant_id, new.user_id, 'wallet')),
      ('open_parcels', (select to_jsonb(nullif(count(*), 0)) from delivery.deliveries d
        where d.tenant_id = new.tenant_id and new.user_id in (d.customer_id, d.institution_user_id) and d.parent_id is null
          and d.status not in ('draft', 'delivered', 'returned', 'cancelled'))),
      ('picking_orders', (select to_jsonb(nullif(count(*), 0)) from warehousing.picking_orders o
        where o.tenant_id = new.tenant_id and o.assigned_to = new.user_id and o.status in ('pending', 'in_progress'))),
      ('manifests', (select to_jsonb(nullif(count(*), 0)) from delivery.transfer_manifests m
        where m.tenant_id = new.tenant_id and m.driver_id = new.user_id and m.status in ('draft', 'picked_up', 'in_transit'))),
      ('api_keys', to_jsonb(nullif(jsonb_array_length(tenancy.api_keys_stopped(new.user_id)), 0)))
  ) l (part, value)
  where l.value is not null;
  if v_left = '{}' and new.tenant_user_type not in ('staff', 'driver') then
    return null;
  end if;
  perform tenancy.notify_roles(new.tenant_id,
    case new.tenant_user_type when 'driver' then '{tenant_admin,operations_manager,dispatcher}' else '{tenant_admin,operations_manager}' end::text[],
    'member_left', jsonb_build_object('user_id', new.user_id, 'full_name', p.full_name, 'tenant_user_type', new.tenant_user_type) || v_left)
  from tenancy.profiles p where p.id = new.user_id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."handover_of"(uuid, money.cash_handovers[], numeric, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handover_of"(uuid, money.cash_handovers[], numeric, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_rule_for"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_rule_for"(uuid, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129074245';
end $$;

grant execute on function private.schema_version() to barid_api;
