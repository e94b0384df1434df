/** Counts, log lines and traces of function processes, on a system of their own. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readFileSync } from "node:fs";
import type { Stack } from "../../../supabase/local/stack.ts";
import { nobody } from "../../support/api.ts";
import { moveTo } from "../../support/db.ts";
import { invite } from "../../support/invitations.ts";
import { samplesOf, textOf } from "../../support/open-metrics.ts";
import { startOwnStack } from "../../support/own-stack.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { subscribe, systemKey, wake } from "../../support/webhooks.ts";

let stack: Stack;
let tenant: Tenant;
let moveBack: () => Promise<void>;
let receiver: Receiver;
let lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  stack = await startOwnStack({
    workers: 2,
    watch: true,
    log: (line) => {
      if (line.startsWith("{")) lines.push(JSON.parse(line));
    },
  });
  // By the gateway, which finds the processes that are there after a restart.
  moveBack = moveTo({ ...stack, apiUrl: `${stack.url}/functions/v1` });
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
}, 120_000);
afterAll(async () => {
  await receiver?.close();
  await moveBack?.();
  await stack?.stop();
});
beforeEach(() => {
  lines = [];
});

const trace = "0af7651916cd43dd8448eb211c80319c";
const caller = { traceparent: `00-${trace}-b7ad6b7169203331-01`, tracestate: "shop=1" };
const logged = (event: string) => lines.filter((line) => line.event === event);
/** Any of the function processes, each in turn. */
const ask = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${stack.url}/functions/v1${path}`, { headers: { ...headers } });

async function scraped(): Promise<Map<string, number>> {
  const admin = await newSystemAdmin();
  return samplesOf(textOf((await admin.get("/system/metrics")).body));
}

test("requests of all processes are counted once each, when the processes end", async () => {
  const before = await scraped();
  const { length } = await Promise.all(
    Array.from(
      { length: 30 },
      (_, n) => ask(n < 20 ? "/storefront/public/markets" : "/delivery/nothing"),
    ),
  );
  await fetch(`${stack.url}/functions/v1/delivery/nothing`, { method: "PROPFIND" });
  expect(length).toBe(30);
  expect(await stack.restartWorkers()).toBe(true);
  let after = before;
  const more = (series: string) => (after.get(series) ?? 0) - (before.get(series) ?? 0);
  const requests = (fn: string, operation: string, code: number) =>
    more(`barid_http_requests_total{function="${fn}",operation="${operation}",code="${code}"}`);
  // The others may still be on their way out.
  await until(async () => {
    after = await scraped();
    return requests("storefront", "GET /storefront/public/markets", 400) >= 20 &&
      requests("delivery", "GET /delivery/*", 404) >= 10;
  });
  expect(requests("storefront", "GET /storefront/public/markets", 400)).toBe(20);
  expect(requests("delivery", "GET /delivery/*", 404)).toBe(10);
  expect(requests("delivery", "OTHER /delivery/*", 404)).toBe(1);
  expect(more('barid_http_request_duration_seconds_count{function="storefront"}')).toBe(20);
  expect(more('barid_http_request_duration_seconds_bucket{function="storefront",le="+Inf"}')).toBe(
    20,
  );
  // Each asked for a connection, and waited for it a moment or longer.
  expect(more("barid_database_pool_wait_seconds_count")).toBeGreaterThanOrEqual(20);
});

test("a request carries its caller's trace into every log line and the database's list of statements", async () => {
  const blocked = stack.sql.begin(async (tx) => {
    await tx`lock table tenancy.tenant_settings in access exclusive mode`;
    const answer = tenant.admin.get("/tenants/me", { headers: caller });
    let names: string[] = [];
    await until(async () => {
      const found = await stack.sql`select application_name from pg_stat_activity
        where application_name like ${`barid ${trace}-%`}`;
      names = found.map(({ application_name }) => application_name);
      return names.length > 0;
    });
    return { answer, names };
  });
  const { names, answer } = await blocked;
  await answer;
  await until(() => Promise.resolve(logged("request").some((line) => line.trace_id === trace)));
  const line = logged("request").find((line) => line.trace_id === trace)!;
  expect(line).toMatchObject({ trace_id: trace, parent_span_id: "b7ad6b7169203331" });
  expect(names).toEqual([`barid ${trace}-${line.span_id}`]);
  // Of that transaction alone: the connection is everybody's.
  const left = await stack
    .sql`select from pg_stat_activity where application_name like ${`barid ${trace}%`}`;
  expect(left).toEqual([]);
});

test("without a trace of the caller each request begins one", async () => {
  await ask("/storefront/public/markets");
  await ask("/storefront/public/markets", { traceparent: "nonsense", tracestate: "shop=1" });
  await until(() => Promise.resolve(logged("request").length >= 2));
  const ids = logged("request").map(({ trace_id }) => String(trace_id));
  expect(ids.filter((id) => /^[0-9a-f]{32}$/.test(id))).toHaveLength(ids.length);
  expect(new Set(ids).size).toBe(ids.length);
});

test("a webhook goes out in the trace of the request that caused its event", async () => {
  await subscribe(tenant, receiver.url);
  const event = {
    event_type: "delivery.delivered",
    source_module: "delivery",
    entity_type: "delivery",
    entity_id: tenant.id,
    event_data: { n: 1 },
    tenant_id: tenant.id,
  };
  const headers = { ...systemKey.headers, ...caller };
  expect(await nobody.post("/system/events", event, { headers })).toSucceed(201);
  await wake(nobody);
  await until(() => Promise.resolve(receiver.received.length > 0));
  const { traceparent, tracestate } = receiver.received[0]!.headers;
  expect(traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
  expect(traceparent).not.toBe(caller.traceparent);
  expect(tracestate).toBe("shop=1");
});

test("a job keeps the trace of the request that queued it", async () => {
  const headers = { ...caller };
  const answer = await tenant.admin.post(`/tenants/${tenant.id}/users`, {
    email: "traced@barid.test",
    full_name: "Traced",
    phone: "+9647700000098",
    tenant_user_type: "staff",
    roles: ["dispatcher"],
  }, { headers });
  expect(answer).toSucceed(202);
  expect(await invite(tenant, "untraced@barid.test")).toSucceed(202);
  const jobs = await stack
    .sql`select trace_context from app.jobs where kind = 'tenants.invitation_deliver' order by id`;
  expect(jobs.map(({ trace_context }) => trace_context)).toEqual([
    expect.stringMatching(new RegExp(`^00-${trace}-[0-9a-f]{16}-01 shop=1$`)),
    expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
  ]);
});

test("of many requests at once some have lines and the others are counted in one", async () => {
  expect(await stack.restartWorkers()).toBe(true);
  lines = [];
  const url = `${stack.apiUrl}/delivery/nothing`;
  const count = 120;
  await Promise.all(Array.from({ length: count }, () => fetch(url).then((one) => one.text())));
  expect(await stack.restartWorkers()).toBe(true);
  const written = logged("request").filter(({ operation }) => operation === "GET /delivery/*");
  expect(written.length).toBeLessThanOrEqual(100);
  await until(async () =>
    ((await scraped()).get("barid_log_requests_folded_total") ?? 0) >= count - written.length
  );
});

test("a database that is away stands in the log, with the first line of its runbook", async () => {
  const page = readFileSync("docs/runbooks.md", "utf8");
  const [, first] = /^## Database unreachable\n+(.+)$/m.exec(page)!;
  await stack.postgres.kill();
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async () => (await ask("/storefront/public/markets")).status),
  );
  expect(new Set(statuses)).toEqual(new Set([503]));
  expect(await (await ask("/storefront/health")).json()).toMatchObject({ database: "down" });
  const found = logged("database_unreachable");
  expect(found[0]).toMatchObject({ level: "error", to_do: first });
  // One a process in ten seconds, however many ask.
  expect(found.length).toBeLessThanOrEqual(2);
  expect(logged("request").filter(({ status }) => status === 503)).toHaveLength(10);
  await stack.postgres.restart();
  await until(async () => (await ask("/storefront/health")).status === 200);
});
