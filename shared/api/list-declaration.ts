/**
 * The declaration of a list, and which list a query string belongs to. By itself, because a process that starts loads
 * no schemas.
 */
import type { z } from "zod";
import type { FileTimes } from "./csv/times.ts";
import type { Keyset } from "./cursor.ts";
import type { Filter } from "./filters.ts";

type Filters = Record<string, Filter>;

export interface ListDeclaration {
  /** A view with `id`; the policies decide which of its rows the caller has. */
  view: string;
  search?: readonly string[];
  sort: readonly [string, ...string[]];
  /** Default order; ties break on id, in the same direction. */
  order?: { by?: string; direction?: "asc" | "desc" };
  /** The columns of words in `sort` that are not columns themselves. */
  sortColumns?: Readonly<Record<string, string>>;
  params?: Filters;
  columns?: Filters;
  limit: { default: number; max: number };
  /** A time that every row has, or `id` where that counts up: what the whole list is read by; `created_at` unless said. */
  readBy?: string;
  /**
   * No index gives the order of the whole list: the rows of a page are found first, and only they are joined with what the view adds.
   * It pays where an index holds all that the order and the view's conditions ask.
   */
  sortedFirst?: true;
  /** The type of the view's `id`; uuid unless said. */
  idType?: "bigint";
  /** Columns of the view that only this engine reads. */
  hidden?: readonly string[];
  /**
   * Fields of the answer's rows that the endpoint makes out of columns (`all`: of any): who asks for one, the row is
   * read whole for them.
   */
  made?: readonly string[] | "all";
  /** The table of the rows, where it is `app.followed`: who keeps a copy of them can ask for what changed. */
  changes?: string;
  /** A column filter replaces the direct parameters of the same field instead of joining them. */
  columnsWin?: true;
  /**
   * The kept totals of this list (`app.counted`) and the filters they are kept by: as long as nothing else
   * narrows the rows, a caller who sees the whole tenant gets the total at a constant price. `readers` says in SQL who
   * does, where not all who see the tenant see the whole list. `ofAll`: the list holds the rows of all tenants,
   * whichever its reader is in. `within`: SQL of the `{column: value}` that all rows of the list have, where it is a part of its table.
   */
  tally?: {
    name: string;
    filters: readonly string[];
    readers?: string;
    ofAll?: true;
    within?: string;
  };
  /** The summary beside the rows: SQL of a jsonb value over `rows r where …`, and the filters it ignores. */
  summary?: { sql: (rows: string, narrowed: Narrowed) => string; ignores?: readonly string[] };
}

/** The restriction of a list: the SQL of its tally (null when it has none for that), and its readers. */
export interface Narrowed {
  /** `{column: value}` in SQL for `app.tally`, or null when more than the kept columns narrow the rows. */
  wanted: string | null;
}

export interface ListQuery {
  page: number;
  limit: number;
  search?: string;
  sort_by?: string;
  sort_order?: "asc" | "desc";
  column_filters: Record<string, unknown>;
  filters: Record<string, unknown>;
  /** The fields of the rows that are asked for; undefined: all. */
  fields?: readonly string[];
  /** Set when the rows are read by position and not by page. */
  keyset?: Keyset;
  /** How a file writes times: `local` on the clock of the company. */
  times?: FileTimes;
}

const declarations = new WeakMap<z.ZodType, ListDeclaration>();

/** From now on this schema is known as the query string of this list. */
export function declareList(query: z.ZodType, list: ListDeclaration): void {
  declarations.set(query, list);
}

/** The list whose query string this schema is. */
export function listOf(query: z.ZodType | undefined): ListDeclaration | undefined {
  if (!query) return undefined;
  // A list may read its query string further: z.pipe keeps what it began with as `in`.
  const { in: first } = query.def as { in?: z.ZodType };
  return declarations.get(query) ?? listOf(first);
}
