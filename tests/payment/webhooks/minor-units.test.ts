/** Gateways count by the minor units of a currency, whatever decimals a company rounds to. */
import { describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import {
  checkAll,
  newCart,
  newShop,
  orderOf,
  placeOrder,
  type Shop,
  standing,
} from "../../support/orders.ts";
import { due, eventFor, numberOf, report as send, takeCards } from "../../support/payments.ts";

/** A shop that takes cards in a currency. */
async function newShopIn(currency: Record<string, unknown>): Promise<Shop> {
  const shop = await newShop({ settings: { "general.currency": currency } });
  await takeCards(shop);
  return shop;
}

test.each([
  ["whole dollars", { currency_code: "USD", decimals: 0 }, 100],
  ["dollars and mills", { currency_code: "USD", decimals: 3 }, 100],
  ["dinars of Kuwait without their last digit", { currency_code: "KWD", decimals: 2 }, 1_000],
  ["dinars of Kuwait", { currency_code: "KWD" }, 1_000],
  ["whole dinars of Iraq", { currency_code: "IQD" }, 1],
  ["dinars of Iraq with fils", { currency_code: "IQD", decimals: 3 }, 1_000],
])("in %s a card pays what the order costs", async (_how, currency, units) => {
  const shop = await newShopIn(currency);
  const placed = await placeOrder(shop, "razorpay");
  const entity = { currency: currency.currency_code };
  await send(eventFor(shop, numberOf(placed), due * units, { entity }));
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  await checkAll(shop.tenant);
});

describe("an order that costs a fraction of what the gateway takes is refused", () => {
  const order = async (shop: Shop, price: number, method: "razorpay" | "gatewayone") => {
    await sql`update storefront.product_variants set price = ${price} where id = ${shop.product.variant}`;
    const body = orderOf(shop, await newCart(shop), method);
    return await shop.tenant.customer.post("/storefront/orders/confirm", body);
  };

  test("in thousandths, of which Razorpay takes tens", async () => {
    const shop = await newShopIn({ currency_code: "KWD" });
    const refused = await order(shop, 1.005, "razorpay");
    expect(refused).toFailWith(400, "invalid_payment_method");
    expect(refused.body.field).toBe("paymentMethodTypeId");
    expect(await order(shop, 1.01, "razorpay")).toSucceed(201);
    expect(await order(shop, 1.005, "gatewayone")).toSucceed(201);
  });

  test("in mills of a currency that has cents", async () => {
    const shop = await newShopIn({ currency_code: "USD", decimals: 3 });
    expect(await order(shop, 1.005, "gatewayone")).toFailWith(400, "invalid_payment_method");
    expect(await order(shop, 1.25, "gatewayone")).toSucceed(201);
  });
});
