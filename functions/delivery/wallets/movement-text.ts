import { type Language, type MessageKey, template, translate } from "../../../shared/i18n/index.ts";

/**
 * Descriptions that the books write by themselves, in English, and the kinds of movement of which they write them: journals, and lines of
 * statements. Every other description is words of the people who moved the money, such as the reason of an adjustment or of a reversal.
 */
const texts = {
  movement_delivery: [
    "cash_collected",
    "cash_collected_REVERSAL",
    "cod_credit",
    "cod_credit_REVERSAL",
    "delivery_fee",
    "delivery_fee_change",
    "delivery_fee_refund",
    "cod",
    "refund",
  ],
  movement_driver_pay: ["driver_payout"],
  movement_cash_paid_in: ["WALLET_ADJUSTMENT", "WALLET_ADJUSTMENT_REVERSAL", "adjustment"],
  movement_cash_paid_out: ["WALLET_ADJUSTMENT", "WALLET_ADJUSTMENT_REVERSAL", "adjustment"],
  movement_cash_remitted: ["cod_settlement"],
  movement_settled_from_wallet: ["cod_settlement"],
  movement_shortage: ["cash_shortage", "cash_shortage_REVERSAL"],
  movement_statement: ["merchant_payout", "merchant_payout_REVERSAL"],
} as const satisfies Partial<Record<MessageKey, readonly string[]>>;

/** Each with what it looks like in the books: its number in the hole, and a reference or a reason after it. */
const patterns = (Object.keys(texts) as (keyof typeof texts)[]).map((key) => ({
  key,
  kinds: new Set<string>(texts[key]),
  pattern: new RegExp(
    `^${template("en", key).replace(/\{(\w+)\}/g, "(?<$1>\\S+?)")}(?<more>: .*)?$`,
    "s",
  ),
}));

/** The description of a wallet's movement of this kind in the reader's language; words of people stay as they wrote them. */
export function movementText(
  language: Language,
  kind: string,
  description: string | null,
): string | null {
  for (const { key, kinds, pattern } of patterns) {
    const found = kinds.has(kind) ? description?.match(pattern)?.groups : undefined;
    if (found) return translate(language, key, found) + (found.more ?? "");
  }
  return description;
}

/** The same rows with their descriptions in the reader's language. */
export function inWords<Row extends { kind: string; description: string | null }>(
  language: Language,
  rows: readonly Row[],
): Row[] {
  return rows.map((row) => ({
    ...row,
    description: movementText(language, row.kind, row.description),
  }));
}
