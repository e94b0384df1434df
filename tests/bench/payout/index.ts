/** The merchant's money: one long statement, the run of a cycle while cash comes in, and what the office sees of all wallets. */
import { setTimeout as sleep } from "node:timers/promises";
import { get, p95, post, timed, times } from "../ask.ts";
import { type Bench, startBench } from "../bench-stack.ts";
import { cpuMs } from "../cpu.ts";
import { percentiles } from "../load.ts";
import type { Report } from "../report.ts";
import { fillMerchants, type Merchants } from "./rows.ts";

const merchants: Merchants = {
  owners: 1_000,
  each: 1_000,
  unstated: 100,
  inHand: 10,
  due: 500,
  long: 10_000,
};
const settlementsAlone = 200;

export async function benchPayout(report: Report): Promise<void> {
  const bench = await startBench({}, 2);
  try {
    await fillMerchants(bench, merchants);
    await balances(bench, report);
    await longStatement(bench, report);
    await cycle(bench, report);
    await reconciliation(bench, report);
  } finally {
    await bench.stop();
  }
}

/** A caller with this role of the demo. */
async function personOf({ stack }: Bench, email: string): Promise<string> {
  const [row] = await stack.sql`select u.user_id, u.tenant_id from tenancy.tenant_users u
    join tenancy.profiles p on p.id = u.user_id where p.email = ${email}`;
  return await stack.jwtSign({ sub: row!.user_id, app_metadata: { tenant_id: row!.tenant_id } });
}

async function balances(bench: Bench, report: Report): Promise<void> {
  const list = (query: string) => get(bench, `/delivery/merchant-balances?${query}`);
  for (
    const [what, query] of [
      ["first page", ""],
      ["by name", "search=Merchant%2077"],
      ["the most first", "sort_by=held&sort_order=desc"],
    ] as const
  ) {
    report.ratio({
      what: `balances of 1,000 owners over 1,000,000 movements, ${what}: p95`,
      value: await p95(() => list(query), 100),
      atMost: 100,
      unit: "ms",
    });
  }
}

/** As the check of every night compares them, and each call of the reconciliation. */
async function reconciliation({ stack: { sql }, tenantId }: Bench, report: Report): Promise<void> {
  const took = await timed(async () => {
    const found = await sql`select * from money.statement_differences(${tenantId}, now())`;
    if (found.length > 0) throw new Error(`differences: ${JSON.stringify(found.slice(0, 5))}`);
  });
  report.note(
    `the statements of these wallets reconciled, with their movements that are younger than the upgrade: ${
      (took / 1_000).toFixed(1)
    } s`,
  );
}

async function longStatement(bench: Bench, report: Report): Promise<void> {
  const [{ id }] = await bench.stack
    .sql`select id from bench.owners where each = ${merchants.long}`;
  const admin = { ...bench, token: await personOf(bench, "admin@demo.test") };
  const took = await timed(() =>
    post(admin, "/delivery/merchant-statements", { owner_user_id: id })
  );
  const [made] = await bench.stack
    .sql`select lines from money.merchant_statements where owner_user_id = ${id}`;
  if (made?.lines !== merchants.long) throw new Error(`a statement of ${made?.lines} lines`);
  report.ratio({
    what: `a statement of ${merchants.long.toLocaleString("en")} movements`,
    value: took,
    atMost: 2_000,
    unit: "ms",
  });
  const workers = () => bench.stack.workers.pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const [statement] = await bench.stack
    .sql`select id from money.merchant_statements where owner_user_id = ${id}`;
  const before = workers();
  await get(admin, `/delivery/merchant-statements/${statement!.id}/document`);
  report.ratio({
    what: "its document: CPU of the function, of which the platform gives a request 2 s",
    value: workers() - before,
    atMost: 2_000,
    unit: "ms",
  });
}

/** Settlements one after the other, alone and while the cycle makes statements; each settles one row of the owners' cash. */
async function cycle(bench: Bench, report: Report): Promise<void> {
  const { stack: { sql }, tenantId } = bench;
  const rows = await sql<{ id: string }[]>`select id from bench.rows order by n`;
  let next = 0;
  const settle = () =>
    post(bench, "/delivery/cod-collections/remit", {
      scope: "selected",
      cod_collection_ids: [rows[next++]!.id],
    });
  const before = await times(settle, settlementsAlone);
  await sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    values (${tenantId}, 'delivery', 'payouts', '{"release": "on_remit", "cycle": "daily"}')
    on conflict (tenant_id, module, group_key) do update set settings = excluded.settings`;
  await sql`update money.merchant_cycles set begun_at = now() - interval '1 year' where tenant_id = ${tenantId}`;
  await sql`select money.statement_cycles_sweep()`;
  const during: number[] = [];
  let done = false;
  const settling = (async () => {
    while (!done) {
      during.push(await timed(settle));
      // Forty a second: more than any company settles, and fewer than there are rows.
      await sleep(20);
    }
  })();
  const took = await timed(async () => {
    await fetch(`${bench.stack.apiUrl}/delivery/internal/jobs`, {
      method: "POST",
      headers: { apikey: bench.stack.secretKey, "content-type": "application/json" },
      body: "{}",
    });
    for (;;) {
      const [job] =
        await sql`select status from app.jobs where tenant_id = ${tenantId} and kind = 'delivery.merchant_statements'`;
      if (job?.status === "done") return;
      await sleep(5);
    }
  });
  done = true;
  await settling;
  const [{ made }] = await sql`select count(*)::int as made from money.merchant_statements
    where tenant_id = ${tenantId} and cycle_day is not null`;
  report.note(
    `the cycle made ${made} statements and none for the other owners, whose COD is in hand; meanwhile ${during.length} settlements: p95 ${
      percentiles(during).p95.toFixed(1)
    } ms, alone ${percentiles(before).p95.toFixed(1)} ms`,
  );
  if (made !== merchants.due) throw new Error(`${made} statements`);
  report.ratio({
    what: `statements of ${merchants.due} owners by the cycle`,
    value: took / 1_000,
    atMost: 60,
    unit: "s",
  });
  report.ratio({
    what: "a settlement while the cycle runs against one alone: p95",
    value: percentiles(during).p95 / percentiles(before).p95,
    atMost: 1.5,
  });
}
