/** Mixed load for long: memory and connections stay where they are, nothing fails, and no work is left over at the end. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryMb } from "../bench/bench-stack.ts";
import { sql } from "../support/db.ts";
import { saveSettings } from "../support/people.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { subscribe } from "../support/webhooks.ts";
import { Caller, lanes } from "./caller.ts";
import { Facts } from "./facts.ts";
import { allBreaches } from "./invariants.ts";
import { Actor, operations } from "./operations.ts";
import { figure, of, say, seed } from "./proof.ts";
import { startWorld, type World } from "./world.ts";

const seconds = of({ test: 10, short: 45, full: 30 * 60 });
/** Until then caches fill. */
const warmSeconds = of({ test: 4, short: 15, full: 5 * 60 });
const clients = 12;
/** Calls a second, together. */
const pace = 100;

let world: World;
/** Is told of everything that happens. */
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  world = await startWorld({ customers: clients, drivers: 10, schedules: true });
  await saveSettings(world.places[0].id, "delivery.payouts", { release: "on_remit" });
  await subscribe(world.places[0].tenant, receiver.url);
}, 120_000);
afterAll(async () => {
  await receiver?.close();
  await world?.stop();
});

const memory = () => world.stack.workers.pids.map((pid) => memoryMb(pid).now);
const connections = async () =>
  (await sql`select count(*)::int as n from pg_stat_activity where usename = 'barid_api'`)[0]
    .n as number;
const backlog = async () => {
  const [row] = await sql`select
    (select count(*)::int from app.jobs where status <> 'done' and run_at < now() - interval '60 seconds') as jobs,
    (select count(*)::int from money.settlement_receipts where status in ('pending', 'in_process') and created_at < now() - interval '60 seconds') as receipts,
    (select count(*)::int from integration.system_events where not is_dispatched and created_at < now() - interval '60 seconds') as events,
    (select count(*)::int from integration.webhook_events
      where status in ('pending', 'retrying') and created_at < now() - interval '60 seconds') as webhooks`;
  return row.jobs + row.receipts + row.events + row.webhooks as number;
};

test(`${seconds} s of mixed load (seed ${seed})`, async () => {
  const [place] = world.places;
  const caller = new Caller(world.ports);
  const facts = new Facts();
  const actor = new Actor(place, caller, facts);
  const steps = operations(seed);
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1000;
  const samples: { at: number; memory: number[]; connections: number }[] = [];
  const failed: string[] = [];
  const processes = [...world.stack.workers.pids];
  let asked = 0;
  let webhooks = 0;
  const sampler = setInterval(async () => {
    samples.push({ at: elapsed(), memory: memory(), connections: await connections() });
    // Each answer is checked and dropped, or this process would be what grows.
    for (const { method, path, attempts } of caller.log.splice(0)) {
      asked += attempts.length;
      for (const { status, text } of attempts) {
        if (status === 0 || status >= 500) {
          failed.push(`${method} ${path}: ${status} ${text.slice(0, 200)}`);
        }
      }
    }
    webhooks += receiver.received.splice(0).length;
    if (samples.length % 60 === 0) say(JSON.stringify({ ...samples.at(-1), asked }));
  }, 1_000);
  await lanes(clients, () => elapsed() < seconds, async () => {
    await actor.run(steps.next().value!);
    // Steps are of several calls: whoever comes early waits until all were due.
    const rest = (asked + caller.log.length) / pace - elapsed();
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest * 1000));
  });
  clearInterval(sampler);
  const until = Date.now() + of({ test: 20_000, short: 90_000, full: 180_000 });
  let left = await backlog();
  while (left > 0 && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    left = await backlog();
  }
  const mean = (list: number[]) => list.reduce((sum, n) => sum + n, 0) / Math.max(list.length, 1);
  const total = (sample: { memory: number[] }) => sample.memory.reduce((sum, n) => sum + n, 0);
  const warm = samples.filter(({ at }) => at >= warmSeconds);
  const tenth = Math.max(1, Math.floor(warm.length / 10));
  const growth = 100 *
    (mean(warm.slice(-tenth).map(total)) / mean(warm.slice(0, tenth).map(total)) - 1);
  const open = warm.map((sample) => sample.connections);
  figure({
    what: `growth of the function processes' memory after ${warmSeconds} s, %`,
    asked: "below 10",
    reached: growth.toFixed(1),
    holds: growth < 10,
  });
  figure({
    what: "connections to Postgres, least to most",
    asked: "at most 16",
    reached: `${Math.min(...open)} to ${Math.max(...open)}`,
    holds: Math.max(...open) <= 16,
  });
  figure({
    what: `5xx or no answer, of ${asked} calls`,
    asked: "0",
    reached: failed.length,
    holds: !failed.length,
  });
  figure({
    what: `jobs, receipts, events and webhooks overdue at the end, ${webhooks} webhooks sent`,
    asked: "0",
    reached: left,
    holds: left === 0,
  });
  figure({
    what: "calls a second",
    asked: of({ test: "some", short: "some", full: `at least ${0.9 * pace}` }),
    reached: Math.round(asked / seconds),
    holds: of({ test: true, short: true, full: asked / seconds >= 0.9 * pace }),
  });
  const { lost, doubled, unacknowledged } = await facts.compare(place.id);
  for (const list of [failed, facts.wrong, lost, doubled, unacknowledged, await allBreaches(sql)]) {
    expect(list.slice(0, 5)).toEqual([]);
  }
  expect(left).toBe(0);
  // Memory is that of the processes that were there at the beginning.
  expect(world.stack.workers.pids).toEqual(processes);
  expect(webhooks).toBeGreaterThan(0);
  expect(Math.max(...open)).toBeLessThanOrEqual(16);
}, seconds * 1000 + 300_000);
