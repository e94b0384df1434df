/** Settlements over HTTP as fast as they go: tokens, row-level security, keys, events, receipts queued; fsync on. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bench, startBench } from "../bench/bench-stack.ts";
import { people } from "../bench/cod/rows.ts";
import { prepare, settleOverHttp } from "../bench/cod/settlements.ts";
import { figure, of, say } from "./proof.ts";

const seconds = of({ test: 3, short: 15, full: 60 });
const clients = 32;
const rowCount = of({ test: 5_000, short: 20_000, full: 80_000 });

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ BARID_DB_POOL: "4" });
  await people(bench);
  await prepare(bench, rowCount);
}, 600_000);
afterAll(() => bench?.stop());

test(`${seconds} s of settlements over ${clients} connections`, async () => {
  const { stack } = bench;
  const rows = await stack.sql<{ id: string }[]>`select id from bench.rows order by n`;
  const settle = settleOverHttp(bench, rows, clients);
  // Statistics as of a database in service: without them it plans for empty tables, and autovacuum comes by once a minute.
  const first = await settle(seconds / 12);
  await stack.sql`vacuum analyze`;
  const result = await settle(seconds);
  say(JSON.stringify(result));
  figure({
    what: `settlements a second over HTTP, ${clients} clients, one function process`,
    asked: "at least 400",
    reached: Math.round(result.perSecond),
    holds: result.perSecond >= 400,
  });
  figure({
    what: "p99, ms",
    asked: "at most 250",
    reached: Math.round(result.p99),
    holds: result.p99 <= 250,
  });
  figure({ what: "5xx", asked: "0", reached: result.faults, holds: result.faults === 0 });
  const [{ n }] = await stack
    .sql`select count(*)::int as n from money.cod_settlements where scope = 'selected' and tenant_id = ${bench.tenantId}
      and payment_id in (select settlement_payment_id from money.cod_collections c join bench.rows r on r.id = c.id)`;
  expect(first.notOk + result.notOk).toBe(0);
  expect(n).toBe(first.answers + result.answers);
  expect(await stack.sql`select * from money.verify_books()`).toEqual([]);
}, 300_000);
