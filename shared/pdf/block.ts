/** Fitting text into a box: breaking by words, shrinking, and an ellipsis for what is left. */
import { isolateEnd, opensIsolate } from "./characters.ts";
import type { Line } from "./line.ts";

/** Lays out one line of clean text; given by the caller, who knows face and direction. */
export type LayoutLine = (text: string) => Line;

export type Block = {
  lines: Line[];
  /** Points. */
  size: number;
  /** True when the text did not fit and ends in an ellipsis. */
  truncated: boolean;
};

export type Box = {
  /** Points. */
  width: number;
  lines_max: number;
  /** Points; with it, no more lines than this height takes at the size in question. */
  height?: number;
  /** Height of a line as a multiple of the size. */
  leading: number;
  /** Points: the wished size, and the smallest one the text may be shrunk to. */
  size: number;
  size_min: number;
};

const ellipsis = "…";
const step = 0.5;
/** Sums of widths are floating point: a text measured alone must fit a box of exactly its width. */
const slack = 0.01;

/**
 * Fits `text` into the box: at the wished size, else at the largest smaller size that takes all of
 * it, else cut with an ellipsis at the smallest size. No line is ever wider than the box, and
 * there are never more lines than it has room for (but one, however low the box).
 */
export function fitBlock(text: string, box: Box, layout: LayoutLine): Block {
  const size_min = Math.min(box.size, box.size_min);
  const whole = layout(text.replace(/\s*\n\s*/g, " ").trim()).width;
  for (let size = box.size;; size = Math.max(size_min, size - step)) {
    const room = Math.floor((box.height ?? Infinity) / (size * box.leading) + slack);
    const lines_max = Math.max(1, Math.min(box.lines_max, room));
    const width = box.width * 1000 / size + slack;
    // Trying to break is the costly part: not at sizes where all lines together are too short.
    if (size > size_min && (room < 1 || whole > width * lines_max)) continue;
    const block = breakLines(text, width, lines_max, layout);
    if (!block.truncated || size <= size_min) return { ...block, size };
  }
}

function breakLines(text: string, width: number, lines_max: number, layout: LayoutLine) {
  const lines: Line[] = [];
  let rest = text.replace(/[ ]*\n[\s]*/g, "\n").trim();
  while (rest !== "" && lines.length < lines_max) {
    const end = rest.indexOf("\n");
    const paragraph = end < 0 ? rest : rest.slice(0, end);
    const whole = layout(paragraph);
    if (whole.width <= width) {
      lines.push(whole);
      rest = end < 0 ? "" : rest.slice(end + 1);
      continue;
    }
    if (lines.length === lines_max - 1) break;
    const taken = takeLine(paragraph, width, layout);
    lines.push(taken.line);
    rest = rest.slice(taken.length).replace(/^ +/, "");
    if (taken.reopen) rest = taken.reopen + rest;
  }
  if (rest === "") return { lines, truncated: false };
  // Out of lines. The last one takes as much of the remainder as fits, and shows that more follows.
  if (lines.length === lines_max) rest = `${lines.pop()!.text} ${rest}`;
  lines.push(cutLine(rest.replaceAll("\n", " "), width, layout));
  return { lines, truncated: true };
}

/** Takes the longest beginning that fits: whole words; of a single too wide word, a part. */
function takeLine(paragraph: string, width: number, layout: LayoutLine) {
  const breaks = wordEnds(paragraph);
  const fitting = longest(breaks, (end) => layout(paragraph.slice(0, end)).width <= width);
  if (fitting > 0) return { line: layout(paragraph.slice(0, fitting)), length: fitting };

  const ends = clusterEnds(paragraph);
  const open = (end: number) => openIsolates(paragraph.slice(0, end));
  const part = (end: number) => paragraph.slice(0, end) + isolateEnd.repeat(open(end).length);
  const fits = (end: number) => layout(part(end)).width <= width;
  let end = longest(ends, fits) || ends[0] || paragraph.length;
  // "Baghdad/Karrada/Street-62": better after a separator than inside a name.
  const separator = /^.*[/\-,،؛;_.:]/su.exec(paragraph.slice(0, end))?.[0].length ?? 0;
  if (separator > end / 2) end = separator;
  return { line: layout(part(end)), length: end, reopen: open(end) };
}

function cutLine(text: string, width: number, layout: LayoutLine): Line {
  const cut = (end: number) => {
    const kept = text.slice(0, end).trimEnd();
    // A phone number cut short keeps its ellipsis on its own, left-to-right, end.
    return kept + ellipsis + isolateEnd.repeat(openIsolates(kept).length);
  };
  return layout(cut(longest(clusterEnds(text), (end) => layout(cut(end)).width <= width)));
}

/** The last of the ascending `ends` that fits, 0 if none does; width grows with the text. */
function longest(ends: number[], fits: (end: number) => boolean): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(ends[middle])) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : ends[low - 1];
}

/** Where words end: before spaces, but not inside an isolate (a phone number stays in one piece). */
function wordEnds(text: string): number[] {
  const ends: number[] = [];
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    if (opensIsolate(text[index])) depth++;
    else if (text[index] === isolateEnd) depth = Math.max(0, depth - 1);
    else if (text[index] === " " && text[index - 1] !== " " && depth === 0) ends.push(index);
  }
  return ends;
}

/** Where a word may be cut: after a character with all its marks and joiners. */
function clusterEnds(text: string): number[] {
  const ends: number[] = [];
  for (const match of text.matchAll(/\P{M}[\p{M}\u200c\u200d]*|\p{M}+/gu)) {
    ends.push(match.index + match[0].length);
  }
  return ends;
}

function openIsolates(text: string): string {
  const open: string[] = [];
  for (const character of text) {
    if (opensIsolate(character)) open.push(character);
    else if (character === isolateEnd) open.pop();
  }
  return open.join("");
}
