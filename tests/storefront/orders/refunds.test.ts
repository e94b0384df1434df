/** An order whose parcel came back: nobody paid at the door, or what was paid goes back. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { withDriver } from "../../support/order-goods.ts";
import {
  checkAll,
  newShop,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newShop();
  await withDriver(shop);
});
const change = (id: string, step: string, body = {}) =>
  shop.tenant.admin.put(`/storefront/orders/${id}/${step}`, body);

/** Ordered, approved and under way; the delivery's id. */
async function underWay(id: string): Promise<string> {
  const { delivery_id } = (await change(id, "approve")).body.data.delivery_assigned;
  await assign(shop.tenant, delivery_id);
  await moves(shop.tenant.driver, delivery_id, "pickup", "depart");
  return delivery_id;
}

test("refused at the door: the order is cancelled, and no cash is booked", async () => {
  const { id } = await placeOrder(shop, "cash");
  const before = await walletOf(shop.tenant, null);
  const delivery = await underWay(id);
  const early = await change(id, "cancel", { reason: "customer_request" });
  expect(early).toFailWith(409, "order_not_cancellable");
  await moves(shop.tenant.driver, delivery, "fail", "return");
  expect(await standing(id)).toMatchObject({ status: "cancelled", paid: 0, refunds: 0 });
  const late = await change(id, "cancel", { reason: "customer_request" });
  expect(late).toFailWith(409, "order_not_cancellable");
  const [payment] = await sql`select status from money.payments where order_id = ${id}`;
  expect(payment.status).toBe("CANCELLED");
  expect(await walletOf(shop.tenant, null)).toBe(before);
  const again = await change(id, "return", { reason: "customer_request" });
  expect(again).toFailWith(409, "invalid_status_transition");
  await checkAll(shop.tenant);
});

test("paid by wallet: the payment is refunded once, and the driver cannot deliver it any more", async () => {
  const { id } = await placeOrder(shop, "wallet");
  const purse = await walletOf(shop.tenant, shop.tenant.customer.id);
  const delivery = await underWay(id);
  await moves(shop.tenant.driver, delivery, "fail");
  const answers = await Promise.all(
    [1, 2, 3].map(() => shop.tenant.driver.post(`/delivery/deliveries/${delivery}/return`)),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(await walletOf(shop.tenant, shop.tenant.customer.id)).toBe(purse + 6_000);
  expect(await standing(id)).toMatchObject({ status: "cancelled", refunds: 1 });
  await checkAll(shop.tenant);
});

test("delivered by the shop itself: returned when the administrator says so", async () => {
  const { id } = await placeOrder(shop, "cash");
  const { delivery_id } = (await change(id, "approve")).body.data.delivery_assigned;
  await shop.tenant.admin.post(`/delivery/deliveries/${delivery_id}/cancel`, { reason: "Own van" });
  expect(await change(id, "ship")).toSucceed(200);
  const answer = await change(id, "cancel", { reason: "other" });
  expect(answer).toFailWith(409, "order_not_cancellable");

  const before = await walletOf(shop.tenant, null);
  const returned = await change(id, "return", {
    reason: "customer_request",
    admin_notes: "Refused",
  });
  expect(returned).toSucceed(200);
  expect(returned.body.data).toMatchObject({
    order: { id, status: "cancelled", cancel_reason: "customer_request", admin_notes: "Refused" },
    refund: null,
  });
  expect(await standing(id)).toMatchObject({ status: "cancelled", paid: 0 });
  expect(await walletOf(shop.tenant, null)).toBe(before);
  await checkAll(shop.tenant);
});

test("refuses the return of an order that was delivered, is on its way or has not left", async () => {
  const say = (id: string, body: object = { reason: "other" }) => change(id, "return", body);
  const { id } = await placeOrder(shop, "wallet");
  expect(await say(id)).toFailWith(409, "invalid_status_transition");
  const delivery = await underWay(id);
  expect(await say(id)).toFailWith(409, "order_has_delivery");
  expect(await say(id, {})).toFailWith(400, "validation_failed");
  expect(await shop.tenant.customer.put(`/storefront/orders/${id}/return`, { reason: "other" }))
    .toFailWith(403, "forbidden");
  const { tenant: stranger } = await newShop();
  expect(await stranger.admin.put(`/storefront/orders/${id}/return`, { reason: "other" }))
    .toFailWith(404, "order_not_found");
  await moves(shop.tenant.driver, delivery, "complete");
  expect(await say(id)).toFailWith(409, "invalid_status_transition");
  expect(await standing(id)).toMatchObject({ status: "delivered", refunds: 0 });
});
