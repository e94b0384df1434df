/** The people who move with a company. */
import type postgres from "postgres";
import { quoted, type Table } from "./tables.ts";

/**
 * Fills the temporary table `moving_people`: its members, and whom its rows name. Administrators of the project who are
 * no members stay where they are; references to them that may be empty are emptied.
 */
export async function collectPeople(tx: postgres.TransactionSql, tables: Table[]): Promise<void> {
  const references = await referencesToPeople(tx);
  const parts = references.flatMap(({ table, column, may_be_empty }) => {
    const condition = tables.find(({ name, isOfPeople }) => name === table && !isOfPeople)
      ?.condition;
    if (!condition) return [];
    const others = may_be_empty
      ? ` and not exists (select from tenancy.system_users s where s.user_id = ${quoted(column)})`
      : "";
    return [`select ${quoted(column)} as id from ${quoted(table)} where ${condition}${others}`];
  });
  await tx.unsafe(`create temporary table moving_people on commit drop as
    select distinct p.id from (${parts.join(" union all ")}) p where p.id is not null`);
}

/** Columns that refer to people, with whether they are emptied when the person is removed. */
export async function referencesToPeople(tx: postgres.TransactionSql) {
  return await tx<
    { table: string; column: string; may_be_empty: boolean; is_tenants: boolean }[]
  >`
    select n.nspname || '.' || c.relname as "table", a.attname as "column", f.confdeltype = 'n' as may_be_empty,
      exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'tenant_id') as is_tenants
    from pg_constraint f
    join pg_class c on c.oid = f.conrelid and not c.relispartition
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = f.conrelid and f.conkey = array[a.attnum]
    where f.contype = 'f' and f.confrelid = 'tenancy.profiles'::regclass`;
}
