/** A signed event pays what it names, once, and only when everything in it is right. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { checkAll, placeOrder, type Shop, standing, walletOf } from "../../support/orders.ts";
import { due, eventFor, newCardShop, numberOf, received, report } from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

const outcomes = async (order: string) =>
  (await sql`select e.outcome, e.reason from money.payment_webhook_events e
    join money.payments p on p.id = e.payment_id where p.order_id = ${order} order by e.created_at, e.id`)
    .map(({ outcome, reason }) => reason ? `${outcome}: ${reason}` : outcome);

test("a captured payment pays its order: the shop's wallet, the payment, and where it was made", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const before = await walletOf(shop.tenant, null);
  const answer = await report(eventFor(shop, numberOf(placed), due));
  expect(answer).toEqual(received);
  expect(await standing(placed.id)).toMatchObject({
    status: "pending",
    payment_status: "paid",
    paid: 1,
  });
  expect(await walletOf(shop.tenant, null)).toBe(before + 6_000);
  const { body } = await shop.tenant.customer.get(`/storefront/orders/${placed.id}/payment-status`);
  expect(body.order).toMatchObject({ status: "approved", paymentStatus: "paid" });
  expect(body.order.payments[0]).toMatchObject({
    status: "SUCCESS",
    payment_method: "gateway",
    gateway_transaction_id: `pay_${numberOf(placed)}`,
  });
  await checkAll(shop.tenant);
});

test("the order may be named by its own id in the notes", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const notes = { order_id: placed.id };
  await report(eventFor(shop, numberOf(placed), due, { entity: { notes } }));
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid" });
});

test("empty notes are a list", async () => {
  const placed = await placeOrder(shop, "razorpay");
  await report(eventFor(shop, numberOf(placed), due, { entity: { notes: [] } }));
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid" });
});

describe("what it says", () => {
  const money: [string, (number: string) => object, string][] = [
    ["less", (number) => eventFor(shop, number, due - 1), "amount_differs"],
    ["more", (number) => eventFor(shop, number, due + 1), "amount_differs"],
    ["fils instead of dinars", (number) => eventFor(shop, number, due * 1_000), "amount_differs"],
    [
      "another currency",
      (number) => eventFor(shop, number, due, { entity: { currency: "USD" } }),
      "currency_differs",
    ],
    [
      "another order in the notes",
      (number) => eventFor(shop, number, due, { entity: { notes: { order_id: randomUUID() } } }),
      "order_differs",
    ],
  ];
  test.each(money)(
    "%s is kept for somebody to look at, and pays nothing",
    async (_name, event, reason) => {
      const placed = await placeOrder(shop, "razorpay");
      expect(await report(event(numberOf(placed)))).toEqual(received);
      expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
      expect(await outcomes(placed.id)).toEqual([`unmatched: ${reason}`]);
    },
  );

  test("authorized is not captured; captured without the status is not either", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const number = numberOf(placed);
    await report(
      eventFor(shop, number, due, { event: "payment.authorized", status: "authorized" }),
    );
    await report(eventFor(shop, number, due, { status: "authorized", entity: { captured: true } }));
    await report(eventFor(shop, number, due, { event: "payment.failed", status: "captured" }));
    await report(eventFor(shop, number, due, { event: "invoice.paid" }));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
  });

  test("failed, and then captured after all", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const number = numberOf(placed);
    await report(
      eventFor(shop, number, due, { event: "payment.failed", status: "failed", id: "pay_1" }),
    );
    expect(await standing(placed.id)).toMatchObject({ payment_status: "failed" });
    await report(eventFor(shop, number, due));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    await report(
      eventFor(shop, number, due, { event: "payment.failed", status: "failed", id: "pay_2" }),
    );
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    expect(await outcomes(placed.id)).toEqual([
      "processed",
      "processed",
      "ignored: payment_is_success",
    ]);
    await checkAll(shop.tenant);
  });

  test("a second payment of a paid order is money to look for", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await report(eventFor(shop, numberOf(placed), due));
    await report(eventFor(shop, numberOf(placed), due, { id: "pay_again" }));
    expect(await outcomes(placed.id)).toEqual(["processed", "unmatched: already_paid"]);
    expect(await standing(placed.id)).toMatchObject({ paid: 1 });
  });

  test("one payment at the gateway pays one order", async () => {
    const id = `pay_${randomUUID()}`;
    const [one, two] = [await placeOrder(shop, "razorpay"), await placeOrder(shop, "razorpay")];
    await report(eventFor(shop, numberOf(one), due, { id }));
    await report(eventFor(shop, numberOf(two), due, { id }));
    expect(await standing(one.id)).toMatchObject({ payment_status: "paid" });
    expect(await standing(two.id)).toMatchObject({ payment_status: "pending" });
    expect(await outcomes(two.id)).toEqual(["unmatched: transaction_already_used"]);
    await checkAll(shop.tenant);
  });

  test("for a cancelled order it is money to look for", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await shop.tenant.admin.put(`/storefront/orders/${placed.id}/cancel`, { reason: "other" });
    await report(eventFor(shop, numberOf(placed), due));
    expect(await standing(placed.id)).toMatchObject({
      status: "cancelled",
      payment_status: "pending",
      paid: 0,
    });
    expect(await outcomes(placed.id)).toEqual(["unmatched: order_cancelled"]);
  });

  test("money given back at the gateway leaves the shop's wallet, once", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await report(eventFor(shop, numberOf(placed), due));
    const before = await walletOf(shop.tenant, null);
    const refund = (id: string, amount: number) => ({
      entity: "event",
      account_id: shop.account,
      event: "refund.processed",
      payload: {
        refund: {
          entity: {
            id,
            payment_id: `pay_${numberOf(placed)}`,
            amount,
            currency: "IQD",
            status: "processed",
          },
        },
      },
    });
    await report(refund(`rfnd_${placed.id}`, 4_000));
    await report({ ...refund(`rfnd_${placed.id}`, 4_000), created_at: 5 });
    expect(await walletOf(shop.tenant, null)).toBe(before - 4_000);
    await report(refund(`rfnd_more_${placed.id}`, 2_001));
    expect(await walletOf(shop.tenant, null)).toBe(before - 4_000);
    expect(await outcomes(placed.id)).toEqual([
      "processed",
      "processed",
      "ignored: already_refunded",
      "unmatched: amount_differs",
    ]);
    expect(await shop.tenant.admin.post(`/storefront/orders/${placed.id}/refund`, { amount: 1 }))
      .toFailWith(409, "nothing_to_refund");
    await checkAll(shop.tenant);
  });

  const malformed: [string, (body: string) => string, string][] = [
    [
      "a key twice",
      (body) => body.replace('"amount":6000', '"amount":1,"amount":6000'),
      "invalid_json",
    ],
    [
      "a key twice, spelled differently",
      (body) => body.replace('"amount":6000', '"\\u0061mount":1,"amount":6000'),
      "invalid_json",
    ],
    ["an amount as text", (body) => body.replace("6000", '"6000"'), "validation_failed"],
    ["a fraction", (body) => body.replace("6000", "6000.5"), "validation_failed"],
    ["less than nothing", (body) => body.replace("6000", "-6000"), "validation_failed"],
    [
      "more than a number holds",
      (body) => body.replace("6000", "60000000000000000000"),
      "validation_failed",
    ],
    ["no payload", (body) => body.replace('"payload"', '"load"'), "validation_failed"],
    ["half of it", (body) => body.slice(0, -2), "invalid_json"],
    ["half a character", (body) => body.replace('"card"', '"\\ud800"'), "invalid_json"],
    ["a text that holds NUL", (body) => body.replace('"card"', '"\\u0000"'), "invalid_json"],
    [
      "deep nesting",
      (body) =>
        body.replace('"contains":["payment"]', `"contains":${"[".repeat(99)}${"]".repeat(99)}`),
      "invalid_json",
    ],
  ];
  test.each(malformed)("%s: refused, though it is signed", async (_name, change, code) => {
    const placed = await placeOrder(shop, "razorpay");
    const answer = await report(change(JSON.stringify(eventFor(shop, numberOf(placed), due))));
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe(code);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
    expect(await outcomes(placed.id)).toEqual([]);
  });

  test("65 KiB is too much, 64 are read", async () => {
    const base = eventFor(shop, "999999999999", due);
    const sized = (bytes: number) => {
      const text = JSON.stringify({ ...base, pad: "" });
      return text.replace('"pad":""', `"pad":"${"x".repeat(bytes - text.length)}"`);
    };
    expect((await report(sized(65_536))).status).toBe(200);
    // Refused before it is read to its end, so this connection is not used again.
    expect((await report(sized(65_537))).status).toBe(413);
  });
});

describe("once, in any order", () => {
  test("the same event a hundred times at once", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const before = await walletOf(shop.tenant, null);
    const event = eventFor(shop, numberOf(placed), due);
    const answers = await Promise.all(Array.from({ length: 100 }, () => report(event)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    expect(await walletOf(shop.tenant, null)).toBe(before + 6_000);
    expect(await outcomes(placed.id)).toEqual(["processed"]);
    await checkAll(shop.tenant);
  });

  test("authorized, captured and failed, shuffled and all at once: paid, once", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const number = numberOf(placed);
    const kinds = [
      ["payment.authorized", "authorized"],
      ["payment.captured", "captured"],
      ["payment.failed", "failed"],
      ["order.paid", "captured"],
    ];
    const events = Array.from({ length: 100 }, (_, index) => {
      const [event, status] = kinds[index % 4];
      return { ...eventFor(shop, number, due, { event, status }), created_at: index };
    }).sort(() => Math.random() - 0.5);
    const before = await walletOf(shop.tenant, null);
    await Promise.all(events.map((event) => report(event)));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    expect(await walletOf(shop.tenant, null)).toBe(before + 6_000);
    await checkAll(shop.tenant);
  });
});

test("events are listed for the administrator, and what fits nothing is settled once", async () => {
  const mine = await newCardShop(100);
  const placed = await placeOrder(mine, "razorpay");
  await report(eventFor(mine, numberOf(placed), due - 1, { id: "pay_short" }));
  await report(eventFor(mine, numberOf(placed), due));
  const list = (query = {}) => mine.tenant.admin.get("/payment/webhook-events", { query });
  const all = await list();
  expect(all).toSucceed(200);
  expect(all.body.pagination).toEqual({ page: 1, limit: 25, total: 2, total_pages: 1 });
  const open = (await list({ open: true })).body.data;
  expect(open).toHaveLength(1);
  expect(open[0]).toMatchObject({
    gateway_code: "razorpay",
    event_type: "payment.captured",
    outcome: "unmatched",
    reason: "amount_differs",
    order_id: placed.id,
    gateway_transaction_id: "pay_short",
    is_open: true,
  });
  expect(JSON.stringify(all.body)).not.toContain("buyer@example.test");
  const path = `/payment/webhook-events/${open[0].id}/resolve`;
  const body = { resolution: "refunded_at_gateway", note: "Given back by hand" };
  expect(await mine.tenant.customer.post(path, body)).toFailWith(403, "forbidden");
  expect(await shop.tenant.admin.post(path, body)).toFailWith(404, "payment_event_not_found");
  expect(await mine.tenant.admin.post(path, { resolution: "kept" })).toFailWith(
    400,
    "validation_failed",
  );
  const settled = await mine.tenant.admin.post(path, body);
  expect(settled.body.data).toMatchObject({
    resolution: "refunded_at_gateway",
    resolved_by: mine.tenant.admin.id,
    is_open: false,
  });
  expect(await mine.tenant.admin.post(path, body)).toFailWith(409, "payment_event_not_open");
  expect((await list({ open: true })).body.data).toEqual([]);
  expect(await mine.tenant.staff.get("/payment/webhook-events")).toFailWith(403, "forbidden");
});
