/** Card orders that were paid without our hearing of it, and then ended: the gateway is asked, and the money is somebody's. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { checkAll, placeOrder, type Shop, standing } from "../../support/orders.ts";
import { askGateways, atGateway, hoursLater, newCardShop } from "../../support/payments.ts";

const openReports = async ({ tenant }: Shop) =>
  (await tenant.admin.get("/payment/webhook-events", { query: { open: true } })).body.data;
const cancel = ({ tenant }: Shop, id: string) =>
  tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "customer_request" });

test("an order that its shop cancels after it was paid unheard: the money is found, and is due to its customer", async () => {
  const shop = await newCardShop(10);
  const placed = await placeOrder(shop, "gatewayone");
  await atGateway(placed.instructions.redirect_url, "pay", "yes");
  expect(await cancel(shop, placed.id)).toSucceed(200);
  expect(await openReports(shop)).toEqual([]);
  // A look at once would be one at what was opened a moment ago.
  await sql`update money.payments set created_at = created_at - interval '2 minutes' where order_id = ${placed.id}`;
  expect(await askGateways(shop)).toBe(1);
  expect(await openReports(shop)).toMatchObject([{
    order_id: placed.id,
    reason: "order_cancelled",
  }]);
  const { body } = await shop.tenant.customer.get(`/storefront/orders/${placed.id}/payment-status`);
  expect(body.order).toMatchObject({ status: "cancelled", refund_due: true });
  // It is known now.
  expect(await askGateways(shop)).toBe(0);
  await hoursLater(placed, 2);
  expect(await askGateways(shop)).toBe(0);
  await checkAll(shop.tenant);
});

test("one that nobody paid is asked about once soon, once an hour, and no more after its end", async () => {
  const shop = await newCardShop(10);
  const placed = await placeOrder(shop, "gatewayone");
  expect(await cancel(shop, placed.id)).toSucceed(200);
  await sql`update money.payments set created_at = created_at - interval '2 minutes' where order_id = ${placed.id}`;
  expect(await askGateways(shop)).toBe(1);
  expect(await askGateways(shop)).toBe(0);
  await sql`update money.payments set last_checked_at = last_checked_at - interval '10 minutes',
    processed_at = processed_at - interval '20 minutes' where order_id = ${placed.id}`;
  expect(await askGateways(shop)).toBe(0);
  await hoursLater(placed, 2);
  expect(await askGateways(shop)).toBe(1);
  await hoursLater(placed, 23);
  expect(await askGateways(shop)).toBe(1);
  await hoursLater(placed, 2);
  expect(await askGateways(shop)).toBe(0);
  expect(await standing(placed.id)).toMatchObject({ status: "cancelled", paid: 0 });
  expect(await openReports(shop)).toEqual([]);
});
