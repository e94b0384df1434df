/** CSV files for tests: what a person would send, and sending it. */
import type { Answer, CallOptions, Person } from "./api.ts";

/** A value as a cell: quoted, objects as JSON. */
function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return `"${text.replaceAll('"', '""')}"`;
}

/** A heading and a line for each row; columns as given, or those the rows have. */
export function csvText(rows: readonly object[], columns?: string[]): string {
  const names = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) =>
    names.map((name) => cell((row as Record<string, unknown>)[name])).join(",")
  );
  return [names.map(cell).join(","), ...lines].join("\r\n");
}

/** Sends a file as a client does. */
export function sendFile(
  person: Person,
  path: string,
  file: string | readonly object[],
  { query, headers }: CallOptions = {},
): Promise<Answer> {
  const text = typeof file === "string" ? file : csvText(file);
  return person.send("POST", path, text, {
    query,
    headers: { "content-type": "text/csv", ...headers },
  });
}

/** The errors of lines: `[line, field, code]`. */
export function faultsOf({ body }: Answer): [number, string | null, string][] {
  return body.errors.map((
    { line, field, code }: { line: number; field: string | null; code: string },
  ) => [line, field, code]);
}
