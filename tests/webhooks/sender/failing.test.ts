/** When a subscription has "only failed for five days": not by one failure, nor by a test. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { publish, statusesOf, subscribe } from "../../support/webhooks.ts";

let tenant: Tenant;
let receiver: Receiver;
let id: string;
beforeEach(async () => {
  [tenant, receiver] = await Promise.all([newTenant(), startReceiver()]);
  id = (await subscribe(tenant, receiver.url)).id;
  receiver.answer((response) => response.writeHead(500).end());
});
afterEach(() => receiver.close());

const subscription = async () =>
  (await sql`select is_active, failing_since, disabled_reason from integration.webhook_subscriptions where id = ${id}`)[
    0
  ];
const failed = async () => {
  const before = receiver.received.length;
  await publish(nobody, tenant);
  await until(() => receiver.received.length > before);
  await until(async () =>
    (await sql`select from integration.webhook_events where subscription_id = ${id} and claim_token is not null`)
      .length === 0
  );
};

test("one failure, days after another with nothing between, leaves it active", async () => {
  await failed();
  await sql`update integration.webhook_events set status = 'failed', next_attempt_at = null where subscription_id = ${id}`;
  await sql`update integration.webhook_subscriptions set failing_since = now() - interval '8 days' where id = ${id}`;
  await failed();
  expect(await subscription()).toMatchObject({ is_active: true });
  expect((await statusesOf(id))[1]).toBe("retrying");
});

test("neither a test nor an attempt by hand begins the days, or ends them", async () => {
  expect((await tenant.admin.post(`/webhooks/subscriptions/${id}/test`)).body.status).toBe(
    "failed",
  );
  expect(await subscription()).toMatchObject({ failing_since: null });
  await sql`update integration.webhook_subscriptions set failing_since = now() - interval '8 days' where id = ${id}`;
  await tenant.admin.post(`/webhooks/subscriptions/${id}/test`);
  expect(await subscription()).toMatchObject({ is_active: true });
  receiver.answer((response) => response.end());
  await tenant.admin.post(`/webhooks/subscriptions/${id}/test`);
  expect(await subscription()).toMatchObject({ failing_since: null });
});

test("what waits for one that was disabled fails in parts, the rest by the clock", async () => {
  await sql`update integration.webhook_subscriptions set is_active = false where id = ${id}`;
  await sql`insert into integration.webhook_events (tenant_id, subscription_id, event_type, entity_key, body, next_attempt_at)
    select ${tenant.id}, ${id}, 'delivery.created', 'delivery ' || n, '{}', now() + n * interval '1 hour' from generate_series(1, 3) n`;
  await sql`update integration.webhook_subscriptions set disabled_at = now(), disabled_reason = 'failing' where id = ${id}`;
  await sql`select integration.waiting_fail(array[${id}::uuid], 2)`;
  const waiting = () =>
    sql`select status from integration.webhook_events where subscription_id = ${id} and next_attempt_at is not null`;
  expect(await waiting()).toHaveLength(1);
  await sql`select integration.webhooks_release()`;
  expect(await waiting()).toHaveLength(0);
  expect(await statusesOf(id)).toEqual(["failed", "failed", "failed"]);
});
