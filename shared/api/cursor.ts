/**
 * Keyset pagination: no row is repeated or left out because others come and
 * go meanwhile. Two ways: everything, newest first (an export), and what changed, in the order it was committed (a
 * copy that somebody keeps).
 */
import { AppError } from "../errors/errors.ts";

/** Which rows a step reads. */
export interface Keyset {
  readonly by: "created" | "changes";
  /** Written into a file to its end, instead of answered step by step. */
  readonly file?: boolean;
  /** Rows of a step. */
  readonly size: number;
  /** For changes: from when on. */
  readonly since?: string;
  /** The last row of the step before; null at the beginning. */
  readonly after: Position | null;
  /** The summary that the first step of a file read: it is the same for all, so it is read once. */
  readonly summary?: unknown;
}

/** Where a step ended. */
export interface ListStep {
  /** The row after which the next step begins; null at the end of a file. Changes have no end. */
  position: Position | null;
  /** More rows wait already. */
  more: boolean;
  summary?: unknown;
}

/** Under this key a page and the answer made of it carry where their step ended. */
export const listStep: unique symbol = Symbol("listStep");

/** A row's position: the time (or number of the transaction) it is ordered by, and its id. */
export interface Position {
  at: string;
  id: string;
}

/** Rows of one statement of an export. */
const exportStep = 2_000;

/** Pages through all rows of a file, or through the changes that were asked for. */
export function exportKeyset(asked: Keyset | undefined): Keyset {
  const keyset = asked?.by === "changes" ? asked : { by: "created" as const, after: null };
  return { ...keyset, file: true, size: exportStep };
}

/** Parses the pagination of a query string. Fails: invalid_cursor. */
export function parseKeyset(
  sent: Record<string, string | undefined>,
  size: number,
): Keyset | undefined {
  const changes = changesOf(sent, size);
  return sent.format === "csv" ? exportKeyset(changes) : changes;
}

function changesOf(sent: Record<string, string | undefined>, size: number): Keyset | undefined {
  if (sent.cursor) return { by: "changes", size, after: parseCursor(sent.cursor) };
  if (sent.updated_since) return { by: "changes", size, after: null, since: sent.updated_since };
}

const cursorText = /^(\d{1,19})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** A position as clients hold it: opaque, so that they do not build their own. */
function formatCursor({ at, id }: Position): string {
  return btoa(`${at}.${id}`).replaceAll("=", "");
}

function parseCursor(cursor: string): Position {
  let text = "";
  try {
    text = atob(cursor);
  } catch {
    // Not even base64: refused below, like every other text that is no position.
  }
  const [, at, id] = cursorText.exec(text) ?? [];
  if (!at || BigInt(at) > 9_223_372_036_854_775_807n) {
    throw new AppError("invalid_cursor", { field: "cursor" });
  }
  return { at, id };
}

type KeysetSource = { view: string; readBy?: string; changes?: string; idType?: string };

/** The relation the rows are read from: for changes also their table, which alone knows them. */
export function keysetFrom({ view, changes }: KeysetSource, { by }: Keyset): string {
  return by === "changes" ? `${view} r join ${changes} f on f.id = r.id` : `${view} r`;
}

/** The column that a row's position is read from. */
function positionColumn({ readBy = "created_at" }: KeysetSource, { by }: Keyset): string {
  return by === "changes" ? "f.changed" : `r.${readBy}`;
}

/** A row's position as the next step takes it: of a change its number with the base of this database's cursors. */
export function positionOf(list: KeysetSource, keyset: Keyset): string {
  const column = positionColumn(list, keyset);
  return keyset.by === "changes" ? `${column} + (select private.cursor_base())` : column;
}

/** The order of the rows of a page; the lists' indexes are written this way. */
export function keysetOrder(list: KeysetSource, keyset: Keyset): string {
  const column = positionColumn(list, keyset);
  return keyset.by === "changes" ? `${column}, f.id` : `${column} desc nulls last, r.id desc`;
}

/** Which rows lie beyond the position. Values stand under `after` and `since` of the statement's input. */
export function keysetCondition(list: KeysetSource, keyset: Keyset): string {
  const id = `($1 #>> '{after,id}')::${list.idType ?? "uuid"}`;
  if (keyset.by === "created") {
    if (!keyset.after) return "true";
    if (list.readBy === "id") return `r.id < ${id}`;
    return `(${positionColumn(list, keyset)}, r.id) < (($1 #>> '{after,at}')::timestamptz, ${id})`;
  }
  // A transaction that is still open may commit rows with a smaller number later: until then, they and all after
  // them wait. So a client that follows the cursor misses nothing.
  const settled = "f.changed < (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint)";
  if (keyset.after) {
    const number = "(select private.cursor_number(($1 #>> '{after,at}')::bigint))";
    return `(f.changed, f.id) > (${number}, ${id}) and ${settled}`;
  }
  // The index is by number of transaction, so a time needs a number to begin at, or all older rows would be read.
  const since = "app.day_start($1 ->> 'since')";
  return `f.updated_at >= (select ${since}) and ${settled}
    and f.changed >= (select private.changes_from('${list.changes}', ${since}))`;
}

/** The keys of a row's position, beside its columns: a list may hide its id, and a client may leave it out. */
export const positionKey = "keyset_position";
export const positionIdKey = "keyset_id";

/** The rows of a step without their positions, and where it ended. */
export function stepOf(
  { by, size, after }: Keyset,
  read: readonly Record<string, unknown>[],
): { rows: Record<string, unknown>[]; position: Position | null; more: boolean } {
  const last = read.at(-1);
  const end = last ? { at: String(last[positionKey]), id: String(last[positionIdKey]) } : null;
  const more = read.length === size;
  return {
    rows: read.map(({ [positionKey]: _, [positionIdKey]: __, ...row }) => row),
    position: by === "changes" ? end ?? after : more ? end : null,
    more,
  };
}

/** The fields beside the rows in an answer to a request for changes. */
export function nextCursor(
  { position, more }: ListStep,
): { next_cursor: string | null; has_more: boolean } {
  return { next_cursor: position && formatCursor(position), has_more: more };
}
