/** The tables of docs/scale.md, written from the figures between two marks; what stands around them is written by hand. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { clients, type Figures, type Point } from "./figures.ts";

const file = fileURLToPath(new URL("../../../docs/scale.md", import.meta.url));
const [begins, ends] = ["<!-- figures -->", "<!-- end of figures -->"];

/** How often each is asked for in the life of a delivery, in the example. */
const perDelivery: Record<string, number> = {
  "set-destination of 20": 1 / 20,
  "bulk assignment of 20": 1 / 20,
  "package scan": 3,
  "delivery detail": 6,
  "delivery list": 2,
  "changes after a cursor": 1,
  "settlement of one": 1,
};
const deliveriesADay = 100_000;
/** Of a day, what its busiest hour has. */
const busiestHour = 0.15;

export function writePage(figures: Figures): void {
  const page = readFileSync(file, "utf8");
  const [before, after] = [page.indexOf(begins), page.indexOf(ends)];
  if (before < 0 || after < before) throw new Error(`${file} has no place for figures`);
  writeFileSync(
    file,
    `${page.slice(0, before)}${begins}\n\n${tables(figures)}\n\n${page.slice(after)}`,
  );
}

function tables(figures: Figures): string {
  const { date, commit, machine, rows, disk } = figures;
  const most = rows.at(-1)!.toLocaleString("en");
  const costs = costsOf(figures);
  const core = coreSeconds(costs);
  return [
    `Measured on ${date} at commit ${commit}; ${machine}. ${most} rows of each table in one tenant, as many in another.`,
    "",
    "| one answer | median, ms | p95, ms | CPU in Postgres, ms | CPU in the function, ms | a second and core of Postgres |",
    "| --- | --- | --- | --- | --- | --- |",
    ...[...costs].map(([path, { p50, p95, databaseCpu, workerCpu }]) =>
      `| ${path} | ${p50} | ${p95} | ${databaseCpu} | ${workerCpu} | ${
        databaseCpu > 0 ? Math.floor(1000 / databaseCpu) : "not measurable"
      } |`
    ),
    "",
    "| one row | bytes with indexes | of them indexes |",
    "| --- | --- | --- |",
    ...disk.map(({ table, bytesPerRow, indexBytesPerRow }) =>
      `| \`${table}\` | ${bytesPerRow.toLocaleString("en")} | ${
        indexBytesPerRow.toLocaleString("en")
      } |`
    ),
    "",
    `**A company with ${deliveriesADay.toLocaleString("en")} deliveries a day**, each asking for: ${
      Object.entries(perDelivery).map(([path, often]) => `${path} ${often} times`).join(", ")
    }. That is ${core.database.toFixed(3)} core-seconds of Postgres and ${
      core.worker.toFixed(3)
    } of functions a delivery; in its busiest hour, with ${busiestHour * 100} % of a day, **${
      inBusiestHour(core.database)
    } cores of Postgres** and ${inBusiestHour(core.worker)} of functions.`,
  ].join("\n");
}

/** The point of eight clients, or the last there is. */
export function atEight(points: Point[]): Point {
  return points[Math.min(clients.indexOf(8), points.length - 1)]!;
}

/** By rows as at the most rows; by clients as at eight. */
function costsOf({ byRows, byClients }: Figures): Map<string, Point> {
  return new Map([
    ...byRows.map(({ path, points }) => [path, points.at(-1)!] as const),
    ...byClients.map(({ path, points }) => [path, atEight(points)] as const),
  ]);
}

function coreSeconds(costs: Map<string, Point>): { database: number; worker: number } {
  const sum = { database: 0, worker: 0 };
  for (const [path, often] of Object.entries(perDelivery)) {
    const cost = costs.get(path);
    if (!cost) throw new Error(`${path} was not measured`);
    sum.database += often * cost.databaseCpu / 1000;
    sum.worker += often * cost.workerCpu / 1000;
  }
  return sum;
}

function inBusiestHour(coreSeconds: number): string {
  return (coreSeconds * deliveriesADay * busiestHour / 3600).toFixed(2);
}
