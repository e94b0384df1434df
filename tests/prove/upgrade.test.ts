/**
 * A database of each released version is upgraded by the real CLI during a day of work: the functions of that
 * version on the old schema, then on the new one, then today's functions. The demo makes the calls; it fails at an answer
 * that it does not expect, and compares what it counted with the reports.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCli } from "../../supabase/deploy/cli.ts";
import { push } from "../../supabase/deploy/steps/database.ts";
import { root } from "../../supabase/local/paths.ts";
import { startStack } from "../../supabase/local/stack.ts";
import { remote } from "../deploy/cli.ts";
import { checkOut, hasCommit } from "../support/checkout.ts";
import { demoIn, keepUtc } from "../support/demo-in.ts";
import { type StackIn, startStackIn } from "../support/stack-in.ts";
import { releases } from "../tools/migrations/releases.ts";
import { allBreaches } from "./invariants.ts";
import { figure, of, say, seed } from "./proof.ts";

const deliveries = of({ test: 30, short: 60, full: 600 });
/** The demos of these versions count as returned what only came back into a warehouse; a short day has none of it. */
const miscounting = ["1.0.0", "1.1.0"];
/** As Barid did then, these demos add the fee of a store's order in cash to the value that its driver delivered, although its COD has it. */
const countingTwice = ["1.0.0", "1.1.0", "1.2.0"];
/** The update from these may undo a call that is under way at one of three moments, which ends the demo's day (decision 0076). */
const undoing = ["1.0.0", "1.1.0"];
/** The update from these may break off a call that looks up zones, which these answer as a fault (decision 0086). */
const maskingClashes = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"];

test("each version was released once", () => {
  const versions = releases().map(({ version }) => version);
  expect(new Set(versions).size).toBe(versions.length);
});

describe.each(releases())("from $version", ({ version, commit }) => {
  const there = hasCommit(commit);
  const deliveriesThen = miscounting.includes(version) ? Math.min(deliveries, 30) : deliveries;
  let old: { dir: string; remove(): void };
  let stack: StackIn;
  let sql: postgres.Sql;
  beforeAll(async () => {
    if (!there) return;
    old = checkOut(commit);
    stack = await startStackIn(old.dir);
    sql = postgres(stack.state.db_url, { max: 2, onnotice: () => {} });
    await keepUtc(sql);
  });
  afterAll(async () => {
    await sql?.end();
    await stack?.stop();
    old?.remove();
  });

  test.skipIf(!there)("no call fails while the schema changes under the functions", async () => {
    const day = demoIn(old.dir, stack.state, { deliveries: deliveriesThen, seed });
    await setTimeout(2_000);
    const waits = watchLocks(sql);
    const held = holdCalls(stack.state.db_url);
    const pushes = await push(openCli(root, process.env), remote(stack.state.db_url), say)
      .finally(held.stop);
    const longest = await waits.stop();
    const { printed, ...ended } = await day;
    const errors = stack.lines.filter((line) => line.includes('"level":"error"'));
    const mayUndo = undoing.includes(version) ||
      maskingClashes.includes(version) && zonesClashed(old.dir);
    const undone = mayUndo && /^\/\S+: 500 internal_server_error/m.exec(printed);
    if (!undone) {
      expect(faultsOf(version, { printed, ...ended }), [...errors, printed].join("\n")).toEqual([]);
    }
    const calls = undone ? `undone: ${undone[0]}` : printed.match(/^\d+ calls.*$/m)?.[0];
    say(`${version}: ${calls}, the longest wait for a lock ${longest} ms, ${pushes} push(es)`);
    figure({
      what: `longest wait of a call for a lock during the upgrade from ${version}, ms`,
      asked: "at most 2000",
      reached: longest,
      holds: longest <= 2_000,
    });
  }, of({ test: 300_000, short: 600_000, full: 1_800_000 }));

  test.skipIf(!there)("the functions of that version work on the new schema", async () => {
    const ended = await demoIn(old.dir, stack.state, {
      deliveries: deliveriesThen,
      seed: seed + 1,
    });
    expect(faultsOf(version, ended), ended.printed).toEqual([]);
  }, of({ test: 300_000, short: 600_000, full: 1_800_000 }));

  test.skipIf(!there)(
    "today's functions continue with the same data, and every invariant holds",
    async () => {
      await stack.stop();
      const now = await startStack({
        dataDir: join(old.dir, ".barid"),
        port: 0,
        dbPort: 0,
        env: { BARID_LOG_LEVEL: "error" },
      });
      try {
        const { code, printed } = await demoIn(root, {
          url: now.url,
          publishable_key: now.publishableKey,
        }, { deliveries, seed: seed + 2 });
        expect(code, printed).toBe(0);
        expect(await allBreaches(now.sql)).toEqual([]);
      } finally {
        await now.stop();
      }
    },
    of({ test: 300_000, short: 600_000, full: 1_800_000 }),
  );
});

/** True when Postgres broke off a call that looked up zones: the functions before 1.6.0 made a fault of it. */
function zonesClashed(dir: string): boolean {
  const log = readFileSync(join(dir, ".barid", "logs", "postgres.log"), "utf8");
  return /the zones of deliveries cannot be read: 40P01/.test(log);
}

/** The differences that the demo of a version found, or that it failed; without those of values that it counts twice itself. */
function faultsOf(version: string, { code, printed }: { code: number | null; printed: string }) {
  if (code === 0) return [];
  const differences = printed.split("\n").filter((line) => differs.test(line));
  if (differences.length === 0) return [`ended with ${code}`];
  return differences.filter((line) => {
    const [, what, counted, found] = differs.exec(line)!;
    const twice = what!.startsWith("  value delivered, ") && amount(counted!) > amount(found!);
    return !(countingTwice.includes(version) && twice);
  });
}
const differs = /^(.*): counted ([\d.,-]+), Barid says ([\d.,-]+)$/;
const amount = (text: string) => Number(text.replaceAll(",", ""));

/**
 * Stops the calls where they are for a moment, again and again, each time at another table that they write: so there are calls
 * in the middle of their functions when a migration replaces these. One that ends within its moment would meet none.
 */
function holdCalls(url: string): { stop(): Promise<void> } {
  const tables = [
    "delivery.deliveries",
    "delivery.assignments",
    "money.payments",
    "storefront.storefront_orders",
  ];
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  let done = false;
  const holding = (async () => {
    for (let turn = 0; !done; turn++) {
      await sql.begin(async (t) => {
        await t`set local lock_timeout = '100ms'`;
        await t.unsafe(`lock table ${tables[turn % tables.length]} in exclusive mode`);
        await setTimeout(300);
      }).catch((error: postgres.PostgresError) => {
        if (!["55P03", "40P01"].includes(error.code)) throw error;
      });
      await setTimeout(50);
    }
  })();
  return {
    async stop() {
      done = true;
      await holding.finally(() => sql.end());
    },
  };
}

/** Asks every few milliseconds who waits for a lock; `stop` answers the longest wait of a call, in milliseconds. */
function watchLocks(sql: postgres.Sql): { stop(): Promise<number> } {
  let done = false;
  const watching = (async () => {
    let longest = 0;
    while (!done) {
      const [{ ms }] = await sql`
        select coalesce(max(extract(epoch from clock_timestamp() - l.waitstart) * 1000), 0)::integer as ms
        from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.usename = 'barid_api'`;
      longest = Math.max(longest, ms);
      await setTimeout(10);
    }
    return longest;
  })();
  return {
    stop: () => {
      done = true;
      return watching;
    },
  };
}
