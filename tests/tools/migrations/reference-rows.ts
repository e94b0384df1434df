/** The rows that a new database has: roles, permissions, currencies, event types. They belong to a version as tables do. */
import { readFileSync } from "node:fs";
import type postgres from "postgres";
import { sourceFiles } from "../../../sql/build.ts";

/** A row as JSON without the columns below, and of it what makes it unique. */
export interface ReferenceRow {
  key: string;
  row: string;
}

/** Columns that differ from one database to the next whatever the version. */
const ownToADatabase = ["created_at", "updated_at", "changed"];

/** The rows of every table that has some, by the table's name. The audit log is left out: its rows name the time at which the others were written. */
export async function referenceRows(sql: postgres.Sql): Promise<Map<string, ReferenceRow[]>> {
  const tables = await sql<{ name: string; key: string[] }[]>`
    select c.oid::regclass::text as name, array(select a.attname::text from pg_index i
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) where i.indrelid = c.oid and i.indisprimary) as key
    from pg_class c
    where c.relkind = 'r' and c.relnamespace::regnamespace::text in ('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing',
      'storefront', 'integration') and c.oid <> 'app.audit_log'::regclass order by 1`;
  const found = new Map<string, ReferenceRow[]>();
  for (const { name, key } of tables) {
    const rows = await sql.unsafe(
      `select (to_jsonb(t) - $1::text[])::text as row, (select coalesce(jsonb_object_agg(f.key, f.value), '{}')
        from jsonb_each(to_jsonb(t)) f where f.key = any ($2))::text as key from ${name} t order by 1`,
      [ownToADatabase, key],
    ) as unknown as ReferenceRow[];
    if (rows.length > 0) found.set(name, rows.map(({ key, row }) => ({ key, row })));
  }
  return found;
}

/** The tables whose rows differ between the two, with the rows that only one of them has. */
export function differingRows(
  before: Map<string, ReferenceRow[]>,
  after: Map<string, ReferenceRow[]>,
): { table: string; gone: ReferenceRow[]; added: ReferenceRow[] }[] {
  const lacking = (rows: ReferenceRow[], others: ReferenceRow[]) =>
    rows.filter(({ row }) => !others.some((other) => other.row === row));
  return [...new Set([...before.keys(), ...after.keys()])].sort().map((table) => {
    const [old = [], now = []] = [before.get(table), after.get(table)];
    return { table, gone: lacking(old, now), added: lacking(now, old) };
  }).filter(({ gone, added }) => gone.length + added.length > 0);
}

/**
 * The statements that bring a table's rows up to date: those of `sql/` that write it, which all stand to be run again, and
 * one for each row that nobody writes any more. A list whose totals are kept is a row of `app.tally_kinds`, which
 * `app.counted` writes, with that of its roll-up, when it has counted the list.
 */
export function rowStatements(
  table: string,
  gone: ReferenceRow[],
  added: ReferenceRow[],
): string[] {
  const texts = sourceFiles().map((file) => readFileSync(file, "utf8"));
  const removed = gone.filter(({ key }) => !added.some((row) => row.key === key)).map(({ key }) =>
    `-- Read: a row goes that others may name.\ndelete from ${table} t where to_jsonb(t) @> '${
      key.replaceAll("'", "''")
    }';`
  );
  if (table === "app.tally_kinds") {
    const tallies = added.map(({ row }) => {
      const { tally, rollup_of: rollupOf } = JSON.parse(row) as Record<string, string | null>;
      return rollupOf ?? tally;
    });
    return [
      ...removed,
      ...texts.flatMap((text) => [...text.matchAll(/^select app\.counted\('(\w+)'[^;]*;/gm)])
        .filter(([, tally]) => tallies.includes(tally!)).map(([statement]) => statement),
    ];
  }
  const writing = texts.flatMap(statementsOf).filter((statement) =>
    statement.startsWith(`insert into ${table} `)
  );
  return [...removed, ...(added.length > 0 ? writing : [])];
}

/** The statements of a file of reference data; a semicolon in a text or comment does not end one. */
function statementsOf(text: string): string[] {
  const parts = text.match(/(?:'(?:[^']|'')*'|--[^\n]*|[^;'])+;/g) ?? [];
  return parts.map((part) => part.replace(/^(\s*--[^\n]*\n|\s+)+/, ""));
}
