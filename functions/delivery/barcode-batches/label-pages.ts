/**
 * The barcodes of a batch as labels, to be stuck on parcels before anybody knows what is in them. Black only, as label
 * printers are thermal; nothing but white beside the bars.
 */
import { drawCode128, encodeCode128 } from "../../../shared/pdf/code128.ts";
import { isolate, openDocument, type Page } from "../../../shared/pdf/text.ts";
import type { layouts } from "./schemas.ts";

interface BatchLabel {
  barcode: string;
  /** Its place in the batch, from 1. */
  position: number;
}

/** Millimetres. A sheet is A4 with three times eight labels of 70 x 37 mm and no margins; a roll has one label a page. */
const shapes = {
  sheet: { page: { width: 210, height: 297 }, columns: 3, rows: 8 },
  roll: { page: { width: 62, height: 29 }, columns: 1, rows: 1 },
} as const;

/** The width that 13 characters need for bars which hand scanners read. */
const bars_width = 60;

/** Renders the labels in their order, along the rows. `batch_number` and the place in the batch stand above the bars. */
export async function renderBatchLabels(
  labels: readonly BatchLabel[],
  { layout, batch_number, quantity, language }: {
    layout: typeof layouts[number];
    batch_number: string;
    quantity: number;
    language: string;
  },
): Promise<Uint8Array> {
  const { page: paper, columns, rows } = shapes[layout];
  const [width, height] = [paper.width / columns, paper.height / rows];
  const document = await openDocument({ title: batch_number, language });
  let page: Page | undefined;
  for (const [index, { barcode, position }] of labels.entries()) {
    const cell = index % (columns * rows);
    if (cell === 0) page = document.addPage(paper.width, paper.height);
    const x = (cell % columns) * width + (width - bars_width) / 2;
    const y = Math.floor(cell / columns) * height;
    const line = { x, width: bars_width, align: "center", lines: 1, direction: "ltr" } as const;
    page!.text(isolate(`${batch_number}  ${position}/${quantity}`), {
      ...line,
      y: y + 2.5,
      size: 6.5,
      size_min: 5,
    });
    drawCode128(page!, await encodeCode128(barcode), {
      x,
      y: y + 6.5,
      width: bars_width,
      height: height - 15.5,
    });
    page!.text(isolate(barcode), {
      ...line,
      y: y + height - 8.5,
      size: 12,
      size_min: 8,
      weight: "bold",
    });
  }
  return await document.save();
}
