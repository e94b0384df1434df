/** The bands of a label, from top to bottom. Each keeps to the height it is given. */
import { type Code128, drawCode128, isScannable } from "../../../shared/pdf/code128.ts";
import { drawQrCode } from "../../../shared/pdf/qr-code.ts";
import { isolate } from "../../../shared/pdf/text.ts";
import type { Captions } from "./captions.ts";
import type { ShipmentLabel } from "./label.ts";
import { type Band, type Sheet, sheet_width } from "./label-sheet.ts";

const nothing = "—";

/** Tenant, and the service in white on black: what decides the van is seen first. */
export function drawHead(sheet: Sheet, label: ShipmentLabel, { y, height }: Band) {
  const service = label.service_name?.trim() ?? "";
  const style = { size: 12, size_min: 7, weight: "bold", lines: 1 } as const;
  const width = service === "" ? 0 : Math.min(42, sheet.measure(service, style) + 5);
  const inside = height - 1.5;
  sheet.text(label.tenant_name, {
    ...style,
    x: 0,
    y,
    width: sheet_width - width - 3,
    height: inside,
    middle: true,
    size: 16,
  });
  if (width === 0) return;
  const box = { x: sheet_width - width, y, width, height: inside };
  sheet.fill(box);
  sheet.text(service, {
    ...box,
    ...style,
    x: box.x + 2,
    width: width - 4,
    middle: true,
    align: "center",
    gray: 1,
  });
}

/**
 * The city, as large as the band allows. Of a parcel that nobody carries with this label, its status beside it in white
 * on black: whoever sorts by the city sees that it goes nowhere.
 */
export function drawDestination(
  sheet: Sheet,
  { recipient, mark }: ShipmentLabel,
  words: Captions,
  { y, height }: Band,
) {
  sheet.caption(words.destination, { x: 0, y: y + 0.7, width: sheet_width });
  const mark_width = mark ? 46 : 0;
  if (mark) {
    const box = { x: sheet_width - mark_width, y: y + 1, width: mark_width, height: height - 2 };
    sheet.fill(box);
    sheet.text(words[mark], {
      ...box,
      x: box.x + 2,
      width: box.width - 4,
      middle: true,
      align: "center",
      gray: 1,
      size: 26,
      size_min: 8,
      weight: "bold",
      leading: 1.25,
      lines: 1,
    });
  }
  sheet.text(recipient.city?.trim() || nothing, {
    x: 0,
    y: y + 3.2,
    width: sheet_width - (mark ? mark_width + 2 : 0),
    height: height - 3.6,
    middle: true,
    size: 40,
    size_min: 16,
    weight: "bold",
    leading: 1.25,
    lines: 2,
  });
}

/** Delivery code with the edition of the label, date, pieces, size. */
export function drawCode(
  sheet: Sheet,
  label: ShipmentLabel,
  words: Captions,
  { y, height }: Band,
) {
  const edition = `${words.edition} ${isolate(String(label.edition))}`;
  sheet.caption(`${words.delivery_code} (${edition})`, { x: 0, y: y + 0.7, width: 46 });
  sheet.text(isolate(String(label.delivery_code)), {
    x: 0,
    y: y + 3,
    width: 46,
    height: height - 3.2,
    middle: true,
    size: 30,
    size_min: 12,
    weight: "bold",
    leading: 1.2,
    lines: 1,
  });
  const facts: [string, string, number, number][] = [
    [words.date, isolate(label.created_on), 48.5, 21.5],
    [words.pieces, isolate(String(label.pieces)), 72, 10],
    [words.size, label.unit_size?.trim() || nothing, 84, 13],
  ];
  for (const [caption, value, x, width] of facts) {
    sheet.divide(x - 1, y, height);
    sheet.fact(caption, value, { x, y: y + 0.7, width, height: height - 1.2 });
  }
}

/** Name and phone on a line each, then the address; its city stands in the destination band. */
export function drawRecipient(
  sheet: Sheet,
  { recipient }: ShipmentLabel,
  words: Captions,
  { y, height }: Band,
) {
  const x = sheet.tab(words.to, y + 1.2);
  const width = sheet_width - x;
  const bottom = y + height - 0.6;
  let top = y + 0.6;
  for (
    const [text, style] of [
      [recipient.name, { size: 15, size_min: 10, weight: "bold", lines: 1 }],
      [recipient.phone && isolate(recipient.phone), {
        size: 14,
        size_min: 10,
        weight: "bold",
        lines: 1,
      }],
      [recipient.address, { size: 12, size_min: 8, weight: "regular", lines: 5 }],
    ] as const
  ) {
    if (!text?.trim()) continue;
    top += sheet.text(text, { ...style, x, y: top, width, height: bottom - top }).height;
  }
}

/** Name and phone side by side, then city and address: a return needs the city before all else. */
export function drawSender(
  sheet: Sheet,
  { sender }: ShipmentLabel,
  words: Captions,
  { y, height }: Band,
) {
  const x = sheet.tab(words.from, y + 1.2);
  const width = sheet_width - x;
  const first = { y: y + 0.6, height: 4.6, size: 9, size_min: 6.5, lines: 1 } as const;
  const phone_width = sender.phone ? 34 : 0;
  sheet.text(sender.name, { ...first, x, width: width - phone_width, weight: "bold" });
  if (sender.phone) {
    sheet.text(isolate(sender.phone), {
      ...first,
      x: sheet_width - phone_width + 2,
      width: phone_width - 2,
      align: "end",
    });
  }
  const place = [sender.city, sender.address].map((part) => part?.trim()).filter(Boolean);
  sheet.text(place.join(words.comma), {
    x,
    y: y + 5.2,
    width,
    height: height - 5.6,
    size: 8,
    size_min: 6.5,
    leading: 1.3,
    lines: 2,
  });
}

/** Where a manifest order came from: manifest, institution, branch, and the item's own barcode. */
export function drawManifest(
  sheet: Sheet,
  { manifest }: ShipmentLabel,
  words: Captions,
  { y, height }: Band,
) {
  const branch = manifest && [
    manifest.branch_name.trim(),
    // In digits and letters only: a second set of bars would be scanned in place of the label's.
    manifest.branch_code.trim() && isolate(`(${manifest.branch_code.trim()})`),
  ].filter(Boolean).join(" ");
  const facts: [string, string | null, "start" | "end", 0 | 1][] = [
    [words.manifest, manifest && isolate(manifest.number), "start", 0],
    [words.item_barcode, manifest && isolate(manifest.item_barcode), "start", 1],
    [words.institution, manifest && manifest.institution, "end", 0],
    [words.branch, branch, "end", 1],
  ];
  const half = (height - 1) / 2;
  for (const [caption, value, side, row] of facts) {
    sheet.fact(caption, value?.trim() || nothing, {
      x: side === "start" ? 0 : 43.5,
      y: y + 0.5 + row * half,
      width: side === "start" ? 41 : sheet_width - 43.5,
      height: half,
    });
  }
  sheet.divide(42.3, y, height);
}

/** The cash to collect in white on black, so that it is never overlooked; and who pays which fee. */
export function drawCash(
  sheet: Sheet,
  label: ShipmentLabel,
  words: Captions,
  { y, height }: Band,
) {
  const box = { x: 0, y: y + 1, width: 66, height: height - 2 };
  if (label.cod_amount === null) {
    const style = { size: 12, size_min: 8, weight: "bold", lines: 1 } as const;
    sheet.text(words.cod_none, { ...box, ...style, middle: true });
  } else {
    const caption = { ...box, x: 2, width: 17, middle: true, size: 7.5, size_min: 5 } as const;
    const amount = { ...box, x: 20, width: 44, middle: true, size: 20, size_min: 8 } as const;
    sheet.fill(box);
    sheet.text(words.cod, { ...caption, gray: 1, weight: "bold", leading: 1.3, lines: 2 });
    sheet.text(isolate(`${label.cod_amount} ${label.currency}`), {
      ...amount,
      gray: 1,
      weight: "bold",
      leading: 1.25,
      lines: 1,
      align: "end",
    });
  }
  const payer = label.payer === "sender" ? words.sender : words.receiver;
  const fee = label.delivery_fee === null ? payer : `${payer} ${isolate(label.delivery_fee)}`;
  sheet.fact(words.fee_paid_by, fee, { x: 69, y: y + 0.7, width: 28, height: height - 1.2 });
}

/** Notes; without any, the caption stays as a line to write on. */
export function drawNotes(
  sheet: Sheet,
  label: ShipmentLabel,
  words: Captions,
  { y, height }: Band,
) {
  sheet.text(`${words.notes}: ${label.notes ?? ""}`, {
    x: 0,
    y: y + 0.4,
    width: sheet_width,
    height: height - 0.6,
    size: 8,
    size_min: 6.5,
    leading: 1.3,
    lines: 2,
  });
}

/**
 * The bars with their text below, and the brand at the foot of the page. What is too long for bars that can be scanned stands in a QR
 * code, which readers of both give back as the same text.
 */
export function drawBarcode(sheet: Sheet, code: Code128, brand: string, { y, height }: Band) {
  if (isScannable(code, sheet_width)) {
    drawCode128(sheet.page, code, { x: sheet.left(0, sheet_width), y, width: sheet_width, height });
  } else {
    const x = sheet.left((sheet_width - height) / 2, height);
    drawQrCode(sheet.page, code.value, { x, y, side: height });
  }
  const line = { x: 0, width: sheet_width, align: "center", lines: 1 } as const;
  sheet.text(isolate(code.value), {
    ...line,
    y: y + height + 0.2,
    size: 12,
    size_min: 8,
    weight: "bold",
  });
  sheet.text(brand, { ...line, y: y + height + 6.2, size: 5.5 });
}
