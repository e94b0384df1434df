/** Looks at a PDF the way its readers do: pixels for people, a barcode scanner, text positions. */
import { createCanvas } from "@napi-rs/canvas";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { inflateSync } from "node:zlib";
import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";
import { prepareZXingModule, readBarcodes } from "zxing-wasm/reader";

export type Raster = {
  width: number;
  height: number;
  /** Pixels in a millimetre. */
  scale: number;
  /** RGBA. */
  data: Uint8ClampedArray;
  /** The picture as a PNG file. */
  png(): Uint8Array;
  /** Pixels darker than middle grey within a rectangle in millimetres. */
  ink(x: number, y: number, width: number, height: number): number;
};

/** Opens a PDF; `raster(n)` draws page n (from 1) at `dpi`. */
export async function openPdf(bytes: Uint8Array) {
  // pdf.js takes the buffer over, so it gets a copy.
  const pdf = await getDocument({ data: new Uint8Array(bytes), verbosity: 0 }).promise;
  return {
    pages: pdf.numPages,
    close: () => pdf.loadingTask.destroy(),
    async size(number: number) {
      const [left, bottom, right, top] = (await pdf.getPage(number)).view;
      return { width: (right - left) / 72 * 25.4, height: (top - bottom) / 72 * 25.4 };
    },
    /** The characters of a page; in order within a run, which is enough for Latin and digits. */
    async text(number: number) {
      const { items } = await (await pdf.getPage(number)).getTextContent();
      return items.map((item) => "str" in item ? item.str : "").join("");
    },
    async raster(number: number, dpi = 203): Promise<Raster> {
      const page = await pdf.getPage(number);
      const viewport = page.getViewport({ scale: dpi / 72 });
      const width = Math.ceil(viewport.width);
      const height = Math.ceil(viewport.height);
      const canvas = createCanvas(width, height);
      const context = canvas.getContext("2d");
      await page.render({
        canvas: null,
        canvasContext: context as never,
        viewport,
      }).promise;
      const { data } = context.getImageData(0, 0, width, height);
      const scale = dpi / 25.4;
      return {
        width,
        height,
        scale,
        data: data as Uint8ClampedArray,
        png: () => bytesOf(canvas.toBuffer("image/png")),
        ink(x, y, w, h) {
          let dark = 0;
          for (let row = Math.round(y * scale); row < Math.round((y + h) * scale); row++) {
            for (
              let column = Math.round(x * scale);
              column < Math.round((x + w) * scale);
              column++
            ) {
              const offset = (row * width + column) * 4;
              if (data[offset] + data[offset + 1] + data[offset + 2] < 384) dark++;
            }
          }
          return dark;
        },
      };
    },
  };
}

/**
 * Whatever can be read in a PDF, for searching: its bytes, its streams unpacked, the characters of its pages and what
 * its barcodes say.
 */
export async function everyText(bytes: Uint8Array): Promise<string> {
  const raw = Buffer.from(bytes).toString("latin1");
  const streams = [...raw.matchAll(/\/FlateDecode[^]*?stream\r?\n/g)].map(({ 0: head, index }) => {
    const begin = index + head.length;
    const end = raw.indexOf("endstream", begin);
    return inflateSync(Buffer.from(raw.slice(begin, end), "latin1")).toString("latin1");
  });
  const pdf = await openPdf(bytes);
  const pages: string[] = [];
  for (let page = 1; page <= pdf.pages; page++) {
    pages.push(await pdf.text(page), ...await scan(await pdf.raster(page)));
  }
  await pdf.close();
  return [raw, ...streams, ...pages].join("\n");
}

/** Deno reads Node's Buffer from its types without the array members it has. */
export function bytesOf(buffer: unknown): Uint8Array {
  return Uint8Array.from(buffer as ArrayLike<number>);
}

/** Edges of the dark pixels within a rectangle, all in millimetres; undefined if it is blank. */
export function inkBox(raster: Raster, x: number, y: number, width: number, height: number) {
  const { scale } = raster;
  const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  for (let row = Math.round(y * scale); row < Math.round((y + height) * scale); row++) {
    for (let column = Math.round(x * scale); column < Math.round((x + width) * scale); column++) {
      if (raster.data[(row * raster.width + column) * 4] >= 128) continue;
      box.left = Math.min(box.left, column / scale);
      box.right = Math.max(box.right, (column + 1) / scale);
      box.top = Math.min(box.top, row / scale);
      box.bottom = Math.max(box.bottom, (row + 1) / scale);
    }
  }
  return box.left === Infinity ? undefined : box;
}

let scanner: Promise<unknown> | undefined;

/** Every Code 128 a scanner finds in the picture. */
export async function scan({ data, width, height }: Raster): Promise<string[]> {
  // Without the module's own bytes zxing-wasm would fetch them from a public CDN.
  scanner ??= readFile(
    createRequire(import.meta.url).resolve("zxing-wasm/reader/zxing_reader.wasm"),
  )
    .then((wasm) =>
      prepareZXingModule({
        overrides: { wasmBinary: bytesOf(wasm).buffer },
        fireImmediately: true,
      })
    );
  await scanner;
  const picture = { data, width, height, colorSpace: "srgb" } as ImageData;
  const found = await readBarcodes(picture, { formats: ["Code128", "QRCode"], tryHarder: true });
  return found.filter((barcode) => barcode.isValid).map((barcode) => barcode.text);
}
