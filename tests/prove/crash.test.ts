/**
 * Crashes under load: Postgres and the functions are killed, sessions are ended, connections cut in questions and answers,
 * while many clients make every call that moves money or stock. What a client was told is in the database exactly once,
 * and nothing else is; every answer is one to its own question; afterwards all invariants hold.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import { randomFrom } from "../contract/hostile.ts";
import { Caller, lanes, untilAllEnd } from "./caller.ts";
import { Facts } from "./facts.ts";
import { allBreaches } from "./invariants.ts";
import { leadingTo } from "./leads.ts";
import { Actor, operations } from "./operations.ts";
import { figure, of, say, seed, size } from "./proof.ts";
import { saveSettings } from "../support/people.ts";
import { startWorld, type World } from "./world.ts";

const clients = 24;
/** Calls of the brief form; within them each kind of fault has its place, and the clock has none. */
const callsInBrief = 60;
const faultsInBrief = ["wires", "sessions", "functions", "postgres", "wires"] as const;
/** No more calls than these lead, when time is up, to kinds of facts that were not reported by then. */
const callsToFacts = 5_000;
const random = randomFrom(seed);
const seconds = of({ test: 10, short: 40, full: 600 });
/** The figures that the full form asks for; on a slow machine it continues until it has them, for so long at most. */
const asked = { postgres: 50, functions: 25, sessions: 200, wires: 5_000, calls: 80_000 };
const moreSeconds = of({ test: 0, short: 0, full: 480 });
const recoveryMs = 5_000;
/**
 * How often, in milliseconds: at random, half as often to twice. In full no more often than the figures ask for, since
 * each new connection to Postgres begins without plans.
 */
const every = of({
  test: { postgres: 3_000, functions: 2_500, sessions: 800, wires: 300 },
  short: { postgres: 6_000, functions: 7_000, sessions: 2_500, wires: 900 },
  full: { postgres: 10_400, functions: 18_000, sessions: 20_000, wires: 1_700 },
});

let world: World;
const count = { postgres: 0, functions: 0, sessions: 0, wires: 0 };
const kinds = ["postgres", "functions", "sessions", "wires"] as const;
const recoveries: number[] = [];

beforeAll(async () => {
  world = await startWorld({
    wires: true,
    customers: 12,
    drivers: 8,
    env: { BARID_DB_POOL: "4" },
  });
  // Desks have queues, which break off as all else.
  await saveSettings(world.places[0].id, "delivery.payouts", { release: "on_bank" });
}, 120_000);
/** The work of clients and of faults: a test that ran out of time does not wait for it, and the next one must not meet it. */
let running: Promise<unknown> = Promise.resolve();
afterAll(async () => {
  await running.catch(() => {});
  await world?.stop();
});

/** True while the return of Postgres is measured: no other fault is made then. */
let measuring = false;

/** Kills Postgres, starts it again, and measures from its first word to the first answer of the functions. */
async function killPostgres(): Promise<void> {
  measuring = true;
  try {
    while (world.stack.workers.pids.length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await killAndMeasure();
  } finally {
    measuring = false;
  }
}

async function killAndMeasure(): Promise<void> {
  await world.stack.postgres.kill();
  await world.stack.postgres.restart();
  const ready = performance.now();
  const { admin, drivers } = world.places[0];
  const probe = new Caller(() => world.stack.workers.candidates(), false);
  await probe.surely({
    token: admin.token,
    method: "GET",
    path: `/delivery/wallets/${drivers[0].wallet}/transactions`,
    key: false,
  });
  recoveries.push(performance.now() - ready);
  count.postgres++;
}

async function fault(kind: keyof typeof count): Promise<void> {
  if (kind === "postgres") return await killPostgres();
  if (kind === "functions") {
    world.stack.killWorker(count.functions++ % 2);
    return;
  }
  if (kind === "sessions") {
    // Of this stack, whatever builders are about by now.
    const ended = await world.stack.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where usename = 'barid_api'`.catch(() => []);
    count.sessions += ended.length;
    return;
  }
  // Postgres' connections end by its kills and by the sessions' ends too; those of the clients only here.
  const inFront = world.functions[Math.floor(random() * world.functions.length)];
  const wire = random() < of({ test: 0.3, short: 0.3, full: 0.05 }) ? world.database! : inFront;
  const faults = [
    () => wire.cutAll(),
    () => wire.cutInAnswers(),
    () => wire.cutInQuestions(),
    () => wire.delay(50 + random() * 250),
  ];
  count.wires += faults[Math.floor(random() * faults.length)]();
}

/** Until every connection of our own to Postgres is a new one: the last fault may have broken them. */
async function reconnected(): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      await Promise.all(Array.from({ length: 4 }, () => sql`select pg_sleep(0.05)`));
      return;
    } catch (error) {
      if (attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

test(
  `${
    size === "brief" ? `${callsInBrief} calls` : `${seconds} s`
  } of crashes under ${clients} clients: nothing lost, nothing doubled, nothing mixed up (seed ${seed})`,
  async ({ signal }) => {
    const [place] = world.places;
    const caller = new Caller(world.ports, false);
    const facts = new Facts();
    const actor = new Actor(place, caller, facts);
    const steps = operations(seed);
    const until = performance.now() + seconds * 1000;
    let calls = 0;
    let led = 0;
    const hasAll = () =>
      facts.acknowledged >= asked.calls && kinds.every((kind) => count[kind] >= asked[kind]);
    const isTimeUp = () =>
      performance.now() >= until &&
      (hasAll() || performance.now() >= until + moreSeconds * 1000);
    // It lasts until each kind of fact was reported once, whatever was drawn; without faults from when time is up.
    const going = () =>
      !signal.aborted &&
      (size === "brief"
        ? calls < callsInBrief
        : !isTimeUp() || facts.never().length > 0 && led < callsToFacts);
    const next = () => {
      const missing = size === "brief" || !isTimeUp() ? [] : facts.never();
      return missing.length
        ? leadingTo(missing[led++ % missing.length], steps)
        : steps.next().value!;
    };
    const places = new Map(
      faultsInBrief.map((kind, n) => [
        Math.round((n + 1) * callsInBrief / (faultsInBrief.length + 1)),
        kind,
      ]),
    );
    const work = async () => {
      const kind = places.get(++calls);
      const trouble = size === "brief" && kind ? fault(kind) : undefined;
      await Promise.all([actor.run(next()), trouble]);
    };
    const trouble = async (kind: keyof typeof count, failed: () => boolean) => {
      for (;;) {
        await new Promise((resolve) =>
          setTimeout(resolve, every[kind] * (0.5 + 1.5 * random()) * 0.8)
        );
        if (failed() || signal.aborted || isTimeUp()) return;
        if (!measuring) await fault(kind);
      }
    };
    // Does the work of autovacuum: its change counters are lost at every crash, so it never runs here.
    const housekeeping = setInterval(
      () => void sql`vacuum analyze`.catch(() => say("Postgres was killed under its housekeeping")),
      30_000,
    );
    const progress = setInterval(
      () => say(`${facts.acknowledged} acknowledged, ${JSON.stringify(count)}`),
      30_000,
    );
    running = untilAllEnd([
      (failed) => lanes(clients, () => !failed() && going(), work),
      ...(size === "brief" ? [] : kinds).map((kind) => (failed: () => boolean) =>
        trouble(kind, failed)
      ),
    ]).finally(() => {
      clearInterval(progress);
      clearInterval(housekeeping);
    });
    await running;
    await reconnected();
    // PostgreSQL's change counters are lost at a crash, so the tables were never analysed.
    await sql`analyze`;
    const { facts: told, lost, doubled, unacknowledged } = await facts.compare(place.id);
    const breaches = await allBreaches(sql);
    say(`${facts.acknowledged} acknowledged, ${told} facts, ${JSON.stringify(count)}`);
    const zero = (what: string, list: string[]) =>
      figure({ what, asked: "0", reached: list.length, holds: list.length === 0 });
    const atLeast = (what: string, reached: number, bound: number) =>
      figure({
        what,
        asked: `at least ${bound}`,
        reached,
        holds: reached >= bound || size !== "full",
      });
    atLeast("Postgres killed", count.postgres, asked.postgres);
    atLeast("function processes killed", count.functions, asked.functions);
    atLeast("sessions ended", count.sessions, asked.sessions);
    atLeast("connections cut or held up", count.wires, asked.wires);
    atLeast("calls acknowledged", facts.acknowledged, asked.calls);
    const never = facts.never();
    const said = Object.entries(facts.said).sort(([, a], [, b]) => b - a);
    figure({
      what: `kinds of facts that nobody was told of, of ${said.length + never.length}: ${
        said.map(([kind, n]) => `${kind} ${n}`).join(", ")
      }`,
      asked: "0",
      reached: never.length,
      holds: never.length === 0 || size === "brief",
    });
    zero("acknowledged and lost", lost);
    zero("done twice", doubled);
    zero("done without anybody being told", unacknowledged);
    zero("answers to another question", facts.wrong);
    zero("invariants broken", breaches);
    for (const list of [facts.wrong, lost, doubled, unacknowledged, breaches]) {
      expect(list, list.slice(0, 5).join("\n")).toEqual([]);
    }
    // The brief form has fewer calls than lead to all of them.
    expect(size === "brief" ? [] : never).toEqual([]);
    expect(facts.acknowledged).toBeGreaterThan(seconds);
  },
  (seconds + moreSeconds) * 1000 + 180_000,
);

test(
  "ten kills of Postgres in a row: the first answer comes within five seconds of its return",
  async () => {
    for (let kill = 0; kill < of({ brief: 1, test: 2, short: 5, full: 10 }); kill++) {
      await killPostgres();
    }
    const slowest = Math.round(Math.max(...recoveries));
    figure({
      what:
        `slowest first answer after Postgres accepts connections, ms (${recoveries.length} kills)`,
      asked: `at most ${recoveryMs}`,
      reached: slowest,
      holds: slowest <= recoveryMs,
    });
    // The bound is for a machine that does nothing else; a test run shares it, and has seen that all is well again.
    if (size === "full") expect(slowest).toBeLessThanOrEqual(recoveryMs);
  },
  180_000,
);
