/** A refund of an order by its gateway is announced: by its event, to the shop's administrators, and on the order. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { bring, withDriver } from "../../support/order-goods.ts";
import { checkAll, type Placed, type Shop, standing, walletOf } from "../../support/orders.ts";
import {
  due,
  newCardShop,
  numberOf,
  openReports,
  paidByCard,
  received,
  refundOf,
  report,
} from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
  await withDriver(shop);
});

const admin = () => shop.tenant.admin;
const at = ({ id }: Placed, verb = "") => `/storefront/orders/${id}${verb}`;
const emitted = async (order: Placed) =>
  (await sql`select event_data from integration.system_events
    where event_type = 'order.refunded' and entity_id = ${order.id} order by created_at`)
    .map(({ event_data }) => event_data);
const noticesOf = async (order: Placed) =>
  (await admin().get("/tenants/me/notifications", {
    query: { type: "order_refunded_at_gateway", limit: 100 },
  })).body.data.filter(({ payload }: Body) => payload.order_id === order.id);

/** A dispute over an order's payment, as the gateway reports it. */
const disputeOf = (placed: Placed, event: string, more: object = {}) => ({
  ...{ entity: "event", account_id: shop.account, event, contains: ["payment", "dispute"] },
  payload: {
    payment: {
      entity: {
        ...{ id: `pay_${numberOf(placed)}`, entity: "payment", amount: due, currency: "IQD" },
        ...{ status: "captured", order_id: numberOf(placed), method: "card", notes: [] },
      },
    },
    dispute: {
      entity: {
        ...{ id: `disp_${numberOf(placed)}`, entity: "dispute", amount: due, currency: "IQD" },
        ...{ payment_id: `pay_${numberOf(placed)}`, amount_deducted: 0, phase: "chargeback" },
        ...{ reason_code: "goods_not_received", respond_by: 1_790_000_900, status: "open" },
        ...more,
      },
    },
  },
});

test("an approved order shows it, its event says it, its administrators get one notice, and its goods still leave", async () => {
  const placed = await paidByCard(shop);
  const approved = await admin().put(at(placed, "/approve"), {});
  expect(approved).toSucceed(200);
  const before = await walletOf(shop.tenant, null);
  await report(refundOf(shop, placed));
  await report({ ...refundOf(shop, placed), created_at: 5 });
  expect(await walletOf(shop.tenant, null)).toBe(before - due);
  const { order } = (await admin().get(at(placed))).body.data;
  expect(order).toMatchObject({ payment_status: "paid", refunded_amount: due });
  const refund = order.payments.find(({ type }: Body) => type === "REFUND");
  expect(await emitted(placed)).toEqual([
    expect.objectContaining({
      ...{ order_id: placed.id, status: "confirmed", amount: due, currency: "IQD" },
      ...{ payment_id: refund.id, refund_method: "gateway", actor_id: null },
    }),
  ]);
  const notices = await noticesOf(placed);
  expect(notices).toHaveLength(1);
  expect(notices[0].message).toContain(order.order_number);
  expect(notices[0].message).toContain("razorpay");
  expect(notices[0].payload).toMatchObject({ amount: due, status: "confirmed" });
  const arabic = await admin().in("ar").get("/tenants/me/notifications", {
    query: { type: "order_refunded_at_gateway" },
  });
  expect(arabic.body.data[0].message).toMatch(/[؀-ۿ]/);
  await bring(shop, approved.body.data.delivery_assigned.delivery_id, "delivered");
  expect(await standing(placed.id)).toMatchObject({ status: "delivered", payment_status: "paid" });
  await checkAll(shop.tenant);
});

test("a refund by the shop says that it went to the wallet, and notifies nobody", async () => {
  const placed = await paidByCard(shop);
  expect(await admin().post(at(placed, "/refund"), { amount: 1_000 })).toSucceed(200);
  expect(await emitted(placed)).toMatchObject([{ amount: 1_000, refund_method: "wallet" }]);
  expect((await admin().get(at(placed))).body.data.order.refunded_amount).toBe(1_000);
  expect(await noticesOf(placed)).toEqual([]);
});

test("a refund that fits nothing is announced once it is booked, with the part that was left", async () => {
  const placed = await paidByCard(shop);
  expect(await admin().post(at(placed, "/refund"), { amount: 1_000 })).toSucceed(200);
  await report(refundOf(shop, placed));
  expect(await emitted(placed)).toHaveLength(1);
  expect(await noticesOf(placed)).toEqual([]);
  // The loss is paid from what another order brought.
  await paidByCard(shop);
  const [{ id }] = await openReports(shop, placed);
  expect(
    await admin().post(`/payment/webhook-events/${id}/resolve`, {
      ...{ resolution: "refunded_at_gateway", action: "refund" },
    }),
  ).toSucceed(200);
  expect(await emitted(placed)).toMatchObject([
    { amount: 1_000, refund_method: "wallet" },
    { amount: 5_000, refund_method: "gateway", actor_id: admin().id },
  ]);
  expect(await noticesOf(placed)).toHaveLength(1);
});

test("two refunds that fit nothing are announced each", async () => {
  const placed = await paidByCard(shop);
  await report(refundOf(shop, placed, due + 1, `rfnd_one_${placed.id}`));
  await report(refundOf(shop, placed, due + 1, `rfnd_two_${placed.id}`));
  await report({ ...refundOf(shop, placed, due + 1, `rfnd_two_${placed.id}`), created_at: 2 });
  expect(
    await sql`select from integration.system_events
      where event_type = 'payment.unmatched' and event_data ->> 'order_id' = ${placed.id}`,
  ).toHaveLength(2);
});

describe("a dispute", () => {
  test("that the shop lost takes what the gateway deducted, once, and is announced as a refund is", async () => {
    const placed = await paidByCard(shop);
    const before = await walletOf(shop.tenant, null);
    for (const event of ["created", "under_review", "action_required", "won", "closed"]) {
      expect(await report(disputeOf(placed, `payment.dispute.${event}`))).toEqual(received);
    }
    expect(await walletOf(shop.tenant, null)).toBe(before);
    const lost = disputeOf(placed, "payment.dispute.lost", {
      ...{ status: "lost", amount_deducted: 4_000 },
    });
    await report(lost);
    await report({ ...lost, created_at: 8 });
    expect(await walletOf(shop.tenant, null)).toBe(before - 4_000);
    expect(await emitted(placed)).toMatchObject([{ amount: 4_000, refund_method: "gateway" }]);
    expect(await noticesOf(placed)).toHaveLength(1);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", refunds: 1 });
    await checkAll(shop.tenant);
  });

  test("that the shop lost after it gave the money back waits for a decision", async () => {
    const placed = await paidByCard(shop);
    await report(refundOf(shop, placed));
    await report(disputeOf(placed, "payment.dispute.lost", { amount_deducted: due }));
    expect(await openReports(shop, placed)).toMatchObject([{
      ...{ event_type: "payment.dispute.lost", reason: "amount_differs", amount: String(due) },
    }]);
  });
});
