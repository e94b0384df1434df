/** The runner of background jobs: one at a time in a process, nothing forgotten, requests first. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { callOut as CallOut } from "../../shared/outbound/fetch.ts";
import type {
  runJobs as RunJobs,
  stayForJobs as StayForJobs,
  trackRequest as TrackRequest,
} from "../../shared/db/jobs.ts";
import { sql, stack } from "../support/db.ts";
import { newTenant } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";

let runJobs: typeof RunJobs;
let stayForJobs: typeof StayForJobs;
let trackRequest: typeof TrackRequest;
let callOut: typeof CallOut;
beforeAll(async () => {
  const { host, pathname } = new URL(stack.dbUrl);
  // Read once, when the first of these modules is loaded; files after this one load them anew.
  vi.resetModules();
  vi.stubEnv("BARID_DB_URL", `postgresql://barid_api:barid-local@${host}${pathname}`);
  ({ runJobs, stayForJobs, trackRequest } = await import("../../shared/db/jobs.ts"));
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

describe("a run that stays", () => {
  const kind = "test.due";
  const begin = (inSeconds: number) =>
    sql`insert into app.jobs (kind, run_at) values (${kind}, now() + ${inSeconds} * interval '1 second')`;
  /** A clock that nobody waits for: a rest is over at once, here and for the jobs. */
  const newClock = () => {
    let now = 0;
    const clock = {
      rests: [] as number[],
      now: () => now,
      async rest(ms: number, _woken: Promise<void>) {
        clock.rests.push(ms);
        now += ms;
        await sql`update app.jobs set run_at = run_at - ${ms} * interval '1 millisecond'
          where kind = ${kind} and status = 'queued'`;
      },
    };
    return clock;
  };
  afterEach(() => sql`delete from app.jobs where kind = ${kind}`);

  test("does each job when its time has come, and leaves what is due after the next call of cron", async () => {
    const clock = newClock();
    const times: number[] = [];
    for (const seconds of [0, 20, 50, 120]) await begin(seconds);
    const handlers = { [kind]: () => Promise.resolve(void times.push(clock.now())) };
    expect(await stayForJobs(handlers, clock)).toEqual({ done: 3, failed: 0 });
    expect(times).toEqual([0, clock.rests[0], clock.rests[0]! + clock.rests[1]!]);
    expect(times[1]).toBeLessThanOrEqual(20_000);
    expect(times[2]).toBeLessThanOrEqual(50_000);
    expect(await unfinished(kind)).toBe(1);
  });

  test("does at once what a request queues while it rests", async () => {
    const clock = newClock();
    const { rest } = clock;
    const done: number[] = [];
    const handlers = { [kind]: () => Promise.resolve(void done.push(clock.rests.length)) };
    clock.rest = async (ms, woken) => {
      if (done.length > 0) return await rest(ms, woken);
      await begin(0);
      void runJobs(handlers);
      await woken;
    };
    await begin(30);
    expect(await stayForJobs(handlers, clock)).toEqual({ done: 2, failed: 0 });
    expect(done).toEqual([0, 1]);
  });

  test("is begun by the system alone, who does not wait for its end", async () => {
    const ask = (key: string) =>
      fetch(`${stack.functionsUrl}/delivery/internal/jobs?stay`, {
        method: "POST",
        headers: { apikey: key },
      });
    const begun = await ask(stack.secretKey);
    expect(begun.status).toBe(202);
    expect(await begun.json()).toEqual({ success: true });
    const refused = await ask(stack.publishableKey);
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ success: false, code: "unauthorized" });
  });

  test("begins when the one before it ends, and does not stay for a job behind another of its entity", async () => {
    const clock = newClock();
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    let first: Promise<unknown> | undefined;
    await begin(0);
    await new Promise<void>((begun) => {
      first = runJobs({ [kind]: () => (begun(), ended) });
    });
    await sql`insert into app.jobs (kind, entity_key, status, lease_until, run_at) values
      (${kind}, 'thing', 'running', now() + interval '1 hour', now()), (${kind}, 'thing', 'queued', null, now())`;
    const second = stayForJobs({ [kind]: () => Promise.resolve() }, clock);
    end();
    expect(await first).toEqual({ done: 1, failed: 0 });
    expect(await second).toEqual({ done: 0, failed: 0 });
    expect(clock.rests).toEqual([]);
  });
});

test("a job whose runner ended each time is dead after its attempts, and is announced", async () => {
  const { id: tenant } = await newTenant();
  const kind = "test.kills";
  const lost = async (attempts: number, attempts_max: number) => {
    const [job] =
      await sql`insert into app.jobs (tenant_id, kind, status, attempts, attempts_max, lease_until)
      values (${tenant}, ${kind}, 'running', ${attempts}, ${attempts_max}, now() - interval '1 second') returning id`;
    return job!.id as number;
  };
  const [taken, once, used, more] = [
    await lost(7, 8),
    await lost(1, 1),
    await lost(8, 8),
    await lost(8, 24),
  ];
  const [{ jobs }] = await sql`select private.jobs_claim(${[kind]}) as jobs`;
  expect(jobs.map(({ id }: { id: number }) => id)).toEqual([taken, once, more].map(Number));
  const [dead] = await sql`select status, last_error from app.jobs where id = ${used}`;
  expect(dead).toEqual({ status: "dead", last_error: "its runner ended each time" });
  const events = await sql`select event_data from integration.system_events
    where tenant_id = ${tenant} and event_type = 'job.dead'`;
  expect(events.map(({ event_data }) => event_data)).toEqual([
    { job_id: Number(used), kind, attempts: 8 },
  ]);
  await sql`delete from app.jobs where kind = ${kind}`;
});
