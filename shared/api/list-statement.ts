/**
 * The SQL of a list's page, total and summary. Everything in it comes from the declaration; what a client sent is read
 * from `$1`, as `list.ts` sends it.
 */
import {
  keysetCondition,
  keysetFrom,
  keysetOrder,
  positionIdKey,
  positionKey,
  positionOf,
} from "./cursor.ts";
import { type Filter, matching } from "./filters.ts";
import type { ListDeclaration, ListQuery } from "./list-declaration.ts";

/** A condition that leaves rows out. `name`: what it narrows by; `value`: the SQL of the value that was sent. */
interface Condition {
  name: string;
  sql: string;
  value: string;
  kept?: Filter["kept"];
  /** It holds because its parameter was left out (`Filter.unasked`). */
  unasked?: true;
  /** For more than one word: no kept total has that. */
  several?: boolean;
}

/** The parts of a query that narrow a list, filter by filter. */
interface Narrowing {
  conditions: Condition[];
  /** Filters that put their rows first and mark them, instead of leaving others out. */
  preferred: { name: string; condition: string }[];
  /** Sets of ids that conditions read by name. */
  sets: { name: string; sql: string }[];
}

/** The statements of a page of a list. */
interface Statement {
  /**
   * Answers `{rows, summary}`, and the total; of one that is kept for some callers null to the others. As `json`: what a row has is written down
   * once, where `jsonb` would take it apart and copy it at every level.
   */
  statement: string;
  /** Counts the rows for those others. */
  count?: string;
  /** Whether the connection keeps the plan. */
  keepPlan: boolean;
}

export function statementOf(list: ListDeclaration, query: ListQuery): Statement {
  const narrowing = narrowingOf(list, query);
  const { conditions, sets } = narrowing;
  const fields = [
    `'rows', coalesce((select json_agg(page.row) from (${
      pageOf(list, query, narrowing)
    }) page), '[]')`,
  ];
  const total = query.keyset ? { read: "0" } : totalOf(list, conditions);
  if (list.summary && query.keyset?.summary === undefined) {
    fields.push(`'summary', ${summaryOf(list, list.summary, conditions)}`);
  }
  const named = sets.map(({ name, sql }) => `${name} (id) as materialized (select ${sql})`);
  const before = named.length ? `with ${named.join(", ")} ` : "";
  return {
    statement: `${before}select json_build_object(${fields.join(", ")}), ${total.read}`,
    ...(total.counted ? { count: `${before}${total.counted}` } : {}),
    keepPlan: keepsPlan(list, query, conditions),
  };
}

function narrowingOf(list: ListDeclaration, query: ListQuery): Narrowing {
  const narrowing: Narrowing = { conditions: [], preferred: [], sets: [] };
  const { conditions, preferred, sets } = narrowing;
  const once = (sql: string) => {
    const name = `among_${sets.length}`;
    sets.push({ name, sql });
    return name;
  };
  const use = (source: "param" | "column", name: string, filter: Filter, sent: unknown) => {
    const value = `($1 #> '{${source},${name}}')`;
    const several = filter.several !== undefined && Array.isArray(sent);
    const condition = several ? filter.several!(value) : filter.condition(value, once);
    // A condition that every row meets narrows nothing: the endpoint itself reads such a parameter.
    if (condition === "true") return;
    if (filter.prefers) preferred.push({ name: filter.prefers, condition });
    else conditions.push({ name, sql: `(${condition})`, value, kept: filter.kept, several });
  };
  for (const name of Object.keys(query.filters)) {
    const filter = list.params![name];
    if (list.columnsWin && (filter.field ?? name) in query.column_filters) continue;
    use("param", name, filter, query.filters[name]);
  }
  for (const [name, { unasked }] of Object.entries(list.params ?? {})) {
    if (!unasked || name in query.filters) continue;
    const { condition, kept } = unasked;
    conditions.push({ name, sql: condition, value: "", kept: () => kept, unasked: true });
  }
  for (const [name, sent] of Object.entries(query.column_filters)) {
    use("column", name, list.columns![name], sent);
  }
  if (query.search && list.search) conditions.push(searchIn(list.search));
  return narrowing;
}

/** A search in columns. One that has a `phone` also finds a number that is written otherwise than it is stored. */
function searchIn(columns: readonly string[]): Condition {
  const phones = columns.filter((column) => column === "phone" || column.endsWith("'phone'"));
  const patterns = `app.${phones.length ? "contact" : "contains"}_patterns($1 ->> 'search')`;
  // Joined, so that the text of a row is folded once. No search has a line end.
  const text = `concat_ws(E'\\n', ${columns.map((column) => `(r.${column})::text`).join(", ")})`;
  const ways = [
    matching(text, patterns),
    ...phones.map((column) =>
      `app.dialled(r.${column}) ilike any (app.dialled_patterns($1 ->> 'search'))`
    ),
  ];
  return { name: "search", sql: `(${ways.join(" or ")})`, value: patterns };
}

function whereOf(conditions: readonly Condition[]): string {
  return ["true", ...conditions.map(({ sql }) => sql)].join(" and ");
}

/**
 * The rows of the page. What no index gives in its order is found and sorted first, and only the rows of the page are
 * looked at whole; that costs the first page of all rows more to plan than it saves.
 */
function pageOf(list: ListDeclaration, query: ListQuery, narrowing: Narrowing): string {
  const { keyset } = query;
  const { preferred } = narrowing;
  const conditions = narrowing.conditions.filter(({ unasked }) =>
    !(unasked && keyset?.by === "changes")
  );
  const from = keyset ? keysetFrom(list, keyset) : `${list.view} r`;
  const where = whereOf(conditions) + (keyset ? ` and ${keysetCondition(list, keyset)}` : "");
  const order = keyset ? keysetOrder(list, keyset) : [
    ...preferred.map(({ condition }) => `coalesce(${condition}, false) desc`),
    orderOf(list, query),
  ].join(", ");
  const row = `${rowOf(list, query, preferred)} as row`;
  const select = (columns: string) =>
    `select ${columns} from ${from} where ${where} order by ${order} ${sliceOf(query)}`;
  const narrowed = conditions.some(({ unasked }) => !unasked);
  const sortedFirst = keyset
    ? list.sortedFirst && keyset.by === "created"
    : list.sortedFirst || narrowed || query.sort_by !== undefined;
  return sortedFirst
    ? `select ${row} from (${select("r.id")}) i join ${from} on r.id = i.id order by ${order}`
    : select(row);
}

/**
 * The rows of the page among all. Their number stands in the statement, since a kept plan is made for it: of an unknown number
 * PostgreSQL expects a tenth of the table, and would rather sort that.
 */
function sliceOf({ keyset, limit, page }: ListQuery): string {
  const rows = `limit ${Math.trunc(keyset?.size ?? limit)}`;
  return keyset || page === 1 ? rows : `${rows} offset ($1 ->> 'offset')::bigint`;
}

/** One row as JSON: the columns that are asked for, the marks of what is preferred, and its position. */
function rowOf(
  list: ListDeclaration,
  { keyset, fields }: ListQuery,
  preferred: Narrowing["preferred"],
): string {
  // Only to jsonb something can be added.
  if (!keyset && !preferred.length) return columnsOf(list, fields, "json");
  const columns = columnsOf(list, fields, "jsonb");
  const marks = preferred.map(({ name, condition }) =>
    `case when ${condition} then '{"${name}": true}'::jsonb else '{}'::jsonb end`
  );
  const position = keyset
    ? [
      `jsonb_build_object('${positionKey}', ${positionOf(list, keyset)}, '${positionIdKey}', r.id)`,
    ]
    : [];
  return [columns, ...marks, ...position].join(" || ");
}

type JsonType = "json" | "jsonb";

/** The columns that are asked for, or all. */
function columnsOf(
  { made = [], params = {} }: ListDeclaration,
  fields: ListQuery["fields"],
  type: JsonType,
): string {
  if (!fields || made === "all" || fields.some((name) => made.includes(name))) {
    return `to_${type}(r)`;
  }
  const marks = Object.values(params).map(({ prefers }) => prefers);
  return partOf(fields.filter((name) => !marks.includes(name)), type);
}

/** The most columns of one object: PostgreSQL passes a function at most 100 arguments. */
const columnsOfObject = 50;

/** Columns of a row as JSON, `jsonb` where more than one object makes it. Their names are those of the answer's schema: no client's word gets here. */
function partOf(columns: readonly string[], wanted: JsonType): string {
  const type = columns.length > columnsOfObject ? "jsonb" : wanted;
  const parts = [];
  for (let from = 0; from === 0 || from < columns.length; from += columnsOfObject) {
    const pairs = columns.slice(from, from + columnsOfObject).map((name) => `'${name}', r.${name}`);
    parts.push(`${type}_build_object(${pairs.join(", ")})`);
  }
  return parts.join(" || ");
}

function orderOf(list: ListDeclaration, query: ListQuery): string {
  const word = query.sort_by ?? list.order?.by ?? list.sort[0];
  const by = list.sortColumns?.[word] ?? word;
  const direction = query.sort_order ?? list.order?.direction ?? "desc";
  return `r.${by} ${direction} nulls last, r.id ${direction}`;
}

/**
 * The number of rows: from the kept totals for who sees the whole list, else counted, by a statement of its own: most callers need
 * none, and to prepare for it costs as much as a tenth of a page.
 */
function totalOf(
  list: ListDeclaration,
  conditions: readonly Condition[],
): { read: string; counted?: string } {
  const counted = `select count(*) from ${list.view} r where ${whereOf(conditions)}`;
  const key = tallyKeyOf(list, conditions);
  // The conditions stand here and in the page on purpose: one shared CTE or count(*) over () is many times slower.
  if (!list.tally || key === null) return { read: `(${counted})` };
  const { name, readers = "app.sees_tenant()", ofAll = false } = list.tally;
  const kept = `(app.tally('${name}', ${key}, ${ofAll}) ->> 'entries')::bigint`;
  return { read: `case when (select ${readers}) then ${kept} end`, counted };
}

function summaryOf(
  list: ListDeclaration,
  { sql, ignores = [] }: NonNullable<ListDeclaration["summary"]>,
  conditions: readonly Condition[],
): string {
  const counting = conditions.filter(({ name }) => !ignores.includes(name));
  return sql(`${list.view} r where ${whereOf(counting)}`, { wanted: tallyKeyOf(list, counting) });
}

/** `{column: value}` for the tally; null when not only columns that it is kept by narrow the rows. */
function tallyKeyOf({ tally }: ListDeclaration, conditions: readonly Condition[]): string | null {
  if (!tally || conditions.some(({ several }) => several)) return null;
  if (conditions.some(({ name, unasked }) => !unasked && !tally.filters.includes(name))) {
    return null;
  }
  // Narrowed twice by one column: both must hold, which a tally cannot say.
  if (new Set(conditions.map(({ name }) => name)).size < conditions.length) return null;
  const parts = conditions.map(({ name, value, kept }) =>
    kept?.(value) ?? `jsonb_build_object('${name}', ${value} #>> '{}')`
  );
  return [...tally.within ? [tally.within] : [], ...parts].join(" || ") || "'{}'::jsonb";
}

/**
 * A plan is kept where one index serves whatever the values are: all rows, or those of columns that totals are kept by.
 * Of a text or a time a rare value and a common one want different plans; so do words of more columns than one, and a page far on.
 */
function keepsPlan(
  { tally }: ListDeclaration,
  { page }: ListQuery,
  conditions: readonly Condition[],
): boolean {
  return page === 1 &&
    conditions.every(({ name, kept, unasked, several }) =>
      unasked || !kept && !several && tally?.filters.includes(name)
    );
}
