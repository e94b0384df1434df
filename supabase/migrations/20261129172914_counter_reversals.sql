-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION money.counter_description(t money.cash_transfers)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return concat_ws(': ', case t.kind when 'wallet_deposit' then 'Cash paid in' else 'Cash paid out' end, t.reference);
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_description"(money.cash_transfers) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.counter_payment_post(t money.cash_transfers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_amount numeric := case t.kind when 'wallet_deposit' then t.amount else -t.amount end;
begin
  if t.payment_id is not null then
    perform money.post_journal('WALLET_ADJUSTMENT', 'payment', t.payment_id,
      money.counter_description(t),
      array[money.wallet_of_payment(t.payment_id), money.account_of('external', 'tenant', null, t.currency::text)], array[v_amount, -v_amount]);
    perform money.counter_notify(t);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.counter_payment_reverse(t money.cash_transfers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if t.payment_id is not null then
    perform delivery.wallet_payment_add('WALLET_ADJUSTMENT_REVERSAL', money.wallet_of_payment(t.payment_id), t.amount, t.currency::text,
      jsonb_build_object('reverses', t.payment_id, 'reason', t.reversal_reason, 'direction', case t.kind when 'wallet_deposit' then 'debit' else 'credit' end,
        'cash_desk', true));
    -- Its owner reads what is reversed, and why.
    perform money.reverse('WALLET_ADJUSTMENT', 'payment', t.payment_id, concat_ws(': ', money.counter_description(t), t.reversal_reason));
    perform money.counter_notify(t);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_description"(money.cash_transfers) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129172914';
end $$;

grant execute on function private.schema_version() to barid_api;
