/** Live dispatch: what positions of 2,000 drivers cost, the board with many drivers, and messages to many who listen. */
import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import type postgres from "postgres";
import { type Bench, startBench } from "./bench-stack.ts";
import { cpuMs } from "./cpu.ts";
import { board } from "./live-board.ts";
import { hire, sendPosition } from "./live-drivers.ts";
import { listening } from "./live-listeners.ts";
import { offers, ordering } from "./live-offers.ts";
import type { Report } from "./report.ts";

const drivers = 2_000;
/** Seconds between two reports of one driver. */
const everySeconds = 10;

export async function benchLive(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    await ordering(bench, report);
    await board(bench, report);
    const tokens = await hire(bench, drivers);
    await positions(bench, tokens, report);
    await listening(bench, { drivers, everySeconds }, report);
    await offers(bench, report);
  } finally {
    await bench.stop();
  }
}

/** Two rounds of all drivers, eight at once; what Postgres used of its processor for one report, times the reports of a second. */
async function positions(bench: Bench, tokens: string[], out: Report): Promise<void> {
  await round(bench, tokens.slice(0, 200));
  const server = await serverOf(bench.stack.sql);
  const [before, began] = [cpuOf(server), performance.now()];
  for (let n = 0; n < 2; n++) await round(bench, tokens);
  const used = cpuOf(server) - before;
  const took = performance.now() - began;
  const each = used / (2 * tokens.length);
  const aSecond = drivers / everySeconds;
  out.note(
    `a report of one position: ${each.toFixed(2)} ms of Postgres; ${
      ((2 * tokens.length) / (took / 1000)).toFixed(0)
    } reports a second`,
  );
  out.ratio({
    what: `positions of ${drivers} drivers every ${everySeconds} s: share of one core of Postgres`,
    value: (each * aSecond) / 10,
    atMost: 25,
    unit: "%",
  });
}

async function round(bench: Bench, tokens: string[]): Promise<void> {
  const waiting = tokens.entries();
  const worker = async () => {
    for (const [at, token] of waiting) await sendPosition(bench, token, at);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** The process of the server, whose children do its work. */
async function serverOf(sql: postgres.Sql): Promise<number> {
  const [{ pid }] = await sql`select pg_backend_pid() as pid`;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
  return Number(fields[1]);
}

/** Milliseconds of processor that all processes of a server have used. One that ends meanwhile is not counted. */
function cpuOf(server: number): number {
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ")[1] ===
        String(server);
    } catch {
      return false;
    }
  });
  return children.reduce((sum, pid) => sum + cpuMs(Number(pid)), 0);
}
