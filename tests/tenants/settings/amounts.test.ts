/** Amounts of money among the settings, and the currency that they are in. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { newService } from "../../support/money.ts";
import { newShop } from "../../support/orders.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { general, settingsOf, storedSettings } from "../../support/settings.ts";

const save = (tenant: Tenant, settings: Record<string, unknown>) =>
  tenant.admin.put(settingsOf(tenant), settings);
const currency = (tenant: Tenant, settings: Record<string, unknown>) =>
  save(tenant, general("currency", settings));
const amounts: [string, string, (amount: number) => object][] = [
  ["cash_ceiling", "delivery.cod.settings", (cash_ceiling) => ({ cod: { cash_ceiling } })],
  ["minimum", "delivery.payouts.settings", (minimum) => ({ payouts: { minimum } })],
  ["keep", "delivery.payouts.settings", (keep) => ({ payouts: { keep } })],
];
const ofDelivery = (groups: object) => ({
  delivery: Object.fromEntries(Object.entries(groups).map(([k, settings]) => [k, { settings }])),
});

test.each(amounts)("%s has no more decimals than the currency", async (name, path, body) => {
  const tenant = await newTenant();
  const refused = await save(tenant, ofDelivery(body(1.5)));
  expect(refused).toFailWith(400, "too_many_decimals");
  expect(refused.body).toMatchObject({ field: `${path}.${name}`, decimals: 0 });
  expect(await currency(tenant, { currency_code: "USD" })).toSucceed(200);
  expect(await save(tenant, ofDelivery(body(1.5)))).toSucceed(200);
  expect(await save(tenant, ofDelivery(body(1.505)))).toFailWith(400, "too_many_decimals");
});

test("nor has the pay for a delivery", async () => {
  const tenant = await newTenant();
  const refused = await save(tenant, general("driver", { per_delivery: { base_amount: 0.25 } }));
  expect(refused).toFailWith(400, "too_many_decimals");
  expect(refused.body.field).toBe("general.driver.settings.per_delivery.base_amount");
});

test("one of before is in the way of nobody who changes something else", async () => {
  const tenant = await newTenant();
  await sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    values (${tenant.id}, 'delivery', 'payouts', '{"minimum": 0.5}')`;
  expect(await save(tenant, ofDelivery({ payouts: { minimum: 0.5, cycle: "daily" } })))
    .toSucceed(200);
  expect(await save(tenant, ofDelivery({ payouts: { minimum: 0.25 } })))
    .toFailWith(400, "too_many_decimals");
});

test("a currency with fewer decimals waits until the settings fit it", async () => {
  const tenant = await newTenant();
  expect(await currency(tenant, { currency_code: "USD" })).toSucceed(200);
  expect(await save(tenant, ofDelivery({ payouts: { keep: 12.5 } }))).toSucceed(200);
  const refused = await currency(tenant, { decimals: 0 });
  expect(refused).toFailWith(400, "too_many_decimals");
  expect(refused.body.field).toBe("delivery.payouts.settings.keep");
  expect(await storedSettings(tenant, "general", "currency")).toEqual({ currency_code: "USD" });
  const both = {
    ...general("currency", { decimals: 0 }),
    ...ofDelivery({ payouts: { keep: 12 } }),
  };
  expect(await save(tenant, both)).toSucceed(200);
});

test("another currency names the amounts that keep their numbers", async () => {
  const { tenant } = await newShop();
  await newService(tenant, { default_price: 5_000 });
  expect(await save(tenant, ofDelivery({ cod: { cash_ceiling: 500_000 }, payouts: { keep: 0 } })))
    .toSucceed(200);
  const named = await currency(tenant, { currency_symbol: "IQD" });
  expect(named.body.general.currency).not.toHaveProperty("kept_amounts");
  const changed = await currency(tenant, { currency_code: "USD" });
  const kept: { field: string; count: number }[] = changed.body.general.currency.kept_amounts;
  expect(kept).toContainEqual({ field: "delivery.cod.settings.cash_ceiling", count: 1 });
  expect(kept.map(({ field }) => field)).toEqual(expect.arrayContaining([
    "delivery_services.default_price",
    "products.variants.price",
  ]));
  expect(kept.map(({ field }) => field)).not.toContain("delivery.payouts.settings.keep");
  const read = await tenant.admin.get(settingsOf(tenant));
  expect(read.body.general.currency).not.toHaveProperty("kept_amounts");
});
