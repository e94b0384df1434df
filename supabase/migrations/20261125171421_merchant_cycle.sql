-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table money.wallet_holds, tenancy.tenant_settings, tenancy.tenants in share row exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE TABLE "money"."merchant_cycles" ("tenant_id" uuid NOT NULL, "begun_at" timestamp with time zone NOT NULL DEFAULT now(), "day" date, CONSTRAINT "merchant_cycles_pkey" PRIMARY KEY (tenant_id));

ALTER TABLE "money"."merchant_cycles" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."merchant_cycles" FORCE ROW LEVEL SECURITY;

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
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.statement_differences(tenant, as_of) d
$function$;

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
    'held', money.cod_holds_reconciled(v_as_of), 'statements', money.statements_reconciled(v_as_of), 'differences', v_differences);
end $function$;

CREATE OR REPLACE FUNCTION money.cycle_day(rule jsonb, today date)
 RETURNS date
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_weekday integer := coalesce(array_position('{monday,tuesday,wednesday,thursday,friday,saturday,sunday}'::text[], rule ->> 'weekday'), 7);
  v_day integer := coalesce((rule ->> 'day')::integer, 1);
begin
  return case rule ->> 'cycle'
    when 'daily' then today
    when 'weekly' then today - (extract(isodow from today)::integer - v_weekday + 7) % 7
    when 'monthly' then (date_trunc('month', (today - (v_day - 1))::timestamp) + make_interval(days => v_day - 1))::date end;
end $function$;

CREATE OR REPLACE FUNCTION money.cycle_day_due()
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_zone text := app.timezone();
  v_day date := money.cycle_day(app.settings('delivery', 'payouts'), (now() at time zone v_zone)::date);
begin
  return (
    select v_day from money.merchant_cycles c
    where c.tenant_id = app.tenant_id() and v_day > coalesce(c.day, '-infinity') and v_day::timestamp at time zone v_zone >= c.begun_at);
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_day_due"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_day_end(tenant uuid, day date)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update money.merchant_cycles c set day = greatest(c.day, cycle_day_end.day) where c.tenant_id = cycle_day_end.tenant;
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_day_end"(uuid, date) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_follows_settings()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if coalesce(new.settings ->> 'cycle', 'none') = 'none' then
    delete from money.merchant_cycles c where c.tenant_id = new.tenant_id;
  elsif tg_op = 'INSERT' or (new.settings -> 'cycle', new.settings -> 'weekday', new.settings -> 'day')
      is distinct from (old.settings -> 'cycle', old.settings -> 'weekday', old.settings -> 'day') then
    insert into money.merchant_cycles (tenant_id) values (new.tenant_id)
    on conflict (tenant_id) do update set begun_at = excluded.begun_at;
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_follows_settings"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_statement_make(tenant uuid, day date, wallet uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform set_config('app.tenant_id', cycle_statement_make.tenant::text, true);
  return money.statement_make(wallet, day::timestamp at time zone app.timezone(), day);
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_statement_make"(uuid, date, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cycle_wallets(tenant uuid, day date, after uuid DEFAULT NULL::uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(w.id order by w.id), '[]')
    from (
      select a.id from money.accounts a
      left join money.merchant_accounts m on m.tenant_id = a.tenant_id and m.account_id = a.id
      where a.tenant_id = cycle_wallets.tenant and a.kind = 'wallet' and a.owner_type in ('customer', 'institution')
        and (after is null or a.id > after)
        and (a.version > coalesce(m.looked_to, 0) or exists (
          select from money.merchant_pending p where p.tenant_id = a.tenant_id and p.account_id = a.id))
        and not exists (select from money.merchant_statements s
          where s.tenant_id = a.tenant_id and s.account_id = a.id and s.cycle_day = cycle_wallets.day)
      order by a.id limit 100) w);
end $function$;

REVOKE ALL ON FUNCTION "money"."cycle_wallets"(uuid, date, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.merchant_positions()
 RETURNS TABLE(account_id uuid, held numeric, waiting numeric, stated numeric, in_hand numeric, with_carriers numeric, at_desks numeric)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  if not app.sees_tenant() then
    return;
  end if;
  return query
  with kept as materialized (
    select t.dims[1]::uuid as account_id, t.dims[2] = 'carrier_collection' as carrier, t.dims[3] = 'on_bank' as bank, sum(t.amount) as amount
    from app.tallies t where t.tenant_id = v_tenant and t.tally = 'held_cash' group by 1, 2, 3 having sum(t.amount) <> 0
  ), outside as (
    -- Of what is released by the bank: the cash of drivers and carriers.
    select l.account_id, false as carrier, l.amount from money.cod_collections c
    cross join lateral (
      select h.account_id, h.amount, h.release from money.wallet_holds h
      where h.tenant_id = v_tenant and h.reference_type = 'cod_collection' and h.reference_id = c.id order by h.step desc limit 1) l
    where c.tenant_id = v_tenant and c.status = 'collected' and c.reversed_at is null and l.amount > 0 and l.release = 'on_bank'
      and (select bool_or(k.bank) from kept k)
    union all
    select l.account_id, true, l.amount from money.carrier_collections c
    cross join lateral (
      select h.account_id, h.amount, h.release from money.wallet_holds h
      where h.tenant_id = v_tenant and h.reference_type = 'carrier_collection' and h.reference_id = c.id order by h.step desc limit 1) l
    where c.tenant_id = v_tenant and c.status = 'owed' and l.amount > 0 and l.release = 'on_bank' and (select bool_or(k.bank) from kept k)
  ), part (account_id, held, waiting, stated, in_hand, with_carriers, at_desks) as (
    select k.account_id, k.amount, 0, 0, case when not k.bank and not k.carrier then k.amount else 0 end,
      case when not k.bank and k.carrier then k.amount else 0 end, case when k.bank then k.amount else 0 end
    from kept k
    union all
    select o.account_id, 0, 0, 0, case when not o.carrier then o.amount else 0 end, case when o.carrier then o.amount else 0 end, -o.amount from outside o
    union all
    select h.account_id, 0, -h.amount, 0, 0, 0, 0 from money.wallet_holds h
    where h.tenant_id = v_tenant and h.counts_from > h.created_at and h.counts_from > now()
    union all
    select s.account_id, 0, 0, s.net, 0, 0, 0 from money.merchant_statements s where s.tenant_id = v_tenant and s.status = 'open'
  )
  select p.account_id, sum(p.held), sum(p.waiting), sum(p.stated), sum(p.in_hand), sum(p.with_carriers), sum(p.at_desks)
  from part p group by p.account_id;
end $function$;

CREATE OR REPLACE FUNCTION money.oldest_unpaid(wallet uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select least(
      -- Lines are in the order of their movements.
      (select min(l.collected_at) from money.merchant_statements s
        cross join lateral (
          select x.collected_at from money.merchant_statement_lines x
          where x.tenant_id = v_tenant and x.statement_id = s.id and x.amount > 0 and x.movement is not null order by x.position limit 1) l
        where s.tenant_id = v_tenant and s.account_id = a.id and s.status = 'open'),
      (select min(e.created_at) from money.merchant_pending p
        join money.ledger_entries e on e.account_id = a.id and e.version = p.movement and e.amount > 0
        where p.tenant_id = v_tenant and p.account_id = a.id and not exists (
          select from money.merchant_statement_lines l
          join money.merchant_statements s on s.tenant_id = v_tenant and s.id = l.statement_id and s.status = 'paid'
          where l.tenant_id = v_tenant and l.account_id = a.id and l.movement = p.movement)),
      (select m.opened_at where m.opening > 0 and exists (
        select from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = a.id and p.movement = 0)),
      (select e.created_at from money.ledger_entries e
        join money.ledger_transactions t on t.tenant_id = v_tenant and t.id = e.transaction_id
          and t.kind not in ('merchant_payout', 'merchant_payout_REVERSAL')
        where e.account_id = a.id and e.version > coalesce(m.looked_to, 0) and e.amount > 0 order by e.version limit 1))
    from money.accounts a
    left join money.merchant_accounts m on m.tenant_id = v_tenant and m.account_id = a.id
    where a.tenant_id = v_tenant and a.id = wallet and a.balance > 0 and (app.sees_tenant() or a.owner_user_id = app.user_id()));
end $function$;

CREATE OR REPLACE FUNCTION money.stated_movements(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(account_id uuid, movement bigint, reference_id uuid, whole numeric, held numeric, stated numeric, due boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with wallet as materialized (
    select a.id, m.opening, m.opening_movement, m.looked_to from money.accounts a
    join money.merchant_accounts m on m.tenant_id = a.tenant_id and m.account_id = a.id and m.opened_at <= as_of
    where a.tenant_id = tenant and a.kind = 'wallet' and a.owner_type in ('customer', 'institution')
  ), held as (
    select h.reference_type, h.reference_id, sum(h.amount) as held from money.wallet_holds h
    where h.tenant_id = tenant and h.created_at <= as_of and (h.counts_from <= h.created_at or h.counts_from <= least(as_of, now()))
    group by h.reference_type, h.reference_id having sum(h.amount) <> 0
  ), moved as (
    select w.id, e.version as movement, t.reference_id, e.amount as whole, coalesce(h.held, 0) as held
    from wallet w
    join money.ledger_entries e on e.tenant_id = tenant and e.account_id = w.id and e.version > w.opening_movement and e.created_at <= as_of
    join money.ledger_transactions t on t.tenant_id = tenant and t.id = e.transaction_id
      and t.kind not in ('merchant_payout', 'merchant_payout_REVERSAL')
    left join held h on t.kind = 'cod_credit' and h.reference_type = t.reference_type and h.reference_id = t.reference_id
    union all
    select w.id, 0, w.id, w.opening, 0 from wallet w where w.opening <> 0
  ), said as (
    select l.account_id, l.movement, sum(l.amount) as stated from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = tenant and s.id = l.statement_id
    where l.tenant_id = tenant and l.movement is not null and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by l.account_id, l.movement
  ), pending as (
    select distinct p.account_id, p.movement from money.merchant_pending p where p.tenant_id = tenant
  )
  select coalesce(m.id, s.account_id), coalesce(m.movement, s.movement), coalesce(m.reference_id, s.account_id), coalesce(m.whole, 0), coalesce(m.held, 0),
    coalesce(s.stated, 0), coalesce(m.movement > w.looked_to, false) or p.movement is not null
  from moved m
  full join said s on s.account_id = m.id and s.movement = m.movement
  left join wallet w on w.id = m.id
  left join pending p on p.account_id = coalesce(m.id, s.account_id) and p.movement = coalesce(m.movement, s.movement)
$function$;

REVOKE ALL ON FUNCTION "money"."stated_movements"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_cycles_sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_day date;
  v_count integer := 0;
begin
  for v_tenant in select c.tenant_id from money.merchant_cycles c order by 1 loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    v_day := money.cycle_day_due();
    if v_day is not null and not exists (
        select from app.jobs j where j.tenant_id = v_tenant and j.kind = 'delivery.merchant_statements' and j.payload ->> 'day' = v_day::text
          and j.status <> 'done') then
      perform app.job_add('delivery.merchant_statements', jsonb_build_object('day', v_day));
      v_count := v_count + 1;
    end if;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "money"."statement_cycles_sweep"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statement_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'statement_balance', a.owner_user_id, a.currency::text, p.balance + p.paid, p.lines + p.held + p.unstated, array[a.id]
  from money.statement_positions(tenant, as_of) p
  join money.accounts a on a.tenant_id = tenant and a.id = p.account_id
  where p.lines + p.held + p.unstated <> p.balance + p.paid
  union all
  select 'statement_lines', s.owner_user_id, s.currency, s.net, l.net, array[s.id]
  from money.merchant_statements s
  left join lateral (
    select count(*) as lines, coalesce(sum(x.amount) filter (where x.kind = 'cod'), 0) as cod,
      coalesce(-sum(x.amount) filter (where x.kind = 'delivery_fee'), 0) as fees, coalesce(sum(x.amount) filter (where x.kind = 'refund'), 0) as refunds,
      coalesce(sum(x.amount), 0) as net, bool_and(x.account_id = s.account_id) as own
    from money.merchant_statement_lines x where x.tenant_id = tenant and x.statement_id = s.id
  ) l on true
  where s.tenant_id = tenant and s.opened_at <= as_of and (l.lines, l.cod, l.fees, l.refunds, l.net, l.own)
    is distinct from (s.lines::bigint, s.gross_cod, s.fees, s.refunds, s.net, true)
  union all
  select m.kind, a.owner_user_id, a.currency, sum(m.expected), sum(m.stated), (array_agg(m.reference_id order by m.movement))[1:100]
  from (
    select k.kind, x.account_id, x.movement, x.reference_id, k.expected, x.stated
    from money.stated_movements(tenant, as_of) x
    cross join lateral (values ('stated_movement', x.whole, x.stated not in (0, x.whole)),
      ('unstated_movement', x.whole - x.held, as_of >= now() and x.stated <> x.whole - x.held and not x.due)) k (kind, expected, differs)
    where k.differs
  ) m
  join money.accounts a on a.tenant_id = tenant and a.id = m.account_id
  group by m.kind, a.id, a.owner_user_id, a.currency
  union all
  select 'stated_balance', a.owner_user_id, a.currency, s.lines, s.stated, array[a.id]
  from money.accounts a
  cross join lateral (
    select money.stated_of(tenant, a.id) as stated, coalesce(sum(l.amount), 0) as lines
    from money.merchant_statements s
    join money.merchant_statement_lines l on l.tenant_id = tenant and l.statement_id = s.id
    where s.tenant_id = tenant and s.account_id = a.id and s.voided_at is null and not exists (
      select from money.merchant_payouts p where p.tenant_id = tenant and p.statement_id = s.id and p.reversed_at is null)
  ) s
  where a.tenant_id = tenant and a.id in (select x.account_id from money.merchant_statements x where x.tenant_id = tenant) and s.lines <> s.stated
  union all
  select 'statement_payout', s.owner_user_id, s.currency, case s.status when 'paid' then s.net else 0 end, coalesce(p.amount, 0), array[s.id]
  from money.merchant_statements s
  left join money.merchant_payouts p on p.tenant_id = tenant and p.statement_id = s.id and p.reversed_at is null
  where s.tenant_id = tenant and (s.payout_id is distinct from p.id or (s.status = 'paid') <> (p.id is not null) or p.amount <> s.net)
  union all
  select 'payout_journal', p.owner_user_id, p.currency, n.taken, case when j.wallet <> n.taken then j.wallet else j.desk end, array[p.id]
  from money.merchant_payouts p
  join money.merchant_statements s on s.tenant_id = tenant and s.id = p.statement_id
  cross join lateral (select case when p.reversed_at <= as_of then 0 else -p.amount end as taken) n
  cross join lateral (
    select coalesce(sum(e.amount) filter (where e.account_id = s.account_id), 0) as wallet,
      coalesce(sum(e.amount) filter (where a.kind = 'cash_on_hand' and a.owner_user_id = p.actor_id), 0) as desk
    from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = tenant and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = tenant and a.id = e.account_id
    where t.tenant_id = tenant and t.reference_type = 'merchant_payout' and t.reference_id = p.id and t.created_at <= as_of
  ) j
  where p.tenant_id = tenant and p.paid_at <= as_of and (j.wallet <> n.taken or j.desk <> case p.method when 'cash' then n.taken else 0 end)
  union all
  select 'statement_number', null, c.currency, c.last, c.statements, null
  from (
    select min(s.currency::text) as currency, max(s.number) as highest, count(*)::numeric as statements,
      (select max(n.last)::numeric from money.merchant_statement_numbers n where n.tenant_id = tenant) as last
    from money.merchant_statements s where s.tenant_id = tenant
  ) c
  where c.statements > 0 and (c.highest, c.statements) is distinct from (c.last::bigint, c.last)
$function$;

REVOKE ALL ON FUNCTION "money"."statement_differences"(uuid, timestamp with time zone) FROM "barid_caller";

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
  v_id uuid := gen_random_uuid();
  v_number bigint;
  s money.merchant_statements;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = p_wallet for no key update;
  if exists (select from money.merchant_statements o where o.tenant_id = v_tenant and o.account_id = p_wallet and o.cycle_day = p_cycle_day) then
    return null;
  end if;
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
  v_number := money.statement_number_next();
  insert into money.merchant_statements (id, tenant_id, number, account_id, owner_user_id, currency, opened_by, period_from, period_to, gross_cod, fees,
    refunds, adjustments, net, lines, cycle_day, hash)
  select v_id, v_tenant, v_number, p_wallet, v_wallet.owner_user_id, v_wallet.currency, app.user_id(),
    least(coalesce((select max(x.period_to) from money.merchant_statements x where x.tenant_id = v_tenant and x.account_id = p_wallet and x.status <> 'void'),
      v_marks.opened_at, v_wallet.created_at), least(p_until, now())), least(p_until, now()),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), v_net, count(*), p_cycle_day,
    money.statement_hash(v_id, v_tenant, v_number, v_wallet.owner_user_id, v_wallet.currency::text, v_net, v_lines)
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

CREATE OR REPLACE FUNCTION money.statement_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(account_id uuid, lines numeric, held numeric, unstated numeric, balance numeric, paid numeric, open numeric)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with moved as materialized (
    select m.account_id, sum(m.whole - m.held - m.stated) as unstated, sum(m.stated) as stated
    from (
      select x.account_id, x.whole, x.held, x.stated from money.stated_movements(tenant, as_of) x
      union all
      select x.account_id, 0, 0, 0 from money.merchant_accounts x where x.tenant_id = tenant and x.opened_at <= as_of
    ) m
    group by m.account_id
  ), kept as (
    select s.account_id, sum(l.amount) as kept from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = tenant and s.id = l.statement_id
    where l.tenant_id = tenant and l.movement is null and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by s.account_id
  ), held as (
    select h.account_id, sum(h.amount) as held from money.wallet_holds h
    where h.tenant_id = tenant and h.created_at <= as_of and (h.counts_from <= h.created_at or h.counts_from <= least(as_of, now()))
    group by h.account_id
  ), net as (
    select s.account_id, coalesce(sum(s.net) filter (where p.id is not null), 0) as paid, coalesce(sum(s.net) filter (where p.id is null), 0) as open
    from money.merchant_statements s
    left join money.merchant_payouts p on p.tenant_id = tenant and p.statement_id = s.id and p.paid_at <= as_of
      and (p.reversed_at is null or p.reversed_at > as_of)
    where s.tenant_id = tenant and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by s.account_id
  ), was as (
    select e.account_id, sum(e.amount) as balance from money.ledger_entries e
    where as_of < now() and e.tenant_id = tenant and e.created_at <= as_of and e.account_id in (select m.account_id from moved m)
    group by e.account_id
  )
  select m.account_id, m.stated + coalesce(k.kept, 0), coalesce(h.held, 0), m.unstated - coalesce(k.kept, 0),
    case when as_of < now() then coalesce(b.balance, 0) else a.balance end, coalesce(n.paid, 0), coalesce(n.open, 0)
  from moved m
  join money.accounts a on a.tenant_id = tenant and a.id = m.account_id
  left join kept k on k.account_id = m.account_id
  left join held h on h.account_id = m.account_id
  left join net n on n.account_id = m.account_id
  left join was b on b.account_id = m.account_id
$function$;

REVOKE ALL ON FUNCTION "money"."statement_positions"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.statements_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(w) order by w.user_name, w.user_id, w.currency), '[]')
    from (
      select a.id as wallet_id, a.owner_user_id as user_id, q.full_name as user_name, a.currency, p.lines, p.held, p.unstated, p.balance, p.paid, p.open
      from money.statement_positions(app.tenant_id(), as_of) p
      join money.accounts a on a.tenant_id = app.tenant_id() and a.id = p.account_id
      left join tenancy.profiles q on q.id = a.owner_user_id
      where (p.lines, p.held, p.unstated, p.balance, p.paid) <> (0, 0, 0, 0, 0)
    ) w);
end $function$;

REVOKE ALL ON FUNCTION "money"."statements_reconciled"(timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION private.tally_held_cash()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'held_cash', array[coalesce(c.account_id::text, ''), coalesce(c.reference_type::text, ''), coalesce(c.release::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'held_cash', array[coalesce(c.account_id::text, ''), coalesce(c.reference_type::text, ''), coalesce(c.release::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select -1 as d, o.* from old_rows o
          where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      else
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'held_cash', array[coalesce(c.account_id::text, ''), coalesce(c.reference_type::text, ''), coalesce(c.release::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      end if;
      return null;
    end $function$;

ALTER TABLE "money"."merchant_cycles" ADD CONSTRAINT "merchant_cycles_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE CASCADE;

CREATE VIEW "money"."merchant_balances_list" WITH (security_invoker=true) AS  SELECT a.id,
    jsonb_build_object('id', a.owner_user_id, 'full_name', p.full_name) AS owner,
    a.currency,
    a.balance,
    COALESCE(m.held, (0)::numeric) AS held,
    COALESCE(m.waiting, (0)::numeric) AS waiting,
    (a.balance - COALESCE(((m.held + m.waiting) + m.stated), (0)::numeric)) AS available,
    COALESCE(m.stated, (0)::numeric) AS stated,
    COALESCE(m.in_hand, (0)::numeric) AS in_hand_of_drivers,
    COALESCE(m.with_carriers, (0)::numeric) AS with_carriers,
    COALESCE(m.at_desks, (0)::numeric) AS at_desks,
    money.oldest_unpaid(a.id) AS oldest_unpaid_at,
    a.owner_user_id,
    p.full_name AS owner_name,
    a.created_at
   FROM ((money.accounts a
     LEFT JOIN tenancy.profiles p ON ((p.id = a.owner_user_id)))
     LEFT JOIN money.merchant_positions() m(account_id, held, waiting, stated, in_hand, with_carriers, at_desks) ON ((m.account_id = a.id)))
  WHERE ((a.kind = 'wallet'::text) AND (a.owner_type = ANY (ARRAY['customer'::text, 'institution'::text])));

CREATE TRIGGER tally_held_cash_delete AFTER DELETE ON money.wallet_holds REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_held_cash();

CREATE TRIGGER tally_held_cash_insert AFTER INSERT ON money.wallet_holds REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_held_cash();

CREATE TRIGGER tally_held_cash_update AFTER UPDATE ON money.wallet_holds REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_held_cash();

CREATE TRIGGER merchant_cycle AFTER INSERT OR UPDATE OF settings ON tenancy.tenant_settings FOR EACH ROW WHEN (((new.module = 'delivery'::text) AND (new.group_key = 'payouts'::text))) EXECUTE FUNCTION money.cycle_follows_settings();

CREATE POLICY "tenant" ON "money"."merchant_cycles" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."merchant_cycles" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."merchant_cycles" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."merchant_cycles" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "money"."cycle_day"(jsonb, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_day"(jsonb, date) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cycle_day_due"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cycle_day_end"(uuid, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_day_end"(uuid, date) TO "barid_api";

REVOKE ALL ON FUNCTION "money"."cycle_follows_settings"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cycle_statement_make"(uuid, date, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_statement_make"(uuid, date, uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "money"."cycle_wallets"(uuid, date, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cycle_wallets"(uuid, date, uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "money"."merchant_positions"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."merchant_positions"() TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."oldest_unpaid"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."oldest_unpaid"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."stated_movements"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."statement_cycles_sweep"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."statement_differences"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."statement_positions"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."statements_reconciled"(timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."tally_held_cash"() FROM PUBLIC;

GRANT SELECT ON TABLE "money"."merchant_cycles" TO "barid_caller";

GRANT SELECT ON TABLE "money"."merchant_balances_list" TO "barid_caller";

select app.counted('held_cash', 'money.wallet_holds', '{account_id,reference_type,release}', 'amount');

-- Scheduled jobs (UTC). Scheduling a name again changes its job, so this file can be applied again.
-- No seconds and nothing newer than pg_cron 1.4. Without pg_cron the backend works, but old keys and jobs
-- stay and a lost background job waits for the next request of its kind.
do $$
begin
  if not exists (select from pg_available_extensions where name = 'pg_cron') then
    raise notice 'pg_cron is not available on this server: nothing is scheduled';
    return;
  end if;
  -- pg_cron belongs to one database of a server.
  if coalesce(current_setting('cron.database_name', true), current_database()) <> current_database() then
    raise notice 'pg_cron belongs to another database of this server: nothing is scheduled';
    return;
  end if;
  begin
    create extension if not exists pg_cron with schema pg_catalog;
  exception when undefined_object then
    raise notice 'pg_cron is not among shared_preload_libraries: nothing is scheduled';
    return;
  end;
  if exists (select from pg_available_extensions where name = 'pg_net') then
    create extension if not exists pg_net with schema extensions;
  end if;

  perform cron.schedule('barid_kick_jobs', '* * * * *', 'select integration.kick_jobs()');
  perform cron.schedule('barid_searches_sweep', '* * * * *', 'select delivery.searches_sweep()');
  perform cron.schedule('barid_postponed_resume', '*/10 * * * *', 'select delivery.postponed_resume()');
  perform cron.schedule('barid_postponed_notify', '*/10 * * * *', 'select delivery.postponed_notify()');
  perform cron.schedule('barid_tallies_fold', '* * * * *', 'select private.tallies_fold()');
  perform cron.schedule('barid_receipts_sweep', '*/10 * * * *', 'select money.receipts_sweep()');
  perform cron.schedule('barid_statement_cycles', '*/10 * * * *', 'select money.statement_cycles_sweep()');
  perform cron.schedule('barid_cod_reconcile', '17 2 * * *', 'select money.cod_reconcile_all()');
  perform cron.schedule('barid_performance_refresh', '*/15 * * * *', 'select delivery.performance_refresh()');
  perform cron.schedule('barid_performance_rebuilds', '* * * * *', 'select delivery.performance_rebuilds()');
  perform cron.schedule('barid_idempotency_purge', '7 * * * *', 'select private.idempotency_purge()');
  perform cron.schedule('barid_rates_purge', '37 * * * *', 'select private.rates_purge()');
  perform cron.schedule('barid_jobs_purge', '23 3 * * *', 'select private.jobs_purge()');
  perform cron.schedule('barid_wizard_runs_purge', '31 3 * * *', 'select tenancy.wizard_runs_purge()');
  perform cron.schedule('barid_road_distances_purge', '41 3 * * *', 'select delivery.road_distances_purge()');
  perform cron.schedule('barid_api_keys_warn', '27 4 * * *', 'select tenancy.api_keys_warn()');
  perform cron.schedule('barid_invitations_purge', '37 3 * * *', 'select tenancy.invitations_purge()');
  perform cron.schedule('barid_report_stock', '17 2 * * *', 'select warehousing.report_stock()');
  perform cron.schedule('barid_webhooks_release', '*/5 * * * *', 'select integration.webhooks_release()');
  perform cron.schedule('barid_webhooks_purge', '47 3 * * *', 'select integration.webhooks_purge()');
  perform cron.schedule('barid_events_purge', '53 * * * *', 'select integration.events_purge()');
  perform cron.schedule('barid_domains_recheck', '*/5 * * * *', 'select storefront.domains_recheck()');
  perform cron.schedule('barid_payments_reconcile', '*/5 * * * *', 'select money.payments_reconcile()');
  perform cron.schedule('barid_orders_expire', '*/10 * * * *', 'select storefront.orders_expire()');
  perform cron.schedule('barid_orders_complete', '11 2 * * *', 'select storefront.orders_complete()');
  perform cron.schedule('barid_manifests_complete', '27 * * * *', 'select delivery.manifests_complete()');
  perform cron.schedule('barid_positions_partition', '19 * * * *', 'select delivery.positions_partition()');
  perform cron.schedule('barid_package_transfers_backfill', '47 2 * * *', 'select warehousing.package_transfers_backfill()');
  -- pg_cron never forgets a run by itself.
  perform cron.schedule('barid_cron_history_purge', '41 3 * * *',
    'delete from cron.job_run_details where end_time < now() - interval ''7 days''');
end $$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125171421';
end $$;

grant execute on function private.schema_version() to barid_api;
