-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries, money.accounts, money.carrier_collections, money.cod_collections, tenancy.currencies, tenancy.profiles, tenancy.tenant_users, tenancy.tenants in share row exclusive mode;
      lock table money.wallets_list in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "money"."wallets_list";

DROP FUNCTION "money"."wallet_short"(money.accounts, numeric);

CREATE TABLE "money"."merchant_accounts" ("tenant_id" uuid NOT NULL, "account_id" uuid NOT NULL, "opening" numeric(18,3) NOT NULL DEFAULT 0, "opening_movement" bigint NOT NULL DEFAULT 0, "looked_to" bigint NOT NULL DEFAULT 0, "opened_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "looked_beyond_the_opening" CHECK (((looked_to >= opening_movement) AND (opening_movement >= 0))), CONSTRAINT "merchant_accounts_pkey" PRIMARY KEY (tenant_id, account_id));

ALTER TABLE "money"."merchant_accounts" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_accounts" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."merchant_payouts" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "statement_id" uuid NOT NULL, "owner_user_id" uuid NOT NULL, "method" text NOT NULL, "amount" numeric(18,3) NOT NULL, "currency" character(3) NOT NULL, "reference" text, "proof" text, "actor_id" uuid NOT NULL, "idempotency_key" text, "input_hash" bytea, "paid_at" timestamp with time zone NOT NULL DEFAULT now(), "reversed_at" timestamp with time zone, "reversed_by" uuid, "reversal_reason" text, CONSTRAINT "merchant_payout_key_used" UNIQUE (tenant_id, actor_id, idempotency_key), CONSTRAINT "merchant_payouts_amount_check" CHECK ((amount > (0)::numeric)), CONSTRAINT "merchant_payouts_method_check" CHECK ((method = ANY (ARRAY['cash'::text, 'bank'::text, 'gateway_transfer'::text]))), CONSTRAINT "merchant_payouts_pkey" PRIMARY KEY (id), CONSTRAINT "merchant_payouts_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "reversed_says_who_and_why" CHECK ((((reversed_at IS NULL) = (reversed_by IS NULL)) AND ((reversed_at IS NULL) = (reversal_reason IS NULL)))), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(method) <= 1000) AND (octet_length(reference) <= 1000) AND (octet_length(proof) <= 1000) AND (octet_length(idempotency_key) <= 1000) AND (octet_length(reversal_reason) <= 4000))));

ALTER TABLE "money"."merchant_payouts" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_payouts" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."merchant_pending" ("id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL, "tenant_id" uuid NOT NULL, "account_id" uuid NOT NULL, "movement" bigint NOT NULL, CONSTRAINT "merchant_pending_movement_check" CHECK ((movement >= 0)), CONSTRAINT "merchant_pending_pkey" PRIMARY KEY (id));

ALTER TABLE "money"."merchant_pending" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_pending" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."merchant_statement_lines" ("tenant_id" uuid NOT NULL, "statement_id" uuid NOT NULL, "position" integer NOT NULL, "account_id" uuid NOT NULL, "movement" bigint, "kind" text NOT NULL, "amount" numeric(18,3) NOT NULL, "delivery_id" uuid, "delivery_code" bigint, "external_reference_id" text, "collected_at" timestamp with time zone NOT NULL, "released_at" timestamp with time zone NOT NULL, CONSTRAINT "merchant_statement_lines_amount_check" CHECK ((amount <> (0)::numeric)), CONSTRAINT "merchant_statement_lines_kind_check" CHECK ((kind = ANY (ARRAY['cod'::text, 'delivery_fee'::text, 'refund'::text, 'adjustment'::text]))), CONSTRAINT "merchant_statement_lines_movement_check" CHECK ((movement >= 0)), CONSTRAINT "merchant_statement_lines_pkey" PRIMARY KEY (tenant_id, statement_id, "position"), CONSTRAINT "merchant_statement_lines_position_check" CHECK (("position" > 0)), CONSTRAINT "movement_already_stated" UNIQUE (tenant_id, statement_id, movement), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(kind) <= 1000) AND (octet_length(external_reference_id) <= 1000))));

ALTER TABLE "money"."merchant_statement_lines" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_statement_lines" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."merchant_statement_numbers" ("tenant_id" uuid NOT NULL, "last" bigint NOT NULL, CONSTRAINT "merchant_statement_numbers_last_check" CHECK ((last > 0)), CONSTRAINT "merchant_statement_numbers_pkey" PRIMARY KEY (tenant_id));

ALTER TABLE "money"."merchant_statement_numbers" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_statement_numbers" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."merchant_statements" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "number" bigint NOT NULL, "account_id" uuid NOT NULL, "owner_user_id" uuid NOT NULL, "currency" character(3) NOT NULL, "opened_at" timestamp with time zone NOT NULL DEFAULT now(), "opened_by" uuid, "period_from" timestamp with time zone NOT NULL, "period_to" timestamp with time zone NOT NULL, "gross_cod" numeric(18,3) NOT NULL, "fees" numeric(18,3) NOT NULL, "refunds" numeric(18,3) NOT NULL, "adjustments" numeric(18,3) NOT NULL, "net" numeric(18,3) NOT NULL, "lines" integer NOT NULL, "status" text NOT NULL DEFAULT 'open'::text, "payout_id" uuid, "confirmed_at" timestamp with time zone, "voided_at" timestamp with time zone, "voided_by" uuid, "void_reason" text, "cycle_day" date, CONSTRAINT "merchant_statements_lines_check" CHECK ((lines > 0)), CONSTRAINT "merchant_statements_net_check" CHECK ((net > (0)::numeric)), CONSTRAINT "merchant_statements_number_check" CHECK ((number > 0)), CONSTRAINT "merchant_statements_pkey" PRIMARY KEY (id), CONSTRAINT "merchant_statements_status_check" CHECK ((status = ANY (ARRAY['open'::text, 'paid'::text, 'void'::text]))), CONSTRAINT "merchant_statements_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "statement_already_made" UNIQUE (tenant_id, account_id, cycle_day), CONSTRAINT "statement_is_its_parts" CHECK ((net = (((gross_cod - fees) + refunds) + adjustments))), CONSTRAINT "statement_number_taken" UNIQUE (tenant_id, number), CONSTRAINT "statement_state" CHECK ((((status = 'paid'::text) = (payout_id IS NOT NULL)) AND ((confirmed_at IS NULL) OR (status = 'paid'::text)) AND ((status = 'void'::text) = (voided_at IS NOT NULL)) AND ((status = 'void'::text) = (voided_by IS NOT NULL)))), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(status) <= 1000) AND (octet_length(void_reason) <= 4000))));

ALTER TABLE "money"."merchant_statements" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_statements" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."wallet_holds" ("id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL, "tenant_id" uuid NOT NULL, "account_id" uuid NOT NULL, "reference_type" text NOT NULL, "reference_id" uuid NOT NULL, "step" integer NOT NULL, "amount" numeric(18,3) NOT NULL, "release" text NOT NULL, "due_at" timestamp with time zone NOT NULL, "counts_from" timestamp with time zone NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "hold_already_made" UNIQUE (tenant_id, reference_type, reference_id, step), CONSTRAINT "hold_counts_later" CHECK (((counts_from >= created_at) AND ((amount > (0)::numeric) OR (counts_from >= due_at)))), CONSTRAINT "hold_or_release" CHECK (((amount <> (0)::numeric) AND ((amount > (0)::numeric) = ((step % 2) = 1)))), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(reference_type) <= 1000) AND (octet_length(release) <= 1000))), CONSTRAINT "wallet_holds_pkey" PRIMARY KEY (id), CONSTRAINT "wallet_holds_reference_type_check" CHECK ((reference_type = ANY (ARRAY['cod_collection'::text, 'carrier_collection'::text]))), CONSTRAINT "wallet_holds_release_check" CHECK ((release = ANY (ARRAY['on_delivery'::text, 'on_remit'::text]))), CONSTRAINT "wallet_holds_step_check" CHECK ((step > 0)));

ALTER TABLE "money"."wallet_holds" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."wallet_holds" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_charge(orders private.item_order[])
 RETURNS private.item_order[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency text := (app.currency()).code;
  v_tenant_wallet uuid := money.account_of('wallet', 'tenant', null, v_currency);
  v_wallets jsonb;
  v_balances jsonb;
  v_balance numeric;
  v_order private.item_order;
  v_charged private.item_order[] := '{}';
begin
  if cardinality(orders) = 0 then
    return orders;
  end if;
  select jsonb_object_agg(o.owner, money.account_of('wallet', 'institution', o.owner, v_currency)) into v_wallets
  from (select distinct u.institution_user_id as owner from unnest(orders) u) o;
  v_balances := money.lock_balances((select array_agg(w.value::uuid) from jsonb_each_text(v_wallets) w) || v_tenant_wallet);

  foreach v_order in array orders loop
    if v_order.failure is null then
      v_order.wallet_id := v_wallets ->> v_order.institution_user_id::text;
      v_balance := v_balances ->> v_order.wallet_id::text;
      if v_balance < v_order.price then
        v_order.failure := 'insufficient_wallet_balance';
        v_order.failure_params := money.wallet_shortage(v_balance,
          money.wallet_held(v_order.wallet_id) + money.wallet_stated(v_order.wallet_id), v_order.price, v_currency);
      else
        v_balances := v_balances || jsonb_build_object(v_order.wallet_id, v_balance - v_order.price);
      end if;
    end if;
    v_charged := v_charged || v_order;
  end loop;

  perform money.post(coalesce((
    select jsonb_agg(jsonb_build_object('journal', o.payment_id, 'kind', 'delivery_fee', 'reference_type', 'payment',
        'reference_id', o.payment_id, 'description', 'Delivery ' || o.delivery_code,
        'account_id', e.account, 'amount', e.amount) order by o.position, e.amount)
    from unnest(v_charged) o
    cross join lateral (values (o.wallet_id, -o.price), (v_tenant_wallet, o.price)) e (account, amount)
    where o.failure is null and o.price > 0), '[]'));
  return v_charged;
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_changes_settle(changes private.order_change[], dry_run boolean)
 RETURNS private.order_change[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency text := (app.currency()).code;
  v_tenant uuid := app.tenant_id();
  v_tenant_wallet uuid;
  v_institution_wallets jsonb;
  v_balances jsonb;
  v_balance numeric;
  v_change private.order_change;
  v_settled private.order_change[] := '{}';
  v_debit_account uuid;
begin
  if not exists (select from unnest(changes) c where c.failure is null and c.difference <> 0) then
    return changes;
  end if;
  -- Both wallets exist: delivery.manifest_orders_charge opened them when it booked the order's first price.
  select jsonb_object_agg(a.owner_user_id, a.id) filter (where a.owner_type = 'institution'),
    min(a.id::text) filter (where a.owner_type = 'tenant'), jsonb_object_agg(a.id, a.balance - money.wallet_held(a.id) - money.wallet_stated(a.id))
  into v_institution_wallets, v_tenant_wallet, v_balances
  from money.accounts a
  where a.tenant_id = v_tenant and a.kind = 'wallet' and a.currency = v_currency and (
    a.owner_type = 'tenant'
    or (a.owner_type = 'institution' and a.owner_user_id = any (array(select distinct c.institution_user_id from unnest(changes) c))));
  if not dry_run then
    v_balances := money.lock_balances(array(select k::uuid from jsonb_object_keys(v_balances) k));
  end if;

  foreach v_change in array changes loop
    if v_change.failure is null and v_change.difference <> 0 then
      v_change.wallet_id := v_institution_wallets ->> v_change.institution_user_id::text;
      v_debit_account := case when v_change.difference > 0 then v_change.wallet_id else v_tenant_wallet end;
      v_balance := v_balances ->> v_debit_account::text;
      if v_balance < abs(v_change.difference) then
        v_change.failure := 'insufficient_wallet_balance';
        v_change.failure_params := money.wallet_shortage(v_balance,
          money.wallet_held(v_debit_account::uuid) + money.wallet_stated(v_debit_account::uuid), abs(v_change.difference), v_currency);
      else
        -- Refunds are not added to the available balance, so they cannot fund other changes of this batch.
        v_balances := v_balances || jsonb_build_object(v_debit_account, v_balance - abs(v_change.difference));
        v_change.new_payment_id := gen_random_uuid();
      end if;
    end if;
    v_settled := v_settled || v_change;
  end loop;

  if not dry_run then
    perform money.post(coalesce((
      select jsonb_agg(jsonb_build_object('journal', c.new_payment_id, 'kind', 'delivery_fee_change',
          'reference_type', 'payment', 'reference_id', c.new_payment_id, 'description', 'Delivery ' || c.delivery_code,
          'account_id', entry.account, 'amount', entry.amount)
        order by
          entry.amount > 0, -- debits first
          c.position)
      from unnest(v_settled) c
      cross join lateral (values (c.wallet_id, -c.difference), (v_tenant_wallet, c.difference)) entry (account, amount)
      where c.new_payment_id is not null), '[]'));
  end if;
  return v_settled;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel uuid := delivery.parcel_of(d);
  v_goes_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  select x.code, x.params into code, params from (values
    (1, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- The delivery moved on, or somebody else has it.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and a.status in ('pending', 'assigned', 'accepted') and a.id is distinct from o.assignment_id), jsonb_build_object('status', d.status)),
    -- A return made of it moved on, or was ordered since.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel
      and r.status <> 'cancelled' and r.created_at >= o.created_at and (r.created_at, r.status) is distinct from (o.created_at, 'picked_up')),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- It brought a parcel back, whose order ended with it.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_goes_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel, v_goes_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel, o.created_at), '{}')
  ) x (place, code, holds, params) where x.holds order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_book(d delivery.deliveries, stage text, kind text, row_id uuid, holder uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_due record := money.cash_due(d, stage);
  v_owner uuid;
  v_cash jsonb := jsonb_build_object('journal', 'cash', 'kind', 'cash_collected', 'reference_type', kind, 'reference_id', row_id,
    'description', 'Delivery ' || d.delivery_code);
  v_credit jsonb := v_cash || '{"journal": "cod", "kind": "cod_credit"}';
begin
  v_cash := jsonb_build_array(
    v_cash || jsonb_build_object('account_id', money.account_of('external', 'tenant', null, d.currency::text), 'amount', -(v_due.cod + v_due.delivery_fee)),
    v_cash || jsonb_build_object('account_id', holder, 'amount', v_due.cod + v_due.delivery_fee));
  if v_due.cod > 0 then
    v_owner := coalesce(money.owner_wallet(d), app.refuse('customer_required_for_cod'));
    v_cash := v_cash || jsonb_build_array(
      v_credit || jsonb_build_object('account_id', money.account_of('cod_clearing', 'tenant', null, d.currency::text), 'amount', -v_due.cod),
      v_credit || jsonb_build_object('account_id', v_owner, 'amount', v_due.cod));
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  select d.tenant_id, 'DELIVERY', p.type, 'SUCCESS', 'cash', p.amount, d.currency, p.account, d.id, app.user_id(), now()
  from (values ('COD_COLLECTION', v_due.cod, v_owner), ('DELIVERY_FEE', v_due.delivery_fee, null)) p (type, amount, account)
  where p.amount > 0;
  perform money.cod_hold(kind, row_id, v_owner, v_due.cod);
  perform money.post(v_cash);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_in(tenant uuid, kind text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select c.id from money.cod_collections c where kind = 'cod_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'collected'
    union all
    select c.id from money.carrier_collections c where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'owed';
end $function$;

REVOKE ALL ON FUNCTION "money"."cash_in"(uuid, text, uuid[]) FROM "barid_caller";

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
    perform money.reverse(v_kind, 'cod_collection', c.id, p_reason);
  end loop;
  return jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, carrier_code text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'driver_cash', p.driver_id, null::text, null::uuid, p.currency, p.in_hand, p.ledger, array(
      select c.id from money.cod_collections c
      where c.tenant_id = tenant and c.driver_id = p.driver_id and c.currency = p.currency and c.collected_at <= as_of
        and coalesce(c.remitted_at, c.settled_at, c.reversed_at, 'infinity') > as_of
      order by c.collected_at, c.id limit 100)
  from money.cod_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'collection_journal', c.driver_id, null, null, c.currency, n.taken, b.amount, array[c.id]
  from money.cod_collections c
  cross join lateral (select case when c.reversed_at <= as_of then 0 else c.amount end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = c.driver_id
    where t.tenant_id = tenant and t.kind in ('cash_collected', 'cash_collected_REVERSAL') and t.reference_type = 'cod_collection'
      and t.reference_id = c.id and t.created_at <= as_of
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and b.amount is distinct from n.taken
  union all
  select 'settlement_items', s.driver_id, null, null, s.currency, s.total, i.total, i.rows
  from money.cod_settlements s
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      bool_or(i.reversed_at is distinct from s.reversed_at) as torn, array_agg(i.cod_collection_id) as rows
    from money.cod_settlement_items i where i.tenant_id = tenant and i.payment_id = s.payment_id
  ) i on true
  where s.tenant_id = tenant and s.settled_at <= as_of
    and (s.total is distinct from i.total or s.fee_total is distinct from i.fees or s.collections is distinct from i.entries or i.torn)
  union all
  select 'settled_row', c.driver_id, null, null, c.currency, i.amount, c.amount, array[c.id]
  from money.cod_collections c
  left join money.cod_settlement_items i on i.tenant_id = c.tenant_id and i.cod_collection_id = c.id and i.reversed_at is null
  left join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
  where c.tenant_id = tenant and c.collected_at <= as_of and (
    i.payment_id is distinct from c.settlement_payment_id
    or (i.payment_id is not null and (i.amount <> c.amount or i.cod_amount <> c.cod_amount or s.driver_id <> c.driver_id
      or c.status <> case s.method when 'remit' then 'remitted' else 'settled_by_wallet' end)))
  union all
  select 'settlement_journal', s.driver_id, null, null, s.currency, n.taken, b.amount, array[s.payment_id]
  from money.cod_settlements s
  cross join lateral (select case when s.reversed_at <= as_of then 0 else -s.total end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = s.driver_id
    where t.tenant_id = tenant and t.kind in ('cod_settlement', 'cod_settlement_REVERSAL') and t.reference_type = 'payment'
      and t.reference_id = s.payment_id and t.created_at <= as_of
  ) b on true
  where s.tenant_id = tenant and s.settled_at <= as_of and not s.historical and b.amount is distinct from n.taken
  union all
  select 'driver_shortage', m.driver_id, null, null, m.currency, sum(m.open), sum(m.ledger), array_agg(m.id) filter (where m.id is not null)
  from (
    select s.driver_id, s.currency::text as currency, s.shortage as open, 0 as ledger, s.payment_id as id
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
      and (h.resolved_at is null or h.resolved_at > as_of)
    union all
    select a.owner_user_id, a.currency::text, 0, e.amount, null
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_shortage'
  ) m
  group by m.driver_id, m.currency having sum(m.open) <> sum(m.ledger)
  union all
  select 'cod_credit', null, null, null, r.currency, r.cod, p.paid, r.rows
  from (
    select c.currency, sum(c.cod) as cod, (array_agg(c.id order by c.collected_at desc, c.id) filter (where c.cod > 0 and not exists (
      select from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id and q.type = 'COD_COLLECTION'
        and q.status = 'SUCCESS' and q.amount = c.cod_amount)))[1:100] as rows
    from (
      select x.id, x.delivery_id, x.currency::text as currency, x.cod_amount, case when x.reversed_at <= as_of then 0 else x.cod_amount end as cod,
        x.collected_at from money.cod_collections x where x.tenant_id = tenant
      union all
      select x.id, x.delivery_id, x.currency::text, x.cod_amount, x.cod_amount, x.collected_at from money.carrier_collections x
      where x.tenant_id = tenant
    ) c
    where c.cod_amount > 0 and c.collected_at <= as_of group by c.currency
  ) r
  left join lateral (
    select coalesce(sum(q.amount), 0) as paid from money.payments q
    where q.tenant_id = tenant and q.type = 'COD_COLLECTION' and q.currency = r.currency and q.processed_at <= as_of
      -- Also one that counted then and was cancelled with its row since.
      and (q.status = 'SUCCESS' or q.status = 'CANCELLED' and exists (select from money.cod_collections x
        where x.tenant_id = tenant and x.delivery_id = q.delivery_id and x.collected_at = q.processed_at and x.reversed_at > as_of))
  ) p on true
  where r.cod <> p.paid
  union all
  select d.kind, d.driver_id, null, null, d.currency, d.expected, d.found, d.rows from money.reversed_differences(tenant, as_of) d
  union all
  select 'fee_change', null, null, null, p.currency, p.amount, b.paid, array[p.id]
  from money.payments p
  left join lateral (
    select -sum(e.amount) as paid from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
    where t.tenant_id = tenant and t.kind = 'delivery_fee_change' and t.reference_type = 'payment' and t.reference_id = p.id
  ) b on true
  where p.tenant_id = tenant and p.type = 'DELIVERY_FEE_CHANGE' and p.processed_at <= as_of and p.amount is distinct from b.paid
  union all
  select 'ledger', a.owner_user_id, a.carrier_code, null, a.currency, e.total, a.balance, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(e.amount), 0) as total, count(*) as entries from money.ledger_entries e
    where e.tenant_id = tenant and e.account_id = a.id
  ) e
  where a.tenant_id = tenant and (a.balance <> e.total or a.version <> e.entries)
  union all
  select d.kind, null, d.carrier_code, null, d.currency, d.expected, d.found, d.rows from money.carrier_differences(tenant, as_of) d
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.desk_differences(tenant, as_of) d
  union all
  select d.kind, d.driver_id, null, null, d.currency, d.expected, d.found, d.rows from money.driver_pay_differences(tenant, as_of) d
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.cod_hold_differences(tenant, as_of) d
$function$;

CREATE OR REPLACE FUNCTION money.cod_hold(kind text, row_id uuid, wallet uuid, amount numeric)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_rule record;
begin
  if amount <= 0 then
    return;
  end if;
  v_rule := money.payout_rule();
  if v_rule.release = 'on_delivery' and v_rule.due_at <= now() then
    return;
  end if;
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
  select a.tenant_id, a.id, cod_hold.kind, row_id, n.step, n.sign * cod_hold.amount, v_rule.release, v_rule.due_at,
    case n.sign when 1 then now() else v_rule.due_at end
  from money.accounts a
  -- Without cash to wait for it is released at once, from its day on.
  cross join (values (1, 1), (2, -1)) n (step, sign)
  where a.tenant_id = app.tenant_id() and a.id = wallet and money.may_be_held(a) and (n.sign = 1 or v_rule.release = 'on_delivery')
  order by n.step;
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_hold"(text, uuid, uuid, numeric) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_hold_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with one as materialized (
    select * from money.cod_holds_of(tenant, as_of)
  )
  select 'held_cash', a.owner_user_id, a.currency::text, sum(o.out_amount), sum(o.held),
    (array_agg(o.reference_id order by o.reference_id) filter (where o.out_amount <> o.held))[1:100]
  from one o join money.accounts a on a.tenant_id = tenant and a.id = o.account_id
  group by a.id, a.owner_user_id, a.currency having bool_or(o.out_amount <> o.held)
  union all
  select 'held_row', a.owner_user_id, a.currency, o.out_amount, o.held, array[o.reference_id]
  from one o join money.accounts a on a.tenant_id = tenant and a.id = o.account_id where not o.sound
  union all
  select 'held_total', a.owner_user_id, a.currency, s.total, t.total, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(h.amount), 0) as total from money.wallet_holds h where h.tenant_id = tenant and h.account_id = a.id) s
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from app.tallies x
    where x.tenant_id = tenant and x.tally = 'wallet_holds' and x.dims = array[a.id::text]) t
  where a.tenant_id = tenant and a.kind = 'wallet' and s.total <> t.total
$function$;

REVOKE ALL ON FUNCTION "money"."cod_hold_differences"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_hold_end(row_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  h money.wallet_holds;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = 'cod_collection' and x.reference_id = row_id order by x.step desc limit 1;
  if not found or (h.amount < 0 and h.counts_from <= now()) then
    return;
  end if;
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + n.step, n.sign * abs(h.amount), h.release,
    least(h.due_at, n.counts_from), n.counts_from
  -- A release for a later day is made up for by a hold from that day on.
  from (values (1, 1, h.counts_from), (2, -1, now())) n (step, sign, counts_from)
  where h.amount < 0
  union all
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, least(h.due_at, now()), now()
  where h.amount > 0;
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_hold_end"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_holds_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_ids uuid[];
begin
  for v_tenant, v_ids in
    select n.tenant_id, array_agg(n.id) from new_rows n group by n.tenant_id
  loop
    perform money.cod_holds_follow(v_tenant, tg_argv[0], v_ids);
  end loop;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_holds_changed"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_holds_follow(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_again uuid[];
begin
  with written as (
    insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
    select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, h.due_at,
      greatest(now(), h.counts_from, case when h.amount > 0 then h.due_at end)
    from (
      select distinct on (x.reference_id) x.* from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery'
        -- Nothing is held any more of a row that is reversed (money.cod_hold_end).
        and not exists (select from money.cod_collections c
          where kind = 'cod_collection' and c.tenant_id = tenant and c.id = x.reference_id and c.reversed_at is not null)
      order by x.reference_id, x.step desc
    ) h
    left join money.cash_in(tenant, kind, ids) i (id) on i.id = h.reference_id
    where (h.amount > 0) = (i.id is not null)
    order by h.reference_id
    returning reference_id, amount
  )
  select array_agg(w.reference_id) into v_again from written w where w.amount > 0;
  -- COD that is held again may be on a statement already. What is released was held, so the next statement looks at it anyway.
  if v_again is not null then
    perform money.movements_pend(tenant, kind, v_again);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_holds_follow"(uuid, text, uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_holds_of(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(reference_id uuid, account_id uuid, carrier boolean, out_amount numeric, held numeric, later numeric, sound boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with held as (
    select h.reference_type, h.reference_id, (array_agg(h.account_id order by h.step))[1] as account_id, min(h.release) as release,
      sum(h.amount) as held, coalesce(-sum(h.amount) filter (where h.counts_from > as_of), 0) as later,
      count(*) = max(h.step) and count(distinct h.account_id) = 1 and count(distinct abs(h.amount)) = 1 as sound, max(h.amount) as amount
    from money.wallet_holds h where h.tenant_id = tenant and h.created_at <= as_of
    group by h.reference_type, h.reference_id
  ), taken as (
    select c.id, 'cod_collection' as kind, c.delivery_id, c.cod_amount, (c.reversed_at is null or c.reversed_at > as_of) and not exists (
        select from money.cod_settlement_items i
        join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
        where i.tenant_id = tenant and i.cod_collection_id = c.id and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)) as is_out
    from money.cod_collections c
    where c.tenant_id = tenant and c.id in (select h.reference_id from held h where h.reference_type = 'cod_collection')
    union all
    select c.id, 'carrier_collection', c.delivery_id, c.cod_amount, c.id not in (select p.carrier_collection_id from money.carrier_paid(tenant, as_of) p)
    from money.carrier_collections c
    where c.tenant_id = tenant and c.id in (select h.reference_id from held h where h.reference_type = 'carrier_collection')
  )
  select h.reference_id, h.account_id, h.reference_type = 'carrier_collection',
    case when h.release <> 'on_delivery' and t.is_out then t.cod_amount else 0 end, h.held, h.later,
    coalesce(h.sound and h.amount = t.cod_amount and exists (
      select from money.payments p where p.tenant_id = tenant and p.delivery_id = t.delivery_id and p.type = 'COD_COLLECTION'
        and p.account_id = h.account_id), false)
  from held h
  left join taken t on t.kind = h.reference_type and t.id = h.reference_id
$function$;

REVOKE ALL ON FUNCTION "money"."cod_holds_of"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_holds_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(w) order by w.user_name, w.user_id, w.currency), '[]')
    from (
      select a.id as wallet_id, a.owner_user_id as user_id, p.full_name as user_name, a.currency,
        coalesce(sum(o.out_amount) filter (where not o.carrier), 0) as in_hand, coalesce(sum(o.out_amount) filter (where o.carrier), 0) as with_carriers,
        sum(o.held) as held, sum(o.later) as waiting
      from money.cod_holds_of(app.tenant_id(), as_of) o
      join money.accounts a on a.tenant_id = app.tenant_id() and a.id = o.account_id
      left join tenancy.profiles p on p.id = a.owner_user_id
      group by a.id, a.owner_user_id, p.full_name, a.currency
      having sum(o.held) <> 0 or sum(o.later) <> 0 or sum(o.out_amount) <> 0
    ) w);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_reconciliation(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_as_of timestamptz := coalesce(app.day_end(input ->> 'as_of') - interval '1 microsecond', now());
  v_drivers jsonb;
  v_totals jsonb;
  v_differences jsonb;
begin
  with position as materialized (
    select * from money.cod_positions(v_tenant, v_as_of)
  )
  select coalesce((select jsonb_agg(to_jsonb(p) || jsonb_build_object('driver_name', q.full_name) order by q.full_name, p.driver_id, p.currency)
      from position p left join tenancy.profiles q on q.id = p.driver_id), '[]'),
    coalesce((select jsonb_agg(to_jsonb(t) order by t.currency) from (
      select x.currency, sum(x.collected) as collected, sum(x.in_hand) as in_hand, sum(x.remitted) as remitted,
        sum(x.settled_by_wallet) as settled_by_wallet, sum(x.ledger) as ledger
      from position x group by x.currency) t), '[]')
  into v_drivers, v_totals;
  select coalesce(jsonb_agg(to_jsonb(d) order by d.kind, d.driver_id, d.carrier_code, d.user_id, d.rows), '[]') into v_differences
  from money.cod_differences(v_tenant, v_as_of) d;
  return jsonb_build_object('as_of', v_as_of, 'reconciled', v_differences = '[]', 'totals', v_totals, 'drivers', v_drivers,
    'carriers', money.carriers_reconciled(v_as_of), 'desks', money.desks_reconciled(v_as_of), 'driver_pay', money.driver_pay_reconciled(v_as_of),
    'held', money.cod_holds_reconciled(v_as_of), 'differences', v_differences);
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_change(p_delivery uuid, difference numeric, dry_run boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_owner uuid;
  v_wallet uuid;
  v_payment uuid := gen_random_uuid();
  v_payer money.accounts;
  v_held numeric;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  v_owner := coalesce(d.institution_user_id, d.customer_id);
  if difference = 0 then
    return;
  elsif v_owner is null then
    perform app.fail('customer_required_for_wallet', '{"field": "charge"}');
  elsif dry_run then
    select * into v_payer from money.accounts a
    where a.tenant_id = d.tenant_id and a.kind = 'wallet' and a.currency = d.currency and (difference > 0 and a.owner_user_id = v_owner
      and a.owner_type = case when d.institution_user_id is null then 'customer' else 'institution' end
      or difference < 0 and a.owner_type = 'tenant');
    v_held := coalesce(money.unavailable_of(v_payer), 0);
    if coalesce(v_payer.balance, 0) - v_held < abs(difference) then
      perform money.wallet_short(v_payer, -abs(difference), v_held);
    end if;
    return;
  end if;
  v_wallet := money.owner_wallet(d);
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  values (v_payment, d.tenant_id, 'DELIVERY', 'DELIVERY_FEE_CHANGE', 'SUCCESS', 'wallet', difference, d.currency, v_wallet, d.id, app.user_id(), now());
  perform money.post_journal('delivery_fee_change', 'payment', v_payment, 'Delivery ' || d.delivery_code,
    array[v_wallet, money.account_of('wallet', 'tenant', null, d.currency::text)], array[-difference, difference]);
end $function$;

CREATE OR REPLACE FUNCTION money.desk_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'desk_cash', p.user_id, p.currency, p.in_hand, p.ledger, array(
      select x.id from (
        select s.payment_id as id, s.settled_at as at from money.cod_settlements s
        where s.tenant_id = tenant and s.method = 'remit' and s.receiver_id = p.user_id and s.currency = p.currency
          and p.owner_type = case when s.receiver_id = s.driver_id then 'driver' else 'staff' end
        union all
        select r.id, r.remitted_at from money.carrier_remittances r
        where r.tenant_id = tenant and p.owner_type = 'tenant' and r.currency = p.currency
        union all
        select h.id, h.resolved_at from money.cash_handovers h
        where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off') and h.currency = p.currency
          and h.counted_by = p.user_id
        union all
        select t.id, t.created_at from money.cash_transfers t
        where t.tenant_id = tenant and t.currency = p.currency and (
          t.from_owner_type = p.owner_type and t.from_user_id is not distinct from p.user_id
          or p.owner_type = 'staff' and t.to_user_id = p.user_id)
        union all
        select t.id, t.paid_at from money.driver_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
        union all
        select t.id, t.paid_at from money.merchant_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
      ) x where x.at <= as_of order by x.at desc, x.id limit 100)
  from money.desk_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'cash_transfer_journal', t.from_user_id, t.currency, e.taken, b.taken, array[t.id]
  from money.cash_transfers t
  cross join lateral (
    select case when t.reversed_at <= as_of then 0 else -t.amount end as taken, case when t.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount) filter (where a.kind = 'cash_on_hand' and a.owner_type = t.from_owner_type
        and a.owner_user_id is not distinct from t.from_user_id), 0) as taken,
      coalesce(sum(l.amount) filter (where case t.kind when 'handover'
        then a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.to_user_id else a.kind = 'external' end), 0) as brought,
      count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id and l.currency = t.currency
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id
    where j.tenant_id = tenant and j.kind in ('cash_transfer', 'cash_transfer_REVERSAL') and j.reference_type = 'cash_transfer'
      and j.reference_id = t.id and j.created_at <= as_of
  ) b on true
  where t.tenant_id = tenant and t.created_at <= as_of
    and (b.taken, b.brought, b.journals) is distinct from (e.taken, -e.taken, e.journals::bigint)
$function$;

CREATE OR REPLACE FUNCTION money.desk_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(owner_type text, user_id uuid, currency text, remitted numeric, shortages numeric, transferred_out numeric, transferred_in numeric, paid_out numeric, in_hand numeric, ledger numeric)
 LANGUAGE sql
 STABLE SECURITY DEFINER
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
    where r.tenant_id = tenant and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
    union all
    -- Whose desk it was is what the journal says: the counter's, or the till when the counter is no member of the tenant.
    select a.owner_type, a.owner_user_id, h.currency::text, 0, h.declared_amount - h.counted_amount, 0, 0, 0, 0
    from money.cash_handovers h
    join money.ledger_transactions t on t.tenant_id = h.tenant_id and t.kind = 'cash_shortage' and t.reference_id = h.id
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'cash_on_hand'
    where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off') and h.resolved_at <= as_of
    union all
    select t.from_owner_type, t.from_user_id, t.currency::text, 0, 0, t.amount, 0, 0, 0 from transfer t
    union all
    select 'staff', t.to_user_id, t.currency::text, 0, 0, 0, t.amount, 0, 0 from transfer t where t.kind = 'handover'
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

CREATE OR REPLACE FUNCTION money.held_of(tenant uuid, account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((select sum(t.amount) from app.tallies t where t.tenant_id = tenant and t.tally = 'wallet_holds' and t.dims = array[account::text]), 0)
    - coalesce((select sum(h.amount) from money.wallet_holds h
      where h.tenant_id = tenant and h.account_id = account and h.counts_from > h.created_at and h.counts_from > now()), 0);
end $function$;

REVOKE ALL ON FUNCTION "money"."held_of"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.kept_of(tenant uuid, account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(-sum(l.amount), 0) from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id and s.status <> 'void'
    where l.tenant_id = kept_of.tenant and l.account_id = account and l.movement is null);
end $function$;

REVOKE ALL ON FUNCTION "money"."kept_of"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.lock_balances(account_ids uuid[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_locked money.accounts[];
begin
  perform money.require_core();
  select array_agg(a) into v_locked from (
    select l.* from money.accounts l
    where l.tenant_id = app.tenant_id() and l.id = any (account_ids) order by l.id for no key update
  ) a;
  -- A query of its own: what was held and stated until the lock was had counts.
  return (
    select coalesce(jsonb_object_agg(a.id, a.balance - money.unavailable_of(a)), '{}')
    from unnest(v_locked) a);
end $function$;

CREATE OR REPLACE FUNCTION money.lock_statement(p_id uuid)
 RETURNS money.merchant_statements
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  s money.merchant_statements;
begin
  select x.* into s from money.merchant_statements x
  where x.tenant_id = app.tenant_id() and x.id = p_id and (app.sees_tenant() or x.owner_user_id = app.user_id()) for no key update;
  if s.id is null then
    perform app.fail('statement_not_found');
  end if;
  return s;
end $function$;

CREATE OR REPLACE FUNCTION money.may_be_held(a money.accounts)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return a.kind = 'wallet' and a.owner_type in ('customer', 'institution');
end $function$;

REVOKE ALL ON FUNCTION "money"."may_be_held"(money.accounts) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.merchant_payout_check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_amount numeric := case when new.reversed_at is null then new.amount else 0 end;
  v_wallet numeric;
  v_desk numeric;
  v_short boolean;
begin
  select coalesce(sum(e.amount) filter (where a.kind = 'wallet' and a.owner_user_id = new.owner_user_id), 0),
    coalesce(sum(e.amount) filter (where a.kind = 'cash_on_hand'), 0),
    bool_or(a.kind = 'cash_on_hand' and e.amount < 0 and e.balance_after < 0) into v_wallet, v_desk, v_short
  from money.ledger_transactions j
  join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
  where j.tenant_id = new.tenant_id and j.reference_type = 'merchant_payout' and j.reference_id = new.id
    and j.kind in ('merchant_payout', 'merchant_payout_cash', 'merchant_payout_REVERSAL', 'merchant_payout_cash_REVERSAL');
  if v_wallet <> -v_amount or v_desk <> (case new.method when 'cash' then -v_amount else 0 end) then
    raise exception 'payout % has no journal of its amount', new.id using errcode = 'check_violation', constraint = 'merchant_payout_booked';
  elsif v_short then
    raise exception 'payout % takes more than the desk holds', new.id using errcode = 'check_violation', constraint = 'insufficient_desk_cash';
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."merchant_payout_check"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.merchant_payout_desk(t money.merchant_payouts)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select a.id from money.accounts a
    where a.tenant_id = t.tenant_id and a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id and a.currency = t.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.merchant_statement_check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  s money.merchant_statements;
  v_sums record;
begin
  select x.* into s from money.merchant_statements x where x.tenant_id = new.tenant_id and x.id = new.id;
  select count(*) as lines, coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0) as cod,
    coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0) as fees, coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0) as refunds,
    coalesce(sum(l.amount), 0) as net, bool_and(l.account_id = s.account_id) as own into v_sums
  from money.merchant_statement_lines l where l.tenant_id = s.tenant_id and l.statement_id = s.id;
  if (v_sums.lines, v_sums.cod, v_sums.fees, v_sums.refunds, v_sums.net, v_sums.own)
      is distinct from (s.lines::bigint, s.gross_cod, s.fees, s.refunds, s.net, true) then
    raise exception 'statement % is not the sum of its lines', s.id using errcode = 'check_violation', constraint = 'statement_is_its_lines';
  elsif s.status = 'paid' and not exists (select from money.merchant_payouts p where p.tenant_id = s.tenant_id and p.id = s.payout_id
      and p.statement_id = s.id and p.amount = s.net and p.reversed_at is null) then
    raise exception 'statement % has no payout of its net', s.id using errcode = 'check_violation', constraint = 'statement_has_payout';
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."merchant_statement_check"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.merchant_wallet(owner uuid, currency text)
 RETURNS money.accounts
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_wallet money.accounts;
begin
  select a.* into v_wallet from money.accounts a
  join tenancy.tenant_users u on u.tenant_id = a.tenant_id and u.user_id = a.owner_user_id
  where a.tenant_id = app.tenant_id() and a.owner_user_id = merchant_wallet.owner and a.currency = merchant_wallet.currency
    and money.may_be_held(a)
  order by a.owner_type = u.tenant_user_type desc, a.id limit 1;
  return v_wallet;
end $function$;

REVOKE ALL ON FUNCTION "money"."merchant_wallet"(uuid, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.movement_kind(journal text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return case regexp_replace(journal, '_REVERSAL$', '')
    when 'cod_credit' then 'cod'
    when 'delivery_fee' then 'delivery_fee'
    when 'delivery_fee_change' then 'delivery_fee'
    when 'delivery_fee_refund' then 'refund'
    when 'order_refund' then 'refund'
    when 'merchant_payout' then null
    else 'adjustment' end;
end $function$;

CREATE OR REPLACE FUNCTION money.movements_pend(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select e.tenant_id, e.account_id, e.version
  from money.ledger_transactions t
  join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet'
  where t.tenant_id = movements_pend.tenant and t.kind = 'cod_credit' and t.reference_type = movements_pend.kind
    and t.reference_id = any (ids)
  order by e.id;
end $function$;

REVOKE ALL ON FUNCTION "money"."movements_pend"(uuid, text, uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.payout_rule(OUT release text, OUT due_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_rule jsonb := app.settings('delivery', 'payouts');
  v_days integer := coalesce((v_rule ->> 'hold_days')::integer, 0);
  v_zone text;
begin
  release := coalesce(v_rule ->> 'release', 'on_delivery');
  due_at := now();
  if v_days > 0 then
    v_zone := app.timezone();
    due_at := ((now() at time zone v_zone)::date + v_days)::timestamp at time zone v_zone;
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."payout_rule"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.pays_by_bank()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.grants() && '{role:tenant_admin,role:operations_manager,role:system_admin}';
end $function$;

CREATE OR REPLACE FUNCTION money.post(postings jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_accounts uuid[];
  v_locked money.accounts[];
  v_booked integer;
begin
  perform money.require_core();
  select array_agg(distinct (p ->> 'account_id')::uuid) into v_accounts from jsonb_array_elements(postings) p;
  if v_accounts is null then
    return;
  end if;
  perform money.amounts_exact((select array_agg((p ->> 'amount')::numeric) from jsonb_array_elements(postings) p));
  -- Kept aside: joined below, the table would be read for all accounts of the tenant.
  select array_agg(l) into v_locked from (
    select a.* from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts) order by a.id for no key update) l;
  if cardinality(v_locked) is distinct from cardinality(v_accounts) then
    perform app.fail('wallet_not_found');
  end if;

  with line as (
    select p.line, p.posting ->> 'journal' as journal, p.posting, (p.posting ->> 'account_id')::uuid as account_id,
      (p.posting ->> 'amount')::numeric(18, 3) as amount
    from jsonb_array_elements(postings) with ordinality p (posting, line)
  ), named as materialized (
    select gen_random_uuid() as id, f.journal, f.posting
    from (select distinct on (l.journal) l.journal, l.posting from line l order by l.journal, l.line) f
  ), journal as (
    insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, description, actor_id)
    select n.id, v_tenant, n.posting ->> 'kind', n.posting ->> 'reference_type', (n.posting ->> 'reference_id')::uuid,
      n.posting ->> 'description', v_actor
    from named n
    returning id
  ), entry as (
    insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
    select v_tenant, j.id, l.account_id, l.amount, a.currency,
      a.balance + sum(l.amount) over running, a.version + count(*) over running
    from line l
    join named n on n.journal is not distinct from l.journal
    join journal j on j.id = n.id
    join unnest(v_locked) a on a.id = l.account_id
    window running as (partition by l.account_id order by l.line rows unbounded preceding)
    order by l.line
    returning account_id, amount
  )
  update money.accounts a set balance = a.balance + e.total, version = a.version + e.entries
  from (select account_id, sum(amount) as total, count(*) as entries from entry group by account_id) e
  where a.tenant_id = v_tenant and a.id = e.account_id and (a.floor is null or a.balance + e.total >= a.floor);
  get diagnostics v_booked = row_count;
  if v_booked < cardinality(v_accounts) then
    perform money.wallet_short(a, s.total)
    from unnest(v_locked) a
    join (select (p ->> 'account_id')::uuid as account_id, sum((p ->> 'amount')::numeric) as total
      from jsonb_array_elements(postings) p group by 1) s on s.account_id = a.id
    where a.floor is not null and a.balance + s.total < a.floor order by a.id;
  elsif exists (select from unnest(v_locked) a where a.kind = 'wallet' and a.owner_type in ('customer', 'institution')) then
    perform money.require_available(a, s.total)
    from unnest(v_locked) a
    join (select (p ->> 'account_id')::uuid as account_id, sum((p ->> 'amount')::numeric) as total
      from jsonb_array_elements(postings) p group by 1) s on s.account_id = a.id
    where s.total < 0 order by a.id;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.post_journal(kind text, reference_type text, reference_id uuid, description text, account_ids uuid[], amounts numeric[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_journal uuid := gen_random_uuid();
  v_line record;
  v_account money.accounts;
  v_short money.accounts;
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
    insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
    values (v_tenant, v_journal, v_line.account_id, v_line.amount, v_account.currency, v_account.balance, v_account.version);
    if v_line.amount < 0 then
      v_account.balance := v_account.balance - v_line.amount;
      perform money.require_available(v_account, v_line.amount, kind);
    end if;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION money.require_available(a money.accounts, change numeric, journal text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_held numeric;
begin
  if not money.may_be_held(a) then
    return;
  end if;
  v_held := case when journal = 'merchant_payout' then money.held_of(a.tenant_id, a.id) else money.unavailable_of(a) end;
  if v_held <> 0 and a.balance + change - v_held < a.floor then
    if journal = 'merchant_payout' then
      perform app.fail('statement_not_covered', jsonb_build_object('balance', a.balance, 'held', v_held, 'required', -change, 'currency', a.currency));
    end if;
    perform money.wallet_short(a, change, v_held);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."require_available"(money.accounts, numeric, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.stated_of(tenant uuid, account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((select sum(s.net) from money.merchant_statements s
    where s.tenant_id = tenant and s.account_id = account and s.status = 'open'), 0);
end $function$;

REVOKE ALL ON FUNCTION "money"."stated_of"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.stated_since(p_parcel uuid, p_since timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id
    where l.tenant_id = app.tenant_id() and l.delivery_id = p_parcel and l.collected_at >= p_since and s.status in ('open', 'paid'));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_confirm(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_confirm_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_confirm_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
begin
  if s.owner_user_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  elsif s.status <> 'paid' then
    perform app.fail('statement_not_paid', jsonb_build_object('from', s.status));
  end if;
  update money.merchant_statements x set confirmed_at = now() where x.tenant_id = s.tenant_id and x.id = s.id and x.confirmed_at is null;
  return s.id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_event_emit(event_type text, s money.merchant_statements, more jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'delivery',
    'entity_type', 'merchant_statement', 'entity_id', s.id, 'event_data', jsonb_build_object('statement_id', s.id,
      'number', money.statement_number(s.number), 'owner_user_id', s.owner_user_id, 'net', s.net, 'currency', s.currency, 'count', s.lines,
      'actor_id', app.user_id()) || more)));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  return jsonb_build_object('statement', app.found(money.statement_to_json(v_id), 'statement_not_found') || jsonb_build_object('lines', (
    select coalesce(jsonb_agg(jsonb_build_object('delivery', case when l.delivery_id is not null then jsonb_build_object('id', l.delivery_id,
        'delivery_code', l.delivery_code, 'external_reference_id', l.external_reference_id) end, 'kind', l.kind, 'amount', l.amount,
        'collected_at', l.collected_at, 'released_at', l.released_at) order by l.position), '[]')
    from money.merchant_statement_lines l where l.tenant_id = app.tenant_id() and l.statement_id = v_id)));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_make(p_wallet uuid, p_until timestamp with time zone, p_cycle_day date DEFAULT NULL::date)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
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
  s money.merchant_statements;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = p_wallet for no key update;
  select m.* into v_marks from money.merchant_accounts m where m.tenant_id = v_tenant and m.account_id = p_wallet;
  v_rule := money.statement_rule(v_wallet.currency::text);
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
  if coalesce(v_net, 0) <= 0 or v_net < v_rule.minimum or p_cycle_day is not null and v_cod is not true then
    return null;
  end if;
  v_looked_to := coalesce(v_looked_to, v_wallet.version);
  insert into money.merchant_statements (tenant_id, number, account_id, owner_user_id, currency, opened_by, period_from, period_to, gross_cod, fees,
    refunds, adjustments, net, lines, cycle_day)
  select v_tenant, money.statement_number_next(), p_wallet, v_wallet.owner_user_id, v_wallet.currency, app.user_id(),
    least(coalesce((select max(x.period_to) from money.merchant_statements x where x.tenant_id = v_tenant and x.account_id = p_wallet and x.status <> 'void'),
      v_marks.opened_at, v_wallet.created_at), least(p_until, now())), least(p_until, now()),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), v_net, count(*), p_cycle_day
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

REVOKE ALL ON FUNCTION "money"."statement_make"(uuid, timestamp with time zone, date) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_movements(p_tenant uuid, p_account uuid, p_looked_to bigint, p_until timestamp with time zone)
 RETURNS TABLE(movement bigint, kind text, amount numeric, stated boolean, settled boolean, early boolean, happened_at timestamp with time zone, released_at timestamp with time zone, delivery_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select e.version as movement from money.ledger_entries e where e.account_id = p_account and e.version > p_looked_to
    union
    select p.movement from money.merchant_pending p where p.tenant_id = p_tenant and p.account_id = p_account
  ), moved as (
    select w.movement, money.movement_kind(t.kind) as kind, e.amount as whole, e.created_at as happened_at, t.reference_type, t.reference_id,
      t.kind = 'cod_credit' as holdable
    from wanted w
    join money.ledger_entries e on e.account_id = p_account and e.version = w.movement
    join money.ledger_transactions t on t.tenant_id = p_tenant and t.id = e.transaction_id
    where money.movement_kind(t.kind) is not null
    union all
    select 0::bigint, 'adjustment', m.opening, m.opened_at, null, null, false
    from wanted w
    join money.merchant_accounts m on m.tenant_id = p_tenant and m.account_id = p_account
    where w.movement = 0
  ), said as materialized (
    select l.movement, sum(l.amount) as said
    from money.merchant_statement_lines l
    join money.merchant_statements o on o.tenant_id = l.tenant_id and o.id = l.statement_id and o.status <> 'void'
    where l.tenant_id = p_tenant and l.account_id = p_account and l.movement in (select w.movement from wanted w)
    group by l.movement
  )
  select m.movement, m.kind, case when m.happened_at < p_until then m.whole - h.held - coalesce(s.said, 0) else 0 end, s.movement is not null,
    m.happened_at < p_until and h.held = 0, m.happened_at < p_until, m.happened_at, greatest(m.happened_at, h.released_at),
    coalesce(p.delivery_id, c.delivery_id, r.delivery_id)
  from moved m
  cross join lateral (
    select coalesce(sum(x.amount) filter (where x.counts_from <= x.created_at or x.counts_from <= now()), 0) as held,
      max(x.counts_from) filter (where x.amount < 0 and (x.counts_from <= x.created_at or x.counts_from <= now())) as released_at
    from money.wallet_holds x
    where m.holdable and x.tenant_id = p_tenant and x.reference_type = m.reference_type and x.reference_id = m.reference_id
  ) h
  left join said s on s.movement = m.movement
  left join money.payments p on m.reference_type = 'payment' and p.tenant_id = p_tenant and p.id = m.reference_id
  left join money.cod_collections c on m.reference_type = 'cod_collection' and c.tenant_id = p_tenant and c.id = m.reference_id
  left join money.carrier_collections r on m.reference_type = 'carrier_collection' and r.tenant_id = p_tenant and r.id = m.reference_id;
end $function$;

REVOKE ALL ON FUNCTION "money"."statement_movements"(uuid, uuid, bigint, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_number(number bigint)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return 'MS-' || lpad(number::text, greatest(6, length(number::text)), '0');
end $function$;

CREATE OR REPLACE FUNCTION money.statement_number_next()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_number bigint;
begin
  insert into money.merchant_statement_numbers as n (tenant_id, last) values (app.tenant_id(), 1)
  on conflict (tenant_id) do update set last = n.last + 1
  returning n.last into v_number;
  return v_number;
end $function$;

REVOKE ALL ON FUNCTION "money"."statement_number_next"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_open(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_open_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
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
  v_wallet money.accounts;
  v_id uuid;
begin
  if not exists (select from tenancy.tenant_users u where u.tenant_id = app.tenant_id() and u.user_id = v_owner
      and u.tenant_user_type in ('customer', 'institution')) then
    perform app.fail('merchant_not_found', '{"field": "owner_user_id"}');
  end if;
  v_wallet := money.merchant_wallet(v_owner, v_currency);
  if v_wallet.id is not null then
    v_id := money.statement_make(v_wallet.id, coalesce(app.day_end(input ->> 'date_to'), 'infinity'));
  end if;
  if v_id is null then
    perform app.fail('statement_below_minimum', jsonb_build_object('minimum', (money.statement_rule(v_currency)).minimum, 'currency', v_currency));
  end if;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_pay(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_pay_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $function$;

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
  if v_wallet.balance - money.held_of(v_tenant, v_wallet.id) < s.net then
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

CREATE OR REPLACE FUNCTION money.statement_reverse(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_reverse_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
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
    perform money.reverse('merchant_payout_cash', 'merchant_payout', t.id, input ->> 'reason');
  end if;
  perform money.reverse('merchant_payout', 'merchant_payout', t.id, input ->> 'reason');
  return s.id;
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
  keep := coalesce((v_rule ->> 'keep')::numeric, 0);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_to_json(p_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select to_jsonb(r) - '{owner_user_id,owner_name,sequence}'::text[] from money.merchant_statements_list r where r.id = p_id);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_void(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_void_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_void_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
begin
  if s.status <> 'open' then
    perform app.fail('statement_not_open', jsonb_build_object('from', s.status));
  end if;
  update money.merchant_statements x set status = 'void', voided_at = now(), voided_by = app.user_id(), void_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = s.id;
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select l.tenant_id, l.account_id, l.movement from money.merchant_statement_lines l
  where l.tenant_id = v_tenant and l.statement_id = s.id and l.movement is not null;
  return s.id;
end $function$;

CREATE OR REPLACE FUNCTION money.unavailable_of(a money.accounts)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return case when money.may_be_held(a) then money.held_of(a.tenant_id, a.id) + money.stated_of(a.tenant_id, a.id) else 0 end;
end $function$;

REVOKE ALL ON FUNCTION "money"."unavailable_of"(money.accounts) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.wallet_held(account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  if not exists (select from money.accounts a where a.tenant_id = v_tenant and a.id = account and (app.sees_tenant() or a.owner_user_id = app.user_id())) then
    return 0;
  end if;
  return money.held_of(v_tenant, account);
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_short(a money.accounts, change numeric, held numeric DEFAULT 0)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.fail('insufficient_wallet_balance', case
    when a.kind = 'wallet' and (a.owner_user_id = app.user_id() or app.has_permission('manage:operations:tenant'))
      then money.wallet_shortage(a.balance - held, held, -change, a.currency)
    else '{}' end);
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_shortage(available numeric, held numeric, required numeric, currency text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('text_key', 'reason_wallet_holds', 'balance', available + held, 'required', required, 'currency', currency)
    || case when held <> 0 then jsonb_build_object('text_key', 'reason_wallet_available', 'available', available) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION money.wallet_stated(account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  if not exists (select from money.accounts a where a.tenant_id = v_tenant and a.id = account and (app.sees_tenant() or a.owner_user_id = app.user_id())) then
    return 0;
  end if;
  return money.stated_of(v_tenant, account);
end $function$;

CREATE OR REPLACE FUNCTION private.tally_wallet_holds()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'wallet_holds', array[coalesce(c.account_id::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'wallet_holds', array[coalesce(c.account_id::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select -1 as d, o.* from old_rows o
          where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      else
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'wallet_holds', array[coalesce(c.account_id::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      end if;
      return null;
    end $function$;

ALTER TABLE "money"."merchant_accounts" ADD CONSTRAINT "merchant_accounts_tenant_id_account_id_fkey" FOREIGN KEY (tenant_id, account_id) REFERENCES money.accounts(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_payouts" ADD CONSTRAINT "merchant_payouts_actor_id_fkey" FOREIGN KEY (actor_id) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_payouts" ADD CONSTRAINT "merchant_payouts_currency_fkey" FOREIGN KEY (currency) REFERENCES tenancy.currencies(code) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_payouts" ADD CONSTRAINT "merchant_payouts_reversed_by_fkey" FOREIGN KEY (reversed_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_payouts" ADD CONSTRAINT "merchant_payouts_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_payouts" ADD CONSTRAINT "merchant_payouts_tenant_id_owner_user_id_fkey" FOREIGN KEY (tenant_id, owner_user_id) REFERENCES tenancy.tenant_users(tenant_id, user_id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_pending" ADD CONSTRAINT "merchant_pending_tenant_id_account_id_fkey" FOREIGN KEY (tenant_id, account_id) REFERENCES money.accounts(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statement_lines" ADD CONSTRAINT "merchant_statement_lines_tenant_id_account_id_fkey" FOREIGN KEY (tenant_id, account_id) REFERENCES money.accounts(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statement_lines" ADD CONSTRAINT "merchant_statement_lines_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statement_numbers" ADD CONSTRAINT "merchant_statement_numbers_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_currency_fkey" FOREIGN KEY (currency) REFERENCES tenancy.currencies(code) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_opened_by_fkey" FOREIGN KEY (opened_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_tenant_id_account_id_fkey" FOREIGN KEY (tenant_id, account_id) REFERENCES money.accounts(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_payouts" ADD CONSTRAINT "merchant_payout_statement" FOREIGN KEY (tenant_id, statement_id) REFERENCES money.merchant_statements(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statement_lines" ADD CONSTRAINT "merchant_statement_lines_tenant_id_statement_id_fkey" FOREIGN KEY (tenant_id, statement_id) REFERENCES money.merchant_statements(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_tenant_id_owner_user_id_fkey" FOREIGN KEY (tenant_id, owner_user_id) REFERENCES tenancy.tenant_users(tenant_id, user_id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_tenant_id_payout_id_fkey" FOREIGN KEY (tenant_id, payout_id) REFERENCES money.merchant_payouts(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."merchant_statements" ADD CONSTRAINT "merchant_statements_voided_by_fkey" FOREIGN KEY (voided_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "money"."wallet_holds" ADD CONSTRAINT "wallet_holds_tenant_id_account_id_fkey" FOREIGN KEY (tenant_id, account_id) REFERENCES money.accounts(tenant_id, id) ON DELETE RESTRICT;

CREATE VIEW "money"."merchant_statements_list" WITH (security_invoker=true) AS  SELECT s.id,
    money.statement_number(s.number) AS number,
    jsonb_build_object('id', s.owner_user_id, 'full_name', o.full_name) AS owner,
    s.currency,
    s.opened_at,
    jsonb_build_object('from', s.period_from, 'to', s.period_to) AS period,
    s.gross_cod,
    s.fees,
    s.refunds,
    s.adjustments,
    s.net,
    s.lines AS count,
    s.status,
    s.payout_id,
    s.confirmed_at,
    s.voided_at,
    s.void_reason,
        CASE
            WHEN (p.id IS NOT NULL) THEN jsonb_build_object('id', p.id, 'method', p.method, 'amount', p.amount, 'reference', p.reference, 'proof', p.proof, 'paid_at', p.paid_at, 'paid_by', jsonb_build_object('id', p.actor_id, 'full_name', a.full_name))
            ELSE NULL::jsonb
        END AS payout,
    s.owner_user_id,
    o.full_name AS owner_name,
    s.number AS sequence
   FROM (((money.merchant_statements s
     LEFT JOIN tenancy.profiles o ON ((o.id = s.owner_user_id)))
     LEFT JOIN money.merchant_payouts p ON (((p.tenant_id = s.tenant_id) AND (p.id = s.payout_id))))
     LEFT JOIN tenancy.profiles a ON ((a.id = p.actor_id)));

CREATE VIEW "money"."wallets_list" WITH (security_invoker=true) AS  SELECT a.id,
    a.owner_type,
    a.owner_user_id AS owner_id,
        CASE
            WHEN (p.id IS NOT NULL) THEN jsonb_build_object('id', p.id, 'full_name', p.full_name)
            ELSE NULL::jsonb
        END AS owner,
    p.full_name AS owner_name,
    a.currency,
    a.balance,
    a.is_active,
    a.created_at,
    a.updated_at,
        CASE
            WHEN (a.owner_type = ANY (ARRAY['customer'::text, 'institution'::text])) THEN money.wallet_held(a.id)
            ELSE (0)::numeric
        END AS held_balance,
    (a.balance -
        CASE
            WHEN (a.owner_type = ANY (ARRAY['customer'::text, 'institution'::text])) THEN (money.wallet_held(a.id) + money.wallet_stated(a.id))
            ELSE (0)::numeric
        END) AS available_balance,
        CASE
            WHEN (a.owner_type = ANY (ARRAY['customer'::text, 'institution'::text])) THEN money.wallet_stated(a.id)
            ELSE (0)::numeric
        END AS stated_balance
   FROM (money.accounts a
     LEFT JOIN tenancy.profiles p ON ((p.id = a.owner_user_id)))
  WHERE (a.kind = 'wallet'::text);

CREATE INDEX merchant_payouts_actor ON money.merchant_payouts USING btree (actor_id);

CREATE INDEX merchant_payouts_cash ON money.merchant_payouts USING btree (tenant_id, actor_id, paid_at) WHERE (method = 'cash'::text);

CREATE INDEX merchant_payouts_currency ON money.merchant_payouts USING btree (currency);

CREATE INDEX merchant_payouts_owner ON money.merchant_payouts USING btree (tenant_id, owner_user_id, paid_at DESC NULLS LAST, id DESC);

CREATE INDEX merchant_payouts_reverser ON money.merchant_payouts USING btree (reversed_by) WHERE (reversed_by IS NOT NULL);

CREATE INDEX merchant_payouts_statement ON money.merchant_payouts USING btree (tenant_id, statement_id);

CREATE INDEX merchant_pending_account ON money.merchant_pending USING btree (tenant_id, account_id, movement);

CREATE INDEX merchant_statement_lines_delivery ON money.merchant_statement_lines USING btree (tenant_id, delivery_id) WHERE (delivery_id IS NOT NULL);

CREATE INDEX merchant_statement_lines_movement ON money.merchant_statement_lines USING btree (tenant_id, account_id, movement);

CREATE INDEX merchant_statements_account ON money.merchant_statements USING btree (tenant_id, account_id, opened_at DESC NULLS LAST);

CREATE INDEX merchant_statements_currency ON money.merchant_statements USING btree (currency);

CREATE INDEX merchant_statements_net ON money.merchant_statements USING btree (tenant_id, net DESC NULLS LAST, id DESC);

CREATE INDEX merchant_statements_opener ON money.merchant_statements USING btree (opened_by) WHERE (opened_by IS NOT NULL);

CREATE INDEX merchant_statements_open ON money.merchant_statements USING btree (tenant_id, account_id) INCLUDE (net) WHERE (status = 'open'::text);

CREATE INDEX merchant_statements_owner ON money.merchant_statements USING btree (tenant_id, owner_user_id, opened_at DESC NULLS LAST, id DESC);

CREATE INDEX merchant_statements_payout ON money.merchant_statements USING btree (tenant_id, payout_id) WHERE (payout_id IS NOT NULL);

CREATE INDEX merchant_statements_recent ON money.merchant_statements USING btree (tenant_id, opened_at DESC NULLS LAST, id DESC);

CREATE INDEX merchant_statements_status ON money.merchant_statements USING btree (tenant_id, status, opened_at DESC NULLS LAST, id DESC);

CREATE INDEX merchant_statements_voider ON money.merchant_statements USING btree (voided_by) WHERE (voided_by IS NOT NULL);

CREATE UNIQUE INDEX statement_already_paid ON money.merchant_payouts USING btree (tenant_id, statement_id) WHERE (reversed_at IS NULL);

CREATE INDEX wallet_holds_account ON money.wallet_holds USING btree (tenant_id, account_id, id DESC NULLS LAST);

CREATE INDEX wallet_holds_later ON money.wallet_holds USING btree (tenant_id, account_id, counts_from) WHERE (counts_from > created_at);

CREATE TRIGGER holds_follow AFTER UPDATE ON money.carrier_collections REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.cod_holds_changed('carrier_collection');

CREATE TRIGGER holds_follow AFTER UPDATE ON money.cod_collections REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.cod_holds_changed('cod_collection');

CREATE TRIGGER append_only_delete BEFORE DELETE ON money.merchant_payouts FOR EACH ROW EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON money.merchant_payouts FOR EACH STATEMENT EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only BEFORE UPDATE ON money.merchant_payouts FOR EACH ROW WHEN (((NOT (old.reversed_at IS NULL)) OR ((to_jsonb(old.*) - '{reversed_at,reversed_by,reversal_reason}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{reversed_at,reversed_by,reversal_reason}'::text[])))) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER audit_delete AFTER DELETE ON money.merchant_payouts REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON money.merchant_payouts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON money.merchant_payouts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE CONSTRAINT TRIGGER merchant_payout_booked AFTER INSERT OR UPDATE OF reversed_at, amount ON money.merchant_payouts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION money.merchant_payout_check();

CREATE TRIGGER append_only_delete BEFORE DELETE ON money.merchant_statement_lines FOR EACH ROW EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON money.merchant_statement_lines FOR EACH STATEMENT EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only BEFORE UPDATE ON money.merchant_statement_lines FOR EACH ROW WHEN (true) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER audit_delete AFTER DELETE ON money.merchant_statements REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON money.merchant_statements REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON money.merchant_statements REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE CONSTRAINT TRIGGER merchant_statement_sums AFTER INSERT OR UPDATE ON money.merchant_statements DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION money.merchant_statement_check();

CREATE TRIGGER append_only_delete BEFORE DELETE ON money.wallet_holds FOR EACH ROW EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON money.wallet_holds FOR EACH STATEMENT EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only BEFORE UPDATE ON money.wallet_holds FOR EACH ROW WHEN (true) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER tally_wallet_holds_delete AFTER DELETE ON money.wallet_holds REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_wallet_holds();

CREATE TRIGGER tally_wallet_holds_insert AFTER INSERT ON money.wallet_holds REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_wallet_holds();

CREATE TRIGGER tally_wallet_holds_update AFTER UPDATE ON money.wallet_holds REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_wallet_holds();

CREATE POLICY "tenant" ON "money"."merchant_accounts" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."merchant_accounts" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_accounts" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_accounts" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."merchant_payouts" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "money"."merchant_payouts" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_payouts" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_payouts" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."merchant_pending" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."merchant_pending" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_pending" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_pending" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."merchant_statement_lines" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM money.merchant_statements s
  WHERE ((s.tenant_id = merchant_statement_lines.tenant_id) AND (s.id = merchant_statement_lines.statement_id))))))) WITH CHECK ((tenant_id = ( SELECT app.tenant_id() AS tenant_id)));

CREATE POLICY "write_delete" ON "money"."merchant_statement_lines" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_statement_lines" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_statement_lines" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."merchant_statement_numbers" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."merchant_statement_numbers" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_statement_numbers" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_statement_numbers" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."merchant_statements" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "money"."merchant_statements" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_statements" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_statements" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."wallet_holds" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM money.accounts a
  WHERE ((a.tenant_id = wallet_holds.tenant_id) AND (a.id = wallet_holds.account_id))))))) WITH CHECK ((tenant_id = ( SELECT app.tenant_id() AS tenant_id)));

CREATE POLICY "write_delete" ON "money"."wallet_holds" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."wallet_holds" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."wallet_holds" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "money"."cash_in"(uuid, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_hold"(text, uuid, uuid, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_hold_differences"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_hold_end"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_changed"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_follow"(uuid, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_of"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_reconciled"(timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_holds_reconciled"(timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."held_of"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."kept_of"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."lock_statement"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_statement"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."may_be_held"(money.accounts) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."merchant_payout_check"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."merchant_payout_desk"(money.merchant_payouts) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."merchant_payout_desk"(money.merchant_payouts) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."merchant_statement_check"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."merchant_wallet"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."movement_kind"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."movement_kind"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."movements_pend"(uuid, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."payout_rule"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."pays_by_bank"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."pays_by_bank"() TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."require_available"(money.accounts, numeric, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."stated_of"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."stated_since"(uuid, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."stated_since"(uuid, timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_confirm"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_confirm"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_confirm_book"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_confirm_book"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_event_emit"(text, money.merchant_statements, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_event_emit"(text, money.merchant_statements, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_get"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_get"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_make"(uuid, timestamp with time zone, date) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."statement_movements"(uuid, uuid, bigint, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."statement_number"(bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_number"(bigint) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_number_next"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."statement_open"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_open"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_open_book"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_open_book"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_pay"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_pay"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_pay_book"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_pay_book"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_reverse"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_reverse"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_reverse_book"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_reverse_book"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_rule"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_rule"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_to_json"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_to_json"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_void"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_void"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_void_book"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_void_book"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."unavailable_of"(money.accounts) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."wallet_held"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_held"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."wallet_short"(money.accounts, numeric, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_short"(money.accounts, numeric, numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."wallet_shortage"(numeric, numeric, numeric, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_shortage"(numeric, numeric, numeric, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."wallet_stated"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_stated"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."tally_wallet_holds"() FROM PUBLIC;

GRANT SELECT ON TABLE "money"."merchant_accounts" TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_payouts" TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_pending" TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_statement_lines" TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_statement_numbers" TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_statements" TO "barid_caller";

GRANT SELECT ON TABLE "money"."wallet_holds" TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_statements_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."wallets_list" TO "barid_caller";

select app.counted('wallet_holds', 'money.wallet_holds', '{account_id}', 'amount');

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
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
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
      "total": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string", "from_user_id": "uuid?", "to_user_id": "uuid?",
      "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{merchant_statement.opened}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "actor_id": "uuid?"}'),
  ('{merchant_statement.paid}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reference": "string?", "actor_id": "uuid"}'),
  ('{merchant_statement.reversed}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reason": "string", "actor_id": "uuid"}'),
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
      "actor_id": "uuid?"}'),
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
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
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
  ('{order.shortened,order.refund_due}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "actor_id": "uuid?"}'),
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
  return '20261125131627';
end $$;

grant execute on function private.schema_version() to barid_api;

-- What each owner's wallet holds now is one movement of the first statement, so that it does not restate years.
INSERT INTO "money"."merchant_accounts" ("tenant_id", "account_id", "opening", "opening_movement", "looked_to")
SELECT a.tenant_id, a.id, a.balance, a.version, a.version FROM money.accounts a
WHERE a.kind = 'wallet' AND a.owner_type IN ('customer', 'institution') AND a.version > 0;

INSERT INTO "money"."merchant_pending" ("tenant_id", "account_id", "movement")
SELECT m.tenant_id, m.account_id, 0 FROM money.merchant_accounts m WHERE m.opening <> 0;
