/**
 * More callers than connections: everybody is answered within ten seconds, done or told to come back, and the next call is
 * normal. One tenant that floods the functions does not double the time another waits.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LoadResult } from "../bench/load.ts";
import { tally } from "../support/races.ts";
import { atOnce, type Attempt, Caller } from "./caller.ts";
import { figure, of, say } from "./proof.ts";
import { type Place, startWorld, type World } from "./world.ts";

const callers = of({ test: 200, short: 500, full: 500 });
const patienceMs = 10_000;
const seconds = of({ test: 3, short: 8, full: 30 });

let world: World;
let loud: Place;
let quiet: Place;
beforeAll(async () => {
  // Calls are counted as in production, and nobody reaches their limit.
  const limit = "1000000";
  world = await startWorld({
    tenants: 2,
    workers: 1,
    env: { BARID_DB_POOL: "10", BARID_READS_PER_MINUTE: limit, BARID_WRITES_PER_MINUTE: limit },
  });
  [loud, quiet] = world.places;
}, 120_000);
afterAll(() => world?.stop());

const adjust = (place: Place, n = 0) => ({
  token: place.admin.token,
  path: `/delivery/wallets/${place.drivers[n % place.drivers.length].wallet}/adjust`,
  body: { amount: 1, direction: "credit", reason: "many" },
});

function check(what: string, attempts: Attempt[]): void {
  const slowest = Math.round(Math.max(...attempts.map(({ from, to }) => to - from)));
  const wrong = attempts.filter(({ status, retryAfter }) =>
    status !== 200 && !(status === 503 && retryAfter)
  );
  say(`${what}: ${JSON.stringify(tally(attempts))}, slowest ${slowest} ms`);
  figure({
    what: `${what}: neither done nor 503 with Retry-After, of ${attempts.length}`,
    asked: "0",
    reached: wrong.length,
    holds: wrong.length === 0,
  });
  figure({
    what: `${what}: slowest answer, ms`,
    asked: `at most ${patienceMs}`,
    reached: slowest,
    holds: slowest <= patienceMs,
  });
  expect(tally(wrong)).toEqual({});
}

test(`${callers} callers at once on ten connections`, async () => {
  const caller = new Caller(world.ports, false);
  check("at once", await atOnce(callers, (n) => caller.once(adjust(loud, n))));
  expect((await caller.once(adjust(loud))).status).toBe(200);
}, 60_000);

test(
  `${callers} callers while all connections are held: told to come back, and the next call is normal`,
  async () => {
    const caller = new Caller(world.ports, false);
    const holder = postgres(world.stack.dbUrl, { max: 1, onnotice: () => {} });
    try {
      const wallets = loud.drivers.map(({ wallet }) => wallet);
      let release = () => {};
      const held = new Promise<void>((resolve) => release = resolve);
      const holding = holder.begin(async (tx) => {
        await tx`select from money.accounts where id = any (${wallets}) for update`;
        await held;
      });
      check("all connections held", await atOnce(callers, (n) => caller.once(adjust(loud, n))));
      release();
      await holding;
      const next = await caller.once(adjust(loud));
      expect(next.status).toBe(200);
      expect((await caller.once(adjust(quiet))).status).toBe(200);
    } finally {
      await holder.end();
    }
  },
  60_000,
);

/** So many connections that ask one question over and over, from another process. */
async function flood(place: Place, connections: number): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["--import", "tsx", fileURLToPath(new URL("flood.ts", import.meta.url))],
    JSON.stringify({
      url: `http://127.0.0.1:${world.ports()[0]}/delivery/wallets/${
        place.drivers[0].wallet
      }/transactions`,
      token: place.admin.token,
      connections,
      seconds,
    }),
  ]);
  return JSON.parse(stdout);
}

test("a tenant that floods costs another's p95 at most twice", async () => {
  // A tenant with ordinary traffic: a few people who ask at the same time.
  await flood(quiet, 8);
  const alone = await flood(quiet, 8);
  const [noise, beside] = await Promise.all([flood(loud, callers), flood(quiet, 8)]);
  const ratio = beside.p95 / alone.p95;
  say(
    `alone ${alone.p95.toFixed(1)} ms (${alone.perSecond.toFixed(0)}/s), beside ${
      beside.p95.toFixed(1)
    } ms (${beside.perSecond.toFixed(0)}/s), the flood itself ${noise.p95.toFixed(0)} ms`,
  );
  figure({
    what: "p95 of a quiet tenant beside a flood, against alone",
    asked: "at most 2",
    reached: ratio.toFixed(2),
    holds: ratio <= 2,
  });
  figure({
    what: "p95 of the flooding tenant against that of the quiet one",
    asked: "more than 1",
    reached: (noise.p95 / beside.p95).toFixed(1),
    holds: noise.p95 > beside.p95,
  });
  expect(beside.notOk).toBe(0);
  // A caller who floods is delayed by their own requests.
  expect(noise.p95).toBeGreaterThan(2 * beside.p95);
}, 120_000);
