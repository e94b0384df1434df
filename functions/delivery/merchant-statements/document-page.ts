/**
 * The document of a statement as A4 pages: what is due to whom, each delivery with its COD and fee, totals, page numbers, and a QR
 * code by which it can be checked.
 *
 * x is measured from the left edge in English and from the right edge in Arabic and Kurdish, so one layout serves both directions.
 */
import type { Language } from "../../../shared/i18n/index.ts";
import { isolate } from "../../../shared/pdf/characters.ts";
import {
  code_side,
  drawCode,
  drawFacts,
  fact_height,
  facts_top,
  inner,
  pagesOf,
  paper,
  type Sheet,
  sheetOf,
} from "../../../shared/pdf/sheet.ts";
import { openDocument } from "../../../shared/pdf/text.ts";
import { moment, moneyOf } from "../../../shared/pdf/values.ts";
import { type StatementCaptions, statementCaptions } from "./document-captions.ts";
import { type Cells, columns, drawRow } from "./document-table.ts";
import { drawSums, factsOf, type StatementDocument, type StatementRow } from "./document-head.ts";

const row_height = 6.2;
const bottom = paper.height - 26;
const next_top = 32;
const sums_height = 18;

/** Renders the document. Long names shrink and end in an ellipsis; no text leaves its cell. */
export async function renderStatement(
  statement: StatementDocument,
  language: Language,
): Promise<Uint8Array> {
  const words = statementCaptions[language];
  const rightToLeft = language !== "en";
  const document = await openDocument({
    title: `${words.title} ${statement.number}`,
    language: language === "ku" ? "ckb" : language,
    direction: rightToLeft ? "rtl" : "ltr",
  });
  const facts = factsOf(statement, words);
  const sums_top = facts_top + Math.ceil(facts.length / 2) * fact_height + 1;
  const first_top = sums_top + sums_height;
  const room = (top: number) => Math.floor((bottom - top - 2 * row_height) / row_height);
  const pages = pagesOf(statement.rows, room(first_top), room(next_top));
  let place = 0;
  pages.forEach((rows, index) => {
    const sheet = sheetOf(document, rightToLeft);
    if (index === 0) {
      drawHead(sheet, statement, words);
      drawFacts(sheet, facts);
      drawSums(sheet, statement, words, sums_top);
    } else drawRunningHead(sheet, statement, words);
    const top = index === 0 ? first_top : next_top;
    drawRow(sheet, headings(words), top, "bold");
    sheet.rule(top + row_height - 0.6);
    rows.forEach((row, line) => {
      const cells = cellsOf(statement, row, words, ++place);
      drawRow(
        sheet,
        cells,
        top + (line + 1) * row_height,
        "regular",
        !row.delivery_code && !cells.reference,
      );
    });
    if (index === pages.length - 1) {
      drawTotals(sheet, statement, words, top + (rows.length + 1) * row_height + 2);
    }
    drawFoot(sheet, statement, words.page(index + 1, pages.length));
  });
  return await document.save();
}

function drawHead(sheet: Sheet, statement: StatementDocument, words: StatementCaptions) {
  const width = inner - code_side - 6;
  sheet.text(statement.brand, { x: 0, y: 15, width, size: 16, size_min: 9, weight: "bold" });
  sheet.text(words.title, { x: 0, y: 25, width, size: 13, size_min: 9 });
  // Isolated: after Arabic letters the parts of a date would change places.
  const at = (instant: string) => isolate(moment(instant, statement.timezone));
  if (statement.voided_at) {
    const text = words.states.void(at(statement.voided_at));
    sheet.text(text, { x: 0, y: 34, width, size: 11, size_min: 8, weight: "bold" });
  } else {
    const { payout } = statement;
    const text = payout ? words.states.paid(at(payout.paid_at)) : words.states.open;
    sheet.text(text, { x: 0, y: 34, width, size: 10, size_min: 7, gray: 0.35 });
  }
  drawCode(sheet, statement.verify_url, words.verify);
}

function drawRunningHead(sheet: Sheet, statement: StatementDocument, words: StatementCaptions) {
  const width = inner / 2 - 2;
  sheet.text(statement.brand, { x: 0, y: 15, width, size: 10, size_min: 7, weight: "bold" });
  sheet.text(words.title, { x: 0, y: 21, width, size: 8, size_min: 6 });
  const end = { x: inner / 2 + 2, width, align: "end" } as const;
  sheet.text(numbered(statement, words), { ...end, y: 15, size: 8, size_min: 6, weight: "bold" });
  sheet.text(statement.owner, { ...end, y: 21, size: 8, size_min: 6 });
}

/** The number, and that it is void. */
function numbered({ number, voided_at }: StatementDocument, words: StatementCaptions): string {
  return voided_at ? `${words.void_mark} ${isolate(number)}` : isolate(number);
}

const headings = (words: StatementCaptions): Cells => ({
  place: "#",
  order: words.order,
  reference: words.own_reference,
  collected: words.collected,
  cod: words.cod,
  fee: words.fee,
  other: words.other,
  amount: words.amount,
});

function cellsOf(
  statement: StatementDocument,
  row: StatementRow,
  words: StatementCaptions,
  place: number,
): Cells {
  const money = moneyOf(statement);
  const some = (amount: number) => amount === 0 ? "–" : money(amount);
  return {
    place: String(place),
    order: row.kind === "delivery" ? String(row.delivery_code) : words.kinds[row.kind],
    reference: row.external_reference_id ?? row.description ?? "",
    collected: moment(row.collected_at, statement.timezone),
    cod: some(row.cod),
    fee: some(0 - row.delivery_fee),
    other: some(row.refund + row.adjustment),
    amount: money(row.net),
  };
}

function drawTotals(
  sheet: Sheet,
  statement: StatementDocument,
  words: StatementCaptions,
  y: number,
) {
  const money = moneyOf(statement);
  const { gross_cod, fees, refunds, adjustments, net, rows } = statement;
  sheet.rule(y - 2);
  const style = { y, size: 10, size_min: 6 } as const;
  sheet.text(`${words.total} (${statement.currency})`, {
    ...style,
    x: 0,
    width: columns.reference.x - 1,
    weight: "bold",
  });
  sheet.text(`${words.rows}: ${rows.length.toLocaleString("en-US")}`, {
    ...style,
    x: columns.reference.x,
    width: columns.reference.width,
    size: 9,
  });
  const sums = { cod: gross_cod, fee: 0 - fees, other: refunds + adjustments, amount: net };
  const cells = Object.entries(sums).map(([column, sum]) => [column, money(sum)]);
  drawRow(sheet, Object.fromEntries(cells), y, "bold");
}

function drawFoot(sheet: Sheet, { number, currency }: StatementDocument, page: string) {
  const y = paper.height - 15;
  sheet.rule(y - 2, 0.6);
  const text = `${number} · ${currency}`;
  sheet.text(text, { x: 0, y, width: inner / 2, size: 7, direction: "ltr" });
  sheet.text(page, { x: inner / 2, y, width: inner / 2, size: 8, align: "end" });
}
