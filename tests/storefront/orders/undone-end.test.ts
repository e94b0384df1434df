/** The end of an order is undone: what it had given up then stays given up. */
import { expect, test } from "vitest";
import { receive } from "../../support/back-from-customer.ts";
import { assign, checkAll, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { goodsExpected, refusedFirst } from "../../support/order-fees.ts";
import { approveOrder, bring, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { placeOrder, standing } from "../../support/orders.ts";
import { overlapping } from "../../support/overlapping.ts";
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

  expect(await tenant.admin.post(`/storefront/orders/${id}/redeliver`))
    .toFailWith(409, "order_nothing_to_redeliver");
  expect(await whereabouts(id)).toEqual({ out: 3, released: 2 });
  await checkAll(tenant);

  await moves(tenant.driver, first.delivery_id, "complete");
  expect(await standing(id)).toMatchObject({ status: "delivered" });
  expect(await whereabouts(id)).toEqual({ delivered: 3, released: 2 });
  await checkAll(tenant);
});

/** The end of an order of which one delivery was refused: its goods are expected back. */
async function endedWithout() {
  const all = await refusedFirst();
  const { tenant, second } = all;
  await assign(tenant, second);
  await moves(tenant.driver, second, "pickup", "depart", "complete");
  const [receipt] = await goodsExpected(tenant);
  return { ...all, receipt };
}

test("goods on their way again are expected nowhere, and once where they come back after all", async () => {
  const all = await endedWithout();
  const { shop, tenant, id, first, undone } = all;
  expect(await undone()).toSucceed(200);
  expect(await goodsExpected(tenant)).toEqual([]);
  expect(await whereabouts(id)).toEqual({ delivered: 2, out: 2 });
  await moves(tenant.driver, first, "fail", "return");
  const [receipt, ...more] = await goodsExpected(tenant);
  expect(more).toEqual([]);
  expect(await receive(all, receipt)).toSucceed(200);
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: 2 });
  expect(await whereabouts(id)).toEqual({ delivered: 2, back: 2 });
  await checkAll(tenant);
});

test("it is not undone once the goods are received", async () => {
  const all = await endedWithout();
  const { shop, tenant, id, receipt, undone } = all;
  expect(await receive(all, receipt)).toSucceed(200);
  expect(await undone()).toFailWith(409, "outcome_went_on");
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: 2 });
  expect(await whereabouts(id)).toEqual({ delivered: 2, back: 2 });
  await checkAll(tenant);
});

test("nor while they are received", async () => {
  const { id, receipt, undone } = await endedWithout();
  const answer = await overlapping(
    (tx) =>
      tx`update warehousing.receiving_orders set status = 'received', custody = 'in_warehouse', received_at = now() where id = ${receipt}`,
    undone,
  );
  expect(answer).toFailWith(409, "outcome_went_on");
  expect(await standing(id)).toMatchObject({ status: "delivered" });
});
