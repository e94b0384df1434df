/**
 * A4 sheets of documents with a head and a table. x is measured from the left edge in English and from the right edge in Arabic and
 * Kurdish, so that one layout serves both directions.
 */
import { drawQrCode } from "./qr-code.ts";
import type { Page, TextBox, TextDocument } from "./text.ts";

/** Millimetres. */
export const paper = { width: 210, height: 297, margin: 15 };
/** The width between the margins. */
export const inner = paper.width - 2 * paper.margin;

export interface Sheet {
  page: Page;
  /** The distance from the paper's left edge to a box of this width that begins at `x`. */
  left(x: number, width: number): number;
  /** As Page.text, but x counts from the side where lines begin, and start and end are those of the sheet's language. */
  text(value: string, box: TextBox & { width: number }): void;
  rule(y: number, gray?: number): void;
}

/** Adds a sheet to the document. */
export function sheetOf(document: TextDocument, rightToLeft: boolean): Sheet {
  const page = document.addPage(paper.width, paper.height);
  const left = (x: number, width: number) =>
    rightToLeft ? paper.width - paper.margin - x - width : paper.margin + x;
  return {
    page,
    left,
    text(value, { align = "start", ...box }) {
      const side = align === "start" || align === "end"
        ? (align === "start") === rightToLeft ? "right" : "left"
        : align;
      page.text(value, { ...box, x: left(box.x, box.width), align: side });
    },
    rule: (y, gray = 0) => page.fill([{ x: paper.margin, y, width: inner, height: 0.25 }], gray),
  };
}

/** The side of the code by which a document is verified. */
export const code_side = 30;

/** Draws the QR code of the address where a document is verified, at the end side of the head, with a caption below it. */
export function drawCode(sheet: Sheet, verify_url: string, caption: string): void {
  const [x, y] = [inner - code_side, 14];
  drawQrCode(sheet.page, verify_url, { x: sheet.left(x, code_side), y, side: code_side });
  const below = { x, y: y + code_side + 0.5, width: code_side };
  sheet.text(caption, { ...below, size: 7, size_min: 5, align: "center" });
}

/** A caption with its value below it. */
export interface Fact {
  caption: string;
  value: string;
  /** Of numbers and times: they are read from left to right in every language. */
  direction?: "ltr";
}

/** Where the facts of a head begin, and the height of a line of two. */
export const facts_top = 52;
export const fact_height = 12;

/** The width of a fact beside another, and where the second of two begins. */
export const fact_width = inner / 2 - 3;
export const second_fact = inner / 2 + 3;

/** Draws a fact; `height` of the value lets it have several lines. */
export function drawFact(
  sheet: Sheet,
  { caption, value, direction }: Fact,
  place: { x: number; y: number; size?: number; width?: number; height?: number },
): void {
  const { x, y, size = 10, width = fact_width, height } = place;
  sheet.text(caption, { x, y, width, size: 7.5, size_min: 6, gray: 0.35 });
  sheet.text(value, { x, y: y + 4, width, height, size, size_min: 6, weight: "bold", direction });
}

/** Draws the facts of a head, two beside each other. */
export function drawFacts(sheet: Sheet, facts: Fact[]): void {
  facts.forEach((fact, index) => {
    const x = index % 2 === 0 ? 0 : second_fact;
    drawFact(sheet, fact, { x, y: facts_top + Math.floor(index / 2) * fact_height });
  });
}

/** Splits rows into pages: `first` rows on the first, `others` (more than 0) on each further one. At least one page. */
export function pagesOf<Row>(rows: Row[], first: number, others: number): Row[][] {
  const pages = [rows.slice(0, first)];
  for (let at = first; at < rows.length; at += others) pages.push(rows.slice(at, at + others));
  return pages;
}
