/** Statements of owners' wallets and their payouts. */
import type { Invariant } from "./invariant.ts";

/** The movements of wallets: what of each is released now, and what statements that are not void say of it. */
const movements = `select w.tenant_id, w.account_id, w.movement, w.whole,
    w.whole - coalesce((select sum(h.amount) from money.wallet_holds h where h.tenant_id = w.tenant_id and w.kind = 'cod_credit'
      and h.reference_type = w.reference_type and h.reference_id = w.reference_id and h.counts_from <= (select clock_timestamp())), 0) as released,
    coalesce((select sum(l.amount) from money.merchant_statement_lines l
      join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id and s.status <> 'void'
      where l.tenant_id = w.tenant_id and l.account_id = w.account_id and l.movement = w.movement), 0) as stated
  from (
    select e.tenant_id, e.account_id, e.version as movement, e.amount as whole, t.kind, t.reference_type, t.reference_id
    from money.accounts a
    left join money.merchant_accounts m on m.tenant_id = a.tenant_id and m.account_id = a.id
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.version > coalesce(m.opening_movement, 0)
    join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id
    where a.tenant_id = $1 and a.kind = 'wallet' and a.owner_type in ('customer', 'institution')
      and t.kind not in ('merchant_payout', 'merchant_payout_REVERSAL')
    union all
    select m.tenant_id, m.account_id, 0, m.opening, 'opening', null, null from money.merchant_accounts m where m.tenant_id = $1 and m.opening <> 0
  ) w`;

export const statements: readonly Invariant[] = [
  {
    name: "statements: each is the sum of its lines, and says of a movement something once",
    sql: `select s.id from money.merchant_statements s
      left join money.merchant_statement_lines l on l.tenant_id = s.tenant_id and l.statement_id = s.id
      where s.tenant_id = $1
      group by s.id having count(l.position) <> s.lines or coalesce(sum(l.amount), 0) <> s.net or bool_or(l.account_id <> s.account_id)
        or coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0) <> s.gross_cod
        or coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0) <> s.fees
        or coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0) <> s.refunds
        or coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0) <> s.adjustments`,
  },
  {
    name:
      "statements: what they say of a movement is all of it, or nothing while it is held, or the next one looks at it",
    sql: `select m.account_id, m.movement, m.whole, m.released, m.stated from (${movements}) m
      where m.stated not in (0, m.whole)
        or m.stated <> m.released and m.movement <= coalesce((select x.looked_to from money.merchant_accounts x
            where x.tenant_id = m.tenant_id and x.account_id = m.account_id), 0)
          and not exists (select from money.merchant_pending p
            where p.tenant_id = m.tenant_id and p.account_id = m.account_id and p.movement = m.movement)`,
  },
  {
    name:
      "statements: lines + what is held + what is unstated = the wallet's balance + what was paid",
    sql: `select a.id, a.balance, p.paid, l.lines, m.held, m.unstated
      from money.accounts a
      cross join lateral (select coalesce(sum(s.net), 0) as paid from money.merchant_statements s
        where s.tenant_id = a.tenant_id and s.account_id = a.id and s.status = 'paid') p
      cross join lateral (select coalesce(sum(x.amount), 0) as lines from money.merchant_statement_lines x
        join money.merchant_statements s on s.tenant_id = x.tenant_id and s.id = x.statement_id and s.status <> 'void'
        where x.tenant_id = a.tenant_id and x.account_id = a.id) l
      cross join lateral (select coalesce(-sum(x.amount), 0) as kept from money.merchant_statement_lines x
        join money.merchant_statements s on s.tenant_id = x.tenant_id and s.id = x.statement_id and s.status <> 'void'
        where x.tenant_id = a.tenant_id and x.account_id = a.id and x.movement is null) k
      left join (select x.account_id, sum(x.whole - x.released) as held, sum(x.released - x.stated) as unstated from (${movements}) x group by x.account_id) m
        on m.account_id = a.id
      where a.tenant_id = $1 and a.kind = 'wallet' and a.owner_type in ('customer', 'institution')
        and l.lines + coalesce(m.held, 0) + coalesce(m.unstated, 0) + k.kept <> a.balance + p.paid`,
  },
  {
    name:
      "statements: one that is paid has a payout of its net, with its journals, and no other statement has it",
    sql: `select p.id from money.merchant_payouts p
      left join money.merchant_statements s on s.tenant_id = p.tenant_id and s.id = p.statement_id
      left join lateral (
        select coalesce(sum(e.amount) filter (where a.id = s.account_id), 0) as wallet,
          coalesce(sum(e.amount) filter (where a.kind = 'cash_on_hand' and a.owner_user_id = p.actor_id), 0) as desk
        from money.ledger_transactions t
        join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
        join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
        where t.tenant_id = p.tenant_id and t.reference_type = 'merchant_payout' and t.reference_id = p.id) j on true
      where p.tenant_id = $1 and (p.amount <> s.net or (p.reversed_at is null) <> (s.payout_id is not distinct from p.id)
        or j.wallet <> case when p.reversed_at is null then -p.amount else 0 end
        or j.desk <> case when p.reversed_at is null and p.method = 'cash' then -p.amount else 0 end)
      union all
      select s.id from money.merchant_statements s where s.tenant_id = $1 and (s.status = 'paid') <> exists (
        select from money.merchant_payouts p where p.tenant_id = s.tenant_id and p.statement_id = s.id and p.reversed_at is null)`,
  },
  {
    name: "statements: their numbers have no gap, and each was announced once",
    sql: `select count(*), max(s.number) from money.merchant_statements s where s.tenant_id = $1
      having count(*) <> coalesce(max(s.number), 0)
        or count(*) <> coalesce((select n.last from money.merchant_statement_numbers n where n.tenant_id = $1), 0)
      union all
      select 1, s.number from money.merchant_statements s where s.tenant_id = $1 and 1 <> (
        select count(*) from integration.system_events e
        where e.tenant_id = s.tenant_id and e.entity_id = s.id and e.event_type = 'merchant_statement.opened')`,
  },
];
