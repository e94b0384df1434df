-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.statement_pay_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_key text := app.request_setting('idempotency_key');
  v_hash bytea := sha256(convert_to(input::text, 'UTF8'));
  v_desk uuid;
  v_outside uuid;
  v_wallet money.accounts;
  t money.merchant_payouts;
  s money.merchant_statements;
begin
  if v_key is not null then
    select x.* into t from money.merchant_payouts x where x.tenant_id = v_tenant and x.actor_id = app.user_id() and x.idempotency_key = v_key;
    if found then
      if t.input_hash <> v_hash then
        perform app.fail('idempotency_conflict');
      end if;
      return t.statement_id;
    end if;
  end if;
  if input ->> 'method' <> 'cash' and not money.pays_by_bank() then
    perform app.fail('forbidden');
  end if;
  s := money.lock_statement((input ->> 'id')::uuid);
  if s.status = 'paid' then
    perform app.fail('statement_already_paid');
  elsif s.status <> 'open' then
    perform app.fail('statement_not_open', jsonb_build_object('from', s.status));
  end if;
  insert into money.merchant_payouts (tenant_id, statement_id, owner_user_id, method, amount, currency, reference, proof, actor_id, idempotency_key, input_hash)
  values (v_tenant, s.id, s.owner_user_id, input ->> 'method', s.net, s.currency, input ->> 'reference', input ->> 'proof', app.user_id(), v_key, v_hash)
  returning * into t;
  update money.merchant_statements x set status = 'paid', payout_id = t.id where x.tenant_id = v_tenant and x.id = s.id;
  perform money.statement_event_emit('merchant_statement.paid', s,
    jsonb_build_object('payout_id', t.id, 'method', t.method, 'reference', t.reference));
  v_outside := money.account_of('external', 'tenant', null, s.currency::text);
  if t.method = 'cash' then
    v_desk := money.merchant_payout_desk(t);
    if v_desk is null then
      perform app.fail('insufficient_desk_cash', jsonb_build_object('held', 0, 'currency', s.currency));
    end if;
  end if;
  -- All accounts at once, in the order of their ids.
  perform from money.accounts a where a.tenant_id = v_tenant and a.id in (s.account_id, v_desk, v_outside) order by a.id for no key update;
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = s.account_id;
  if money.wallet_refunds_open(v_wallet.id) > 0 then
    perform app.fail('wallet_refund_open', jsonb_build_object('amount', money.wallet_refunds_open(v_wallet.id), 'currency', s.currency));
  elsif v_wallet.balance - money.held_of(v_tenant, v_wallet.id) < s.net then
    perform app.fail('statement_not_covered', jsonb_build_object('balance', v_wallet.balance, 'held', money.held_of(v_tenant, v_wallet.id),
      'required', s.net, 'currency', s.currency));
  end if;
  if t.method = 'cash' then
    perform money.lock_cash_desk(v_desk, v_outside, s.net, s.currency::text);
    perform money.post_journal('merchant_payout_cash', 'merchant_payout', t.id, 'Statement ' || money.statement_number(s.number) || ' in cash',
      array[v_desk, v_outside], array[-s.net, s.net]);
  end if;
  perform money.post_journal('merchant_payout', 'merchant_payout', t.id, 'Statement ' || money.statement_number(s.number),
    array[s.account_id, v_outside], array[-s.net, s.net]);
  return s.id;
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_refunds_open(p_account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(sum(money.refunds_open(p)), 0) from money.payments p
    where p.tenant_id = app.tenant_id() and p.account_id = p_account and p.type = 'WALLET_TOPUP' and p.status = 'SUCCESS' and exists (
      select from money.payment_webhook_events e
      where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched' and e.resolution is null));
end $function$;

REVOKE ALL ON FUNCTION "money"."wallet_refunds_open"(uuid) FROM "barid_caller";

REVOKE ALL ON FUNCTION "money"."wallet_refunds_open"(uuid) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128133737';
end $$;

grant execute on function private.schema_version() to barid_api;
