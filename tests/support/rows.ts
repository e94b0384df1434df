/** All rows of a database as text, to be put into another of the same version: what pg_dump does, which npm does not offer. */
import type postgres from "postgres";

/** The schemas that hold what people entered; the accounts and files of the platform among them. */
const kept = [
  ...["app", "private", "tenancy", "money", "delivery", "warehousing", "storefront", "integration"],
  ...["auth", "storage"],
];

/** A table and its columns. */
export interface Table {
  name: string;
  columns: { name: string; type: string }[];
}

/** Every table that has rows, with the columns that can be written. */
export async function tablesWithRows(sql: postgres.Sql): Promise<Table[]> {
  const tables = await sql<Table[]>`
    select c.oid::regclass::text as name, (
      select jsonb_agg(jsonb_build_object('name', quote_ident(a.attname), 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
    from pg_class c where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text in ${
    sql(kept)
  } order by 1`;
  const found: Table[] = [];
  for (const table of tables) {
    const [first] = await sql.unsafe(`select from ${table.name} limit 1`);
    if (first) found.push(table);
  }
  return found;
}

/**
 * The rows: for each table a line with its name and columns, then of each row its values as a JSON array of texts; at the end
 * the state of each sequence. `tables`: those and their columns alone, as another version had them.
 */
export async function dumpRows(sql: postgres.Sql, tables?: Table[]): Promise<string> {
  const lines: string[] = [];
  for (const { name, columns } of tables ?? await tablesWithRows(sql)) {
    const rows = await sql.unsafe(
      `select jsonb_build_array(${
        columns.map(({ name }) => `t.${name}::text`)
      })::text as row from ${name} t order by 1`,
    );
    lines.push(`table ${name} ${JSON.stringify(columns)}`, ...rows.map(({ row }) => row));
  }
  const sequences = await sql<{ name: string; last: string }[]>`
    select format('%I.%I', schemaname, sequencename) as name, last_value as last from pg_sequences
    where schemaname in ${sql(kept)} and last_value is not null order by 1`;
  lines.push(...sequences.map(({ name, last }) => `sequence ${name} ${last}`));
  return `${lines.join("\n")}\n`;
}

/** Puts dumped rows in the place of those that are there, past triggers and foreign keys: all of them were passed once. */
export async function loadRows(sql: postgres.Sql, dump: string): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`set local session_replication_role = replica`;
    for (const [, table, columns, rows] of dump.matchAll(/^table (\S+) (.*)\n((?:\[.*\n)*)/gm)) {
      const known = JSON.parse(columns!) as Table["columns"];
      await transaction.unsafe(`delete from ${table}`);
      await transaction.unsafe(
        `insert into ${table} (${known.map(({ name }) => name)}) overriding system value
          select ${
          known.map(({ type }, index) => `(r.value ->> ${index})::${type}`)
        } from jsonb_array_elements($1::text::jsonb) r`,
        [`[${rows!.trimEnd().replaceAll("\n", ",")}]`],
      );
    }
    for (const [, sequence, last] of dump.matchAll(/^sequence (\S+) (\d+)$/gm)) {
      await transaction`select setval(${sequence!}::regclass, ${last!}::bigint)`;
    }
  });
}
