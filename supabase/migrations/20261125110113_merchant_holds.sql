-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table money.accounts, money.carrier_collections, money.cod_collections in share row exclusive mode;
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
        v_order.failure_params := money.wallet_shortage(v_balance, money.wallet_held(v_order.wallet_id), v_order.price, v_currency);
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
    min(a.id::text) filter (where a.owner_type = 'tenant'), jsonb_object_agg(a.id, a.balance - money.wallet_held(a.id))
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
        v_change.failure_params := money.wallet_shortage(v_balance, money.wallet_held(v_debit_account::uuid), abs(v_change.difference), v_currency);
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

CREATE OR REPLACE FUNCTION money.cod_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, carrier_code text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'driver_cash', p.driver_id, null::text, null::uuid, p.currency, p.in_hand, p.ledger, array(
      select c.id from money.cod_collections c
      where c.tenant_id = tenant and c.driver_id = p.driver_id and c.currency = p.currency and c.collected_at <= as_of
        and coalesce(c.remitted_at, c.settled_at, 'infinity') > as_of
      order by c.collected_at, c.id limit 100)
  from money.cod_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'collection_journal', c.driver_id, null, null, c.currency, c.amount, b.amount, array[c.id]
  from money.cod_collections c
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = c.driver_id
    where t.tenant_id = tenant and t.kind = 'cash_collected' and t.reference_type = 'cod_collection' and t.reference_id = c.id
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and c.amount is distinct from b.amount
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
    select c.currency, sum(c.cod_amount) as cod, (array_agg(c.id order by c.collected_at desc, c.id) filter (where not exists (
      select from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id and q.type = 'COD_COLLECTION'
        and q.status = 'SUCCESS' and q.amount = c.cod_amount)))[1:100] as rows
    from (
      select x.id, x.delivery_id, x.currency::text as currency, x.cod_amount, x.collected_at from money.cod_collections x where x.tenant_id = tenant
      union all
      select x.id, x.delivery_id, x.currency::text, x.cod_amount, x.collected_at from money.carrier_collections x where x.tenant_id = tenant
    ) c
    where c.cod_amount > 0 and c.collected_at <= as_of group by c.currency
  ) r
  left join lateral (
    select coalesce(sum(q.amount), 0) as paid from money.payments q
    where q.tenant_id = tenant and q.type = 'COD_COLLECTION' and q.status = 'SUCCESS' and q.currency = r.currency and q.processed_at <= as_of
  ) p on true
  where r.cod <> p.paid
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
begin
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, h.due_at,
    greatest(now(), h.counts_from, case when h.amount > 0 then h.due_at end)
  from (
    select distinct on (x.reference_id) x.* from money.wallet_holds x
    where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery'
    order by x.reference_id, x.step desc
  ) h
  left join money.cash_in(tenant, kind, ids) i (id) on i.id = h.reference_id
  where (h.amount > 0) = (i.id is not null)
  order by h.reference_id;
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
    select c.id, 'cod_collection' as kind, c.delivery_id, c.cod_amount, not exists (
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
    v_held := case when money.may_be_held(v_payer) then money.held_of(v_payer.tenant_id, v_payer.id) else 0 end;
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
  -- A statement of its own: what was held until the lock was had counts.
  return (
    select coalesce(jsonb_object_agg(a.id, a.balance - case when money.may_be_held(a) then money.held_of(a.tenant_id, a.id) else 0 end), '{}')
    from unnest(v_locked) a);
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
      perform money.require_available(v_account, v_line.amount);
    end if;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION money.require_available(a money.accounts, change numeric)
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
  v_held := money.held_of(a.tenant_id, a.id);
  if v_held <> 0 and a.balance + change - v_held < a.floor then
    perform money.wallet_short(a, change, v_held);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."require_available"(money.accounts, numeric) FROM "barid_caller";

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

ALTER TABLE "money"."wallet_holds" ADD CONSTRAINT "wallet_holds_tenant_id_account_id_fkey" FOREIGN KEY (tenant_id, account_id) REFERENCES money.accounts(tenant_id, id) ON DELETE RESTRICT;

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
            WHEN (a.owner_type = ANY (ARRAY['customer'::text, 'institution'::text])) THEN money.wallet_held(a.id)
            ELSE (0)::numeric
        END) AS available_balance
   FROM (money.accounts a
     LEFT JOIN tenancy.profiles p ON ((p.id = a.owner_user_id)))
  WHERE (a.kind = 'wallet'::text);

CREATE INDEX wallet_holds_account ON money.wallet_holds USING btree (tenant_id, account_id, id DESC NULLS LAST);

CREATE INDEX wallet_holds_later ON money.wallet_holds USING btree (tenant_id, account_id, counts_from) WHERE (counts_from > created_at);

CREATE TRIGGER holds_follow AFTER UPDATE ON money.carrier_collections REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.cod_holds_changed('carrier_collection');

CREATE TRIGGER holds_follow AFTER UPDATE ON money.cod_collections REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.cod_holds_changed('cod_collection');

CREATE TRIGGER append_only_delete BEFORE DELETE ON money.wallet_holds FOR EACH ROW EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON money.wallet_holds FOR EACH STATEMENT EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only BEFORE UPDATE ON money.wallet_holds FOR EACH ROW WHEN (true) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER tally_wallet_holds_delete AFTER DELETE ON money.wallet_holds REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_wallet_holds();

CREATE TRIGGER tally_wallet_holds_insert AFTER INSERT ON money.wallet_holds REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_wallet_holds();

CREATE TRIGGER tally_wallet_holds_update AFTER UPDATE ON money.wallet_holds REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_wallet_holds();

CREATE POLICY "tenant" ON "money"."wallet_holds" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM money.accounts a
  WHERE ((a.tenant_id = wallet_holds.tenant_id) AND (a.id = wallet_holds.account_id))))))) WITH CHECK ((tenant_id = ( SELECT app.tenant_id() AS tenant_id)));

CREATE POLICY "write_delete" ON "money"."wallet_holds" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."wallet_holds" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."wallet_holds" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "money"."cash_in"(uuid, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_hold"(text, uuid, uuid, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_hold_differences"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_changed"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_follow"(uuid, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_of"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_reconciled"(timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_holds_reconciled"(timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."held_of"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."may_be_held"(money.accounts) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."payout_rule"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."require_available"(money.accounts, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."wallet_held"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_held"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."wallet_short"(money.accounts, numeric, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_short"(money.accounts, numeric, numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."wallet_shortage"(numeric, numeric, numeric, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."wallet_shortage"(numeric, numeric, numeric, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."tally_wallet_holds"() FROM PUBLIC;

GRANT SELECT ON TABLE "money"."wallet_holds" TO "barid_caller";

GRANT SELECT ON TABLE "money"."wallets_list" TO "barid_caller";

select app.counted('wallet_holds', 'money.wallet_holds', '{account_id}', 'amount');

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125110113';
end $$;

grant execute on function private.schema_version() to barid_api;
