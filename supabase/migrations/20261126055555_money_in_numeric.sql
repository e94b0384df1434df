-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.amount_told(p money.payments, facts jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return trim_scale((facts ->> 'amount')::numeric / case facts ->> 'unit' when 'minor' then 10::numeric ^ money.minor_digits(p) else 1 end);
end $function$;

REVOKE ALL ON FUNCTION "money"."amount_told"(money.payments, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.driver_pay_due(d delivery.deliveries, OUT mode text, OUT percentage numeric, OUT base_amount numeric, OUT delivery_fee numeric, OUT currency text, OUT amount numeric)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_rule jsonb := app.settings('general', 'driver');
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_decimals integer;
  v_larger numeric;
begin
  mode := v_rule ->> 'mode';
  delivery_fee := v_parcel.delivery_fee;
  if mode = 'percentage' then
    percentage := case jsonb_typeof(v_rule #> '{percentage,percentage_of_delivery_fee}')
      when 'number' then (v_rule #>> '{percentage,percentage_of_delivery_fee}')::numeric end;
    currency := v_parcel.currency;
  elsif mode = 'per_delivery' then
    base_amount := case jsonb_typeof(v_rule #> '{per_delivery,base_amount}') when 'number' then (v_rule #>> '{per_delivery,base_amount}')::numeric end;
    -- A setting is in the tenant's own currency.
    currency := (app.currency()).code;
  end if;
  v_decimals := money.decimals_of(currency);
  amount := round(coalesce(base_amount, delivery_fee * percentage / 100), v_decimals);
  if d.parent_id is not null then
    v_larger := amount - trunc(amount / 2, v_decimals);
    amount := case d.delivery_flow when 'pnd_inbound' then v_larger else amount - v_larger end;
  end if;
  amount := nullif(greatest(amount, 0), 0);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_evaluate(p money.payments, o storefront.storefront_orders, facts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select case
      when facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' or money.amount_told(p, facts) <> p.amount
        then 'amount_differs'
      when upper(facts ->> 'currency') not in (c.code, c.numeric_code) then 'currency_differs'
      when g.settings ->> 'terminal' is not null and g.settings ->> 'terminal' is distinct from facts ->> 'terminal' then 'terminal_differs'
      when facts ->> 'order' is not null and lower(facts ->> 'order') not in (p.gateway_order_id, coalesce(p.order_id::text, ''))
        or facts ->> 'reference' ~ '^[0-9]{12,18}$' and facts ->> 'reference' <> p.gateway_order_id then 'order_differs'
      when p.status = 'CANCELLED' or o.status = 'cancelled' then 'order_cancelled'
      when coalesce(facts ->> 'transaction_id', '') = '' then 'transaction_missing'
      when p.status = 'SUCCESS' or o.payment_status = 'paid' then 'already_paid'
    end
    from tenancy.currencies c
    left join money.payment_gateways g on g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code
    where c.code = p.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_refunded(p money.payments, facts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  r money.payments;
  v_amount numeric;
  v_left numeric;
begin
  if exists (select from money.payments x where x.gateway_code = p.gateway_code and x.gateway_transaction_id = facts ->> 'refund_id') then
    return 'already_refunded';
  elsif p.status <> 'SUCCESS' or coalesce(facts ->> 'refund_id', '') = '' or facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then
    return 'refund_of_nothing';
  end if;
  v_amount := money.amount_told(p, facts);
  update money.payments x set gateway_transaction_id = facts ->> 'refund_id'
  where x.tenant_id = p.tenant_id and x.account_id = p.account_id and x.type = 'REFUND' and x.reference = p.id::text and x.amount = v_amount
    and x.gateway_transaction_id like 'resolved-%';
  if found then
    return 'already_refunded';
  end if;
  select coalesce(sum(case x.type when 'REFUND' then -x.amount else x.amount end), 0) into v_left from money.payments x
  where x.tenant_id = p.tenant_id and x.status = 'SUCCESS' and (x.id = p.id or (x.type = 'REFUND' and (x.order_id = p.order_id or x.reference = p.id::text)));
  if v_amount > v_left or v_amount <= 0 or v_amount <> round(v_amount, 3) then
    return 'amount_differs';
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, gateway_code,
    gateway_transaction_id, reference, processed_at)
  values (p.tenant_id, p.category, 'REFUND', 'SUCCESS', 'gateway', v_amount, p.currency, p.account_id, p.order_id, p.gateway_code,
    facts ->> 'refund_id', case when p.order_id is null then p.id::text else p.reference end, now())
  returning * into r;
  perform money.book_payment(r, 'gateway_refund',
    case p.type when 'ORDER' then money.account_of('wallet', 'tenant', null, p.currency) else p.account_id end,
    money.account_of('external', 'tenant', null, p.currency), p.reference);
  return null;
exception
  when sqlstate 'RULE0' then
    if sqlerrm <> 'insufficient_wallet_balance' then
      raise;
    end if;
    return 'insufficient_wallet_balance';
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_amount(e money.payment_webhook_events, p money.payments, OUT amount numeric, OUT refusal text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  refusal := case
    when e.facts ->> 'kind' <> 'paid' then 'not_a_payment'
    when p.id is null then 'payment_unknown'
    when not exists (select from tenancy.currencies c
      where c.code = p.currency and upper(e.facts ->> 'currency') in (c.code, c.numeric_code)) then 'currency_differs'
    when coalesce(e.facts ->> 'amount', '') !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then 'amount_differs'
    when coalesce(e.facts ->> 'transaction_id', '') = '' then 'transaction_missing'
    when exists (select from money.payments x
      where x.gateway_code = e.gateway_code and x.gateway_transaction_id = e.facts ->> 'transaction_id') then 'transaction_already_used'
  end;
  if refusal is null then
    amount := money.amount_told(p, e.facts);
    if amount <= 0 or amount <> round(amount, money.decimals_of(p.currency)) then
      refusal := 'amount_differs';
    end if;
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."amount_told"(money.payments, jsonb) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126055555';
end $$;

grant execute on function private.schema_version() to barid_api;
