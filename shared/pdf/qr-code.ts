/** QR codes on a page (ISO/IEC 18004, error correction M), drawn as one filling. */
import { encode } from "uqr";
import type { Page } from "./text.ts";

/** Draws `text` with its quiet zone into a square; millimetres from the page's upper left corner. */
export function drawQrCode(
  page: Page,
  text: string,
  { x, y, side }: { x: number; y: number; side: number },
): void {
  const { data, size } = encode(text, { ecc: "M", border: 4 });
  const module = side / size;
  page.fill(
    data.flatMap((row, line) =>
      // Black modules side by side are one rectangle.
      [...row.map(Number).join("").matchAll(/1+/g)].map((run) => ({
        x: x + run.index * module,
        y: y + line * module,
        width: run[0].length * module,
        height: module,
      }))
    ),
  );
}
