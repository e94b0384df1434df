/** Payments at a gateway count while their company is shut, as when its subscription has ended. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import {
  backRef,
  checkAll,
  methods,
  placeOrder,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { atGateway, due, eventFor, newCardShop, numberOf, report } from "../../support/payments.ts";

test("orders and top-ups are paid, and the company continues from there", async () => {
  const shop = await newCardShop();
  const { tenant } = shop;
  const asked = await placeOrder(shop, "gatewayone");
  const signed = await placeOrder(shop, "razorpay");
  const wallet = await fundWallet(tenant, "customer", tenant.customer.id, 0);
  const topUp = await tenant.customer.post(`/delivery/wallets/${wallet}/top-ups`, {
    amount: 25_000,
    paymentMethodTypeId: methods.gatewayone,
    backRef,
  });
  expect(topUp).toSucceed(201);

  await sql`update tenancy.tenants set status = 'suspended' where id = ${tenant.id}`;
  const status = () => tenant.customer.get(`/storefront/orders/${asked.id}/payment-status`);
  expect(await status()).toFailWith(403, "tenant_inactive");
  await atGateway(asked.instructions.redirect_url, "pay");
  await atGateway(topUp.body.instructions.redirect_url, "pay");
  expect((await report(eventFor(shop, numberOf(signed), due))).status).toBe(200);
  for (const { id } of [asked, signed]) {
    expect(await standing(id)).toMatchObject({ payment_status: "paid", paid: 1 });
  }
  expect(await walletOf(tenant, tenant.customer.id)).toBe(25_000);
  expect(await walletOf(tenant, null)).toBe(2 * due);

  await sql`update tenancy.tenants set status = 'active' where id = ${tenant.id}`;
  expect(await status()).toSucceed(200);
  for (const { id } of [asked, signed]) {
    expect(await tenant.admin.put(`/storefront/orders/${id}/approve`)).toSucceed(200);
  }
  await checkAll(tenant);
});
