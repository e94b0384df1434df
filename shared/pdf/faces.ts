/** The embedded font faces: loaded once per process, with every shaped run remembered. */
import type { Font, Glyph, GlyphPosition } from "@pdf-lib/fontkit";
import { inflate } from "./zlib.ts";

export type Weight = "regular" | "bold";

/** A glyph where it stands: `x` and `y` from the start of its run, in thousandths of the size. */
export type PlacedGlyph = {
  id: number;
  /** The characters it draws; several for a ligature. */
  codePoints: number[];
  x: number;
  y: number;
  advance: number;
};

/** Shaped text of one direction, glyphs from left to right. */
export type Run = {
  glyphs: PlacedGlyph[];
  /** In thousandths of the font size. */
  width: number;
  /** The run as elements of a PDF `TJ` array; independent of size and place. */
  operands: string;
};

export type Face = {
  weight: Weight;
  font: Font;
  /** The font file as PDF stores it: a zlib stream, and its size once inflated. */
  file: { zlib: Uint8Array; length: number };
  has(codePoint: number): boolean;
  /** Shapes characters of one direction (no control characters) into a run. */
  shape(text: string, rightToLeft: boolean): Run;
};

export type Faces = Record<Weight, Face>;

/** Texts repeat (captions, cities, services); past this many per face the memory starts anew. */
const runs_max = 4_000;

let loaded: Promise<Faces> | undefined;

/** Loads both faces, once per process. A failed attempt is not remembered. */
export function loadFaces(): Promise<Faces> {
  loaded ??= load().catch((error) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

async function load(): Promise<Faces> {
  const [{ default: fontkit }, { fontData }] = await Promise.all([
    importFontkit(),
    import("./font-data.ts"),
  ]);
  const face = async (weight: Weight): Promise<Face> => {
    const { length, zlib } = fontData[weight];
    const packed = Uint8Array.from(atob(zlib), (character) => character.charCodeAt(0));
    return createFace(weight, fontkit.create(await inflate(packed)), { zlib: packed, length });
  };
  const [regular, bold] = await Promise.all([face("regular"), face("bold")]);
  return { regular, bold };
}

/**
 * fontkit's classes inherit by assigning `__proto__`, which Deno does not have; without it the
 * import succeeds and the first Arabic text fails ("this.shaper.plan is not a function"). The
 * accessor is only needed while the module is evaluated, so it is taken away again afterwards.
 */
async function importFontkit() {
  const before = Object.getOwnPropertyDescriptor(Object.prototype, "__proto__");
  Object.defineProperty(Object.prototype, "__proto__", {
    configurable: true,
    get() {
      return Object.getPrototypeOf(this);
    },
    set(value: unknown) {
      if (value === null || typeof value === "object" || typeof value === "function") {
        Object.setPrototypeOf(this, value);
      }
    },
  });
  try {
    return await import("@pdf-lib/fontkit");
  } finally {
    if (before) Object.defineProperty(Object.prototype, "__proto__", before);
    else Reflect.deleteProperty(Object.prototype, "__proto__");
  }
}

/** The published types leave out the last three parameters of `layout`. */
type ShapingFont = {
  layout(
    text: string,
    features: undefined,
    script: string,
    language: undefined,
    direction: "ltr" | "rtl",
  ): { glyphs: Glyph[]; positions: GlyphPosition[] };
};

function createFace(weight: Weight, font: Font, file: Face["file"]): Face {
  const memory = { ltr: new Map<string, Run>(), rtl: new Map<string, Run>() };
  const known = new Set(font.characterSet);
  return {
    weight,
    font,
    file,
    has: (codePoint) => known.has(codePoint),
    shape(text, rightToLeft) {
      const direction = rightToLeft ? "rtl" : "ltr";
      const runs = memory[direction];
      let run = runs.get(text);
      if (!run) {
        const script = /\p{Script=Arabic}/u.test(text) ? "arab" : "latn";
        const shaping = font as unknown as ShapingFont;
        const { glyphs, positions } = shaping.layout(text, undefined, script, undefined, direction);
        run = place(glyphs, positions, 1000 / font.unitsPerEm);
        if (runs.size >= runs_max) runs.clear();
        runs.set(text, run);
      }
      return run;
    },
  };
}

function place(glyphs: Glyph[], positions: GlyphPosition[], scale: number): Run {
  const placed: PlacedGlyph[] = [];
  let pen = 0;
  let written = 0; // where a PDF reader's pen is: it moves by the glyph's own width
  let rise = 0;
  let operands = "";
  glyphs.forEach((glyph, index) => {
    const position = positions[index];
    const x = pen + position.xOffset * scale;
    const y = position.yOffset * scale;
    placed.push({
      id: glyph.id,
      codePoints: glyph.codePoints,
      x,
      y,
      advance: position.xAdvance * scale,
    });
    if (y !== rise) {
      // The text size is 1 in the text matrix' own space, so the rise is in units of the size.
      operands += `]TJ ${number(y / 1000)} Ts[`;
      rise = y;
    }
    if (Math.abs(x - written) > 0.05) {
      operands += number(written - x);
      written = x;
    }
    operands += `<${glyph.id.toString(16).padStart(4, "0")}>`;
    written += glyph.advanceWidth * scale;
    pen += position.xAdvance * scale;
  });
  if (rise !== 0) operands += "]TJ 0 Ts[";
  if (Math.abs(pen - written) > 0.05) operands += number(written - pen);
  return { glyphs: placed, width: pen, operands: operands.replaceAll("><", "") };
}

/** A PDF number: no exponent, three decimals. */
export function number(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
