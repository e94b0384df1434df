/** GET /system/metrics: who may read it, its format, and what it measures in the database. */
import { randomUUID } from "node:crypto";
import { Cron } from "croner";
import postgres from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { families } from "../../../functions/system/metrics/families.ts";
import { openMetricsOf } from "../../../functions/system/metrics/openmetrics.ts";
import { nobody, type Person, withKey } from "../../support/api.ts";
import { newMigratedDatabase, type OwnDatabase } from "../../support/database.ts";
import { sql } from "../../support/db.ts";
import { samplesOf, textOf } from "../../support/open-metrics.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { systemKey } from "../../support/webhooks.ts";
import { textOf as textOfFile } from "../../tools/checks/files.ts";

const path = "/system/metrics";
let system: Person;
let tenant: Tenant;
beforeAll(async () => {
  [system, tenant] = await Promise.all([newSystemAdmin(), newTenant()]);
});

async function newKey(scopes: string[], tenantId: string | null = null): Promise<string> {
  const key = randomUUID();
  await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, is_system_capable, created_by, expires_at)
    values (${tenantId}, 'scraper', sha256(${key}), ${scopes}, ${tenantId === null}, ${
    tenantId && tenant.admin.id
  }, now() + interval '1 day')`;
  return key;
}

describe("the metrics are read", () => {
  test("by the system's administrators, as OpenMetrics", async () => {
    const answer = await system.get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type"))
      .toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("private, no-cache");
    const text = textOf(answer.body);
    expect(text.endsWith("\n# EOF\n")).toBe(true);
    for (const [name, { type, unit, help }] of Object.entries(families)) {
      const unitLine = unit ? `# UNIT ${name} ${unit}\n` : "";
      expect(text).toContain(`# TYPE ${name} ${type}\n${unitLine}# HELP ${name} ${help}\n`);
    }
  });

  test("by a key of the system that may do nothing else, in either header", async () => {
    const key = await newKey(["view:metrics:system"]);
    expect((await withKey(key).get(path)).status).toBe(200);
    for (const word of ["ApiKey", "apikey"]) {
      const headers = { authorization: `${word} ${key}` };
      expect((await nobody.get(path, { headers })).status).toBe(200);
    }
    expect(await withKey(key).get("/system/settings")).toFailWith(403, "forbidden");
    expect(await withKey(key).put("/system/settings", { settings: {} }))
      .toFailWith(403, "forbidden");
  });

  test("by nobody without a token or with a key that is none", async () => {
    expect(await nobody.get(path)).toFailWith(401, "unauthorized");
    for (const key of ["unknown", "x".repeat(201), "two words", ""]) {
      const headers = { authorization: `ApiKey ${key}` };
      expect(await nobody.get(path, { headers })).toFailWith(401, "unauthorized");
    }
  });

  test("by no tenant: not its people, not its keys, not with the scope written into one", async () => {
    expect(await tenant.admin.get(path)).toFailWith(403, "forbidden");
    expect(await tenant.driver.get(path)).toFailWith(403, "forbidden");
    expect(await withKey(await newKey(["view:tenant"], tenant.id)).get(path))
      .toFailWith(403, "forbidden");
    // Its maker is an administrator of the system, who may; the key may not all the same.
    await sql`insert into tenancy.system_users (user_id, role) values (${tenant.admin.id}, 'system_admin')`;
    const key = await newKey(["view:tenant", "view:metrics:system"], tenant.id);
    expect(await withKey(key).get(path)).toFailWith(403, "forbidden");
    const asked = {
      name: "x",
      scopes: ["view:metrics:system"],
      expires_at: "2099-01-01T00:00:00Z",
    };
    expect(await tenant.ops.post("/tenants/me/api-keys", asked)).toMatchObject({ status: 403 });
    await sql`delete from tenancy.system_users where user_id = ${tenant.admin.id}`;
    expect(await tenant.admin.post("/tenants/me/api-keys", asked))
      .toFailWith(400, "validation_failed");
  });

  test("not by the secret key, which is for the platform's own calls", async () => {
    expect(await nobody.get(path, systemKey)).toFailWith(403, "forbidden");
  });
});

test("the text puts the samples of a family together, buckets by their bounds, and leaves out what it does not know", () => {
  const name = "barid_http_request_duration_seconds";
  const of = (fn: string, le: string) => `${name}_bucket{function="${fn}",le="${le}"}`;
  const text = openMetricsOf({
    schema: "2",
    counts: {
      [`${name}_sum{function="b"}`]: 0.5,
      [of("b", "+Inf")]: 3,
      [of("b", "10.0")]: 2,
      [of("b", "2.5")]: 1,
      [of("a", "2.5")]: 7,
      [`${name}_count{function="b"}`]: 3,
      "of_another_version_total": 9,
    },
    gauges: [{ name: "barid_jobs", labels: { kind: "a", status: "dead" }, value: 2 }],
  }, "1");
  const at = text.indexOf(`# TYPE ${name} histogram`);
  expect(text.slice(at).split("\n").slice(3, 9)).toEqual([
    `${of("a", "2.5")} 7`,
    `${of("b", "2.5")} 1`,
    `${of("b", "10.0")} 2`,
    `${of("b", "+Inf")} 3`,
    `${name}_count{function="b"} 3`,
    `${name}_sum{function="b"} 0.5`,
  ]);
  expect(text).toContain('barid_build_info{version="1",schema="2"} 1\n');
  expect(text).toContain('barid_jobs{kind="a",status="dead"} 2\n');
  // A counter begins at zero, and is not missing.
  expect(text).toContain("barid_database_pool_timeouts_total 0\n");
  expect(text).not.toContain("of_another_version");
});

/** In a database of their own: these are sums over all tenants. */
describe("the database measures", () => {
  let own: OwnDatabase;
  let tenants: string[];
  beforeAll(async () => {
    own = await newMigratedDatabase();
    tenants = [randomUUID(), randomUUID()];
    for (const id of tenants) {
      await own.sql`insert into tenancy.tenants (id, name, slug, status)
        values (${id}, '{"en": "T"}', ${`t-${id}`}, 'active')`;
    }
    return () => own.close();
  });

  async function measured(): Promise<Map<string, number>> {
    const [row] = await own.sql.begin(async (tx) => {
      await tx`select set_config('app.grants', '{permission:view:metrics:system}', true)`;
      return await tx`select integration.metrics_read('{}') as answer`;
    });
    return samplesOf(openMetricsOf(row.answer, "1"));
  }

  test("nothing for a caller without the permission", async () => {
    await expect(own.sql`select integration.metrics_read('{}')`).rejects.toThrow("forbidden");
  });

  test("the age of the oldest due job and the dead ones by kind", async () => {
    expect((await measured()).get("barid_jobs_oldest_due_age_seconds")).toBe(0);
    await own.sql`insert into app.jobs (kind, status, run_at, lease_until) values
      ('test.waits', 'queued', now() - interval '10 minutes', null),
      ('test.waits', 'queued', now() + interval '1 hour', null),
      ('test.lost', 'running', now() - interval '1 hour', now() - interval '30 minutes'),
      ('test.runs', 'running', now() - interval '2 hours', now() + interval '1 minute'),
      ('test.dead', 'dead', now(), null), ('test.dead', 'dead', now(), null), ('test.done', 'done', now(), null)`;
    await own.sql`insert into app.jobs (kind, entity_key, run_at) values
      ('test.waits', 'thing/1', now() + interval '1 hour'), ('test.waits', 'thing/1', now() - interval '3 hours')`;
    const now = await measured();
    expect(now.get('barid_jobs{kind="test.waits",status="queued"}')).toBe(4);
    expect(now.get('barid_jobs{kind="test.dead",status="dead"}')).toBe(2);
    expect([...now.keys()].filter((series) => series.includes("test.done"))).toEqual([]);
    // The one under way is nobody's delay, nor one that waits for an earlier of its thing; the one whose runner died is.
    const age = now.get("barid_jobs_oldest_due_age_seconds")!;
    expect(age).toBeGreaterThanOrEqual(3_600);
    expect(age).toBeLessThan(3_660);
  });

  test("events and webhooks that wait, of active subscriptions", async () => {
    const [{ id: module }] = await own.sql`select id from tenancy.modules limit 1`;
    const [{ id: other }] = await own
      .sql`select id from tenancy.modules where id <> ${module} limit 1`;
    const subscribe = async (tenant: string, of: string, active: boolean) => {
      const [{ id }] = await own.sql`
        insert into integration.webhook_subscriptions (tenant_id, module_id, url, event_types, secret, is_active)
        values (${tenant}, ${of}, 'https://a.example', '{*}', 'x', ${active}) returning id`;
      return id as string;
    };
    const [on, off] = [
      await subscribe(tenants[0], module, true),
      await subscribe(tenants[1], module, false),
    ];
    const wait = (
      subscription: string,
      tenant: string,
      ago: string,
      about: string = randomUUID(),
    ) =>
      own
        .sql`insert into integration.webhook_events (tenant_id, subscription_id, event_type, entity_key, body, next_attempt_at)
        values (${tenant}, ${subscription}, 'a.b', ${about}, '{}', now() - ${ago}::interval)`;
    expect((await measured()).get("barid_webhooks_oldest_due_age_seconds")).toBe(0);
    await wait(on, tenants[0], "-1 hour", "a");
    await wait(on, tenants[0], "5 minutes");
    // These wait for an event of the same thing, for nobody, and for a subscriber that fails.
    await wait(on, tenants[0], "4 hours", "a");
    await wait(off, tenants[1], "5 hours");
    const failing = await subscribe(tenants[0], other, true);
    await wait(failing, tenants[0], "6 hours");
    await own
      .sql`update integration.webhook_subscriptions set failing_since = now() where id = any (${[
      failing,
      off,
    ]})`;
    const first = await measured();
    expect(first.get("barid_webhooks_waiting")).toBe(4);
    expect(first.get("barid_webhook_subscriptions_failing")).toBe(1);
    expect(first.get("barid_webhooks_oldest_due_age_seconds")).toBeGreaterThanOrEqual(300);
    expect(first.get("barid_webhooks_oldest_due_age_seconds")).toBeLessThan(360);
    await own.sql`insert into integration.system_events
      (tenant_id, event_type, source_module, entity_type, entity_id, created_at)
      values (${tenants[0]}, 'a.b', 'a', 'a', gen_random_uuid(), now() - interval '2 hours')`;
    expect((await measured()).get("barid_webhooks_oldest_due_age_seconds")).toBeGreaterThanOrEqual(
      7_200,
    );
  });

  test("tenants whose books or stock differed in the last night, until somebody has looked", async () => {
    const add = (tenant: string, type: string, status: string, ago: string) =>
      own.sql`insert into integration.system_events
        (tenant_id, event_type, source_module, entity_type, entity_id, status, created_at)
        values (${tenant}, ${type}, 'delivery', 'tenant', ${tenant}, ${status}, now() - ${ago}::interval)`;
    await add(tenants[0], "cod.mismatch", "pending", "1 hour");
    await add(tenants[0], "cod.mismatch", "pending", "2 hours");
    await add(tenants[1], "cod.mismatch", "processed", "1 hour");
    await add(tenants[1], "cod.mismatch", "pending", "26 hours");
    await add(tenants[1], "stock.mismatch", "failed", "1 hour");
    const now = await measured();
    expect(now.get("barid_cash_mismatch_tenants")).toBe(1);
    expect(now.get("barid_stock_mismatch_tenants")).toBe(1);
  });

  test("money that fits no payment, by gateway, until it is resolved", async () => {
    const add = (gateway: string, outcome: string) =>
      own
        .sql`insert into money.payment_webhook_events (tenant_id, gateway_code, event_key, event_type, proof, facts, outcome)
        values (${
        tenants[0]
      }, ${gateway}, ${randomUUID()}, 'x', 'status', '{}', ${outcome}) returning id`;
    await add("razorpay", "unmatched");
    await add("razorpay", "processed");
    const [{ id }] = await add("razorpay", "unmatched");
    const series = 'barid_payments_unmatched{gateway="razorpay"}';
    expect((await measured()).get(series)).toBe(2);
    await own
      .sql`update money.payment_webhook_events set resolution = 'dismissed', resolved_at = now() where id = ${id}`;
    expect((await measured()).get(series)).toBe(1);
  });

  test("scheduled jobs by their last success, and those whose last run failed", async () => {
    // The real pg_cron belongs to one database of a server, which is another one than this.
    if ((await own.sql`select to_regclass('cron.job') is not null as here`)[0].here !== true) {
      return;
    }
    await own.sql`insert into cron.job_run_details (jobid, runid, status, end_time)
      select j.jobid, r.id, r.status, to_timestamp(1000000000 + r.id)
      from cron.job j join (values ('barid_jobs_purge', 900001, 'succeeded'), ('barid_jobs_purge', 900002, 'failed'),
        ('barid_rates_purge', 900003, 'failed'), ('barid_rates_purge', 900004, 'succeeded'),
        ('barid_rates_purge', 900005, 'running'), ('barid_events_purge', 900006, 'failed')) r (name, id, status) on r.name = j.jobname`;
    const now = await measured();
    const failed = (job: string) => now.get(`barid_cron_job_failed{cron_job="${job}"}`);
    const at = (job: string) =>
      now.get(`barid_cron_job_last_success_timestamp_seconds{cron_job="${job}"}`);
    expect([failed("barid_jobs_purge"), at("barid_jobs_purge")]).toEqual([1, 1_000_900_001]);
    expect([failed("barid_rates_purge"), at("barid_rates_purge")]).toEqual([0, 1_000_900_004]);
    expect([failed("barid_events_purge"), at("barid_events_purge")]).toEqual([1, undefined]);
    const every = (job: string) => now.get(`barid_cron_job_interval_seconds{cron_job="${job}"}`);
    expect(every("barid_jobs_purge")).toBe(86_400);
    // It has never run.
    expect([failed("barid_carts_purge"), at("barid_carts_purge"), every("barid_carts_purge")])
      .toEqual([undefined, undefined, 86_400]);
    // Switched off, one is still known, and gets late; what it failed of is over.
    await own
      .sql`update cron.job set active = false where jobname in ('barid_jobs_purge', 'barid_events_purge')`;
    const later = await measured();
    for (
      const [series, value] of [
        [
          'barid_cron_job_last_success_timestamp_seconds{cron_job="barid_jobs_purge"}',
          1_000_900_001,
        ],
        ['barid_cron_job_interval_seconds{cron_job="barid_jobs_purge"}', 86_400],
        ['barid_cron_job_failed{cron_job="barid_jobs_purge"}', undefined],
        ['barid_cron_job_interval_seconds{cron_job="barid_events_purge"}', 3_600],
      ] as const
    ) expect(later.get(series), series).toBe(value);
  });

  test("the longest time between two runs of each schedule of sql/cron.sql, and of other forms", async () => {
    const schedules = [...textOfFile("sql/cron.sql").matchAll(/cron\.schedule\('\w+', '([^']+)'/g)]
      .map(([, schedule]) => schedule!);
    expect(schedules.length).toBeGreaterThan(25);
    const others = ["5 */6 * * *", "0 4 * * 1-5", "0 3 1 * *", "0 3 1 1 *", "30 seconds"];
    const found = await own.sql<{ schedule: string; seconds: number }[]>`
      select s as schedule, integration.cron_interval(s) as seconds from unnest(${[
      ...schedules,
      ...others,
    ]}::text[]) s`;
    for (const { schedule, seconds } of found.slice(0, schedules.length)) {
      const runs = new Cron(schedule, { timezone: "UTC" }).nextRuns(60).map(Number);
      expect({ schedule, seconds }).toEqual({
        schedule,
        seconds: Math.max(...runs.slice(1).map((at, n) => at - runs[n]!)) / 1_000,
      });
    }
    expect(found.slice(schedules.length).map(({ seconds }) => seconds))
      .toEqual([21_600, 604_800, 2_678_400, 31_622_400, 30]);
  });

  test("the sum of what all processes counted, in whatever order they say it at once", async () => {
    const names = Array.from({ length: 20 }, (_, n) => `barid_http_requests_total{code="${n}"}`);
    const processes = postgres(own.url, { max: 8, onnotice: () => {} });
    const save = (series: string[]) =>
      processes`select integration.metrics_add(${
        processes.json(Object.fromEntries(series.map((name) => [name, 2])))
      })`;
    const rounds = Array.from({ length: 15 }, () => [save(names), save(names.toReversed())]);
    await Promise.all(rounds.flat()).finally(() => processes.end());
    const now = await measured();
    expect(names.map((name) => now.get(name))).toEqual(names.map(() => 60));
  });
});
