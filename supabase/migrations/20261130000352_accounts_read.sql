-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      alter view money.cod_collections_list reset (security_barrier);
      set local lock_timeout = '500ms';
      alter view money.wallet_transactions_list reset (security_barrier);
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

DROP VIEW "money"."cod_collections_list";

DROP VIEW "money"."wallet_transactions_list";

CREATE OR REPLACE FUNCTION money.cod_is_held(kind text, row_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select x.amount > 0 or x.counts_from > now() from money.wallet_holds x
    where x.tenant_id = app.tenant_id() and x.reference_type = cod_is_held.kind and x.reference_id = row_id
    order by x.step desc limit 1), false);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_released_at(kind text, row_id uuid, credited_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  h money.wallet_holds;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = cod_released_at.kind and x.reference_id = row_id
  order by x.step desc limit 1;
  return case when h.id is null then credited_at when h.amount < 0 and h.counts_from <= now() then greatest(credited_at, h.counts_from) end;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_movement_details(a money.accounts, e money.ledger_entries, t money.ledger_transactions)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_reverses boolean := t.kind like '%\_REVERSAL';
  v_party uuid;
  v_made jsonb;
  v_other record;
begin
  case t.reference_type
    when 'cash_transfer' then
      select coalesce(w.owner_user_id, case when c.kind = 'handover' then case when (e.amount < 0) <> v_reverses then c.to_user_id
          else c.from_user_id end end), jsonb_build_object('refund_id', c.refund_id, 'reference', c.reference, 'notes', c.notes)
      into v_party, v_made
      from money.cash_transfers c
      left join money.payments p on p.tenant_id = c.tenant_id and p.id = c.payment_id
      left join money.accounts w on w.tenant_id = p.tenant_id and w.id = p.account_id
      where c.tenant_id = t.tenant_id and c.id = t.reference_id;
    when 'merchant_payout' then
      select m.owner_user_id, jsonb_build_object('statement_id', m.statement_id, 'reference', m.reference) into v_party, v_made
      from money.merchant_payouts m where m.tenant_id = t.tenant_id and m.id = t.reference_id;
    when 'driver_payout' then
      select d.driver_id, jsonb_build_object('reference', d.reference, 'notes', d.notes) into v_party, v_made
      from money.driver_payouts d where d.tenant_id = t.tenant_id and d.id = t.reference_id;
    when 'payment' then
      select s.driver_id, jsonb_build_object('reference', s.reference, 'notes', s.notes) into v_party, v_made
      from money.cod_settlements s where s.tenant_id = t.tenant_id and s.payment_id = t.reference_id;
    when 'carrier_remittance' then
      select jsonb_build_object('carrier_code', r.carrier_code, 'reference', r.reference, 'notes', r.notes) into v_made
      from money.carrier_remittances r where r.tenant_id = t.tenant_id and r.id = t.reference_id;
    else
      select h.driver_id, jsonb_build_object('notes', h.notes) into v_party, v_made
      from money.cash_handovers h where h.tenant_id = t.tenant_id and h.id = t.reference_id;
  end case;
  select f.id, f.created_at into v_other
  from money.ledger_transactions g
  join money.ledger_entries f on f.tenant_id = g.tenant_id and f.transaction_id = g.id and f.account_id = a.id
  where g.tenant_id = t.tenant_id and g.kind = case when v_reverses then replace(t.kind, '_REVERSAL', '') else t.kind || '_REVERSAL' end
    and g.reference_type = t.reference_type and g.reference_id = t.reference_id;
  return jsonb_build_object('desk', jsonb_build_object('id', a.id, 'owner_type', a.owner_type, 'user', money.person(a.owner_user_id)),
      'entered_by', money.person(t.actor_id), 'counterparty', money.person(v_party), 'carrier_code', null, 'statement_id', null, 'refund_id', null,
      'reference', null, 'notes', null, 'reference_type', case t.reference_type when 'payment' then 'cod_settlement' else t.reference_type end,
      'reverses', case when v_reverses then v_other.id end, 'reversed_at', case when not v_reverses then v_other.created_at end)
    || coalesce(v_made, '{}');
end $function$;

CREATE OR REPLACE FUNCTION money.desk_movements_found(search text)
 RETURNS TABLE(id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contains_patterns(search);
begin
  return query
    select x.id from (
      select c.id, c.reference, c.notes from money.cash_transfers c where c.tenant_id = v_tenant
      union all
      select m.id, m.reference, null from money.merchant_payouts m where m.tenant_id = v_tenant and m.method = 'cash'
      union all
      select d.id, d.reference, d.notes from money.driver_payouts d where d.tenant_id = v_tenant and d.method = 'cash'
      union all
      select s.payment_id, s.reference, s.notes from money.cod_settlements s where s.tenant_id = v_tenant and s.method = 'remit'
      union all
      select r.id, r.reference, r.notes from money.carrier_remittances r where r.tenant_id = v_tenant
    ) x
    where app.folded(concat_ws(E'\n', x.reference, x.notes)) ilike any (v_patterns);
end $function$;

CREATE OR REPLACE FUNCTION money.holds_cod()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from money.wallet_holds x where x.tenant_id = app.tenant_id());
end $function$;

CREATE OR REPLACE FUNCTION money.revenue(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zone text := app.timezone();
  v_to date := coalesce((input ->> 'date_to')::date, (now() at time zone v_zone)::date);
  v_from date := coalesce((input ->> 'date_from')::date, date_trunc('month', v_to)::date);
  v_by text := coalesce(input ->> 'group_by', 'none');
  v_rows jsonb;
  v_totals jsonb;
begin
  if not app.sees_tenant() then
    perform app.fail('forbidden');
  end if;
  with journal as (
    select t.id, t.reference_type, t.reference_id, t.created_at, k.word
    from money.ledger_transactions t
    join (values ('cash_collected', 'cash'), ('cash_collected_REVERSAL', 'cash'), ('cod_credit', 'cash'), ('cod_credit_REVERSAL', 'cash'),
      ('delivery_fee', 'charged'), ('delivery_fee_change', 'charged'), ('delivery_fee_refund', 'refund'), ('delivery_fee_refund_REVERSAL', 'refund'),
      ('cash_transfer', 'desk'), ('cash_transfer_REVERSAL', 'desk'), ('driver_pay', 'pay'), ('driver_pay_REVERSAL', 'pay'),
      ('carrier_write_off', 'write_off'), ('carrier_write_off_REVERSAL', 'write_off'), ('cash_shortage', 'short'), ('cash_shortage_REVERSAL', 'short'),
      ('cod_settlement', 'short'), ('cod_settlement_REVERSAL', 'short')) k (kind, word) on k.kind = t.kind
    where t.tenant_id = v_tenant and t.created_at >= app.day_begins(v_from) and t.created_at < app.day_begins(v_to + 1)
  ), entry as (
    select j.*, e.currency, e.amount, case when a.kind = 'wallet' then a.owner_type = 'tenant' else a.kind in ('external', 'cod_clearing') end as counts,
      a.kind
    from journal j
    join money.ledger_entries e on e.tenant_id = v_tenant and e.transaction_id = j.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
    where input ->> 'currency' is null or e.currency = input ->> 'currency'
  ), line as (
    select e.*, case e.word
      -- Outside gave all of it, and of that the COD was credited: the rest is the fee.
      when 'cash' then case e.kind when 'external' then -e.amount when 'cod_clearing' then e.amount end
      when 'charged' then case when e.counts then e.amount end
      when 'refund' then case when e.counts then -e.amount end
      when 'desk' then case when e.kind = 'external' and exists (select from money.cash_transfers c
        where c.tenant_id = v_tenant and c.id = e.reference_id and c.kind = 'refund') then e.amount end
      when 'pay' then case when e.kind = 'driver_cost' then -e.amount end
      when 'write_off' then case when e.kind = 'external' then e.amount end
      -- Where somebody answers for it the company's wallet has it; settled from a wallet, the fees and the COD.
      when 'short' then case when not e.counts then null when e.kind = 'external' then e.amount else -e.amount end end as sum
    from entry e
  ), about as (
    -- The deliveries that journals are about, where somebody asks.
    select x.reference_type, x.reference_id, coalesce(c.delivery_id, k.delivery_id, y.delivery_id, p.delivery_id) as delivery_id
    from (select distinct e.reference_type, e.reference_id from entry e where v_by = 'merchant') x
    left join money.cod_collections c on x.reference_type = 'cod_collection' and c.tenant_id = v_tenant and c.id = x.reference_id
    left join money.carrier_collections k on x.reference_type = 'carrier_collection' and k.tenant_id = v_tenant and k.id = x.reference_id
    left join money.driver_pay y on x.reference_type = 'driver_pay' and y.tenant_id = v_tenant and y.id = x.reference_id
    left join money.cash_transfers t on x.reference_type = 'cash_transfer' and t.tenant_id = v_tenant and t.id = x.reference_id
    left join money.payments p on p.tenant_id = v_tenant and p.id = case x.reference_type when 'payment' then x.reference_id else t.refund_id end
  ), owned as (
    select l.*, case v_by when 'day' then ((l.created_at at time zone v_zone)::date)::text
        when 'month' then to_char(l.created_at at time zone v_zone, 'YYYY-MM') end as period,
      case when d.order_id is null then coalesce(d.institution_user_id, d.customer_id) end as merchant
    from (
      select x.word, x.reference_type, x.reference_id, x.currency, min(x.created_at) as created_at, sum(x.sum) as sum
      from line x where x.sum is not null group by x.id, x.word, x.reference_type, x.reference_id, x.currency having sum(x.sum) <> 0) l
    left join about a on a.reference_type = l.reference_type and a.reference_id = l.reference_id
    left join delivery.deliveries b on b.tenant_id = v_tenant and b.id = a.delivery_id
    left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = coalesce(b.parent_id, b.id)
  ), part as (
    select grouping(o.period) = 1 as whole, o.currency, o.period, o.merchant,
      coalesce(sum(o.sum) filter (where o.word in ('cash', 'charged')), 0) as delivery_fees,
      coalesce(sum(o.sum) filter (where o.word in ('refund', 'desk')), 0) as refunds,
      coalesce(sum(o.sum) filter (where o.word = 'pay'), 0) as driver_pay,
      coalesce(sum(o.sum) filter (where o.word = 'write_off'), 0) as write_offs,
      coalesce(sum(o.sum) filter (where o.word = 'short'), 0) as shortages
    from owned o group by grouping sets ((o.currency, o.period, o.merchant), (o.currency))
  )
  select coalesce(jsonb_agg(x.row || jsonb_build_object('period', x.period, 'merchant', money.person(x.merchant))
      order by x.period, x.merchant, x.currency) filter (where not x.whole), '[]'),
    coalesce(jsonb_agg(x.row order by x.currency) filter (where x.whole), '[]')
  into v_rows, v_totals
  from (
    select p.*, jsonb_build_object('currency', p.currency, 'delivery_fees', p.delivery_fees, 'refunds', p.refunds, 'driver_pay', p.driver_pay,
      'write_offs', p.write_offs, 'shortages', p.shortages,
      'net', p.delivery_fees - p.refunds - p.driver_pay - p.write_offs - p.shortages) as row
    from part p) x;
  return jsonb_build_object('date_from', v_from, 'date_to', v_to, 'timezone', v_zone, 'rows', case when v_by = 'none' then '[]' else v_rows end,
    'totals', v_totals);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_payouts(statement uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'method', p.method, 'amount', p.amount, 'reference', p.reference, 'proof', p.proof,
      'paid_at', p.paid_at, 'paid_by', jsonb_build_object('id', p.actor_id, 'full_name', a.full_name), 'reversed_at', p.reversed_at,
      'reversed_by', case when p.reversed_by is not null then jsonb_build_object('id', p.reversed_by, 'full_name', b.full_name) end,
      'reversal_reason', p.reversal_reason) order by p.paid_at desc, p.id desc), '[]')
    from money.merchant_payouts p
    left join tenancy.profiles a on a.id = p.actor_id
    left join tenancy.profiles b on b.id = p.reversed_by
    where p.tenant_id = app.tenant_id() and p.statement_id = statement);
end $function$;

CREATE OR REPLACE FUNCTION money.statement_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_answer jsonb := money.statement_get(input);
begin
  return jsonb_set(v_answer, '{statement,payouts}', money.statement_payouts((input ->> 'id')::uuid));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_references(statement uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select string_agg(p.reference, E'\n') from money.merchant_payouts p where p.tenant_id = app.tenant_id() and p.statement_id = statement);
end $function$;

CREATE VIEW "money"."cash_desk_movements_list" WITH (security_invoker=true) AS  SELECT e.id,
        CASE
            WHEN (t.reference_type = 'cash_transfer'::text) THEN ( SELECT c.kind
               FROM money.cash_transfers c
              WHERE ((c.tenant_id = t.tenant_id) AND (c.id = t.reference_id)))
            ELSE
            CASE replace(t.kind, '_REVERSAL'::text, ''::text)
                WHEN 'cod_settlement'::text THEN 'remittance'::text
                WHEN 'cash_shortage'::text THEN 'shortage'::text
                WHEN 'driver_payout_cash'::text THEN 'driver_payout'::text
                WHEN 'merchant_payout_cash'::text THEN 'merchant_payout'::text
                ELSE replace(t.kind, '_REVERSAL'::text, ''::text)
            END
        END AS kind,
    e.amount,
    e.currency,
    e.balance_after,
    t.reference_id,
    t.description,
    e.created_at,
    money.desk_movement_details(a.*, e.*, t.*) AS details,
    a.id AS desk_id,
    a.owner_type,
    a.owner_user_id AS user_id
   FROM ((money.accounts a
     JOIN money.ledger_entries e ON (((e.tenant_id = a.tenant_id) AND (e.account_id = a.id))))
     LEFT JOIN money.ledger_transactions t ON (((t.tenant_id = e.tenant_id) AND (t.id = e.transaction_id))))
  WHERE ((a.kind = 'cash_on_hand'::text) AND (( SELECT money.settles_for_office() AS settles_for_office) OR (a.owner_user_id = ( SELECT app.user_id() AS user_id))));

CREATE VIEW "money"."cod_collections_list" WITH (security_invoker=true) AS  SELECT c.id,
    c.delivery_id,
    c.driver_id,
    c.amount,
    c.currency,
    json_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount) AS allocations,
    c.cod_amount,
    c.delivery_fee_amount,
    c.collection_stage,
    c.status,
    c.collected_at,
    c.remitted_at,
    c.settled_at,
    c.delivery_code,
    c.leg_codes,
    c.receiver_name,
    json_build_object('delivery_number', c.delivery_number, 'customer_name', c.customer_name, 'delivery_address', c.delivery_address, 'receiver_name', c.receiver_name) AS delivery_details,
    json_build_object('full_name', p.full_name, 'email', p.email, 'avatar', p.avatar_url) AS driver_info,
    c.remitted_to_user_id,
    c.settlement_payment_id,
    c.external_reference_id,
    c.reversed_at,
    c.customer_name,
    c.delivery_address,
    p.full_name AS driver_name,
        CASE
            WHEN ( SELECT app.sees_tenant() AS sees_tenant) THEN (( SELECT money.holds_cod() AS holds_cod) AND money.cod_is_held('cod_collection'::text, c.id))
            ELSE NULL::boolean
        END AS held,
        CASE
            WHEN (( SELECT app.sees_tenant() AS sees_tenant) AND (c.cod_amount > (0)::numeric) AND (c.reversed_at IS NULL)) THEN
            CASE
                WHEN ( SELECT money.holds_cod() AS holds_cod) THEN money.cod_released_at('cod_collection'::text, c.id, c.collected_at)
                ELSE c.collected_at
            END
            ELSE NULL::timestamp with time zone
        END AS released_at
   FROM (money.cod_collections c
     LEFT JOIN tenancy.people p ON ((p.id = c.driver_id)));

CREATE VIEW "money"."statements_with_payouts" WITH (security_invoker=true) AS  SELECT s.id,
    s.number,
    s.owner,
    s.currency,
    s.opened_at,
    s.period,
    s.gross_cod,
    s.fees,
    s.refunds,
    s.adjustments,
    s.net,
    s.count,
    s.status,
    s.payout_id,
    s.confirmed_at,
    s.voided_at,
    s.void_reason,
    s.payout,
    s.owner_user_id,
    s.owner_name,
    s.sequence,
    money.statement_payouts(s.id) AS payouts,
    p.paid_at,
    p.method,
    money.statement_references(s.id) AS payout_references
   FROM (money.merchant_statements_list s
     LEFT JOIN money.merchant_payouts p ON (((p.tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (p.id = s.payout_id))));

CREATE VIEW "money"."wallet_transactions_list" WITH (security_invoker=true) AS  SELECT e.id,
    e.account_id AS wallet_id,
    t.kind,
    t.description,
        CASE
            WHEN (e.amount > (0)::numeric) THEN 'credit'::text
            ELSE 'debit'::text
        END AS direction,
    e.amount,
    e.currency,
    e.balance_after,
    t.reference_type,
    t.reference_id,
    t.actor_id,
    e.created_at,
    ((t.kind = 'cod_credit'::text) AND ( SELECT money.holds_cod() AS holds_cod) AND money.cod_is_held(t.reference_type, t.reference_id)) AS held,
        CASE
            WHEN (t.kind = 'cod_credit'::text) THEN
            CASE
                WHEN ( SELECT money.holds_cod() AS holds_cod) THEN money.cod_released_at(t.reference_type, t.reference_id, e.created_at)
                ELSE e.created_at
            END
            ELSE NULL::timestamp with time zone
        END AS released_at
   FROM ((money.ledger_entries e
     JOIN money.ledger_transactions t ON (((t.tenant_id = e.tenant_id) AND (t.id = e.transaction_id))))
     JOIN money.accounts a ON (((a.tenant_id = e.tenant_id) AND (a.id = e.account_id) AND (a.kind = 'wallet'::text))));

REVOKE ALL ON FUNCTION "money"."cod_is_held"(text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_is_held"(text, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cod_released_at"(text, uuid, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cod_released_at"(text, uuid, timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."desk_movement_details"(money.accounts, money.ledger_entries, money.ledger_transactions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."desk_movement_details"(money.accounts, money.ledger_entries, money.ledger_transactions) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."desk_movements_found"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."desk_movements_found"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."holds_cod"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."holds_cod"() TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."revenue"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."revenue"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_payouts"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_payouts"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_read"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."statement_references"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."statement_references"(uuid) TO "barid_caller";

GRANT SELECT ON TABLE "money"."cash_desk_movements_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."cod_collections_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."statements_with_payouts" TO "barid_caller";

GRANT SELECT ON TABLE "money"."wallet_transactions_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130000352';
end $$;

grant execute on function private.schema_version() to barid_api;
