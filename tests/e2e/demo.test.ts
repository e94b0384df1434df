/** `npm run demo` as people run it, on a stack with the demo data: what it counts is what Barid says, and a row that is gone is noticed. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Stack } from "../../supabase/local/stack.ts";
import { readOptions } from "../demo/options.ts";
import { UsageFailure } from "../../supabase/local/command-line.ts";
import { Failure } from "../../supabase/local/failure.ts";
import { planOf } from "../demo/plan.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { startValidatingProxy, type ValidatingProxy } from "../support/validating-proxy.ts";

let stack: Stack;
let proxy: ValidatingProxy;
beforeAll(async () => {
  stack = await startOwnStack({ schedules: true, seed: true, env: { BARID_LOG_LEVEL: "error" } });
  proxy = await startValidatingProxy(stack.url);
});
afterAll(async () => {
  proxy?.close();
  await stack?.stop();
});

interface Ended {
  code: number | null;
  printed: string;
  printedErrors: string;
}

/** A day of its own process; `onLine` hears each line of its progress. */
function demo(
  seed: number,
  more: string[] = [],
  onLine: (line: string) => void = () => {},
): Promise<Ended> {
  const child = spawn("node", [
    "--import",
    "tsx",
    "tests/demo/index.ts",
    ...["--url", proxy.url, "--publishable-key", stack.publishableKey],
    ...["--deliveries", "40", "--drivers", "3", "--seed", String(seed)],
    ...more,
  ]);
  const ended = { printed: "", printedErrors: "" };
  child.stdout.on("data", (text) => ended.printed += text);
  child.stderr.on("data", (text) => {
    ended.printedErrors += text;
    onLine(String(text));
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, ...ended })));
}

test("live, drivers move through the town, are heard of on the board, and leave nothing on it", async () => {
  const { code, printed, printedErrors } = await demo(3, [
    ...["--live", "--speed", "100", "--deliveries", "2", "--drivers", "2"],
  ]);
  expect(code, printed + printedErrors).toBe(0);
  expect(printed).toMatch(
    /^2 of 2 delivered, [\d.]+ km, [1-9]\d* positions, heard in [1-9]\d* messages, 0 stops left$/m,
  );
  expect(printedErrors).toMatch(/on duty 2 +moving [12] +stops left [12]/);
});

test("a day on which parcels end in all ways adds up", async () => {
  const size = { deliveries: 150, drivers: 3 };
  const ends = new Set(planOf(23, size, true).orders.map(({ outcome }) => outcome));
  expect(ends.size).toBe(10);
  const day = await demo(23, ["--deliveries", String(size.deliveries)]);
  expect(day.code, day.printed + day.printedErrors).toBe(0);
  expect(day.printed).not.toContain("differs");
}, 300_000);

test("the same seed ends in the same totals", async () => {
  const first = await demo(7);
  expect(first.printedErrors).toContain("bulk scans: search, validate, destination");
  expect(first.code, first.printed + first.printedErrors).toBe(0);
  expect(first.printed).toMatch(/^cash collected +[1-9][\d,]+ +[1-9][\d,]+$/m);
  expect(first.printed).toMatch(/^ {2}stated, to be paid +[1-9][\d,]+ +[1-9][\d,]+$/m);
  expect(first.printed).not.toContain("differs");
  // A list of each kind shows something.
  expect(await stack.sql`select distinct status from money.merchant_statements order by status`)
    .toEqual([{ status: "open" }, { status: "paid" }, { status: "void" }]);

  const again = await demo(7, ["--quiet"]);
  expect(again).toEqual({ code: 0, printed: first.printed, printedErrors: "" });
}, 300_000);

test("no call of those days differs from the API's document", () => {
  expect([...proxy.differences]).toEqual([]);
  expect(proxy.calls).toBeGreaterThan(500);
  expect(proxy.operations.size).toBeGreaterThan(50);
});

test("a row of cash that is gone is named, and the day has failed", async () => {
  let gone: Promise<{ amount: string; driver: string } | undefined> | undefined;
  // Before the warehouse's and the store's part of the day: long before anybody counts cash.
  const { code, printed, printedErrors } = await demo(8, [], (line) => {
    if (line.includes("first round")) gone ??= removeOne();
  });
  const row = await gone;
  expect(row).toBeDefined();
  expect(code, printed + printedErrors).toBe(1);
  expect(printed).toMatch(/^rows of cash .*differs$/m);
  expect(printedErrors).toContain(`cash collected, ${row!.driver}: counted `);
  expect(printedErrors).toContain("differences in the reconciliation: counted 0, Barid says ");
}, 300_000);

/** Takes away the newest row of cash, past every guard. */
async function removeOne() {
  return await stack.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    const [row] = await sql<{ amount: string; driver: string }[]>`
      with gone as (
        delete from money.cod_collections where id = (
          select id from money.cod_collections order by collected_at desc, id limit 1)
        returning amount, driver_id)
      select gone.amount, p.full_name as driver from gone join tenancy.profiles p on p.id = gone.driver_id`;
    return row;
  });
}

test("what it is asked is read strictly, and without a stack it says what to do", () => {
  const nobody = mkdtempSync(join(tmpdir(), "barid-nobody-"));
  onTestFinished(() => rmSync(nobody, { recursive: true }));
  const reading = (...args: string[]) => () => readOptions(args, nobody);
  expect(reading()).toThrow(
    new Failure("Barid is not running here: start it with npm start, in another terminal."),
  );
  expect(reading("--deliveries", "many")).toThrow(UsageFailure);
  expect(reading("--drivers", "1")).toThrow("from 2 to 500");
  expect(reading("--unknown")).toThrow("--help lists");
  expect(reading("--url", "http://127.0.0.1:1")).toThrow("--publishable-key");
});

test("a plan is its seed's: the same again, another one otherwise", () => {
  const size = { deliveries: 200, drivers: 5 };
  expect(planOf(3, size, true)).toEqual(planOf(3, size, true));
  expect(planOf(3, size, true)).not.toEqual(planOf(4, size, true));
  const { manifests, orders } = planOf(3, size, true);
  expect(manifests.flatMap(({ items }) => items).length + orders.length).toBe(200);
});
