/** The log of events between modules: who publishes, who reads, how they are marked and told again. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { startReceiver, until } from "../../support/receiver.ts";
import { deliveriesOf, publish, subscribe, systemKey } from "../../support/webhooks.ts";

let system: Person;
let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [system, a, b] = await Promise.all([newSystemAdmin(), newTenant(), newTenant()]);
});
/** A system administrator whose token names a tenant they belong to. */
async function systemMember(tenant: Tenant): Promise<Person> {
  const person = await newPerson(tenant.id, "staff", "tenant_admin");
  await sql`insert into tenancy.system_users (user_id, role) values (${person.id}, 'system_admin')`;
  return person;
}
const valid = (more: Body = {}) => ({
  event_type: "order.created",
  source_module: "storefront",
  entity_type: "order",
  entity_id: randomUUID(),
  event_data: { total: 5 },
  ...more,
});

describe("publishing", () => {
  test("makes a pending event; the tenant comes from the body, the query, or there is none", async () => {
    const body = valid({ tenant_id: a.id, target_module: "delivery" });
    const answer = await system.post("/system/events", body);
    expect(answer).toSucceed(201);
    expect(answer.body.event).toEqual({
      ...body,
      id: expect.any(String),
      status: "pending",
      retry_count: 0,
      created_at: expect.any(String),
      processed_at: null,
      error_message: null,
    });
    const byQuery = await system.post("/system/events", valid(), { query: { tenant_id: b.id } });
    expect(byQuery.body.event.tenant_id).toBe(b.id);
    const ofPlatform = await nobody.post("/system/events", valid(), systemKey);
    expect(ofPlatform).toSucceed(201);
    expect(ofPlatform.body.event.tenant_id).toBeNull();
    expect(await system.post("/system/events", valid({ tenant_id: randomUUID() }))).toFailWith(
      404,
      "tenant_not_found",
    );
  });

  test("of a system administrator is of the tenant that the call names, else the platform's", async () => {
    const both = await systemMember(a);
    const publishes = async (more: Body, query: Record<string, string> = {}) =>
      (await both.post("/system/events", valid(more), { query })).body.event.tenant_id;
    expect(await publishes({})).toBeNull();
    expect(await publishes({}, { tenant_id: b.id })).toBe(b.id);
    expect(await publishes({ tenant_id: b.id }, { tenant_id: a.id })).toBe(b.id);
    expect(await publishes({ tenant_id: null }, { tenant_id: b.id })).toBeNull();
  });

  test("is the system's: ordinary tokens of every role are refused, and none is 401", async () => {
    for (const who of [a.admin, a.ops, a.staff, a.driver, a.customer]) {
      expect(await who.post("/system/events", valid({ tenant_id: a.id }))).toFailWith(
        403,
        "forbidden",
      );
      expect(await who.get("/system/events")).toFailWith(403, "forbidden");
    }
    expect(await nobody.post("/system/events", valid())).toFailWith(401, "unauthorized");
    expect(await nobody.get("/system/events", systemKey)).toFailWith(403, "forbidden");
  });

  test("wants every field in its form", async () => {
    const wrong: [Body, string, string][] = [
      [{ ...valid(), event_type: undefined }, "validation_failed", "event_type"],
      [valid({ event_type: "" }), "validation_failed", "event_type"],
      [valid({ event_type: "x".repeat(201) }), "validation_failed", "event_type"],
      [{ ...valid(), source_module: undefined }, "validation_failed", "source_module"],
      [{ ...valid(), entity_type: undefined }, "validation_failed", "entity_type"],
      [valid({ entity_id: "1" }), "invalid_uuid", "entity_id"],
      [{ ...valid(), event_data: undefined }, "validation_failed", "event_data"],
      [valid({ event_data: [1] }), "validation_failed", "event_data"],
      [valid({ event_data: "x" }), "validation_failed", "event_data"],
      [valid({ tenant_id: "x" }), "invalid_uuid", "tenant_id"],
    ];
    for (const [body, code, field] of wrong) {
      const answer = await system.post("/system/events", body);
      expect(answer).toFailWith(400, code);
      expect(answer.body.field).toBe(field);
    }
    const nul = await system.post("/system/events", valid({ event_type: "a\u0000b" }));
    expect(nul.status).toBe(400);
    const arabic = await system.in("ar").post("/system/events", {});
    expect(arabic.body.message).toMatch(/[\u0600-\u06ff]/);
  });

  test("with a key happens once", async () => {
    const options = { headers: { "idempotency-key": randomUUID() } };
    const body = valid({ tenant_id: a.id });
    const first = await system.post("/system/events", body, options);
    const second = await system.post("/system/events", body, options);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(await system.post("/system/events", valid(), options)).toFailWith(
      409,
      "idempotency_conflict",
    );
  });
});

describe("the list", () => {
  test("is of all tenants also for who is in one: its total counts what its pages show", async () => {
    const both = await systemMember(a);
    await publish(nobody, a, { event_type: "total.mine" });
    await publish(nobody, b, { event_type: "total.theirs" });
    await sql`update integration.system_events set status = 'failed'
      where tenant_id = ${b.id} and event_type = 'total.theirs'`;
    const { body } = await both.get("/system/events", { query: { limit: 500 } });
    const some = await both.get("/system/events", { query: { status: "failed" } });
    // Others publish and remove meanwhile: what is certain is that these two tenants' events are among them.
    const [own] = await sql`select count(*) filter (where tenant_id = ${a.id})::int as mine,
        count(*)::int as all, count(*) filter (where status = 'failed')::int as failed
      from integration.system_events where tenant_id in (${a.id}, ${b.id})`;
    expect(own.mine).toBeLessThan(own.all);
    expect(body.total).toBeGreaterThanOrEqual(own.all);
    expect(some.body.total).toBeGreaterThanOrEqual(own.failed);
    expect(own.failed).toBeGreaterThan(0);
  });

  test("shows a hundred at first and at most five hundred, filtered, the newest first", async () => {
    const tenant = await newTenant();
    await sql`insert into integration.system_events (tenant_id, event_type, source_module, target_module, entity_type, entity_id, status, created_at)
      select ${tenant.id}, 'kind.' || n % 3, 'module' || n % 2, case when n % 5 = 0 then 'target' end, 'thing' || n % 4, gen_random_uuid(),
        (array['pending', 'processed', 'failed'])[1 + n % 3], now() - n * interval '1 second' from generate_series(1, 600) n`;
    const ask = async (query: Record<string, string | number>) =>
      (await system.get("/system/events", { query: { tenant_id: tenant.id, ...query } })).body;
    const first = await ask({});
    expect(first).toMatchObject({ success: true, page: 1, limit: 100, total: 600 });
    expect(first.events).toHaveLength(100);
    expect(first.events[0].event_type).toBe("kind.1");
    expect((await ask({ limit: 9_999 })).events).toHaveLength(500);
    expect((await ask({ page: 2, limit: 500 })).events).toHaveLength(100);
    expect((await ask({ event_type: "kind.0" })).total).toBe(200);
    expect((await ask({ event_type: "kind.%" })).total).toBe(0);
    expect((await ask({ source_module: "module1" })).total).toBe(300);
    expect((await ask({ target_module: "target" })).total).toBe(120);
    expect((await ask({ status: "failed", entity_type: "thing2" })).total).toBe(50);
    const ago = (seconds: number) => Date.parse(first.events[0].created_at) - (seconds - 1) * 1_000;
    const at = (seconds: number) => new Date(ago(seconds)).toISOString();
    expect((await ask({ date_from: at(10.5) })).total).toBe(10);
    expect((await ask({ date_to: at(590.5) })).total).toBe(10);
    expect((await ask({ date_from: at(20.5), date_to: at(10.5) })).total).toBe(10);
    expect((await ask({ date_from: "2020-01-01", date_to: "2020-01-02" })).total).toBe(0);
    expect(await system.get("/system/events", { query: { date_from: "today" } })).toFailWith(
      400,
      "validation_failed",
    );
    // Of all tenants and of none it is kept instead of counted, and the same.
    const [{ counted, kept }] = await sql`select
        (select count(*)::int from integration.system_events where status = 'failed') as counted,
        (app.tally('system_events', '{"status": "failed"}') ->> 'entries')::int as kept`;
    expect(kept).toBe(counted);
    const { total } = (await system.get("/system/events", { query: { status: "failed" } })).body;
    expect(total).toBeGreaterThanOrEqual(counted);
    expect(await system.get("/system/events", { query: { status: "done" } })).toFailWith(
      400,
      "validation_failed",
    );
    expect(await system.get("/system/events", { query: { tenant_id: "x" } })).toFailWith(
      400,
      "invalid_uuid",
    );
    expect((await system.get("/system/events")).body.total).toBeGreaterThan(600);
  });
});

describe("marking", () => {
  const made = async (tenant: { id: string } | null = a) => await publish(nobody, tenant);

  test("processed is processed now, or when it is said", async () => {
    const id = await made();
    const before = Date.now() - 1_000;
    const answer = await nobody.put(`/system/events/${id}`, { status: "processed" }, systemKey);
    expect(answer).toSucceed(200);
    expect(answer.body.event).toMatchObject({ id, status: "processed", retry_count: 0 });
    expect(Date.parse(answer.body.event.processed_at)).toBeGreaterThan(before);
    const said = await system.put(`/system/events/${id}`, {
      status: "processed",
      processed_at: "2026-01-02T03:04:05Z",
    });
    expect(Date.parse(said.body.event.processed_at)).toBe(Date.parse("2026-01-02T03:04:05Z"));
    const local = await system.put(`/system/events/${id}`, {
      status: "processed",
      processed_at: "2026-01-02T03:04:06",
    });
    expect(Date.parse(local.body.event.processed_at)).toBe(Date.parse("2026-01-02T03:04:06Z"));
  });

  test("each failure counts, also of several at once; back to pending forgets how it ended", async () => {
    const id = await made(null);
    const fail = () =>
      system.put(`/system/events/${id}`, { status: "failed", error_message: "no" });
    expect((await fail()).body.event).toMatchObject({
      status: "failed",
      retry_count: 1,
      error_message: "no",
    });
    await Promise.all(Array.from({ length: 10 }, fail));
    const pending = await system.put(`/system/events/${id}`, { status: "pending" });
    expect(pending.body.event).toMatchObject({
      status: "pending",
      retry_count: 11,
      error_message: null,
      processed_at: null,
    });
  });

  test("an event that is not there, a wrong status, and people without the right", async () => {
    const id = await made();
    expect(await system.put(`/system/events/${randomUUID()}`, { status: "failed" })).toFailWith(
      404,
      "event_not_found",
    );
    expect(await system.put("/system/events/x", { status: "failed" })).toFailWith(
      400,
      "invalid_uuid",
    );
    expect(await system.put(`/system/events/${id}`, {})).toFailWith(400, "validation_failed");
    expect(await system.put(`/system/events/${id}`, { status: "done" })).toFailWith(
      400,
      "validation_failed",
    );
    expect(await system.put(`/system/events/${id}`, { status: "processed", processed_at: "then" }))
      .toFailWith(
        400,
        "validation_failed",
      );
    expect(await a.admin.put(`/system/events/${id}`, { status: "processed" })).toFailWith(
      403,
      "forbidden",
    );
    expect(await nobody.put(`/system/events/${id}`, { status: "processed" })).toFailWith(
      401,
      "unauthorized",
    );
    const [row] = await sql`select status from integration.system_events where id = ${id}`;
    expect(row.status).toBe("pending");
  });
});

describe("replay", () => {
  test("tried dry it counts; then it sends what was never told, and again what was", async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const since = new Date(Date.now() - 60_000).toISOString();
    await publish(nobody, tenant, { event_data: { n: "before anybody listened" } });
    const { id } = await subscribe(tenant, receiver.url);
    await publish(nobody, tenant, { event_data: { n: "heard" } });
    await until(async () => (await deliveriesOf(id))[0]?.status === "success");
    const ask = (body: Body) =>
      system.post("/system/events/replay", { since, tenant_id: tenant.id, ...body });
    const dry = await ask({ dry_run: true });
    expect(dry).toSucceed(200);
    expect(dry.body).toMatchObject({ dry_run: true, events: 2, created: 1, requeued: 1 });
    expect(await deliveriesOf(id)).toHaveLength(1);
    expect((await ask({ dry_run: true, event_type: "no.such" })).body.events).toBe(0);
    const real = await ask({ dry_run: false });
    expect(real.body).toMatchObject({ dry_run: false, events: 2, created: 1, requeued: 1 });
    await until(() => receiver.received.length === 3);
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(2);
    await until(async () => (await deliveriesOf(id)).every(({ status }) => status === "success"));
    expect(await deliveriesOf(id)).toHaveLength(2);
    await receiver.close();
  });

  test("is the system's, of an existing tenant, and not of more than can be taken at once", async () => {
    const body = { since: "2026-01-01T00:00:00Z", dry_run: true };
    expect(await a.admin.post("/system/events/replay", body)).toFailWith(403, "forbidden");
    expect(await nobody.post("/system/events/replay", body)).toFailWith(401, "unauthorized");
    expect(await system.post("/system/events/replay", { ...body, tenant_id: randomUUID() }))
      .toFailWith(
        404,
        "tenant_not_found",
      );
    expect(await system.post("/system/events/replay", { since: body.since })).toFailWith(
      400,
      "validation_failed",
    );
    expect(await system.post("/system/events/replay", { ...body, since: "then" })).toFailWith(
      400,
      "validation_failed",
    );
    const tenant = await newTenant();
    await sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id)
      select ${tenant.id}, 'a.b', 'delivery', 'delivery', gen_random_uuid() from generate_series(1, 10001)`;
    expect(await system.post("/system/events/replay", { ...body, tenant_id: tenant.id }))
      .toFailWith(
        400,
        "replay_too_large",
      );
  });
});
