/** From an event to its subscriber: signed, in order, again when it fails, and nobody waits for the slow. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until, verified } from "../../support/receiver.ts";
import { deliveriesOf, publish, statusesOf, subscribe, wake } from "../../support/webhooks.ts";

let tenant: Tenant;
let receiver: Receiver;
beforeEach(async () => {
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
});
afterEach(() => receiver.close());

test("an event reaches its subscriber at once, in the envelope and signed as the standard says", async () => {
  const { id, secret } = await subscribe(tenant, receiver.url);
  const eventId = await publish(nobody, tenant, { event_data: { delivery_code: 7, note: "هنا" } });
  await until(() => receiver.received.length === 1);
  const [one] = receiver.received;
  const [row] = await deliveriesOf(id);
  expect(verified(secret, one)).toEqual({
    id: row.id,
    type: "delivery.delivered",
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    tenant_id: tenant.id,
    data: { delivery_code: 7, note: "هنا" },
  });
  expect(one.headers["webhook-id"]).toBe(row.id);
  expect(one.headers["x-webhook-id"]).toBe(row.id);
  expect(one.raw).toBe(row.body);
  await until(async () => (await statusesOf(id))[0] === "success");
  const [event] = await sql`select * from integration.system_events where id = ${eventId}`;
  // The sender keeps its own mark; the status waits for its consumer.
  expect(event).toMatchObject({ status: "pending", is_dispatched: true, processed_at: null });
});

test("handing over an event that somebody marked as failed leaves it as it was marked", async () => {
  const { id } = await subscribe(tenant, receiver.url);
  const [event] = await sql`insert into integration.system_events
    (tenant_id, event_type, source_module, entity_type, entity_id, event_data, status, error_message)
    values (${tenant.id}, 'delivery.delivered', 'delivery', 'delivery', ${randomUUID()}, '{}', 'failed', 'no')
    returning id`;
  await wake(nobody);
  await until(async () => (await statusesOf(id)).length === 1);
  const [after] = await sql`select * from integration.system_events where id = ${event.id}`;
  expect(after).toMatchObject({
    status: "failed",
    is_dispatched: true,
    processed_at: null,
    error_message: "no",
  });
});

test("a delivery with one byte changed, or another secret, is not genuine", async () => {
  const { secret } = await subscribe(tenant, receiver.url);
  await publish(nobody, tenant);
  await until(() => receiver.received.length === 1);
  const [one] = receiver.received;
  expect(() => verified(secret, { ...one, raw: one.raw.replace('"n"', '"m"') })).toThrow();
  expect(() => verified(`whsec_${Buffer.alloc(32).toString("base64")}`, one)).toThrow();
});

describe("who is told of what", () => {
  test("a type, a family or everything, of the subscription's module only", async () => {
    const [exact, family, all, foreign] = await Promise.all([
      subscribe(tenant, receiver.url, { module: "delivery", event_types: ["delivery.failed"] }),
      subscribe(tenant, receiver.url, { module: "warehousing", event_types: ["waybill.*"] }),
      subscribe(tenant, receiver.url, { module: "cod", event_types: ["*"] }),
      subscribe(tenant, receiver.url, { module: "storefront", event_types: ["*"] }),
    ]);
    await publish(nobody, tenant, { event_type: "delivery.failed" });
    await publish(nobody, tenant, { event_type: "delivery.delivered" });
    await publish(nobody, tenant, { event_type: "waybill.sealed", source_module: "warehousing" });
    await publish(nobody, tenant, {
      event_type: "inventory.adjusted",
      source_module: "warehousing",
    });
    await publish(nobody, tenant, { event_type: "cod_settlement.created" });
    await until(() => receiver.received.length === 3);
    await wake(nobody);
    const types = async ({ id }: { id: string }) =>
      (await deliveriesOf(id)).map(({ event_type }) => event_type);
    expect(await types(exact)).toEqual(["delivery.failed"]);
    expect(await types(family)).toEqual(["waybill.sealed"]);
    expect(await types(all)).toEqual(["cod_settlement.created"]);
    expect(await types(foreign)).toEqual([]);
  });

  test("what happened before anybody listened is not sent, nor is another tenant's", async () => {
    const other = await newTenant();
    await publish(nobody, tenant);
    const { id } = await subscribe(tenant, receiver.url);
    await publish(nobody, other);
    await publish(nobody, null);
    await publish(nobody, tenant, { event_data: { n: "mine" } });
    await until(() => receiver.received.length === 1);
    expect(receiver.received[0].body.data).toEqual({ n: "mine" });
    expect(await deliveriesOf(id)).toHaveLength(1);
    // Nobody listens there: nothing was done for it.
    const [theirs] = await sql`select status, is_dispatched from integration.system_events
      where tenant_id = ${other.id}`;
    expect(theirs).toEqual({ status: "pending", is_dispatched: false });
  });

  test("an event that is looked at again and again is one delivery", async () => {
    const { id } = await subscribe(tenant, receiver.url);
    await publish(nobody, tenant);
    await until(() => receiver.received.length === 1);
    for (let i = 0; i < 3; i++) {
      await sql`update integration.system_events set is_dispatched = false where tenant_id = ${tenant.id}`;
      await Promise.all(Array.from({ length: 4 }, () => wake(nobody)));
    }
    await until(async () =>
      (await sql`select from integration.system_events where tenant_id = ${tenant.id} and not is_dispatched`)
        .length === 0
    );
    expect(await deliveriesOf(id)).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
  });
});

test("events written behind the functions are found by the clock, in the order of each thing", async () => {
  const { id } = await subscribe(tenant, receiver.url);
  const things = [randomUUID(), randomUUID(), randomUUID()];
  await sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    select ${tenant.id}, 'delivery.moved', 'delivery', 'delivery', (${things}::uuid[])[1 + n % 3], jsonb_build_object('n', n)
    from generate_series(1, 60) n order by n`;
  // Answers at different speeds would mix up what is not held in order.
  receiver.answer((response) => setTimeout(() => response.end(), Math.random() * 20));
  await wake(nobody);
  await until(() => receiver.received.length === 60, 15_000);
  for (const remainder of [0, 1, 2]) {
    const seen = receiver.received.map(({ body }) => body.data.n).filter((n) =>
      n % 3 === remainder
    );
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  }
  await until(async () => (await statusesOf(id)).every((status) => status === "success"));
});

describe("failing", () => {
  test("the schedule: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h, then failed; id and bytes stay", async () => {
    receiver.answer((response) => response.writeHead(500).end("broken"));
    const { id, secret } = await subscribe(tenant, receiver.url);
    await publish(nobody, tenant);
    const waits: (number | null)[] = [];
    for (let attempt = 1; attempt <= 8; attempt++) {
      await until(async () => {
        const [row] = await deliveriesOf(id);
        return row?.retry_count === attempt && row.claim_token === null;
      });
      const [row] = await deliveriesOf(id);
      waits.push(
        row.next_attempt_at && Math.round((row.next_attempt_at - row.updated_at) / 1000),
      );
      expect(row.status).toBe(attempt < 8 ? "retrying" : "failed");
      await sql`update integration.webhook_events set next_attempt_at = now()
        where subscription_id = ${id} and next_attempt_at is not null`;
      if (attempt < 8) await wake(nobody);
    }
    expect(waits).toEqual([5, 300, 1800, 7200, 18000, 36000, 36000, null]);
    expect(new Set(receiver.received.map(({ raw }) => raw)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    for (const one of receiver.received) verified(secret, one);
    const [row] = await deliveriesOf(id);
    expect(row).toMatchObject({ http_status_code: 500, error_message: "HTTP 500" });
    const attempts = await tenant.admin.get(`/webhooks/events/${row.id}/attempts`);
    expect(attempts.body.data).toHaveLength(8);
    expect(attempts.body.data[0]).toEqual({
      is_manual: false,
      http_status_code: 500,
      latency_ms: expect.any(Number),
      response_body: "broken",
      error_message: "HTTP 500",
      created_at: expect.any(String),
    });
  });

  test("a later event of the same thing waits; those of others do not", async () => {
    const thing = randomUUID();
    receiver.answer((response, _, { body }) =>
      response.writeHead(body.data.n === 1 ? 500 : 200).end()
    );
    const { id } = await subscribe(tenant, receiver.url);
    await publish(nobody, tenant, { entity_id: thing, event_data: { n: 1 } });
    await until(async () => (await statusesOf(id))[0] === "retrying");
    await publish(nobody, tenant, { entity_id: thing, event_data: { n: 2 } });
    await publish(nobody, tenant, { event_data: { n: 3 } });
    await until(() => receiver.received.some(({ body }) => body.data.n === 3));
    await wake(nobody);
    expect(await statusesOf(id)).toEqual([
      "retrying",
      "pending",
      expect.stringMatching(/success|pending/),
    ]);
    receiver.answer((response) => response.end());
    await sql`update integration.webhook_events set next_attempt_at = now() where subscription_id = ${id} and next_attempt_at is not null`;
    await wake(nobody);
    await until(async () => (await statusesOf(id)).every((status) => status === "success"));
    expect(receiver.received.map(({ body }) => body.data.n)).toEqual([1, 3, 1, 2]);
  });

  test("410 ends the subscription, fails what waits and tells the tenant by an event", async () => {
    receiver.answer((response) => response.writeHead(410).end());
    const { id } = await subscribe(tenant, receiver.url);
    const thing = randomUUID();
    await publish(nobody, tenant, { entity_id: thing });
    await until(async () => (await statusesOf(id))[0] === "failed");
    const [row] =
      await sql`select is_active, disabled_reason from integration.webhook_subscriptions where id = ${id}`;
    expect(row).toEqual({ is_active: false, disabled_reason: "gone" });
    const told = await sql`select event_data from integration.system_events
      where tenant_id = ${tenant.id} and event_type = 'webhook_subscription.disabled'`;
    expect(told.map(({ event_data }) => event_data)).toEqual([{
      subscription_id: id,
      reason: "gone",
    }]);
    const notices = (await tenant.admin.get("/tenants/me/notifications")).body.data
      .filter(({ type }: { type: string }) => type === "webhook_disabled");
    expect(notices).toMatchObject([{ payload: { subscription_id: id, url: receiver.url } }]);
    await publish(nobody, tenant);
    await wake(nobody);
    expect(receiver.received).toHaveLength(1);
  });

  test("410 fails what was sent beside it as well: nothing of a subscription that ended is tried again", async () => {
    const waiting: (() => void)[] = [];
    receiver.answer((response) => void waiting.push(() => response.writeHead(410).end()));
    const { id } = await subscribe(tenant, receiver.url);
    for (let i = 0; i < 6; i++) await publish(nobody, tenant);
    // An event that is handed over after the end makes no delivery.
    await until(async () => waiting.length >= 3 && (await statusesOf(id)).length === 6);
    for (const answer of waiting.splice(0)) answer();
    receiver.answer((response) => response.writeHead(410).end());
    await until(async () => (await statusesOf(id)).every((status) => status === "failed"));
    expect(await statusesOf(id)).toHaveLength(6);
  });

  test("five days of nothing but failures end it too; four do not", async () => {
    receiver.answer((response) => response.writeHead(500).end());
    const { id } = await subscribe(tenant, receiver.url);
    for (const [days, active] of [[4, true], [6, false]] as const) {
      await sql`update integration.webhook_subscriptions set failing_since = now() - ${
        days + " days"
      }::interval where id = ${id}`;
      const before = receiver.received.length;
      await publish(nobody, tenant);
      await until(() => receiver.received.length > before);
      const settled = () =>
        until(async () =>
          (await sql`select from integration.webhook_events where subscription_id = ${id} and claim_token is not null`)
            .length === 0
        );
      await settled();
      // Its last attempt.
      await sql`update integration.webhook_events set attempts = 7, next_attempt_at = now()
        where subscription_id = ${id} and status = 'retrying' and position = (
          select max(position) from integration.webhook_events where subscription_id = ${id})`;
      await wake(nobody);
      await until(() => receiver.received.length > before + 1);
      await settled();
      const [row] =
        await sql`select is_active, disabled_reason from integration.webhook_subscriptions where id = ${id}`;
      expect(row).toEqual({ is_active: active, disabled_reason: active ? null : "failing" });
    }
  });

  test("a longer pause that the subscriber asks for is kept, up to an hour", async () => {
    const { id } = await subscribe(tenant, receiver.url);
    for (const [asked, waits] of [["120", 120], ["999999", 3600], ["soon", 5]] as const) {
      receiver.answer((response) => response.writeHead(429, { "retry-after": asked }).end());
      await sql`delete from integration.webhook_events where subscription_id = ${id}`;
      await publish(nobody, tenant);
      await until(async () => (await statusesOf(id))[0] === "retrying");
      const [row] = await deliveriesOf(id);
      expect(Math.round((row.next_attempt_at - row.updated_at) / 1000)).toBe(waits);
    }
  });

  test("a redirect is not followed and is a failure", async () => {
    const trap = await startReceiver();
    receiver.answer((response) => response.writeHead(307, { location: trap.url }).end());
    const { id } = await subscribe(tenant, receiver.url);
    await publish(nobody, tenant);
    await until(async () => (await statusesOf(id))[0] === "retrying");
    expect((await deliveriesOf(id))[0]).toMatchObject({
      http_status_code: 307,
      error_message: "HTTP 307: redirects are not followed",
    });
    expect(trap.received).toHaveLength(0);
    await trap.close();
  });

  test("of an endless answer no more than 16 KiB is kept, and the delivery counts", async () => {
    receiver.answer((response) => {
      const drip = setInterval(() => response.write("x".repeat(8_192)), 1);
      response.on("close", () => clearInterval(drip));
    });
    const { id } = await subscribe(tenant, receiver.url);
    await publish(nobody, tenant);
    await until(async () => (await statusesOf(id))[0] === "success");
    const [attempt] =
      await sql`select length(response_body) as kept from integration.webhook_attempts
      where tenant_id = ${tenant.id}`;
    expect(attempt.kept).toBe(16_384);
  });
});
