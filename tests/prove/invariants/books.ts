/** The ledger and its wallets. */
import type { Invariant } from "./invariant.ts";

export const books: readonly Invariant[] = [
  {
    name: "money: in each currency all accounts of a tenant add up to what came from outside",
    sql: `select a.currency, sum(a.balance) from money.accounts a where a.tenant_id = $1
      group by a.currency having sum(a.balance) <> 0`,
  },
  {
    name: "money: a balance is the sum of its entries, and its version counts them",
    sql: `select a.id from money.accounts a
      left join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id
      where a.tenant_id = $1 group by a.id
      having a.balance <> coalesce(sum(e.amount), 0) or a.version <> count(e.id)`,
  },
  {
    name: "money: each entry continues from the one before it, without a gap",
    sql: `select e.id from (
        select e.*, lag(e.balance_after, 1, 0) over w as before, row_number() over w as place
        from money.ledger_entries e where e.tenant_id = $1 window w as (partition by e.account_id order by e.version)) e
      where e.balance_after <> e.before + e.amount or e.version <> e.place`,
  },
  {
    name: "money: every journal adds up to nothing",
    sql: `select e.transaction_id from money.ledger_entries e where e.tenant_id = $1
      group by e.transaction_id, e.currency having sum(e.amount) <> 0`,
  },
  {
    name: "money: nothing is spent that is not there",
    sql: `select a.id from money.accounts a where a.tenant_id = $1 and a.balance < a.floor
      union all
      select e.account_id from money.ledger_entries e join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
      where e.tenant_id = $1 and a.kind in ('wallet', 'driver_cash', 'driver_shortage', 'carrier_cash', 'driver_payable') and e.balance_after < a.floor`,
  },
  {
    name: "wallets: an adjustment is one payment with one journal of its amount",
    sql:
      `select p.id from money.payments p where p.tenant_id = $1 and p.type = 'WALLET_ADJUSTMENT' and p.amount is distinct from (
        select sum(abs(e.amount)) from money.ledger_transactions t
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
        where t.tenant_id = p.tenant_id and t.kind = 'WALLET_ADJUSTMENT' and t.reference_id = p.id)`,
  },
  {
    name:
      "wallets: an adjustment is taken back once, by a payment and a journal that are its mirror",
    sql:
      `select p.id from money.payments p where p.tenant_id = $1 and p.type = 'WALLET_ADJUSTMENT_REVERSAL' and 0 is distinct from (
        select sum(e.amount) + sum(distinct b.amount) from money.ledger_transactions t
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
        join money.ledger_transactions a on a.tenant_id = t.tenant_id and a.kind = 'WALLET_ADJUSTMENT' and a.reference_id = t.reference_id
        join money.ledger_entries b on b.tenant_id = a.tenant_id and b.transaction_id = a.id and b.account_id = p.account_id
        where t.tenant_id = p.tenant_id and t.kind = 'WALLET_ADJUSTMENT_REVERSAL'
          and t.reference_id = (p.snapshot ->> 'reverses')::uuid and abs(e.amount) = p.amount)
      union all
      select (p.snapshot ->> 'reverses')::uuid from money.payments p
      where p.tenant_id = $1 and p.type = 'WALLET_ADJUSTMENT_REVERSAL' group by 1 having count(*) > 1`,
  },
];
