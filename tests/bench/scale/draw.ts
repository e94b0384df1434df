/** The charts of docs/scale.md, from the figures. */
import { writeFileSync } from "node:fs";
import { chart, type Line } from "./chart.ts";
import { type Curve, type Figures, folder } from "./figures.ts";

/** Draws docs/scale/*.svg. */
export function draw(figures: Figures): void {
  const { rows, byRows, byClients, date, machine } = figures;
  const small = `${date}, ${machine}; database, functions and load on the same cores`;
  const latency = (curves: Curve[], at: number[]): Line[] =>
    curves.map(({ path, points }) => ({
      name: path,
      points: points.map(({ p50 }, i) => [at[i]!, p50]),
      dashed: points.map(({ p95 }, i) => [at[i]!, p95]),
    }));
  const rowsAxis = { x: "rows of each table in one tenant, beside as many of another", small };
  const milliseconds = "milliseconds (line: median, dashes: p95)";
  const pages = {
    "rows-lists": chart({
      ...rowsAxis,
      title: "Lists: first page, by rows",
      y: milliseconds,
      lines: latency(byRows.filter(({ kind }) => kind === "list"), rows),
    }),
    "rows-calls": chart({
      ...rowsAxis,
      title: "Other calls, by rows",
      y: milliseconds,
      lines: latency(byRows.filter(({ kind }) => kind === "other"), rows),
    }),
    "clients-latency": chart({
      small,
      title: "Time to an answer, by clients",
      x: "clients asking at once, one function process",
      y: milliseconds,
      lines: latency(byClients, figures.clients),
    }),
    "clients-throughput": chart({
      small,
      title: "Answers a second, by clients",
      x: "clients asking at once, one function process",
      y: "answers a second",
      lines: byClients.map(({ path, points }) => ({
        name: path,
        points: points.map(({ perSecond }, i) => [figures.clients[i]!, perSecond!]),
      })),
    }),
  };
  for (const [name, svg] of Object.entries(pages)) writeFileSync(`${folder}${name}.svg`, svg);
}
