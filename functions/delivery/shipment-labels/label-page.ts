/**
 * Shipment labels as an A6 PDF, one page per label.
 *
 * The order of a page is what people do with it: the sorter reads city and delivery code from a
 * metre away, the courier reads recipient and cash, and the scanner gets the bars at the bottom,
 * with nothing but white beside them. Black only, as label printers are thermal.
 */
import { encodeCode128 } from "../../../shared/pdf/code128.ts";
import { openDocument } from "../../../shared/pdf/text.ts";
import { type Captions, captions, type LabelLanguage } from "./captions.ts";
import {
  drawBarcode,
  drawCash,
  drawCode,
  drawDestination,
  drawHead,
  drawManifest,
  drawNotes,
  drawRecipient,
  drawSender,
} from "./label-bands.ts";
import type { ShipmentLabel } from "./label.ts";
import { type Band, type Sheet, sheetOf } from "./label-sheet.ts";

export type LabelOptions = {
  /** Captions and reading direction; names and addresses are printed as they were written. */
  language: LabelLanguage;
  /** Small print at the foot of each label. */
  brand: string;
};

/** Heights of the bands from top to bottom, in millimetres; both columns add up to 114. */
const heights = {
  shipment_label: {
    head: 10,
    destination: 21,
    code: 16,
    recipient: 34,
    sender: 13,
    manifest: 0,
    cash: 12,
    notes: 8,
  },
  manifest_shipment_label: {
    head: 9,
    destination: 18,
    code: 14,
    recipient: 26,
    sender: 12,
    manifest: 17,
    cash: 11,
    notes: 7,
  },
};
const bands_top = 4;
const barcode_top = 119;

/**
 * Renders page n for the n-th label. Long texts wrap, shrink, then end in an ellipsis; they never
 * leave their band. Throws a RangeError, and draws nothing, without labels, or when a barcode is empty
 * or not of printable ASCII.
 */
export async function renderLabels(
  labels: ShipmentLabel[],
  { language, brand }: LabelOptions,
): Promise<Uint8Array> {
  if (labels.length === 0) throw new RangeError("A PDF has at least one page");
  const words = captions[language];
  const rightToLeft = language !== "en";
  const codes = await Promise.all(labels.map((label) => encodeCode128(label.barcode)));
  const document = await openDocument({
    title: words.title,
    language: language === "ku" ? "ckb" : language,
    direction: rightToLeft ? "rtl" : "ltr",
  });
  labels.forEach((label, index) => {
    const sheet = sheetOf(document, rightToLeft);
    drawBands(sheet, label, words);
    drawBarcode(sheet, codes[index], brand, { y: barcode_top, height: 17 });
  });
  return await document.save();
}

function drawBands(sheet: Sheet, label: ShipmentLabel, words: Captions) {
  const bands: Record<keyof typeof heights.shipment_label, (band: Band) => void> = {
    head: (band) => drawHead(sheet, label, band),
    destination: (band) => drawDestination(sheet, label, words, band),
    code: (band) => drawCode(sheet, label, words, band),
    recipient: (band) => drawRecipient(sheet, label, words, band),
    sender: (band) => drawSender(sheet, label, words, band),
    manifest: (band) => drawManifest(sheet, label, words, band),
    cash: (band) => drawCash(sheet, label, words, band),
    notes: (band) => drawNotes(sheet, label, words, band),
  };
  let y = bands_top;
  for (const [name, height] of Object.entries(heights[label.template])) {
    if (height === 0) continue;
    bands[name as keyof typeof bands]({ y, height });
    y += height;
    if (name !== "notes") sheet.rule(y);
  }
}
