/**
 * One engine for every list: page, limit, sort, search, direct parameters, `column_filters`, exact
 * totals. A list is declared over a view; the engine writes the statement from the declaration and
 * hands every value over as a parameter, so nothing a client sends becomes SQL.
 */
import { z } from "zod";
import type { Database } from "./db.ts";
import { AppError } from "./errors.ts";
import type { Filter } from "./filters.ts";

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
  /** A column filter replaces the direct parameters of the same field instead of joining them. */
  columnsWin?: true;
  /**
   * The kept totals of this list (`app.counted`) and the filters they are kept by: as long as nothing else
   * narrows the rows, whoever sees the whole tenant gets the total at a constant price. `readers` says in SQL who
   * does, where not all who see the tenant see the whole list.
   */
  tally?: { name: string; filters: readonly string[]; readers?: string };
  /** What is told beside the rows: SQL of a jsonb value over `rows r where …`, and the filters it ignores. */
  summary?: { sql: (rows: string, narrowed: Narrowed) => string; ignores?: readonly string[] };
}

/** What narrows a list: the SQL of its tally (null when it has none for that), and who may read it. */
export interface Narrowed {
  /** `{column: value}` in SQL for `app.tally`, or null when more than the kept columns narrow the rows. */
  wanted: string | null;
}

export interface ListPage {
  rows: Record<string, unknown>[];
  page: number;
  limit: number;
  total: number;
  /** What the declared `summary` told. */
  summary?: unknown;
}

export interface List {
  /** Schema of the query string, for validation and the API reference. */
  readonly query: z.ZodType<ListQuery>;
  run(db: Database, query: ListQuery): Promise<ListPage>;
  /** The next rows after a place in the list, newest first by a time that every row has. */
  batch(db: Database, query: ListQuery, after: Place | null, size: number): Promise<Batch>;
}

/** Where a reader of a whole list is: the time and id of the last row he has. */
export interface Place {
  at: string;
  id: string;
}

export interface Batch {
  rows: Record<string, unknown>[];
  /** Where the next batch begins; null at the end. */
  next: Place | null;
}

export interface ListQuery {
  page: number;
  limit: number;
  search?: string;
  sort_by?: string;
  sort_order?: "asc" | "desc";
  column_filters: Record<string, unknown>;
  filters: Record<string, unknown>;
}

/** Declares a list. Unknown keys of `column_filters` are ignored; wrong values are refused. */
export function defineList(list: ListDeclaration): List {
  return {
    query: querySchema(list),
    run: (db, query) => run(list, db, query),
    batch: (db, query, after, size) => batch(list, db, query, after, size),
  };
}

function querySchema(list: ListDeclaration): z.ZodType<ListQuery> {
  const { params = {}, columns = {} } = list;
  const shape: Record<string, z.ZodType> = {
    page: z.string().optional().meta({ description: "Page, from 1", type: "integer" }),
    limit: z.string().optional().meta({
      description: `Rows of a page: ${list.limit.default}, at most ${list.limit.max}`,
    }),
    sort_by: z.enum(list.sort).optional(),
    sort_order: z.enum(["asc", "desc"]).optional(),
  };
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
    };
  }) as unknown as z.ZodType<ListQuery>;
}

/** Not a number or too small: the default. Too large: the maximum. */
function clamp(text: string | undefined, min: number, max: number, fallback: number): number {
  const value = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min)) return fallback;
  return Math.min(value, max);
}

function readColumnFilters(text: string | undefined, columns: Filters): Record<string, unknown> {
  if (text === undefined || text === "") return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new AppError("invalid_column_filters", { field: "column_filters" });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new AppError("invalid_column_filters", { field: "column_filters" });
  }
  const accepted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (!Object.hasOwn(columns, name) || value === null || value === "") continue;
    const result = columns[name].schema.safeParse(value);
    if (!result.success) {
      throw new AppError("invalid_column_filters", { field: `column_filters.${name}` });
    }
    accepted[name] = result.data;
  }
  return accepted;
}

async function run(list: ListDeclaration, db: Database, query: ListQuery): Promise<ListPage> {
  const offset = (query.page - 1) * query.limit;
  const found = await db.read<
    { rows: Record<string, unknown>[]; total: number; summary?: unknown }
  >(
    statementFor(list, query),
    {
      search: query.search ?? null,
      param: query.filters,
      column: query.column_filters,
      limit: query.limit,
      offset: Math.min(offset, Number.MAX_SAFE_INTEGER),
    },
  );
  return { ...found, page: query.page, limit: query.limit };
}

/** By key and not by page: no row is told twice or left out because others come and go meanwhile. */
async function batch(
  list: ListDeclaration,
  db: Database,
  query: ListQuery,
  after: Place | null,
  size: number,
): Promise<Batch> {
  const by = list.readBy ?? "created_at";
  const { conditions } = conditionsOf(list, query);
  const where = ["true", ...conditions.map(({ sql }) => sql)];
  if (after) {
    where.push(
      `(r.${by}, r.id) < (($1 #>> '{after,at}')::timestamptz, ($1 #>> '{after,id}')::uuid)`,
    );
  }
  const rows = await db.read<(Record<string, unknown> & { id: string })[]>(
    `select coalesce(jsonb_agg(page.row), '[]') from (
      select to_jsonb(r) as row from ${list.view} r where ${where.join(" and ")}
      order by r.${by} desc nulls last, r.id desc limit ($1 ->> 'size')::bigint) page`,
    {
      search: query.search ?? null,
      param: query.filters,
      column: query.column_filters,
      after,
      size,
    },
  );
  const last = rows.length < size ? undefined : rows.at(-1);
  return { rows, next: last ? { at: String(last[by]), id: last.id } : null };
}

/** The conditions of a list, by the name of what they narrow by. */
function conditionsOf(list: ListDeclaration, query: ListQuery) {
  const conditions: { name: string; sql: string }[] = [];
  const preferred: { name: string; condition: string }[] = [];
  const use = (source: "param" | "column", name: string, filter: Filter) => {
    const condition = filter.condition(`($1 #> '{${source},${name}}')`);
    if (filter.prefers) preferred.push({ name: filter.prefers, condition });
    else conditions.push({ name, sql: `(${condition})` });
  };
  for (const name of Object.keys(query.filters)) {
    const filter = list.params![name];
    if (list.columnsWin && (filter.field ?? name) in query.column_filters) continue;
    use("param", name, filter);
  }
  for (const name of Object.keys(query.column_filters)) use("column", name, list.columns![name]);
  if (query.search && list.search) {
    const pattern = "app.contains_pattern($1 ->> 'search')";
    const matches = list.search.map((column) => `r.${column}::text ilike ${pattern}`);
    conditions.push({ name: "search", sql: `(${matches.join(" or ")})` });
  }
  return { conditions, preferred };
}

/** `{column: value}` for the tally, as long as only columns it is kept by narrow the rows. */
function wantedOf(list: ListDeclaration, query: ListQuery, names: string[]): string | null {
  if (!list.tally || names.some((name) => !list.tally!.filters.includes(name))) return null;
  // Narrowed twice by one column: both must hold, which a tally cannot say.
  if (new Set(names).size < names.length) return null;
  const pairs = names.map((name) => {
    const source = name in query.column_filters ? "column" : "param";
    return `'${name}', $1 #>> '{${source},${name}}'`;
  });
  return `jsonb_build_object(${pairs.join(", ")})`;
}

function statementFor(list: ListDeclaration, query: ListQuery): string {
  const { conditions, preferred } = conditionsOf(list, query);
  const word = query.sort_by ?? list.order?.by ?? list.sort[0];
  const by = list.sortColumns?.[word] ?? word;
  const direction = query.sort_order ?? list.order?.direction ?? "desc";
  const order = [
    ...preferred.map(({ condition }) => `coalesce(${condition}, false) desc`),
    `r.${by} ${direction} nulls last`,
    `r.id ${direction}`,
  ].join(", ");
  const extra = preferred.map(({ name, condition }) =>
    ` || case when ${condition} then '{"${name}": true}'::jsonb else '{}'::jsonb end`
  ).join("");
  // The conditions stand twice on purpose: one shared CTE or count(*) over () is many times slower.
  const rowsWhere = (ignored: readonly string[] = []) =>
    ["true", ...conditions.filter(({ name }) => !ignored.includes(name)).map(({ sql }) => sql)]
      .join(" and ");
  const where = rowsWhere();
  const counted = `(select count(*) from ${list.view} r where ${where})`;
  const names = conditions.map(({ name }) => name);
  const wanted = wantedOf(list, query, names);
  const total = wanted === null
    ? counted
    : `case when (select ${list.tally!.readers ?? "app.sees_tenant()"})
    then (app.tally('${list.tally!.name}', ${wanted}) ->> 'entries')::bigint else ${counted} end`;
  const { summary } = list;
  const told = summary
    ? `, 'summary', ${
      summary.sql(`${list.view} r where ${rowsWhere(summary.ignores)}`, {
        wanted: wantedOf(list, query, names.filter((name) => !summary.ignores?.includes(name))),
      })
    }`
    : "";
  return `select jsonb_build_object(
    'rows', coalesce((select jsonb_agg(page.row) from (
      select to_jsonb(r)${extra} as row from ${list.view} r where ${where} order by ${order}
      limit ($1 ->> 'limit')::bigint offset ($1 ->> 'offset')::bigint) page), '[]'),
    'total', ${total}${told})`;
}

/** `{page, limit, total, total_pages}`, the shape of most lists of the delivery function. */
export function pagination({ page, limit, total }: ListPage) {
  return { page, limit, total, total_pages: Math.ceil(total / limit) };
}
