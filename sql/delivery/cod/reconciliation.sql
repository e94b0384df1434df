-- The proof that no cash is missing: what was collected is in hand, remitted or settled; the ledger, the
-- rows and the wallets say the same; every difference is named with its rows.

-- The cash of a tenant as of a moment, by driver and currency, from the rows and from the ledger. A row says how it was
-- settled last; before the reversal of a settlement, it was settled by that.
create or replace function money.cod_positions(tenant uuid, as_of timestamptz)
returns table (driver_id uuid, currency text, collected numeric, remitted numeric, settled_by_wallet numeric, in_hand numeric, ledger numeric)
language sql stable set search_path = '' as $$
  with moved (driver_id, currency, collected, remitted, settled, ledger) as (
    select c.driver_id, c.currency::text, sum(c.amount), coalesce(sum(c.amount) filter (where c.remitted_at <= as_of), 0),
      coalesce(sum(c.amount) filter (where c.settled_at <= as_of), 0), 0
    from money.cod_collections c where c.tenant_id = tenant and c.collected_at <= as_of and (c.reversed_at is null or c.reversed_at > as_of)
    group by c.driver_id, c.currency
    union all
    -- Reversed since.
    select s.driver_id, s.currency::text, 0, case s.method when 'remit' then s.total else 0 end,
      case s.method when 'wallet' then s.total else 0 end, 0
    from money.cod_settlements s where s.tenant_id = tenant and s.settled_at <= as_of and s.reversed_at > as_of
    union all
    select a.owner_user_id, a.currency::text, 0, 0, 0, sum(e.amount)
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_cash'
    group by a.owner_user_id, a.currency
  )
  select m.driver_id, m.currency, sum(m.collected), sum(m.remitted), sum(m.settled), sum(m.collected - m.remitted - m.settled), sum(m.ledger)
  from moved m group by m.driver_id, m.currency
$$;

-- The rows of cash of a tenant's drivers and carriers, reversed ones too.
create or replace function money.cod_taken(tenant uuid)
returns table (id uuid, delivery_id uuid, currency text, cod_amount numeric, collected_at timestamptz, reversed_at timestamptz)
language sql stable set search_path = '' as $$
  select c.id, c.delivery_id, c.currency::text, c.cod_amount, c.collected_at, c.reversed_at from money.cod_collections c where c.tenant_id = tenant
  union all
  select c.id, c.delivery_id, c.currency::text, c.cod_amount, c.collected_at, c.reversed_at from money.carrier_collections c where c.tenant_id = tenant
$$;

-- Every difference in a tenant's cash as of a moment; none means that every dinar is accounted for.
--   driver_cash         a driver's rows in hand are not what the ledger says the driver holds
--   collection_journal  a row was not booked as cash taken, or with another amount; one that was reversed has to leave nothing
--   settlement_items    a settlement is not the sum of its items, or they were not reversed with it
--   settled_row         a row is not as its settlement took it, or is settled without one
--   settlement_journal  a settlement took another amount from the driver in the ledger; a reversed one has to leave nothing
--   driver_shortage     what was missing at counts, remitted and not resolved yet is not what the ledger says a driver is short of
--   cod_credit          the COD paid out to merchants is not the COD collected, by drivers and carriers together
--   reversed_row        as money.reversed_differences finds it
--   fee_change          the change of a fee is not what its wallet paid, or got back, in the ledger
--   ledger              the books contradict themselves
--   carrier_…           what money.carrier_differences finds
--   desk_…, cash_transfer_…         what money.desk_differences finds; user_id is whose desk, null for the till
--   driver_pay…, driver_paid, driver_payout_…   what money.driver_pay_differences finds
--   held_…              what money.cod_hold_differences finds; user_id is whose wallet
--   state…, unstated_…, payout_journal   what money.statement_differences finds; user_id is whose wallet
create or replace function money.cod_differences(tenant uuid, as_of timestamptz)
returns table (kind text, driver_id uuid, carrier_code text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
language sql stable security definer set search_path = '' as $$
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
      select x.*, case when x.reversed_at <= as_of then 0 else x.cod_amount end as cod from money.cod_taken(tenant) x
    ) c
    where c.cod_amount > 0 and c.collected_at <= as_of group by c.currency
  ) r
  left join lateral (
    select coalesce(sum(q.amount), 0) as paid from money.payments q
    where q.tenant_id = tenant and q.type = 'COD_COLLECTION' and q.currency = r.currency and q.processed_at <= as_of
      -- Also one that counted then and was cancelled with its row since.
      and (q.status = 'SUCCESS' or q.status = 'CANCELLED' and exists (select from money.cod_taken(tenant) x
        where x.delivery_id = q.delivery_id and x.collected_at = q.processed_at and x.reversed_at > as_of))
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
$$;

-- {as_of?} -> {as_of, reconciled, totals by currency, drivers, carriers, desks, driver_pay, held, statements, differences}; office only, its own
-- tenant. Totals are the drivers'.
create or replace function money.cod_reconciliation(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
end $$;

-- Compares every tenant's cash with the books, or one's, and writes a system event where they differ. Run by cron once a
-- night. Answers how many tenants have one.
create or replace function money.cod_reconcile_all(only_tenant uuid default null) returns integer
language plpgsql set search_path = '' as $$
declare
  v_count integer;
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select t.id, 'cod.mismatch', 'delivery', 'tenant', t.id, jsonb_build_object('differences', d.list)
  from tenancy.tenants t
  cross join lateral (
    select jsonb_agg(to_jsonb(x) order by x.kind, x.driver_id, x.carrier_code, x.user_id) as list
    from (select * from money.cod_differences(t.id, now()) limit 100) x
  ) d
  where d.list is not null and t.status <> 'archived' and (only_tenant is null or t.id = only_tenant);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

revoke execute on function money.cod_taken(uuid), money.cod_positions(uuid, timestamptz), money.cod_differences(uuid, timestamptz)
  from barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.cod_reconcile_all(uuid) from barid_caller;
