/**
 * Lists as CSV (RFC 4180), streamed: any size at the memory of one batch. Begins with a byte order mark,
 * so that spreadsheets read Arabic and Kurdish; a text that a spreadsheet would run as a formula is
 * preceded by an apostrophe.
 */
import type { Access } from "./access.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";
import type { ErrorCode } from "./errors.ts";
import type { List, ListQuery } from "./list.ts";
import { describeError, log } from "./log.ts";

const batchSize = 2_000;
const byteOrderMark = "\ufeff";

/** A column: its heading, and where in a row its value stands (`delivery_details.customer_name`). */
export type Columns = Readonly<Record<string, string>>;

/** One line of the file. */
export function csvLine(values: unknown[]): string {
  return values.map(cell).join(",") + "\r\n";
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The value at a path of keys. */
function at(row: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (value, key) => (value as Record<string, unknown> | null | undefined)?.[key],
    row,
  );
}

/**
 * An endpoint that gives a whole list with its filters as a file. The first batch is read before the
 * answer begins, so that a refusal is still a refusal.
 */
export function csvEndpoint(
  declaration: {
    path: string;
    summary: string;
    access: Access;
    feature?: Endpoint["feature"];
    list: Pick<List, "query" | "batch">;
    columns: Columns;
    errors?: readonly ErrorCode[];
    filename: string;
  },
) {
  const { list, columns, filename, errors = [], ...rest } = declaration;
  return endpoint({
    ...rest,
    method: "get",
    query: list.query,
    response: "csv",
    errors: ["invalid_column_filters", ...errors],
    async run({ db, query }) {
      const first = await list.batch(db, query, null, batchSize);
      return csvResponse(
        filename,
        columns,
        first,
        (after) => list.batch(db, query as ListQuery, after, batchSize),
      );
    },
  });
}

type Batch = Awaited<ReturnType<List["batch"]>>;

function csvResponse(
  filename: string,
  columns: Columns,
  first: Batch,
  more: (after: NonNullable<Batch["next"]>) => Promise<Batch>,
): Response {
  const paths = Object.values(columns);
  const linesOf = ({ rows }: Batch) =>
    rows.map((row) => csvLine(paths.map((path) => at(row, path)))).join("");
  const encoder = new TextEncoder();
  let next = first.next;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(
        encoder.encode(byteOrderMark + csvLine(Object.keys(columns)) + linesOf(first)),
      );
      if (!next) controller.close();
    },
    async pull(controller) {
      if (!next) return;
      try {
        const batch = await more(next);
        next = batch.next;
        controller.enqueue(encoder.encode(linesOf(batch)));
        if (!next) controller.close();
      } catch (error) {
        // The file breaks off, which the client sees as a failed download and not as a short file.
        log("error", "export_broken", { filename, ...describeError(error) });
        controller.error(error);
      }
    },
  });
  return csvFile(filename, body);
}

/** A CSV file as an answer. */
export function csvFile(filename: string, body: ReadableStream<Uint8Array> | string): Response {
  return new Response(typeof body === "string" ? byteOrderMark + body : body, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${filename}"`,
    },
  });
}
