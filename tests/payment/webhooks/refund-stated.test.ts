/** A top-up that a gateway gives back by itself while it stands in a statement: it is not paid out before somebody has decided. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { opened, pay } from "../../support/merchant-statements.ts";
import { fundWallet } from "../../support/money.ts";
import { backRef, checkAll, methods, type Placed, walletOf } from "../../support/orders.ts";
import { eventFor, newCardShop, paidByCard, refundOf, report } from "../../support/payments.ts";

test("its statement is paid once the report is settled", async () => {
  const shop = await newCardShop();
  const { customer, admin, ops } = shop.tenant;
  await paidByCard(shop, 10);
  const wallet = await fundWallet(shop.tenant, "customer", customer.id, 3_000);
  const asked = await customer.post(`/delivery/wallets/${wallet}/top-ups`, {
    ...{ amount: 5_000, paymentMethodTypeId: methods.razorpay, backRef },
  });
  const number = asked.body.instructions.gateway_order_id;
  await report(eventFor(shop, number, 5_000));
  const { id, net } = await opened(shop.tenant);
  expect(net).toBe(8_000);
  await report(refundOf(shop, { instructions: { gateway_order_id: number } } as Placed, 5_000));

  const refused = await pay(ops, id);
  expect(refused).toFailWith(409, "wallet_refund_open");
  expect(refused.body).toMatchObject({ amount: 5_000, currency: "IQD" });
  expect(await walletOf(shop.tenant, customer.id)).toBe(8_000);
  const [{ status }] = await sql`select status from money.merchant_statements where id = ${id}`;
  expect(status).toBe("open");

  const [event] = (await admin.get("/payment/webhook-events", {
    query: { open: true, search: `pay_${number}` },
  })).body.data;
  expect(
    await admin.post(`/payment/webhook-events/${event.id}/resolve`, {
      resolution: "refunded_at_gateway",
      action: "refund",
    }),
  ).toSucceed(200);
  // The stated money is the customer's by the company's own word: the loss is its own.
  expect(await pay(ops, id)).toSucceed(200);
  expect(await walletOf(shop.tenant, customer.id)).toBe(0);
  await checkAll(shop.tenant);
});
