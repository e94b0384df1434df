/**
 * One engine for every list: page, limit, sort, search, direct parameters, `column_filters`, exact
 * totals. A list is declared over a view; the engine writes the statement from the declaration and
 * hands every value over as a parameter, so nothing a client sends becomes SQL.
 */
import { z } from "zod";
import type { Database } from "./db.ts";
import { AppError } from "./errors.ts";
import { DayOrInstant, Id } from "./schemas.ts";

/** How one value narrows the rows. `condition` gets the SQL of the value as jsonb. */
export interface Filter {
  readonly schema: z.ZodType;
  readonly condition: (value: string) => string;
  /** Matching rows come first and carry this key as true, instead of being the only ones. */
  readonly prefers?: string;
}

const asText = (value: string) => `(${value} #>> '{}')`;

/** Matches anywhere in the column, whatever the case; wildcards of the client are plain characters. */
export function contains(column: string): Filter {
  return {
    schema: z.string().max(200),
    condition: (value) => `r.${column}::text ilike app.contains_pattern(${asText(value)})`,
  };
}

/** One of a set of words. */
export function oneOf(column: string, words: readonly [string, ...string[]]): Filter {
  return { schema: z.enum(words), condition: (value) => `r.${column} = ${asText(value)}` };
}

/** Equal to a text. */
export function equal(column: string): Filter {
  return { schema: z.string().max(200), condition: (value) => `r.${column} = ${asText(value)}` };
}

export function id(column: string): Filter {
  return { schema: Id, condition: (value) => `r.${column} = ${asText(value)}::uuid` };
}

export function flag(column: string): Filter {
  return {
    schema: z.union([z.boolean(), z.enum(["true", "false"])]),
    condition: (value) => `r.${column} = ${asText(value)}::boolean`,
  };
}

const Numeric = z.union([z.number(), z.string().regex(/^-?\d{1,15}(\.\d{1,6})?$/)]);

/** A number, or `{min, max}` with either end open. */
export function number(column: string): Filter {
  return {
    schema: z.union([Numeric, z.object({ min: Numeric.nullish(), max: Numeric.nullish() })]),
    condition: (value) =>
      `case when jsonb_typeof(${value}) = 'object'
        then (${value} ->> 'min' is null or r.${column} >= (${value} ->> 'min')::numeric)
          and (${value} ->> 'max' is null or r.${column} <= (${value} ->> 'max')::numeric)
        else r.${column} = ${asText(value)}::numeric end`,
  };
}

/** Lower end of a number. */
export function atLeast(column: string): Filter {
  return { schema: Numeric, condition: (value) => `r.${column} >= ${asText(value)}::numeric` };
}

/** Upper end of a number. */
export function atMost(column: string): Filter {
  return { schema: Numeric, condition: (value) => `r.${column} <= ${asText(value)}::numeric` };
}

/** A bound in a sub-select: worked out once a statement, and not for every row a scan looks at. */
const once = (bound: string) => `(select ${bound})`;

/** From a day's start in the tenant's time zone, or from an instant. */
export function since(column: string): Filter {
  return {
    schema: DayOrInstant,
    condition: (value) => `r.${column} >= ${once(`app.day_start(${asText(value)})`)}`,
  };
}

/** To a day's end in the tenant's time zone, or to an instant. */
export function until(column: string): Filter {
  return {
    schema: DayOrInstant,
    condition: (value) => `r.${column} < ${once(`app.day_end(${asText(value)})`)}`,
  };
}

/** `{from, to}`, days or instants, either end open. */
export function period(column: string): Filter {
  return {
    schema: z.object({ from: DayOrInstant.nullish(), to: DayOrInstant.nullish() }),
    condition: (value) =>
      `(${value} ->> 'from' is null or r.${column} >= ${once(`app.day_start(${value} ->> 'from')`)})
        and (${value} ->> 'to' is null or r.${column} < ${once(`app.day_end(${value} ->> 'to')`)})`,
  };
}

/** Puts the rows for which `condition` holds first; `name` is true on them and absent on the others. */
export function prefer(
  name: string,
  schema: z.ZodType,
  condition: (value: string) => string,
): Filter {
  return { schema, condition: (value) => condition(asText(value)), prefers: name };
}

type Filters = Record<string, Filter>;

export interface ListDeclaration {
  /** A view with `id`; the policies decide which of its rows the caller has. */
  view: string;
  search?: readonly string[];
  searchMax?: number;
  sort: readonly [string, ...string[]];
  /** Default order; ties break on id, in the same direction. */
  order?: { by?: string; direction?: "asc" | "desc" };
  params?: Filters;
  columns?: Filters;
  limit: { default: number; max: number };
  /** A column filter replaces the direct parameter of the same name instead of joining it. */
  columnsWin?: true;
}

export interface ListPage {
  rows: Record<string, unknown>[];
  page: number;
  limit: number;
  total: number;
}

export interface List {
  /** Schema of the query string, for validation and the API reference. */
  readonly query: z.ZodType<ListQuery>;
  run(db: Database, query: ListQuery): Promise<ListPage>;
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
  return { query: querySchema(list), run: (db, query) => run(list, db, query) };
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
  const found = await db.read<{ rows: Record<string, unknown>[]; total: number }>(
    statementFor(list, query),
    {
      search: query.search ?? null,
      param: query.filters,
      column: query.column_filters,
      limit: query.limit,
      offset: Math.min(offset, Number.MAX_SAFE_INTEGER),
    },
  );
  return { rows: found.rows, page: query.page, limit: query.limit, total: found.total };
}

function statementFor(list: ListDeclaration, query: ListQuery): string {
  const conditions: string[] = ["true"];
  const preferred: { name: string; condition: string }[] = [];
  const use = (source: "param" | "column", name: string, filter: Filter) => {
    const condition = filter.condition(`($1 #> '{${source},${name}}')`);
    if (filter.prefers) preferred.push({ name: filter.prefers, condition });
    else conditions.push(`(${condition})`);
  };
  for (const name of Object.keys(query.filters)) {
    if (list.columnsWin && name in query.column_filters) continue;
    use("param", name, list.params![name]);
  }
  for (const name of Object.keys(query.column_filters)) use("column", name, list.columns![name]);
  if (query.search && list.search) {
    const pattern = "app.contains_pattern($1 ->> 'search')";
    conditions.push(
      `(${list.search.map((column) => `r.${column}::text ilike ${pattern}`).join(" or ")})`,
    );
  }
  const by = query.sort_by ?? list.order?.by ?? list.sort[0];
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
  const where = conditions.join(" and ");
  return `select jsonb_build_object(
    'rows', coalesce((select jsonb_agg(page.row) from (
      select to_jsonb(r)${extra} as row from ${list.view} r where ${where} order by ${order}
      limit ($1 ->> 'limit')::bigint offset ($1 ->> 'offset')::bigint) page), '[]'),
    'total', (select count(*) from ${list.view} r where ${where}))`;
}

/** `{page, limit, total, total_pages}`, the shape of most lists of the delivery function. */
export function pagination({ page, limit, total }: ListPage) {
  return { page, limit, total, total_pages: Math.ceil(total / limit) };
}
