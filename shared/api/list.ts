/**
 * One engine for every list: page, limit, sort, search, direct parameters, `column_filters`, exact
 * totals. A list is declared over a view; the engine writes the statement from the declaration and
 * hands every value over as a parameter, so nothing a client sends becomes SQL.
 */
import { z } from "zod";
import type { Database } from "../db/db.ts";
import { type Keyset, type ListStep, listStep, parseKeyset, stepOf } from "./cursor.ts";
import { readColumnFilters } from "./filters.ts";
import { declareList, type ListDeclaration, type ListQuery } from "./list-declaration.ts";
import { statementOf } from "./list-statement.ts";
import { asciiDigits } from "../schemas/digits.ts";
import { DayOrInstant } from "../schemas/schemas.ts";

export * from "./filters.ts";
export type { ListDeclaration, ListQuery } from "./list-declaration.ts";

export interface ListPage {
  rows: Record<string, unknown>[];
  page: number;
  limit: number;
  total: number;
  /** The value of the declared `summary`. */
  summary?: unknown;
  /** Where the rows ended that were read by position. An answer passes it on, as it passes on the page. */
  [listStep]?: ListStep;
}

export interface List {
  /** Schema of the query string, for validation and the API reference. */
  readonly query: z.ZodType<ListQuery>;
  run(db: Database, query: ListQuery): Promise<ListPage>;
  /** The page as lists answer it: the rows under `data`, beside `pagination`. */
  answer(db: Database, query: ListQuery): Promise<ListAnswer>;
}

export interface ListAnswer extends Record<string, unknown> {
  data: Record<string, unknown>[];
  pagination: ReturnType<typeof pagination>;
  summary?: unknown;
  [listStep]?: ListStep;
}

/** Declares a list. Unknown keys of `column_filters` are ignored; wrong values are refused. */
export function defineList(list: ListDeclaration): List {
  const query = querySchema(list);
  declareList(query, list);
  return {
    query,
    run: (db, query) => run(list, db, query),
    answer: async (db, query) => answerOf(await run(list, db, query)),
  };
}

/** A page as lists answer it; `List.answer` where the rows are answered as they are. */
export function answerOf({ rows, page, limit, total, ...rest }: ListPage): ListAnswer {
  return { data: rows, pagination: pagination({ page, limit, total }), ...rest };
}

/** A list that is always answered whole, because it is short by its nature: its only page. */
export function answerWhole(rows: Record<string, unknown>[]): ListAnswer {
  return answerOf({ rows, page: 1, limit: Math.max(rows.length, 1), total: rows.length });
}

function querySchema(list: ListDeclaration): z.ZodType<ListQuery> {
  const { params = {}, columns = {} } = list;
  const shape: Record<string, z.ZodType> = {
    ...pageParameters(list.limit),
    sort_by: z.enum(list.sort).optional(),
    sort_order: z.enum(["asc", "desc"]).optional(),
    ...fileParameters(
      "`csv`: every row the filters leave, newest first, as a file; with `updated_since` or `cursor` what changed, in that order",
    ),
  };
  if (list.changes) Object.assign(shape, changesParameters);
  if (list.search) shape.search = z.string().max(200).optional();
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
      times: sent.times as ListQuery["times"],
    };
  }) as unknown as z.ZodType<ListQuery>;
}

/** The parameters of what can be had as a file. `format` says of what rows. */
export const fileParameters = (format?: string) => ({
  format: z.enum(["json", "csv"]).optional().meta(format ? { description: format } : {}),
  times: z.enum(["utc", "local"]).optional(),
});

/** The parameters that choose a page, for a list that is not declared over a view as well. */
export const pageParameters = (rows: ListDeclaration["limit"]) => ({
  page: z.string().optional().meta({ description: "Page, from 1", type: "integer" }),
  limit: z.string().optional().meta({
    description: `Rows of a page: ${rows.default}, at most ${rows.max}`,
    type: "integer",
  }),
});

const changesParameters = {
  updated_since: DayOrInstant.optional().meta({
    description:
      "Only rows changed since then, in the order of their changes; `next_cursor` leads on from there, and `total` is the number of rows of this answer",
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
  const digits = asciiDigits(text ?? "");
  const value = /^\d+$/.test(digits) ? Number(digits) : NaN;
  if (!(value >= min)) return fallback;
  return Math.min(value, max);
}

async function run(list: ListDeclaration, db: Database, query: ListQuery): Promise<ListPage> {
  const { keyset } = query;
  const { statement, count, keepPlan } = statementOf(list, query);
  const found = await db.read<Pick<ListPage, "rows" | "total" | "summary">>(statement, {
    one_plan: keepPlan,
    count,
    search: query.search ?? null,
    param: query.filters,
    column: query.column_filters,
    offset: keyset ? 0 : Math.min((query.page - 1) * query.limit, Number.MAX_SAFE_INTEGER),
    since: keyset?.since,
    after: keyset?.after,
  });
  const shown = { ...found, rows: withoutHidden(list, found.rows) };
  return keyset
    ? stepPage(keyset, query, shown)
    : { ...shown, page: query.page, limit: query.limit };
}

/** The rows without the columns that are for search and filters alone. */
function withoutHidden({ hidden = [] }: ListDeclaration, rows: ListPage["rows"]) {
  for (const row of rows) for (const column of hidden) delete row[column];
  return rows;
}

function stepPage(
  keyset: Keyset,
  { limit }: ListQuery,
  found: Pick<ListPage, "rows" | "summary">,
): ListPage {
  const { rows, position, more } = stepOf(keyset, found.rows);
  const summary = keyset.summary ?? found.summary;
  return {
    rows,
    page: 1,
    limit,
    total: rows.length,
    ...(summary !== undefined && { summary }),
    [listStep]: { position, more, summary },
  };
}

/** `{page, limit, total, total_pages}`. */
function pagination({ page, limit, total }: Pick<ListPage, "page" | "limit" | "total">) {
  return { page, limit, total, total_pages: Math.ceil(total / limit) };
}
