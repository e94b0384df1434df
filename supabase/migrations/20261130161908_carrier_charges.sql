-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.carrier_remittances in access exclusive mode;
      set local lock_timeout = '500ms';
      alter view money.carrier_remittances_list reset (security_barrier);
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

DROP VIEW "money"."carrier_remittances_list";

ALTER TABLE "money"."carrier_remittances" ADD COLUMN "charges" numeric(18,3) NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION money.carrier_cash_collected(p_parcel uuid, p_shipment uuid, p_carrier text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_tracking text;
  v_due record;
  v_row uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_parcel;
  select x.tracking_number into v_tracking from integration.carrier_shipments x where x.tenant_id = d.tenant_id and x.id = p_shipment;
  v_due := money.cash_due(d, 'dropoff');
  if v_due.cod + v_due.delivery_fee = 0 then
    return;
  end if;
  -- The owner's wallet, the carrier's debt, and then what the cash comes from outside with: in this order an undo and its payments lock them.
  perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
  perform money.lock_carrier(p_carrier, d.currency::text);
  insert into money.carrier_collections (tenant_id, carrier_code, delivery_id, shipment_id, amount, cod_amount, delivery_fee_amount,
    currency, collected_at, delivery_code, tracking_number, external_reference_id, customer_name, delivery_address)
  values (d.tenant_id, p_carrier, d.id, p_shipment, v_due.cod + v_due.delivery_fee, v_due.cod, v_due.delivery_fee, d.currency,
    now(), d.delivery_code, v_tracking, d.external_reference_id, money.payer_name(d),
    coalesce(d.dropoff_snapshot ->> 'full_address', ''))
  on conflict (tenant_id, delivery_id) where status <> 'reversed' do nothing
  returning id into v_row;
  if v_row is not null then
    perform money.cash_book(d, 'dropoff', 'carrier_collection', v_row,
      money.account_of('carrier_cash', 'carrier', null, d.currency::text, p_carrier));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, carrier_code text, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'carrier_cash', p.carrier_code, p.currency, p.owed, p.ledger, array(
      select c.id from money.carrier_collections c
      where c.tenant_id = tenant and c.carrier_code = p.carrier_code and c.currency = p.currency and c.collected_at <= as_of
        and (c.reversed_at is null or c.reversed_at > as_of)
        and c.id not in (select p.carrier_collection_id from money.carrier_paid(tenant, as_of) p)
      order by c.collected_at, c.id limit 100)
  from money.carrier_positions(tenant, as_of) p where p.owed <> p.ledger
  union all
  select 'carrier_collection', s.carrier_code, d.currency, s.cash_due, c.amount, array[s.id]
  from integration.carrier_shipments s
  join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status = 'delivered'
  left join money.carrier_collections c on c.tenant_id = s.tenant_id and c.shipment_id = s.id and c.reversed_at is null
  where s.tenant_id = tenant and s.cash_due > 0 and s.status in ('booked', 'cancelling') and d.delivered_at <= as_of
    and c.amount is distinct from s.cash_due
  union all
  select 'carrier_collection_journal', c.carrier_code, c.currency, n.taken, b.amount, array[c.id]
  from money.carrier_collections c
  cross join lateral (select case when c.reversed_at <= as_of then 0 else c.amount end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'carrier_cash' and a.carrier_code = c.carrier_code
    where t.tenant_id = tenant and t.kind in ('cash_collected', 'cash_collected_REVERSAL') and t.reference_type = 'carrier_collection'
      and t.reference_id = c.id and t.created_at <= as_of
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and n.taken is distinct from b.amount
  union all
  select 'carrier_remittance_rows', r.carrier_code, r.currency, r.amount, i.total, i.rows
  from money.carrier_remittances r
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      (array_agg(c.id order by c.id))[1:100] as rows,
      coalesce(bool_and(c.carrier_code = r.carrier_code and c.currency = r.currency and c.amount = i.amount
        and (r.reversed_at is not null or c.remittance_id = r.id and c.remitted_at = r.remitted_at)), false) as alike
    from money.carrier_remittance_items i
    join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
    where i.tenant_id = tenant and i.remittance_id = r.id
  ) i on true
  cross join lateral (
    select count(*) as entries from money.carrier_collections c where c.tenant_id = tenant and c.remittance_id = r.id) c
  where r.tenant_id = tenant and r.remitted_at <= as_of
    and (r.amount is distinct from i.total or r.delivery_fee_amount is distinct from i.fees or r.collections is distinct from i.entries
      or not i.alike or c.entries <> case when r.reversed_at is null then r.collections else 0 end)
  union all
  select 'carrier_remittance_journal', r.carrier_code, r.currency, e.taken, b.taken, array[r.id]
  from money.carrier_remittances r
  cross join lateral (values (case r.kind when 'write_off' then 'carrier_write_off' else 'carrier_remittance' end, r.amount - r.charges),
    ('carrier_charge', r.charges)) k (kind, amount)
  cross join lateral (
    select case when r.reversed_at <= as_of then 0 else -k.amount end as taken,
      case when k.amount = 0 then 0 when r.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount), 0) as taken, count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id and a.kind = 'carrier_cash' and a.carrier_code = r.carrier_code
    where j.tenant_id = tenant and j.kind in (k.kind, k.kind || '_REVERSAL')
      and j.reference_type = 'carrier_remittance' and j.reference_id = r.id and j.created_at <= as_of
  ) b on true
  where r.tenant_id = tenant and r.remitted_at <= as_of and (b.taken, b.journals) is distinct from (e.taken, e.journals::bigint)
$function$;

CREATE OR REPLACE FUNCTION money.carrier_remit(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return money.carrier_remittance_enter(input) - '{charges,received}'::text[];
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance(remittance_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select to_jsonb(r) || jsonb_build_object('remitted_collections', (
        select coalesce(jsonb_agg(jsonb_build_object('carrier_collection_id', c.id, 'delivery_id', c.delivery_id, 'delivery_code', c.delivery_code,
          'amount', i.amount, 'cod_amount', i.cod_amount, 'delivery_fee_amount', i.delivery_fee_amount) order by c.collected_at, c.id), '[]')
        from money.carrier_remittance_items i
        join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
        where i.tenant_id = app.tenant_id() and i.remittance_id = r.id))
    from money.remittances_with_charges r where r.id = carrier_remittance.remittance_id);
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_book(r money.carrier_remittances)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_carrier uuid := money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code);
  v_taker uuid;
  v_outside uuid;
begin
  if r.charges < r.amount then
    v_taker := money.account_of(case r.kind when 'write_off' then 'external' else 'cash_on_hand' end, 'tenant', null, r.currency::text);
  end if;
  if r.charges > 0 then
    v_outside := money.account_of('external', 'tenant', null, r.currency::text);
  end if;
  if v_taker <> v_outside then
    perform money.lock_balances(array[v_taker, v_outside]);
  end if;
  if v_taker is not null then
    perform money.post_journal(money.carrier_journal(r), 'carrier_remittance', r.id,
      case r.kind when 'write_off' then 'Cash written off of ' else 'Cash remitted by ' end || r.carrier_code,
      array[v_carrier, v_taker], array[r.charges - r.amount, r.amount - r.charges]);
  end if;
  if v_outside is not null then
    perform money.post_journal('carrier_charge', 'carrier_remittance', r.id, 'Charges kept by ' || r.carrier_code,
      array[v_carrier, v_outside], array[-r.charges, r.charges]);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_enter(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_amount numeric := (input ->> 'amount')::numeric;
  v_charges numeric := coalesce((input ->> 'charges')::numeric, 0);
  v_rows money.carrier_collections[];
  v_other text;
  v_written_off boolean := coalesce(input ->> 'kind' = 'write_off', false);
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  if not exists (select from integration.carriers c where c.code = input ->> 'carrier_code') then
    perform app.fail('carrier_not_found');
  end if;
  perform money.decimals_checked(v_amount, input ->> 'currency', 'amount');
  perform money.decimals_checked(v_charges, input ->> 'currency', 'charges');
  if v_charges > v_amount then
    perform app.fail('charges_exceed_remittance', jsonb_build_object('field', 'charges', 'amount', v_amount, 'currency', input ->> 'currency'));
  end if;
  perform money.lock_carrier(input ->> 'carrier_code', input ->> 'currency');
  v_rows := money.lock_carrier_collections(input);
  select c.currency into v_other from unnest(v_rows) c where c.currency <> input ->> 'currency' limit 1;
  if found then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_other));
  end if;
  v_rows := money.carrier_rows_paid(v_rows, v_amount, input ?| '{carrier_collection_ids,delivery_ids}');
  insert into money.carrier_remittances (tenant_id, carrier_code, kind, currency, amount, cod_amount, delivery_fee_amount, collections,
    reference, notes, actor_id, charges)
  select v_tenant, input ->> 'carrier_code', coalesce(input ->> 'kind', 'payment'), input ->> 'currency', v_amount, sum(c.cod_amount),
    sum(c.delivery_fee_amount), count(*), input ->> 'reference', input ->> 'notes', app.user_id(), v_charges
  from unnest(v_rows) c
  returning * into r;
  insert into money.carrier_remittance_items (tenant_id, remittance_id, carrier_collection_id, amount, cod_amount, delivery_fee_amount)
  select v_tenant, r.id, c.id, c.amount, c.cod_amount, c.delivery_fee_amount from unnest(v_rows) c;
  update money.carrier_collections c set status = case when v_written_off then 'written_off' else 'remitted' end, remitted_at = r.remitted_at,
    remittance_id = r.id
  where c.tenant_id = v_tenant and c.id = any (select x.id from unnest(v_rows) x);
  perform money.carrier_remittance_event_emit('carrier_remittance.created', r);
  perform money.carrier_remittance_book(r);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return money.carrier_remittance_read(input) - '{charges,received}'::text[];
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_found jsonb := money.carrier_remittance((input ->> 'remittance_id')::uuid);
begin
  if v_found ->> 'carrier_code' is distinct from input ->> 'carrier_code' then
    perform app.fail('remittance_not_found');
  end if;
  return v_found;
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_reverse(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return money.carrier_remittance_take_back(input) - '{charges,received}'::text[];
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_take_back(input jsonb)
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
  perform money.carrier_remittance_unbook(r);
  perform money.cod_holds_again('carrier_collection', v_rows);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_remittance_unbook(r money.carrier_remittances)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if r.kind = 'payment' and r.charges < r.amount then
    perform money.lock_returned_cash(money.account_of('cash_on_hand', 'tenant', null, r.currency::text),
      case when r.charges > 0 then money.account_of('external', 'tenant', null, r.currency::text)
        else money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code) end, r.amount - r.charges, r.currency::text);
  end if;
  if r.charges < r.amount then
    perform money.reverse(money.carrier_journal(r), 'carrier_remittance', r.id, r.reversal_reason);
  end if;
  if r.charges > 0 then
    perform money.reverse('carrier_charge', 'carrier_remittance', r.id, r.reversal_reason);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.carriers_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('carrier_name', c.name, 'charges', k.charges)
      order by c.position, p.carrier_code, p.currency), '[]')
    from money.carrier_positions(app.tenant_id(), as_of) p
    join integration.carriers c on c.code = p.carrier_code
    cross join lateral (
      select coalesce(sum(r.charges), 0) as charges from money.carrier_remittances r
      where r.tenant_id = app.tenant_id() and r.carrier_code = p.carrier_code and r.currency = p.currency
        and r.remitted_at <= carriers_reconciled.as_of and (r.reversed_at is null or r.reversed_at > carriers_reconciled.as_of)) k);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_in(tenant uuid, kind text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    with closed as (
      select c.id, c.status = 'remitted' as came_as_cash, c.settlement_payment_id as brought_by
      from money.cod_collections c where kind = 'cod_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'collected'
      union all
      select c.id, c.status = 'remitted', c.remittance_id
      from money.carrier_collections c
      where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status in ('remitted', 'written_off')
    )
    select r.id from closed r
    left join money.wallet_holds h on h.tenant_id = tenant and h.reference_type = kind and h.reference_id = r.id and h.release = 'on_bank' and h.step = 1
    left join lateral (
      select count(*) as parts, bool_or(p.amount <> 0) as there
      from (
        -- By its row (offset 0): without statistics the planner would read all that the settlement brought, for each of its rows.
        select x.amount, x.brought_by from money.desk_parts x
        where h.id is not null and x.tenant_id = tenant and x.reference_type = kind and x.reference_id = r.id
        offset 0) p
      where p.brought_by = r.brought_by
    ) d on true
    -- Settled from the wallet, or written off; not held until the bank; all of it has left the desks; all of it was short or kept by the carrier, so
    -- that none came.
    where not r.came_as_cash or h.id is null or (d.parts > 0 and not d.there)
      or exists (select from money.cod_settlements s where s.tenant_id = tenant and s.payment_id = r.brought_by and s.shortage = s.total)
      or exists (select from money.carrier_remittances m where m.tenant_id = tenant and m.id = r.brought_by and m.charges = m.amount);
end $function$;

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
        where r.tenant_id = tenant and r.kind = 'payment' and r.charges < r.amount and p.owner_type = 'tenant' and r.currency = p.currency
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
    select 'tenant', null, r.currency::text, r.amount - r.charges, 0, 0, 0, 0, 0
    from money.carrier_remittances r
    where r.tenant_id = tenant and r.kind = 'payment' and r.charges < r.amount and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
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
      ('carrier_charge', 'charge'), ('carrier_charge_REVERSAL', 'charge'),
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
      when 'charge' then case when e.kind = 'external' then e.amount end
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
      coalesce(sum(o.sum) filter (where o.word = 'charge'), 0) as carrier_charges,
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
      'carrier_charges', p.carrier_charges, 'write_offs', p.write_offs, 'shortages', p.shortages,
      'net', p.delivery_fees - p.refunds - p.driver_pay - p.carrier_charges - p.write_offs - p.shortages) as row
    from part p) x;
  return jsonb_build_object('date_from', v_from, 'date_to', v_to, 'timezone', v_zone, 'rows', case when v_by = 'none' then '[]' else v_rows end,
    'totals', v_totals);
end $function$;

ALTER TABLE "money"."carrier_remittances" ADD CONSTRAINT "charges_are_of_the_payment" CHECK (((charges >= (0)::numeric) AND (charges <=
CASE kind
    WHEN 'payment'::text THEN amount
    ELSE (0)::numeric
END))) NOT VALID;

CREATE VIEW "money"."remittances_with_charges" WITH (security_invoker=true) AS  SELECT r.id,
    r.carrier_code,
    r.amount,
    r.cod_amount,
    r.delivery_fee_amount,
    r.currency,
    r.reference,
    r.notes,
    r.remitted_at,
    r.collections AS remitted_count,
        CASE
            WHEN (r.actor_id IS NOT NULL) THEN jsonb_build_object('id', r.actor_id, 'full_name', p.full_name)
            ELSE NULL::jsonb
        END AS entered_by,
    r.reversed_at,
        CASE
            WHEN (r.reversed_by IS NOT NULL) THEN jsonb_build_object('id', r.reversed_by, 'full_name', b.full_name)
            ELSE NULL::jsonb
        END AS reversed_by,
    r.reversal_reason,
    r.kind,
    r.charges,
        CASE r.kind
            WHEN 'payment'::text THEN (r.amount - r.charges)
            ELSE (0)::numeric
        END AS received
   FROM ((money.carrier_remittances r
     LEFT JOIN tenancy.profiles p ON ((p.id = r.actor_id)))
     LEFT JOIN tenancy.profiles b ON ((b.id = r.reversed_by)));

CREATE VIEW "money"."carrier_remittances_list" WITH (security_invoker=true) AS  SELECT id,
    carrier_code,
    amount,
    cod_amount,
    delivery_fee_amount,
    currency,
    reference,
    notes,
    remitted_at,
    remitted_count,
    entered_by,
    reversed_at,
    reversed_by,
    reversal_reason,
    kind
   FROM money.remittances_with_charges r;

REVOKE ALL ON FUNCTION "money"."carrier_remittance_book"(money.carrier_remittances) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."carrier_remittance_book"(money.carrier_remittances) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."carrier_remittance_enter"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."carrier_remittance_enter"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."carrier_remittance_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."carrier_remittance_read"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."carrier_remittance_take_back"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."carrier_remittance_take_back"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."carrier_remittance_unbook"(money.carrier_remittances) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."carrier_remittance_unbook"(money.carrier_remittances) TO "barid_caller";

GRANT SELECT ON TABLE "money"."carrier_remittances_list" TO "barid_caller";

GRANT SELECT ON TABLE "money"."remittances_with_charges" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130161908';
end $$;

grant execute on function private.schema_version() to barid_api;
