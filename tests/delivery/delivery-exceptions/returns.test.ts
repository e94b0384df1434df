/** Returns that follow an exception: from a warehouse, and of a first leg. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

const receipts = "/warehousing/receiving-orders";
let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

describe("an operational return", () => {
  test("is for what lies in a warehouse, and carries no money", async () => {
    const { id } = await deliveryIn(ground, "accepted");
    expect(await move(tenant.ops, id, "operational-return")).toFailWith(
      409,
      "delivery_not_in_warehouse",
    );
    const { b } = await outboundOnRoad(ground);
    await moves(tenant.driver, b, "return");
    expect(await move(tenant.ops, b, "operational-return")).toFailWith(
      409,
      "delivery_not_in_warehouse",
    );
  });

  test("that comes back itself waits for another driver", async () => {
    const { parent } = await stagedInWarehouse(ground, { cod_amount: 9000 });
    const { delivery } = (await move(tenant.ops, parent.id, "operational-return")).body;
    expect(delivery.cod_amount).toBe(0);
    await takenOver(ground, delivery.id);
    await moves(tenant.driver, delivery.id, "fail");
    const [row] =
      await sql`select attempts_used from delivery.deliveries where id = ${delivery.id}`;
    expect(row.attempts_used).toBe(0);
    const { receiving_order_id } = await moves(tenant.driver, delivery.id, "return");
    expect((await tenant.ops.get(`${receipts}/${receiving_order_id}`)).body.order.source).toBe(
      "failed_delivery_return",
    );
    await received(ground, receiving_order_id);
    await takenOver(ground, delivery.id, tenant.driver2);
    await moves(tenant.driver2, delivery.id, "complete");
    const [{ n }] =
      await sql`select count(*)::int as n from money.cod_collections where delivery_id = ${delivery.id}`;
    expect(n).toBe(0);
  });
});

test("a first leg that comes back to its sender ends the parcel", async () => {
  const parent = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
  const [a, b] = parent.legs;
  await assign(tenant, a.id);
  await moves(tenant.driver, a.id, "pickup", "fail", "return");
  expect([await statusOf(parent.id), await statusOf(a.id), await statusOf(b.id)]).toEqual([
    "returned",
    "returned",
    "cancelled",
  ]);
});
