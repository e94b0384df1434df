/** Asking for money into a wallet is refused before any gateway hears of it. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { fundWallet } from "../../support/money.ts";
import { backRef, methods, newShop, type Shop } from "../../support/orders.ts";

let shop: Shop;
let other: Shop;
let wallet: string;
beforeAll(async () => {
  // Neither has set up a gateway.
  [shop, other] = await Promise.all([newShop(), newShop()]);
  wallet = await fundWallet(shop.tenant, "customer", shop.tenant.customer.id, 0);
});

const topUp = (body: object = {}, person: Person = shop.tenant.customer, id = wallet) =>
  person.post(`/delivery/wallets/${id}/top-ups`, {
    amount: 25_000,
    paymentMethodTypeId: methods.gatewayone,
    backRef,
    ...body,
  });

test("by a method that is none, and by a gateway nobody set up", async () => {
  const unknown = await topUp({ paymentMethodTypeId: randomUUID() });
  expect(unknown).toFailWith(404, "payment_method_not_found");
  expect(unknown.body.field).toBe("paymentMethodTypeId");
  const unused = await topUp();
  expect(unused).toFailWith(409, "gateway_not_configured");
  expect(unused.body.field).toBe("paymentMethodTypeId");
  expect(await topUp({ paymentMethodTypeId: "card" })).toFailWith(400, "invalid_uuid");
});

test("of a wallet that is none, or another tenant's, and by nobody", async () => {
  for (const id of [randomUUID(), wallet]) {
    expect(await topUp({}, other.tenant.customer, id)).toFailWith(404, "wallet_not_found");
  }
  expect(await topUp({}, shop.tenant.customer, "mine")).toFailWith(400, "invalid_uuid");
  expect(await topUp({}, nobody)).toFailWith(401, "unauthorized");
});

test("leaves no payment", async () => {
  expect(
    await sql`select from money.payments where type = 'WALLET_TOPUP'
    and tenant_id = any (${[shop.tenant.id, other.tenant.id]})`,
  ).toHaveLength(0);
});
