/** A notification nobody signed is a reason to ask; only the gateway's own answer pays. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import {
  checkAll,
  orderOf,
  type Placed,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import {
  askGateways,
  atGateway,
  endedUnpaid,
  expireUnpaid,
  lookedAt,
  newCardShop,
  numberOf,
  received,
  report,
} from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

function hint(placed: Placed, more: Record<string, unknown> = {}) {
  return {
    terminal: "LOCAL001",
    actionCode: "0",
    responseCode: "00",
    statusMsg: "Approved",
    amount: "6000",
    currency: "368",
    rrn: "123456789012",
    orderId: numberOf(placed),
    ...more,
  };
}
const send = (body: unknown) => report(body, null, "gatewayone");
/** As if nobody had asked for a while. */
const later = (order: string) =>
  sql`update money.payments set last_checked_at = last_checked_at - interval '1 minute' where order_id = ${order}`;

test("an order goes from the cart to the door, paid on the gateway's page", async () => {
  const placed = await placeOrder(shop, "gatewayone");
  const page = await (await fetch(placed.instructions.redirect_url)).text();
  expect(page).toContain("6000");
  await atGateway(placed.instructions.redirect_url, "pay");
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  expect(await shop.tenant.admin.put(`/storefront/orders/${placed.id}/approve`)).toSucceed(200);
  await checkAll(shop.tenant);
});

test("razorpay's page does the same with a signed event", async () => {
  await sql`update money.payment_gateways set settings = '{"account_id": "acc_BaridLocal0001"}'
    where tenant_id = ${shop.tenant.id} and gateway_code = 'razorpay'`;
  const placed = await placeOrder(shop, "razorpay");
  await atGateway(placed.instructions.redirect_url, "pay");
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
});

test("a declined payment has failed, and confirming again opens another one", async () => {
  const placed = await placeOrder(shop, "gatewayone");
  await atGateway(placed.instructions.redirect_url, "decline");
  expect(await standing(placed.id)).toMatchObject({ status: "pending", payment_status: "failed" });
  const [{ cart_id }] =
    await sql`select cart_id from storefront.storefront_orders where id = ${placed.id}`;
  const again = await shop.tenant.customer.post(
    "/storefront/orders/confirm",
    orderOf(shop, cart_id, "gatewayone"),
  );
  expect(again.body.order.id).toBe(placed.id);
  expect(again.body.instructions.gateway_order_id).not.toBe(placed.instructions.gateway_order_id);
  await atGateway(again.body.instructions.redirect_url, "pay");
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  await checkAll(shop.tenant);
});

describe("a forged notification", () => {
  test("of an open payment pays nothing", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    expect((await send(hint(placed))).body).toEqual(received.body);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
  });

  test("of failure fails nothing", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    await send(hint(placed, { actionCode: "2", responseCode: "-19" }));
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending" });
  });

  test("of an order that is none, or not from here, is answered the same", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    const known = await send(hint(placed));
    const numbers = ["000000000000", "9".repeat(18), "123456789", "12345678"];
    const unknown = [...numbers, "A-17 or 1=1", "", "\u0000"];
    for (const orderId of unknown) {
      expect(await send(hint(placed, { orderId }))).toEqual(known);
    }
  });

  test.each([
    [{ amount: 6000 }],
    [{ orderId: 123456789012 }],
    [{ orderId: "1".repeat(201) }],
    [{ rrn: null }],
    [{ terminal: undefined }],
    [{ statusMsg: "x".repeat(201) }],
  ])("%j is no notification", async (change) => {
    const placed = await placeOrder(shop, "gatewayone");
    const answer = await send(hint(placed, change));
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe("validation_failed");
  });

  test("with a key twice is none either", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    const text = JSON.stringify(hint(placed)).replace("{", '{"orderId":"111111111111",');
    expect((await send(text)).body.code).toBe("invalid_json");
  });
});

describe("the gateway's answer", () => {
  const differing: [string, string, string][] = [
    [
      "another amount",
      "update money.payments set amount = amount + 1 where order_id = $1",
      "amount_differs",
    ],
    [
      "another terminal",
      "update money.payment_gateways set settings = '{\"terminal\": \"OTHER\"}' where tenant_id = (select tenant_id from storefront.storefront_orders where id = $1) and gateway_code = 'gatewayone'",
      "terminal_differs",
    ],
  ];
  test.each(differing)(
    "about %s is kept to look at, and pays nothing",
    async (_name, change, reason) => {
      const mine = await newCardShop();
      const placed = await placeOrder(mine, "gatewayone");
      await sql.unsafe(change, [placed.id]);
      await atGateway(placed.instructions.redirect_url, "pay");
      expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
      const { body } = await mine.tenant.admin.get("/payment/webhook-events", {
        query: { open: true },
      });
      expect(body.data).toMatchObject([{ proof: "status", reason, order_id: placed.id }]);
    },
  );

  test("is asked for by the payment's status, when the notification got lost", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    await atGateway(placed.instructions.redirect_url, "pay", "yes");
    expect(await standing(placed.id)).toMatchObject({ payment_status: "pending" });
    const { body } = await shop.tenant.customer.get(
      `/storefront/orders/${placed.id}/payment-status`,
    );
    expect(body.order).toMatchObject({ status: "approved", paymentStatus: "paid" });
  });

  test("is asked for at most every ten seconds, however often somebody looks", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    const look = () => shop.tenant.customer.get(`/storefront/orders/${placed.id}/payment-status`);
    await look();
    const checked = async () =>
      (await sql`select last_checked_at from money.payments where order_id = ${placed.id}`)[0]
        .last_checked_at.getTime();
    const first = await checked();
    await Promise.all(Array.from({ length: 20 }, look));
    expect(await checked()).toBe(first);
  });

  test("is asked for by the clock, while a payment is open and younger than a day", async () => {
    const placed = await placeOrder(shop, "gatewayone");
    await atGateway(placed.instructions.redirect_url, "pay", "yes");
    const old = await placeOrder(shop, "gatewayone");
    const looks = await sql.begin(async (tx) => {
      await tx`update money.payments set created_at = now() - interval '2 minutes' where order_id = ${placed.id}`;
      await endedUnpaid(tx, old);
      return await lookedAt(tx, shop);
    });
    expect(looks).toContain(placed.id);
    expect(looks).not.toContain(old.id);
    await askGateways(shop);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  });
});

test("a hundred notifications at once make one payment", async () => {
  const placed = await placeOrder(shop, "gatewayone");
  await atGateway(placed.instructions.redirect_url, "pay", "yes");
  const before = await walletOf(shop.tenant, null);
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(hint(placed))));
  // Those that came while another was asking are told to come again.
  expect(answers.every(({ status }) => status === 200 || status === 503)).toBe(true);
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  expect(await walletOf(shop.tenant, null)).toBe(before + 6_000);
  await checkAll(shop.tenant);
});

test("while a gateway cannot be asked nothing changes, and it is asked again", async () => {
  const placed = await placeOrder(shop, "gatewayone");
  await sql`update money.payments set gateway_order_id = '888888888888' where order_id = ${placed.id}`;
  const answer = await send(hint(placed, { orderId: "888888888888" }));
  expect(answer.status).toBe(503);
  expect(answer.body.code).toBe("gateway_unavailable");
  expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
  await later(placed.id);
});

test("an order unpaid for a day ends, its payment is dropped, and late money is looked for", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const young = await placeOrder(shop, "gatewayone");
  await expireUnpaid(placed);
  expect(await standing(placed.id)).toMatchObject({
    status: "cancelled",
    payment_status: "pending",
  });
  const [row] = await sql`select cancel_reason,
    (select p.status from money.payments p where p.order_id = o.id) as payment
    from storefront.storefront_orders o where id = ${placed.id}`;
  expect(row).toEqual({ cancel_reason: "payment_failed", payment: "CANCELLED" });
  expect(await standing(young.id)).toMatchObject({ status: "pending" });
});

test("money paid for an order that was cancelled meanwhile is kept for somebody to look at", async () => {
  const { admin } = shop.tenant;
  const placed = await placeOrder(shop, "gatewayone");
  const cancelled = await admin.put(`/storefront/orders/${placed.id}/cancel`, {
    reason: "customer_request",
  });
  expect(cancelled).toSucceed(200);
  await atGateway(placed.instructions.redirect_url, "pay");
  expect(await standing(placed.id)).toMatchObject({
    status: "cancelled",
    payment_status: "pending",
    paid: 0,
  });
  const open = await admin.get("/payment/webhook-events?open=true&limit=100");
  const mine = open.body.data.filter((e: { order_id: string }) => e.order_id === placed.id);
  expect(mine).toMatchObject([{
    gateway_order_id: numberOf(placed),
    outcome: "unmatched",
    reason: "order_cancelled",
    amount: "6000",
  }]);
  await later(placed.id);
  expect(await send(hint(placed))).toEqual(received);
  expect((await admin.get("/payment/webhook-events?open=true&limit=100")).body.data).toHaveLength(
    open.body.data.length,
  );
  await checkAll(shop.tenant);
});
