/** docs/schema-<area>.md: the tables of an area and what they refer to, as diagrams, read from the catalogue. */
import type postgres from "postgres";
import { areas } from "../../../sql/order.ts";
import { firstSentence, type Source, sources } from "./sources.ts";

interface Column {
  table: string;
  name: string;
  type: string;
  primary: boolean;
}

interface Reference {
  from: string;
  to: string;
  columns: string[];
  nullable: boolean;
  /** At most one row refers to each. */
  single: boolean;
}

/** The pages by their path. */
export async function schemaPages(sql: postgres.Sql): Promise<Record<string, string>> {
  const [columns, references] = [await columnsOf(sql), await referencesOf(sql)];
  const known = sources();
  const tables = [...new Set(columns.map(({ table }) => table))].filter((table) =>
    known.has(table)
  );
  const pages: Record<string, string> = {};
  for (const area of areas) {
    const own = tables.filter((table) => known.get(table)!.folder.split("/")[0] === area).sort();
    if (own.length) pages[`docs/schema-${area}.md`] = page(area, own, known, columns, references);
  }
  return pages;
}

function page(
  area: string,
  own: string[],
  known: Map<string, Source>,
  columns: Column[],
  references: Reference[],
): string {
  const lines = [
    `# Tables of ${area}`,
    "",
    "Written by `npm run docs` from the catalogue; change `sql/`, not this page. References carry `tenant_id` as well, and each",
    "table with that column refers to `tenancy.tenants`; both are left out. Boxes without columns are tables of other features.",
    "",
  ];
  const folders = [...new Set(own.map((table) => known.get(table)!.folder))].sort();
  for (const folder of folders) {
    const tables = own.filter((table) => known.get(table)!.folder === folder);
    lines.push(`## ${folder}`, "");
    for (const table of tables) {
      const purpose = firstSentence(known.get(table)!.comment);
      lines.push(`- \`${table}\`${purpose ? `: ${purpose}` : ""}`);
    }
    lines.push("", "```mermaid", "erDiagram");
    for (const table of tables) {
      lines.push(`  "${table}" {`);
      for (const { name, type, primary } of columns.filter((column) => column.table === table)) {
        const foreign = references.some((one) => one.from === table && one.columns.includes(name));
        const keys = [...(primary ? ["PK"] : []), ...(foreign ? ["FK"] : [])].join(", ");
        lines.push(`    ${type} ${name}${keys ? ` ${keys}` : ""}`);
      }
      lines.push("  }");
    }
    for (const { from, to, columns: by, nullable, single } of references) {
      if (!tables.includes(from)) continue;
      lines.push(
        `  "${to}" ${nullable ? "|o" : "||"}--${single ? "o|" : "o{"} "${from}" : "${
          by.join(", ")
        }"`,
      );
    }
    lines.push("```", "");
  }
  return lines.join("\n").trimEnd() + "\n";
}

const ours =
  "('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing', 'storefront', 'integration')";

async function columnsOf(sql: postgres.Sql): Promise<Column[]> {
  const rows = await sql<Column[]>`
    select c.relnamespace::regnamespace || '.' || c.relname as table, a.attname as name,
      format_type(a.atttypid, null) as type,
      exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)) as primary
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      and c.relnamespace::regnamespace::text in ${sql.unsafe(ours)}
    order by 1, a.attnum`;
  return rows.map((row) => ({ ...row, type: shortType(row.type) }));
}

/** One word, as diagrams want it. */
function shortType(type: string): string {
  return type.replace("timestamp with time zone", "timestamptz").replace(
    "double precision",
    "float8",
  )
    .replace("character varying", "varchar").replace(/^[a-z]+\./, "").replaceAll(
      /[^a-z0-9_[\]]/g,
      "_",
    );
}

async function referencesOf(sql: postgres.Sql): Promise<Reference[]> {
  return await sql<Reference[]>`
    select f.conrelid::regclass::text as from, f.confrelid::regclass::text as to, k.columns, k.nullable,
      exists (select from pg_index i where i.indrelid = f.conrelid and i.indisunique and i.indpred is null
        and (select array_agg(x order by x) from unnest(i.indkey::int2[]) x) <@ (select array_agg(x) from unnest(f.conkey) x)) as single
    from pg_constraint f
    cross join lateral (
      select array_agg(a.attname::text order by u.position) as columns, bool_or(not a.attnotnull) as nullable
      from unnest(f.conkey) with ordinality u (attnum, position)
      join pg_attribute a on a.attrelid = f.conrelid and a.attnum = u.attnum
      where a.attname <> 'tenant_id') k
    where f.contype = 'f' and f.conparentid = 0 and k.columns is not null
      and f.connamespace::regnamespace::text in ${sql.unsafe(ours)}
    order by 1, 2, 3`;
}
