/** Removes a company's rows, a few thousand in a transaction, so that nobody waits for long. */
import { setTimeout as wait } from "node:timers/promises";
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { type Place, sessionSettings } from "./place.ts";
import { allTenantTables, quoted, type Table } from "./tables.ts";

const batch = { read: 50_000, removed: 5_000 };
/** How often rows that others hold are asked for again, a second apart. */
const attempts = 60;

/** Which go first among tables that nothing refers to any more: webhooks stop at once, settings and people stay to the end. */
const schemas = "integration storefront warehousing delivery public money app private tenancy"
  .split(" ");

/** In the deletion's own transactions no trigger and no foreign key acts: rows of logs go, and leave no rows of a log. */
export const unguarded = `${sessionSettings} set local session_replication_role = replica;`;

/** Removes all but the company's own row. Fails with what is left when others hold it, or write more. */
export async function removeRows(
  { sql }: Place,
  tenant: string,
  print: (line: string) => void,
): Promise<void> {
  const tables = await sql.begin((tx) => orderedTables(tx, tenant)) as Table[];
  for (let attempt = 1;; attempt++) {
    for (const { name, condition } of tables) {
      const { count } = await removeFrom(sql, name, condition);
      if (count > 0) print(`${name}: ${count} rows removed`);
    }
    const left = await sql.begin((tx) => tablesWithRows(tx, tables)) as string[];
    if (left.length === 0) return;
    if (attempt === attempts) {
      throw new Failure(
        `Others hold or write rows in ${left.join(", ")}: look who works in the company.`,
      );
    }
    await wait(1000);
  }
}

/** The tables that have rows of the company, of these. */
export async function tablesWithRows(
  tx: postgres.TransactionSql,
  tables: Table[],
): Promise<string[]> {
  const asked = tables.map(({ name, condition }) =>
    `select '${name}' as name where exists (select from ${quoted(name)} where ${condition})`
  );
  return (await tx.unsafe(asked.join(" union all "))).map(({ name }) => name);
}

/** The company's tables, but its own and people's: each before those that it refers to. */
export async function orderedTables(
  tx: postgres.TransactionSql,
  tenant: string,
): Promise<Table[]> {
  const tables = (await allTenantTables(tx, tenant))
    .filter(({ name, isOfPeople }) => !isOfPeople && name !== "tenancy.tenants");
  const references = await tx<{ from: string; to: string }[]>`
    select n.nspname || '.' || c.relname as "from", rn.nspname || '.' || r.relname as "to"
    from pg_constraint f
    join pg_class c on c.oid = f.conrelid and not c.relispartition
    join pg_namespace n on n.oid = c.relnamespace
    join pg_class r on r.oid = f.confrelid
    join pg_namespace rn on rn.oid = r.relnamespace
    where f.contype = 'f' and f.conrelid <> f.confrelid`;
  const rank = ({ name }: Table) => schemas.indexOf(name.split(".")[0]!);
  const waiting = [...tables].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
  const ordered: Table[] = [];
  while (waiting.length > 0) {
    const referred = new Set(
      references.filter(({ from }) => waiting.some(({ name }) => name === from)).map(({ to }) =>
        to
      ),
    );
    // Tables that refer to each other have no first.
    const next = waiting.find(({ name }) => !referred.has(name)) ?? waiting[0]!;
    ordered.push(...waiting.splice(waiting.indexOf(next), 1));
  }
  return ordered;
}

/** Removes the rows `t` of a table that nobody holds, or sets what `change` says (`a = 1`); answers how many, and how many are held. */
export async function removeFrom(
  sql: postgres.Sql,
  table: string,
  condition: string,
  change?: string,
): Promise<{ count: number; held: number }> {
  const rows = { count: 0, held: 0 };
  for (const part of await partsOf(sql, table)) {
    for (;;) {
      const places = await placesOf(sql, part, condition);
      let removed = 0;
      for (let start = 0; start < places.length; start += batch.removed) {
        const some = places.slice(start, start + batch.removed);
        removed += await removeAt(sql, part, condition, some, change);
      }
      rows.count += removed;
      if (removed > 0 && places.length === batch.read) continue;
      rows.held += places.length - removed;
      break;
    }
  }
  return rows;
}

/** Where its rows lie: those of a table in parts have places in each. */
async function partsOf(sql: postgres.Sql, table: string): Promise<string[]> {
  const parts = await sql`select n.nspname || '.' || c.relname as name
    from pg_partition_tree(${table}::regclass) p
    join pg_class c on c.oid = p.relid and c.relkind = 'r'
    join pg_namespace n on n.oid = c.relnamespace`;
  return parts.length > 0 ? parts.map(({ name }) => name) : [table];
}

async function placesOf(sql: postgres.Sql, part: string, condition: string): Promise<string[]> {
  const found = await ofAPart(() =>
    sql.begin(async (tx) => {
      await tx.unsafe(sessionSettings);
      return await tx.unsafe(
        `select ctid::text as place from ${quoted(part)} t where ${condition} limit ${batch.read}`,
      );
    })
  );
  return found?.map(({ place }) => place) ?? [];
}

/** Removes those of the rows that are still the company's. Rows that others hold are left: nobody waits for the other. */
async function removeAt(
  sql: postgres.Sql,
  part: string,
  condition: string,
  places: string[],
  change?: string,
): Promise<number> {
  const begin = change === undefined
    ? `delete from ${quoted(part)}`
    : `update ${quoted(part)} t set ${change}`;
  const list = `'{${places.map((place) => `"${place}"`).join()}}'::tid[]`;
  const result = await ofAPart(() =>
    sql.begin(async (tx) => {
      await tx.unsafe(unguarded);
      return await tx.unsafe(`${begin} where ctid = any (array(
        select ctid from ${
        quoted(part)
      } t where ctid = any (${list}) and ${condition} for update skip locked))`);
    })
  );
  return result?.count ?? 0;
}

/** A part of old positions may be dropped meanwhile, with its rows. */
async function ofAPart<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if ((error as { code?: string }).code === "42P01") return undefined;
    throw error;
  }
}
