-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record := app.currency();
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
begin
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
  if d.cod_amount > 0 and input ->> 'delivery_flow' = 'customer_return' and delivery.is_of_order((input ->> 'original_delivery_id')::uuid) then
    perform app.fail('order_amount_fixed', '{"text_key": "return_of_order_has_no_amount"}');
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
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  select to_jsonb(a) into d.pickup_snapshot from delivery.addresses_list a where a.id = v_from.id;
  select to_jsonb(a) into d.dropoff_snapshot from delivery.addresses_list a where a.id = v_to.id;
  d.pickup_warehouse_id := (input ->> 'pickup_warehouse_id')::uuid;
  d.dropoff_warehouse_id := (input ->> 'dropoff_warehouse_id')::uuid;
  d.recipient := coalesce(input -> 'recipient', '{}');
  d.external_reference_id := input ->> 'external_reference_id';
  d.notes := input ->> 'notes';
  d.promised_at := app.instant(input ->> 'promised_at');
  d.deliver_after := app.instant(input ->> 'deliver_after');
  d.deliver_before := app.instant(input ->> 'deliver_before');
  perform delivery.require_delivery_window(d.deliver_after, d.deliver_before);
  d.carrier_type := coalesce(input ->> 'carrier_type', 'internal');
  d.carrier_code := case d.carrier_type when 'external' then coalesce(input ->> 'carrier_code',
    app.refuse('carrier_code_required', '{"field": "carrier_code"}')::text) end;
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input, v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_of_order(delivery_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.deliveries d where d.tenant_id = app.tenant_id() and d.id = is_of_order.delivery_id and d.order_id is not null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.price_preview(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_service delivery.delivery_services;
  v_latitude double precision := (input #>> '{dropoff,latitude}')::double precision;
  v_longitude double precision := (input #>> '{dropoff,longitude}')::double precision;
  v_km double precision := delivery.road_distance_km((input #>> '{pickup,latitude}')::double precision,
    (input #>> '{pickup,longitude}')::double precision, v_latitude, v_longitude);
  v_service_field jsonb := jsonb_build_object('field', coalesce(input ->> 'service_field', 'delivery_service_id'));
  v_quote record;
begin
  select * into v_service from delivery.delivery_services s
  where s.id = (input ->> 'delivery_service_id')::uuid and s.deleted_at is null;
  if not found then
    perform app.fail('service_not_found', v_service_field);
  end if;
  if not v_service.active or ((v_latitude is not null or app.boolean_or(input -> 'has_dropoff', false))
      and not delivery.service_reaches(v_service, delivery.zone_at(v_service.tenant_id, v_latitude, v_longitude))) then
    perform app.fail('delivery_service_not_available', v_service_field);
  end if;
  v_quote := delivery.quote(v_service, input -> 'package', (input ->> 'unit_size')::numeric, v_km,
    app.settings('general', 'unit_size'), (app.currency()).decimals);
  if v_quote.error_code is not null then
    perform app.fail(v_quote.error_code,
      coalesce(v_quote.error_params, '{}') || jsonb_build_object('field', coalesce(input ->> 'package_field', 'package')));
  end if;
  if v_km is null and v_service.price_per_km > 0 then
    perform app.fail('invalid_coordinates',
      jsonb_build_object('field', input -> 'place_fields' -> case when input ? 'pickup' then 1 else 0 end));
  end if;
  return jsonb_build_object('price', v_quote.price, 'unit_size', v_quote.unit_size, 'unit_size_source', v_quote.unit_size_source);
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
  -- An order's service and fee are agreed whatever becomes of the service, but not for places it never went to.
  if p.order_id is not null and not delivery.goes_to(p, to_address) and exists (
      select from delivery.delivery_services s
      where s.tenant_id = p.tenant_id and s.id = p.delivery_service_id and not delivery.service_reaches(s, to_address.zone_id)) then
    perform app.fail('delivery_service_not_available', '{"field": "dropoff_address_id"}');
  end if;
  v_start.latitude := v_from.latitude;
  v_start.longitude := v_from.longitude;
  priced := delivery.delivery_priced(p, jsonb_build_object('delivery_service_id', p.delivery_service_id, 'unit_size', p.unit_size,
    'delivery_fee', p.delivery_fee, 'package_field', 'dropoff_address_id', 'service_field', 'dropoff_address_id',
    'dropoff_field', 'dropoff_address'), v_start, to_address);
  if p.order_id is not null or delivery.goes_to(p, to_address) or (v_taken and not charge_wallet) then
    priced.delivery_fee := p.delivery_fee;
    priced.service_snapshot := p.service_snapshot;
  end if;
  charged := case when priced.delivery_fee = p.delivery_fee then 'none' when p.payment_method = 'wallet' or v_taken then 'wallet' else 'cash' end;
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
  elsif amount > 0 and p.delivery_flow = 'customer_return' and not p.made_at_door and delivery.is_of_order(p.original_delivery_id) then
    perform app.fail('order_amount_fixed', '{"text_key": "return_of_order_has_no_amount"}');
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

CREATE OR REPLACE FUNCTION money.gateway_digits(code text, currency text)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return least(money.decimals_of(gateway_digits.currency), (
    select (g.settings ->> 'amount_exponent')::integer from money.payment_gateways g
    where g.tenant_id = app.tenant_id() and g.gateway_code = code));
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_top_up(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_wallet jsonb := delivery.wallet_get(input);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_currency text := v_wallet ->> 'currency';
  v_decimals integer := money.decimals_of(v_currency);
  v_method storefront.payment_method_types;
begin
  if (v_wallet ->> 'owner_id')::uuid is distinct from app.user_id() then
    perform app.fail('forbidden');
  elsif v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  select * into v_method from storefront.payment_method_types t where t.id = (input ->> 'payment_method_type_id')::uuid and t.is_active;
  if v_method.id is null then
    perform app.fail('payment_method_not_found', '{"field": "paymentMethodTypeId"}');
  elsif v_method.type <> 'gateway' then
    perform app.fail('invalid_payment_method', '{"field": "paymentMethodTypeId"}');
  end if;
  perform money.require_back_ref(input);
  if not money.gateway_in_use(v_method.gateway_code) then
    perform app.fail('gateway_not_configured', '{"field": "paymentMethodTypeId"}');
  end if;
  v_decimals := money.gateway_digits(v_method.gateway_code, v_currency);
  if v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  return jsonb_build_object('payment_id', money.top_up_request((input ->> 'id')::uuid, v_amount, v_method.gateway_code, input ->> 'back_ref'),
    'amount', v_amount, 'currency', v_currency);
end $function$;

CREATE OR REPLACE FUNCTION private.call(claims jsonb, rule jsonb, work text, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_answer jsonb;
  v_key text := claims ->> 'idempotency_key';
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if v_key is not null then
    -- For cores that remember for longer than the engine does.
    perform set_config('app.idempotency_key', v_key, true);
    v_answer := private.idempotency_claim(claims ->> 'operation', v_key, input - 'made', coalesce(rule ->> 'conflict', 'idempotency_conflict'));
    if v_answer is not null then
      return json_build_object('data', v_answer, 'replayed', true, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id');
    end if;
  end if;
  if rule #> '{version,expected}' is not null then
    perform private.version_expect(rule -> 'version');
  end if;
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into v_answer using input;
  if v_key is not null then
    perform private.idempotency_store(claims ->> 'operation', v_key, coalesce(v_answer, 'null'));
  end if;
  if not coalesce((rule ->> 'reads_only')::boolean, false) then
    -- A deferred constraint that fails at the commit would be an error outside of this block.
    set constraints all immediate;
  end if;
  return json_build_object('data', v_answer, 'language', coalesce(app.request_setting('shop_language'), v_language), 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id',
    'version', case when rule ? 'version' then private.version_of(rule -> 'version') end,
    'jobs', coalesce(nullif(current_setting('app.jobs_queued', true), ''), 'off') = 'on',
    'events', coalesce(nullif(current_setting('app.events_queued', true), ''), 'off') = 'on');
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.enter(claims jsonb, rule jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_who record;
begin
  -- pg_stat_activity and the lines of PostgreSQL's log name the trace and the span of a statement that is under way.
  perform
    set_config('app.trace_context', coalesce(claims ->> 'trace_context', ''), true),
    set_config('application_name', concat_ws(' ', 'barid', substr(claims ->> 'trace_context', 4, 49)), true);
  v_who := private.identify(claims);
  perform
    set_config('app.user_id', coalesce(v_who.user_id::text, ''), true),
    set_config('app.tenant_id', coalesce(v_who.tenant_id::text, ''), true),
    set_config('app.api_key', coalesce(claims ->> 'api_key_hash', ''), true),
    set_config('app.api_key_id', coalesce(v_who.api_key_id::text, ''), true),
    set_config('app.grants', v_who.grants::text, true),
    set_config('app.sees_tenant', case when v_who.sees_tenant then 'on' else 'off' end, true),
    set_config('app.language', coalesce(claims ->> 'language', v_who.language, 'en'), true),
    set_config('app.language_asked', coalesce(claims ->> 'language', ''), true),
    set_config('app.request_id', coalesce(claims ->> 'request_id', ''), true),
    set_config('app.client_request_id', coalesce(claims ->> 'client_request_id', ''), true),
    set_config('app.operation', coalesce(claims ->> 'operation', ''), true),
    set_config('role', 'barid_caller', true);
  if (rule ->> 'reads_only')::boolean then
    perform set_config('transaction_read_only', 'on', true);
  else
    -- A write finds its rows by their keys, whatever the values are: planning for each of them costs more than
    -- it saves. A read may look for anything.
    perform set_config('plan_cache_mode', 'force_generic_plan', true);
  end if;
  if rule ? 'feature' and not coalesce((
      select (s.settings ->> 'enabled')::boolean from tenancy.tenant_settings s
      where s.tenant_id = v_who.tenant_id and s.module = 'delivery' and s.group_key = rule ->> 'feature'), false) then
    perform app.fail((rule ->> 'feature') || '_disabled');
  end if;
  if (rule ->> 'person')::boolean and v_who.is_company_key then
    perform app.fail('api_key_not_a_person');
  end if;
  if not (rule -> 'access') ?| v_who.grants then
    perform app.fail(coalesce(rule ->> 'denied', 'forbidden'));
  end if;
  return v_who.language;
end $function$;

CREATE OR REPLACE FUNCTION storefront.open_shop(store_name text DEFAULT NULL::text, domain text DEFAULT NULL::text, OUT market_id uuid, OUT tenant_id uuid, OUT currency text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_caller text := coalesce(app.tenant_id()::text, '');
  v_language text;
begin
  if open_shop.store_name is not null then
    select m.id, m.tenant_id into market_id, tenant_id
    from storefront.markets m
    join tenancy.tenants t on t.id = m.tenant_id
    where lower(m.store_name) = lower(open_shop.store_name) and m.is_live and app.is_effective(t);
  else
    select m.id, m.tenant_id into market_id, tenant_id
    from storefront.custom_domains d
    join storefront.markets m on m.tenant_id = d.tenant_id and m.id = d.market_id
    join tenancy.tenants t on t.id = m.tenant_id
    where d.custom_domain = open_shop.domain and d.status = 'active' and m.is_live and app.is_effective(t);
  end if;
  if market_id is null then
    perform app.fail('market_not_found');
  end if;
  perform set_config('app.shop_tenant_id', tenant_id::text, true);
  -- The currency is a setting of the tenant, which is read as the tenant for this one moment.
  perform set_config('app.tenant_id', tenant_id::text, true);
  currency := (app.currency()).code;
  perform set_config('app.tenant_id', v_caller, true);
  -- The shop's language where the visitor asked for none.
  v_language := (select s.settings ->> 'default' from tenancy.tenant_settings s
    where s.tenant_id = open_shop.tenant_id and s.module = 'general' and s.group_key = 'language');
  if v_language is not null and app.request_setting('language_asked') is null then
    perform set_config('app.language', v_language, true), set_config('app.shop_language', v_language, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_address(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_address jsonb := input -> 'address';
begin
  if input ->> 'address_id' is not null then
    select to_jsonb(a) into v_address from storefront.addresses_list a where a.id = (input ->> 'address_id')::uuid;
    if v_address is null then
      perform app.fail('address_not_found', '{"field": "addressId"}');
    end if;
  elsif (input ->> 'save_to_address_book')::boolean then
    v_address := storefront.customer_address_create(jsonb_strip_nulls(v_address));
  else
    v_address := v_address - 'id';
    if v_address ->> 'city' is null then
      v_address := v_address || jsonb_build_object('city', delivery.city_of_zone(app.tenant_id(), delivery.zone_at(app.tenant_id(),
        (v_address ->> 'latitude')::double precision, (v_address ->> 'longitude')::double precision)));
    end if;
  end if;
  return jsonb_build_object('id', v_address -> 'id', 'full_address', v_address -> 'full_address', 'city', v_address -> 'city',
    'country', v_address -> 'country', 'latitude', v_address -> 'latitude', 'longitude', v_address -> 'longitude',
    'contact_info', coalesce(nullif(v_address -> 'contact_info', 'null'), '{}'));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_approve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_lines jsonb;
  v_supply jsonb;
  v_found jsonb;
  v_reserved jsonb := '[]';
  v_sends boolean;
  v_dropoff uuid;
  v_deliveries delivery.deliveries[] := '{}';
  v_ids uuid[] := '{}';
  v_agreed jsonb;
  v_answer jsonb;
begin
  if o.status not in ('pending', 'awaiting_approval') then
    perform app.fail('order_not_pending', jsonb_build_object('status', o.status));
  elsif o.payment_method <> 'cash_on_delivery' and (o.payment_status <> 'paid' or storefront.order_refundable(o) < o.total_price) then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  end if;
  v_lines := storefront.order_lines(o);
  v_supply := storefront.order_supplied(v_lines, o.shipping_address);
  -- A day is kept until it ends, the last one that can be answered until it ends everywhere.
  if input ->> 'estimated_delivery_date' is not null then
    o.estimated_delivery := least(app.day_end(input ->> 'estimated_delivery_date') - interval '1 microsecond', '9999-12-31 23:59:59.999999+00');
  end if;
  v_sends := (select app.boolean_or(m.settings -> 'auto_create_delivery', false) from storefront.markets m
    where m.tenant_id = o.tenant_id and m.id = o.market_id);
  if v_sends then
    v_dropoff := storefront.order_dropoff(o);
    v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
  end if;
  v_agreed := storefront.order_snapshot_to_json(o);

  perform storefront.lock_stock_of_order(v_lines);
  v_found := storefront.order_supplied(v_lines, o.shipping_address);
  if v_found <> v_supply then
    -- Somebody else took some of it meanwhile.
    v_supply := v_found;
    if v_sends then
      v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
    end if;
  end if;
  v_found := (
    select jsonb_agg(jsonb_build_object('item_id', l.line -> 'inventory_item_id', 'warehouse_id', s.source -> 'warehouse_id',
      'quantity', q.quantity, 'field', 'order_id') order by s.place, q.line)
    from jsonb_array_elements(v_supply -> 'sources') with ordinality s (source, place)
    cross join lateral jsonb_to_recordset(s.source -> 'lines') as q (line integer, quantity bigint)
    cross join lateral (select v_lines -> (q.line - 1) as line) l
    where l.line ->> 'inventory_item_id' is not null);
  if v_found is not null then
    v_reserved := warehousing.stock_reserve('order', o.id, v_found);
  end if;
  for place in 1..cardinality(v_deliveries) loop
    v_ids := v_ids || delivery.delivery_write(v_deliveries[place], storefront.order_contents(v_lines, v_supply -> 'sources' -> (place - 1)));
  end loop;
  perform storefront.order_parts_make(o.id, v_lines, v_supply -> 'sources', v_reserved, v_ids);
  update storefront.storefront_orders x set status = 'confirmed', approved_at = now(), approved_by = app.user_id(),
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = input ->> 'admin_notes',
    estimated_delivery = o.estimated_delivery, delivery_id = v_ids[1]
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  v_answer := storefront.order_state_to_json(o) || v_agreed;
  return jsonb_build_object('order', v_answer, 'inventory_reserved', v_reserved <> '[]', 'deliveries', v_answer -> 'deliveries',
    'delivery_assigned', jsonb_build_object('delivery_id', o.delivery_id,
      'driver_assigned', coalesce((v_answer #>> '{delivery_assignment,driver_assigned}')::boolean, false),
      'tracking_number', v_answer #>> '{delivery_assignment,tracking_number}'));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_charge(p_order uuid, p_gateway text DEFAULT NULL::text, p_back_ref text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  p money.payments;
begin
  select * into o from storefront.storefront_orders x
  where x.tenant_id = app.tenant_id() and x.id = p_order and x.user_id = app.user_id() and x.payment_status <> 'paid';
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, gateway_code,
    gateway_order_id, back_ref, expires_at, reference, actor_id, processed_at)
  values (o.tenant_id, 'ORDER', 'ORDER', case when o.payment_method = 'wallet' then 'SUCCESS' else 'pending' end,
    case o.payment_method when 'cash_on_delivery' then 'cash' else o.payment_method end, o.total_price, o.currency,
    case when o.payment_method = 'wallet' then money.account_of('wallet', 'customer', o.user_id, o.currency) end, o.id,
    p_gateway, case when p_gateway is not null then nextval('money.gateway_order_ids')::text end, p_back_ref,
    case when p_gateway is not null then o.created_at + interval '24 hours' end, o.order_number, app.user_id(),
    case when o.payment_method = 'wallet' then now() end)
  returning * into p;
  if p.status = 'SUCCESS' then
    perform money.book_payment(p, 'order_payment', p.account_id, money.account_of('wallet', 'tenant', null, o.currency), o.order_number);
    update storefront.storefront_orders x set payment_status = 'paid' where x.tenant_id = o.tenant_id and x.id = o.id;
  elsif o.payment_status = 'failed' then
    -- Another try is waited for.
    update storefront.storefront_orders x set payment_status = 'pending' where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_confirm(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_cart storefront.carts;
  v_market storefront.markets;
  v_method storefront.payment_method_types;
  v_lines jsonb;
  v_supply jsonb;
  v_address jsonb;
  v_subtotal numeric;
  v_items bigint;
  v_fee numeric;
  v_order uuid := gen_random_uuid();
begin
  select * into v_cart from storefront.carts c
  where c.tenant_id = v_tenant and c.customer_id = app.user_id() and c.id = (input ->> 'cart_id')::uuid for no key update;
  if v_cart.id is null then
    perform app.fail('cart_not_found', '{"field": "cartId"}');
  elsif v_cart.market_id <> (input ->> 'market_id')::uuid then
    perform app.fail('market_not_found', '{"field": "marketId"}');
  elsif v_cart.status = 'converted' then
    return storefront.order_confirm_again(v_cart, input);
  elsif v_cart.status <> 'active' then
    perform app.fail('cart_not_active', '{"field": "cartId"}');
  end if;
  select * into v_market from storefront.markets m where m.tenant_id = v_tenant and m.id = v_cart.market_id and m.is_live;
  if v_market.id is null then
    perform app.fail('market_not_found', '{"field": "marketId"}');
  end if;
  v_method := storefront.order_payment_method(v_market, input);
  v_lines := storefront.cart_lines(v_cart);
  select sum(l.quantity * l.unit_price), sum(l.quantity) into v_subtotal, v_items
  from jsonb_to_recordset(v_lines) as l (quantity bigint, unit_price numeric);
  v_address := storefront.order_address(input);
  v_supply := storefront.order_supply(v_lines, v_address);
  if v_supply ->> 'short' is not null then
    perform app.fail('insufficient_stock', jsonb_build_object('field', 'cartId', 'item_id', v_supply -> 'short', 'variant_id', (
      select l -> 'variant_id' from jsonb_array_elements(v_lines) l where l -> 'inventory_item_id' = v_supply -> 'short' limit 1)));
  end if;
  v_fee := (delivery.price_preview(storefront.order_quote_input(input ->> 'delivery_service_id', v_supply, v_address)) ->> 'price')::numeric;
  -- A gateway takes no payment of nothing, and no fraction of what it counts by.
  if v_method.type = 'gateway' and (v_subtotal + v_fee = 0
      or v_subtotal + v_fee <> round(v_subtotal + v_fee, money.gateway_digits(v_method.gateway_code, (app.currency()).code))) then
    perform app.fail('invalid_payment_method', '{"field": "paymentMethodTypeId", "text_key": "gateway_takes_no_such_amount"}');
  end if;
  insert into storefront.storefront_orders (id, tenant_id, order_number, market_id, user_id, cart_id, payment_method, payment_method_type_id,
    delivery_service_id, currency, subtotal, shipping_cost, total_price, total_items, address_id, shipping_address, city, customer_notes, back_ref)
  values (v_order, v_tenant, v_market.code || '-' || app.padded(app.take_numbers('storefront_order'), 6), v_market.id, v_cart.customer_id,
    v_cart.id, v_method.type, v_method.id, (input ->> 'delivery_service_id')::uuid, (app.currency()).code, v_subtotal, v_fee, v_subtotal + v_fee,
    v_items, (v_address ->> 'id')::uuid, v_address - 'id', v_address ->> 'city', input ->> 'customer_notes', input ->> 'back_ref');
  insert into storefront.storefront_order_items (tenant_id, order_id, variant_id, product_id, position, product_name, sku, attributes, images,
    inventory_item_id, quantity, unit_price, total)
  select v_tenant, v_order, l.variant_id, l.product_id, l.position, l.product_name, l.sku, l.attributes, l.images, l.inventory_item_id,
    l.quantity, l.unit_price, l.quantity * l.unit_price
  from rows from (jsonb_to_recordset(v_lines) as (variant_id uuid, product_id uuid, product_name jsonb, sku text, attributes jsonb,
    images jsonb, inventory_item_id uuid, quantity integer, unit_price numeric)) with ordinality
    l (variant_id, product_id, product_name, sku, attributes, images, inventory_item_id, quantity, unit_price, position);
  update storefront.carts c set status = 'converted' where c.tenant_id = v_tenant and c.id = v_cart.id;
  perform storefront.order_charge(v_order, v_method.gateway_code, input ->> 'back_ref');
  return storefront.order_confirmed(v_order) || '{"is_new": true}';
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_confirm_again(v_cart storefront.carts, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_code text;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = v_cart.tenant_id and x.cart_id = v_cart.id for no key update;
  if o.payment_method = 'gateway' and o.payment_status = 'failed' and o.status in ('pending', 'awaiting_approval')
      and o.created_at > now() - interval '24 hours' and not exists (select from money.payments p
        where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending') then
    select t.gateway_code into v_code from storefront.payment_method_types t where t.id = o.payment_method_type_id;
    perform money.require_back_ref(input);
    if not money.gateway_in_use(v_code) then
      perform app.fail('gateway_not_configured', '{"field": "paymentMethodTypeId"}');
    end if;
    perform storefront.order_charge(o.id, v_code, input ->> 'back_ref');
  end if;
  return storefront.order_confirmed(o.id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_confirmed(order_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('order', storefront.order_customer_to_json(o), 'payment_type', o.payment_method, 'payment_id', (
      select p.id from money.payments p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending' and p.payment_method = 'gateway'
        and p.expires_at > now() and o.status in ('pending', 'awaiting_approval')))
    from storefront.storefront_orders o where o.tenant_id = app.tenant_id() and o.id = order_confirmed.order_id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_deliveries(o storefront.storefront_orders, lines jsonb, sources jsonb, dropoff uuid)
 RETURNS delivery.deliveries[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := o.shipping_address;
  v_recipient jsonb := storefront.order_recipient(o);
  v_goods numeric[];
  v_source record;
  v_made delivery.deliveries[] := '{}';
begin
  if sources #>> '{0,warehouse_id}' is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  if o.payment_method = 'cash_on_delivery' then
    select storefront.shares(storefront.goods_total(o), array_agg(v.value order by v.place), money.decimals_of(o.currency)) into v_goods
    from (
      select s.place, sum(i.unit_price * l.quantity) as value
      from jsonb_array_elements(sources) with ordinality s (source, place)
      cross join lateral jsonb_to_recordset(s.source -> 'lines') as l (line integer, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = (lines -> (l.line - 1) ->> 'order_item_id')::uuid
      group by 1) v;
  end if;
  for v_source in
    select s.source, s.place, case when s.place = 1 then o.shipping_cost else 0 end as fee
    from jsonb_array_elements(sources) with ordinality s (source, place) order by s.place
  loop
    v_made := v_made || delivery.delivery_terms(storefront.order_quote_input(o.delivery_service_id::text, v_source.source, v_place) - '{pickup,dropoff}'::text[]
      || jsonb_build_object('order_id', o.id, 'delivery_fee', v_source.fee, 'customer_id', o.user_id, 'payer_type', 'sender',
        'payment_method', 'wallet', 'cod_amount',
        case when o.payment_method = 'cash_on_delivery' then least(v_source.fee, o.total_price) + coalesce(v_goods[v_source.place], 0) else 0 end,
        'pickup_warehouse_id', v_source.source -> 'warehouse_id', 'dropoff_address_id', dropoff, 'external_reference_id', o.order_number,
        'notes', o.customer_notes, 'promised_at', o.estimated_delivery, 'recipient', v_recipient));
  end loop;
  return v_made;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_item_came(o storefront.storefront_orders, order_item uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  return (
    select count(*) = 0 or sum(g.delivered) > 0 from storefront.order_part_goods g
    where g.tenant_id = o.tenant_id and g.order_id = o.id and g.order_item_id = order_item);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_quote_input(service text, supply jsonb, address jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('delivery_service_id', service, 'service_field', 'deliveryServiceId', 'package_field', 'cartId',
    'place_fields', jsonb_build_array('address', 'address'), 'has_dropoff', true)
    || case when supply ->> 'units' is not null then jsonb_build_object('unit_size', supply -> 'units')
      when app.settings('general', 'unit_size') ->> 'missing_unit_size_fallback' is null then '{"unit_size": 1}' else '{}' end
    || case when supply ->> 'latitude' is not null and address ->> 'latitude' is not null
      then jsonb_build_object('pickup', jsonb_build_object('latitude', supply -> 'latitude', 'longitude', supply -> 'longitude')) else '{}' end
    || case when address ->> 'latitude' is not null
      then jsonb_build_object('dropoff', jsonb_build_object('latitude', address -> 'latitude', 'longitude', address -> 'longitude')) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_recipient(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select jsonb_strip_nulls(jsonb_build_object('name', p.full_name, 'phone', app.ascii_digits(coalesce(
      nullif(trim(o.shipping_address #>> '{contact_info,phone}'), ''), p.phone))))
    from tenancy.profiles p where p.id = o.user_id), '{}');
end $function$;

CREATE OR REPLACE FUNCTION storefront.review_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_user uuid := app.user_id();
  v_product uuid := (input ->> 'product_id')::uuid;
  v_auto jsonb := app.settings('general', 'storefront') -> 'review_auto_approval';
  v_approved boolean;
  v_bought uuid;
  v_id uuid;
begin
  perform from storefront.products p where p.tenant_id = v_tenant and p.id = v_product and p.archived_at is null;
  if not found then
    perform app.fail('product_not_found');
  end if;
  select i.id into v_bought
  from storefront.storefront_orders o
  join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
  where o.tenant_id = v_tenant and o.user_id = v_user and o.status in ('delivered', 'completed') and i.product_id = v_product
    and storefront.order_item_came(o, i.id)
  order by exists (select from storefront.product_reviews r where r.tenant_id = i.tenant_id and r.order_item_id = i.id),
    o.created_at desc, i.id
  limit 1;
  if v_bought is null then
    perform app.fail('review_requires_purchase');
  end if;
  v_approved := app.boolean_or(v_auto -> 'enabled', false)
    and coalesce(v_auto -> 'auto_approve_ratings' @> (input -> 'rating'), false);
  insert into storefront.product_reviews (tenant_id, product_id, user_id, order_item_id, rating, comment, status, reviewed_at)
  values (v_tenant, v_product, v_user, v_bought, (input ->> 'rating')::smallint, input ->> 'comment',
    case when v_approved then 'approved' else 'pending' end, case when v_approved then now() end)
  returning id into v_id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'review.created', 'source_module', 'storefront',
    'entity_type', 'review', 'entity_id', v_id, 'event_data', jsonb_build_object('review_id', v_id, 'product_id', v_product,
      'rating', (input ->> 'rating')::integer, 'status', case when v_approved then 'approved' else 'pending' end, 'actor_id', v_user))));
  return storefront.review_to_json(v_id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.save_variants(product_id uuid, variants jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_currency record := app.currency();
  v_field text;
begin
  select format('variants.%s.%s', s.position - 1, f.name) into v_field
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  cross join lateral (values ('price'), ('compare_at_price')) f (name)
  where (s.variant ->> f.name)::numeric <> round((s.variant ->> f.name)::numeric, v_currency.decimals)
  order by s.position limit 1;
  if v_field is not null then
    perform app.fail('too_many_decimals', jsonb_build_object('field', v_field, 'currency', v_currency.code, 'decimals', v_currency.decimals));
  end if;
  select format('variants.%s.id', s.position - 1) into v_field
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where s.variant ->> 'id' is not null and not exists (
    select from storefront.product_variants v where v.tenant_id = v_tenant and v.product_id = save_variants.product_id
      and v.id = (s.variant ->> 'id')::uuid and v.archived_at is null)
  order by s.position limit 1;
  if v_field is not null then
    perform app.fail('variant_not_found', jsonb_build_object('field', v_field));
  end if;
  select format('variants.%s.inventory_item_id', s.position - 1) into v_field
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where s.variant ->> 'inventory_item_id' is not null and not exists (
    select from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = (s.variant ->> 'inventory_item_id')::uuid)
  order by s.position limit 1;
  if v_field is not null then
    perform app.fail('inventory_item_not_found', jsonb_build_object('field', v_field));
  end if;

  update storefront.product_variants v set archived_at = now(), is_active = false
  where v.tenant_id = v_tenant and v.product_id = save_variants.product_id and v.archived_at is null
    and not exists (select from jsonb_array_elements(variants) s
      where s ->> 'id' = v.id::text or (s ->> 'id' is null and s ->> 'sku' = v.sku));

  -- A sku that goes from one variant to another is free in between.
  update storefront.product_variants v set sku = v.id::text
  where v.tenant_id = v_tenant and v.product_id = save_variants.product_id and v.archived_at is null
    and exists (select from jsonb_array_elements(variants) s where s ->> 'id' = v.id::text)
    and exists (select from jsonb_array_elements(variants) s where s ->> 'id' <> v.id::text and s ->> 'sku' = v.sku);

  update storefront.product_variants v set
    sku = s.variant ->> 'sku', price = (s.variant ->> 'price')::numeric,
    compare_at_price = case when s.variant ? 'compare_at_price' then (s.variant ->> 'compare_at_price')::numeric else v.compare_at_price end,
    inventory_item_id = case when s.variant ? 'inventory_item_id' then (s.variant ->> 'inventory_item_id')::uuid else v.inventory_item_id end,
    attributes = coalesce(s.variant -> 'attributes', v.attributes),
    is_active = coalesce((s.variant ->> 'is_active')::boolean, v.is_active), position = s.position
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where v.tenant_id = v_tenant and v.product_id = save_variants.product_id and v.archived_at is null
    and (s.variant ->> 'id' = v.id::text or (s.variant ->> 'id' is null and s.variant ->> 'sku' = v.sku
      and not exists (select from jsonb_array_elements(variants) n where n ->> 'id' = v.id::text)));

  insert into storefront.product_variants (tenant_id, product_id, sku, price, compare_at_price, inventory_item_id, attributes,
    is_active, position)
  select v_tenant, save_variants.product_id, s.variant ->> 'sku', (s.variant ->> 'price')::numeric,
    (s.variant ->> 'compare_at_price')::numeric, (s.variant ->> 'inventory_item_id')::uuid,
    coalesce(s.variant -> 'attributes', '{}'), coalesce((s.variant ->> 'is_active')::boolean, true), s.position
  from jsonb_array_elements(variants) with ordinality s (variant, position)
  where s.variant ->> 'id' is null and not exists (
    select from storefront.product_variants v where v.tenant_id = v_tenant and v.product_id = save_variants.product_id
      and v.sku = s.variant ->> 'sku' and v.archived_at is null);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.currency_in_use(code text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from money.accounts a where a.tenant_id = app.tenant_id() and a.currency = code and a.version > 0)
    or exists (select from delivery.deliveries d
      where d.tenant_id = app.tenant_id() and d.currency = code and d.status not in ('delivered', 'returned', 'cancelled'))
    or exists (select from storefront.storefront_orders o
      where o.tenant_id = app.tenant_id() and o.currency = code and o.status not in ('delivered', 'completed', 'cancelled'))
    -- A top-up that may still be paid, as long as its gateway is asked about it (money.payments_reconcile).
    or exists (select from money.payments p
      where p.tenant_id = app.tenant_id() and p.currency = code and p.type = 'WALLET_TOPUP' and p.status in ('pending', 'FAILED')
        and p.payment_method = 'gateway' and p.created_at > now() - interval '72 hours' and p.final_answer_at is null);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."is_of_order"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_of_order"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."gateway_digits"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."gateway_digits"(text, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_item_came"(storefront.storefront_orders, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_item_came"(storefront.storefront_orders, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_recipient"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_recipient"(storefront.storefront_orders) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126154531';
end $$;

grant execute on function private.schema_version() to barid_api;
