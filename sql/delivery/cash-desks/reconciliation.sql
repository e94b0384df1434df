-- Reconciliation of the office's desks: cash received less cash withdrawn must equal the ledger.

-- The cash of a tenant's desks as of a moment, by owner and currency, from the rows and from the ledger.
--   remitted         what drivers, or for the tenant's own till carriers, handed in, without what carriers kept and what was reversed
--   shortages        what was declared, remitted and never there
--   transferred_out  what was brought to the bank, handed to others, spent or paid out of wallets and as refunds, without what was reversed
--   transferred_in   what others handed over, what came from the bank or was paid into wallets
--   paid_out         what drivers and merchants were paid from it in cash, without what was reversed
--   in_hand          what these leave; ledger: what the accounts say
create or replace function money.desk_positions(tenant uuid, as_of timestamptz)
returns table (owner_type text, user_id uuid, currency text, remitted numeric, shortages numeric, transferred_out numeric,
  transferred_in numeric, paid_out numeric, in_hand numeric, ledger numeric)
language sql stable set search_path = '' as $$
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
$$;

-- Every difference in the cash of a tenant's desks as of a moment.
--   desk_cash              what came to a desk less what left it is not what the ledger says it holds; rows are its
--                          settlements, remittances, shortages, transfers and payouts, the newest first
--   cash_transfer_journal  a transfer took another amount from its desk in the ledger, or brought it elsewhere; a
--                          reversed one has to leave nothing
--   cash_transfer_wallet   a transfer moved another amount of its wallet
--   desk_parts             the parts of a desk's queue are not what the ledger says it holds
--   desk_part              what is kept as left of a part is not the sum of its moves; rows is the row of cash, or the part of no row
create or replace function money.desk_differences(tenant uuid, as_of timestamptz)
returns table (kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
language sql stable set search_path = '' as $$
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
$$;

-- The balances of the desks of the caller's tenant as of a moment, [{owner_type, user_id, user_name, currency, remitted,
-- shortages, transferred_out, transferred_in, paid_out, in_hand, ledger}].
create or replace function money.desks_reconciled(as_of timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('user_name', q.full_name)
      order by q.full_name, p.owner_type, p.user_id, p.currency), '[]')
    from money.desk_positions(app.tenant_id(), as_of) p
    left join tenancy.profiles q on q.id = p.user_id);
end $$;

revoke execute on function money.desk_positions(uuid, timestamptz), money.desk_differences(uuid, timestamptz) from barid_caller;
