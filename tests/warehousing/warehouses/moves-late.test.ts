/** A warehouse gets another address while a parcel waits for its receipt there, had ended there, or is being ordered. */
import { afterAll, beforeEach, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  moves,
  newDelivery,
  outboundOnRoad,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { enable, external, givenToCarrier } from "../../support/carriers.ts";
import { runJobs } from "../../support/jobs.ts";
import { newAddress } from "../../support/make.ts";
import { undo } from "../../support/outcomes.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
beforeEach(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});
afterAll(() => checkAll(tenant));

/** Moves the warehouse to a new address, and answers it. */
async function moved(): Promise<string> {
  const address_id = await newAddress(tenant, { city: "Erbil" });
  const answer = await tenant.ops.put(`/warehousing/warehouses/${yard.warehouse}`, { address_id });
  expect(answer).toSucceed(200);
  return address_id;
}
const placesOf = async (id: string) =>
  (await sql`select pickup_address_id as from, pickup_snapshot ->> 'id' as fetched,
    dropoff_address_id as to, dropoff_snapshot ->> 'id' as brought
    from delivery.deliveries where id = ${id}`)[0];

test("a leg that comes back to it sets out from where it stands", async () => {
  const { b } = await outboundOnRoad(yard);
  await moves(tenant.driver, b, "fail", "return");
  const now = await moved();
  const [{ id: receipt }] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${b} and status = 'pending'`;
  await received(yard, receipt);
  expect(await statusOf(b)).toBe("pending");
  expect(await placesOf(b)).toMatchObject({ from: now, fetched: now });
});

test("what had ended in it goes there when that is undone", async () => {
  await sql`update warehousing.bins set is_default_receiving = false where warehouse_id = ${yard.warehouse}`;
  const { id } = await newDelivery(yard, {
    dropoff_address_id: undefined,
    dropoff_warehouse_id: yard.warehouse,
  });
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart", "complete");
  const now = await moved();
  expect((await placesOf(id)).to).not.toBe(now);
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await statusOf(id)).toBe("in_transit");
  expect(await placesOf(id)).toMatchObject({ to: now, brought: now });
});

test("what is being ordered while it moves follows two minutes later", async () => {
  const { id } = await newDelivery(yard, {
    pickup_address_id: undefined,
    pickup_warehouse_id: yard.warehouse,
  });
  const before = await placesOf(id);
  const now = await moved();
  expect(await placesOf(id)).toMatchObject({ from: now, fetched: now });
  // As a call leaves it that had read the address before, and ended after.
  await sql`update delivery.deliveries set pickup_address_id = ${before.from},
    pickup_snapshot = jsonb_build_object('id', ${before.from}::text),
    ordered_from_address_id = null, ordered_from_snapshot = null, ordered_from_warehouse_id = null where id = ${id}`;
  await sql`update app.jobs set run_at = now()
    where tenant_id = ${tenant.id} and kind = 'delivery.warehouse_follow' and status = 'queued'`;
  await runJobs("delivery", tenant.id);
  expect(await placesOf(id)).toMatchObject({ from: now, fetched: now });
});

test("administrators are to call the carrier that was given the address of before", async () => {
  await enable(tenant);
  const booked = await newDelivery(yard, {
    pickup_address_id: undefined,
    pickup_warehouse_id: yard.warehouse,
  });
  await givenToCarrier(tenant, booked.id);
  const free = await newDelivery(yard, {
    pickup_address_id: undefined,
    pickup_warehouse_id: yard.warehouse,
  });
  expect(await tenant.ops.patch(`${path}/${free.id}/carrier`, external)).toSucceed(200);
  await moved();
  const { body } = await tenant.admin.get("/tenants/me/notifications", {
    query: { type: "shipment_place_changed" },
  });
  expect(body.data.map((one: { payload: { delivery_id: string } }) => one.payload.delivery_id))
    .toEqual([booked.id]);
  expect(body.data[0].message).toContain("please call the carrier");
});
