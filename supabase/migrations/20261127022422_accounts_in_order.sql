-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.carrier_remit(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_amount numeric := (input ->> 'amount')::numeric;
  v_rows money.carrier_collections[];
  v_other text;
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  if not exists (select from integration.carriers c where c.code = input ->> 'carrier_code') then
    perform app.fail('carrier_not_found');
  end if;
  perform money.decimals_checked(v_amount, input ->> 'currency', 'amount');
  perform money.lock_carrier(input ->> 'carrier_code', input ->> 'currency');
  v_rows := money.lock_carrier_collections(input);
  select c.currency into v_other from unnest(v_rows) c where c.currency <> input ->> 'currency' limit 1;
  if found then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_other));
  end if;
  v_rows := money.carrier_rows_paid(v_rows, v_amount, input ?| '{carrier_collection_ids,delivery_ids}');
  insert into money.carrier_remittances (tenant_id, carrier_code, currency, amount, cod_amount, delivery_fee_amount, collections, reference,
    notes, actor_id)
  select v_tenant, input ->> 'carrier_code', input ->> 'currency', v_amount, sum(c.cod_amount), sum(c.delivery_fee_amount), count(*),
    input ->> 'reference', input ->> 'notes', app.user_id()
  from unnest(v_rows) c
  returning * into r;
  insert into money.carrier_remittance_items (tenant_id, remittance_id, carrier_collection_id, amount, cod_amount, delivery_fee_amount)
  select v_tenant, r.id, c.id, c.amount, c.cod_amount, c.delivery_fee_amount from unnest(v_rows) c;
  update money.carrier_collections c set status = 'remitted', remitted_at = r.remitted_at, remittance_id = r.id
  where c.tenant_id = v_tenant and c.id = any (select x.id from unnest(v_rows) x);
  perform money.carrier_remittance_event_emit('carrier_remittance.created', r);
  perform money.post_journal('carrier_remittance', 'carrier_remittance', r.id, 'Cash remitted by ' || r.carrier_code,
    array[money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code),
      money.account_of('cash_on_hand', 'tenant', null, r.currency::text)],
    array[-r.amount, r.amount]);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_reverse(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[];
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select x.* into r from money.carrier_remittances x
  where x.tenant_id = v_tenant and x.id = (input ->> 'remittance_id')::uuid and x.carrier_code = input ->> 'carrier_code'
  for no key update;
  if r.id is null then
    perform app.fail('remittance_not_found');
  elsif r.reversed_at is not null then
    perform app.fail('remittance_already_reversed');
  end if;
  perform money.lock_carrier(r.carrier_code, r.currency::text);
  -- In the order of their ids, as whoever enters a payment holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.carrier_collections c where c.tenant_id = v_tenant and c.remittance_id = r.id order by c.id for no key update) l;
  update money.carrier_collections c set status = 'owed', remitted_at = null, remittance_id = null
  where c.tenant_id = v_tenant and c.remittance_id = r.id;
  update money.carrier_remittances x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = r.id
  returning * into r;
  perform money.carrier_remittance_event_emit('carrier_remittance.reversed', r);
  perform money.lock_returned_cash(money.account_of('cash_on_hand', 'tenant', null, r.currency::text),
    money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code), r.amount, r.currency::text);
  perform money.reverse('carrier_remittance', 'carrier_remittance', r.id, input ->> 'reason');
  perform money.cod_holds_again('carrier_collection', v_rows);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.lock_carrier(carrier text, currency text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform from money.accounts a where a.tenant_id = app.tenant_id() and a.kind = 'carrier_cash' and a.carrier_code = lock_carrier.carrier
    and a.currency = lock_carrier.currency for no key update;
end $function$;

REVOKE ALL ON FUNCTION "money"."lock_carrier"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_carrier"(text, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127022422';
end $$;

grant execute on function private.schema_version() to barid_api;
