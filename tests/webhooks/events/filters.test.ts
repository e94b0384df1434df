/** The log by type and by what an event is about: for those who see the company, of their own company alone. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { type Receiver, startReceiver, until } from "../../support/receiver.ts";
import { publish, statusesOf, subscribe } from "../../support/webhooks.ts";

let tenant: Tenant;
let other: Tenant;
let receiver: Receiver;
let id: string;
const thing = randomUUID();
beforeAll(async () => {
  [tenant, other, receiver] = await Promise.all([newTenant(), newTenant(), startReceiver()]);
  id = (await subscribe(tenant, receiver.url)).id;
  for (const event_type of ["delivery.failed", "delivery.delivered"]) {
    await publish(nobody, tenant, { event_type, entity_id: thing });
  }
  await publish(nobody, tenant, { event_type: "delivery.failed" });
  await tenant.admin.post(`/webhooks/subscriptions/${id}/test`);
  await until(async () => (await statusesOf(id)).join() === "success,success,success,success");
});
afterAll(() => receiver.close());

const typesOf = async (query: Body, by = tenant.staff) => {
  const { body } = await by.get(`/webhooks/events/${id}`, { query });
  expect(body.total).toBe(body.events.length);
  return body.events.map((event: Body) => event.event_type).sort();
};

test("each narrows it, together and with the status", async () => {
  expect(await typesOf({ event_type: "delivery.failed" })).toEqual([
    "delivery.failed",
    "delivery.failed",
  ]);
  expect(await typesOf({ entity_id: thing })).toEqual(["delivery.delivered", "delivery.failed"]);
  expect(await typesOf({ entity_id: thing, event_type: "delivery.failed", status: "success" }))
    .toEqual(["delivery.failed"]);
  expect(await typesOf({ entity_id: thing, status: "failed" })).toEqual([]);
  expect(await typesOf({ event_type: "webhook.test" })).toEqual(["webhook.test"]);
  expect(await typesOf({ entity_id: randomUUID() })).toEqual([]);
});

test("a wrong id is refused, and another company finds nothing", async () => {
  const answer = await tenant.staff.get(`/webhooks/events/${id}`, { query: { entity_id: "x" } });
  expect(answer).toFailWith(400, "invalid_uuid");
  expect(await typesOf({ entity_id: thing }, other.admin)).toEqual([]);
});
