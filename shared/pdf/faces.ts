/** The embedded font faces: loaded once per process, with every shaped run remembered. */
import { Buffer } from "node:buffer";
import type * as HarfBuzz from "harfbuzzjs";
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
  /** The name that PDF readers show. */
  name: string;
  /** In thousandths of the font size: the box around all glyphs, and heights from the baseline. */
  metrics: {
    box: [left: number, bottom: number, right: number, top: number];
    ascent: number;
    descent: number;
    capHeight: number;
  };
  /** The font file as PDF stores it: a zlib stream, and its size once inflated. */
  file: { zlib: Uint8Array; length: number };
  has(codePoint: number): boolean;
  /** A glyph's own width, in thousandths of the size. */
  advance(id: number): number;
  /**
   * Shapes characters of one direction (no control characters) into a run. `seen` has them as they
   * look: in text from right to left brackets are mirrored. A reader that copies gets these.
   */
  shape(text: string, rightToLeft: boolean, seen?: string): Run;
};

export type Faces = Record<Weight, Face>;

/**
 * Texts repeat (captions, cities, services), codes do not: past this many per face the memory starts anew. A word takes
 * about two kilobytes, and a process lives for days.
 */
const runs_max = 1_000;

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
  const [harfbuzz, { fontData }] = await Promise.all([
    import("harfbuzzjs"),
    import("./font-data.ts"),
  ]);
  const face = async (weight: Weight): Promise<Face> => {
    const { length, zlib } = fontData[weight];
    // A Buffer is a Uint8Array; its types under Deno do not say so.
    const packed = Buffer.from(zlib, "base64") as unknown as Uint8Array;
    return createFace(harfbuzz, weight, await inflate(packed), { zlib: packed, length });
  };
  const [regular, bold] = await Promise.all([face("regular"), face("bold")]);
  return { regular, bold };
}

function createFace(
  harfbuzz: typeof HarfBuzz,
  weight: Weight,
  bytes: Uint8Array,
  file: Face["file"],
): Face {
  const source = new harfbuzz.Face(new harfbuzz.Blob(bytes));
  const font = new harfbuzz.Font(source);
  // Lengths come out in thousandths of the size, of which PDF speaks; a font counts in units of its own.
  const scale = 1000 / source.upem;
  const known = new Set(source.collectUnicodes());
  const memory = { ltr: new Map<string, Run>(), rtl: new Map<string, Run>() };
  const advance = (id: number) => font.glyphHAdvance(id) * scale;
  return {
    weight,
    name: source.getName(postScriptName, "en"),
    metrics: metricsOf(source, font, scale),
    file,
    has: (codePoint) => known.has(codePoint),
    advance,
    shape(text, rightToLeft, seen = text) {
      const runs = memory[rightToLeft ? "rtl" : "ltr"];
      let run = runs.get(text);
      if (!run) {
        const buffer = new harfbuzz.Buffer();
        buffer.addText(text);
        buffer.setDirection(rightToLeft ? harfbuzz.Direction.RTL : harfbuzz.Direction.LTR);
        buffer.setScript(/\p{Script=Arabic}/u.test(text) ? "Arab" : "Latn");
        // Every glyph says which characters it stands for, marks as well.
        buffer.setClusterLevel(harfbuzz.ClusterLevel.CHARACTERS);
        harfbuzz.shape(font, buffer);
        run = place(seen, buffer.getGlyphInfosAndPositions(), scale, advance);
        if (runs.size >= runs_max) runs.clear();
        runs.set(text, run);
      }
      return run;
    },
  };
}

/** The number of the PostScript name in a font's table of names (OpenType, `name`). */
const postScriptName = 6;

/** Of the tables `head` and `OS/2` (OpenType): the offsets of the numbers in them. */
function metricsOf(source: HarfBuzz.Face, font: HarfBuzz.Font, scale: number): Face["metrics"] {
  const read = (table: string, at: number) => {
    const bytes = source.referenceTable(table)!;
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getInt16(at) * scale;
  };
  const { ascender, descender } = font.hExtents();
  return {
    box: [read("head", 36), read("head", 38), read("head", 40), read("head", 42)],
    ascent: ascender * scale,
    descent: descender * scale,
    capHeight: read("OS/2", 88),
  };
}

type Shaped = ReturnType<HarfBuzz.Buffer["getGlyphInfosAndPositions"]>;

function place(
  text: string,
  shaped: Shaped,
  scale: number,
  advance: (id: number) => number,
): Run {
  const placed: PlacedGlyph[] = [];
  const standsFor = charactersOf(text, shaped);
  let pen = 0;
  let written = 0; // where a PDF reader's pen is: it moves by the glyph's own width
  let rise = 0;
  let operands = "";
  for (const { codepoint: id, cluster, xAdvance = 0, xOffset = 0, yOffset = 0 } of shaped) {
    const x = pen + xOffset * scale;
    const y = yOffset * scale;
    placed.push({ id, codePoints: standsFor(cluster), x, y, advance: xAdvance * scale });
    if (y !== rise) {
      // The text size is 1 in the text matrix' own space, so the rise is in units of the size.
      operands += `]TJ ${number(y / 1000)} Ts[`;
      rise = y;
    }
    if (Math.abs(x - written) > 0.05) {
      operands += number(written - x);
      written = x;
    }
    operands += `<${id.toString(16).padStart(4, "0")}>`;
    written += advance(id);
    pen += xAdvance * scale;
  }
  if (rise !== 0) operands += "]TJ 0 Ts[";
  if (Math.abs(pen - written) > 0.05) operands += number(written - pen);
  return { glyphs: placed, width: pen, operands: operands.replaceAll("><", "") };
}

/** The text of a glyph cluster: the characters up to the next cluster, named once. */
function charactersOf(text: string, shaped: Shaped): (cluster: number) => number[] {
  const starts = [...new Set(shaped.map(({ cluster }) => cluster))].sort((a, b) => a - b);
  const seen = new Set<number>();
  return (cluster) => {
    if (seen.has(cluster)) return [];
    seen.add(cluster);
    const part = text.slice(cluster, starts[starts.indexOf(cluster) + 1]);
    return Array.from(part, (character) => character.codePointAt(0)!);
  };
}

/** A PDF number: no exponent, three decimals. */
export function number(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
