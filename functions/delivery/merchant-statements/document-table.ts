/** The table of a statement's document. */
import type { Sheet } from "../../../shared/pdf/sheet.ts";

/** Starting edge and width of the columns, in millimetres inside the margins. Amounts are aligned to the right in every language. */
export const columns = {
  place: { x: 0, width: 9, align: "start" },
  order: { x: 10, width: 22, align: "start" },
  reference: { x: 33, width: 36, align: "start" },
  collected: { x: 70, width: 26, align: "start" },
  cod: { x: 97, width: 21, align: "right" },
  fee: { x: 119, width: 18, align: "right" },
  other: { x: 138, width: 19, align: "right" },
  amount: { x: 158, width: 22, align: "right" },
} as const;
export type Column = keyof typeof columns;
export type Cells = Partial<Record<Column, string>>;

/** Columns of sums, of which a minus stands before the digits in every language. */
const sums: readonly string[] = ["cod", "fee", "other", "amount"];

/** Draws a row; `wide` gives the first text the width of the reference as well. */
export function drawRow(
  sheet: Sheet,
  cells: Cells,
  y: number,
  weight: "regular" | "bold",
  wide = false,
): void {
  for (const [name, value] of Object.entries(cells)) {
    const column = name as Column;
    if (!value) continue;
    const place = columns[column];
    const width = wide && column === "order"
      ? columns.reference.x + columns.reference.width - place.x
      : place.width;
    // Numbers and times are read from left to right in every language.
    const plain = /^[-\d][-\d:,. ]*$/.test(value);
    const direction = plain || sums.includes(column) && weight === "regular" ? "ltr" : "auto";
    // A text ends in an ellipsis before it is too small to read; a sum is shown whole.
    const size_min = sums.includes(column) ? 5 : 6.5;
    sheet.text(value, { ...place, width, y, size: 8.5, size_min, weight, direction, lines: 1 });
  }
}
