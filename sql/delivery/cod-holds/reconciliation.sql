-- Reconciliation of what is held: the COD of the cash that is not in must equal the holds.

-- Each row of cash that was ever held, as of a moment: its COD while the cash is not in, and the sum of its holds; carrier: a carrier
-- has the cash, not a driver; at_desk: it is handed in, and a part of it lies on a desk.
create or replace function money.cod_holds_of(tenant uuid, as_of timestamptz)
returns table (reference_id uuid, account_id uuid, carrier boolean, out_amount numeric, held numeric, later numeric, sound boolean, at_desk boolean)
language sql stable set search_path = '' as $$
  -- Results are brought together by grouping, and rows are read by their keys (offset 0): without statistics a join may read all of one for
  -- each row of the other.
  with brought as (
    -- The rows that were in, by what brought them; there: a part of that lies on a desk.
    select m.kind, m.id, bool_or(m.lies) as there
    from (
      select 'cod_collection' as kind, i.cod_collection_id as id, i.payment_id as brought_by, false as lies
      from money.cod_settlement_items i
      join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
      where i.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
      union all
      select 'carrier_collection', p.carrier_collection_id, p.remittance_id, false from money.carrier_paid(tenant, as_of) p
      union all
      select p.reference_type, p.reference_id, p.brought_by, true
      from money.desk_parts p
      cross join lateral (
        select sum(n.amount) as amount from (
          select x.account_id, x.created_at, x.amount from money.desk_part_moves x where x.tenant_id = tenant and x.part_id = p.part_id offset 0) n
        where n.account_id = p.account_id and n.created_at <= as_of) m
      where p.tenant_id = tenant and p.reference_id is not null
      group by p.reference_type, p.reference_id, p.brought_by, p.account_id having sum(m.amount) <> 0
    ) m
    group by m.kind, m.id, m.brought_by having not bool_and(m.lies)
  ), held as (
    select m.kind, m.id, (array_agg((m.h).account_id order by (m.h).step) filter (where (m.h).step is not null))[1] as account_id,
      min((m.h).release) as release, sum((m.h).amount) as held,
      coalesce(-sum((m.h).amount) filter (where (m.h).counts_from > as_of), 0) as later, max((m.h).amount) as amount,
      count((m.h).step) = max((m.h).step) and count(distinct (m.h).account_id) = 1 and count(distinct abs((m.h).amount)) = 1 as sound,
      bool_or(m.there) is not null as is_in, coalesce(bool_or(m.there), false) as is_there
    from (
      select h.reference_type as kind, h.reference_id as id, null::boolean as there, h
      from money.wallet_holds h where h.tenant_id = tenant and h.created_at <= as_of
      union all
      select b.kind, b.id, b.there, null::money.wallet_holds from brought b
    ) m
    group by m.kind, m.id having count((m.h).step) > 0
  ), taken as (
    select h.*, coalesce(c.delivery_id, r.delivery_id) as delivery_id, coalesce(c.cod_amount, r.cod_amount) as cod_amount,
      not h.is_in and coalesce(c.reversed_at, r.reversed_at) <= as_of is not true as is_out
    from held h
    left join lateral (
      select x.id, x.tenant_id, x.delivery_id, x.cod_amount, x.reversed_at from money.cod_collections x
      where h.kind = 'cod_collection' and x.id = h.id offset 0) c on c.tenant_id = tenant
    left join lateral (
      select x.tenant_id, x.delivery_id, x.cod_amount, x.reversed_at from money.carrier_collections x
      where h.kind = 'carrier_collection' and x.id = h.id offset 0) r on r.tenant_id = tenant
  )
  select t.id, t.account_id, t.kind = 'carrier_collection',
    case when t.release <> 'on_delivery' and t.is_out or t.release = 'on_bank' and t.is_there then coalesce(t.cod_amount, 0) else 0 end,
    t.held, t.later,
    coalesce(t.sound and t.amount = t.cod_amount and exists (
      select from money.payments p where p.tenant_id = tenant and p.delivery_id = t.delivery_id and p.type = 'COD_COLLECTION'
        and p.account_id = t.account_id), false),
    coalesce(t.release = 'on_bank' and t.is_there, false)
  from taken t
$$;

-- Every difference in what is held of a tenant's wallets as of a moment; user_id is whose wallet it is.
--   held_cash    what is held of a wallet is not the COD of the rows that are not in
--   held_row     a row is held with another amount than its COD, on another wallet than it was credited to, or twice
--   held_total   the kept total of a wallet is not the sum of its holds
create or replace function money.cod_hold_differences(tenant uuid, as_of timestamptz)
returns table (kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
language sql stable set search_path = '' as $$
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
$$;

-- The holds of the wallets of the caller's tenant as of a moment, [{wallet_id, user_id, user_name, currency, in_hand, with_carriers,
-- at_desks, held, waiting}]: the COD that drivers and carriers have not handed in, what waits on desks for the bank, and what is in and
-- waits for its day.
create or replace function money.cod_holds_reconciled(as_of timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;

revoke execute on function money.cod_holds_of(uuid, timestamptz), money.cod_hold_differences(uuid, timestamptz) from barid_caller;
