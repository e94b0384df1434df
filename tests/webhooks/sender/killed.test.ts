/** The sender's process is killed after a subscriber has the event and before anybody wrote that down. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWebhookSecret, seal } from "../../../shared/outbound/secrets.ts";
import type { Stack } from "../../../supabase/local/stack.ts";
import { startOwnStack } from "../../support/own-stack.ts";
import { type Receiver, startReceiver, until, verified } from "../../support/receiver.ts";

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  [stack, receiver] = await Promise.all([
    startOwnStack({ workers: 2 }),
    startReceiver(),
  ]);
}, 180_000);
afterAll(async () => {
  await receiver.close();
  await stack.stop();
});

const wake = () =>
  fetch(`${stack.url}/functions/v1/webhooks/internal/dispatch`, {
    method: "POST",
    headers: { apikey: stack.secretKey },
  });

test("the event is sent once more under its id, and counted as sent", async () => {
  const { sql } = stack;
  const [tenant, id, secret] = [randomUUID(), randomUUID(), newWebhookSecret()];
  await sql`insert into tenancy.tenants (id, name, slug, status)
    values (${tenant}, '{"en": "T"}', ${"t-" + tenant}, 'active')`;
  await sql`insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, secret)
    select ${id}, ${tenant}, m.id, ${receiver.url}, '{*}', ${await seal(secret, `webhook/${id}`)}
    from tenancy.modules m where m.key = 'delivery'`;
  await sql`insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id)
    values (${tenant}, 'delivery.delivered', 'delivery', 'delivery', gen_random_uuid())`;
  receiver.answer(() => {
    // Both, since we do not know which of them sends; the answer never comes.
    stack.killWorker(0);
    stack.killWorker(1);
  });
  await wake();
  await until(() => receiver.received.length === 1);
  await stack.restartWorkers();
  const [left] =
    await sql`select status, claim_token, retry_count from integration.webhook_events where subscription_id = ${id}`;
  // Nobody counts an attempt that nobody saw fail.
  expect(left).toMatchObject({
    status: "pending",
    claim_token: expect.any(String),
    retry_count: 0,
  });
  expect(await sql`select from integration.webhook_attempts where tenant_id = ${tenant}`)
    .toHaveLength(0);

  receiver.answer((response) => response.end());
  await sql`update integration.webhook_events set claimed_at = now() - interval '3 minutes' where subscription_id = ${id}`;
  await until(async () => (await wake()).status === 202);
  await until(() => receiver.received.length === 2);
  const [first, second] = receiver.received;
  expect(second.raw).toBe(first.raw);
  expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
  verified(secret, second);
  await expect.poll(
    () =>
      sql`select w.status, w.retry_count - count(a.id)::int as uncounted from integration.webhook_events w
        left join integration.webhook_attempts a on a.event_id = w.id and a.error_message is not null
        where w.subscription_id = ${id} group by w.id`,
    { timeout: 30_000 },
    // Its retries are the attempts that failed and were written down; the killed one is none.
  ).toMatchObject([{ status: "success", uncounted: 0 }]);
}, 180_000);
