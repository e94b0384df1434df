-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.timezone()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_name text := app.settings('general', 'timezone') ->> 'name';
begin
  v_name := case v_name when 'WET' then 'Europe/Lisbon' when 'CET' then 'Europe/Brussels' when 'MET' then 'Europe/Brussels'
    when 'EET' then 'Europe/Athens' else v_name end;
  if v_name is null then
    return 'UTC';
  end if;
  perform now() at time zone v_name;
  return v_name;
exception
  when invalid_parameter_value then
    return 'UTC';
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
  v_to timestamptz := coalesce(app.instant(input ->> 'to'), app.instant(input ->> 'from') + interval '24 hours', now());
  v_from timestamptz := coalesce(app.instant(input ->> 'from'), v_to - interval '24 hours');
  v_zone text := app.timezone();
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found');
  end if;
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

CREATE OR REPLACE FUNCTION delivery.read_price(value jsonb, OUT price numeric, OUT wrong boolean)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  price := case
    when jsonb_typeof(value) = 'number' then (value #>> '{}')::numeric
    when jsonb_typeof(value) = 'string' and trim(value #>> '{}') ~ '^-?[0-9]{1,15}(\.[0-9]{1,6})?$' then trim(value #>> '{}')::numeric
  end;
  if abs(price - round(price, 3)) <= greatest(1e-9, price * 1e-15) then
    price := round(price, 3);
  end if;
  wrong := coalesce(price < 0 or price > 999999999999, false) or (price is null and not (value is null or value = 'null' or trim(value #>> '{}') = ''));
end $function$;

CREATE OR REPLACE FUNCTION money.gateway_digits(code text, currency text)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return least(money.decimals_of(gateway_digits.currency), case code when 'razorpay' then 2 end, coalesce((
    select (g.settings ->> 'amount_exponent')::integer from money.payment_gateways g
    where g.tenant_id = app.tenant_id() and g.gateway_code = code), money.gateway_exponent(gateway_digits.currency)));
end $function$;

CREATE OR REPLACE FUNCTION money.gateway_exponent(currency text)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case gateway_exponent.currency when 'IQD' then money.decimals_of(gateway_exponent.currency)
    else (select c.exponent from tenancy.currencies c where c.code = gateway_exponent.currency) end;
end $function$;

REVOKE ALL ON FUNCTION "money"."gateway_exponent"(text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.minor_digits(p money.payments)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((money.gateway_account_of(p) #>> '{settings,amount_exponent}')::integer, money.gateway_exponent(p.currency));
end $function$;

CREATE OR REPLACE FUNCTION money.receipt_begin(payment uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_receipt money.settlement_receipts;
begin
  update money.settlement_receipts r set status = 'in_process'
  where r.payment_id = payment and r.status in ('pending', 'in_process')
  returning * into v_receipt;
  if v_receipt.payment_id is null then
    return null;
  end if;
  perform set_config('app.tenant_id', v_receipt.tenant_id::text, true);
  return (
    select jsonb_build_object('tenant_id', s.tenant_id, 'settlement_payment_id', s.payment_id, 'language', v_receipt.language,
      'hash', v_receipt.hash, 'edition', v_receipt.edition, 'reversed_at', s.reversed_at, 'snapshot', p.snapshot,
      'tenant_name', t.name, 'brand', app.settings('general', 'brand_settings'), 'timezone', app.timezone(),
      'decimals', money.decimals_of(s.currency::text))
    from money.cod_settlements s
    join money.payments p on p.tenant_id = s.tenant_id and p.id = s.payment_id
    join tenancy.tenants t on t.id = s.tenant_id
    where s.payment_id = payment);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_rule(currency text, OUT minimum numeric, OUT keep numeric)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_rule jsonb := case when currency = (app.currency()).code then app.settings('delivery', 'payouts') end;
begin
  minimum := coalesce((v_rule ->> 'minimum')::numeric, 0);
  keep := round(coalesce((v_rule ->> 'keep')::numeric, 0), money.decimals_of(currency));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_ends_at(from_moment timestamp with time zone, type text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone text := app.timezone();
begin
  return (
    with recursive terms (begins, months) as (
      select from_moment, tenancy.subscription_months(subscription_ends_at.type)
      union all
      select s.starts_at, t.months + tenancy.subscription_months(s.type)
      from terms t
      join tenancy.subscriptions s on s.tenant_id = v_tenant and s.ends_at = t.begins and s.starts_at < s.ends_at and s.type <> 'UNLIMITED'
    )
    select (t.begins at time zone v_zone + make_interval(months => t.months)) at time zone v_zone from terms t order by t.months desc limit 1);
end $function$;

-- The months of drivers by clocks that had no summer time are counted anew.
update delivery.performance_state set rebuild_asked_at = clock_timestamp() where zone in ('CET', 'EET', 'MET', 'WET');
REVOKE ALL ON FUNCTION "money"."gateway_exponent"(text) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127092847';
end $$;

grant execute on function private.schema_version() to barid_api;
