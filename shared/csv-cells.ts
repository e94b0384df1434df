/** Cells of CSV files, as they are written and, without what writing added, read. */

/** One line of the file. */
export function csvLine(values: unknown[]): string {
  return values.map(cell).join(",") + "\r\n";
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = guarded(text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A text that no spreadsheet runs: one more apostrophe before what begins like a formula, also behind apostrophes. */
function guarded(text: string): string {
  return /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

/** The text that was guarded. */
export function unguarded(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}
