-- What is on the wallets of merchants, and where the cash of it is. held = in_hand_of_drivers + with_carriers + at_desks: a row is held that is
-- released by no later step, and it is at a desk when neither a driver nor a carrier has its cash. The last columns are for search and filters.
drop view if exists money.merchant_balances_list cascade;

create view money.merchant_balances_list with (security_invoker = true) as
select a.id, jsonb_build_object('id', a.owner_user_id, 'full_name', p.full_name) as owner, a.currency, a.balance, coalesce(h.held, 0) as held,
  coalesce(w.waiting, 0) as waiting, a.balance - coalesce(h.held, 0) - coalesce(w.waiting, 0) - coalesce(s.stated, 0) as available,
  coalesce(s.stated, 0) as stated, coalesce(d.held, 0) as in_hand_of_drivers, coalesce(c.held, 0) as with_carriers,
  coalesce(h.held, 0) - coalesce(d.held, 0) - coalesce(c.held, 0) as at_desks, money.oldest_unpaid(a.id) as oldest_unpaid_at,
  a.owner_user_id, p.full_name as owner_name, a.created_at
from money.accounts a
left join tenancy.profiles p on p.id = a.owner_user_id
left join (
  select t.tenant_id, t.dims[1]::uuid as account_id, sum(t.amount) as held from app.tallies t where t.tally = 'wallet_holds' group by 1, 2
) h on h.tenant_id = a.tenant_id and h.account_id = a.id
left join (
  select x.tenant_id, x.account_id, -sum(x.amount) as waiting from money.wallet_holds x
  where x.counts_from > x.created_at and x.counts_from > now() group by 1, 2
) w on w.tenant_id = a.tenant_id and w.account_id = a.id
left join (
  select x.tenant_id, x.account_id, sum(x.net) as stated from money.merchant_statements x where x.status = 'open' group by 1, 2
) s on s.tenant_id = a.tenant_id and s.account_id = a.id
left join (
  select k.tenant_id, l.account_id, sum(l.amount) as held from money.cod_collections k
  cross join lateral (
    select x.account_id, x.amount from money.wallet_holds x
    where x.tenant_id = k.tenant_id and x.reference_type = 'cod_collection' and x.reference_id = k.id order by x.step desc limit 1) l
  where k.status = 'collected' and k.reversed_at is null and l.amount > 0 group by 1, 2
) d on d.tenant_id = a.tenant_id and d.account_id = a.id
left join (
  select k.tenant_id, l.account_id, sum(l.amount) as held from money.carrier_collections k
  cross join lateral (
    select x.account_id, x.amount from money.wallet_holds x
    where x.tenant_id = k.tenant_id and x.reference_type = 'carrier_collection' and x.reference_id = k.id order by x.step desc limit 1) l
  where k.status = 'owed' and l.amount > 0 group by 1, 2
) c on c.tenant_id = a.tenant_id and c.account_id = a.id
where a.kind = 'wallet' and a.owner_type in ('customer', 'institution');

grant select on money.merchant_balances_list to barid_caller;
