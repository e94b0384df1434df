/**
 * The receipt of a cash transfer on one A4 sheet, twice: one half for who stands at the counter, one for the office. Each has the amount, both
 * sides, and a line to sign for each.
 */
import type { Language } from "../../../shared/i18n/index.ts";
import { isolate } from "../../../shared/pdf/characters.ts";
import {
  drawFact,
  type Fact,
  fact_width,
  inner,
  paper,
  second_fact,
  type Sheet,
  sheetOf,
} from "../../../shared/pdf/sheet.ts";
import { openDocument } from "../../../shared/pdf/text.ts";
import { moment, moneyOf } from "../../../shared/pdf/values.ts";
import { type ReceiptCaptions, receiptCaptions } from "./receipt-captions.ts";

interface Named {
  full_name: string | null;
}

/** A transfer as its list shows it. */
export interface PrintedTransfer {
  id: string;
  kind:
    | "bank_deposit"
    | "handover"
    | "refund"
    | "expense"
    | "wallet_payout"
    | "bank_withdrawal"
    | "wallet_deposit";
  from_owner_type: string | null;
  from_user: Named | null;
  to_owner_type: string | null;
  to_user: Named | null;
  wallet: { owner: Named | null } | null;
  amount: number;
  currency: string;
  reference: string | null;
  notes: string | null;
  entered_by: Named;
  created_at: string;
  reversed_at: string | null;
}

export interface TransferReceipt extends PrintedTransfer {
  brand: string;
  /** The person to whom a fee is paid back. */
  payer: string | null;
  timezone: string;
  decimals: number;
}

const half = paper.height / 2;

/** Renders both copies. Long texts shrink and end in an ellipsis; none leaves its place. */
export async function renderTransferReceipt(
  receipt: TransferReceipt,
  language: Language,
): Promise<Uint8Array> {
  const words = receiptCaptions[language];
  const rightToLeft = language !== "en";
  const document = await openDocument({
    title: `${words.titles[receipt.kind]} ${receipt.id}`,
    language: language === "ku" ? "ckb" : language,
    direction: rightToLeft ? "rtl" : "ltr",
  });
  const sheet = sheetOf(document, rightToLeft);
  drawCopy(sheet, receipt, words, 0);
  sheet.rule(half, 0.6);
  drawCopy(sheet, receipt, words, half);
  return await document.save();
}

function drawCopy(sheet: Sheet, receipt: TransferReceipt, words: ReceiptCaptions, top: number) {
  const head = { x: 0, width: inner, weight: "bold" } as const;
  sheet.text(receipt.brand, { ...head, y: top + 14, size: 15, size_min: 9 });
  sheet.text(words.titles[receipt.kind], { ...head, y: top + 24, size: 12, size_min: 9 });
  if (receipt.reversed_at) {
    // Isolated: after Arabic letters the parts of a date would change places.
    const when = words.reversed(isolate(moment(receipt.reversed_at, receipt.timezone)));
    sheet.text(when, { ...head, y: top + 31, size: 10, size_min: 7 });
  }
  const amount = `${moneyOf(receipt)(receipt.amount)} ${receipt.currency}`;
  const date = moment(receipt.created_at, receipt.timezone);
  const [from, to] = sidesOf(receipt, words);
  const draw = (fact: Fact, x: number, y: number, more = {}) =>
    drawFact(sheet, fact, { x, y: top + y, ...more });
  draw({ caption: words.amount, value: amount, direction: "ltr" }, 0, 40, { size: 16 });
  draw({ caption: words.date, value: date, direction: "ltr" }, second_fact, 40);
  draw({ caption: words.from, value: from }, 0, 56);
  draw({ caption: words.to, value: to }, second_fact, 56);
  draw({ caption: words.reference, value: receipt.reference ?? "–" }, 0, 69);
  draw({ caption: words.enteredBy, value: receipt.entered_by.full_name ?? "–" }, second_fact, 69);
  draw({ caption: words.number, value: receipt.id, direction: "ltr" }, 0, 82);
  if (receipt.notes) {
    draw({ caption: words.notes, value: receipt.notes }, 0, 95, { width: inner, height: 14 });
  }
  for (const [x, caption] of [[0, words.gave], [second_fact, words.got]] as const) {
    sheet.page.fill([{
      x: sheet.left(x, fact_width),
      y: top + 130,
      width: fact_width,
      height: 0.25,
    }], 0.4);
    sheet.text(caption, {
      x,
      y: top + 131.5,
      width: fact_width,
      size: 8,
      size_min: 6,
      gray: 0.35,
    });
  }
}

/** The giver and the receiver of the cash: people stand at desks, and the owner of a wallet or the bank outside. */
function sidesOf(receipt: TransferReceipt, words: ReceiptCaptions): [string, string] {
  const { kind, from_owner_type, from_user, to_owner_type, to_user, wallet, payer } = receipt;
  const outside = kind.startsWith("bank_")
    ? words.bank
    : wallet
    ? wallet.owner?.full_name ?? words.company
    : payer ?? words.outside;
  const desk = (owner: string | null, user: Named | null) =>
    owner === "tenant" ? words.till : user?.full_name ?? outside;
  return [
    from_owner_type === null ? outside : desk(from_owner_type, from_user),
    desk(to_owner_type, to_user),
  ];
}
