/** The customer hears of each step of their order that they did not take: once, with what is paid back, in their language. */
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { type Placed, placeOrder, type Shop } from "../../support/orders.ts";
import { dayIn, report, undo } from "../../support/outcomes.ts";
import { expireUnpaid, takeCards } from "../../support/payments.ts";

let shop: Awaited<ReturnType<typeof newSplitShop>>;

beforeAll(async () => {
  shop = await newSplitShop({ first: 60, second: 0 });
  await takeCards(shop);
});

interface Notice {
  type: string;
  message: string;
  payload: Record<string, unknown>;
}

/** The notifications of an order, as its customer reads them, the oldest first. */
async function noticesOf(order: Placed, language = "en", of: Shop = shop): Promise<Notice[]> {
  const { body } = await of.tenant.customer.get("/tenants/me/notifications", {
    query: { limit: 100, language },
  });
  return body.data.filter(({ payload }: Notice) => payload.order_id === order.id).reverse();
}
const numberOf = ({ answer }: Placed): string => answer.body.order.order_number;
const typesOf = async (order: Placed) => (await noticesOf(order)).map(({ type }) => type);
const messagesOf = async (order: Placed, language = "en") =>
  (await noticesOf(order, language)).map(({ message }) => message.replaceAll(numberOf(order), "#"));

async function onItsWay(order: Placed) {
  const { delivery_id } = (await approveOrder(shop, order.id)).delivery_assigned;
  await assign(shop.tenant, delivery_id);
  await moves(shop.tenant.driver, delivery_id, "pickup", "depart");
  return delivery_id as string;
}
const outcome = async (by: Person, id: string, body: Record<string, unknown>) =>
  expect(await report(by, id, body)).toSucceed(200);

test("of an order that is delivered: that it is confirmed, on its way and delivered, each once", async () => {
  const order = await placeOrder(shop);
  expect(await noticesOf(order)).toEqual([]);
  const estimated_delivery_date = dayIn(3);
  const approve = () =>
    shop.tenant.admin.put(`/storefront/orders/${order.id}/approve`, { estimated_delivery_date });
  const { delivery_id } = (await approve()).body.data.delivery_assigned;
  expect(await approve()).toFailWith(409, "order_not_pending");
  await assign(shop.tenant, delivery_id);
  await moves(shop.tenant.driver, delivery_id, "pickup", "depart", "complete");
  expect(await messagesOf(order)).toEqual([
    `The store has confirmed your order #. It is to arrive by ${estimated_delivery_date}.`,
    "Your order # is on its way to you.",
    "Your order # was delivered.",
  ]);
  expect(await messagesOf(order, "ar")).toEqual([
    `أكّد المتجر طلبك #. يُفترض أن يصل بحلول ${estimated_delivery_date}.`,
    "طلبك # في الطريق إليك.",
    "سُلّم طلبك #.",
  ]);
  expect((await noticesOf(order))[0]).toMatchObject({
    type: "order_confirmed",
    payload: { order_id: order.id, order_number: numberOf(order), status: "approved" },
  });
});

test("that it could not be handed over, what follows, and that it is on its way again", async () => {
  const order = await placeOrder(shop);
  const id = await onItsWay(order);
  const { ops, driver } = shop.tenant;
  await outcome(driver, id, {
    result: "postponed",
    reason_code: "postponed",
    postponed_to: dayIn(2),
  });
  await moves(ops, id, "retry");
  await outcome(driver, id, { result: "failed", reason_code: "no_answer" });
  await moves(ops, id, ["retry", { override_reason: "The customer called" }]);
  expect((await messagesOf(order)).slice(2)).toEqual([
    `Your order # could not be handed over. Reason: Receiver asked for another day. It comes on ${
      dayIn(2)
    }.`,
    "Your order # is on its way to you again.",
    "Your order # could not be handed over. Reason: No answer. The store decides whether it is brought again or goes back.",
    "Your order # is on its way to you again.",
  ]);
  expect((await messagesOf(order, "ku"))[4]).toContain("هۆکار: وەڵامی تەلەفۆن ناداتەوە.");
});

test("that another attempt can be made, as long as its service allows one, by another driver as well", async () => {
  await sql`update delivery.delivery_services set allowed_delivery_attempts = 2 where id = ${shop.service}`;
  const order = await placeOrder(shop);
  const id = await onItsWay(order);
  await outcome(shop.tenant.driver, id, { result: "failed", reason_code: "phone_off" });
  const [, , notice] = await noticesOf(order);
  expect(notice).toMatchObject({
    type: "order_not_delivered",
    payload: { delivery_id: id, next: "attempt", postponed_to: null },
  });
  expect(notice!.message).toContain("you will be notified when it is on its way.");
  await sql`update delivery.delivery_services set allowed_delivery_attempts = 1 where id = ${shop.service}`;
});

test("that a report at the door was undone, and how it ended then", async () => {
  const order = await placeOrder(shop);
  const id = await onItsWay(order);
  const { driver } = shop.tenant;
  await moves(driver, id, "complete");
  expect(await undo(driver, id)).toSucceed(200);
  await outcome(driver, id, { result: "refused", reason_code: "refused" });
  expect(await undo(driver, id)).toSucceed(200);
  await moves(driver, id, "complete");
  expect((await messagesOf(order)).slice(2)).toEqual([
    "Your order # was delivered.",
    "What was reported of your order # at the door was undone: it is still on its way to you.",
    "Your order # could not be handed over. Reason: Receiver refused the parcel. The store decides whether it is brought again or goes back.",
    "What was reported of your order # at the door was undone: it is still on its way to you.",
    "Your order # was delivered.",
  ]);
});

test("that the store cancelled it, why, and what was paid back, in one", async () => {
  const paid = await placeOrder(shop, "wallet");
  const cash = await placeOrder(shop);
  const cancel = (order: Placed, body: object) =>
    shop.tenant.admin.put(`/storefront/orders/${order.id}/cancel`, body);
  expect(await cancel(paid, { reason: "out_of_stock" })).toSucceed(200);
  expect(await cancel(paid, { reason: "out_of_stock" })).toFailWith(409, "order_not_cancellable");
  expect(await cancel(cash, { reason: "fraud" })).toSucceed(200);
  expect(await messagesOf(paid)).toEqual([
    "The store has cancelled your order #. Reason: the goods are out of stock. 6000 IQD were paid back into your wallet.",
  ]);
  expect(await messagesOf(cash)).toEqual(["The store has cancelled your order #."]);
  expect((await noticesOf(paid))[0]!.payload).toMatchObject({
    status: "cancelled",
    refunded_amount: 6_000,
    refund_method: "wallet",
    currency: "IQD",
  });
});

test("that nobody paid it in time", async () => {
  const order = await placeOrder(shop, "gatewayone");
  await expireUnpaid(order);
  expect(await messagesOf(order)).toEqual([
    "Your order # was cancelled, since it was not paid.",
  ]);
});

test("that it goes back to the store, with what was paid back, or is owed", async () => {
  const order = await placeOrder(shop, "wallet");
  const id = await onItsWay(order);
  await moves(shop.tenant.driver, id, "fail", "return");
  expect((await messagesOf(order)).slice(3)).toEqual([
    "Your order # did not reach you: it goes back to the store and has ended. 6000 IQD were paid back into your wallet.",
  ]);
  const poor = await newSplitShop({ first: 2, second: 0 });
  const owed = await placeOrder(poor, "wallet");
  const { delivery_id } = (await approveOrder(poor, owed.id)).delivery_assigned;
  await sql`update money.accounts set balance = 0 where tenant_id = ${poor.tenant.id}
    and kind = 'wallet' and owner_user_id is null`;
  await bring(poor, delivery_id, "returned");
  expect((await noticesOf(owed, "en", poor)).at(-1)!.message)
    .toContain("6000 IQD are owed to you and will be paid back.");
});

test("of money that is given back by hand", async () => {
  const order = await placeOrder(shop, "wallet");
  const headers = { "idempotency-key": `refund-${order.id}` };
  const refund = () =>
    shop.tenant.admin.post(`/storefront/orders/${order.id}/refund`, { amount: 500 }, { headers });
  expect(await refund()).toSucceed(200);
  expect(await refund()).toSucceed(200);
  expect(await messagesOf(order)).toEqual([
    "Money of your order # was paid back. 500 IQD were paid back into your wallet.",
  ]);
});

test("that the store does not have all of it, what is missing, and what was paid back; delivered in part it says so", async () => {
  const own = await newSplitShop({ first: 3, second: 0, picking: true });
  const order = await placeOrder(own, "wallet", 3);
  const { delivery_id } = (await approveOrder(own, order.id)).delivery_assigned;
  await pick(own, (await picksOf(order.id))[0]!.id, 1);
  const accept = () => own.tenant.admin.post(`/storefront/orders/${order.id}/accept-short`);
  expect(await accept()).toSucceed(200);
  expect(await accept()).toFailWith(409, "order_not_short");
  await bring(own, delivery_id, "delivered");
  const [, short, , delivered] = await noticesOf(order, "en", own);
  expect(short).toMatchObject({
    type: "order_shortened",
    payload: { missing: [{ sku: own.product.sku, quantity: 2 }] },
  });
  expect(short!.message.replace(numberOf(order), "#")).toMatch(
    /^The store does not have all of your order #\. It comes without: 2 × .+\. Its price is now \d+ IQD\. 10000 IQD were paid back into your wallet\.$/,
  );
  expect(delivered!.message).toBe(`Your order ${numberOf(order)} was delivered in part.`);
});

test("nobody else hears it, nor somebody who has left, nor the customer what they did themselves", async () => {
  const order = await placeOrder(shop);
  await sql`update tenancy.tenant_users set is_active = false
    where tenant_id = ${shop.tenant.id} and user_id = ${shop.tenant.customer.id}`;
  await approveOrder(shop, order.id);
  await sql`update tenancy.tenant_users set is_active = true
    where tenant_id = ${shop.tenant.id} and user_id = ${shop.tenant.customer.id}`;
  expect(await typesOf(order)).toEqual([]);
  const rows = await sql`select distinct user_id from tenancy.notifications
    where tenant_id = ${shop.tenant.id} and type in ('order_confirmed', 'order_shipped', 'order_delivered')`;
  expect(rows).toEqual([{ user_id: shop.tenant.customer.id }]);
});
