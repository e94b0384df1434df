/** The runner of background jobs: one at a time in a process, nothing forgotten, requests first. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { callOut as CallOut } from "../../shared/outbound/fetch.ts";
import type { runJobs as RunJobs, trackRequest as TrackRequest } from "../../shared/db/jobs.ts";
import { sql, stack } from "../support/db.ts";
import { newTenant } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";

let runJobs: typeof RunJobs;
let trackRequest: typeof TrackRequest;
let callOut: typeof CallOut;
beforeAll(async () => {
  const { host, pathname } = new URL(stack.dbUrl);
  // Read once, when the first of these modules is loaded; files after this one load them anew.
  vi.resetModules();
  vi.stubEnv("BARID_DB_URL", `postgresql://barid_api:barid-local@${host}${pathname}`);
  ({ runJobs, trackRequest } = await import("../../shared/db/jobs.ts"));
  ({ callOut } = await import("../../shared/outbound/fetch.ts"));
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function queue(kind: string, count: number): Promise<void> {
  await sql`insert into app.jobs (kind, payload) select ${kind}, jsonb_build_object('n', n) from generate_series(1, ${count}) n`;
}

const unfinished = async (kind: string) =>
  (await sql`select count(*)::int as count from app.jobs where kind = ${kind} and status <> 'done'`)[
    0
  ].count;

test("many who ask at once share one run, which does every job once and one after the other", async () => {
  let atWork = 0;
  let most = 0;
  const done: unknown[] = [];
  const handlers = {
    "test.shared": async (job: { payload: Record<string, unknown> }) => {
      most = Math.max(most, ++atWork);
      await pause(5);
      done.push(job.payload.n);
      atWork--;
    },
  };
  await queue("test.shared", 25);
  const asked = Array.from({ length: 20 }, () => runJobs(handlers));
  expect(new Set(asked).size).toBe(1);
  expect(await asked[0]).toEqual({ done: 25, failed: 0 });
  expect(most).toBe(1);
  expect(new Set(done).size).toBe(25);
  expect(await unfinished("test.shared")).toBe(0);
});

test("what is queued while a run is under way is done by it when somebody asks, whenever that is", async () => {
  const handlers = { "test.again": () => pause(Math.random() * 4) };
  for (let round = 0; round < 40; round++) {
    await queue("test.again", 1);
    void runJobs(handlers);
    await pause(Math.random() * 12);
    await queue("test.again", 1);
    await runJobs(handlers);
    expect(await unfinished("test.again")).toBe(0);
  }
});

test("a failed job is logged and retried later; an interrupted run is not the last one", async () => {
  await queue("test.fails", 1);
  const count = await runJobs({
    "test.fails": () => Promise.reject(new Error("on purpose")),
  });
  expect(count).toEqual({ done: 0, failed: 1 });
  const [job] =
    await sql`select status, attempts, last_error from app.jobs where kind = 'test.fails'`;
  expect(job).toMatchObject({ status: "queued", attempts: 1, last_error: "Error: on purpose" });
  await sql`update app.jobs set run_at = now() where kind = 'test.fails'`;
  expect(await runJobs({ "test.fails": () => Promise.resolve() })).toEqual({ done: 1, failed: 0 });
});

test("a job that fails for the last time is marked dead and logged; on request it is retried", async () => {
  const { id: tenant } = await newTenant();
  const [job] = await sql`insert into app.jobs (tenant_id, kind, payload, attempts, attempts_max)
    values (${tenant}, 'test.dies', '{}', 7, 8) returning id`;
  await runJobs({ "test.dies": () => Promise.reject(new Error("on purpose")) });
  const statusOf = async () =>
    (await sql`select status from app.jobs where id = ${job.id}`)[0].status;
  expect(await statusOf()).toBe("dead");
  const events = await sql`select event_data from integration.system_events
    where tenant_id = ${tenant} and event_type = 'job.dead'`;
  expect(events).toEqual([{
    event_data: { job_id: Number(job.id), kind: "test.dies", attempts: 8 },
  }]);
  expect(await runJobs({ "test.dies": () => Promise.resolve() })).toEqual({ done: 0, failed: 0 });
  expect(await sql`select private.jobs_requeue(array[${job.id}]::bigint[]) as count`).toEqual([{
    count: 1,
  }]);
  expect(await runJobs({ "test.dies": () => Promise.resolve() })).toEqual({ done: 1, failed: 0 });
  expect(await statusOf()).toBe("done");
});

test("while requests are under way jobs wait for them, but not for ever", async () => {
  const begun: number[] = [];
  const handlers = { "test.gives_way": () => Promise.resolve(void begun.push(Date.now())) };
  await queue("test.gives_way", 3);
  let answered = 0;
  const request = trackRequest(async () => {
    await pause(120);
    answered = Date.now();
  });
  await Promise.all([request, runJobs(handlers)]);
  expect(begun.length).toBe(3);
  expect(begun[0]).toBeGreaterThanOrEqual(answered);

  // A request that does not end holds nothing up for good.
  await queue("test.gives_way", 2);
  let end = () => {};
  const endless = trackRequest(() => new Promise<void>((resolve) => (end = resolve)));
  expect(await runJobs(handlers)).toEqual({ done: 2, failed: 0 });
  end();
  await endless;
});

test("the calls of a job carry the trace of the request that queued it, and a span of the job's own", async () => {
  const receiver = await startReceiver();
  const handlers = {
    "test.calls": async () => {
      const init = { method: "POST", body: "{}", headers: { "x-mine": "1" } };
      await (await callOut(receiver.url, init, { timeoutMs: 5_000 })).body?.cancel();
    },
  };
  const trace = "0af7651916cd43dd8448eb211c80319c";
  await sql`insert into app.jobs (kind, trace_context) values
    ('test.calls', ${`00-${trace}-b7ad6b7169203331-01 shop=1`}), ('test.calls', null)`;
  expect(await runJobs(handlers)).toEqual({ done: 2, failed: 0 });
  await receiver.close();
  const [traced, untraced] = receiver.received.map(({ headers }) => headers);
  expect(traced).toMatchObject({ "x-mine": "1", tracestate: "shop=1" });
  expect(traced!.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
  expect(traced!.traceparent).not.toContain("b7ad6b7169203331");
  expect(untraced!.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(untraced!.traceparent).not.toContain(trace);
  expect(untraced!.tracestate).toBeUndefined();
});
