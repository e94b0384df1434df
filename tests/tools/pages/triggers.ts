/** docs/triggers.md: what follows a write, table by table, read from the catalogue. */
import type postgres from "postgres";
import { firstSentence, sources } from "./sources.ts";

interface Trigger {
  table: string;
  name: string;
  definition: string;
  /** The trigger's function, schema-qualified. */
  does: string;
  args: string;
}

/** A function that this many tables share is described once instead of under each. */
const shared = 5;

export async function triggersPage(sql: postgres.Sql): Promise<string> {
  const triggers = await triggersOf(sql);
  const known = sources();
  const tablesOf = new Map<string, Set<string>>();
  for (const { does, table } of triggers) {
    tablesOf.set(does, (tablesOf.get(does) ?? new Set()).add(table));
  }
  const isShared = ({ does }: Trigger) => tablesOf.get(does)!.size >= shared;
  const purpose = (does: string) => {
    const source = known.get(does);
    if (does.startsWith("private.audit_")) {
      return "does what `private.audit` does, column by column; written by `app.audited_by_column`";
    }
    if (!source) return "adds to the totals of lists; written by `app.counted`";
    if (!source.comment) throw new Error(`${does} needs a comment that says what it does.`);
    return firstSentence(source.comment);
  };
  const lines = [
    "# Triggers",
    "",
    "What the database does by itself after or before a write. Written by `npm run docs` from the catalogue; change the",
    "SQL, not this page.",
    "",
    "## On many tables",
    "",
    "| function | when | purpose | tables |",
    "| --- | --- | --- | --- |",
  ];
  for (const [does, tables] of [...tablesOf].sort().filter(([, { size }]) => size >= shared)) {
    const whens = triggers.filter((one) => one.does === does).map((one) => plainEvents(one));
    lines.push(
      `| \`${does}\` | ${[...new Set(whens)].sort().join("; ")} | ${
        cell(purpose(does))
      } | ${tables.size}: ${[...tables].sort().map((table) => `\`${table}\``).join(", ")} |`,
    );
  }
  lines.push("", "## Table by table", "");
  const own = triggers.filter((one) => !isShared(one));
  for (const table of [...new Set(own.map((one) => one.table))].sort()) {
    lines.push(
      `### ${table}`,
      "",
      "| trigger | when | function | purpose |",
      "| --- | --- | --- | --- |",
    );
    for (const one of own.filter((other) => other.table === table)) {
      lines.push(
        `| \`${one.name}\` | ${cell(when(one))} | \`${one.does}${
          one.args ? `(${cell(one.args)})` : ""
        }\` | ${cell(purpose(one.does))} |`,
      );
    }
    lines.push("");
  }
  return lines.join("\n").trimEnd() + "\n";
}

async function triggersOf(sql: postgres.Sql): Promise<Trigger[]> {
  return await sql<Trigger[]>`
    select c.relnamespace::regnamespace || '.' || c.relname as table, t.tgname as name, pg_get_triggerdef(t.oid) as definition,
      p.pronamespace::regnamespace || '.' || p.proname as does,
      coalesce((regexp_match(pg_get_triggerdef(t.oid), 'EXECUTE FUNCTION [^(]+\\((.*)\\)$'))[1], '') as args
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and p.pronamespace::regnamespace::text in
      ('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing', 'storefront', 'integration')
    order by 1, 2`;
}

/** `after insert or update`, without columns and conditions. */
function plainEvents({ definition }: Trigger): string {
  const [, time, events] = /TRIGGER \S+ (BEFORE|AFTER) (.*?) ON /.exec(definition)!;
  return `${time} ${events.replace(/ OF [^ ]+(?:, [^ ]+)*/g, "")}`.toLowerCase();
}

/** `after update of status, each row, when old.status is distinct from new.status, at commit`. */
function when({ definition }: Trigger): string {
  const [, time, events] = /TRIGGER \S+ (BEFORE|AFTER) (.*?) ON /.exec(definition)!;
  const columns = events.replace(
    /\b(INSERT|UPDATE|DELETE|TRUNCATE|OR|OF)\b/g,
    (word) => word.toLowerCase(),
  );
  const scope = /FOR EACH (ROW|STATEMENT)/.exec(definition)![1].toLowerCase();
  const condition = / WHEN \((.*)\) EXECUTE FUNCTION/.exec(definition)?.[1];
  return [
    `${time.toLowerCase()} ${columns}`,
    `each ${scope}`,
    ...(condition ? [`when ${plain(condition)}`] : []),
    ...(/INITIALLY DEFERRED/.test(definition) ? ["at the commit"] : []),
  ].join(", ");
}

/** A condition as people write it: PostgreSQL adds casts and brackets. */
function plain(condition: string): string {
  return condition.replace(/::\w+(\[\])?/g, "").replace(/^\((.*)\)$/, "$1")
    .replace(/\b(IS|NOT|NULL|DISTINCT|FROM|AND|OR|ANY|ARRAY|IN)\b/g, (word) => word.toLowerCase());
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
