/** A signed event pays what it names, once, and only when everything in it is right. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../support/db.ts";
import "../support/expect.ts";
import {
  checkAll,
  eventFor,
  newShop,
  type Placed,
  placeOrder,
  type Shop,
  sign,
  standing,
  takeCards,
  tell,
  walletOf,
  webhookSecret,
} from "../support/orders.ts";

// IQD has three digits after its point: 6,000 dinars are 6,000,000 fils.
const due = 6_000_000;
const received = { status: 200, body: { success: true, message: "received" } };
let shop: Shop;
let other: Shop;
beforeAll(async () => {
  [shop, other] = await Promise.all([newShop({ stock: 1000 }), newShop()]);
  await Promise.all([takeCards(shop), takeCards(other)]);
});

const numberOf = ({ instructions }: Placed) => instructions.gateway_order_id;
const outcomes = async (order: string) =>
  (await sql`select e.outcome, e.reason from money.payment_webhook_events e
    join money.payments p on p.id = e.payment_id where p.order_id = ${order} order by e.created_at, e.id`)
    .map(({ outcome, reason }) => reason ? `${outcome}: ${reason}` : outcome);

test("a captured payment pays its order: the shop's wallet, the payment, and where it was made", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const before = await walletOf(shop.tenant, null);
  const answer = await tell(eventFor(shop, numberOf(placed), due));
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
  await tell(eventFor(shop, numberOf(placed), due, { entity: { notes } }));
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid" });
});

test("empty notes are a list", async () => {
  const placed = await placeOrder(shop, "razorpay");
  await tell(eventFor(shop, numberOf(placed), due, { entity: { notes: [] } }));
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid" });
});

describe("who signed it", () => {
  const attacks: [string, (body: string) => [string, string | null]][] = [
    ["nobody", (body) => [body, null]],
    ["an empty signature", (body) => [body, ""]],
    ["another secret", (body) => [body, sign(body, "guessed")]],
    ["an empty secret", (body) => [body, sign(body, "")]],
    ["one byte changed", (body) => [body.replace('"captured"', '"Captured"'), sign(body)]],
    ["a space added", (body) => [body + " ", sign(body)]],
    ["the amount changed", (body) => [body.replace("6000000", "6000001"), sign(body)]],
    ["upper case", (body) => [body, sign(body).toUpperCase()]],
    ["cut short", (body) => [body, sign(body).slice(0, 63)]],
    ["too long", (body) => [body, sign(body) + "0"]],
    ["another account", (body) => {
      const forged = body.replace(shop.account, "acc_00000000000000");
      return [forged, sign(forged)];
    }],
    ["an account that hides in front", (body) => {
      const forged = body.replace("{", `{"note":"\\"account_id\\":\\"${"x"}\\"",`);
      return [forged, sign(forged, "guessed")];
    }],
  ];
  test.each(attacks)("%s: refused with nothing written", async (_name, attack) => {
    const placed = await placeOrder(shop, "razorpay");
    const count = async () =>
      (await sql`select count(*)::int as n from money.payment_webhook_events
        where tenant_id = ${shop.tenant.id}`)[0].n;
    const before = await count();
    const [body, signature] = attack(JSON.stringify(eventFor(shop, numberOf(placed), due)));
    const answer = await tell(body, signature);
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      success: false,
      code: "invalid_signature",
      message: "The signature is not valid.",
    });
    expect(await count()).toBe(before);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
  });

  test("a secret of one shop pays no order of another", async () => {
    const victim = await placeOrder(shop, "razorpay");
    await other.tenant.admin.put("/payment/gateways/razorpay", {
      secrets: { webhook_secret: "theirs" },
    });
    // Their account, their secret, our order.
    const stolen = JSON.stringify(eventFor(other, numberOf(victim), due));
    expect(await tell(stolen, sign(stolen, "theirs"))).toEqual(received);
    // Our account, their secret.
    const forged = JSON.stringify(eventFor(shop, numberOf(victim), due));
    expect((await tell(forged, sign(forged, "theirs"))).status).toBe(401);
    expect(await standing(victim.id)).toMatchObject({ payment_status: "pending", paid: 0 });
    const [event] = await sql`select outcome, reason, tenant_id from money.payment_webhook_events
      where raw_body = ${stolen}`;
    expect(event).toEqual({
      outcome: "unmatched",
      reason: "payment_unknown",
      tenant_id: other.tenant.id,
    });
  });

  test("an unknown gateway, and gatewayone's own path, have no signed events", async () => {
    const event = eventFor(shop, "123456789012", due);
    for (const code of ["nothing", "constructor", "__proto__", "gatewayone%2F"]) {
      expect((await tell(event, undefined, code)).body.code).toBe("gateway_not_found");
    }
    expect((await tell(event, undefined, "gatewayone")).body.code).toBe("validation_failed");
  });

  test("after an exchange the secret before still counts, until it is to be forgotten", async () => {
    const rotating = await newShop({ stock: 1000 });
    await takeCards(rotating);
    const put = (body: object) => rotating.tenant.admin.put("/payment/gateways/razorpay", body);
    const works = async (secret: string) => {
      const placed = await placeOrder(rotating, "razorpay");
      const body = JSON.stringify(eventFor(rotating, numberOf(placed), due));
      return (await tell(body, sign(body, secret))).status;
    };
    const changed = await put({ secrets: { webhook_secret: "second" } });
    expect(changed.body.data.has_previous_webhook_secret).toBe(true);
    expect([await works(webhookSecret), await works("second")]).toEqual([200, 200]);
    await put({ secrets: { webhook_secret: "second" } });
    expect(await works(webhookSecret)).toBe(200);
    await put({ forget_previous_secret: true });
    expect([await works(webhookSecret), await works("second")]).toEqual([401, 200]);
  });
});

describe("what it says", () => {
  const money: [string, (number: string) => object, string][] = [
    ["less", (number) => eventFor(shop, number, due - 1), "amount_differs"],
    ["more", (number) => eventFor(shop, number, due * 1_000), "amount_differs"],
    ["dinars instead of fils", (number) => eventFor(shop, number, 6_000), "amount_differs"],
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
      expect(await tell(event(numberOf(placed)))).toEqual(received);
      expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
      expect(await outcomes(placed.id)).toEqual([`unmatched: ${reason}`]);
    },
  );

  test("authorized is not captured; captured without the status is not either", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const number = numberOf(placed);
    await tell(eventFor(shop, number, due, { event: "payment.authorized", status: "authorized" }));
    await tell(eventFor(shop, number, due, { status: "authorized", entity: { captured: true } }));
    await tell(eventFor(shop, number, due, { event: "payment.failed", status: "captured" }));
    await tell(eventFor(shop, number, due, { event: "invoice.paid" }));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
  });

  test("failed, and then captured after all", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const number = numberOf(placed);
    await tell(
      eventFor(shop, number, due, { event: "payment.failed", status: "failed", id: "pay_1" }),
    );
    expect(await standing(placed.id)).toMatchObject({ payment_status: "failed" });
    await tell(eventFor(shop, number, due));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    await tell(
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
    await tell(eventFor(shop, numberOf(placed), due));
    await tell(eventFor(shop, numberOf(placed), due, { id: "pay_again" }));
    expect(await outcomes(placed.id)).toEqual(["processed", "unmatched: already_paid"]);
    expect(await standing(placed.id)).toMatchObject({ paid: 1 });
  });

  test("one payment at the gateway pays one order", async () => {
    const id = `pay_${randomUUID()}`;
    const [one, two] = [await placeOrder(shop, "razorpay"), await placeOrder(shop, "razorpay")];
    await tell(eventFor(shop, numberOf(one), due, { id }));
    await tell(eventFor(shop, numberOf(two), due, { id }));
    expect(await standing(one.id)).toMatchObject({ payment_status: "paid" });
    expect(await standing(two.id)).toMatchObject({ payment_status: "pending" });
    expect(await outcomes(two.id)).toEqual(["unmatched: transaction_already_used"]);
    await checkAll(shop.tenant);
  });

  test("for a cancelled order it is money to look for", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await shop.tenant.admin.put(`/storefront/orders/${placed.id}/cancel`, { reason: "other" });
    await tell(eventFor(shop, numberOf(placed), due));
    expect(await standing(placed.id)).toMatchObject({
      status: "cancelled",
      payment_status: "pending",
      paid: 0,
    });
    expect(await outcomes(placed.id)).toEqual(["unmatched: order_cancelled"]);
  });

  test("money given back at the gateway leaves the shop's wallet, once", async () => {
    const placed = await placeOrder(shop, "razorpay");
    await tell(eventFor(shop, numberOf(placed), due));
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
    await tell(refund(`rfnd_${placed.id}`, 4_000_000));
    await tell({ ...refund(`rfnd_${placed.id}`, 4_000_000), created_at: 5 });
    expect(await walletOf(shop.tenant, null)).toBe(before - 4_000);
    await tell(refund(`rfnd_more_${placed.id}`, 2_000_001));
    expect(await walletOf(shop.tenant, null)).toBe(before - 4_000);
    expect(await outcomes(placed.id)).toEqual([
      "processed",
      "processed",
      "ignored: already_refunded",
      "unmatched: amount_differs",
    ]);
    expect(
      await shop.tenant.admin.post(`/storefront/orders/${placed.id}/refund`, { amount: 2_001 }),
    )
      .toFailWith(400, "refund_too_high");
    await checkAll(shop.tenant);
  });

  const malformed: [string, (body: string) => string, string][] = [
    [
      "a key twice",
      (body) => body.replace('"amount":6000000', '"amount":1,"amount":6000000'),
      "invalid_json",
    ],
    [
      "a key twice, spelled differently",
      (body) => body.replace('"amount":6000000', '"\\u0061mount":1,"amount":6000000'),
      "invalid_json",
    ],
    ["an amount as text", (body) => body.replace("6000000", '"6000000"'), "validation_failed"],
    ["a fraction", (body) => body.replace("6000000", "6000000.5"), "validation_failed"],
    ["less than nothing", (body) => body.replace("6000000", "-6000000"), "validation_failed"],
    [
      "more than a number holds",
      (body) => body.replace("6000000", "60000000000000000000"),
      "validation_failed",
    ],
    ["no payload", (body) => body.replace('"payload"', '"load"'), "validation_failed"],
    ["half of it", (body) => body.slice(0, -2), "invalid_json"],
    [
      "deep nesting",
      (body) =>
        body.replace('"contains":["payment"]', `"contains":${"[".repeat(99)}${"]".repeat(99)}`),
      "invalid_json",
    ],
  ];
  test.each(malformed)("%s: refused, though it is signed", async (_name, change, code) => {
    const placed = await placeOrder(shop, "razorpay");
    const answer = await tell(change(JSON.stringify(eventFor(shop, numberOf(placed), due))));
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
    expect((await tell(sized(65_536))).status).toBe(200);
    // Refused before it is read to its end, so this connection is not used again.
    expect((await tell(sized(65_537))).status).toBe(413);
  });
});

describe("once, in any order", () => {
  test("the same event a hundred times at once", async () => {
    const placed = await placeOrder(shop, "razorpay");
    const before = await walletOf(shop.tenant, null);
    const event = eventFor(shop, numberOf(placed), due);
    const answers = await Promise.all(Array.from({ length: 100 }, () => tell(event)));
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
    await Promise.all(events.map((event) => tell(event)));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    expect(await walletOf(shop.tenant, null)).toBe(before + 6_000);
    await checkAll(shop.tenant);
  });
});

test("events are listed for the administrator, and what fits nothing is settled once", async () => {
  const mine = await newShop({ stock: 100 });
  await takeCards(mine);
  const placed = await placeOrder(mine, "razorpay");
  await tell(eventFor(mine, numberOf(placed), due - 1, { id: "pay_short" }));
  await tell(eventFor(mine, numberOf(placed), due));
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
  expect(await other.tenant.admin.post(path, body)).toFailWith(404, "payment_event_not_found");
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
