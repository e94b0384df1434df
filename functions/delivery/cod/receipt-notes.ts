/** The notes of a receipt. */
import type { TextDocument } from "../../../shared/pdf/text.ts";

/** Notes are set at this size; a line of it is so high, in millimetres. */
export const notesSize = 9;
const lineHeight = notesSize * 1.4 * 25.4 / 72;
/** Higher than this, notes leave no room for orders on the first page, and shrink instead. */
const maxHeight = 150;

/** The height, in millimetres, in which notes of this width are shown whole. */
export function notesHeight(document: TextDocument, notes: string, width: number): number {
  // Words that do not fit go to the next line, so a line is seldom full.
  const lines = notes.split("\n").map((line) =>
    Math.ceil(document.measure(line, { size: notesSize, weight: "bold" }) / (width * 0.9)) || 1
  );
  return Math.min(maxHeight, lines.reduce((sum, count) => sum + count, 0) * lineHeight + 0.5);
}
