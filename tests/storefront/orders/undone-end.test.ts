/** The end of an order is undone: what it had given up then stays given up. */
import { expect, test } from "vitest";
import { checkAll, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { placeOrder, standing } from "../../support/orders.ts";
import { unitsOf } from "../../support/warehouses.ts";

test("goods of a delivery that was cancelled are free, also when the other's end is undone", async () => {
  const shop = await newSplitShop({ first: 3, second: 2 });
  const { tenant, shelf } = shop;
  const { id } = await placeOrder(shop, "cash", 5);
  const { deliveries: [first, second] } = await approveOrder(shop, id);
  expect(await move(tenant.ops, second.delivery_id, "cancel", { reason: "no" })).toSucceed(200);
  await bring(shop, first.delivery_id, "delivered");
  expect(await standing(id)).toMatchObject({ status: "delivered" });
  expect(await unitsOf(shelf.item)).toEqual({ available: 2 });

  const undo = await move(tenant.ops, first.delivery_id, "outcome/undo", { reason: "Not yet" });
  expect(undo).toSucceed(200);
  expect(await standing(id)).toMatchObject({ status: "shipped" });
  expect(await whereabouts(id)).toEqual({ out: 3, released: 2 });
  expect(await unitsOf(shelf.item)).toEqual({ available: 2 });
  await checkAll(tenant);

  await moves(tenant.driver, first.delivery_id, "complete");
  expect(await standing(id)).toMatchObject({ status: "delivered" });
  expect(await whereabouts(id)).toEqual({ delivered: 3, released: 2 });
  await checkAll(tenant);
});
