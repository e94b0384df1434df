/** One line of text in visual order: the bidi algorithm, then shaping run by run. */
import type { Bidi } from "bidi-js";
import { isBidiControl } from "./characters.ts";
import type { Face, PlacedGlyph, Run } from "./faces.ts";

export type Direction = "auto" | "ltr" | "rtl";

export type Line = {
  /** The characters, in reading order. */
  text: string;
  direction: "ltr" | "rtl";
  /** From left to right. */
  runs: Run[];
  /** In thousandths of the font size. */
  width: number;
};

/** Per face. Captions stay far below it, attempts at breaking a text pass through. */
const lines_max = 300;
const memory = new WeakMap<Face, Map<string, Line>>();

/** Any character that is written, or makes its neighbours be written, from right to left. */
const rightToLeft =
  /[\u0590-\u08ff\u200f\u2067\u2068\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The direction of the first letter that has one; `otherwise` for digits and signs alone. */
export function directionOf(text: string, otherwise: "ltr" | "rtl" = "ltr"): "ltr" | "rtl" {
  // Characters in an isolate do not decide the direction of the text around it.
  const outside = text.replace(/[\u2066-\u2068][^\u2069]*\u2069?/g, "");
  const strong = /[\p{L}\u200e\u200f\u061c]/u.exec(outside)?.[0];
  if (strong === undefined) return otherwise;
  return rightToLeft.test(strong) ? "rtl" : "ltr";
}

/** Lays out one line. `text` holds characters of the face only (see `readable`) and no "\n". */
export function layoutLine(bidi: Bidi, face: Face, text: string, direction: "ltr" | "rtl"): Line {
  let lines = memory.get(face);
  if (!lines) memory.set(face, lines = new Map());
  const key = direction + text;
  let line = lines.get(key);
  if (!line) {
    // Codes, dates and amounts need no algorithm, and there are more of them than of names.
    const plain = direction === "ltr" || /^\u2066[^\u2066-\u2069]*\u2069$/.test(text);
    const runs = plain && !rightToLeft.test(text)
      ? shapeWords(face, withoutControls(text), false)
      : shapeLevels(bidi, face, text, direction);
    const width = runs.reduce((sum, run) => sum + run.width, 0);
    line = { text, direction, runs, width };
    if (lines.size >= lines_max) lines.clear();
    lines.set(key, line);
  }
  return line;
}

/** Every glyph of a line with its place, from left to right; for tests and for measuring ink. */
export function glyphsOf(line: Line): PlacedGlyph[] {
  let start = 0;
  return line.runs.flatMap((run) => {
    const glyphs = run.glyphs.map((glyph) => ({ ...glyph, x: start + glyph.x }));
    start += run.width;
    return glyphs;
  });
}

function shapeLevels(bidi: Bidi, face: Face, text: string, direction: "ltr" | "rtl"): Run[] {
  const { levels } = bidi.getEmbeddingLevels(text, direction);
  const mirrored = bidi.getMirroredCharactersMap(text, levels);
  const pieces: { text: string; seen: string; level: number }[] = [];
  for (let index = 0; index < text.length; index++) {
    if (isBidiControl(text.charCodeAt(index))) continue;
    let piece = pieces.at(-1);
    if (piece?.level !== levels[index]) {
      pieces.push(piece = { text: "", seen: "", level: levels[index] });
    }
    piece.text += text[index];
    piece.seen += mirrored.get(index) ?? text[index];
  }
  return inVisualOrder(pieces).flatMap((piece) =>
    shapeWords(face, piece.text, piece.level % 2 === 1, piece.seen)
  );
}

/** Rule L2 of the bidi algorithm: from the highest level down to 1, turn what is at least that. */
function inVisualOrder<Piece extends { level: number }>(pieces: Piece[]): Piece[] {
  const ordered = [...pieces];
  const highest = Math.max(0, ...pieces.map((piece) => piece.level));
  for (let level = highest; level >= 1; level--) {
    for (let start = 0; start < ordered.length; start++) {
      if (ordered[start].level < level) continue;
      let end = start;
      while (end < ordered.length && ordered[end].level >= level) end++;
      ordered.splice(start, end - start, ...ordered.slice(start, end).reverse());
      start = end;
    }
  }
  return ordered;
}

/**
 * Letters do not join across a space, so words are the unit that is shaped and remembered. The face sets digits and the signs among
 * them without regard to each other: a number, which hardly ever comes again, is made of characters that do.
 */
function shapeWords(face: Face, text: string, reversed: boolean, seen = text): Run[] {
  const words = [...text.matchAll(/ +|[^ ]+/g)];
  const runs = words.flatMap(({ 0: word, index }) => {
    const parts = /^[-\d:,.]+$/.test(word) ? word.split("") : [word];
    return parts.map((part, at) =>
      face.shape(part, reversed, seen.slice(index + at, index + at + part.length))
    );
  });
  return reversed ? runs.reverse() : runs;
}

function withoutControls(text: string): string {
  return text.replace(/[\u200e\u200f\u061c\u2066-\u2069]/g, "");
}
