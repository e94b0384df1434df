/** Open amounts in a currency prevent a change of the tenant's currency, or of its decimals. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newDelivery, newGround } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newShop, placeOrder } from "../../support/orders.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const toDollars = (tenant: Tenant) =>
  tenant.admin.put(`/tenants/${tenant.id}/settings`, {
    general: { currency: { settings: { currency_code: "USD" } } },
  });

test("while a delivery is under way, since its cash could not be remitted any more", async () => {
  const tenant = await newTenant();
  const { id } = await newDelivery(await newGround(tenant), { cod_amount: 40_000 });
  const refused = await toDollars(tenant);
  expect(refused).toFailWith(409, "currency_in_use");
  expect(refused.body.field).toBe("general.currency.settings.currency_code");
  const cancelled = await tenant.ops.post(`/delivery/deliveries/${id}/cancel`, { reason: "Test" });
  expect(cancelled).toSucceed(200);
  expect(await toDollars(tenant)).toSucceed(200);
});

test("while an order waits to be approved, since its price would be one in dollars", async () => {
  const { tenant, ...shop } = await newShop();
  const { id } = await placeOrder({ tenant, ...shop }, "cash");
  expect(await toDollars(tenant)).toFailWith(409, "currency_in_use");
  const cancelled = await tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" });
  expect(cancelled).toSucceed(200);
  expect(await toDollars(tenant)).toSucceed(200);
});

test("its decimals change while no money has moved in it and none is due", async () => {
  const { tenant, ...shop } = await newShop();
  const decimals = (count: number) =>
    tenant.admin.put(`/tenants/${tenant.id}/settings`, {
      general: { currency: { settings: { decimals: count } } },
    });
  expect(await decimals(3)).toSucceed(200);
  const { id } = await placeOrder({ tenant, ...shop }, "cash");
  const refused = await decimals(0);
  expect(refused).toFailWith(409, "currency_in_use");
  expect(refused.body.field).toBe("general.currency.settings.decimals");
  expect(await decimals(3)).toSucceed(200);
  const cancelled = await tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" });
  expect(cancelled).toSucceed(200);
  expect(await decimals(0)).toSucceed(200);
});

test("a shop names the new one, and takes its settings as they were read", async () => {
  const { tenant } = await newShop();
  expect(await toDollars(tenant)).toSucceed(200);
  const { body } = await tenant.admin.get("/storefront/market");
  expect(body.market.settings.currency).toBe("USD");
  expect(await tenant.admin.put("/storefront/market", { settings: body.market.settings }))
    .toSucceed(200);
});

test("something is sold for a coin that the new one has not", async () => {
  const { tenant } = await newShop();
  const change = (settings: object) =>
    tenant.admin.put(`/tenants/${tenant.id}/settings`, { general: { currency: { settings } } });
  expect(await change({ currency_code: "USD" })).toSucceed(200);
  const prices = (price: number, compare_at_price: number | null = null) =>
    sql`update storefront.product_variants set price = ${price}, compare_at_price = ${compare_at_price} where tenant_id = ${tenant.id}`;
  await prices(9.99);
  const refused = await change({ currency_code: "IQD" });
  expect(refused).toFailWith(409, "currency_in_use");
  expect(refused.body.field).toBe("general.currency.settings.currency_code");
  expect(await change({ decimals: 0 })).toFailWith(409, "currency_in_use");
  await prices(10, 12.5);
  expect(await change({ decimals: 0 })).toFailWith(409, "currency_in_use");
  await prices(10, 12);
  expect(await change({ currency_code: "IQD" })).toSucceed(200);
});
