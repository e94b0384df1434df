/** A card payment that failed is tried once more, by confirming again. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import {
  checkAll,
  methods,
  newCart,
  newShop,
  orderOf,
  type Placed,
  placeOrder,
  type Shop,
} from "../../support/orders.ts";
import { atGateway, hoursLater, newCardShop, takeCards } from "../../support/payments.ts";
import { eventsOf } from "../../support/warehouses.ts";

const path = "/storefront/orders/confirm";

async function again(shop: Shop, { id }: Placed) {
  const [{ cart_id }] =
    await sql`select cart_id from storefront.storefront_orders where id = ${id}`;
  return await shop.tenant.customer.post(path, orderOf(shop, cart_id, "gatewayone"));
}

const decline = ({ redirect_url }: { redirect_url: string }) => atGateway(redirect_url, "decline");

test("another try is waited for, and each that fails has its event", async () => {
  const shop = await newCardShop();
  const placed = await placeOrder(shop, "gatewayone");
  await decline(placed.instructions);
  const second = await again(shop, placed);
  expect(second).toSucceed(200);
  expect(second.body.order.paymentStatus).toBe("pending");
  const mine = (await shop.tenant.customer.get("/storefront/my/orders")).body.data;
  expect(mine).toMatchObject([{ id: placed.id, paymentStatus: "pending" }]);
  await decline(second.body.instructions);
  expect(await eventsOf(placed.id))
    .toEqual(["order.created", "order.payment_failed", "order.payment_failed"]);
  const third = await again(shop, placed);
  await atGateway(third.body.instructions.redirect_url, "pay");
  const { order } = (await shop.tenant.customer.get(
    `/storefront/orders/${placed.id}/payment-status`,
  )).body;
  expect(order.paymentStatus).toBe("paid");
  expect(order.payments.map(({ status }: { status: string }) => status))
    .toEqual(["FAILED", "FAILED", "SUCCESS"]);
  await checkAll(shop.tenant);
});

test("a confirmation that comes again once it is paid is answered with the order and nothing to pay", async () => {
  const shop = await newCardShop();
  const { customer } = shop.tenant;
  const cart = await newCart(shop, 1, customer.id);
  const key = { headers: { "idempotency-key": crypto.randomUUID() } };
  const confirm = () => customer.post(path, orderOf(shop, cart, "gatewayone"), key);
  const first = await confirm();
  expect(first).toSucceed(201);
  await atGateway(first.body.instructions.redirect_url, "pay");
  const late = await confirm();
  expect(late).toSucceed(201);
  expect(late.body).toMatchObject({
    order: { id: first.body.order.id },
    instructions: null,
  });
  const keyless = await customer.post(path, orderOf(shop, cart, "gatewayone"));
  expect(keyless).toSucceed(200);
  expect(keyless.body).toMatchObject({ order: { paymentStatus: "paid" }, instructions: null });
  await checkAll(shop.tenant);
});

test("none is opened at a gateway that the shop has switched off", async () => {
  const shop = await newCardShop();
  const placed = await placeOrder(shop, "gatewayone");
  await decline(placed.instructions);
  const turn = (is_active: boolean) =>
    shop.tenant.admin.put("/payment/gateways/gatewayone", { is_active });
  expect(await turn(false)).toSucceed(200);
  const refused = await again(shop, placed);
  expect(refused).toFailWith(409, "gateway_not_configured");
  expect(refused.body.field).toBe("paymentMethodTypeId");
  expect(await turn(true)).toSucceed(200);
  expect((await again(shop, placed)).body.instructions.redirect_url).toMatch(/^http/);
});

test("the first is not opened there either, and one that was opened before is answered", async () => {
  const shop = await newCardShop();
  const [opened, unopened] = [
    await placeOrder(shop, "gatewayone"),
    await placeOrder(shop, "gatewayone"),
  ];
  await sql`update money.payments set redirect_url = null, opened_at = opened_at - interval '1 minute'
    where order_id = ${unopened.id}`;
  const turn = (is_active: boolean) =>
    shop.tenant.admin.put("/payment/gateways/gatewayone", { is_active });
  expect(await turn(false)).toSucceed(200);
  const refused = await again(shop, unopened);
  expect(refused).toFailWith(409, "gateway_not_configured");
  expect(refused.body.field).toBe("paymentMethodTypeId");
  const answered = await again(shop, opened);
  expect(answered).toSucceed(200);
  expect(answered.body.instructions).toEqual(opened.instructions);
  expect(await turn(true)).toSucceed(200);
  expect((await again(shop, unopened)).body.instructions.redirect_url).toMatch(/^http/);
});

test("none is opened once the order's day is over", async () => {
  const shop = await newCardShop();
  const [failed, unopened] = [
    await placeOrder(shop, "gatewayone"),
    await placeOrder(shop, "gatewayone"),
  ];
  await decline(failed.instructions);
  await sql`update money.payments set redirect_url = null where order_id = ${unopened.id}`;
  for (const placed of [failed, unopened]) {
    await hoursLater(placed, 24);
    const answer = await again(shop, placed);
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({ instructions: null, order: { id: placed.id } });
    expect(answer.body.order.payments).toHaveLength(1);
  }
});

test("one that is opened in the last minutes of the day holds the order until it ends", async () => {
  const shop = await newCardShop();
  const placed = await placeOrder(shop, "gatewayone");
  await decline(placed.instructions);
  await hoursLater(placed, 23.95);
  const late = await again(shop, placed);
  expect(late.body.instructions.redirect_url).toMatch(/^http/);
  const left = Date.parse(late.body.instructions.expires_at) - Date.now();
  expect(left).toBeGreaterThan(15 * 60_000);
  const first = await placeOrder(shop, "razorpay");
  await sql`update money.payments set redirect_url = null, opened_at = null where order_id = ${first.id}`;
  await hoursLater(first, 23.95);
  expect((await again(shop, first)).body.instructions.redirect_url).toMatch(/^http/);

  const statusOf = async () => {
    await sql`select storefront.orders_expire()`;
    const [{ status }] =
      await sql`select status from storefront.storefront_orders where id = ${placed.id}`;
    return status;
  };
  await hoursLater(placed, 0.1);
  expect(await statusOf()).toBe("pending");
  await hoursLater(placed, 0.3);
  expect(await statusOf()).toBe("pending");
  await sql`select money.payment_answered(id) from money.payments where order_id = ${placed.id}`;
  expect(await statusOf()).toBe("cancelled");
});

test("a gateway is asked for no fraction of what it counts by", async () => {
  const shop = await newShop({
    settings: { "general.currency": { currency_code: "IQD", decimals: 3 } },
  });
  await takeCards(shop);
  const { admin, customer } = shop.tenant;
  const settings = { account_id: shop.account, amount_exponent: 2 };
  expect(await admin.put("/payment/gateways/razorpay", { settings })).toSucceed(200);
  const order = async (price: number, method: keyof typeof methods) => {
    await sql`update storefront.product_variants set price = ${price} where id = ${shop.product.variant}`;
    return await customer.post(path, orderOf(shop, await newCart(shop), method));
  };
  const refused = await order(1.005, "razorpay");
  expect(refused).toFailWith(400, "invalid_payment_method");
  expect(refused.body.field).toBe("paymentMethodTypeId");
  expect(refused.body.message).toBe("The payment gateway does not take this amount.");
  expect(await order(1.01, "razorpay")).toSucceed(201);
  expect(await order(1.005, "gatewayone")).toSucceed(201);
});
