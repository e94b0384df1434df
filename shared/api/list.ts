/**
 * One engine for every list: page, limit, sort, search, direct parameters, `column_filters`, exact
 * totals. A list is declared over a view; the engine writes the statement from the declaration and
 * hands every value over as a parameter, so nothing a client sends becomes SQL.
 */
import { z } from "zod";
import type { Database } from "../db/db.ts";
import { declareList } from "./declared-lists.ts";
import { type Filter, readColumnFilters } from "./filters.ts";
import { DayOrInstant } from "../schemas/schemas.ts";
import {
  type Keyset,
  keysetCondition,
  keysetFrom,
  keysetOrder,
  parseKeyset,
  positionColumn,
  takeStep,
} from "./cursor.ts";

export * from "./filters.ts";

type Filters = Record<string, Filter>;

export interface ListDeclaration {
  /** A view with `id`; the policies decide which of its rows the caller has. */
  view: string;
  search?: readonly string[];
  searchMax?: number;
  sort: readonly [string, ...string[]];
  /** Default order; ties break on id, in the same direction. */
  order?: { by?: string; direction?: "asc" | "desc" };
  /** The columns of words in `sort` that are not columns themselves. */
  sortColumns?: Readonly<Record<string, string>>;
  params?: Filters;
  columns?: Filters;
  limit: { default: number; max: number };
  /** A time that every row has: what the whole list is read by; `created_at` unless said. */
  readBy?: string;
  /** The type of the view's `id`; uuid unless said. */
  idType?: "bigint";
  /** Columns of the view that only this engine reads. */
  hidden?: readonly string[];
  /** The table of the rows, where it is `app.followed`: who keeps a copy of them can ask for what changed. */
  changes?: string;
  /** A column filter replaces the direct parameters of the same field instead of joining them. */
  columnsWin?: true;
  /**
   * The kept totals of this list (`app.counted`) and the filters they are kept by: as long as nothing else
   * narrows the rows, a caller who sees the whole tenant gets the total at a constant price. `readers` says in SQL who
   * does, where not all who see the tenant see the whole list. `ofAll`: the list holds the rows of all tenants,
   * whichever its reader is in.
   */
  tally?: { name: string; filters: readonly string[]; readers?: string; ofAll?: true };
  /** The summary beside the rows: SQL of a jsonb value over `rows r where …`, and the filters it ignores. */
  summary?: { sql: (rows: string, narrowed: Narrowed) => string; ignores?: readonly string[] };
}

/** The restriction of a list: the SQL of its tally (null when it has none for that), and its readers. */
export interface Narrowed {
  /** `{column: value}` in SQL for `app.tally`, or null when more than the kept columns narrow the rows. */
  wanted: string | null;
}

export interface ListPage {
  rows: Record<string, unknown>[];
  page: number;
  limit: number;
  total: number;
  /** The value of the declared `summary`. */
  summary?: unknown;
}

export interface List {
  /** Schema of the query string, for validation and the API reference. */
  readonly query: z.ZodType<ListQuery>;
  run(db: Database, query: ListQuery): Promise<ListPage>;
  /** The page as most lists answer it. */
  answer(db: Database, query: ListQuery): Promise<ListAnswer>;
}

/** `data` and `pagination` of an answer. */
export interface ListAnswer extends Record<string, unknown> {
  data: Record<string, unknown>[];
  pagination: ReturnType<typeof pagination>;
}

export interface ListQuery {
  page: number;
  limit: number;
  search?: string;
  sort_by?: string;
  sort_order?: "asc" | "desc";
  column_filters: Record<string, unknown>;
  filters: Record<string, unknown>;
  /** Set when the rows are read by place and not by page. */
  keyset?: Keyset;
}

/** Declares a list. Unknown keys of `column_filters` are ignored; wrong values are refused. */
export function defineList(list: ListDeclaration): List {
  const query = querySchema(list);
  declareList(query, list);
  return {
    query,
    run: (db, query) => run(list, db, query),
    async answer(db, query) {
      const page = await run(list, db, query);
      return { data: page.rows, pagination: pagination(page) };
    },
  };
}

function querySchema(list: ListDeclaration): z.ZodType<ListQuery> {
  const { params = {}, columns = {} } = list;
  const shape: Record<string, z.ZodType> = {
    page: z.string().optional().meta({ description: "Page, from 1", type: "integer" }),
    limit: z.string().optional().meta({
      description: `Rows of a page: ${list.limit.default}, at most ${list.limit.max}`,
      type: "integer",
    }),
    sort_by: z.enum(list.sort).optional(),
    sort_order: z.enum(["asc", "desc"]).optional(),
    format: z.enum(["json", "csv"]).optional().meta({
      description:
        "`csv`: every row the filters leave, newest first, as a file; with `updated_since` or `cursor` what changed, in that order",
    }),
  };
  if (list.changes) Object.assign(shape, changesParameters);
  if (list.search) shape.search = z.string().max(list.searchMax ?? 200).optional();
  if (Object.keys(columns).length) {
    shape.column_filters = z.string().max(8_000).optional().meta({
      description: `JSON object with any of: ${Object.keys(columns).join(", ")}`,
    });
  }
  for (const [name, filter] of Object.entries(params)) shape[name] = filter.schema.optional();
  return z.object(shape).transform((query): ListQuery => {
    const sent = query as Record<string, string | undefined>;
    return {
      page: clamp(sent.page, 1, Number.MAX_SAFE_INTEGER, 1),
      limit: clamp(sent.limit, 1, list.limit.max, list.limit.default),
      search: sent.search?.trim() || undefined,
      sort_by: sent.sort_by,
      sort_order: sent.sort_order as "asc" | "desc" | undefined,
      column_filters: readColumnFilters(sent.column_filters, columns),
      filters: Object.fromEntries(
        Object.keys(params).filter((name) => query[name] !== undefined).map((
          name,
        ) => [name, query[name]]),
      ),
      keyset: parseKeyset(sent, clamp(sent.limit, 1, list.limit.max, list.limit.default)),
    };
  }) as unknown as z.ZodType<ListQuery>;
}

const changesParameters = {
  updated_since: DayOrInstant.optional().meta({
    description:
      "Only rows changed since then, in the order of their changes; `next_cursor` leads on from there",
  }),
  cursor: z.string().max(200).optional().meta({
    description: "`next_cursor` of the answer before: what changed after it",
  }),
};

/** Not a number or too small: the default. Too large: the maximum. */
export function clamp(
  text: string | undefined,
  min: number,
  max: number,
  fallback: number,
): number {
  const value = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min)) return fallback;
  return Math.min(value, max);
}

async function run(list: ListDeclaration, db: Database, query: ListQuery): Promise<ListPage> {
  const { keyset } = query;
  const { statement, keepPlan } = statementFor(list, query);
  const found = await db.read<Omit<ListPage, "page" | "limit">>(statement, {
    keep_plan: keepPlan,
    search: query.search ?? null,
    param: query.filters,
    column: query.column_filters,
    limit: keyset?.size ?? query.limit,
    offset: keyset ? 0 : Math.min((query.page - 1) * query.limit, Number.MAX_SAFE_INTEGER),
    since: keyset?.since,
    after: keyset?.after,
  });
  if (!keyset) return { ...found, page: query.page, limit: query.limit };
  takeStep(keyset, found.rows);
  keyset.summary ??= found.summary;
  return {
    rows: found.rows,
    page: 1,
    limit: query.limit,
    total: found.rows.length,
    summary: keyset.summary,
  };
}

type Condition = { name: string; sql: string; value: string; kept?: Filter["kept"] };

/** The conditions of a list, by the name of what they narrow by. */
function conditionsOf(list: ListDeclaration, query: ListQuery) {
  const conditions: Condition[] = [];
  const preferred: { name: string; condition: string }[] = [];
  const sets: { name: string; sql: string }[] = [];
  const once = (sql: string) => {
    const name = `among_${sets.length}`;
    sets.push({ name, sql });
    return name;
  };
  const use = (source: "param" | "column", name: string, filter: Filter) => {
    const value = `($1 #> '{${source},${name}}')`;
    const condition = filter.condition(value, once);
    if (filter.prefers) preferred.push({ name: filter.prefers, condition });
    else conditions.push({ name, sql: `(${condition})`, value, kept: filter.kept });
  };
  for (const name of Object.keys(query.filters)) {
    const filter = list.params![name];
    if (list.columnsWin && (filter.field ?? name) in query.column_filters) continue;
    use("param", name, filter);
  }
  for (const name of Object.keys(query.column_filters)) use("column", name, list.columns![name]);
  if (query.search && list.search) {
    const patterns = `app.${
      list.search.includes("phone") ? "contact" : "contains"
    }_patterns($1 ->> 'search')`;
    const matches = list.search.map((column) => `r.${column}::text ilike any (${patterns})`);
    conditions.push({ name: "search", sql: `(${matches.join(" or ")})`, value: patterns });
  }
  return { conditions, preferred, sets };
}

/** `{column: value}` for the tally, as long as only columns it is kept by narrow the rows. */
function wantedOf({ tally }: ListDeclaration, conditions: Condition[]): string | null {
  if (!tally || conditions.some(({ name }) => !tally.filters.includes(name))) return null;
  // Narrowed twice by one column: both must hold, which a tally cannot say.
  if (new Set(conditions.map(({ name }) => name)).size < conditions.length) return null;
  return conditions.map(({ name, value, kept }) =>
    kept?.(value) ?? `jsonb_build_object('${name}', ${value} #>> '{}')`
  ).join(" || ") || "'{}'::jsonb";
}

// A plan is kept where one index serves whatever the values are: all rows, or those of columns that totals are kept
// by. Of a text or a time a rare value and a common one want different plans; so do words of more columns than one.
function statementFor(list: ListDeclaration, query: ListQuery) {
  const { conditions, preferred, sets } = conditionsOf(list, query);
  const order = query.keyset ? keysetOrder(list, query.keyset) : [
    ...preferred.map(({ condition }) => `coalesce(${condition}, false) desc`),
    orderOf(list, query),
  ].join(", ");
  const extra = preferred.map(({ name, condition }) =>
    ` || case when ${condition} then '{"${name}": true}'::jsonb else '{}'::jsonb end`
  ).join("");
  // The conditions stand twice on purpose: one shared CTE or count(*) over () is many times slower.
  const rowsWhere = (ignored: readonly string[] = []) =>
    ["true", ...conditions.filter(({ name }) => !ignored.includes(name)).map(({ sql }) => sql)]
      .join(" and ");
  const where = rowsWhere();
  const pageWhere = query.keyset ? `${where} and ${keysetCondition(list, query.keyset)}` : where;
  const all = query.keyset ? keysetFrom(list, query.keyset) : `${list.view} r`;
  const { hidden = [] } = list;
  const row = ["to_jsonb(r)", ...hidden.map((column) => `'${column}'`)].join(" - ");
  const placed = query.keyset
    ? ` || jsonb_build_object('place', ${positionColumn(list, query.keyset)})`
    : "";
  const counted = `(select count(*) from ${list.view} r where ${where})`;
  const wanted = wantedOf(list, conditions);
  const readers = list.tally?.readers ?? "app.sees_tenant()";
  const total = query.keyset ? "0" : wanted === null ? counted : `case when (select ${readers})
    then (app.tally('${list.tally!.name}', ${wanted}, ${
    list.tally!.ofAll === true
  }) ->> 'entries')::bigint else ${counted} end`;
  const { summary } = list;
  const summarySql = summary && query.keyset?.summary === undefined
    ? `, 'summary', ${
      summary.sql(`${list.view} r where ${rowsWhere(summary.ignores)}`, {
        wanted: wantedOf(list, conditions.filter(({ name }) => !summary.ignores?.includes(name))),
      })
    }`
    : "";
  const pageOf = (columns: string) =>
    `select ${columns} from ${all} where ${pageWhere} order by ${order}
      limit ($1 ->> 'limit')::bigint offset ($1 ->> 'offset')::bigint`;
  const columns = `${row}${extra}${placed} as row`;
  // Rows that no index returns in this order are found and sorted first: only the rows of the page are looked at whole. That
  // costs the first page of all rows more to plan than it saves.
  const sorted = !query.keyset && (conditions.length > 0 || query.sort_by !== undefined);
  const page = sorted
    ? `select ${columns} from (${pageOf("r.id")}) i join ${all} on r.id = i.id order by ${order}`
    : pageOf(columns);
  const asked = sets.map(({ name, sql }) => `${name} (id) as materialized (select ${sql})`);
  const before = asked.length ? `with ${asked.join(", ")} ` : "";
  return {
    statement: `${before}select jsonb_build_object(
    'rows', coalesce((select jsonb_agg(page.row) from (${page}) page), '[]'),
    'total', ${total}${summarySql})`,
    keepPlan: conditions.every(({ name, kept }) => !kept && list.tally?.filters.includes(name)),
  };
}

function orderOf(list: ListDeclaration, query: ListQuery): string {
  const word = query.sort_by ?? list.order?.by ?? list.sort[0];
  const by = list.sortColumns?.[word] ?? word;
  const direction = query.sort_order ?? list.order?.direction ?? "desc";
  return `r.${by} ${direction} nulls last, r.id ${direction}`;
}

/** `{page, limit, total, total_pages}`, the shape of most lists of the delivery function. */
export function pagination({ page, limit, total }: ListPage) {
  return { page, limit, total, total_pages: Math.ceil(total / limit) };
}
