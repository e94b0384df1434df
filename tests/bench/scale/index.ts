/**
 * Measures the cost of the main paths as rows and requests grow. Draws docs/scale/*.svg and keeps
 * docs/scale/figures.json, and writes the tables of docs/scale.md.
 */
import { times } from "../ask.ts";
import { load, percentiles } from "../load.ts";
import { commitNow, machine, type Report } from "../report.ts";
import { cpuOf } from "./cost.ts";
import { draw } from "./draw.ts";
import {
  clients,
  type Curve,
  type Figures,
  keepFigures,
  type Point,
  type RowsCurve,
} from "./figures.ts";
import { atEight, writePage } from "./page.ts";
import { diskOf, type Ground, grow, openGround } from "./ground.ts";
import { pathsAt, settlementOf, settlementPath, unassigned, waiting } from "./paths.ts";

const smallest = 10_000;
const seconds = 2;
const perBulk = 20;

/** `most` rows of each table and tenant: 10,000, ten times as many, and so on. */
export async function benchScale(report: Report, most: number): Promise<void> {
  const rows: number[] = [];
  for (let n = smallest; n <= most; n *= 10) rows.push(n);
  const ground = await openGround();
  try {
    const byRows = await measureRows(ground, rows, report);
    const byClients = await measureClients(ground, report);
    const figures: Figures = {
      date: new Date().toISOString().slice(0, 10),
      commit: commitNow(),
      machine: machine(),
      rows,
      byRows,
      clients,
      byClients,
      disk: await diskOf(ground),
    };
    keepFigures(figures);
    draw(figures);
    writePage(figures);
  } finally {
    await ground.bench.stop();
  }
}

async function measureRows(ground: Ground, rows: number[], report: Report): Promise<RowsCurve[]> {
  const curves = new Map<string, RowsCurve>();
  let filled = 0;
  for (const count of rows) {
    await grow(ground, filled, count);
    filled = count;
    for (const { path, kind, ask, times: asks = 100 } of await pathsAt(ground, count)) {
      const { result, database, worker } = await cpuOf(ground.bench, () => times(ask, asks, 10));
      const { p50, p95 } = percentiles(result);
      const asked = asks + 10;
      const curve = curves.get(path) ?? { path, kind, points: [] };
      curve.points.push(
        rounded({ p50, p95, databaseCpu: database / asked, workerCpu: worker / asked }),
      );
      curves.set(path, curve);
      console.log(
        `       ${count} rows, ${path}: p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`,
      );
    }
  }
  for (const { path, points } of curves.values()) {
    report.note(
      `${path}: p95 ${points.map(({ p95 }) => p95.toFixed(1)).join(", ")} ms on ${
        rows.map((n) => n.toLocaleString("en")).join(", ")
      } rows`,
    );
    if (rows.length > 1) {
      report.ratio({
        what: `${path}: median on ${rows.at(-1)!.toLocaleString("en")} rows against ${
          rows[0]!.toLocaleString("en")
        }`,
        value: points.at(-1)!.p50 / points[0]!.p50,
        atMost: 2,
      });
    }
  }
  return [...curves.values()];
}

async function measureClients(ground: Ground, report: Report): Promise<Curve[]> {
  const { bench } = ground;
  const headers = { authorization: `Bearer ${bench.token}` };
  const deliveries = await unassigned(ground, 100_000);
  const [detail] = deliveries.splice(0, 1);
  const collections = await waiting(ground, 50_000);
  let next = 0;
  const asked: Record<string, { path: string; bodies?: () => string | undefined }> = {
    "delivery detail": { path: `/delivery/deliveries/${detail}` },
    "settlement of one": {
      path: settlementPath,
      bodies: () => {
        const id = collections.pop();
        return id && JSON.stringify(settlementOf(id));
      },
    },
    "bulk assignment of 20": {
      path: "/delivery/assignments/bulk",
      bodies: () => {
        const delivery_ids = deliveries.splice(-perBulk);
        if (delivery_ids.length < perBulk) return undefined;
        return JSON.stringify({
          driver_id: ground.driverIds[next++ % ground.driverIds.length],
          delivery_ids,
        });
      },
    },
  };
  const curves: Curve[] = [];
  for (const [path, { path: url, bodies }] of Object.entries(asked)) {
    const points: Point[] = [];
    for (const count of clients) {
      const { result, database, worker } = await cpuOf(
        bench,
        () => load(`${bench.stack.apiUrl}${url}`, headers, count, seconds, bodies),
      );
      const { p50, p95, perSecond, answers, notOk } = result;
      if (notOk) throw new Error(`${path}: ${notOk} answers of ${answers} were refusals`);
      // On few rows there may be nothing left to ask for.
      if (answers < count) break;
      points.push(rounded({
        p50,
        p95,
        databaseCpu: database / answers,
        workerCpu: worker / answers,
        perSecond,
      }));
    }
    if (!points.length) throw new Error(`${path}: nothing to ask for`);
    const { databaseCpu, workerCpu } = atEight(points);
    curves.push({ path, points });
    report.note(
      `${path}: ${points.map(({ perSecond }) => perSecond!.toFixed(0)).join(", ")} a second by ${
        clients.join(", ")
      } clients; CPU ${databaseCpu} ms in the database, ${workerCpu} ms in the function`,
    );
  }
  return curves;
}

function rounded(point: Point): Point {
  const entries = Object.entries(point).map((
    [name, value],
  ) => [name, Number(value.toPrecision(3))]);
  return Object.fromEntries(entries);
}
