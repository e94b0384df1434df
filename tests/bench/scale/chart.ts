/** A line chart with logarithmic axes as one SVG that can be read on light and on dark pages. */
import { scaleLog } from "d3-scale";

export interface Line {
  name: string;
  points: [x: number, y: number][];
  /** A second line of the same thing, drawn with dashes. */
  dashed?: [x: number, y: number][];
}

export interface Chart {
  title: string;
  /** The labels of the axes, with units. */
  x: string;
  y: string;
  /** In small letters below: when and where it was measured. */
  small: string;
  lines: Line[];
}

const width = 860;
const height = 440;
const margin = { left: 70, right: 220, top: 48, bottom: 86 };
/** Told apart by people who see few colours, too (after Okabe and Ito), and by their marks. */
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9"];

export function chart({ title, x, y, small, lines }: Chart): string {
  const all = lines.flatMap(({ points, dashed = [] }) => [...points, ...dashed]);
  const across = scaleLog().domain(extent(all.map(([at]) => at)))
    .range([margin.left, width - margin.right]);
  const up = scaleLog().domain(extent(all.map(([, value]) => value))).nice()
    .range([height - margin.bottom, margin.top]);
  const [right, bottom] = [width - margin.right, height - margin.bottom];
  const places = [...new Set(all.map(([at]) => at))].sort((a, b) => a - b);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${
      safe(title)
    }">`,
    style,
    `<rect class="page" fill="#ffffff" width="${width}" height="${height}" rx="6"/>`,
    text(margin.left, 28, title, { size: 17, weight: 600 }),
    ...ticksOf(up.domain() as [number, number]).map((value) =>
      grid([margin.left, up(value)], [right, up(value)]) +
      text(margin.left - 8, up(value) + 4, shown(value), { anchor: "end" })
    ),
    ...places.map((at) =>
      grid([across(at), margin.top], [across(at), bottom]) +
      text(across(at), bottom + 18, shown(at), { anchor: "middle" })
    ),
    text((margin.left + right) / 2, bottom + 42, x, { anchor: "middle" }),
    `<g transform="translate(18 ${(margin.top + bottom) / 2}) rotate(-90)">${
      text(0, 0, y, { anchor: "middle" })
    }</g>`,
    ...lines.map(({ name, points, dashed }, i) => {
      const colour = colours[i % colours.length]!;
      const at = ([px, py]: [number, number]) => `${n(across(px))},${n(up(py))}`;
      const path = (of: [number, number][], extra = "") =>
        `<polyline fill="none" stroke="${colour}" stroke-width="2"${extra} points="${
          of.map(at).join(" ")
        }"/>`;
      const row = margin.top + 14 + i * 24;
      return [
        path(points),
        dashed ? path(dashed, ' stroke-dasharray="4 4" opacity="0.6"') : "",
        ...points.map(([px, py]) => mark(i, across(px), up(py), colour)),
        mark(i, right + 22, row - 4, colour),
        text(right + 34, row, name),
      ].join("");
    }),
    text(margin.left, height - 14, small, { size: 11, opacity: 0.75 }),
    "</svg>\n",
  ].join("\n");
}

/** On top of what the elements say themselves, since many viewers read no style sheet. */
const style = `<style>@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; } .grid { stroke: #30363d; }
}</style>`;

function extent(values: number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

/** 1, 2 and 5 times the powers of ten within the axis. */
function ticksOf([from, to]: [number, number]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    for (const step of [1, 2, 5]) ticks.push(step * 10 ** power);
  }
  return ticks.filter((value) => value >= from * 0.999 && value <= to * 1.001);
}

/** A circle, a square or a triangle. */
function mark(i: number, x: number, y: number, colour: string): string {
  const [at, down] = [n(x), n(y)];
  if (i % 3 === 0) return `<circle cx="${at}" cy="${down}" r="4" fill="${colour}"/>`;
  const shape = i % 3 === 1 ? "-4,-4 4,-4 4,4 -4,4" : "0,-5 5,4 -5,4";
  return `<polygon transform="translate(${at} ${down})" points="${shape}" fill="${colour}"/>`;
}

function grid([x1, y1]: [number, number], [x2, y2]: [number, number]): string {
  return `<line class="grid" stroke="#d8dee4" x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${
    n(y2)
  }"/>`;
}

interface Letters {
  size?: number;
  weight?: number;
  anchor?: "start" | "middle" | "end";
  opacity?: number;
}

function text(
  x: number,
  y: number,
  words: string,
  { size = 13, weight = 400, anchor = "start", opacity = 1 }: Letters = {},
): string {
  return `<text x="${n(x)}" y="${
    n(y)
  }" fill="#1f2328" fill-opacity="${opacity}" text-anchor="${anchor}" ` +
    `font-family="system-ui, sans-serif" font-size="${size}" font-weight="${weight}">${
      safe(words)
    }</text>`;
}

function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function shown(value: number): string {
  return value >= 1 ? value.toLocaleString("en") : String(Number(value.toPrecision(2)));
}

function safe(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
