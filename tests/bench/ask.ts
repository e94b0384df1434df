/** Asking an endpoint over and over, and how long it takes. */
import { performance } from "node:perf_hooks";
import type { Bench } from "./bench-stack.ts";
import { percentiles } from "./load.ts";

/** Asks with GET and reads the answer, which has to be a good one. */
export async function get({ stack, token }: Bench, path: string): Promise<void> {
  await send(`${stack.apiUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
}

/** The same with POST and a body in JSON. */
export async function post({ stack, token }: Bench, path: string, body: string): Promise<void> {
  await send(`${stack.apiUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body,
  });
}

async function send(url: string, request: RequestInit): Promise<void> {
  const response = await fetch(url, request);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${response.status} ${url}`);
}

/** Milliseconds below which 95 of a hundred askings lie; the first ten do not count. */
export async function p95(ask: (i: number) => Promise<unknown>, times = 200): Promise<number> {
  const took: number[] = [];
  for (let i = -10; i < times; i++) {
    const ms = await timed(() => ask(Math.abs(i)));
    if (i >= 0) took.push(ms);
  }
  return percentiles(took).p95;
}

/** Milliseconds a piece of work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
