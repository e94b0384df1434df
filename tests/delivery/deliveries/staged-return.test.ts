/** The driver of a staged parcel's first leg brings it into a warehouse by `return`: it continues from there. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  move,
  moves,
  newDelivery,
  path,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});
afterAll(() => checkAll(tenant));

/** A staged parcel that its first driver has in hand, by way of `yard.warehouse`. */
async function fetched(more: Record<string, unknown> = {}) {
  const parent = await newDelivery(yard, {
    staged: true,
    warehouse_id: yard.warehouse,
    cod_amount: 20_000,
    ...more,
  });
  const [a, b] = parent.legs.map(({ id }: { id: string }) => id);
  await assign(tenant, a);
  await moves(tenant.driver, a, "pickup");
  return { id: parent.id as string, a: a as string, b: b as string };
}
const states = (...ids: string[]) => Promise.all(ids.map(statusOf));

describe.each([false, true])("after a failed attempt: %s,", (attempted) => {
  test.each(["warehouse", "there"] as const)(
    "into %s its leg ends, and it goes to its door from there",
    async (where) => {
      const { id, a, b } = await fetched();
      if (attempted) await moves(tenant.driver, a, "fail");
      const answer = await move(tenant.driver, a, "return", { warehouse_id: yard[where] });
      expect(answer).toSucceed(200);
      expect(answer.body).toMatchObject({ refunded: false, refund_due: null });
      expect(answer.body.delivery).toMatchObject({
        status: "delivered",
        assignment: { status: "completed" },
      });
      expect(await states(id, a, b)).toEqual(["in_transit", "delivered", "pending"]);
      const { delivery } = (await tenant.ops.get(`${path}/${id}`)).body;
      expect(delivery).toMatchObject({
        staging_warehouse_id: yard[where],
        current_warehouse_id: yard[where],
        cash_due: { delivery: { cod: 20_000 } },
      });
      const [leg] =
        await sql`select b.pickup_warehouse_id, b.pickup_address_id, a.dropoff_address_id,
      a.dropoff_warehouse_id, w.address_id from delivery.deliveries b
      join delivery.deliveries a on a.id = ${a} join warehousing.warehouses w on w.id = ${
          yard[where]
        }
      where b.id = ${b}`;
      expect(leg).toEqual({
        pickup_warehouse_id: yard[where],
        pickup_address_id: leg.address_id,
        dropoff_warehouse_id: yard[where],
        dropoff_address_id: leg.address_id,
        address_id: leg.address_id,
      });
      await takenOver({ ...yard, warehouse: yard[where] }, b, tenant.driver2);
      const done = await moves(tenant.driver2, b, "depart", "complete");
      expect(done.cash.collected.cod).toBe(20_000);
      expect(await statusOf(id)).toBe("delivered");
    },
  );
});

test("it waits to be received where the setting asks for it, and can be brought elsewhere when that is undone", async () => {
  await saveSettings(tenant.id, "general.warehouse", { handoff_required: true });
  const { id, a, b } = await fetched();
  const { receiving_order_id } = await moves(tenant.driver, a, ["return", {
    warehouse_id: yard.there,
  }]);
  expect(await states(id, a, b)).toEqual(["in_transit", "delivered", "draft"]);
  const undone = await tenant.ops.post(`${path}/${a}/outcome/undo`, { reason: "Wrong warehouse" });
  expect(undone).toSucceed(200);
  expect(await states(id, a, b)).toEqual(["picked_up", "picked_up", "draft"]);
  const again = await moves(tenant.driver, a, ["return", { warehouse_id: yard.warehouse }]);
  expect(again.receiving_order_id).not.toBe(receiving_order_id);
  await received(yard, again.receiving_order_id);
  expect(await states(id, a, b)).toEqual(["in_transit", "delivered", "pending"]);
  const [{ pickup_warehouse_id }] = await sql`select pickup_warehouse_id from delivery.deliveries
    where id = ${b}`;
  expect(pickup_warehouse_id).toBe(yard.warehouse);
  await saveSettings(tenant.id, "general.warehouse", { handoff_required: false });
});

test("with its sender, or in the warehouse it was ordered from, it is back; nobody else's driver says so", async () => {
  const atDoor = await fetched();
  expect(await move(await newDriver(tenant), atDoor.a, "return", { warehouse_id: yard.there }))
    .toFailWith(404, "delivery_not_found");
  await moves(tenant.driver, atDoor.a, "return");
  expect(await states(atDoor.id, atDoor.a, atDoor.b)).toEqual([
    "returned",
    "returned",
    "cancelled",
  ]);
  const { id, a, b } = await fetched({
    pickup_address_id: undefined,
    pickup_warehouse_id: yard.there,
  });
  const { receiving_order_id } = await moves(tenant.driver, a, ["return", {
    warehouse_id: yard.there,
  }]);
  await received(yard, receiving_order_id);
  expect(await states(id, a, b)).toEqual(["returned", "returned", "cancelled"]);
});
