/**
 * The receipt of a cash settlement as A4 pages: who handed what to whom, each collection with its COD and
 * fee, totals, page numbers, and a QR code by which it can be checked.
 *
 * x is measured from the left edge in English and from the right edge in Arabic and Kurdish, so one layout serves both directions.
 */
import { isolate } from "../../../shared/pdf/characters.ts";
import {
  code_side,
  drawCode,
  drawFacts,
  type Fact,
  inner,
  pagesOf,
  paper,
  type Sheet,
  sheetOf,
} from "../../../shared/pdf/sheet.ts";
import { openDocument } from "../../../shared/pdf/text.ts";
import { moment, moneyOf } from "../../../shared/pdf/values.ts";
import { notesHeight, notesSize } from "./receipt-notes.ts";
import { type ReceiptCaptions, receiptCaptions, type ReceiptLanguage } from "./receipt-captions.ts";

/** One collection of cash: an order whose cash was taken in two parts has two. */
export interface ReceiptRow {
  delivery_number: string;
  customer_name: string;
  collected_at: string;
  amount: number;
  cod: number;
  delivery_fee: number;
}

export interface Receipt {
  settlement_payment_id: string;
  language: ReceiptLanguage;
  brand: string;
  method: "remit" | "wallet";
  driver: string;
  receiver: string | null;
  settled_at: string;
  reference: string | null;
  notes: string | null;
  /** It was settled before receipts were kept, and the page says so instead of the method. */
  historical: boolean;
  /** The amount that was counted, and what of the whole was missing; both left out when nothing was missing. */
  counted?: number;
  shortage?: number;
  /** When the settlement was reversed. */
  reversed_at: string | null;
  currency: string;
  decimals: number;
  timezone: string;
  rows: ReceiptRow[];
  /** `count` is of orders: one whose cash was taken in two parts is one. */
  totals: { count: number; amount: number; cod: number; delivery_fee: number };
  /** The text of the QR code. */
  verify_url: string;
}

const row_height = 6.2;
const tops = { first: 92, next: 32 };
/** Where the notes stand, over the whole width; the rows move down by their height. */
const notesTop = 88;
/** A caption above its text, and the space below the notes. */
const captionHeight = 4;
const notesGap = 4;
const bottom = paper.height - 26;

/** Starting edge and width of the columns, in millimetres inside the margins. Amounts are aligned to the right in every language. */
const columns = {
  place: { x: 0, width: 9, align: "start" },
  order: { x: 10, width: 30, align: "start" },
  customer: { x: 41, width: 47, align: "start" },
  collected: { x: 89, width: 27, align: "start" },
  cod: { x: 117, width: 20, align: "right" },
  fee: { x: 138, width: 19, align: "right" },
  amount: { x: 158, width: 22, align: "right" },
} as const;
type Column = keyof typeof columns;

/** Renders the receipt. Long names shrink and end in an ellipsis; no text leaves its cell. */
export async function renderReceipt(receipt: Receipt): Promise<Uint8Array> {
  const words = receiptCaptions[receipt.language];
  const rightToLeft = receipt.language !== "en";
  const document = await openDocument({
    title: `${words.title} ${receipt.settlement_payment_id}`,
    language: receipt.language === "ku" ? "ckb" : receipt.language,
    direction: rightToLeft ? "rtl" : "ltr",
  });
  const notesSpace = receipt.notes ? notesHeight(document, receipt.notes, inner) : 0;
  const first = notesSpace > 0 ? notesTop + captionHeight + notesSpace + notesGap : tops.first;
  const pages = paginate(receipt.rows, first);
  pages.forEach((rows, index) => {
    const sheet = sheetOf(document, rightToLeft);
    if (index === 0) drawHead(sheet, receipt, words, notesSpace);
    else drawRunningHead(sheet, receipt, words);
    const top = index === 0 ? first : tops.next;
    drawHeadings(sheet, words, top);
    const before = pages.slice(0, index).reduce((sum, list) => sum + list.length, 0);
    rows.forEach((row, line) =>
      drawRow(sheet, receipt, row, before + line + 1, top + (line + 1) * row_height)
    );
    if (index === pages.length - 1) {
      drawTotals(sheet, receipt, words, top + (rows.length + 1) * row_height + 2);
    }
    drawFoot(sheet, receipt, words.page(index + 1, pages.length));
  });
  return await document.save();
}

/** The rows of each page. Every page keeps room for the headings and, as any may be the last, for the totals. */
function paginate(rows: ReceiptRow[], first: number): ReceiptRow[][] {
  const room = (top: number) => Math.floor((bottom - top - 2 * row_height) / row_height);
  return pagesOf(rows, room(first), room(tops.next));
}

function drawHead(sheet: Sheet, receipt: Receipt, words: ReceiptCaptions, notesSpace: number) {
  const wide = inner - code_side - 6;
  sheet.text(receipt.brand, { x: 0, y: 15, width: wide, size: 16, size_min: 9, weight: "bold" });
  sheet.text(words.title, { x: 0, y: 25, width: wide, size: 13, size_min: 9 });
  sheet.text(
    receipt.historical ? words.historical : words.methods[receipt.method],
    { x: 0, y: 33, width: wide, size: 10, size_min: 7, gray: 0.35 },
  );
  if (receipt.reversed_at) {
    // Isolated: after Arabic letters the parts of a date would change places.
    const when = words.reversed(isolate(moment(receipt.reversed_at, receipt.timezone)));
    sheet.text(when, { x: 0, y: 40, width: wide, size: 11, size_min: 8, weight: "bold" });
  }
  drawCode(sheet, receipt.verify_url, words.verify);
  drawFacts(sheet, factsOf(receipt, words));
  if (receipt.notes) drawNotes(sheet, words.notes, receipt.notes, notesSpace);
}

function factsOf(receipt: Receipt, words: ReceiptCaptions): Fact[] {
  const facts: Fact[] = [
    { caption: words.number, value: receipt.settlement_payment_id },
    {
      caption: words.date,
      value: moment(receipt.settled_at, receipt.timezone),
      direction: "ltr",
    },
    { caption: words.driver, value: receipt.driver },
    { caption: words.receiver, value: receipt.receiver ?? "–" },
    { caption: words.reference, value: receipt.reference ?? "–" },
  ];
  if (receipt.shortage) {
    const money = moneyOf(receipt);
    const value = `${money(receipt.counted ?? 0)} / ${money(receipt.shortage)}`;
    facts.push({ caption: words.counted, value, direction: "ltr" });
  }
  return facts;
}

function drawNotes(sheet: Sheet, caption: string, notes: string, height: number) {
  sheet.text(caption, { x: 0, y: notesTop, width: inner, size: 7.5, size_min: 6, gray: 0.35 });
  const box = { x: 0, y: notesTop + captionHeight, width: inner, height };
  sheet.text(notes, { ...box, size: notesSize, size_min: 5, weight: "bold" });
}

function drawRunningHead(sheet: Sheet, receipt: Receipt, words: ReceiptCaptions) {
  sheet.text(receipt.brand, {
    x: 0,
    y: 15,
    width: inner / 2,
    size: 10,
    size_min: 7,
    weight: "bold",
  });
  sheet.text(words.title, { x: 0, y: 21, width: inner / 2, size: 8, size_min: 6 });
  sheet.text(receipt.settlement_payment_id, {
    x: inner / 2,
    y: 15,
    width: inner / 2,
    size: 8,
    align: "end",
    direction: "ltr",
  });
}

function drawHeadings(sheet: Sheet, words: ReceiptCaptions, y: number) {
  const headings: Record<Column, string> = {
    place: "#",
    order: words.order,
    customer: words.customer,
    collected: words.collected,
    cod: words.cod,
    fee: words.fee,
    amount: words.amount,
  };
  for (const [column, heading] of Object.entries(headings)) {
    drawCell(sheet, column as Column, heading, y, "bold");
  }
  sheet.rule(y + row_height - 0.6);
}

function drawRow(sheet: Sheet, receipt: Receipt, row: ReceiptRow, place: number, y: number) {
  const money = moneyOf(receipt);
  drawCell(sheet, "place", String(place), y);
  drawCell(sheet, "order", row.delivery_number, y);
  drawCell(sheet, "customer", row.customer_name || "–", y);
  drawCell(sheet, "collected", moment(row.collected_at, receipt.timezone), y);
  drawCell(sheet, "cod", money(row.cod), y);
  drawCell(sheet, "fee", money(row.delivery_fee), y);
  drawCell(sheet, "amount", money(row.amount), y);
}

function drawTotals(sheet: Sheet, receipt: Receipt, words: ReceiptCaptions, y: number) {
  const money = moneyOf(receipt);
  sheet.rule(y - 2);
  sheet.text(`${words.total} (${receipt.currency})`, {
    x: 0,
    y,
    width: 55,
    size: 10,
    weight: "bold",
  });
  sheet.text(`${words.orders}: ${receipt.totals.count}`, { x: 56, y, width: 55, size: 9 });
  drawCell(sheet, "cod", money(receipt.totals.cod), y, "bold");
  drawCell(sheet, "fee", money(receipt.totals.delivery_fee), y, "bold");
  drawCell(sheet, "amount", money(receipt.totals.amount), y, "bold");
}

function drawFoot(sheet: Sheet, receipt: Receipt, page: string) {
  const y = paper.height - 15;
  sheet.rule(y - 2, 0.6);
  sheet.text(receipt.settlement_payment_id, {
    x: 0,
    y,
    width: inner / 2,
    size: 7,
    direction: "ltr",
  });
  sheet.text(page, { x: inner / 2, y, width: inner / 2, size: 8, align: "end" });
}

function drawCell(
  sheet: Sheet,
  column: Column,
  value: string,
  y: number,
  weight: "regular" | "bold" = "regular",
) {
  // Numbers and times are read from left to right in every language. What is bold is a heading, or one of the totals.
  const direction = weight === "regular" && column !== "customer" ? "ltr" : "auto";
  const style = { size: 8.5, size_min: 5.5, weight, direction, lines: 1 } as const;
  sheet.text(value, { ...columns[column], ...style, y });
}
