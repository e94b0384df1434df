/** Runs each statement of the cash benchmark once, so that it stays valid for the database. */
import { afterAll, beforeAll, expect, test } from "vitest";
import postgres from "postgres";
import { type Bench, startBench } from "../bench-stack.ts";
import { people } from "./rows.ts";
import { coreAlone, plainly, prepare, wholeCall } from "./settlements.ts";

let bench: Bench;
let api: postgres.Sql;
beforeAll(async () => {
  bench = await startBench();
  await people(bench);
  await prepare(bench, 200);
  api = postgres(bench.stack.apiDbUrl, { max: 1 });
}, 180_000);
afterAll(async () => {
  await api?.end();
  await bench?.stop();
});

const settled = async () =>
  (await bench.stack.sql`select count(*)::int as n from money.cod_settlements
    where tenant_id = ${bench.tenantId}`)[0].n;

test.each(
  (["cashier", "driver"] as const).flatMap((who) => [
    ["the core alone", who, coreAlone] as const,
    ["the whole call", who, wholeCall] as const,
    ["plain statements", who, plainly] as const,
  ]),
)("%s by the %s settles one collection", async (_, who, statement) => {
  const before = await settled();
  // pgbench sends what stands between these as one message, as this does.
  await api.unsafe(statement(bench, who).replaceAll("\\;", ";")).simple();
  expect(await settled()).toBe(before + 1);
});
