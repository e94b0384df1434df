-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.deliveries, delivery.drivers, tenancy.currencies, tenancy.profiles, tenancy.tenants in share row exclusive mode;
      lock table money.accounts in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "money"."accounts" DROP CONSTRAINT "accounts_kind_check";

DROP FUNCTION "money"."desk_positions"(uuid, timestamp with time zone);

CREATE TABLE "money"."driver_payout_items" ("tenant_id" uuid NOT NULL, "payout_id" uuid NOT NULL, "driver_pay_id" uuid NOT NULL, "amount" numeric(18,3) NOT NULL, "reversed_at" timestamp with time zone, CONSTRAINT "driver_payout_items_amount_check" CHECK ((amount > (0)::numeric)), CONSTRAINT "driver_payout_items_pkey" PRIMARY KEY (tenant_id, payout_id, driver_pay_id));

ALTER TABLE "money"."driver_payout_items" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."driver_payout_items" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."driver_payouts" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "driver_id" uuid NOT NULL, "method" text NOT NULL, "amount" numeric(18,3) NOT NULL, "currency" character(3) NOT NULL, "accruals" integer NOT NULL, "reference" text, "notes" text, "actor_id" uuid NOT NULL, "idempotency_key" text, "input_hash" bytea, "paid_at" timestamp with time zone NOT NULL DEFAULT now(), "reversed_at" timestamp with time zone, "reversed_by" uuid, "reversal_reason" text, CONSTRAINT "driver_payout_key_used" UNIQUE (tenant_id, actor_id, idempotency_key), CONSTRAINT "driver_payouts_accruals_check" CHECK ((accruals > 0)), CONSTRAINT "driver_payouts_amount_check" CHECK ((amount > (0)::numeric)), CONSTRAINT "driver_payouts_method_check" CHECK ((method = ANY (ARRAY['wallet'::text, 'cash'::text]))), CONSTRAINT "driver_payouts_pkey" PRIMARY KEY (id), CONSTRAINT "driver_payouts_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "reversed_says_who_and_why" CHECK ((((reversed_at IS NULL) = (reversed_by IS NULL)) AND ((reversed_at IS NULL) = (reversal_reason IS NULL)))), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(method) <= 1000) AND (octet_length(reference) <= 1000) AND (octet_length(notes) <= 4000) AND (octet_length(idempotency_key) <= 1000) AND (octet_length(reversal_reason) <= 4000))));

ALTER TABLE "money"."driver_payouts" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."driver_payouts" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."driver_pay" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "driver_id" uuid NOT NULL, "mode" text NOT NULL, "percentage" numeric, "base_amount" numeric, "delivery_fee" numeric(18,3) NOT NULL, "amount" numeric(18,3) NOT NULL, "currency" character(3) NOT NULL, "status" text NOT NULL DEFAULT 'accrued'::text, "accrued_at" timestamp with time zone NOT NULL DEFAULT now(), "paid_at" timestamp with time zone, "payout_id" uuid, "reversed_at" timestamp with time zone, "delivery_code" bigint NOT NULL, CONSTRAINT "driver_pay_amount_check" CHECK ((amount > (0)::numeric)), CONSTRAINT "driver_pay_base_amount_check" CHECK ((base_amount > (0)::numeric)), CONSTRAINT "driver_pay_delivery_fee_check" CHECK ((delivery_fee >= (0)::numeric)), CONSTRAINT "driver_pay_has_a_rule" CHECK ((((mode = 'percentage'::text) = (percentage IS NOT NULL)) AND ((mode = 'per_delivery'::text) = (base_amount IS NOT NULL)))), CONSTRAINT "driver_pay_mode_check" CHECK ((mode = ANY (ARRAY['percentage'::text, 'per_delivery'::text]))), CONSTRAINT "driver_pay_percentage_check" CHECK ((percentage > (0)::numeric)), CONSTRAINT "driver_pay_pkey" PRIMARY KEY (id), CONSTRAINT "driver_pay_state" CHECK ((((status = 'paid'::text) = (paid_at IS NOT NULL)) AND ((status = 'paid'::text) = (payout_id IS NOT NULL)) AND ((status = 'reversed'::text) = (reversed_at IS NOT NULL)))), CONSTRAINT "driver_pay_status_check" CHECK ((status = ANY (ARRAY['accrued'::text, 'paid'::text, 'reversed'::text]))), CONSTRAINT "driver_pay_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(mode) <= 1000) AND (octet_length(status) <= 1000))));

ALTER TABLE "money"."driver_pay" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."driver_pay" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_shipment uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.move_reported(d, input);
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof');
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id into v_shipment from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      if not found then
        perform app.fail('delivery_has_no_driver');
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof');
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_shipment is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION money.account_of(kind text, owner_type text, owner uuid, currency text, carrier text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid;
begin
  for attempt in 1..2 loop
    -- Two statements, because `is not distinct from` opens no index: it would read the accounts of every driver.
    if owner is null then
      select a.id into v_id from money.accounts a
      where a.tenant_id = v_tenant and a.kind = kind and a.owner_type = owner_type and a.owner_user_id is null and a.currency = currency
        and a.carrier_code is not distinct from carrier;
    else
      select a.id into v_id from money.accounts a
      where a.tenant_id = v_tenant and a.kind = kind and a.owner_type = owner_type and a.owner_user_id = owner and a.currency = currency;
    end if;
    exit when v_id is not null;
    insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, carrier_code, currency, floor)
    -- Nobody can hand over cash that he does not hold, or pay more than he owes.
    values (v_tenant, kind, owner_type, owner, carrier, currency,
      case when kind in ('wallet', 'driver_cash', 'driver_shortage', 'carrier_cash', 'driver_payable') then 0 end)
    on conflict do nothing
    returning id into v_id;
    exit when v_id is not null;
  end loop;
  return v_id;
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
    'differences', v_differences);
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
    select a.owner_type, a.owner_user_id, a.currency::text, 0, 0, 0, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'cash_on_hand'
  )
  select m.owner_type, m.user_id, m.currency, sum(m.remitted), sum(m.shortages), sum(m.given), sum(m.got),
    sum(m.paid), sum(m.remitted - m.shortages - m.given + m.got - m.paid), sum(m.ledger)
  from moved m group by m.owner_type, m.user_id, m.currency
$function$;

REVOKE ALL ON FUNCTION "money"."desk_positions"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.driver_pay_accrue(p_delivery uuid, p_driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_due record;
  v_id uuid;
begin
  if p_driver is null then
    return;
  end if;
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  v_due := money.driver_pay_due(d);
  if v_due.amount is null then
    return;
  end if;
  insert into money.driver_pay (tenant_id, delivery_id, driver_id, mode, percentage, base_amount, delivery_fee, amount, currency, delivery_code)
  values (d.tenant_id, d.id, p_driver, v_due.mode, v_due.percentage, v_due.base_amount, v_due.delivery_fee, v_due.amount, v_due.currency, d.delivery_code)
  on conflict (tenant_id, delivery_id) where status <> 'reversed' do nothing
  returning id into v_id;
  if v_id is null then
    return;
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'driver_pay.accrued', 'source_module', 'delivery',
    'entity_type', 'driver_pay', 'entity_id', v_id, 'event_data', jsonb_build_object('driver_pay_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'driver_id', p_driver, 'amount', v_due.amount, 'currency', v_due.currency, 'actor_id', app.user_id()))));
  perform money.post_journal('driver_pay', 'driver_pay', v_id, 'Delivery ' || d.delivery_code,
    array[money.account_of('driver_payable', 'driver', p_driver, v_due.currency), money.account_of('driver_cost', 'tenant', null, v_due.currency)],
    array[v_due.amount, -v_due.amount]);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_pay_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'driver_pay', p.driver_id, p.currency, p.owed, p.ledger, array(
      select x.id from money.driver_pay x
      where x.tenant_id = tenant and x.driver_id = p.driver_id and x.currency = p.currency and x.accrued_at <= as_of
        and (x.status = 'accrued' or coalesce(x.paid_at, x.reversed_at) > as_of)
      order by x.accrued_at, x.id limit 100)
  from money.driver_pay_positions(tenant, as_of) p where p.owed <> p.ledger
  union all
  select 'driver_pay_journal', p.driver_id, p.currency, n.earned, b.earned, array[p.id]
  from money.driver_pay p
  cross join lateral (select case when p.reversed_at <= as_of then 0 else p.amount end as earned) n
  left join lateral (
    select coalesce(sum(e.amount), 0) as earned from money.ledger_transactions j
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_payable' and a.owner_user_id = p.driver_id
      and a.currency = p.currency
    where j.tenant_id = tenant and j.kind in ('driver_pay', 'driver_pay_REVERSAL') and j.reference_type = 'driver_pay' and j.reference_id = p.id
      and j.created_at <= as_of
  ) b on true
  where p.tenant_id = tenant and p.accrued_at <= as_of and b.earned <> n.earned
  union all
  select 'driver_payout_rows', t.driver_id, t.currency, t.amount, i.total, i.rows
  from money.driver_payouts t
  left join lateral (
    select sum(i.amount) as total, count(*) as entries, (array_agg(p.id order by p.id))[1:100] as rows,
      coalesce(bool_and(p.driver_id = t.driver_id and p.currency = t.currency and p.amount = i.amount and i.reversed_at is not distinct from t.reversed_at
        and (t.reversed_at is not null or p.payout_id = t.id)), false) as alike
    from money.driver_payout_items i
    join money.driver_pay p on p.tenant_id = i.tenant_id and p.id = i.driver_pay_id
    where i.tenant_id = tenant and i.payout_id = t.id
  ) i on true
  where t.tenant_id = tenant and t.paid_at <= as_of and (t.amount is distinct from i.total or t.accruals is distinct from i.entries or not i.alike)
  union all
  select 'driver_paid', p.driver_id, p.currency, i.amount, p.amount, array[p.id]
  from money.driver_pay p
  left join money.driver_payout_items i on i.tenant_id = p.tenant_id and i.driver_pay_id = p.id and i.reversed_at is null
  where p.tenant_id = tenant and p.accrued_at <= as_of and p.payout_id is distinct from i.payout_id
  union all
  select 'driver_payout_journal', t.driver_id, t.currency, n.taken, b.taken, array[t.id]
  from money.driver_payouts t
  cross join lateral (select case when t.reversed_at <= as_of then 0 else -t.amount end as taken) n
  left join lateral (
    select coalesce(sum(e.amount) filter (where a.kind = 'driver_payable' and a.owner_user_id = t.driver_id), 0) as taken,
      coalesce(sum(e.amount) filter (where case t.method when 'wallet' then a.kind = 'wallet' and a.owner_type = 'driver' and a.owner_user_id = t.driver_id
        else a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id end), 0)
        * case t.method when 'wallet' then -1 else 1 end as brought
    from money.ledger_transactions j
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id and e.currency = t.currency
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
    where j.tenant_id = tenant and j.reference_type = 'driver_payout' and j.reference_id = t.id and j.created_at <= as_of
  ) b on true
  where t.tenant_id = tenant and t.paid_at <= as_of and (b.taken, b.brought) is distinct from (n.taken, n.taken)
$function$;

REVOKE ALL ON FUNCTION "money"."driver_pay_differences"(uuid, timestamp with time zone) FROM "barid_caller";

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
    v_larger := ceil(amount * 10 ^ v_decimals / 2) / 10 ^ v_decimals;
    amount := case d.delivery_flow when 'pnd_inbound' then v_larger else amount - v_larger end;
  end if;
  amount := nullif(greatest(amount, 0), 0);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_pay_filter(asked text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when app.sees_tenant() then app.parse_uuid(asked, 'driver_id') else app.user_id() end;
end $function$;

CREATE OR REPLACE FUNCTION money.driver_pay_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(driver_id uuid, currency text, accrued numeric, paid numeric, owed numeric, ledger numeric)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with moved (driver_id, currency, accrued, paid, ledger) as (
    select p.driver_id, p.currency::text, p.amount, 0, 0 from money.driver_pay p
    where p.tenant_id = tenant and p.accrued_at <= as_of and (p.reversed_at is null or p.reversed_at > as_of)
    union all
    select t.driver_id, t.currency::text, 0, t.amount, 0 from money.driver_payouts t
    where t.tenant_id = tenant and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select a.owner_user_id, a.currency::text, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_payable'
  )
  select m.driver_id, m.currency, sum(m.accrued), sum(m.paid), sum(m.accrued - m.paid), sum(m.ledger)
  from moved m group by m.driver_id, m.currency
$function$;

REVOKE ALL ON FUNCTION "money"."driver_pay_positions"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.driver_pay_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('driver_name', q.full_name) order by q.full_name, p.driver_id, p.currency), '[]')
    from money.driver_pay_positions(app.tenant_id(), as_of) p
    left join tenancy.profiles q on q.id = p.driver_id);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_pay_sums(wanted jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('accrued', coalesce((t.by_status #>> '{accrued,amount}')::numeric, 0),
      'paid', coalesce((t.by_status #>> '{paid,amount}')::numeric, 0))
    from (select app.tally_by('driver_pay', 'status', jsonb_build_object('currency', (app.currency()).code) || wanted) as by_status offset 0) t);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.driver_payout_book(input);
begin
  return jsonb_build_object('payout', money.driver_payout_to_json(v_id));
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_accounts(t money.driver_payouts, OUT payable uuid, OUT paid uuid, OUT outside uuid)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  payable := money.account_of('driver_payable', 'driver', t.driver_id, t.currency::text);
  if t.method = 'wallet' then
    paid := money.account_of('wallet', 'driver', t.driver_id, t.currency::text);
  else
    outside := money.account_of('external', 'tenant', null, t.currency::text);
    select a.id into paid from money.accounts a
    where a.tenant_id = t.tenant_id and a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id and a.currency = t.currency;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_book(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_key text := app.request_setting('idempotency_key');
  v_hash bytea := sha256(convert_to(input::text, 'UTF8'));
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_currency text := coalesce(input ->> 'currency', (app.currency()).code);
  v_until timestamptz := coalesce(app.day_end(input ->> 'date_to'), 'infinity');
  v_pay uuid[];
  v_amount numeric;
  v_accounts record;
  t money.driver_payouts;
begin
  if v_key is not null then
    select x.* into t from money.driver_payouts x
    where x.tenant_id = v_tenant and x.actor_id = app.user_id() and x.idempotency_key = v_key;
    if found then
      if t.input_hash <> v_hash then
        perform app.fail('idempotency_conflict');
      end if;
      return t.id;
    end if;
  end if;
  if input ->> 'method' = 'wallet' and not money.pays_into_wallets() then
    perform app.fail('forbidden');
  end if;
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  -- Two payouts at once: the second waits here, and finds what the first one left.
  select array_agg(l.id), sum(l.amount) into v_pay, v_amount from (
    select p.id, p.amount from money.driver_pay p
    where p.tenant_id = v_tenant and p.driver_id = v_driver and p.currency = v_currency and p.status = 'accrued' and p.accrued_at < v_until
    order by p.id for no key update) l;
  if v_pay is null then
    perform app.fail('nothing_to_pay');
  end if;
  insert into money.driver_payouts (tenant_id, driver_id, method, amount, currency, accruals, reference, notes, actor_id, idempotency_key, input_hash)
  values (v_tenant, v_driver, input ->> 'method', v_amount, v_currency, cardinality(v_pay), input ->> 'reference', input ->> 'notes', app.user_id(),
    v_key, v_hash)
  returning * into t;
  update money.driver_pay p set status = 'paid', paid_at = t.paid_at, payout_id = t.id where p.tenant_id = v_tenant and p.id = any (v_pay);
  insert into money.driver_payout_items (tenant_id, payout_id, driver_pay_id, amount)
  select p.tenant_id, t.id, p.id, p.amount from money.driver_pay p where p.tenant_id = v_tenant and p.id = any (v_pay);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'driver_pay.paid', 'source_module', 'delivery',
    'entity_type', 'driver_payout', 'entity_id', t.id, 'event_data', jsonb_build_object('payout_id', t.id, 'driver_id', v_driver, 'method', t.method,
      'amount', v_amount, 'currency', v_currency, 'count', t.accruals, 'reference', t.reference, 'actor_id', app.user_id()))));
  v_accounts := money.driver_payout_accounts(t);
  if t.method = 'wallet' then
    perform money.lock_balances(array[v_accounts.paid]);
    perform money.post_journal('driver_payout', 'driver_payout', t.id, 'Driver pay', array[v_accounts.payable, v_accounts.paid], array[-v_amount, v_amount]);
    return t.id;
  end if;
  if v_accounts.paid is null then
    perform app.fail('insufficient_desk_cash', jsonb_build_object('held', 0, 'currency', v_currency));
  end if;
  perform money.lock_cash_desk(v_accounts.paid, v_accounts.outside, v_amount, v_currency);
  perform money.post_journal('driver_payout_cash', 'driver_payout', t.id, 'Driver pay in cash',
    array[v_accounts.paid, v_accounts.outside], array[-v_amount, v_amount]);
  perform money.post_journal('driver_payout', 'driver_payout', t.id, 'Driver pay',
    array[v_accounts.payable, v_accounts.outside], array[-v_amount, v_amount]);
  return t.id;
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_check()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_owed numeric;
  v_got numeric;
  v_short boolean;
  v_amount numeric := case when new.reversed_at is null then new.amount else 0 end;
begin
  select coalesce(sum(e.amount) filter (where a.kind = 'driver_payable'), 0),
    coalesce(sum(case a.kind when 'wallet' then e.amount else -e.amount end) filter (where a.kind in ('wallet', 'cash_on_hand')), 0),
    bool_or(a.kind = 'cash_on_hand' and e.amount < 0 and e.balance_after < 0) into v_owed, v_got, v_short
  from money.ledger_transactions j
  join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
  where j.tenant_id = new.tenant_id and j.reference_type = 'driver_payout' and j.reference_id = new.id
    and j.kind in ('driver_payout', 'driver_payout_cash', 'driver_payout_REVERSAL', 'driver_payout_cash_REVERSAL');
  if v_owed <> -v_amount or v_got <> v_amount then
    raise exception 'payout % has no journal of its amount', new.id using errcode = 'check_violation', constraint = 'driver_payout_booked';
  elsif v_short then
    raise exception 'payout % takes more than the desk holds', new.id using errcode = 'check_violation', constraint = 'insufficient_desk_cash';
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."driver_payout_check"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.driver_payout_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('payout', app.found(money.driver_payout_to_json((input ->> 'id')::uuid), 'driver_payout_not_found'));
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_reverse(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.driver_payout_unbook(input);
begin
  return jsonb_build_object('payout', money.driver_payout_to_json(v_id));
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_to_json(p_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select to_jsonb(r) - '{driver_id,driver_name}'::text[] from money.driver_payouts_list r where r.id = p_id);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_unbook(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_accounts record;
  t money.driver_payouts;
begin
  select x.* into t from money.driver_payouts x where x.tenant_id = v_tenant and x.id = (input ->> 'id')::uuid for no key update;
  if t.id is null then
    perform app.fail('driver_payout_not_found');
  elsif not money.pays_into_wallets() and (t.method = 'wallet' or t.actor_id <> app.user_id()) then
    perform app.fail('forbidden');
  elsif t.reversed_at is not null then
    perform app.fail('driver_payout_already_reversed');
  end if;
  update money.driver_payouts x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id;
  update money.driver_payout_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payout_id = t.id;
  perform from money.driver_pay p where p.tenant_id = v_tenant and p.payout_id = t.id order by p.id for no key update;
  update money.driver_pay p set status = 'accrued', paid_at = null, payout_id = null where p.tenant_id = v_tenant and p.payout_id = t.id;
  v_accounts := money.driver_payout_accounts(t);
  perform money.lock_balances(array_remove(array[v_accounts.paid, v_accounts.outside], null));
  if t.method = 'cash' then
    perform money.reverse('driver_payout_cash', 'driver_payout', t.id, input ->> 'reason');
  end if;
  perform money.reverse('driver_payout', 'driver_payout', t.id, input ->> 'reason');
  return t.id;
end $function$;

CREATE OR REPLACE FUNCTION money.pays_into_wallets()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.grants() && '{role:tenant_admin,role:system_admin}';
end $function$;

CREATE OR REPLACE FUNCTION money.require_driver_pay_filter(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  perform money.driver_pay_filter(input ->> 'driver_id');
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION private.tally_driver_pay()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'driver_pay', array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'driver_pay', array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select -1 as d, o.* from old_rows o
          where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      else
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'driver_pay', array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      end if;
      return null;
    end $function$;

ALTER TABLE "money"."accounts" ADD CONSTRAINT "accounts_kind_check" CHECK ((kind = ANY (ARRAY['wallet'::text, 'external'::text, 'cod_clearing'::text, 'cash_on_hand'::text, 'driver_cash'::text, 'driver_shortage'::text, 'carrier_cash'::text, 'driver_payable'::text, 'driver_cost'::text]))) NOT VALID;

ALTER TABLE "money"."driver_pay" ADD CONSTRAINT "driver_pay_currency_fkey" FOREIGN KEY (currency) REFERENCES tenancy.currencies(code) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_pay" ADD CONSTRAINT "driver_pay_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_pay" ADD CONSTRAINT "driver_pay_tenant_id_driver_id_fkey" FOREIGN KEY (tenant_id, driver_id) REFERENCES delivery.drivers(tenant_id, user_id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_pay" ADD CONSTRAINT "driver_pay_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_payout_items" ADD CONSTRAINT "driver_payout_items_tenant_id_driver_pay_id_fkey" FOREIGN KEY (tenant_id, driver_pay_id) REFERENCES money.driver_pay(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_payouts" ADD CONSTRAINT "driver_payouts_actor_id_fkey" FOREIGN KEY (actor_id) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_payouts" ADD CONSTRAINT "driver_payouts_currency_fkey" FOREIGN KEY (currency) REFERENCES tenancy.currencies(code) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_payouts" ADD CONSTRAINT "driver_payouts_reversed_by_fkey" FOREIGN KEY (reversed_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_payouts" ADD CONSTRAINT "driver_payouts_tenant_id_driver_id_fkey" FOREIGN KEY (tenant_id, driver_id) REFERENCES delivery.drivers(tenant_id, user_id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_payouts" ADD CONSTRAINT "driver_payouts_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_pay" ADD CONSTRAINT "driver_pay_tenant_id_payout_id_fkey" FOREIGN KEY (tenant_id, payout_id) REFERENCES money.driver_payouts(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."driver_payout_items" ADD CONSTRAINT "driver_payout_items_tenant_id_payout_id_fkey" FOREIGN KEY (tenant_id, payout_id) REFERENCES money.driver_payouts(tenant_id, id) ON DELETE RESTRICT;

CREATE VIEW "money"."driver_pay_list" WITH (security_invoker=true) AS  SELECT p.id,
    jsonb_build_object('id', p.driver_id, 'full_name', f.full_name) AS driver,
    jsonb_build_object('id', p.delivery_id, 'delivery_code', p.delivery_code) AS delivery,
    jsonb_build_object('mode', p.mode, 'percentage', p.percentage, 'base_amount', p.base_amount, 'delivery_fee', p.delivery_fee) AS rule,
    p.amount,
    p.currency,
    p.status,
    p.accrued_at,
    p.paid_at,
    p.payout_id,
    p.driver_id
   FROM (money.driver_pay p
     LEFT JOIN tenancy.profiles f ON ((f.id = p.driver_id)));

CREATE VIEW "money"."driver_payouts_list" WITH (security_invoker=true) AS  SELECT t.id,
    jsonb_build_object('id', t.driver_id, 'full_name', d.full_name) AS driver,
    t.amount,
    t.currency,
    t.method,
    t.accruals AS count,
    t.reference,
    t.notes,
    jsonb_build_object('id', t.actor_id, 'full_name', a.full_name) AS paid_by,
    t.paid_at,
    t.reversed_at,
        CASE
            WHEN (t.reversed_by IS NOT NULL) THEN jsonb_build_object('id', t.reversed_by, 'full_name', r.full_name)
            ELSE NULL::jsonb
        END AS reversed_by,
    t.reversal_reason,
    t.driver_id,
    d.full_name AS driver_name
   FROM (((money.driver_payouts t
     LEFT JOIN tenancy.profiles d ON ((d.id = t.driver_id)))
     LEFT JOIN tenancy.profiles a ON ((a.id = t.actor_id)))
     LEFT JOIN tenancy.profiles r ON ((r.id = t.reversed_by)));

CREATE UNIQUE INDEX driver_pay_already_accrued ON money.driver_pay USING btree (tenant_id, delivery_id) WHERE (status <> 'reversed'::text);

CREATE UNIQUE INDEX driver_pay_already_paid ON money.driver_payout_items USING btree (tenant_id, driver_pay_id) WHERE (reversed_at IS NULL);

CREATE INDEX driver_pay_amount ON money.driver_pay USING btree (tenant_id, amount DESC NULLS LAST, id DESC);

CREATE INDEX driver_pay_currency ON money.driver_pay USING btree (currency);

CREATE INDEX driver_pay_delivery ON money.driver_pay USING btree (tenant_id, delivery_id);

CREATE INDEX driver_pay_driver ON money.driver_pay USING btree (tenant_id, driver_id, accrued_at DESC NULLS LAST, id DESC);

CREATE INDEX driver_pay_open ON money.driver_pay USING btree (tenant_id, driver_id, currency, id) WHERE (status = 'accrued'::text);

CREATE INDEX driver_pay_paid ON money.driver_pay USING btree (tenant_id, paid_at DESC NULLS LAST, id DESC);

CREATE INDEX driver_pay_payout ON money.driver_pay USING btree (tenant_id, payout_id) WHERE (payout_id IS NOT NULL);

CREATE INDEX driver_pay_recent ON money.driver_pay USING btree (tenant_id, accrued_at DESC NULLS LAST, id DESC);

CREATE INDEX driver_pay_status ON money.driver_pay USING btree (tenant_id, status, accrued_at DESC NULLS LAST, id DESC);

CREATE INDEX driver_payout_items_pay ON money.driver_payout_items USING btree (tenant_id, driver_pay_id);

CREATE INDEX driver_payouts_actor ON money.driver_payouts USING btree (actor_id);

CREATE INDEX driver_payouts_amount ON money.driver_payouts USING btree (tenant_id, amount DESC NULLS LAST, id DESC);

CREATE INDEX driver_payouts_currency ON money.driver_payouts USING btree (currency);

CREATE INDEX driver_payouts_driver ON money.driver_payouts USING btree (tenant_id, driver_id, paid_at DESC NULLS LAST, id DESC);

CREATE INDEX driver_payouts_recent ON money.driver_payouts USING btree (tenant_id, paid_at DESC NULLS LAST, id DESC);

CREATE INDEX driver_payouts_reverser ON money.driver_payouts USING btree (reversed_by) WHERE (reversed_by IS NOT NULL);

CREATE TRIGGER tally_driver_pay_delete AFTER DELETE ON money.driver_pay REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_driver_pay();

CREATE TRIGGER tally_driver_pay_insert AFTER INSERT ON money.driver_pay REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_driver_pay();

CREATE TRIGGER tally_driver_pay_update AFTER UPDATE ON money.driver_pay REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.tally_driver_pay();

CREATE TRIGGER append_only_delete BEFORE DELETE ON money.driver_payout_items FOR EACH ROW EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON money.driver_payout_items FOR EACH STATEMENT EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only BEFORE UPDATE ON money.driver_payout_items FOR EACH ROW WHEN (((NOT (old.reversed_at IS NULL)) OR ((to_jsonb(old.*) - '{reversed_at}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{reversed_at}'::text[])))) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_delete BEFORE DELETE ON money.driver_payouts FOR EACH ROW EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON money.driver_payouts FOR EACH STATEMENT EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only BEFORE UPDATE ON money.driver_payouts FOR EACH ROW WHEN (((NOT (old.reversed_at IS NULL)) OR ((to_jsonb(old.*) - '{reversed_at,reversed_by,reversal_reason}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{reversed_at,reversed_by,reversal_reason}'::text[])))) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER audit_delete AFTER DELETE ON money.driver_payouts REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON money.driver_payouts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON money.driver_payouts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE CONSTRAINT TRIGGER driver_payout_booked AFTER INSERT OR UPDATE OF reversed_at, amount ON money.driver_payouts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION money.driver_payout_check();

CREATE POLICY "tenant" ON "money"."driver_pay" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "money"."driver_pay" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."driver_pay" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."driver_pay" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."driver_payout_items" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."driver_payout_items" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."driver_payout_items" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."driver_payout_items" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."driver_payouts" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "money"."driver_payouts" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."driver_payouts" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."driver_payouts" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "money"."desk_positions"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."driver_pay_accrue"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_pay_accrue"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_pay_differences"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."driver_pay_due"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_pay_due"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_pay_filter"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_pay_filter"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_pay_positions"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."driver_pay_reconciled"(timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_pay_reconciled"(timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_pay_sums"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_pay_sums"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_payout"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_payout"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_payout_accounts"(money.driver_payouts) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_payout_accounts"(money.driver_payouts) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_payout_book"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_payout_book"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_payout_check"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."driver_payout_get"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_payout_get"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_payout_reverse"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_payout_reverse"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_payout_to_json"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_payout_to_json"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_payout_unbook"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_payout_unbook"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."pays_into_wallets"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."pays_into_wallets"() TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."require_driver_pay_filter"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."require_driver_pay_filter"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."tally_driver_pay"() FROM PUBLIC;

GRANT SELECT ON TABLE "money"."driver_pay" TO "barid_caller";

GRANT SELECT ON TABLE "money"."driver_payout_items" TO "barid_caller";

GRANT SELECT ON TABLE "money"."driver_payouts" TO "barid_caller";

GRANT SELECT ON TABLE "money"."driver_pay_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."driver_payouts_list" TO "barid_caller";

select app.counted('driver_pay', 'money.driver_pay', '{status,driver_id,currency}', 'amount');

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
  return '20261125033123';
end $$;

grant execute on function private.schema_version() to barid_api;
