/** How a receipt writes amounts, times and notes. */
import type { TextDocument } from "../../../shared/pdf/text.ts";

/** Amounts with the decimals of their currency, written alike in all three languages. */
export const moneyOf = ({ decimals }: { decimals: number }) => {
  const format = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: 3,
  });
  return (amount: number) => format.format(amount);
};

const clocks = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-21 14:05` in the tenant's time zone: reads the same in all three languages. */
export function moment(instant: string, timeZone: string): string {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = new Intl.DateTimeFormat("sv-SE", {
      timeZone,
      dateStyle: "short",
      timeStyle: "short",
    });
    clocks.set(timeZone, clock);
  }
  return clock.format(new Date(instant));
}

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
