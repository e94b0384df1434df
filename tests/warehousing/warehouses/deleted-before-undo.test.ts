/** A warehouse that is deleted after the last delivery from it, and before the outcome of that is undone. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  move,
  moves,
  newGround,
  outboundOnRoad,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { placeOrder } from "../../support/orders.ts";
import { undo } from "../../support/outcomes.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { newBin, newWarehouse } from "../../support/warehouses.ts";

async function defaultWarehouse(tenant: Tenant): Promise<string> {
  const warehouse = await newWarehouse(tenant);
  await newBin(tenant, warehouse, { location_type: "RECEIVING", is_default_receiving: true });
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: warehouse });
  return warehouse;
}

/** An outcome is undone, the delivery fails and comes back: to a warehouse that there is, which receives it. */
async function comesBack(tenant: Tenant, id: string): Promise<string> {
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await move(tenant.driver, id, "fail", { reason: "absent" })).toSucceed(200);
  expect(await move(tenant.driver, id, "return", {})).toSucceed(200);
  const [receipt] = await sql`select id, warehouse_id from warehousing.receiving_orders
    where delivery_id = ${id} and status = 'pending'`;
  expect(
    await tenant.ops.put(`/warehousing/receiving-orders/${receipt.id}`, { status: "received" }),
  )
    .toSucceed(200);
  return receipt.warehouse_id;
}

test("what a store sold is received in the default warehouse, and is not lost", async () => {
  const shop = await newSplitShop({ first: 1, second: 0 });
  const { tenant } = shop;
  const { id } = await placeOrder(shop, "cash", 1);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await assign(tenant, delivery_id);
  await moves(tenant.driver, delivery_id, "pickup", "depart", "complete");
  const other = await defaultWarehouse(tenant);
  expect(await tenant.ops.delete(`/warehousing/warehouses/${shop.shelf.warehouse}`)).toSucceed(200);
  expect(await comesBack(tenant, delivery_id)).toBe(other);
  expect(await whereabouts(id)).toEqual({ back: 1 });
  await checkAll(tenant);
});

test("a parcel that left it is received in the default warehouse", async () => {
  const ground = await newGround(await newTenant());
  const { tenant } = ground;
  const { b } = await outboundOnRoad(ground, { cod_amount: 3000 });
  await moves(tenant.driver, b, "complete");
  const other = await defaultWarehouse(tenant);
  expect(await tenant.ops.delete(`/warehousing/warehouses/${ground.warehouse}`)).toSucceed(200);
  expect(await comesBack(tenant, b)).toBe(other);
  await checkAll(tenant);
});
