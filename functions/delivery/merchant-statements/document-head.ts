/** The head of a statement's document: everything above its table. */
import { inner, type Sheet } from "../../../shared/pdf/sheet.ts";
import { moment, moneyOf } from "../../../shared/pdf/values.ts";
import type { StatementCaptions } from "./document-captions.ts";

/** One row: a delivery with all its lines, or one line without a delivery. net = cod - delivery_fee + refund + adjustment. */
export interface StatementRow {
  kind: "delivery" | keyof StatementCaptions["kinds"];
  delivery_code: number | null;
  external_reference_id: string | null;
  collected_at: string;
  released_at: string;
  cod: number;
  delivery_fee: number;
  refund: number;
  adjustment: number;
  net: number;
  /** Of a line without a delivery, what the movement of the wallet says. */
  description: string | null;
}

export interface StatementDocument {
  number: string;
  brand: string;
  owner: string;
  currency: string;
  decimals: number;
  timezone: string;
  opened_at: string;
  period: { from: string; to: string };
  gross_cod: number;
  fees: number;
  refunds: number;
  adjustments: number;
  net: number;
  /** The payout that paid it and was not reversed. */
  payout: {
    method: keyof StatementCaptions["methods"];
    reference: string | null;
    paid_at: string;
  } | null;
  confirmed_at: string | null;
  voided_at: string | null;
  void_reason: string | null;
  rows: StatementRow[];
  /** The text of the QR code. */
  verify_url: string;
}

export interface Fact {
  caption: string;
  value: string;
  /** Times are read from left to right in every language. */
  direction?: "ltr";
}

/** Whose it is and of when, and how it was paid or why it is void; two stand side by side. */
export function factsOf(statement: StatementDocument, words: StatementCaptions): Fact[] {
  const at = (instant: string) => moment(instant, statement.timezone);
  const { period, payout, confirmed_at, voided_at, void_reason } = statement;
  const time = (caption: string, value: string): Fact => ({ caption, value, direction: "ltr" });
  return [
    time(words.number, statement.number),
    time(words.opened, at(statement.opened_at)),
    { caption: words.merchant, value: statement.owner || "–" },
    time(words.period, `${at(period.from)} – ${at(period.to)}`),
    ...(payout
      ? [
        { caption: words.payout, value: words.methods[payout.method] },
        { caption: words.reference, value: payout.reference ?? "–" },
      ]
      : []),
    ...(confirmed_at ? [time(words.confirmed, at(confirmed_at))] : []),
    ...(voided_at ? [{ caption: words.reason, value: void_reason ?? "–" }] : []),
  ];
}

/** The sums side by side, the last and largest the one that is due. */
export function drawSums(
  sheet: Sheet,
  statement: StatementDocument,
  words: StatementCaptions,
  y: number,
): void {
  const money = moneyOf(statement);
  const sums: [string, number][] = [
    [words.cod, statement.gross_cod],
    [words.fees, 0 - statement.fees],
    [words.refunds, statement.refunds],
    [words.adjustments, statement.adjustments],
  ];
  const width = 33;
  sheet.rule(y, 0.6);
  sums.forEach(([caption, sum], index) => {
    const x = index * width;
    sheet.text(caption, { x, y: y + 2, width: width - 2, size: 7.5, size_min: 5.5, gray: 0.35 });
    const box = { x, y: y + 6, width: width - 2, size: 10, size_min: 6 };
    sheet.text(money(sum), { ...box, direction: "ltr" });
  });
  const x = sums.length * width;
  const due = { x, width: inner - x };
  const caption = `${words.net} (${statement.currency})`;
  sheet.text(caption, { ...due, y: y + 2, size: 7.5, size_min: 5.5, gray: 0.35 });
  const style = { size: 13, size_min: 7, weight: "bold", direction: "ltr" } as const;
  sheet.text(money(statement.net), { ...due, y: y + 5, ...style });
  sheet.rule(y + 13, 0.6);
}
