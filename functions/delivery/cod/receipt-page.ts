/**
 * The receipt of a cash settlement as A4 pages: who handed what to whom, each order with its COD and
 * fee, totals, page numbers, and a QR code by which it can be checked.
 *
 * x counts from the side where a line of the language begins, so one layout serves both directions.
 */
import { isolate } from "../../../shared/pdf/characters.ts";
import {
  code_side,
  drawCode,
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

export interface ReceiptOrder {
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
  historical: boolean;
  /** The amounts counted and missing; left out when nothing was missing. */
  counted?: number;
  shortage?: number;
  /** When the settlement was reversed. */
  reversed_at: string | null;
  currency: string;
  decimals: number;
  timezone: string;
  orders: ReceiptOrder[];
  /** `count` is of orders: one whose cash was taken in two parts is one. */
  totals: { count: number; amount: number; cod: number; delivery_fee: number };
  /** The text of the QR code. */
  verify_url: string;
}

const row_height = 6.2;
const tops = { first: 92, next: 32 };
/** Where the notes stand, over the whole width; the orders move down by their height. */
const notesTop = 88;
const bottom = paper.height - 26;

/** Starting edge and width of the columns, in millimetres inside the margins. Sums stand unit under unit in every language. */
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
  const notes = receipt.notes ? notesHeight(document, receipt.notes, inner) : 0;
  const first = notes > 0 ? notesTop + 4 + notes + 4 : tops.first;
  const pages = paginate(receipt.orders, first);
  pages.forEach((orders, index) => {
    const sheet = sheetOf(document, rightToLeft);
    if (index === 0) drawHead(sheet, receipt, words, notes);
    else drawRunningHead(sheet, receipt, words);
    const top = index === 0 ? first : tops.next;
    drawHeadings(sheet, words, top);
    const before = pages.slice(0, index).reduce((sum, list) => sum + list.length, 0);
    orders.forEach((order, row) =>
      drawOrder(sheet, receipt, order, before + row + 1, top + (row + 1) * row_height)
    );
    if (index === pages.length - 1) {
      drawTotals(sheet, receipt, words, top + (orders.length + 1) * row_height + 2);
    }
    drawFoot(sheet, receipt, words.page(index + 1, pages.length));
  });
  return await document.save();
}

/** The orders of each page; the last page keeps room for the totals. */
function paginate(orders: ReceiptOrder[], first: number): ReceiptOrder[][] {
  const room = (top: number) => Math.floor((bottom - top - 2 * row_height) / row_height);
  return pagesOf(orders, room(first), room(tops.next));
}

function drawHead(sheet: Sheet, receipt: Receipt, words: ReceiptCaptions, notes: number) {
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
  const facts: [string, string][] = [
    [words.number, receipt.settlement_payment_id],
    [words.date, moment(receipt.settled_at, receipt.timezone)],
    [words.driver, receipt.driver],
    [words.receiver, receipt.receiver ?? "–"],
    [words.reference, receipt.reference ?? "–"],
    ...shortageFacts(receipt, words),
  ];
  facts.forEach(([caption, value], index) => {
    const x = index % 2 === 0 ? 0 : inner / 2 + 3;
    const y = 52 + Math.floor(index / 2) * 12;
    const width = inner / 2 - 3;
    sheet.text(caption, { x, y, width, size: 7.5, size_min: 6, gray: 0.35 });
    const direction = caption === words.date || caption === words.counted ? "ltr" : "auto";
    sheet.text(value, { x, y: y + 4, width, size: 10, size_min: 6, weight: "bold", direction });
  });
  if (!receipt.notes) return;
  sheet.text(words.notes, { x: 0, y: notesTop, width: inner, size: 7.5, size_min: 6, gray: 0.35 });
  const box = { x: 0, y: notesTop + 4, width: inner, height: notes };
  sheet.text(receipt.notes, { ...box, size: notesSize, size_min: 5, weight: "bold" });
}

/** The lines of the counted and the missing amount, where anything is missing. */
function shortageFacts(receipt: Receipt, words: ReceiptCaptions): [string, string][] {
  if (!receipt.shortage) return [];
  const money = moneyOf(receipt);
  return [[words.counted, `${money(receipt.counted ?? 0)} / ${money(receipt.shortage)}`]];
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

function drawOrder(sheet: Sheet, receipt: Receipt, order: ReceiptOrder, place: number, y: number) {
  const money = moneyOf(receipt);
  drawCell(sheet, "place", String(place), y);
  drawCell(sheet, "order", order.delivery_number, y);
  drawCell(sheet, "customer", order.customer_name || "–", y);
  drawCell(sheet, "collected", moment(order.collected_at, receipt.timezone), y);
  drawCell(sheet, "cod", money(order.cod), y);
  drawCell(sheet, "fee", money(order.delivery_fee), y);
  drawCell(sheet, "amount", money(order.amount), y);
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
  // Numbers and times are read from left to right in every language.
  const direction = weight === "regular" && column !== "customer" ? "ltr" : "auto";
  const style = { size: 8.5, size_min: 5.5, weight, direction, lines: 1 } as const;
  sheet.text(value, { ...columns[column], ...style, y });
}
