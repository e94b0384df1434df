import { type Language, type MessageKey, template, translate } from "../../../shared/i18n/index.ts";

/** Descriptions that the books write by themselves. They are written in English; the rest are words of the people who moved the money. */
const texts = [
  "movement_delivery",
  "movement_driver_pay",
  "movement_cash_paid_in",
  "movement_cash_paid_out",
  "movement_cash_remitted",
  "movement_settled_from_wallet",
  "movement_shortage",
  "movement_statement",
] as const satisfies readonly MessageKey[];

/** Each with what it looks like in the books: its number in the hole, and a reference or a reason after it. */
const patterns = texts.map((key) => ({
  key,
  pattern: new RegExp(
    `^${template("en", key).replace(/\{(\w+)\}/g, "(?<$1>\\S+?)")}(?<more>: .*)?$`,
    "s",
  ),
}));

/** The description of a wallet's movement in the reader's language; words of people stay as they wrote them. */
export function movementText(language: Language, description: string | null): string | null {
  for (const { key, pattern } of patterns) {
    const found = description?.match(pattern)?.groups;
    if (found) return translate(language, key, found) + (found.more ?? "");
  }
  return description;
}

/** The same rows with their descriptions in the reader's language. */
export function inWords<Row extends { description: string | null }>(
  language: Language,
  rows: readonly Row[],
): Row[] {
  return rows.map((row) => ({ ...row, description: movementText(language, row.description) }));
}
