/**
 * Keyset pagination: no row is repeated or left out because others come and
 * go meanwhile. Two ways: everything, newest first (an export), and what changed, in the order it was committed (a
 * copy that somebody keeps).
 */
import { AppError } from "../errors/errors.ts";

export interface Keyset {
  by: "created" | "changes";
  /** Written into a file to its end, instead of answered step by step. */
  file?: boolean;
  /** Rows of a step. */
  size: number;
  /** For changes: from when on. */
  since?: string;
  /** The last row of the step before; null at the beginning. */
  after: Position | null;
  /** Set by each step: the position of the next, null at the end; changes have no end. */
  next: Position | null;
  /** Set by each step: more rows wait already. */
  more: boolean;
  /** The summary of the first step; it is the same for all steps, so it is read once. */
  summary?: unknown;
}

/** A row's place: the time (or number of the transaction) it is ordered by, and its id. */
export interface Position {
  at: string;
  id: string;
}

/** Rows of one statement of an export. */
const exportStep = 2_000;

const start = { after: null, next: null, more: false };

/** Pages through all rows of a file, or through the changes that were asked for. */
export function exportKeyset(asked: Keyset | undefined): Keyset {
  const keyset = asked?.by === "changes" ? asked : { by: "created" as const, ...start };
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
  if (sent.cursor) return { by: "changes", size, ...start, after: parseCursor(sent.cursor) };
  if (sent.updated_since) return { by: "changes", size, ...start, since: sent.updated_since };
}

const cursorText = /^(\d{1,19})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** A place as clients hold it: opaque, so that they do not build their own. */
function formatCursor({ at, id }: Position): string {
  return btoa(`${at}.${id}`).replaceAll("=", "");
}

function parseCursor(cursor: string): Position {
  let text = "";
  try {
    text = atob(cursor);
  } catch {
    // Not even base64: refused below, like every other text that is no place.
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

/** The column that says a row's place. */
export function positionColumn({ readBy = "created_at" }: KeysetSource, { by }: Keyset): string {
  return by === "changes" ? "f.changed" : `r.${readBy}`;
}

/** The order of the rows of a page; the lists' indexes are written this way. */
export function keysetOrder(list: KeysetSource, keyset: Keyset): string {
  const place = positionColumn(list, keyset);
  return keyset.by === "changes" ? `${place}, f.id` : `${place} desc nulls last, r.id desc`;
}

/** Which rows lie beyond the place. Values stand under `after` and `since` of the statement's input. */
export function keysetCondition(list: KeysetSource, keyset: Keyset): string {
  const id = `($1 #>> '{after,id}')::${list.idType ?? "uuid"}`;
  if (keyset.by === "created") {
    if (!keyset.after) return "true";
    return `(${positionColumn(list, keyset)}, r.id) < (($1 #>> '{after,at}')::timestamptz, ${id})`;
  }
  // A transaction that is still open may commit rows with a smaller number later: until then, they and all after
  // them wait. So a client that follows the cursor misses nothing.
  const settled = "f.changed < (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint)";
  if (keyset.after) {
    return `(f.changed, f.id) > (($1 #>> '{after,at}')::bigint, ${id}) and ${settled}`;
  }
  // The index is by number of transaction, so a time needs a number to begin at, or all older rows would be read.
  const since = "app.day_start($1 ->> 'since')";
  return `f.updated_at >= (select ${since}) and ${settled}
    and f.changed >= (select private.changes_from('${list.changes}', ${since}))`;
}

/** Notes where the step ended, and takes the places off the rows. */
export function takeStep(keyset: Keyset, rows: Record<string, unknown>[]): void {
  const last = rows.at(-1);
  const place = last ? { at: String(last.place), id: String(last.id) } : null;
  for (const row of rows) delete row.place;
  keyset.more = rows.length === keyset.size;
  keyset.next = keyset.by === "changes" ? place ?? keyset.after : keyset.more ? place : null;
}

/** The fields beside the rows in an answer to a request for changes. */
export function nextCursor(
  { next, more }: Keyset,
): { next_cursor: string | null; has_more: boolean } {
  return { next_cursor: next && formatCursor(next), has_more: more };
}
