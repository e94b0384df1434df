/** A sender's claim on what it is sending: kept, lost and taken over; and a slow subscriber keeps nobody waiting. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
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

test("a sender that dies between sending and writing down sends once more, with the same id and bytes", async () => {
  const { id, secret } = await subscribe(tenant, receiver.url);
  await publish(nobody, tenant);
  await until(async () => (await statusesOf(id))[0] === "success");
  // As the crash would have left it: sent, claimed, nothing written.
  await sql`update integration.webhook_events set status = 'pending', next_attempt_at = created_at,
    claim_token = gen_random_uuid(), claimed_at = now() where subscription_id = ${id}`;
  await wake(nobody);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(receiver.received).toHaveLength(1);
  await sql`update integration.webhook_events set claimed_at = now() - interval '3 minutes' where subscription_id = ${id}`;
  await wake(nobody);
  await until(() => receiver.received.length === 2);
  const [first, second] = receiver.received;
  expect(second.raw).toBe(first.raw);
  expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
  verified(secret, second);
  await until(async () => (await statusesOf(id))[0] === "success");
  expect((await deliveriesOf(id))[0].retry_count).toBe(0);
});

test("who has an event in hand keeps it by saying so; a silent worker's subscriptions are free at once, the events later", async () => {
  const { id } = await subscribe(tenant, receiver.url);
  receiver.answer(() => {});
  await publish(nobody, tenant);
  await until(() => receiver.received.length === 1);
  const claimed = async () => (await deliveriesOf(id))[0];
  const { id: event, claim_token, claimed_at } = await claimed();
  await until(async () => (await claimed()).claimed_at > claimed_at);
  // Of a claim that is not one's own nothing is renewed.
  const before = await claimed();
  expect(await sql`select integration.webhooks_renew(${[event]}, ${[randomUUID()]}) as n`).toEqual([
    {
      n: 0,
    },
  ]);
  expect((await claimed()).claim_token).toBe(claim_token);

  // A worker who fell silent four seconds ago, and what else there is for that subscriber.
  await sql`update integration.webhook_events set claimed_at = now() - interval '4 seconds', claim_token = gen_random_uuid()
    where id = ${event}`;
  receiver.answer((response) => response.end());
  await publish(nobody, tenant);
  await until(() => receiver.received.length === 2);
  expect(receiver.received[1].headers["webhook-id"]).not.toBe(before.id);
  await sql`update integration.webhook_events set claimed_at = now() - interval '11 seconds' where id = ${event}`;
  await wake(nobody);
  await until(() => receiver.received.length === 3);
  expect(receiver.received[2].headers["webhook-id"]).toBe(event);
});

test("a worker who comes back after losing a claim is recorded and decides nothing", async () => {
  let answerNow = () => {};
  receiver.answer((response) => (answerNow = () => response.writeHead(500).end("too late")));
  const { id } = await subscribe(tenant, receiver.url);
  await publish(nobody, tenant);
  await until(() => receiver.received.length === 1);
  // Another took it over meanwhile, and was through with it.
  await sql`update integration.webhook_events set claim_token = null, claimed_at = null, status = 'success',
    next_attempt_at = null where subscription_id = ${id}`;
  answerNow();
  await until(async () =>
    (await sql`select from integration.webhook_attempts where tenant_id = ${tenant.id}`).length > 0
  );
  expect((await deliveriesOf(id))[0]).toMatchObject({
    status: "success",
    retry_count: 0,
    next_attempt_at: null,
  });
});

test("a slow subscriber delays no other, and gets at most four connections", async () => {
  const [quickTenant, quick] = await Promise.all([newTenant(), startReceiver()]);
  const unanswered: (() => void)[] = [];
  receiver.answer((response) => void unanswered.push(() => response.end()));
  await subscribe(tenant, receiver.url);
  await subscribe(quickTenant, quick.url);
  await Promise.all(Array.from({ length: 12 }, () => publish(nobody, tenant)));
  await until(() => receiver.received.length >= 4);
  await Promise.all(Array.from({ length: 20 }, () => publish(nobody, quickTenant)));
  await until(() => quick.received.length === 20);
  // All of the quick one's came while the slow one had not answered a single request.
  expect(await sql`select from integration.webhook_attempts where tenant_id = ${tenant.id}`)
    .toEqual([]);
  expect(receiver.socketsPeak).toBeLessThanOrEqual(4);
  await quick.close();
  await sql`update integration.webhook_subscriptions set is_active = false where tenant_id = ${tenant.id}`;
  for (const answer of unanswered) answer();
});
