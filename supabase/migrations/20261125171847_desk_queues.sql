-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table money.ledger_transactions in share row exclusive mode;
      lock table money.accounts, money.carrier_collections, money.cod_collections, money.wallet_holds in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "holds_follow" ON "money"."carrier_collections";

DROP TRIGGER "holds_follow" ON "money"."cod_collections";

ALTER TABLE "money"."wallet_holds" DROP CONSTRAINT "wallet_holds_release_check";

DROP FUNCTION "money"."cod_holds_of"(uuid, timestamp with time zone);

CREATE TABLE "money"."desk_part_moves" ("id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL, "tenant_id" uuid NOT NULL, "transaction_id" uuid, "account_id" uuid NOT NULL, "part_id" uuid NOT NULL, "amount" numeric(18,3) NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "desk_part_moves_amount_check" CHECK ((amount <> (0)::numeric)), CONSTRAINT "desk_part_moves_pkey" PRIMARY KEY (id));

ALTER TABLE "money"."desk_part_moves" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."desk_part_moves" FORCE ROW LEVEL SECURITY;

CREATE TABLE "money"."desk_parts" ("tenant_id" uuid NOT NULL, "account_id" uuid NOT NULL, "part_id" uuid NOT NULL, "place" bigint NOT NULL, "reference_type" text, "reference_id" uuid, "brought_by" uuid, "amount" numeric(18,3) NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "desk_parts_pkey" PRIMARY KEY (tenant_id, account_id, part_id), CONSTRAINT "desk_parts_reference_type_check" CHECK ((reference_type = ANY (ARRAY['cod_collection'::text, 'carrier_collection'::text]))), CONSTRAINT "part_of_a_row_is_there" CHECK (((amount >= (0)::numeric) OR (reference_id IS NULL))), CONSTRAINT "part_of_a_row" CHECK ((((reference_type IS NULL) = (reference_id IS NULL)) AND ((reference_id IS NULL) = (brought_by IS NULL)))), CONSTRAINT "texts_within_bounds" CHECK ((octet_length(reference_type) <= 1000)));

ALTER TABLE "money"."desk_parts" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "money"."desk_parts" FORCE ROW LEVEL SECURITY;

ALTER TABLE "money"."accounts" ADD COLUMN "queued_since" timestamp with time zone;

CREATE OR REPLACE FUNCTION money.brings_cash_to_bank(kind text, reference uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  if kind not in ('cod_settlement', 'carrier_remittance')
      or not exists (select from money.wallet_holds h where h.tenant_id = v_tenant and h.release = 'on_bank' and h.step = 1) then
    return false;
  end if;
  return exists (
    select from money.cash_brought(v_tenant, kind, reference) b
    join money.wallet_holds h on h.tenant_id = v_tenant and h.reference_type = b.reference_type and h.reference_id = b.reference_id
      and h.release = 'on_bank' and h.step = 1);
end $function$;

REVOKE ALL ON FUNCTION "money"."brings_cash_to_bank"(text, uuid) FROM "barid_caller";

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
  perform money.cod_holds_back('carrier_collection', v_rows);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_brought(tenant uuid, kind text, reference uuid)
 RETURNS TABLE(reference_type text, reference_id uuid, amount numeric, place bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if kind = 'cod_settlement' then
    return query
      select 'cod_collection', i.cod_collection_id, i.amount, row_number() over (order by i.position, i.cod_collection_id)
      from money.cod_settlement_items i where i.tenant_id = cash_brought.tenant and i.payment_id = reference;
  elsif kind = 'carrier_remittance' then
    return query
      select 'carrier_collection', i.carrier_collection_id, i.amount, row_number() over (order by c.collected_at, c.id)
      from money.carrier_remittance_items i
      join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
      where i.tenant_id = cash_brought.tenant and i.remittance_id = reference;
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."cash_brought"(uuid, text, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cash_in(tenant uuid, kind text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    with handed as (
      select c.id, c.status = 'remitted' as in_cash, c.settlement_payment_id as brought_by
      from money.cod_collections c where kind = 'cod_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'collected'
      union all
      select c.id, true, c.remittance_id
      from money.carrier_collections c where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'owed'
    )
    select r.id from handed r
    left join money.wallet_holds h on h.tenant_id = tenant and h.reference_type = kind and h.reference_id = r.id and h.release = 'on_bank' and h.step = 1
    left join lateral (
      select count(*) as parts, bool_or(p.amount <> 0) as there from money.desk_parts p
      where h.id is not null and p.tenant_id = tenant and p.reference_type = kind and p.reference_id = r.id and p.brought_by = r.brought_by
    ) d on true
    where not r.in_cash or h.id is null or (d.parts > 0 and not d.there)
      or exists (select from money.cod_settlements s where s.tenant_id = tenant and s.payment_id = r.brought_by and s.shortage = s.total);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_back(kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform money.cod_holds_follow(app.tenant_id(), kind, ids);
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_holds_back"(text, uuid[]) FROM "barid_caller";

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
    select n.tenant_id, array_agg(n.id)
    from new_rows n
    join old_rows o on o.id = n.id
    where o.status <> 'remitted' or n.status = 'remitted'
    group by n.tenant_id
  loop
    perform money.cod_holds_follow(v_tenant, tg_argv[0], v_ids);
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_of(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(reference_id uuid, account_id uuid, carrier boolean, out_amount numeric, held numeric, later numeric, sound boolean, at_desk boolean)
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
  ), settled as (
    select i.cod_collection_id as id, i.payment_id as brought_by
    from money.cod_settlement_items i
    join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
    where i.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
  ), lying as (
    select p.reference_type, p.reference_id, p.brought_by
    from money.desk_parts p
    join money.desk_part_moves m on m.tenant_id = tenant and m.account_id = p.account_id and m.part_id = p.part_id and m.created_at <= as_of
    where p.tenant_id = tenant and p.reference_id is not null
    group by p.reference_type, p.reference_id, p.brought_by, p.account_id having sum(m.amount) <> 0
  ), taken as (
    select c.id, 'cod_collection' as kind, c.delivery_id, c.cod_amount,
      (c.reversed_at is null or c.reversed_at > as_of) and c.id not in (select s.id from settled s) as is_out,
      exists (select from settled s join lying l on l.reference_type = 'cod_collection' and l.reference_id = s.id and l.brought_by = s.brought_by
        where s.id = c.id) as is_there
    from money.cod_collections c
    where c.tenant_id = tenant and c.id in (select h.reference_id from held h where h.reference_type = 'cod_collection')
    union all
    select c.id, 'carrier_collection', c.delivery_id, c.cod_amount, p.remittance_id is null,
      exists (select from lying l where l.reference_type = 'carrier_collection' and l.reference_id = c.id and l.brought_by = p.remittance_id)
    from money.carrier_collections c
    left join money.carrier_paid(tenant, as_of) p on p.carrier_collection_id = c.id
    where c.tenant_id = tenant and c.id in (select h.reference_id from held h where h.reference_type = 'carrier_collection')
  )
  select h.reference_id, h.account_id, h.reference_type = 'carrier_collection',
    case when h.release <> 'on_delivery' and t.is_out or h.release = 'on_bank' and t.is_there then t.cod_amount else 0 end, h.held, h.later,
    coalesce(h.sound and h.amount = t.cod_amount and exists (
      select from money.payments p where p.tenant_id = tenant and p.delivery_id = t.delivery_id and p.type = 'COD_COLLECTION'
        and p.account_id = h.account_id), false),
    coalesce(h.release = 'on_bank' and t.is_there, false)
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
        coalesce(sum(o.out_amount) filter (where not o.carrier and not o.at_desk), 0) as in_hand,
        coalesce(sum(o.out_amount) filter (where o.carrier and not o.at_desk), 0) as with_carriers,
        coalesce(sum(o.out_amount) filter (where o.at_desk), 0) as at_desks,
        sum(o.held) as held, sum(o.later) as waiting
      from money.cod_holds_of(app.tenant_id(), as_of) o
      join money.accounts a on a.tenant_id = app.tenant_id() and a.id = o.account_id
      left join tenancy.profiles p on p.id = a.owner_user_id
      group by a.id, a.owner_user_id, p.full_name, a.currency
      having sum(o.held) <> 0 or sum(o.later) <> 0 or sum(o.out_amount) <> 0
    ) w);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_unsettle(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_short numeric;
  v_rows uuid[];
  s money.cod_settlements;
begin
  if not money.settles_for_office() then
    perform app.fail('forbidden');
  end if;
  -- Of two reversals the later one waits for the driver, and finds it done; and whoever settles all of his cash does so
  -- before this or after it.
  perform from delivery.drivers d
  where d.tenant_id = v_tenant and d.user_id = (select x.driver_id from money.cod_settlements x
    where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid) for no key update;
  select x.* into s from money.cod_settlements x
  where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid;
  if s.payment_id is null then
    perform app.fail('settlement_not_found');
  elsif s.actor_id <> app.user_id() and s.receiver_id is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif s.reversed_at is not null then
    perform app.fail('settlement_already_reversed');
  elsif s.historical then
    perform app.fail('settlement_not_reversible');
  end if;
  -- In the order of their ids, as whoever settles holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id order by c.id for no key update) l;
  update money.cod_collections c set status = 'collected', remitted_at = null, settled_at = null, remitted_to_user_id = null,
    settlement_payment_id = null
  where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id;
  update money.cod_settlement_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payment_id = s.payment_id;
  update money.cod_settlements x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.payment_id = s.payment_id
  returning * into s;
  update money.payments p set status = 'CANCELLED' where p.tenant_id = v_tenant and p.id = s.payment_id;
  v_short := money.handover_free(s);
  perform money.receipt_reissue(s.payment_id);
  perform money.cod_reversal_event_emit(s);
  if s.method = 'remit' then
    perform money.lock_returned_cash(money.desk_of(s.driver_id, s.receiver_id, s.currency::text),
      money.account_of('driver_cash', 'driver', s.driver_id, s.currency::text), s.total - s.shortage - v_short, s.currency::text);
  end if;
  perform money.reverse('cod_settlement', 'payment', s.payment_id, input ->> 'reason');
  if s.method = 'remit' then
    perform money.cod_holds_back('cod_collection', v_rows);
  end if;
  return s.payment_id;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_arrivals(t money.ledger_transactions, undone uuid, desk uuid, came numeric)
 RETURNS TABLE(part_id uuid, amount numeric)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_last bigint;
  v_short numeric;
  v_rows numeric := 0;
begin
  if undone is not null then
    return query
      select m.part_id, -sum(m.amount) from money.desk_part_moves m
      where m.tenant_id = t.tenant_id and m.transaction_id = undone and m.account_id = desk
      group by m.part_id having sum(m.amount) <> 0;
    select coalesce(-sum(m.amount), 0) into v_rows from money.desk_part_moves m
    where m.tenant_id = t.tenant_id and m.transaction_id = undone and m.account_id = desk;
  else
    select coalesce(sum(b.amount), 0) into v_rows from money.cash_brought(t.tenant_id, t.kind, t.reference_id) b;
    v_short := greatest(v_rows - came, 0);
    v_last := money.desk_last_place();
    return query
      with brought as (
        select b.*, gen_random_uuid() as part_id, sum(b.amount) over (order by b.place rows unbounded preceding) - b.amount as before
        from money.cash_brought(t.tenant_id, t.kind, t.reference_id) b
      ), made as (
        insert into money.desk_parts (tenant_id, account_id, part_id, place, reference_type, reference_id, brought_by, amount)
        select t.tenant_id, desk, b.part_id, v_last + b.place, b.reference_type, b.reference_id, t.reference_id, 0 from brought b
      )
      select b.part_id, m.amount
      from brought b
      cross join lateral (values (b.amount), (least(-least(b.amount, v_short - b.before), 0))) m (amount)
      where m.amount <> 0
      order by b.place;
    v_rows := v_rows - v_short;
  end if;
  if came <> v_rows then
    return query select money.desk_part_new(desk), came - v_rows;
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_arrivals"(money.ledger_transactions, uuid, uuid, numeric) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_debts_settle(journal uuid, desk uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_debt money.desk_parts;
  v_parts uuid[];
  v_amounts numeric[];
begin
  select p.* into v_debt from money.desk_parts p where p.tenant_id = app.tenant_id() and p.account_id = desk and p.amount < 0;
  if v_debt.part_id is null then
    return;
  end if;
  perform money.lock_desk_endings();
  select array_agg(o.part_id), array_agg(-o.amount) into v_parts, v_amounts from money.desk_oldest(desk, -v_debt.amount) o;
  if v_parts is not null then
    v_parts := v_parts || v_debt.part_id;
    perform money.desk_parts_book(array_fill(journal, array[cardinality(v_parts)]), array_fill(desk, array[cardinality(v_parts)]), v_parts,
      v_amounts || (select -sum(a) from unnest(v_amounts) a));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_debts_settle"(uuid, uuid) FROM "barid_caller";

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

CREATE OR REPLACE FUNCTION money.desk_last_place()
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((select p.place from money.desk_parts p where p.tenant_id = app.tenant_id() order by p.place desc nulls last limit 1), 0);
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_last_place"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_oldest(desk uuid, wanted numeric, undone uuid DEFAULT NULL::uuid)
 RETURNS TABLE(part_id uuid, amount numeric)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  with own as (
    select m.part_id, sum(m.amount) as amount from money.desk_part_moves m
    where m.tenant_id = v_tenant and m.transaction_id = undone and m.account_id = desk
    group by m.part_id having sum(m.amount) > 0
  ), there as (
    select p.part_id, p.place, s.own, s.amount
    from money.desk_parts p
    left join own o on o.part_id = p.part_id
    cross join lateral (select least(p.amount, coalesce(o.amount, 0)) as amount) i
    cross join lateral (values (true, i.amount), (false, p.amount - i.amount)) s (own, amount)
    where p.tenant_id = v_tenant and p.account_id = desk and p.amount > 0 and s.amount > 0
  ), line as (
    select t.*, sum(t.amount) over (order by t.own desc, t.place, t.part_id rows unbounded preceding) - t.amount as before from there t
  )
  select l.part_id, sum(least(l.amount, wanted - l.before)) from line l
  where l.before < wanted
  group by l.part_id, l.place order by l.place, l.part_id;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_oldest"(uuid, numeric, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_part_new(desk uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_part uuid := gen_random_uuid();
begin
  insert into money.desk_parts (tenant_id, account_id, part_id, place, amount)
  values (app.tenant_id(), desk, v_part, money.desk_last_place() + 1, 0);
  return v_part;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_part_new"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_parts_book(journals uuid[], desks uuid[], parts uuid[], amounts numeric[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  insert into money.desk_parts (tenant_id, account_id, part_id, place, reference_type, reference_id, brought_by, amount)
  select distinct on (m.desk, m.part) v_tenant, m.desk, m.part, p.place, p.reference_type, p.reference_id, p.brought_by, 0
  from unnest(desks, parts) m (desk, part)
  join money.desk_parts p on p.tenant_id = v_tenant and p.part_id = m.part and p.account_id = any (desks) and p.account_id <> m.desk
  where not exists (select from money.desk_parts x where x.tenant_id = v_tenant and x.account_id = m.desk and x.part_id = m.part)
  order by m.desk, m.part;
  update money.desk_parts p set amount = p.amount + m.amount
  from (select l.desk, l.part, sum(l.amount) as amount from unnest(desks, parts, amounts) l (desk, part, amount) group by l.desk, l.part) m
  where p.tenant_id = v_tenant and p.account_id = m.desk and p.part_id = m.part;
  insert into money.desk_part_moves (tenant_id, transaction_id, account_id, part_id, amount)
  select v_tenant, m.journal, m.desk, m.part, m.amount
  from unnest(journals, desks, parts, amounts) with ordinality m (journal, desk, part, amount, line)
  where m.amount <> 0 order by m.line;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_parts_book"(uuid[], uuid[], uuid[], numeric[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_parts_exchange(t money.ledger_transactions, undone uuid, desk uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_journals uuid[];
  v_desks uuid[];
  v_parts uuid[];
  v_amounts numeric[];
begin
  with mine as (
    select p.part_id, p.place from money.desk_parts p where p.tenant_id = t.tenant_id and p.brought_by = t.reference_id and p.account_id = desk
  ), ended as (
    -- By journals that were not reversed: at the desk where it came to last.
    select j.created_at, j.id as took, m.part_id, -sum(m.amount) as amount, (array_agg(m.account_id order by m.amount desc))[1] as at
    from (
      select x.transaction_id, x.part_id, x.account_id, sum(x.amount) as amount
      from money.desk_part_moves x
      where x.tenant_id = t.tenant_id and x.part_id in (select i.part_id from mine i) and x.transaction_id <> undone
      group by x.transaction_id, x.part_id, x.account_id) m
    join money.ledger_transactions j on j.tenant_id = t.tenant_id and j.id = m.transaction_id
    where not exists (
      select from money.ledger_transactions r
      where r.tenant_id = t.tenant_id and r.kind = j.kind || '_REVERSAL' and r.reference_type = j.reference_type and r.reference_id = j.reference_id)
    group by j.created_at, j.id, m.part_id having sum(m.amount) < 0
  ), gone as (
    -- The oldest of the others take the places of those that have left.
    select g.*, sum(g.amount) over (order by g.created_at, g.took, g.at, i.place, i.part_id rows unbounded preceding) - g.amount as before
    from (
      select 'infinity'::timestamptz as created_at, null::uuid as took, p.account_id as at, p.part_id, p.amount
      from money.desk_parts p
      where p.tenant_id = t.tenant_id and p.brought_by = t.reference_id and p.account_id <> desk and p.amount > 0
      union all
      select e.created_at, e.took, e.at, e.part_id, e.amount from ended e) g
    join mine i on i.part_id = g.part_id
  ), there as (
    select p.part_id, p.amount, sum(p.amount) over (order by p.place, p.part_id rows unbounded preceding) - p.amount as before
    from money.desk_parts p
    where p.tenant_id = t.tenant_id and p.account_id = desk and p.amount > 0 and p.brought_by is distinct from t.reference_id
  ), pair as (
    select g.took, g.at, g.part_id as mine, o.part_id as other, least(g.before + g.amount, o.before + o.amount) - greatest(g.before, o.before) as amount
    from gone g
    join there o on o.before < g.before + g.amount and g.before < o.before + o.amount
  ), move as (
    select m.journal, m.desk, m.part, sum(m.amount) as amount
    from pair p
    cross join lateral (values (t.id, desk, p.mine, p.amount), (t.id, desk, p.other, -p.amount), (t.id, p.at, p.mine, -p.amount),
      (t.id, p.at, p.other, p.amount), (p.took, p.at, p.mine, p.amount), (p.took, p.at, p.other, -p.amount)) m (journal, desk, part, amount)
    where m.journal is not null
    group by m.journal, m.desk, m.part having sum(m.amount) <> 0
  )
  select array_agg(m.journal), array_agg(m.desk), array_agg(m.part), array_agg(m.amount) into v_journals, v_desks, v_parts, v_amounts from move m;
  if v_parts is not null then
    perform money.desk_parts_book(v_journals, v_desks, v_parts, v_amounts);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_parts_exchange"(money.ledger_transactions, uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_parts_moved()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_kind text;
  v_ids uuid[];
begin
  for v_tenant, v_kind, v_ids in
    select p.tenant_id, p.reference_type, array_agg(distinct p.reference_id)
    from new_rows n
    join money.desk_parts p on p.tenant_id = n.tenant_id and p.account_id = n.account_id and p.part_id = n.part_id and p.reference_id is not null
    group by p.tenant_id, p.reference_type
  loop
    perform money.cod_holds_follow(v_tenant, v_kind, v_ids);
  end loop;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_parts_moved"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_queue_begin(desk uuid, before numeric)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- The clock: everything that is committed here came before it, also by a transaction that began after this one.
  update money.accounts a set queued_since = clock_timestamp() where a.tenant_id = app.tenant_id() and a.id = desk;
  if before <> 0 then
    perform money.desk_parts_book(array[null::uuid], array[desk], array[money.desk_part_new(desk)], array[before]);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_queue_begin"(uuid, numeric) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.desk_queues_follow(journal uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  t money.ledger_transactions;
  v_undone uuid;
  v_entry record;
  v_given uuid[] := '{}';
  v_given_amounts numeric[] := '{}';
  v_desks uuid[] := '{}';
  v_parts uuid[] := '{}';
  v_amounts numeric[] := '{}';
  v_got uuid[];
  v_got_amounts numeric[];
  v_rest numeric;
begin
  select x.* into t from money.ledger_transactions x where x.tenant_id = v_tenant and x.id = journal;
  select x.id into v_undone from money.ledger_transactions x
  where x.tenant_id = v_tenant and t.kind = x.kind || '_REVERSAL' and x.reference_type = t.reference_type and x.reference_id = t.reference_id;
  if t.kind not in ('cod_settlement', 'carrier_remittance') then
    perform money.lock_desk_endings();
  end if;
  -- The desk that gives comes first.
  for v_entry in
    select a.id as desk, sum(e.amount) as amount, a.balance - sum(e.amount) as before, a.queued_since is not null as queued
    from money.ledger_entries e
    join money.accounts a on a.tenant_id = v_tenant and a.id = e.account_id and a.kind = 'cash_on_hand'
    where e.tenant_id = v_tenant and e.transaction_id = journal
    group by a.id having sum(e.amount) <> 0 order by sum(e.amount), a.id
  loop
    if not v_entry.queued then
      perform money.desk_queue_begin(v_entry.desk, v_entry.before);
    end if;
    if v_entry.amount < 0 then
      if t.kind in ('cod_settlement_REVERSAL', 'carrier_remittance_REVERSAL') then
        perform money.desk_parts_exchange(t, v_undone, v_entry.desk);
      end if;
      select coalesce(array_agg(o.part_id), '{}'), coalesce(array_agg(-o.amount), '{}'), -v_entry.amount - coalesce(sum(o.amount), 0)
      into v_got, v_got_amounts, v_rest
      from money.desk_oldest(v_entry.desk, -v_entry.amount, v_undone) o;
      if v_rest > 0 then
        -- A shortage that is booked before its cash comes.
        v_got := v_got || coalesce((select p.part_id from money.desk_parts p
          where p.tenant_id = v_tenant and p.account_id = v_entry.desk and p.amount < 0), money.desk_part_new(v_entry.desk));
        v_got_amounts := v_got_amounts || -v_rest;
      end if;
      v_given := v_given || v_got;
      v_given_amounts := v_given_amounts || v_got_amounts;
    elsif cardinality(v_given) > 0 then
      v_got := v_given;
      v_got_amounts := array(select -a from unnest(v_given_amounts) with ordinality g (a, line) order by g.line);
    else
      select array_agg(a.part_id), array_agg(a.amount) into v_got, v_got_amounts from money.desk_arrivals(t, v_undone, v_entry.desk, v_entry.amount) a;
    end if;
    v_desks := v_desks || array_fill(v_entry.desk, array[cardinality(v_got)]);
    v_parts := v_parts || v_got;
    v_amounts := v_amounts || v_got_amounts;
  end loop;
  perform money.desk_parts_book(array_fill(journal, array[cardinality(v_parts)]), v_desks, v_parts, v_amounts);
  perform money.desk_debts_settle(journal, d.desk) from (select distinct u.desk from unnest(v_desks) u (desk)) d order by d.desk;
end $function$;

REVOKE ALL ON FUNCTION "money"."desk_queues_follow"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.lock_desk_endings()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended('desk endings ' || app.tenant_id(), 0));
end $function$;

REVOKE ALL ON FUNCTION "money"."lock_desk_endings"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.lock_returned_cash(giver uuid, taker uuid, amount numeric, currency text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (select from money.accounts a where a.tenant_id = app.tenant_id() and a.id = giver and a.queued_since is not null) then
    perform money.lock_balances(array(select a.id from money.accounts a
      where a.tenant_id = app.tenant_id() and (a.id in (giver, taker) or a.kind = 'cash_on_hand' and a.currency = lock_returned_cash.currency)));
  end if;
  perform money.lock_cash_desk(giver, taker, amount, currency);
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
  if exists (select from unnest(v_locked) a where a.kind = 'cash_on_hand' and a.queued_since is not null) then
    perform money.desk_queues_follow(t.id)
    from (select distinct p ->> 'kind' as kind, p ->> 'reference_type' as reference_type, (p ->> 'reference_id')::uuid as reference_id
      from jsonb_array_elements(postings) p) n
    join money.ledger_transactions t on t.tenant_id = v_tenant and t.kind = n.kind and t.reference_type = n.reference_type
      and t.reference_id = n.reference_id;
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
    insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
    values (v_tenant, v_journal, v_line.account_id, v_line.amount, v_account.currency, v_account.balance, v_account.version);
    if v_account.kind = 'cash_on_hand' then
      v_desk := true;
      v_queued := v_queued or v_account.queued_since is not null;
    end if;
    if v_line.amount < 0 then
      v_account.balance := v_account.balance - v_line.amount;
      perform money.require_available(v_account, v_line.amount, kind);
    end if;
  end loop;
  if v_queued or v_desk and money.brings_cash_to_bank(kind, reference_id) then
    perform money.desk_queues_follow(v_journal);
  end if;
end $function$;

ALTER TABLE "money"."desk_part_moves" ADD CONSTRAINT "desk_part_moves_tenant_id_transaction_id_fkey" FOREIGN KEY (tenant_id, transaction_id) REFERENCES money.ledger_transactions(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."desk_part_moves" ADD CONSTRAINT "desk_part_moves_tenant_id_account_id_part_id_fkey" FOREIGN KEY (tenant_id, account_id, part_id) REFERENCES money.desk_parts(tenant_id, account_id, part_id) ON DELETE RESTRICT;

ALTER TABLE "money"."desk_parts" ADD CONSTRAINT "desk_parts_tenant_id_account_id_fkey" FOREIGN KEY (tenant_id, account_id) REFERENCES money.accounts(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "money"."wallet_holds" ADD CONSTRAINT "wallet_holds_release_check" CHECK ((release = ANY (ARRAY['on_delivery'::text, 'on_remit'::text, 'on_bank'::text]))) NOT VALID;

CREATE INDEX desk_part_moves_desk ON money.desk_part_moves USING btree (tenant_id, account_id, part_id);

CREATE INDEX desk_part_moves_journal ON money.desk_part_moves USING btree (tenant_id, transaction_id, account_id);

CREATE INDEX desk_part_moves_part ON money.desk_part_moves USING btree (tenant_id, part_id);

CREATE INDEX desk_parts_brought ON money.desk_parts USING btree (tenant_id, brought_by) WHERE (brought_by IS NOT NULL);

CREATE INDEX desk_parts_place ON money.desk_parts USING btree (tenant_id, place DESC NULLS LAST);

CREATE INDEX desk_parts_queue ON money.desk_parts USING btree (tenant_id, account_id, place, part_id) WHERE (amount <> (0)::numeric);

CREATE INDEX desk_parts_row ON money.desk_parts USING btree (tenant_id, reference_type, reference_id) WHERE (reference_id IS NOT NULL);

CREATE TRIGGER holds_follow AFTER UPDATE ON money.carrier_collections REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.cod_holds_changed('carrier_collection');

CREATE TRIGGER holds_follow AFTER UPDATE ON money.cod_collections REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.cod_holds_changed('cod_collection');

CREATE TRIGGER append_only_delete BEFORE DELETE ON money.desk_part_moves FOR EACH ROW EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON money.desk_part_moves FOR EACH STATEMENT EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER append_only BEFORE UPDATE ON money.desk_part_moves FOR EACH ROW WHEN (true) EXECUTE FUNCTION private.refuse_change();

CREATE TRIGGER holds_follow AFTER INSERT ON money.desk_part_moves REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION money.desk_parts_moved();

CREATE POLICY "tenant" ON "money"."desk_part_moves" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."desk_part_moves" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."desk_part_moves" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."desk_part_moves" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "tenant" ON "money"."desk_parts" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "money"."desk_parts" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "money"."desk_parts" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "money"."desk_parts" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "money"."brings_cash_to_bank"(text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cash_brought"(uuid, text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_back"(text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."cod_holds_of"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_arrivals"(money.ledger_transactions, uuid, uuid, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_debts_settle"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_last_place"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_oldest"(uuid, numeric, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_part_new"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_parts_book"(uuid[], uuid[], uuid[], numeric[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_parts_exchange"(money.ledger_transactions, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_parts_moved"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_queue_begin"(uuid, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."desk_queues_follow"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."lock_desk_endings"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."lock_returned_cash"(uuid, uuid, numeric, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_returned_cash"(uuid, uuid, numeric, text) TO "barid_caller";

GRANT SELECT ON TABLE "money"."desk_part_moves" TO "barid_caller";

GRANT SELECT ON TABLE "money"."desk_parts" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125171847';
end $$;

grant execute on function private.schema_version() to barid_api;
