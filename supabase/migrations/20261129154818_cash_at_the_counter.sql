-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.payments in share row exclusive mode;
      set local lock_timeout = '250ms';
      lock table money.cash_transfers in access exclusive mode;
      alter view money.cash_transfers_list reset (security_barrier);
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "money"."cash_transfers_list";

ALTER TABLE "money"."cash_transfers" DROP CONSTRAINT "cash_transfers_kind_check";

ALTER TABLE "money"."cash_transfers" DROP CONSTRAINT "handover_has_receiver";

ALTER TABLE "money"."cash_transfers" DROP CONSTRAINT "texts_within_bounds";

ALTER TABLE "money"."cash_transfers" DROP CONSTRAINT "till_has_no_user";

ALTER TABLE "money"."cash_transfers" ADD COLUMN "to_owner_type" text;

ALTER TABLE "money"."cash_transfers" ADD COLUMN "payment_id" uuid;

-- squawk-ignore prefer-robust-stmts, ban-drop-not-null
ALTER TABLE "money"."cash_transfers" ALTER COLUMN "from_owner_type" DROP NOT NULL;

CREATE OR REPLACE FUNCTION delivery.wallet_adjustment_reverse(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_wallet uuid := (delivery.wallet_get(input) ->> 'id')::uuid;
  v_adjustment money.payments;
  v_payment uuid;
begin
  select p.* into v_adjustment from money.payments p
  where p.id = (input ->> 'payment_id')::uuid and p.account_id = v_wallet and p.type = 'WALLET_ADJUSTMENT' for no key update;
  if not found then
    perform app.fail('adjustment_not_found');
  elsif v_adjustment.snapshot ? 'cash_desk' then
    perform app.fail('adjustment_has_cash');
  elsif exists (select from money.ledger_transactions t
      where t.kind = 'WALLET_ADJUSTMENT_REVERSAL' and t.reference_type = 'payment' and t.reference_id = v_adjustment.id) then
    perform app.fail('adjustment_already_reversed');
  end if;
  v_payment := delivery.wallet_payment_add('WALLET_ADJUSTMENT_REVERSAL', v_wallet, v_adjustment.amount, v_adjustment.currency,
    jsonb_build_object('reverses', v_adjustment.id, 'reason', input ->> 'reason',
      'direction', case v_adjustment.snapshot ->> 'direction' when 'credit' then 'debit' else 'credit' end));
  perform money.reverse('WALLET_ADJUSTMENT', 'payment', v_adjustment.id, input ->> 'reason');
  return delivery.wallet_moved(v_wallet, v_payment, 'WALLET_ADJUSTMENT_REVERSAL', v_adjustment.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.wallet_payment_add(type text, wallet uuid, amount numeric, currency text, snapshot jsonb, hash bytea DEFAULT NULL::bytea)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_payment uuid;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, snapshot,
    actor_id, processed_at, idempotency_key, input_hash)
  values (app.tenant_id(), 'WALLET', type, 'SUCCESS', case when snapshot ? 'cash_desk' then 'cash' else 'manual' end, amount, currency,
    wallet, snapshot, app.user_id(), now(), case when hash is not null then app.request_setting('idempotency_key') end, hash)
  returning id into v_payment;
  return v_payment;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_desk_for(asked uuid, owner_type text, currency text)
 RETURNS money.accounts
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_owner uuid;
  v_id uuid;
  v_desk money.accounts;
begin
  if not money.has_desk()
      or ((owner_type = 'tenant' or asked <> app.user_id()) and not app.has_permission('manage:tenant')) then
    perform app.fail('forbidden');
  end if;
  if owner_type = 'staff' then
    v_owner := money.cod_receiver(asked, 'to_user_id');
  end if;
  -- A statement of its own: the one that reads has to see an account that is new.
  v_id := money.account_of('cash_on_hand', owner_type, v_owner, currency);
  select a.* into v_desk from money.accounts a where a.tenant_id = app.tenant_id() and a.id = v_id;
  return v_desk;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_accounts(t money.cash_transfers, OUT giver uuid, OUT taker uuid)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_outside uuid := money.account_of('external', 'tenant', null, t.currency::text);
begin
  giver := case when t.from_owner_type is null then v_outside
    else money.account_of('cash_on_hand', t.from_owner_type, t.from_user_id, t.currency::text) end;
  taker := case when t.kind = 'handover' or t.to_owner_type is not null
    then money.account_of('cash_on_hand', coalesce(t.to_owner_type, 'staff'), t.to_user_id, t.currency::text) else v_outside end;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_key text := app.request_setting('idempotency_key');
  v_hash bytea := sha256(convert_to(input::text, 'UTF8'));
  v_currency text := coalesce(input ->> 'currency', (app.currency()).code);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_comes boolean := input ->> 'kind' in ('bank_withdrawal', 'wallet_deposit');
  v_desk money.accounts;
  v_wallet money.accounts;
  v_receiver uuid;
  v_accounts record;
  t money.cash_transfers;
  p money.payments;
begin
  if v_key is not null then
    select x.* into t from money.cash_transfers x
    where x.tenant_id = v_tenant and x.actor_id = app.user_id() and x.idempotency_key = v_key;
    if found then
      if t.input_hash <> v_hash then
        perform app.fail('idempotency_conflict');
      end if;
      return t.id;
    end if;
  end if;
  if input ->> 'kind' = 'refund' then
    p := money.lock_cash_refund((input ->> 'refund_id')::uuid);
    v_amount := p.amount;
    v_currency := p.currency;
  elsif input ? 'wallet_id' then
    v_wallet := money.counter_wallet((input ->> 'wallet_id')::uuid);
    v_currency := v_wallet.currency;
  end if;
  if v_comes then
    v_desk := money.cash_desk_for((input ->> 'to_user_id')::uuid, coalesce(input ->> 'to_owner_type', 'staff'), v_currency);
    v_receiver := v_desk.owner_user_id;
  else
    v_desk := money.cash_desk_of((input ->> 'from_user_id')::uuid, coalesce(input ->> 'from_owner_type', 'staff'), v_currency);
  end if;
  perform money.decimals_checked(v_amount, v_currency, 'amount');
  if input ->> 'kind' = 'handover' then
    v_receiver := money.cod_receiver((input ->> 'to_user_id')::uuid, 'to_user_id');
    if v_desk.owner_type = 'staff' and v_desk.owner_user_id = v_receiver then
      perform app.fail('invalid_receiver', '{"field": "to_user_id"}');
    end if;
  end if;
  insert into money.cash_transfers (tenant_id, kind, from_owner_type, from_user_id, to_owner_type, to_user_id, refund_id, payment_id, amount,
    currency, reference, notes, actor_id, idempotency_key, input_hash)
  values (v_tenant, input ->> 'kind', case when not v_comes then v_desk.owner_type end, case when not v_comes then v_desk.owner_user_id end,
    case when v_comes then v_desk.owner_type end, v_receiver, p.id, money.counter_payment_add(v_wallet.id, v_amount, input), v_amount,
    v_currency, input ->> 'reference', input ->> 'notes', app.user_id(), v_key, v_hash)
  returning * into t;
  update money.payments x set status = 'SUCCESS', processed_at = now() where x.tenant_id = v_tenant and x.id = p.id;
  perform money.cash_transfer_event_emit('cash_transfer.created', t);
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  v_accounts := money.cash_transfer_accounts(t);
  if v_wallet.id is not null then
    perform money.lock_balances(array[v_accounts.giver, v_accounts.taker, v_wallet.id]);
  end if;
  perform money.lock_cash_desk(v_accounts.giver, v_accounts.taker, v_amount, v_currency);
  perform money.post_journal('cash_transfer', 'cash_transfer', t.id,
    case t.kind when 'handover' then 'Cash handed over' when 'refund' then 'Delivery fee paid back' when 'bank_deposit' then 'Cash brought to the bank'
      when 'bank_withdrawal' then 'Cash fetched from the bank' when 'wallet_deposit' then 'Cash paid into a wallet'
      when 'wallet_payout' then 'Cash paid out of a wallet' else 'Expense' end,
    array[v_accounts.giver, v_accounts.taker], array[-v_amount, v_amount]);
  perform money.counter_payment_post(t);
  return t.id;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_kind text := case when new.reversed_at is null then 'cash_transfer' else 'cash_transfer_REVERSAL' end;
  v_moved numeric := case when new.reversed_at is not null then 0 when new.kind = 'wallet_deposit' then new.amount else -new.amount end;
  v_given numeric;
  v_short boolean;
begin
  select sum(e.amount), bool_or(a.kind = 'cash_on_hand' and e.balance_after < 0) into v_given, v_short
  from money.ledger_transactions t
  join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.amount < 0
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
  where t.tenant_id = new.tenant_id and t.kind = v_kind and t.reference_type = 'cash_transfer' and t.reference_id = new.id;
  if v_given is distinct from -new.amount then
    raise exception 'transfer % has no journal of its amount', new.id using errcode = 'check_violation',
      constraint = 'cash_transfer_booked';
  elsif new.payment_id is not null and money.counter_payment_moved(new, 'infinity') is distinct from v_moved then
    raise exception 'transfer % moved another amount of its wallet', new.id using errcode = 'check_violation',
      constraint = 'cash_transfer_booked';
  elsif v_short then
    raise exception 'transfer % takes more than the desk holds', new.id using errcode = 'check_violation',
      constraint = 'insufficient_desk_cash';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_event_emit(event_type text, t money.cash_transfers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'delivery',
    'entity_type', 'cash_transfer', 'entity_id', t.id, 'event_data', jsonb_build_object('cash_transfer_id', t.id, 'kind', t.kind,
      'from_owner_type', t.from_owner_type, 'from_user_id', t.from_user_id, 'to_owner_type', t.to_owner_type, 'to_user_id', t.to_user_id,
      'wallet_id', money.wallet_of_payment(t.payment_id), 'currency', t.currency, 'amount', t.amount, 'reference', t.reference,
      'actor_id', app.user_id()))));
  if t.to_user_id <> app.user_id() then
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    values (app.tenant_id(), t.to_user_id, case when t.reversed_at is null then 'cash_handed_over' else 'cash_handover_reversed' end,
      jsonb_build_object('cash_transfer_id', t.id, 'from_user_id', t.from_user_id, 'amount', t.amount, 'currency', t.currency));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_to_json(p_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select to_jsonb(r) - '{from_user_id,to_user_id,from_user_name,to_user_name,wallet_id,wallet_owner_name}'::text[]
    from money.cash_transfers_list r where r.id = p_id);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_unbook(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_owner uuid;
  v_accounts record;
  t money.cash_transfers;
begin
  if not money.has_desk() then
    perform app.fail('forbidden');
  end if;
  select x.* into t from money.cash_transfers x where x.tenant_id = v_tenant and x.id = (input ->> 'id')::uuid for no key update;
  v_owner := case when t.from_owner_type is null then t.to_user_id else t.from_user_id end;
  if t.id is null then
    perform app.fail('cash_transfer_not_found');
  elsif v_owner is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif t.reversed_at is not null then
    perform app.fail('cash_transfer_already_reversed');
  end if;
  update money.cash_transfers x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id
  returning * into t;
  update money.payments x set status = 'pending', processed_at = null where x.tenant_id = v_tenant and x.id = t.refund_id;
  perform money.cash_transfer_event_emit('cash_transfer.reversed', t);
  v_accounts := money.cash_transfer_accounts(t);
  if t.payment_id is not null then
    perform money.lock_balances(array[v_accounts.giver, v_accounts.taker, money.wallet_of_payment(t.payment_id)]);
  end if;
  perform money.lock_cash_desk(v_accounts.taker, v_accounts.giver, t.amount, t.currency::text);
  perform money.reverse('cash_transfer', 'cash_transfer', t.id, input ->> 'reason');
  perform money.counter_payment_reverse(t);
  return t.id;
end $function$;

CREATE OR REPLACE FUNCTION money.counter_notify(t money.cash_transfers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select t.tenant_id, a.owner_user_id, case when t.reversed_at is not null then 'wallet_cash_reversed' when t.kind = 'wallet_deposit'
      then 'wallet_cash_paid_in' else 'wallet_cash_paid_out' end,
    jsonb_build_object('cash_transfer_id', t.id, 'wallet_id', a.id, 'amount', t.amount, 'currency', t.currency)
  from money.payments p
  join money.accounts a on a.tenant_id = p.tenant_id and a.id = p.account_id
  where p.tenant_id = t.tenant_id and p.id = t.payment_id and a.owner_user_id <> app.user_id();
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_notify"(money.cash_transfers) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.counter_payment_add(wallet uuid, amount numeric, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if wallet is null then
    return null;
  end if;
  return delivery.wallet_payment_add('WALLET_ADJUSTMENT', wallet, amount, (
      select a.currency from money.accounts a where a.tenant_id = app.tenant_id() and a.id = wallet),
    jsonb_build_object('direction', case input ->> 'kind' when 'wallet_deposit' then 'credit' else 'debit' end, 'reason', input ->> 'notes',
      'cash_desk', true));
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_payment_add"(uuid, numeric, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.counter_payment_moved(t money.cash_transfers, until timestamp with time zone)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select sum(e.amount)
    from money.payments p
    join money.ledger_transactions j on j.tenant_id = p.tenant_id and j.reference_type = 'payment' and j.reference_id = p.id
      and j.kind in ('WALLET_ADJUSTMENT', 'WALLET_ADJUSTMENT_REVERSAL')
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id and e.account_id = p.account_id and e.created_at <= until
    where p.tenant_id = t.tenant_id and p.id = t.payment_id and p.amount = t.amount and p.currency = t.currency);
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_payment_moved"(money.cash_transfers, timestamp with time zone) FROM "barid_caller";

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
      concat_ws(': ', case t.kind when 'wallet_deposit' then 'Cash paid in' else 'Cash paid out' end, t.reference),
      array[money.wallet_of_payment(t.payment_id), money.account_of('external', 'tenant', null, t.currency::text)], array[v_amount, -v_amount]);
    perform money.counter_notify(t);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_payment_post"(money.cash_transfers) FROM "barid_caller";

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
    perform money.reverse('WALLET_ADJUSTMENT', 'payment', t.payment_id, t.reversal_reason);
    perform money.counter_notify(t);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_payment_reverse"(money.cash_transfers) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.counter_wallet(wallet uuid)
 RETURNS money.accounts
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_wallet money.accounts;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = app.tenant_id() and a.id = counter_wallet.wallet and a.kind = 'wallet';
  if v_wallet.id is null then
    perform app.fail('wallet_not_found');
  elsif v_wallet.owner_type = 'tenant' and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  return v_wallet;
end $function$;

REVOKE ALL ON FUNCTION "money"."counter_wallet"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'desk_cash', p.user_id, p.currency, p.in_hand, p.ledger, array(
      select x.id from (
        select s.payment_id as id, s.settled_at as at from money.cod_settlements s
        where s.tenant_id = tenant and s.method = 'remit' and s.receiver_id = p.user_id and s.currency = p.currency
          and p.owner_type = case when s.receiver_id = s.driver_id then 'driver' else 'staff' end
        union all
        select r.id, r.remitted_at from money.carrier_remittances r
        where r.tenant_id = tenant and r.kind = 'payment' and p.owner_type = 'tenant' and r.currency = p.currency
        union all
        select h.id, h.resolved_at from money.cash_handovers h
        where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off') and h.currency = p.currency
          and h.counted_by = p.user_id
        union all
        select t.id, t.created_at from money.cash_transfers t
        where t.tenant_id = tenant and t.currency = p.currency and (
          t.from_owner_type = p.owner_type and t.from_user_id is not distinct from p.user_id
          or (t.kind = 'handover' or t.to_owner_type is not null) and coalesce(t.to_owner_type, 'staff') = p.owner_type
            and t.to_user_id is not distinct from p.user_id)
        union all
        select t.id, t.paid_at from money.driver_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
        union all
        select t.id, t.paid_at from money.merchant_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
      ) x where x.at <= as_of order by x.at desc, x.id limit 100)
  from money.desk_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'cash_transfer_journal', coalesce(t.from_user_id, t.to_user_id), t.currency, e.taken, b.taken, array[t.id]
  from money.cash_transfers t
  cross join lateral (
    select case when t.reversed_at <= as_of then 0 else -t.amount end as taken, case when t.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount) filter (where case when t.from_owner_type is null then a.kind = 'external' else a.kind = 'cash_on_hand'
        and a.owner_type = t.from_owner_type and a.owner_user_id is not distinct from t.from_user_id end), 0) as taken,
      coalesce(sum(l.amount) filter (where case when t.kind = 'handover' or t.to_owner_type is not null
        then a.kind = 'cash_on_hand' and a.owner_type = coalesce(t.to_owner_type, 'staff') and a.owner_user_id is not distinct from t.to_user_id
        else a.kind = 'external' end), 0) as brought,
      count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id and l.currency = t.currency
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id
    where j.tenant_id = tenant and j.kind in ('cash_transfer', 'cash_transfer_REVERSAL') and j.reference_type = 'cash_transfer'
      and j.reference_id = t.id and j.created_at <= as_of
  ) b on true
  where t.tenant_id = tenant and t.created_at <= as_of
    and (b.taken, b.brought, b.journals) is distinct from (e.taken, -e.taken, e.journals::bigint)
  union all
  select 'cash_transfer_wallet', coalesce(t.from_user_id, t.to_user_id), t.currency, e.moved, money.counter_payment_moved(t, as_of), array[t.id]
  from money.cash_transfers t
  cross join lateral (
    select case when t.reversed_at <= as_of then 0 when t.kind = 'wallet_deposit' then t.amount else -t.amount end as moved
  ) e
  where t.tenant_id = tenant and t.created_at <= as_of and t.payment_id is not null
    and money.counter_payment_moved(t, as_of) is distinct from e.moved
  union all
  select 'desk_parts', a.owner_user_id, a.currency, e.total, m.total, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.ledger_entries x
    where x.tenant_id = tenant and x.account_id = a.id and x.created_at <= as_of) e
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.desk_part_moves x
    where x.tenant_id = tenant and x.account_id = a.id and x.created_at <= as_of) m
  where a.tenant_id = tenant and a.queued_since <= as_of and e.total <> m.total
  union all
  select 'desk_part', a.owner_user_id, a.currency, m.total, p.amount, array[coalesce(p.reference_id, p.part_id)]
  from money.desk_parts p
  join money.accounts a on a.tenant_id = p.tenant_id and a.id = p.account_id
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.desk_part_moves x
    where x.tenant_id = tenant and x.account_id = p.account_id and x.part_id = p.part_id) m
  where p.tenant_id = tenant and m.total <> p.amount
$function$;

CREATE OR REPLACE FUNCTION money.desk_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(owner_type text, user_id uuid, currency text, remitted numeric, shortages numeric, transferred_out numeric, transferred_in numeric, paid_out numeric, in_hand numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with transfer as (
    select t.* from money.cash_transfers t
    where t.tenant_id = tenant and t.created_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
  ), moved (owner_type, user_id, currency, remitted, shortages, given, got, paid, ledger) as (
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, s.total, 0, 0, 0, 0, 0
    from money.cod_settlements s
    where s.tenant_id = tenant and s.method = 'remit' and not s.historical and s.settled_at <= as_of
      and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    -- The shortage at the remittance, less the amount found in a second count.
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, 0,
      case when h.resolution = 'recounted' and h.resolved_at <= as_of then 0 else s.shortage end, 0, 0, 0, 0
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    select 'tenant', null, r.currency::text, r.amount, 0, 0, 0, 0, 0
    from money.carrier_remittances r
    where r.tenant_id = tenant and r.kind = 'payment' and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
    union all
    -- Up to 1.6.0 a shortage that was resolved before its remittance was booked then. Whose desk it was is what the journal says: the counter's, or
    -- the till when the counter was no member of the tenant.
    select a.owner_type, a.owner_user_id, h.currency::text, 0, -e.amount, 0, 0, 0, 0
    from money.cash_handovers h
    join money.ledger_transactions t on t.tenant_id = h.tenant_id and t.kind in ('cash_shortage', 'cash_shortage_REVERSAL') and t.reference_id = h.id
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.created_at <= as_of
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'cash_on_hand'
    where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off')
    union all
    select t.from_owner_type, t.from_user_id, t.currency::text, 0, 0, t.amount, 0, 0, 0 from transfer t where t.from_owner_type is not null
    union all
    select coalesce(t.to_owner_type, 'staff'), t.to_user_id, t.currency::text, 0, 0, 0, t.amount, 0, 0 from transfer t
    where t.kind = 'handover' or t.to_owner_type is not null
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.driver_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.merchant_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select a.owner_type, a.owner_user_id, a.currency::text, 0, 0, 0, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'cash_on_hand'
  )
  select m.owner_type, m.user_id, m.currency, sum(m.remitted), sum(m.shortages), sum(m.given), sum(m.got),
    sum(m.paid), sum(m.remitted - m.shortages - m.given + m.got - m.paid), sum(m.ledger)
  from moved m group by m.owner_type, m.user_id, m.currency
$function$;

CREATE OR REPLACE FUNCTION money.lock_cash_desk(giver uuid, taker uuid, amount numeric, currency text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_held numeric := (money.lock_balances(array[giver, taker]) ->> giver::text)::numeric;
begin
  if v_held < amount and exists (
      select from money.accounts a where a.tenant_id = app.tenant_id() and a.id = giver and a.kind = 'cash_on_hand') then
    perform app.fail('insufficient_desk_cash', jsonb_build_object('held', v_held, 'currency', currency));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_of_payment(payment uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select p.account_id from money.payments p where p.tenant_id = app.tenant_id() and p.id = payment);
end $function$;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "cash_has_a_desk" CHECK ((((kind = ANY (ARRAY['bank_withdrawal'::text, 'wallet_deposit'::text])) = (to_owner_type IS NOT NULL)) AND ((to_owner_type IS NULL) = (from_owner_type IS NOT NULL)))) NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "cash_transfer_kind" CHECK ((kind = ANY (ARRAY['bank_deposit'::text, 'handover'::text, 'refund'::text, 'expense'::text, 'wallet_payout'::text, 'bank_withdrawal'::text, 'wallet_deposit'::text]))) NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "cash_transfers_tenant_id_payment_id_fkey" FOREIGN KEY (tenant_id, payment_id) REFERENCES money.payments(tenant_id, id) ON DELETE RESTRICT NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "cash_transfers_to_owner_type_check" CHECK ((to_owner_type = ANY (ARRAY['staff'::text, 'tenant'::text]))) NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "desk_has_its_user" CHECK ((((from_user_id IS NOT NULL) = (COALESCE(from_owner_type, 'tenant'::text) <> 'tenant'::text)) AND ((to_user_id IS NOT NULL) = ((kind = 'handover'::text) OR (COALESCE(to_owner_type, 'tenant'::text) <> 'tenant'::text))))) NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "expense_says_for_what" CHECK (((kind <> 'expense'::text) OR (notes IS NOT NULL))) NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "payout_has_receipt" CHECK (((kind <> 'wallet_payout'::text) OR (reference IS NOT NULL))) NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(kind) <= 1000) AND (octet_length(from_owner_type) <= 1000) AND (octet_length(reference) <= 1000) AND (octet_length(notes) <= 4000) AND (octet_length(idempotency_key) <= 1000) AND (octet_length(reversal_reason) <= 4000) AND (octet_length(to_owner_type) <= 1000))) NOT VALID;

ALTER TABLE "money"."cash_transfers" ADD CONSTRAINT "wallet_has_its_payment" CHECK (((kind = ANY (ARRAY['wallet_payout'::text, 'wallet_deposit'::text])) = (payment_id IS NOT NULL))) NOT VALID;

CREATE VIEW "money"."cash_transfers_list" WITH (security_invoker=true) AS  SELECT t.id,
    t.kind,
    t.from_owner_type,
        CASE
            WHEN (f.id IS NOT NULL) THEN jsonb_build_object('id', f.id, 'full_name', f.full_name)
            ELSE NULL::jsonb
        END AS from_user,
        CASE
            WHEN (g.id IS NOT NULL) THEN jsonb_build_object('id', g.id, 'full_name', g.full_name)
            ELSE NULL::jsonb
        END AS to_user,
    t.to_owner_type,
    t.refund_id,
        CASE
            WHEN (w.id IS NOT NULL) THEN jsonb_build_object('id', w.id, 'owner_type', w.owner_type, 'owner',
            CASE
                WHEN (o.id IS NOT NULL) THEN jsonb_build_object('id', o.id, 'full_name', o.full_name)
                ELSE NULL::jsonb
            END)
            ELSE NULL::jsonb
        END AS wallet,
    t.amount,
    t.currency,
    t.reference,
    t.notes,
    jsonb_build_object('id', t.actor_id, 'full_name', p.full_name) AS entered_by,
    t.created_at,
    t.reversed_at,
        CASE
            WHEN (t.reversed_by IS NOT NULL) THEN jsonb_build_object('id', t.reversed_by, 'full_name', r.full_name)
            ELSE NULL::jsonb
        END AS reversed_by,
    t.reversal_reason,
    t.from_user_id,
    t.to_user_id,
    f.full_name AS from_user_name,
    g.full_name AS to_user_name,
    w.id AS wallet_id,
    o.full_name AS wallet_owner_name
   FROM (((((((money.cash_transfers t
     LEFT JOIN money.payments m ON (((m.tenant_id = t.tenant_id) AND (m.id = t.payment_id))))
     LEFT JOIN money.accounts w ON (((w.tenant_id = m.tenant_id) AND (w.id = m.account_id))))
     LEFT JOIN tenancy.profiles o ON ((o.id = w.owner_user_id)))
     LEFT JOIN tenancy.profiles f ON ((f.id = t.from_user_id)))
     LEFT JOIN tenancy.profiles g ON ((g.id = t.to_user_id)))
     LEFT JOIN tenancy.profiles p ON ((p.id = t.actor_id)))
     LEFT JOIN tenancy.profiles r ON ((r.id = t.reversed_by)))
  WHERE (( SELECT money.settles_for_office() AS settles_for_office) OR ((( SELECT app.user_id() AS user_id) = t.from_user_id) OR (( SELECT app.user_id() AS user_id) = t.to_user_id)));

REVOKE ALL ON FUNCTION "money"."cash_desk_for"(uuid, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cash_desk_for"(uuid, text, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cash_transfer_accounts"(money.cash_transfers) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cash_transfer_accounts"(money.cash_transfers) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."counter_notify"(money.cash_transfers) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."counter_payment_add"(uuid, numeric, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."counter_payment_moved"(money.cash_transfers, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."counter_payment_post"(money.cash_transfers) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."counter_payment_reverse"(money.cash_transfers) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."counter_wallet"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."wallet_of_payment"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_of_payment"(uuid) TO "barid_caller";

GRANT SELECT ON TABLE "money"."cash_transfers_list" TO "barid_caller";

insert into integration.event_types (event_type, source_module, entity_type, event_data)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery.outcome}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason_code": "string?", "actor_id": "uuid?"}'),
  ('{delivery.postponed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "postponed_to": "string", "reason_code": "string", "actor_id": "uuid?"}'),
  ('{delivery.outcome_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.pickup_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.refund_due}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "amount": "number", "currency": "string", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "shortage": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_handover.resolved}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "resolution": "string", "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string?", "from_user_id": "uuid?", "to_owner_type": "string?",
      "to_user_id": "uuid?", "wallet_id": "uuid?", "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.reversed}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.opened}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "actor_id": "uuid?"}'),
  ('{merchant_statement.paid}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reference": "string?", "actor_id": "uuid"}'),
  ('{merchant_statement.reversed}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.voided}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "reason": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "missing": "integer", "damaged": "integer", "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill_return.refund_due}', 'warehousing', 'delivery',
    '{"delivery_id": "uuid", "waybill_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_return.refund_due}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "kind": "string", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due,order.fee_not_collected}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "refund_method": "string", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.deleted}', 'tenants', 'tenant', '{"tenant_id": "uuid", "files": "integer", "people": "integer", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129154818';
end $$;

grant execute on function private.schema_version() to barid_api;
