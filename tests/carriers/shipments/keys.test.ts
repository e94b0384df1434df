/** The key of a booking: what it was answered once, it is answered for good. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { enable, external } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newDelivery, newGround } from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  await enable(tenant);
});

test("a key that found the delivery booked finds that booking after its cancellation, and buys nothing", async () => {
  const { id } = await newDelivery(ground, external);
  const book = (key: string) =>
    tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" }, {
      headers: { "idempotency-key": key },
    });
  const late = randomUUID();
  const first = await book(randomUUID());
  expect(first).toSucceed(200);
  const second = await book(late);
  expect(second.body.shipment).toEqual(first.body.shipment);
  expect(second.headers.get("idempotency-replayed")).toBeNull();
  expect(await tenant.ops.post(`/carriers/shipments/${id}/cancel`)).toSucceed(200);
  const again = await book(late);
  expect(again.body).toEqual(second.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await sql`select from integration.carrier_shipments where delivery_id = ${id}`)
    .toHaveLength(1);
});
