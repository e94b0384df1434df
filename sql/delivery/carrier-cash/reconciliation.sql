-- Reconciliation of carriers' cash: rows, remittances and ledger must agree on what they took, owe and paid.

-- The collections that were paid or written off as of a moment, by remittances that were not reversed by then.
create or replace function money.carrier_paid(tenant uuid, as_of timestamptz)
returns table (carrier_collection_id uuid, remittance_id uuid, kind text)
language sql stable set search_path = '' as $$
  select i.carrier_collection_id, i.remittance_id, r.kind
  from money.carrier_remittances r
  join money.carrier_remittance_items i on i.tenant_id = r.tenant_id and i.remittance_id = r.id
  where r.tenant_id = tenant and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
$$;

-- The cash of a tenant's carriers as of a moment, by carrier and currency, from the rows and from the ledger.
create or replace function money.carrier_positions(tenant uuid, as_of timestamptz)
returns table (carrier_code text, currency text, collected numeric, remitted numeric, written_off numeric, owed numeric, ledger numeric)
language sql stable set search_path = '' as $$
  with by_row as (
    select c.carrier_code, c.currency::text as currency, sum(c.amount) as collected,
      coalesce(sum(c.amount) filter (where p.kind = 'payment'), 0) as remitted,
      coalesce(sum(c.amount) filter (where p.kind = 'write_off'), 0) as written_off
    from money.carrier_collections c
    left join money.carrier_paid(tenant, as_of) p on p.carrier_collection_id = c.id
    where c.tenant_id = tenant and c.collected_at <= as_of and (c.reversed_at is null or c.reversed_at > as_of)
    group by c.carrier_code, c.currency
  ), by_entry as (
    select a.carrier_code, a.currency::text as currency, sum(e.amount) as held
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'carrier_cash'
    group by a.carrier_code, a.currency
  )
  select coalesce(r.carrier_code, e.carrier_code), coalesce(r.currency, e.currency), coalesce(r.collected, 0), coalesce(r.remitted, 0),
    coalesce(r.written_off, 0), coalesce(r.collected - r.remitted - r.written_off, 0), coalesce(e.held, 0)
  from by_row r full join by_entry e on e.carrier_code = r.carrier_code and e.currency = r.currency
$$;

-- Every difference in the cash of a tenant's carriers as of a moment.
--   carrier_cash                a carrier's owed rows are not what the ledger says it owes
--   carrier_collection          a delivered parcel's cash was not booked, or is not what the carrier was asked to collect
--   carrier_collection_journal  a row was not booked as cash taken, or with another amount; one that was reversed has to leave nothing
--   carrier_remittance_rows     a payment or write-off is not the sum of its rows, or they are not closed by it; or a reversed one
--                               still has rows
--   carrier_remittance_journal  a payment, what was kept of it, or a write-off took another amount from the carrier in the ledger, or was booked
--                               as another of these; one that was reversed has to leave nothing
create or replace function money.carrier_differences(tenant uuid, as_of timestamptz)
returns table (kind text, carrier_code text, currency text, expected numeric, found numeric, rows uuid[])
language sql stable set search_path = '' as $$
  select 'carrier_cash', p.carrier_code, p.currency, p.owed, p.ledger, array(
      select c.id from money.carrier_collections c
      where c.tenant_id = tenant and c.carrier_code = p.carrier_code and c.currency = p.currency and c.collected_at <= as_of
        and (c.reversed_at is null or c.reversed_at > as_of)
        and c.id not in (select x.carrier_collection_id from money.carrier_paid(tenant, as_of) x)
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
  cross join lateral (values (money.carrier_journal(r), r.amount - r.charges),
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
$$;

-- Where the caller's tenant stands with each carrier as of a moment, [{carrier_code, carrier_name, currency, collected,
-- remitted, charges: what of that the carrier kept; written_off, owed, ledger}].
create or replace function money.carriers_reconciled(as_of timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;

revoke execute on function money.carrier_paid(uuid, timestamptz), money.carrier_positions(uuid, timestamptz),
  money.carrier_differences(uuid, timestamptz) from barid_caller;
