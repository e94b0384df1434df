/** The cost of a settlement without guards or indexes: an upper bound for this machine's database. */
import type { Bench } from "../bench-stack.ts";

const tables = [
  "money.payments",
  "money.cod_settlements",
  "money.cod_settlement_items",
  "money.ledger_transactions",
  "money.ledger_entries",
  "money.accounts",
  "money.cod_collections",
  "money.settlement_receipts",
  "app.jobs",
  "integration.system_events",
  "app.audit_log",
  "app.tallies",
];

/**
 * Takes every trigger, reference, check and index that is no key from the tables that a settlement writes. For the end of
 * a bench: nothing in that database is safe any more.
 */
export async function bare({ stack: { sql } }: Bench): Promise<void> {
  await sql.unsafe(`do $$
    declare
      v_tables regclass[] := '{${tables.join(",")}}';
      v_statement text;
    begin
      for v_statement in
        select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass) from pg_trigger t
        where not t.tgisinternal and t.tgrelid = any (v_tables)
        union all
        select format('alter table %s drop constraint %I cascade', c.conrelid::regclass, c.conname) from pg_constraint c
        where c.contype in ('f', 'c') and c.conrelid = any (v_tables)
        union all
        -- One of the others finds a person's accounts.
        select format('drop index %s', i.indexrelid::regclass) from pg_index i
        where i.indrelid = any (v_tables) and i.indexrelid <> 'money.accounts_owner'::regclass
          and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
      loop
        execute v_statement;
      end loop;
    end $$`);
  await sql`vacuum analyze`;
}
