/** Money that fits no payment is announced once, and an administrator settles it: by word alone, or by moving it. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import {
  checkAll,
  type Placed,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { due, eventFor, newCardShop, numberOf, report } from "../../support/payments.ts";

let shop: Shop;
let other: Shop;
beforeAll(async () => {
  [shop, other] = await Promise.all([newCardShop(), newCardShop(10)]);
});

const admin = () => shop.tenant.admin;
const cancel = (order: Placed) =>
  admin().put(`/storefront/orders/${order.id}/cancel`, { reason: "other" });
const openOf = async (order: { id: string }) =>
  (await admin().get("/payment/webhook-events", { query: { open: true, limit: 100 } })).body.data
    .filter(({ order_id }: Body) => order_id === order.id);
const resolve = (
  id: string,
  action?: string,
  who: Person = admin(),
  headers: Record<string, string> = {},
) =>
  who.post(`/payment/webhook-events/${id}/resolve`, {
    resolution: action === "accept" ? "accepted" : "credited_by_adjustment",
    ...(action ? { action } : {}),
  }, { headers });
const seen = async (order: Placed, mine = shop) =>
  (await mine.tenant.customer.get(`/storefront/orders/${order.id}/payment-status`)).body.order;
const told = (type: string, order: { id: string }) =>
  sql`select event_data from integration.system_events
    where event_type = ${type} and event_data ->> 'order_id' = ${order.id}`;
const noticesOf = async (order: { id: string }) =>
  (await admin().get("/tenants/me/notifications", {
    query: { type: "payment_unmatched", limit: 100 },
  })).body.data.filter(({ payload }: Body) => payload.order_id === order.id);

/** An order that was cancelled before its customer paid for it. */
async function paidTooLate(more: object = {}): Promise<Placed> {
  const placed = await placeOrder(shop, "razorpay");
  expect(await cancel(placed)).toSucceed(200);
  expect((await seen(placed)).refund_due).toBe(false);
  await report(eventFor(shop, numberOf(placed), due, more));
  return placed;
}

/** An order for which a thousand too little was paid. */
async function paidShort(amount = due - 1_000): Promise<Placed> {
  const placed = await placeOrder(shop, "razorpay");
  await report(eventFor(shop, numberOf(placed), amount));
  return placed;
}

describe("is announced", () => {
  test("by an event, to the administrators and on the customer's order; once for a transaction", async () => {
    const placed = await paidTooLate();
    await report({ ...eventFor(shop, numberOf(placed), due), created_at: 7 });
    const [event, ...more] = await told("payment.unmatched", placed);
    expect(more).toEqual([]);
    expect(event.event_data).toMatchObject({
      gateway_code: "razorpay",
      reason: "order_cancelled",
      order_id: placed.id,
      gateway_transaction_id: `pay_${numberOf(placed)}`,
      amount: String(due),
      currency: "IQD",
    });
    const notices = await noticesOf(placed);
    expect(notices).toHaveLength(1);
    expect(notices[0].message).toContain("razorpay");
    expect(await seen(placed)).toMatchObject({ status: "cancelled", refund_due: true });
    expect(await openOf(placed)).toHaveLength(2);
  });

  test("also where no payment is known, to the company whose account it is", async () => {
    const transaction = `pay_${randomUUID().slice(0, 8)}`;
    await report(eventFor(shop, "999999999999", due, { id: transaction }));
    const events = await sql`select event_data from integration.system_events
      where event_type = 'payment.unmatched' and tenant_id = ${shop.tenant.id}
        and event_data ->> 'gateway_transaction_id' = ${transaction}`;
    expect(events).toHaveLength(1);
    expect(events[0].event_data).toMatchObject({ reason: "payment_unknown", order_id: null });
  });

  test("not where the money fits", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await report(eventFor(shop, numberOf(placed), due));
    expect(await told("payment.unmatched", placed)).toEqual([]);
    expect((await seen(placed)).refund_due).toBe(false);
  });
});

describe("is settled", () => {
  test("without an action as before: nothing is booked", async () => {
    const placed = await paidTooLate();
    const [event] = await openOf(placed);
    const before = await walletOf(shop.tenant, null);
    const answer = await resolve(event.id);
    expect(answer.body.data).toMatchObject({ action: null, is_open: false });
    expect(await walletOf(shop.tenant, null)).toBe(before);
    expect((await seen(placed)).refund_due).toBe(false);
  });

  test("into the customer's wallet, once, with all events of the transaction", async () => {
    const placed = await paidTooLate();
    const { customer } = shop.tenant;
    const again = { ...eventFor(shop, numberOf(placed), due), created_at: 9 };
    await report(again);
    const [event] = await openOf(placed);
    const before = await walletOf(shop.tenant, customer.id);
    const key = { "idempotency-key": randomUUID() };
    const first = await resolve(event.id, "credit_wallet", admin(), key);
    expect(first).toSucceed(200);
    expect(first.body.data).toMatchObject({
      resolution: "credited_by_adjustment",
      action: "credit_wallet",
      resolved_by: admin().id,
    });
    const second = await resolve(event.id, "credit_wallet", admin(), key);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(await walletOf(shop.tenant, customer.id)).toBe(before + due);
    expect(await openOf(placed)).toEqual([]);
    expect((await seen(placed)).refund_due).toBe(false);
    const [{ journals }] =
      await sql`select count(*)::int as journals from money.ledger_transactions t
      join money.payments p on p.id = t.reference_id
      where t.kind = 'wallet_topup' and p.snapshot ->> 'order_id' = ${placed.id}`;
    expect(journals).toBe(1);
    // The gateway tells of it once more: it is known.
    await report({ ...again, created_at: 10 });
    expect(await openOf(placed)).toEqual([]);
    await checkAll(shop.tenant);
  });

  test("as given back at the gateway: it comes and goes, and the gateway's own word changes nothing", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await report(eventFor(shop, numberOf(placed), due));
    const twice = `pay_twice_${numberOf(placed)}`;
    await report(eventFor(shop, numberOf(placed), due, { id: twice }));
    const [event] = await openOf(placed);
    expect(event.reason).toBe("already_paid");
    const before = await walletOf(shop.tenant, null);
    expect(await resolve(event.id, "refund")).toSucceed(200);
    expect(await walletOf(shop.tenant, null)).toBe(before);
    const refund = { id: `rfnd_${twice}`, payment_id: twice, currency: "IQD", amount: due };
    await report({
      entity: "event",
      account_id: shop.account,
      event: "refund.processed",
      payload: { refund: { entity: refund } },
    });
    expect(await walletOf(shop.tenant, null)).toBe(before);
    expect(await openOf(placed)).toEqual([]);
    expect(
      await sql`select amount::int from money.payments
      where type = 'REFUND' and gateway_transaction_id = ${refund.id}`,
    ).toEqual([{ amount: due }]);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    await checkAll(shop.tenant);
  });

  test("as the payment, although it is short: the difference is a discount, and the order continues", async () => {
    const placed = await paidShort();
    const [event] = await openOf(placed);
    const before = await walletOf(shop.tenant, null);
    expect(await resolve(event.id, "accept")).toSucceed(200);
    expect(await walletOf(shop.tenant, null)).toBe(before + due - 1_000);
    expect(await seen(placed)).toMatchObject({
      paymentStatus: "paid",
      totalPrice: due - 1_000,
      discountAmount: 1_000,
      refund_due: false,
    });
    expect(await told("order.paid", placed)).toHaveLength(1);
    expect(await admin().put(`/storefront/orders/${placed.id}/approve`, {})).toSucceed(200);
    await checkAll(shop.tenant);
  });

  test("not as what it cannot be: 409 with the reason, and nothing is booked", async () => {
    const late = await paidTooLate();
    const over = await paidShort(due + 1_000);
    const foreign = await paidTooLate({
      id: `pay_usd_${randomUUID()}`,
      entity: { currency: "USD" },
    });
    const paid = await placeOrder(shop, "razorpay");
    await report(eventFor(shop, numberOf(paid), due));
    await report(eventFor(shop, numberOf(paid), due, { id: `pay_${randomUUID()}` }));
    await report(eventFor(shop, "999999999998", due, { id: `pay_${randomUUID()}` }));
    const [unknown] = (await admin().get("/payment/webhook-events", {
      query: { open: true, search: "999999999998" },
    })).body.data;
    const before = await sql`select count(*)::int as n from money.ledger_transactions
      where tenant_id = ${shop.tenant.id}`;
    for (
      const [{ id }, action, reason] of [
        [(await openOf(late))[0], "accept", "order_cancelled"],
        [(await openOf(over))[0], "accept", "amount_differs"],
        [(await openOf(paid))[0], "accept", "already_paid"],
        [(await openOf(foreign))[0], "credit_wallet", "currency_differs"],
        [unknown, "refund", "payment_unknown"],
      ]
    ) {
      const answer = await resolve(id, action);
      expect(answer).toFailWith(409, "payment_action_not_possible");
      expect(answer.body).toMatchObject({ field: "action", reason });
    }
    expect(
      await sql`select count(*)::int as n from money.ledger_transactions
        where tenant_id = ${shop.tenant.id}`,
    ).toEqual(before);
    expect(await openOf(late)).toHaveLength(1);
    expect((await resolve((await openOf(late))[0].id, "accept", admin().in("ar"))).body.message)
      .toMatch(/[\u0600-\u06ff]/);
  });

  test("by an administrator of the company alone", async () => {
    const placed = await paidTooLate();
    const [{ id }] = await openOf(placed);
    for (const who of [shop.tenant.customer, shop.tenant.ops, shop.tenant.driver]) {
      expect(await resolve(id, "credit_wallet", who)).toFailWith(403, "forbidden");
    }
    expect(await resolve(id, "credit_wallet", other.tenant.admin))
      .toFailWith(404, "payment_event_not_found");
    expect(await resolve(id, "credit_wallet", nobody)).toFailWith(401, "unauthorized");
    expect(await resolve(randomUUID(), "refund")).toFailWith(404, "payment_event_not_found");
    const wrong = await resolve(id, "keep");
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("action");
    expect(await openOf(placed)).toHaveLength(1);
  });
});

test("of many at once one moves it, whatever they want", async () => {
  const { customer } = shop.tenant;
  const placed = await paidTooLate();
  await report({ ...eventFor(shop, numberOf(placed), due), created_at: 11 });
  const events = await openOf(placed);
  expect(events).toHaveLength(2);
  const [mine, ours] = await Promise.all([
    walletOf(shop.tenant, customer.id),
    walletOf(shop.tenant, null),
  ]);
  const answers = await Promise.all(
    Array.from(
      { length: 8 },
      (_, n) => resolve(events[n % 2].id, n % 3 ? "credit_wallet" : "refund"),
    ),
  );
  const won = answers.filter(({ status }) => status === 200);
  expect(won).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(answer.status).toBe(409);
  }
  const credited = won[0].body.data.action === "credit_wallet" ? due : 0;
  expect(await walletOf(shop.tenant, customer.id)).toBe(mine + credited);
  expect(await walletOf(shop.tenant, null)).toBe(ours);
  expect(await openOf(placed)).toEqual([]);
  await checkAll(shop.tenant);
});

test("accepted while the whole amount comes after all: the order is paid once", async () => {
  for (let round = 0; round < 4; round++) {
    const placed = await paidShort();
    const [{ id }] = await openOf(placed);
    const [answer] = await Promise.all([
      resolve(id, "accept"),
      report(eventFor(shop, numberOf(placed), due, { id: `pay_whole_${numberOf(placed)}` })),
    ]);
    expect([200, 409]).toContain(answer.status);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    // Money that did not match the payment waits for a decision.
    expect(await openOf(placed)).toHaveLength(1);
  }
  await checkAll(shop.tenant);
});
