/** Holds of owners' wallets: COD whose cash is not in. */
import type { Invariant } from "./invariant.ts";

export const holds: readonly Invariant[] = [
  {
    name:
      "holds: a row of cash is held and released by turns, with its COD, on the wallet it was credited to",
    sql: `select h.reference_id from money.wallet_holds h
      left join lateral (
        select c.delivery_id, c.cod_amount from money.cod_collections c
        where h.reference_type = 'cod_collection' and c.tenant_id = h.tenant_id and c.id = h.reference_id
        union all
        select c.delivery_id, c.cod_amount from money.carrier_collections c
        where h.reference_type = 'carrier_collection' and c.tenant_id = h.tenant_id and c.id = h.reference_id) c on true
      left join money.payments p on p.tenant_id = h.tenant_id and p.delivery_id = c.delivery_id and p.type = 'COD_COLLECTION'
      left join money.accounts a on a.tenant_id = h.tenant_id and a.id = h.account_id
      where h.tenant_id = $1 and (h.amount is distinct from c.cod_amount * case h.step % 2 when 1 then 1 else -1 end
        or p.account_id is distinct from h.account_id or a.kind <> 'wallet' or a.owner_type not in ('customer', 'institution'))
      union all
      select h.reference_id from money.wallet_holds h where h.tenant_id = $1
      group by h.reference_type, h.reference_id having count(*) <> max(h.step)`,
  },
  {
    name:
      "holds: what is held of a wallet is the COD of its rows that are not in, and what waits for its day",
    sql: `select m.account_id, sum(m.amount) from (
        select h.account_id, h.amount from money.wallet_holds h where h.tenant_id = $1
        union all
        select h.account_id, -h.amount from money.wallet_holds h
        join money.cod_collections c on c.tenant_id = h.tenant_id and c.id = h.reference_id and c.status = 'collected'
          and c.reversed_at is null
        where h.tenant_id = $1 and h.reference_type = 'cod_collection' and h.step = 1 and h.release = 'on_remit'
        union all
        select h.account_id, -h.amount from money.wallet_holds h
        join money.carrier_collections c on c.tenant_id = h.tenant_id and c.id = h.reference_id and c.status = 'owed'
        where h.tenant_id = $1 and h.reference_type = 'carrier_collection' and h.step = 1 and h.release = 'on_remit') m
      group by m.account_id having sum(m.amount) <> 0`,
  },
];
