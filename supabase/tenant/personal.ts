/** The list of personal columns (personal.txt), and the statements that follow from a line of it. */
import { readFileSync } from "node:fs";
import type postgres from "postgres";
import type { Subject } from "./subject.ts";
import { quoted } from "./tables.ts";

const kinds = [
  "word",
  "empty",
  "text",
  "name",
  "document",
  "json",
  "person",
  "place",
  "file",
  "row",
];

export interface Line {
  table: string;
  columns: { name: string; kind: string }[];
  /** The set of ids that one column is in, of the rows with this value, or undefined for any row that names the person. */
  by?: { column: string; set: string; having?: { column: string; value: string } };
}

/** A line with what the catalogue says of its table. */
export interface Target extends Line {
  types: Record<string, { type: string; nullable: boolean }>;
}

/** Columns that say nothing of a person, by table. */
export interface Silent {
  table: string;
  columns: string[];
  why: string;
}

/** Reads the list. Fails on a line that is none. */
export function personalList(): { lines: Line[]; silent: Silent[] } {
  const text = readFileSync(new URL("personal.txt", import.meta.url), "utf8");
  const lines: Line[] = [];
  const silent: Silent[] = [];
  for (const line of text.split("\n").filter((line) => line && !line.startsWith("#"))) {
    const [table = "", columns = "", who = ""] = line.split(" | ");
    const why = /^nobody: (.+)$/.exec(who)?.[1];
    if (why) {
      silent.push({ table, columns: columns.split(", "), why });
      continue;
    }
    const by = /^(\w+) in (\w+)(?:, (\w+) (\w+))?$/.exec(who);
    const parts = columns.split(", ").map((column) => column.split(" "));
    if (!by && who !== "any" || parts.some(([, kind = ""]) => !kinds.includes(kind))) {
      throw new Error(`personal.txt has no such line: ${line}`);
    }
    lines.push({
      table,
      columns: parts.map(([name = "", kind = ""]) => ({ name, kind })),
      ...(by && {
        by: {
          column: by[1]!,
          set: by[2]!,
          ...(by[3] && { having: { column: by[3], value: by[4]! } }),
        },
      }),
    });
  }
  return { lines, silent };
}

/** The lines with the types of their tables' columns. */
export async function targetsOf(tx: postgres.TransactionSql): Promise<Target[]> {
  const { lines } = personalList();
  const tables = [...new Set(lines.map(({ table }) => table))];
  const found = await tx`select n.nspname || '.' || c.relname as "table", a.attname as name,
      format_type(a.atttypid, null) as type, not a.attnotnull as nullable
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace where a.attrelid = any (${tables}::text[]::regclass[]) and a.attnum > 0 and not a.attisdropped`;
  return lines.map((line) => ({
    ...line,
    types: Object.fromEntries(
      found.filter(({ table }) => table === line.table).map((
        { name, type, nullable },
      ) => [name, { type, nullable }]),
    ),
  }));
}

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Ids of the person's rows, by what they are, and of the company's places: of this session, because a merchant may have a hundred thousand. */
const ids = "pg_temp.person_ids";
export const idsIn = (set: string, type = "uuid") =>
  `(select i.id::${type} from ${ids} i where i.name = '${set}')`;
/** The ids that a text names, as `i`, with what they are. */
const idsNamedIn = (text: string) =>
  `regexp_matches(${text}, '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'g') m (id) join ${ids} i on i.id = m.id[1]::uuid`;

/** Writes the ids down for the statements of this session. */
export async function keepIds(tx: postgres.TransactionSql, sets: Subject["sets"]): Promise<void> {
  await tx.unsafe(`drop table if exists ${ids}`);
  await tx.unsafe(`create temporary table person_ids (id uuid, name text, primary key (id, name))`);
  for (const [name, members] of Object.entries(sets)) {
    await tx.unsafe(`insert into ${ids} select unnest($1::uuid[]), $2 on conflict do nothing`, [
      members,
      name,
    ]);
  }
  await tx.unsafe(`analyze ${ids}`);
}

/** Which row `t` is, also of a table in parts: lines of one table may name the same. */
export const placeOf = "t.tableoid || '/' || t.ctid";

/** The rows of a line, as a condition on its table `t`. */
export function conditionOf(target: Target, subject: Subject): string {
  const scope = scopeOf(target, subject);
  if (target.by) {
    const { column, set, having } = target.by;
    return `${scope} and t.${column} in ${idsIn(set)}${
      having ? ` and t.${having.column} = ${literal(having.value)}` : ""
    }`;
  }
  const text = `concat_ws(' ', ${
    target.columns.filter(({ kind }) => kind !== "file").map(({ name }) => `t.${name}::text`)
  })`;
  const { person, contact, texts } = subject;
  // Many rows have the id of a person who works; the name stands beside it only where it is the id of an object.
  const all = person ? `${texts}|"id": "${person}"` : texts;
  return `${scope} and ${text} ~* ${literal(all)} and (${text} ~* ${literal(contact)} or exists (
    select from ${idsNamedIn("t::text")} and i.name <> 'places'))`;
}

/** The rows of the company, and of a person whose account ends those of no company. */
function scopeOf({ table, types }: Target, { tenant, sets }: Subject): string {
  if (table === "app.idempotency_keys") return `t.scope like '${tenant}/%'`;
  if (table === "tenancy.tenants") return `t.id = '${tenant}'`;
  if (table === "tenancy.wizard_runs") return `t.new_tenant_id = '${tenant}'`;
  if (!types.tenant_id) return "true";
  return types.tenant_id.nullable && sets.account!.length > 0
    ? `(t.tenant_id = '${tenant}' or t.tenant_id is null)`
    : `t.tenant_id = '${tenant}'`;
}

/** The value of a column without the person. */
export function valueOf(target: Target, column: Line["columns"][number], subject: Subject): string {
  const { name, kind } = column;
  const { type, nullable } = target.types[name]!;
  const value = `t.${name}`;
  const { person = null, contact, texts, word, kept = [] } = subject;
  // Of the ids those that the document names.
  const without = (document: string) =>
    `tenancy.without_person(${document}, ${
      literal(JSON.stringify({ person, contact, texts, word, kept }))
    }::jsonb
    || (select jsonb_build_object('ids', coalesce(jsonb_agg(i.id) filter (where i.name <> 'places'), '[]'),
      'places', coalesce(jsonb_agg(i.id) filter (where i.name = 'places'), '[]')) from ${
      idsNamedIn(`${value}::text`)
    }))`;
  const empty = nullable
    ? "null"
    : type === "jsonb"
    ? `case jsonb_typeof(${value}) when 'array' then '[]' else '{}' end::jsonb`
    : wordFor(value, subject);
  switch (kind) {
    case "word":
      return wordFor(value, subject);
    case "empty":
      return empty;
    case "text":
      return `case when ${value} ~* ${literal(subject.texts)} then ${empty} else ${value} end`;
    case "name":
      return `case when ${value} ~* ${literal(subject.texts)} then ${
        literal(subject.word)
      } else ${value} end`;
    case "document":
      return without(value);
    case "json":
      return `case when ${value} ~* ${literal(subject.texts)} then ${
        without(`${value}::jsonb`)
      }::text else ${value} end`;
    case "person":
      return `case when ${value} = '{}' then ${value} else jsonb_build_object('name', ${
        literal(subject.word)
      }) end`;
    case "file":
      return type === "text[]"
        ? "'{}'::text[]"
        : `case when ${value} like 'https://%' then ${literal(subject.word)} else ${value} end`;
    case "place":
      return withoutPlace(value, subject);
    default:
      return value;
  }
}

const withoutPlace = (document: string, { word }: Subject) =>
  `tenancy.without_place(${document}, array${idsIn("places", "text")}, ${literal(word)})`;

const wordFor = (value: string, { word }: Subject) =>
  `case when ${value} = '' then '' when ${value} is not null then ${literal(word)} end`;

/** The rows `t` that change, and what is set in them; without it the rows go. */
export interface Change {
  condition: string;
  change?: string;
}

export function changeOf(target: Target, subject: Subject): Change {
  const condition = conditionOf(target, subject);
  if (target.columns.some(({ kind }) => kind === "row")) return { condition };
  const sets = target.columns.map((column) => ({
    name: column.name,
    value: valueOf(target, column, subject),
  }));
  const touched = [
    ...(target.types.changed?.type === "bigint"
      ? ["changed = pg_current_xact_id()::text::bigint"]
      : []),
    ...(target.types.updated_at ? ["updated_at = clock_timestamp()"] : []),
  ];
  return {
    condition: `${condition} and (${
      sets.map(({ name, value }) => `t.${name} is distinct from ${value}`).join(" or ")
    })`,
    change: [...sets.map(({ name, value }) => `${name} = ${value}`), ...touched].join(", "),
  };
}

/** The audit of columns that are emptied whatever stands in them: a condition on its rows, and the keys' new values. */
export function logOf(
  target: Target,
  subject: Subject,
): Change | undefined {
  const logged = ["word", "empty", "person", "place", "file"];
  const columns = target.columns.filter(({ kind }) => logged.includes(kind));
  if (!target.by || columns.length === 0) return undefined;
  const { column, set, having } = target.by;
  const has = (value: (name: string) => string) =>
    having ? ` and ${value(having.column)} = ${literal(having.value)}` : "";
  const id = target.types.id ? "id" : column;
  const keys = (side: string) =>
    columns.map((column) => `'${column.name}', ${loggedValue(target, column, subject, side)}`);
  const without = (side: string) =>
    `case when t.${side} is not null then t.${side} || (
    select coalesce(jsonb_object_agg(k.key, k.value), '{}') from jsonb_each(jsonb_build_object(${
      keys(side)
    })) k
    where t.${side} -> k.key not in ('null', '""', '{}', '[]')) end`;
  return {
    condition:
      `(t.tenant_id = '${subject.tenant}' or t.tenant_id is null) and t.entity = '${target.table}'
      and (t.entity_id in (select r.${id}::text from ${
        quoted(target.table)
      } r where r.${column} in ${idsIn(set)}${has((name) => `r.${name}`)})
        or coalesce(t.after, t.before) ->> '${column}' in ${idsIn(set, "text")}${
        has((name) => `coalesce(t.after, t.before) ->> '${name}'`)
      })
      and (t.before is distinct from ${without("before")} or t.after is distinct from ${
        without("after")
      })`,
    change: `before = ${without("before")}, after = ${without("after")}`,
  };
}

function loggedValue(
  { types }: Target,
  { name, kind }: Line["columns"][number],
  subject: Subject,
  side: string,
): string {
  const value = `t.${side} -> '${name}'`;
  const { type, nullable } = types[name]!;
  const word = literal(subject.word);
  switch (kind) {
    case "person":
      return `jsonb_build_object('name', ${word})`;
    case "place":
      return withoutPlace(value, subject);
    case "file":
      return type === "text[]"
        ? "'[]'::jsonb"
        : `case when ${value} #>> '{}' like 'https://%' then to_jsonb(${word}::text) else ${value} end`;
    default:
      return kind === "word" || !nullable && type === "text"
        ? word
        : nullable
        ? "null"
        : "'{}'::jsonb";
  }
}
