/** Loading rows by the million: sets, without triggers and references, with most indexes made afterwards. */
import type postgres from "postgres";
import type { Bench } from "./bench-stack.ts";

export interface Filled {
  /** The tables that are filled, with their schemas. */
  tables: readonly string[];
  /** Totals that are kept of them, and so have to be counted anew. */
  tallies?: readonly string[];
}

/** Writes the rows of each of the bench's tenants in one transaction, then counts totals and takes statistics. */
export async function fillTables(
  { stack: { sql }, tenants }: Bench,
  { tables, tallies = [] }: Filled,
  write: (tx: postgres.TransactionSql, tenantId: string) => Promise<unknown>,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`set local maintenance_work_mem = '512MB'`;
    const indexes = await tx`
      select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
      from pg_index i where i.indrelid = any (${tables as string[]}::text[]::regclass[])
        and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`;
    for (const { name } of indexes) await tx.unsafe(`drop index ${name}`);
    for (const tenantId of tenants) await write(tx, tenantId);
    for (const { definition } of indexes) await tx.unsafe(definition);
  });
  for (const tally of tallies) await sql`select private.tally_rebuild(${tally})`;
  for (const table of tables) await sql.unsafe(`vacuum analyze ${table}`);
}
