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
        where h.tenant_id = $1 and h.reference_type = 'cod_collection' and h.step = 1 and h.release <> 'on_delivery'
        union all
        select h.account_id, -h.amount from money.wallet_holds h
        join money.carrier_collections c on c.tenant_id = h.tenant_id and c.id = h.reference_id and c.status = 'owed'
        where h.tenant_id = $1 and h.reference_type = 'carrier_collection' and h.step = 1 and h.release <> 'on_delivery'
        union all
        select h.account_id, -h.amount from money.wallet_holds h
        where h.tenant_id = $1 and h.step = 1 and h.release = 'on_bank' and exists (
          select from money.desk_parts p
          where p.tenant_id = $1 and p.reference_type = h.reference_type and p.reference_id = h.reference_id and p.amount > 0)) m
      group by m.account_id having sum(m.amount) <> 0`,
  },
  {
    name: "holds: the parts of a desk's queue are what the ledger says it holds",
    sql: `select a.id, a.balance, p.amount from money.accounts a
      cross join lateral (select coalesce(sum(x.amount), 0) as amount from money.desk_parts x
        where x.tenant_id = $1 and x.account_id = a.id) p
      where a.tenant_id = $1 and (a.queued_since is not null or p.amount <> 0) and p.amount <> a.balance`,
  },
  {
    name: "holds: a part is the sum of its moves, and a desk owes nothing while it has cash",
    sql: `select p.account_id, p.part_id from money.desk_parts p
      cross join lateral (select coalesce(sum(m.amount), 0) as amount from money.desk_part_moves m
        where m.tenant_id = $1 and m.account_id = p.account_id and m.part_id = p.part_id) m
      where p.tenant_id = $1 and m.amount <> p.amount
      union all
      select p.account_id, null from money.desk_parts p where p.tenant_id = $1 and p.amount <> 0
      group by p.account_id having min(p.amount) < 0 and (max(p.amount) > 0 or count(*) > 1)`,
  },
  {
    name: "holds: the moves of a journal at a desk are its entry there",
    sql: `select m.account_id, m.transaction_id from (
        select x.account_id, x.transaction_id, sum(x.amount) as amount from money.desk_part_moves x
        where x.tenant_id = $1 and x.transaction_id is not null group by x.account_id, x.transaction_id) m
      cross join lateral (select coalesce(sum(e.amount), 0) as amount from money.ledger_entries e
        where e.tenant_id = $1 and e.transaction_id = m.transaction_id and e.account_id = m.account_id) e
      where m.amount <> e.amount
      union all
      select a.id, e.transaction_id from money.accounts a
      join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at > a.queued_since
      where a.tenant_id = $1 and not exists (select from money.desk_part_moves m
        where m.tenant_id = $1 and m.transaction_id = e.transaction_id and m.account_id = a.id)`,
  },
  {
    name:
      "holds: what lies on desks of a row is of the settlement that counts, and no more than the row",
    sql: `select p.reference_id, sum(p.amount) from money.desk_parts p
      left join money.cod_collections c on p.reference_type = 'cod_collection' and c.tenant_id = $1 and c.id = p.reference_id
      left join money.carrier_collections o on p.reference_type = 'carrier_collection' and o.tenant_id = $1 and o.id = p.reference_id
      where p.tenant_id = $1 and p.reference_id is not null and p.amount <> 0
      group by p.reference_type, p.reference_id, c.id, o.id
      having sum(p.amount) > coalesce(c.amount, o.amount)
        or bool_or(p.brought_by is distinct from coalesce(c.settlement_payment_id, o.remittance_id))`,
  },
];
