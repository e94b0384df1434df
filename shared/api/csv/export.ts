/**
 * Lists as CSV (RFC 4180), streamed: any size at the memory of one batch. Begins with a byte order mark,
 * so that spreadsheets read Arabic and Kurdish; a text that a spreadsheet would run as a formula is
 * preceded by an apostrophe.
 */
import type { z } from "zod";
import type { Access } from "../access.ts";
import { csvLine } from "./cells.ts";
import { type FileClock, fileClock } from "./times.ts";
import { type AnyEndpoint, type Endpoint, endpoint, type Result } from "../endpoint.ts";
import { type Rows, rowsOf } from "../fields.ts";
import type { ErrorCode } from "../../errors/errors.ts";
import type { List, ListPage } from "../list.ts";
import { describeError, log } from "../../runtime/log.ts";
import { exportKeyset, type Keyset, type ListStep, listStep } from "../cursor.ts";
import { jsonSchemaOf } from "../../schemas/json-schema.ts";

export { fileClock };

const byteOrderMark = "\ufeff";

/** A column: its heading, and where in a row its value stands (`delivery_details.customer_name`). */
export type Columns = Readonly<Record<string, string>>;

/** How a file writes times: those at these paths of a row by this clock. */
export interface Times {
  instants: ReadonlySet<string>;
  clock: FileClock | undefined;
}

/** The value at a path of keys. */
function at(row: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (value, key) => (value as Record<string, unknown> | null | undefined)?.[key],
    row,
  );
}

/** The rows of one step of a file. */
interface Step {
  rows: readonly unknown[];
  step: ListStep;
}

/**
 * Rows as a file that is written while they are read, one page after the other. The first step is taken before the
 * answer begins, so that a refusal is still a refusal.
 */
async function csvOf(
  filename: string,
  keyset: Keyset,
  columns: Columns,
  times: Times,
  read: (keyset: Keyset) => Promise<Step>,
): Promise<Response> {
  const { rows: first, ...begun } = await read(keyset);
  let { step } = begun;
  const paths = Object.values(columns);
  const write = writerOf(times);
  const encoder = new TextEncoder();
  const encode = (rows: readonly unknown[]) =>
    encoder.encode(
      rows.map((row) => csvLine(paths.map((path) => write(path, at(row, path))))).join(""),
    );
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(byteOrderMark + csvLine(Object.keys(columns))));
      controller.enqueue(encode(first));
      if (!step.more) controller.close();
    },
    async pull(controller) {
      try {
        const next = await read({ ...keyset, after: step.position, summary: step.summary });
        step = next.step;
        controller.enqueue(encode(next.rows));
        if (!step.more) controller.close();
      } catch (error) {
        // The file breaks off, which the client sees as a failed download and not as a short file.
        log("error", "export_broken", { filename, ...describeError(error) });
        controller.error(error);
      }
    },
  });
  return csvFile(filename, body);
}

/** A value as the file has it, by where in a row it stands. */
function writerOf({ instants, clock }: Times): (path: string, value: unknown) => unknown {
  return clock ? (path, value) => instants.has(path) ? clock(value) : value : (_, value) => value;
}

/** An endpoint that gives a whole list with its filters as a file of columns chosen for it; `row`: the schema of its rows. */
export function csvEndpoint(
  declaration: {
    path: string;
    summary: string;
    access: Access;
    feature?: Endpoint["feature"];
    list: List;
    row: z.ZodType;
    columns: Columns;
    errors?: readonly ErrorCode[];
    filename: string;
  },
) {
  const { list, row, columns, filename, errors = [], ...rest } = declaration;
  return endpoint({
    ...rest,
    method: "get",
    query: list.query,
    response: "csv",
    errors: ["invalid_column_filters", ...errors],
    async run({ db, query }) {
      const times = { instants: instantsOf(row), clock: await fileClock(db, query.times) };
      return csvOf(filename, exportKeyset(query.keyset), columns, times, async (keyset) => {
        const page = await list.run(db, { ...query, keyset });
        return { rows: page.rows, step: stepIn(page) };
      });
    },
  });
}

/**
 * The answer of a list endpoint as a file of every row that matches its filters: `run` is repeated from position to
 * position, and the columns are those its response declares; of `fields` only theirs.
 */
export function exportList(
  functionName: string,
  declared: AnyEndpoint,
  keyset: Keyset,
  run: (keyset: Keyset) => Promise<Result>,
  fields?: readonly string[],
  clock?: FileClock,
): Promise<Response> {
  const names = [functionName, ...declared.path.split("/")];
  const filename = `${names.findLast((part) => part && !part.startsWith(":"))}.csv`;
  const path = rowsIn(declared).path.join(".");
  const shown = scalarsIn(declared)
    .filter((one) => !fields || fields.includes(one.path.split(".")[0]));
  const columns = Object.fromEntries(shown.map((one) => [one.path, one.path]));
  const times = { instants: instantsAmong(shown), clock };
  return csvOf(filename, keyset, columns, times, async (keyset) => {
    const answer = await run(keyset);
    return { rows: at(answer, path) as unknown[], step: stepIn(answer) };
  });
}

function stepIn(page: ListPage | Result): ListStep {
  const step = page instanceof Response ? undefined : page[listStep];
  if (!step) throw new Error("an answer of rows read by position does not say where they ended");
  return step;
}

type JsonSchema = {
  type?: string;
  format?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
};

function rowsIn(declared: AnyEndpoint): Rows {
  const rows = rowsOf(declared);
  if (!rows) throw new Error("a list's response has rows");
  return rows;
}

/** Where in a row a value stands, and whether it is an instant. */
interface Scalar {
  path: string;
  instant: boolean;
}

/** The values that the schema of a list's rows names. */
function scalarsIn(declared: AnyEndpoint): Scalar[] {
  const schema = jsonSchemaOf(declared.response as z.ZodType, "output") as JsonSchema;
  const rows = rowsIn(declared).path.reduce((inner, key) => inner.properties![key], schema);
  return scalars(rows.items!);
}

/** The paths of a row's instants, as its schema declares them. */
export function instantsOf(row: z.ZodType): ReadonlySet<string> {
  return instantsAmong(scalars(jsonSchemaOf(row, "output") as JsonSchema));
}

function instantsAmong(values: readonly Scalar[]): ReadonlySet<string> {
  return new Set(values.filter(({ instant }) => instant).map(({ path }) => path));
}

/** A row's values; what has no declared parts (an array, free-form JSON) is a value too. */
function scalars(schema: JsonSchema, path: string[] = []): Scalar[] {
  const options = [schema, ...(schema.anyOf ?? [])];
  const declared = options.find(({ properties }) => properties);
  if (!declared) {
    const instant = options.some(({ format }) => format === "date-time");
    return path.length ? [{ path: path.join("."), instant }] : [];
  }
  return Object.entries(declared.properties!).flatMap(([name, inner]) =>
    scalars(inner, [...path, name])
  );
}

/** Rows that are all there as a CSV file. */
export function csvTable<Row extends object>(
  filename: string,
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
  times: Times = { instants: new Set(), clock: undefined },
): Response {
  const write = writerOf(times);
  const lines = rows.map((row) => csvLine(columns.map((column) => write(column, row[column]))));
  return csvFile(filename, csvLine([...columns]) + lines.join(""));
}

/** A CSV file as an answer. */
function csvFile(filename: string, body: ReadableStream<Uint8Array> | string): Response {
  return new Response(typeof body === "string" ? byteOrderMark + body : body, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${filename}"`,
    },
  });
}
