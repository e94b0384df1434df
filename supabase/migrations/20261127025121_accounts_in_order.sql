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

CREATE OR REPLACE FUNCTION money.cash_uncollected(p_parcel uuid, p_taken_at timestamp with time zone, p_reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_kind text;
  c money.cod_collections;
begin
  update money.cod_collections x set reversed_at = now()
  where x.tenant_id = v_tenant and x.delivery_id = p_parcel and x.collected_at = p_taken_at and x.status = 'collected' and x.reversed_at is null
  returning * into c;
  if c.id is null then
    return '{"cod": 0, "delivery_fee": 0}';
  end if;
  update money.payments p set status = 'CANCELLED'
  where p.tenant_id = v_tenant and p.delivery_id = p_parcel and p.type in ('COD_COLLECTION', 'DELIVERY_FEE') and p.payment_method = 'cash'
    and p.status = 'SUCCESS' and p.processed_at = p_taken_at;
  -- Before the wallet is asked what is available.
  perform money.cod_hold_end(c.id);
  -- All accounts of both journals in one order, as a collection books them.
  perform money.lock_balances(array(
    select distinct e.account_id from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    where t.tenant_id = v_tenant and t.reference_type = 'cod_collection' and t.reference_id = c.id));
  -- A statement holds the wallet while it is made: it may have come first.
  if money.stated_since(p_parcel, p_taken_at) then
    perform app.fail('outcome_is_settled');
  end if;
  foreach v_kind in array case when c.cod_amount > 0 then '{cash_collected,cod_credit}' else '{cash_collected}' end::text[] loop
    perform money.reverse(v_kind, 'cod_collection', c.id, concat_ws(': ', 'Delivery ' || c.delivery_code, p_reason));
  end loop;
  return jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount);
end $function$;

CREATE OR REPLACE FUNCTION money.hold_ended_now(tenant uuid, row_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select h.amount < 0 and h.created_at >= now() from money.wallet_holds h
    where h.tenant_id = hold_ended_now.tenant and h.reference_type = 'cod_collection' and h.reference_id = row_id order by h.step desc limit 1), false);
end $function$;

REVOKE ALL ON FUNCTION "money"."hold_ended_now"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.lock_carrier(carrier text, currency text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform from money.accounts a where a.tenant_id = app.tenant_id() and a.kind = 'carrier_cash' and a.carrier_code = lock_carrier.carrier
    and a.currency = lock_carrier.currency for no key update;
end $function$;

CREATE OR REPLACE FUNCTION money.post_journal(kind text, reference_type text, reference_id uuid, description text, account_ids uuid[], amounts numeric[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_journal uuid := gen_random_uuid();
  v_line record;
  v_account money.accounts;
  v_booked money.accounts[];
  v_changes numeric[];
  v_short money.accounts;
  v_desk boolean := false;
  v_queued boolean := false;
begin
  perform money.require_core();
  perform money.amounts_exact(amounts);
  insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, description, actor_id)
  values (v_journal, v_tenant, kind, reference_type, reference_id, description, app.user_id());
  for v_line in select l.account_id, l.amount from unnest(account_ids, amounts) l (account_id, amount) order by l.account_id loop
    update money.accounts a set balance = a.balance + v_line.amount, version = a.version + 1
    where a.tenant_id = v_tenant and a.id = v_line.account_id and (a.floor is null or a.balance + v_line.amount >= a.floor)
    returning a.* into v_account;
    if not found then
      select * into v_short from money.accounts a where a.tenant_id = v_tenant and a.id = v_line.account_id;
      if v_short.id is not null then
        perform money.wallet_short(v_short, v_line.amount);
      end if;
      perform app.fail('wallet_not_found');
    end if;
    v_booked := v_booked || v_account;
    v_changes := v_changes || v_line.amount;
    if v_account.kind = 'cash_on_hand' then
      v_desk := true;
      v_queued := v_queued or v_account.queued_since is not null;
    end if;
    if v_line.amount < 0 and (kind <> 'cod_credit_REVERSAL' or not money.hold_ended_now(v_tenant, reference_id)) then
      v_account.balance := v_account.balance - v_line.amount;
      perform money.require_available(v_account, v_line.amount, kind);
    end if;
  end loop;
  insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
  select v_tenant, v_journal, a.id, v_changes[a.ordinality], a.currency, a.balance, a.version from unnest(v_booked) with ordinality a;
  if v_queued or v_desk and money.brings_cash_to_bank(kind, reference_id) then
    perform money.desk_queues_follow(v_journal);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_reverse_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
  v_text text := 'Statement ' || money.statement_number(s.number) || ': ' || (input ->> 'reason');
  t money.merchant_payouts;
begin
  if s.status <> 'paid' then
    perform app.fail('statement_not_paid', jsonb_build_object('from', s.status));
  end if;
  select x.* into t from money.merchant_payouts x where x.tenant_id = v_tenant and x.id = s.payout_id;
  if not money.pays_into_wallets() and (s.confirmed_at is not null
      or case t.method when 'cash' then t.actor_id <> app.user_id() else not money.pays_by_bank() end) then
    perform app.fail('forbidden');
  end if;
  update money.merchant_statements x set status = 'open', payout_id = null, confirmed_at = null where x.tenant_id = v_tenant and x.id = s.id;
  update money.merchant_payouts x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id;
  perform money.statement_event_emit('merchant_statement.reversed', s,
    jsonb_build_object('payout_id', t.id, 'method', t.method, 'reason', input ->> 'reason'));
  perform from money.accounts a
  where a.tenant_id = v_tenant and (a.id in (s.account_id, money.account_of('external', 'tenant', null, s.currency::text))
    or t.method = 'cash' and a.id = money.merchant_payout_desk(t))
  order by a.id for no key update;
  if t.method = 'cash' then
    perform money.reverse('merchant_payout_cash', 'merchant_payout', t.id, v_text);
  end if;
  perform money.reverse('merchant_payout', 'merchant_payout', t.id, v_text);
  return s.id;
end $function$;

REVOKE ALL ON FUNCTION "money"."hold_ended_now"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."lock_carrier"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_carrier"(text, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127025121';
end $$;

grant execute on function private.schema_version() to barid_api;
