-- Where the money of the tenant's wallets is, for those who see the tenant: one row a wallet of which something is held, waits or is stated.
--   held      COD whose cash is not in = in_hand (of drivers) + with_carriers + at_desks
--   waiting   COD whose cash is in and whose day has not come
--   stated    the net of open statements
-- The kept totals say how much is held; under `on_remit` only what drivers or carriers have, so no row is looked at. Under `on_bank` it is at
-- a desk when it is held, and neither a driver nor a carrier has its cash. SECURITY DEFINER, since it adds up rows of all owners at once.
create or replace function money.merchant_positions()
returns table (account_id uuid, held numeric, waiting numeric, stated numeric, in_hand numeric, with_carriers numeric, at_desks numeric)
language plpgsql stable security definer set search_path = '' as $$
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
    where h.tenant_id = v_tenant and h.counts_from > h.created_at and h.counts_from > (select clock_timestamp())
    union all
    select s.account_id, 0, 0, s.net, 0, 0, 0 from money.merchant_statements s where s.tenant_id = v_tenant and s.status = 'open'
  )
  select p.account_id, sum(p.held), sum(p.waiting), sum(p.stated), sum(p.in_hand), sum(p.with_carriers), sum(p.at_desks)
  from part p group by p.account_id;
end $$;

grant execute on function money.merchant_positions() to barid_caller;
