/** A refund that a gateway reports before the payment it gives back: it counts once that payment is known. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import "../../support/expect.ts";
import {
  checkAll,
  type Placed,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { due, eventFor, newCardShop, numberOf, received, report } from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

const refundOf = (placed: Placed, amount = due, { account = shop.account, id = "whole" } = {}) => ({
  entity: "event",
  account_id: account,
  event: "refund.processed",
  payload: {
    refund: {
      entity: {
        ...{ id: `rfnd_${id}_${numberOf(placed)}`, payment_id: `pay_${numberOf(placed)}` },
        ...{ currency: "IQD", amount },
      },
    },
  },
});
const openOf = async ({ tenant }: Shop, placed: Placed) =>
  (await tenant.admin.get("/payment/webhook-events", { query: { open: true, limit: 100 } })).body
    .data.filter(({ gateway_transaction_id: id }: Body) => id === `pay_${numberOf(placed)}`);
const approve = ({ id }: Placed) => shop.tenant.admin.put(`/storefront/orders/${id}/approve`, {});

test("all of it went back: the order is not approved, and nothing waits for anybody", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const before = await walletOf(shop.tenant, null);
  const refund = refundOf(placed);
  expect(await report(refund)).toEqual(received);
  expect(await openOf(shop, placed)).toMatchObject([{ reason: "payment_unknown" }]);
  await report(eventFor(shop, numberOf(placed), due));
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1, refunds: 1 });
  expect(await openOf(shop, placed)).toEqual([]);
  expect(await walletOf(shop.tenant, null)).toBe(before);
  expect(await approve(placed)).toFailWith(409, "order_not_paid");
  // Sent again, it is known.
  await report(refund);
  await report({ ...refund, created_at: 7 });
  expect(await standing(placed.id)).toMatchObject({ refunds: 1 });
  expect(await openOf(shop, placed)).toEqual([]);
  await checkAll(shop.tenant);
});

test("parts of it count each by itself; more than was paid waits as before, with its payment", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const before = await walletOf(shop.tenant, null);
  await report(refundOf(placed, 1_000, { id: "one" }));
  await report(refundOf(placed, 2_000, { id: "two" }));
  await report(refundOf(placed, due, { id: "more" }));
  await report(eventFor(shop, numberOf(placed), due));
  expect(await standing(placed.id)).toMatchObject({ paid: 1, refunds: 2 });
  expect(await walletOf(shop.tenant, null)).toBe(before + due - 3_000);
  expect(await openOf(shop, placed)).toMatchObject([{
    reason: "amount_differs",
    order_id: placed.id,
  }]);
  await checkAll(shop.tenant);
});

test("another company reports a refund of this payment: nothing goes back", async () => {
  const other = await newCardShop(10);
  const placed = await placeOrder(shop, "razorpay");
  await report(refundOf(placed, due, { account: other.account }));
  await report(eventFor(shop, numberOf(placed), due));
  expect(await standing(placed.id)).toMatchObject({ paid: 1, refunds: 0 });
  expect(await openOf(other, placed)).toMatchObject([{ reason: "payment_unknown" }]);
  expect(await approve(placed)).toSucceed(200);
});

test("resolved by somebody before, it is not looked at again", async () => {
  const placed = await placeOrder(shop, "razorpay");
  await report(refundOf(placed));
  const [{ id }] = await openOf(shop, placed);
  expect(
    await shop.tenant.admin.post(`/payment/webhook-events/${id}/resolve`, {
      resolution: "dismissed",
    }),
  ).toSucceed(200);
  await report(eventFor(shop, numberOf(placed), due));
  expect(await standing(placed.id)).toMatchObject({ paid: 1, refunds: 0 });
});

test.each(
  [
    ["accept", "accepted", due - 1_000],
    ["credit_wallet", "credited_by_adjustment", due - 1_000],
    ["refund", "refunded_at_gateway", due - 1_000],
  ] as const,
)(
  "a short payment is settled by %s after its refund was reported: the refund counts with it",
  async (action, resolution, amount) => {
    const { tenant } = shop;
    const placed = await placeOrder(shop, "razorpay");
    const wallets = () =>
      Promise.all([walletOf(tenant, null), walletOf(tenant, tenant.customer.id)]);
    const before = await wallets();
    await report(refundOf(placed, amount));
    await report(eventFor(shop, numberOf(placed), amount));
    const [event] = (await openOf(shop, placed)).filter(({ order_id }: Body) => order_id);
    expect(
      await tenant.admin.post(`/payment/webhook-events/${event.id}/resolve`, {
        resolution,
        action,
      }),
    ).toSucceed(200);
    expect(await wallets()).toEqual(before);
    expect(await openOf(shop, placed)).toEqual([]);
    await checkAll(tenant);
  },
);

test("reported at the same moment, in whichever order: paid once and given back once", async () => {
  for (let round = 0; round < 6; round++) {
    const placed = await placeOrder(shop, "razorpay");
    const events = [eventFor(shop, numberOf(placed), due), refundOf(placed)];
    await Promise.all((round % 2 ? events : events.reverse()).map((event) => report(event)));
    expect(await standing(placed.id)).toMatchObject({ paid: 1, refunds: 1 });
    expect(await openOf(shop, placed)).toEqual([]);
  }
  await checkAll(shop.tenant);
});
