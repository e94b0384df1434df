/** An A6 page in reading direction: x counts from the side where a line of text begins. */
import type { Drawn, Page, TextBox, TextDocument, TextStyle } from "../../../shared/pdf/text.ts";

const page_width = 105;
const page_height = 148;
const margin = 4;
/** Width between the margins, in millimetres. */
export const sheet_width = page_width - 2 * margin;
const thickness = 0.25;

/** A part of the sheet over its whole width, in millimetres from the top of the page. */
export type Band = { y: number; height: number };

/** Millimetres; x from the starting edge inside the margin (0 … 97), y from the top of the page. */
export type Cell = {
  x: number;
  y: number;
  width: number;
  height?: number;
};

export type CellText = Cell & Omit<TextBox, "x" | "y" | "width" | "height">;

export type Sheet = {
  page: Page;
  /** Width of one line in millimetres. */
  measure(text: string, style: TextStyle): number;
  /** The page's own x of a cell. */
  left(x: number, width: number): number;
  /** "start" and "end" are those of the sheet, whatever language a value is written in. */
  text(text: string, cell: CellText): Drawn;
  /** A small heading on one line. */
  caption(text: string, cell: Cell): void;
  /** A heading with its value below, both on one line each. */
  fact(caption: string, value: string, cell: Required<Cell>): void;
  /** A word in white on black at the starting edge; returns where the text beside it begins. */
  tab(text: string, y: number): number;
  /** A black rectangle. */
  fill(cell: Required<Cell>): void;
  /** A line across the page at y. */
  rule(y: number): void;
  /** A line down from y. */
  divide(x: number, y: number, height: number): void;
};

/** Adds an A6 page, mirrored for languages that read from right to left. */
export function sheetOf(document: TextDocument, rightToLeft: boolean): Sheet {
  const page = document.addPage(page_width, page_height);
  const left = (x: number, width: number) =>
    rightToLeft ? page_width - margin - x - width : margin + x;

  const text: Sheet["text"] = (value, cell) => {
    const align = cell.align ?? "start";
    const side = align === "start" || align === "end"
      ? ((align === "start") === rightToLeft ? "right" : "left")
      : align;
    return page.text(value, { ...cell, x: left(cell.x, cell.width), align: side });
  };
  const caption: Sheet["caption"] = (value, cell) => {
    text(value, { ...cell, size: 6.5, size_min: 5, lines: 1, leading: 1.25 });
  };
  const fill: Sheet["fill"] = ({ x, y, width, height }) =>
    page.fill([{ x: left(x, width), y, width, height }]);

  return {
    page,
    measure: document.measure,
    left,
    text,
    caption,
    fill,
    fact(heading, value, { x, y, width, height }) {
      caption(heading, { x, y, width });
      text(value, {
        x,
        y: y + 2.7,
        width,
        height: height - 2.7,
        middle: true,
        size: 10,
        size_min: 6.5,
        weight: "bold",
        leading: 1.25,
        lines: 1,
      });
    },
    tab(value, y) {
      const box = { x: 0, y, width: 13, height: 5.6 };
      fill(box);
      const style = { size: 10, size_min: 6, weight: "bold", leading: 1.3, lines: 1 } as const;
      text(value, { ...box, ...style, x: 1, width: 11, middle: true, align: "center", gray: 1 });
      return 15;
    },
    rule: (y) => fill({ x: 0, y: y - thickness / 2, width: sheet_width, height: thickness }),
    divide: (x, y, height) => fill({ x: x - thickness / 2, y, width: thickness, height }),
  };
}
