/** The shop hears of an order that it can work on: once, when it is placed, or when a gateway has taken its price. */
import { expect, test } from "vitest";
import { type Placed, placeOrder, type Shop } from "../../support/orders.ts";
import { expireUnpaid, newCardShop, paidByCard } from "../../support/payments.ts";

const noticesOf = async ({ tenant }: Shop, by = tenant.admin) =>
  (await by.get("/tenants/me/notifications", {
    query: { type: "order_placed", language: "en" },
  })).body.data;
const numbersOf = (...orders: Placed[]) =>
  orders.map(({ answer }) => answer.body.order.order_number);

test("placed for cash or from a wallet, at once; by card, when it is paid; never if it expires unpaid", async () => {
  const shop = await newCardShop();
  const cash = await placeOrder(shop, "cash");
  const wallet = await placeOrder(shop, "wallet");
  const unpaid = await placeOrder(shop, "gatewayone");
  const paid = await paidByCard(shop);
  await expireUnpaid(unpaid);
  const notices = await noticesOf(shop);
  expect(notices.map(({ payload }: { payload: { order_number: string } }) => payload.order_number))
    .toEqual(numbersOf(paid, wallet, cash));
  expect(notices[2]).toMatchObject({
    message: `Order ${cash.answer.body.order.order_number} was placed: 6000 IQD.`,
    payload: { order_id: cash.id, total_price: 6_000, payment_method: "cash_on_delivery" },
  });
  expect(await noticesOf(shop, shop.tenant.customer)).toEqual([]);
});
