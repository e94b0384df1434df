/** Subscriptions: who keeps them, what their address may be, and that the secret is told once. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until, verified } from "../../support/receiver.ts";
import { deliveriesOf, moduleId, publish, subscribe, wake } from "../../support/webhooks.ts";

const path = "/webhooks/subscriptions";
let a: Tenant;
let b: Tenant;
let receiver: Receiver;
let delivery: string;
beforeAll(async () => {
  [a, b, receiver, delivery] = await Promise.all([
    newTenant(),
    newTenant(),
    startReceiver(),
    moduleId("delivery"),
  ]);
});
afterAll(() => receiver.close());
const valid = (more: Body = {}) => ({
  module_id: delivery,
  url: receiver.url,
  event_types: ["delivery.*"],
  ...more,
});

test("every module is listed; what is not saved has no id", async () => {
  const tenant = await newTenant();
  const empty = await tenant.staff.get(path);
  expect(empty).toSucceed(200);
  expect(empty.body.subscriptions.map((one: Body) => [one.id, one.module.key])).toEqual(
    ["delivery", "cod", "warehousing", "storefront", "carriers", "webhooks"].map((
      key,
    ) => [null, key]),
  );
  const { id } = await subscribe(tenant, receiver.url, { event_types: ["delivery.failed"] });
  const { body } = await tenant.admin.get(path);
  expect(body.subscriptions[0]).toEqual({
    id,
    module: { id: delivery, key: "delivery", name: expect.any(Object) },
    url: receiver.url,
    event_types: ["delivery.failed"],
    is_active: true,
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect(JSON.stringify(body)).not.toContain("whsec_");
});

test("the secret is told once and stands in the database sealed", async () => {
  const answer = await a.admin.post(path, valid());
  expect(answer).toSucceed(201);
  const { secret, subscription } = answer.body;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const [row] =
    await sql`select secret from integration.webhook_subscriptions where id = ${subscription.id}`;
  expect(row.secret).toMatch(/^s1\./);
  expect(row.secret).not.toContain(secret.slice(6, 30));
  const [{ hidden }] = await sql`select count(*)::int as hidden from app.audit_log
    where entity_id = ${subscription.id} and (after ? 'secret' or after::text like '%s1.%')`;
  expect(hidden).toBe(0);
  expect(await a.admin.post(path, valid())).toFailWith(409, "webhook_subscription_exists");
});

test("a repeated call with a key answers the same secret; with other input it is a conflict", async () => {
  const tenant = await newTenant();
  const headers = { "idempotency-key": randomUUID() };
  const first = await tenant.admin.post(path, valid(), { headers });
  const second = await tenant.admin.post(path, valid(), { headers });
  expect(first).toSucceed(201);
  expect(second.body).toEqual(first.body);
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect(await tenant.admin.post(path, valid({ event_types: ["*"] }), { headers })).toFailWith(
    409,
    "idempotency_conflict",
  );
});

describe("addresses", () => {
  test.each([
    "ftp://example.com/",
    "not a url",
    "https://user:pass@example.com/",
    "http://10.0.0.1/",
    "https://10.0.0.1/",
    "https://172.16.9.9/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data",
    "http://169.254.169.254/",
    "https://[fd00::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[2002:a00:1::]/",
    "https://0.0.0.0/",
    "https://8.8.8.8:22/",
    "http://8.8.8.8/",
  ])("%s is refused, and nothing is kept or sent", async (url) => {
    const tenant = await newTenant();
    const answer = await tenant.admin.post(path, valid({ url }));
    expect(answer).toFailWith(400, "webhook_url_refused");
    expect(answer.body.field).toBe("url");
    expect(
      await sql`select from integration.webhook_subscriptions where tenant_id = ${tenant.id}`,
    ).toHaveLength(0);
  });

  test("a name that does not exist is refused; a change is checked like a new one", async () => {
    const tenant = await newTenant();
    expect(await tenant.admin.post(path, valid({ url: "https://nobody.invalid/" }))).toFailWith(
      400,
      "webhook_url_unresolved",
    );
    const { id } = await subscribe(tenant, receiver.url);
    expect(await tenant.admin.put(`${path}/${id}`, { url: "https://10.1.1.1/" })).toFailWith(
      400,
      "webhook_url_refused",
    );
    expect((await tenant.admin.get(path)).body.subscriptions[0].url).toBe(receiver.url);
    const refused = await tenant.admin.in("ar").post(path, valid({ url: "https://10.0.0.1/" }));
    expect(refused.body.message).toMatch(/[\u0600-\u06ff]/);
  });

  test("an address that became private after it was saved is refused when it is called", async () => {
    const tenant = await newTenant();
    const { id } = await subscribe(tenant, receiver.url);
    await sql`update integration.webhook_subscriptions set url = 'http://169.254.169.254/' where id = ${id}`;
    await publish(nobody, tenant);
    await until(async () => (await deliveriesOf(id))[0]?.status === "retrying");
    expect((await deliveriesOf(id))[0]).toMatchObject({
      http_status_code: null,
      error_message: "address refused: not a public address",
    });
  });
});

test("wrong input is refused with its field", async () => {
  const wrong: [Body, string, string][] = [
    [{ ...valid(), module_id: undefined }, "validation_failed", "module_id"],
    [valid({ module_id: "x" }), "invalid_uuid", "module_id"],
    [valid({ module_id: randomUUID() }), "invalid_reference", "module_id"],
    [valid({ url: "x".repeat(2_001) }), "validation_failed", "url"],
    [valid({ url: 5 }), "validation_failed", "url"],
    [valid({ event_types: [] }), "validation_failed", "event_types"],
    [valid({ event_types: ["No"] }), "validation_failed", "event_types.0"],
    [valid({ event_types: ["a.b.c"] }), "validation_failed", "event_types.0"],
    [valid({ is_active: "yes" }), "validation_failed", "is_active"],
  ];
  const tenant = await newTenant();
  for (const [body, code, field] of wrong) {
    const answer = await tenant.admin.post(path, body);
    expect(answer).toFailWith(400, code);
    expect(answer.body.field).toBe(field);
  }
});

test("a change holds; stopped nothing is sent, and what happened meanwhile is not sent later", async () => {
  const tenant = await newTenant();
  const own = await startReceiver();
  const { id } = await subscribe(tenant, own.url);
  const stopped = await tenant.admin.put(`${path}/${id}`, { is_active: false, event_types: ["*"] });
  expect(stopped).toSucceed(200);
  expect(stopped.body.subscription).toMatchObject({ id, is_active: false, event_types: ["*"] });
  await publish(nobody, tenant, { event_data: { n: "while stopped" } });
  await tenant.admin.put(`${path}/${id}`, { is_active: true });
  await publish(nobody, tenant, { event_data: { n: "after" } });
  await until(() => own.received.length === 1);
  await wake(nobody);
  expect(own.received.map(({ body }) => body.data.n)).toEqual(["after"]);
  await own.close();
});

test("for 24 hours after a rotation both secrets sign, then the new one alone", async () => {
  const tenant = await newTenant();
  const own = await startReceiver();
  const { id, secret: old } = await subscribe(tenant, own.url);
  const rotated = await tenant.admin.post(`${path}/${id}/rotate-secret`);
  expect(rotated).toSucceed(200);
  const fresh = rotated.body.secret;
  expect(fresh).not.toBe(old);
  const hours = (Date.parse(rotated.body.previous_secret_expires_at) - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(23.9);
  await publish(nobody, tenant);
  await until(() => own.received.length === 1);
  expect(own.received[0].headers["webhook-signature"].split(" ")).toHaveLength(2);
  verified(old, own.received[0]);
  verified(fresh, own.received[0]);
  await sql`update integration.webhook_subscriptions set previous_secret_until = now() where id = ${id}`;
  await publish(nobody, tenant);
  await until(() => own.received.length === 2);
  verified(fresh, own.received[1]);
  expect(() => verified(old, own.received[1])).toThrow();
  await own.close();
});

test("a second rotation keeps the promise of the first: its old secret signs on", async () => {
  const tenant = await newTenant();
  const own = await startReceiver();
  const { id, secret: first } = await subscribe(tenant, own.url);
  const rotate = async () =>
    (await tenant.admin.post(`${path}/${id}/rotate-secret`)).body.secret as string;
  const [second, third] = [await rotate(), await rotate()];
  await publish(nobody, tenant);
  await until(() => own.received.length === 1);
  for (const secret of [first, second, third]) verified(secret, own.received[0]);
  for (let i = 0; i < 3; i++) await rotate();
  await publish(nobody, tenant);
  await until(() => own.received.length === 2);
  // Of the five before the newest four sign: a header has no room for any number of them.
  expect(own.received[1].headers["webhook-signature"].split(" ")).toHaveLength(5);
  expect(() => verified(first, own.received[1])).toThrow();
  verified(second, own.received[1]);
  await own.close();
});

test("a test event is sent at once and logged, whatever the subscription listens to", async () => {
  const tenant = await newTenant();
  const own = await startReceiver();
  const { id, secret } = await subscribe(tenant, own.url, { event_types: ["delivery.failed"] });
  const answer = await tenant.admin.post(`${path}/${id}/test`);
  expect(answer).toSucceed(200);
  expect(answer.body).toMatchObject({
    event_id: own.received[0].headers["webhook-id"],
    status: "success",
    retry_count: 0,
  });
  expect(verified(secret, own.received[0])).toMatchObject({
    type: "webhook.test",
    data: { test: true },
  });
  own.answer((response) => response.writeHead(503).end());
  const failed = await tenant.admin.post(`${path}/${id}/test`);
  expect(failed).toSucceed(200);
  expect(failed.body).toMatchObject({ status: "failed", retry_count: 1 });
  await own.close();
});

test("recover sends again what failed in a span of time, under its old ids", async () => {
  const tenant = await newTenant();
  const own = await startReceiver();
  const { id } = await subscribe(tenant, own.url);
  own.answer((response) => response.writeHead(500).end());
  for (let n = 0; n < 3; n++) await publish(nobody, tenant, { event_data: { n } });
  await until(() => own.received.length === 3);
  await until(async () => (await deliveriesOf(id)).every((row) => row.status === "retrying"));
  await sql`update integration.webhook_events set status = 'failed', next_attempt_at = null where subscription_id = ${id}`;
  await sql`update integration.webhook_events set created_at = now() - interval '2 days'
    where id = (select id from integration.webhook_events where subscription_id = ${id} order by position limit 1)`;
  own.answer((response) => response.end());
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const answer = await tenant.admin.post(`${path}/${id}/recover`, { since });
  expect(answer).toSucceed(200);
  expect(answer.body.requeued).toBe(2);
  await until(() => own.received.length === 5);
  await until(async () =>
    (await deliveriesOf(id)).filter((row) => row.status === "success").length === 2
  );
  expect(new Set(own.received.map(({ headers }) => headers["webhook-id"])).size).toBe(3);
  expect((await deliveriesOf(id)).map(({ status }) => status)).toEqual([
    "failed",
    "success",
    "success",
  ]);
  expect(await tenant.admin.post(`${path}/${id}/recover`, {})).toFailWith(400, "validation_failed");
  await tenant.admin.put(`${path}/${id}`, { is_active: false });
  expect(await tenant.admin.post(`${path}/${id}/recover`, { since })).toFailWith(
    409,
    "webhook_subscription_inactive",
  );
  await own.close();
});

test("removing one removes its log", async () => {
  const tenant = await newTenant();
  const { id } = await subscribe(tenant, receiver.url);
  await tenant.admin.post(`${path}/${id}/test`);
  expect((await tenant.admin.delete(`${path}/${id}`)).body).toMatchObject({ success: true, id });
  expect(await deliveriesOf(id)).toHaveLength(0);
  expect(await tenant.admin.delete(`${path}/${id}`)).toFailWith(
    404,
    "webhook_subscription_not_found",
  );
});

test("administrators write, whoever sees the tenant reads, and another tenant's do not exist", async () => {
  const tenant = await newTenant();
  const { id } = await subscribe(tenant, receiver.url);
  const writes = [
    (who: typeof nobody) => who.post(path, valid()),
    (who: typeof nobody) => who.put(`${path}/${id}`, { is_active: false }),
    (who: typeof nobody) => who.delete(`${path}/${id}`),
    (who: typeof nobody) => who.post(`${path}/${id}/rotate-secret`),
    (who: typeof nobody) => who.post(`${path}/${id}/test`),
    (who: typeof nobody) => who.post(`${path}/${id}/recover`, { since: "2026-01-01T00:00:00Z" }),
  ];
  for (const write of writes) {
    for (const who of [tenant.ops, tenant.staff, tenant.driver, tenant.customer]) {
      expect(await write(who)).toFailWith(403, "forbidden");
    }
    expect(await write(nobody)).toFailWith(401, "unauthorized");
  }
  for (const write of writes.slice(1)) {
    expect(await write(b.admin)).toFailWith(404, "webhook_subscription_not_found");
  }
  expect(await tenant.driver.get(path)).toFailWith(403, "forbidden");
  const [row] =
    await sql`select is_active, previous_secret from integration.webhook_subscriptions where id = ${id}`;
  expect(row).toEqual({ is_active: true, previous_secret: null });
  const system = await newSystemAdmin();
  expect(await system.get(path)).toFailWith(400, "tenant_id_required");
  expect(await system.get(path, { query: { tenant_id: tenant.id } })).toSucceed(200);
});
