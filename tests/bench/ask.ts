/** Asking an endpoint over and over, and how long it takes. */
import { performance } from "node:perf_hooks";
import type { Bench } from "./bench-stack.ts";
import { percentiles } from "./load.ts";
import type { Report } from "./report.ts";

type Who = Pick<Bench, "stack" | "token">;
/** One asking of many; `i` is its number. */
export type Ask = (i: number) => Promise<unknown>;

/** Asks with GET and reads the answer, which has to be a good one. */
export async function get({ stack, token }: Who, path: string): Promise<void> {
  await send(`${stack.apiUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
}

/** The same with POST and a body that is sent as JSON. */
export async function post({ stack, token }: Who, path: string, body: unknown): Promise<void> {
  await send(`${stack.apiUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function send(url: string, request: RequestInit): Promise<void> {
  const response = await fetch(url, request);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${response.status} ${url}`);
}

/** Milliseconds that each of `times` askings took, one after the other; `warmUp` before them do not count. */
export async function times(ask: Ask, times = 200, warmUp = 20): Promise<number[]> {
  const took: number[] = [];
  for (let i = -warmUp; i < times; i++) {
    const ms = await timed(() => ask(Math.abs(i)));
    if (i >= 0) took.push(ms);
  }
  return took;
}

/** Milliseconds below which 95 of a hundred askings lie. */
export async function p95(ask: Ask, count?: number): Promise<number> {
  return percentiles(await times(ask, count)).p95;
}

/** The same of several kinds of asking. */
export async function p95s(asks: Record<string, Ask>): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [kind, ask] of Object.entries(asks)) found[kind] = await p95(ask);
  return found;
}

/** Milliseconds a piece of work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Notes what was measured of few and of many rows, and asks that many cost at most twice what few do. */
export function compareRows(
  report: Report,
  { few, many, rows, of }: {
    few: Record<string, number>;
    many: Record<string, number>;
    rows: [few: number, many: number];
    of: string;
  },
): void {
  const [least, most] = rows.map((count) => count.toLocaleString("en"));
  for (const [kind, before] of Object.entries(few)) {
    const after = many[kind]!;
    report.note(
      `${kind}: p95 ${before.toFixed(1)} ms on ${least} ${of}, ${after.toFixed(1)} ms on ${most}`,
    );
    report.ratio({
      what: `${kind}: p95 on ${most} ${of} against ${least}`,
      value: after / before,
      atMost: 2,
    });
  }
}
