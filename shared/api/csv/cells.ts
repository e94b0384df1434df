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
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Where a formula may begin: at the start, or where a spreadsheet divides cells by something else than our comma. The
 * full-width forms of the signs count as the signs themselves (OWASP, CSV injection). Nothing is taken up by a match, since
 * a tab may begin one cell and end another.
 */
const formula = /(?=[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n])(?<=(?:^|[;|\t\r\n]) *'*)/g;
const guardedFormula = /'(?=[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n])(?<=(?:^|[;|\t\r\n]) *'*)/g;

/** A text that no spreadsheet runs: one more apostrophe before what begins like a formula, also behind apostrophes. */
function guarded(text: string): string {
  return text.replace(formula, "'");
}

/** The text that was guarded. */
export function unguarded(cell: string): string {
  return cell.replace(guardedFormula, "");
}
