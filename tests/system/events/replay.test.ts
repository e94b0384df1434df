/** A replay sends what is subscribed to by now, and its dry run says how much that is. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import "../../support/expect.ts";
import { newSystemAdmin, newTenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { publish, statusesOf, subscribe, wake } from "../../support/webhooks.ts";

let system: Person;
let receiver: Receiver;
beforeAll(async () => {
  [system, receiver] = await Promise.all([newSystemAdmin(), startReceiver()]);
});
afterAll(() => receiver.close());

test("an event of a type that its subscriber has dropped since is neither counted nor sent again", async () => {
  const tenant = await newTenant();
  const { id } = await subscribe(tenant, receiver.url);
  const types = ["delivery.delivered", "delivery.failed"];
  for (const event_type of types) await publish(nobody, tenant, { event_type });
  await until(async () => (await statusesOf(id)).join() === "success,success");
  expect(
    await tenant.admin.put(`/webhooks/subscriptions/${id}`, { event_types: ["delivery.failed"] }),
  ).toSucceed(200);
  const replay = async (dry_run: boolean) =>
    (await system.post("/system/events/replay", {
      ...{ since: new Date(Date.now() - 60_000).toISOString(), tenant_id: tenant.id, dry_run },
    })).body;
  expect(await replay(true)).toMatchObject({ events: 2, created: 0, requeued: 1 });
  expect(await replay(false)).toMatchObject({ events: 2, created: 0, requeued: 1 });
  await wake(nobody);
  await until(() => receiver.received.length === 3);
  await until(async () => (await statusesOf(id)).join() === "success,success");
  const sent = receiver.received.map(({ body }) => body.type);
  expect(sent.sort()).toEqual(["delivery.delivered", "delivery.failed", "delivery.failed"]);
});
