/** A customer's own list of orders, filtered by the words that the list itself answers. */
import { expect, test } from "vitest";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop } from "../../support/order-goods.ts";
import { placeOrder } from "../../support/orders.ts";

test("orders are found by the status that their customer reads, and by the shop's words", async () => {
  const shop = await newSplitShop({ first: 20 });
  const { admin, customer, driver } = shop.tenant;
  const confirmed = async () => {
    const { id } = await placeOrder(shop);
    const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
    return { id, delivery: delivery_id as string };
  };
  const pending = (await placeOrder(shop)).id;
  const paid = (await placeOrder(shop, "wallet")).id;
  const waits = await confirmed();
  const shipped = await confirmed();
  await assign(shop.tenant, shipped.delivery);
  await moves(driver, shipped.delivery, "pickup");
  const delivered = await confirmed();
  await assign(shop.tenant, delivered.delivery);
  await moves(driver, delivered.delivery, "pickup", "depart", "complete");
  const cancelled = (await placeOrder(shop)).id;
  expect(await admin.put(`/storefront/orders/${cancelled}/cancel`, { reason: "other" }))
    .toSucceed(200);

  const found = async (status: string) => {
    const { body } = await customer.get("/storefront/my/orders", { query: { status } });
    expect(body.pagination.total).toBe(body.data.length);
    return body.data.map(({ id, status }: { id: string; status: string }) => [id, status]);
  };
  expect(await found("pending")).toEqual([[pending, "pending"]]);
  expect(await found("approved")).toEqual([[waits.id, "approved"], [paid, "approved"]]);
  expect(await found("confirmed")).toEqual([[waits.id, "approved"]]);
  expect(await found("shipped")).toEqual([[shipped.id, "shipped"]]);
  expect(await found("delivered")).toEqual([[delivered.id, "delivered"]]);
  expect(await found("completed")).toEqual([[delivered.id, "delivered"]]);
  expect(await found("cancelled")).toEqual([[cancelled, "cancelled"]]);
});
