/** Code 128 (ISO/IEC 15417) as vector bars, encoded by jsbarcode. */
import type { Page, Rectangle } from "./text.ts";

/** Smallest width of a module in millimetres that a hand scanner reads reliably. */
export const module_min = 0.33;
/** Bars beyond this grow clumsy without being easier to read. */
const module_max = 0.6;
/** Blank modules that ISO/IEC 15417 asks for at both ends. */
export const quiet_modules = 10;

export type Code128 = {
  value: string;
  /** "1" is a dark module, "0" a light one; without the quiet zones. */
  modules: string;
};

/**
 * Encodes printable ASCII, switching code sets so that digits take half the room. Throws a
 * RangeError that names the value when Code 128 has no form for it (empty, or not ASCII).
 */
export async function encodeCode128(value: string): Promise<Code128> {
  if (!/^[\x20-\x7e]+$/.test(value)) {
    throw new RangeError(`Not printable as Code 128: ${JSON.stringify(value)}`);
  }
  const { default: JsBarcode } = await import("jsbarcode");
  // Given a plain object instead of an element, jsbarcode leaves its encodings there: no DOM.
  const target: { encodings?: { data: string }[] } = {};
  JsBarcode(target, value, { format: "CODE128" });
  return { value, modules: target.encodings!.map((encoding) => encoding.data).join("") };
}

/** Whether a hand scanner reads the bars with both quiet zones in so many millimetres. */
export function isScannable({ modules }: Code128, width: number): boolean {
  return width / (modules.length + 2 * quiet_modules) >= module_min;
}

/**
 * Draws the bars centred in the rectangle (millimetres) with both quiet zones inside it, as wide
 * as it allows. Throws a RangeError when a module would be thinner than `module_min`. Returns the
 * module's width in millimetres.
 */
export function drawCode128(page: Page, code: Code128, rectangle: Rectangle): number {
  const count = code.modules.length + 2 * quiet_modules;
  const module = Math.min(module_max, rectangle.width / count);
  if (!isScannable(code, rectangle.width)) {
    throw new RangeError(
      `Too long for ${rectangle.width} mm of Code 128: ${JSON.stringify(code.value)}`,
    );
  }
  const left = rectangle.x + (rectangle.width - code.modules.length * module) / 2;
  const bars = [...code.modules.matchAll(/1+/g)].map((bar) => ({
    x: left + bar.index * module,
    y: rectangle.y,
    width: bar[0].length * module,
    height: rectangle.height,
  }));
  page.fill(bars);
  return module;
}
