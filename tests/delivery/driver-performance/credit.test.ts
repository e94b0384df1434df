/** Whose figures a delivery counts in, when more than one had it or another company carried it. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { type Ground, moves, newDelivery, newGround } from "../../support/deliveries.ts";
import { fundWallet } from "../../support/money.ts";
import { approveOrder, bring, withDriver } from "../../support/order-goods.ts";
import { newShop, placeOrder } from "../../support/orders.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
let driver: Person;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  driver = await newDriver(tenant);
  await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});

const give = async (delivery_id: string) => {
  const answer = await tenant.ops.post("/delivery/assignments", {
    delivery_id,
    driver_id: driver.id,
  });
  expect(answer).toSucceed(201);
  return answer.body.id as string;
};
const take = (assignment: string) =>
  tenant.ops.post(`/delivery/assignments/${assignment}/unassign`);
const accept = (assignment: string) =>
  driver.put(`/delivery/assignments/${assignment}`, { status: "accepted" });

/** The driver who is credited with a delivery: the same after a refresh and after a recomputation. */
async function creditedWith(delivery: string): Promise<unknown> {
  const read = async () =>
    (await sql`select driver_id, successful from delivery.performance_deliveries
      where delivery_id = ${delivery}`)[0] ?? null;
  await sql`select delivery.performance_refresh(${tenant.id})`;
  const refreshed = await read();
  await sql`select delivery.performance_recompute(${tenant.id})`;
  expect(await read()).toEqual(refreshed);
  return refreshed;
}

describe("a delivery that a driver had and another company carried", () => {
  test.each([["delivered", "complete"], ["failed", "fail"], ["returned", "return"]])(
    "is nobody's when it is %s",
    async (status, step) => {
      const { id } = await newDelivery(ground, { payer_type: "sender", payment_method: "wallet" });
      await take(await give(id));
      expect(
        await tenant.ops.patch(`/delivery/deliveries/${id}/carrier`, {
          carrier_type: "external",
          carrier_code: "easypost",
        }),
      ).toSucceed(200);
      await moves(tenant.ops, id, "depart", step);
      const [row] = await sql`select status from delivery.deliveries where id = ${id}`;
      expect(row.status).toBe(status);
      expect(await creditedWith(id)).toBeNull();
    },
  );
});

describe("a delivery that a driver carried", () => {
  test.each(
    [["delivered", "complete", true], ["failed", "fail", false], [
      "returned",
      "return",
      false,
    ]] as const,
  )("is the driver's when it is %s", async (_status, step, successful) => {
    const { id } = await newDelivery(ground);
    await accept(await give(id));
    await moves(driver, id, "pickup", step);
    expect(await creditedWith(id)).toEqual({ driver_id: driver.id, successful });
  });

  test("counts as returned for the driver to whom it was handed over on the road", async () => {
    const { id } = await newDelivery(ground);
    const other = await newDriver(tenant);
    await accept(await give(id));
    await moves(driver, id, "pickup");
    const given = await handOver(tenant.ops, driver, other, [id]);
    const bulk = `/delivery/assignments/bulk/${given.body.bulk_assignment_id}`;
    expect(await other.put(bulk, { status: "accepted" })).toSucceed(200);
    await moves(other, id, "return");
    expect(await creditedWith(id)).toEqual({ driver_id: other.id, successful: false });
  });

  test("counts as returned for the driver whose delivery of it was undone", async () => {
    const { id } = await newDelivery(ground);
    await accept(await give(id));
    await moves(driver, id, "pickup", "complete");
    const undone = await tenant.ops.post(`/delivery/deliveries/${id}/outcome/undo`, {
      reason: "wrong door",
    });
    expect(undone).toSucceed(200);
    await moves(driver, id, "return");
    expect(await creditedWith(id)).toEqual({ driver_id: driver.id, successful: false });
  });

  test("counts once when its partial delivery was undone: what that had made was never brought back", async () => {
    const { id } = await newDelivery(ground, {
      package: { items: [{ name: "Shirt", quantity: 2, unit_price: 1_000 }] },
      cod_amount: 2_000,
    });
    await accept(await give(id));
    await moves(driver, id, "pickup");
    const [item] = await sql`select id from delivery.delivery_items where delivery_id = ${id}`;
    const kept = await driver.post(`/delivery/deliveries/${id}/outcome`, {
      result: "partial",
      items: [{ delivery_item_id: item!.id, quantity: 1 }],
    });
    expect(kept).toSucceed(200);
    const [made] = kept.body.data.returns;
    expect(await tenant.ops.post(`/delivery/deliveries/${id}/outcome/undo`, { reason: "Both" }))
      .toSucceed(200);
    await moves(driver, id, "complete");
    expect(await creditedWith(id)).toEqual({ driver_id: driver.id, successful: true });
    expect(await creditedWith(made.id)).toBeNull();
  });

  test.each(["cash", "wallet"] as const)(
    "of a store's order by %s is worth its fee once",
    async (way) => {
      const shop = await newShop();
      await withDriver(shop);
      const { id: order } = await placeOrder(shop, way, 2);
      const { deliveries: [{ delivery_id: id }] } = await approveOrder(shop, order);
      await bring(shop, id, "delivered");
      await sql`select delivery.performance_refresh(${shop.tenant.id})`;
      const [{ value, total, fee }] =
        await sql`select f.value::float8 as value, o.total_price::float8 as total, o.shipping_cost::float8 as fee
      from delivery.performance_deliveries f join storefront.storefront_orders o on o.id = ${order}
      where f.delivery_id = ${id}`;
      expect(fee).toBeGreaterThan(0);
      expect(value).toBe(way === "cash" ? total : fee);
    },
  );

  test("credits nobody if the assignment was cancelled before pickup and the parcel returned without the driver", async () => {
    const { id } = await newDelivery(ground);
    await take(await give(id));
    await sql`update delivery.deliveries set status = 'returned' where id = ${id}`;
    expect(await creditedWith(id)).toBeNull();
  });
});
