/** After an outage: what waits is sent at once, and what was accepted is sent once more to a receiver that lost it. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { publish, statusesOf, subscribe } from "../../support/webhooks.ts";

const path = "/webhooks/subscriptions";
const since = new Date(Date.now() - 3_600_000).toISOString();
let tenant: Tenant;
let receiver: Receiver;
let id: string;
beforeEach(async () => {
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
  id = (await subscribe(tenant, receiver.url)).id;
});
afterEach(() => receiver.close());

const recover = (more = {}) => tenant.admin.post(`${path}/${id}/recover`, { since, ...more });
const sent = () => receiver.received.map(({ body }) => body.data.n);
const ended = (...wanted: string[]) =>
  until(async () => (await statusesOf(id)).join() === wanted.join());

/** Two events of one thing, of which the first failed and waits for hours, and the subscriber is well again. */
async function waiting(): Promise<void> {
  receiver.answer((response) => response.writeHead(500).end());
  const thing = randomUUID();
  for (const n of [1, 2]) await publish(nobody, tenant, { entity_id: thing, event_data: { n } });
  await ended("retrying", "pending");
  await sql`update integration.webhook_events set next_attempt_at = now() + interval '10 hours', attempts = 6
    where subscription_id = ${id} and status = 'retrying' and claim_token is null`;
  receiver.received.length = 0;
  receiver.answer((response) => response.end());
}

test("recover sends at once what waits for its next attempt, in its order", async () => {
  await waiting();
  expect((await recover({ dry_run: true })).body).toMatchObject({
    requeued: 0,
    waiting: 1,
    dry_run: true,
  });
  expect((await recover()).body).toMatchObject({ requeued: 0, waiting: 1, dry_run: false });
  await ended("success", "success");
  expect(sent()).toEqual([1, 2]);
});

test.each(["another address", "switched on again"])("%s does so, too", async (how) => {
  await waiting();
  const change = (body: object) => tenant.admin.put(`${path}/${id}`, body);
  if (how === "another address") {
    expect(await change({ url: `${receiver.url}?new` })).toSucceed(200);
  } else {
    expect(await change({ is_active: false })).toSucceed(200);
    expect(await change({ is_active: true })).toSucceed(200);
  }
  await ended("success", "success");
  expect(sent()).toEqual([1, 2]);
});

test("a change of event types alone leaves what waits as it is", async () => {
  await waiting();
  expect(await tenant.admin.put(`${path}/${id}`, { event_types: ["delivery.*"] })).toSucceed(200);
  const [{ next }] = await sql`select max(next_attempt_at) > now() + interval '9 hours' as next
    from integration.webhook_events where subscription_id = ${id}`;
  expect(next).toBe(true);
});

test("a receiver that lost what it accepted gets it again under the same ids; a test is not sent again", async () => {
  for (const n of [1, 2]) await publish(nobody, tenant, { event_data: { n } });
  await ended("success", "success");
  await tenant.admin.post(`${path}/${id}/test`);
  const ids = receiver.received.slice(0, 2).map(({ headers }) => headers["webhook-id"]).sort();
  receiver.received.length = 0;
  expect((await recover()).body.requeued).toBe(0);
  expect((await recover({ succeeded: true, dry_run: true })).body.requeued).toBe(2);
  expect(receiver.received).toEqual([]);
  expect((await recover({ succeeded: true })).body.requeued).toBe(2);
  await until(() => receiver.received.length === 2);
  expect(receiver.received.map(({ headers }) => headers["webhook-id"]).sort()).toEqual(ids);
  await ended("success", "success", "success");
  const later = new Date(Date.now() + 60_000).toISOString();
  expect((await recover({ succeeded: true, since: later })).body.requeued).toBe(0);
});

test("more than ten thousand are refused", async () => {
  await sql`insert into integration.webhook_events
      (tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at)
    select ${tenant.id}, ${id}, 'delivery.failed', 'delivery/' || n, '{}', 'failed', null from generate_series(1, 10001) n`;
  const answer = await recover();
  expect(answer).toFailWith(400, "replay_too_large");
  expect(answer.body.field).toBe("since");
});

test("a span is needed, and words are not", async () => {
  expect(await tenant.admin.post(`${path}/${id}/recover`, { succeeded: true }))
    .toFailWith(400, "validation_failed");
  expect(await recover({ succeeded: "yes" })).toFailWith(400, "validation_failed");
});

test("events committed before a 410 are recovered with the rest", async () => {
  receiver.answer((response) => {
    // Committed while the answer is on its way, and handed to nobody yet.
    void sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
      values (${tenant.id}, 'delivery.failed', 'delivery', 'delivery', ${randomUUID()}, '{"n": 2}')`
      .then(() => response.writeHead(410).end());
  });
  await sql`update integration.system_events set is_dispatched = true where tenant_id = ${tenant.id}`;
  await publish(nobody, tenant, { event_data: { n: 1 } });
  await ended("failed", "failed");
  receiver.answer((response) => response.end());
  receiver.received.length = 0;
  expect(await tenant.admin.put(`${path}/${id}`, { is_active: true })).toSucceed(200);
  expect((await recover()).body.requeued).toBe(2);
  await ended("success", "success");
  expect(sent().sort()).toEqual([1, 2]);
});

test("of three tests at the same moment under one key one sends, and all answer it", async () => {
  receiver.answer((response) => void setTimeout(() => response.end(), 500));
  const headers = { "idempotency-key": randomUUID() };
  const answers = await Promise.all(
    [1, 2, 3].map(() => tenant.admin.post(`${path}/${id}/test`, undefined, { headers })),
  );
  for (const answer of answers) {
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual(answers[0]!.body);
  }
  expect(receiver.received).toHaveLength(1);
  expect(await statusesOf(id)).toEqual(["success"]);
  expect((await tenant.admin.post(`${path}/${id}/test`)).body.event_id)
    .not.toBe(answers[0]!.body.event_id);
});
