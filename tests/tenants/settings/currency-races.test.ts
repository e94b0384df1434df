/** A change of the currency, or of its decimals, and what begins in it at the same moment. */
import type postgres from "postgres";
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newGround, order, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newShop, placeOrder } from "../../support/orders.ts";
import { overlapping } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { general, settingsOf } from "../../support/settings.ts";

const dollars = { currency_code: "USD" };

/** A core that runs for a person of the office, in a transaction that is still open. */
async function runs(
  session: postgres.ReservedSql,
  { id, ops }: Tenant,
  core: "delivery.delivery_create" | "tenancy.settings_save",
  input: unknown,
) {
  await session`select set_config('app.tenant_id', ${id}, true), set_config('app.user_id', ${ops.id}, true),
    set_config('app.sees_tenant', 'on', true)`;
  await session`select ${session.unsafe(core)}(${sql.json(input as never)})`;
}
const changes = (session: postgres.ReservedSql, tenant: Tenant) =>
  runs(session, tenant, "tenancy.settings_save", {
    patches: [{ module: "general", group: "currency", settings: dollars }],
  });

test("a change waits for a delivery that is being ordered, and is refused", async () => {
  const tenant = await newTenant();
  const ground = await newGround(tenant);
  const refused = await overlapping(
    (session) =>
      runs(session, tenant, "delivery.delivery_create", order(ground, { cod_amount: 40_000 })),
    () => tenant.admin.put(settingsOf(tenant), general("currency", dollars)),
  );
  expect(refused).toFailWith(409, "currency_in_use");
});

test("a delivery waits for a change, and is ordered in what it became", async () => {
  const tenant = await newTenant();
  const ground = await newGround(tenant);
  const made = await overlapping(
    (session) => changes(session, tenant),
    () => tenant.ops.post(path, order(ground, { cod_amount: 40.25 })),
  );
  expect(made).toSucceed(201);
  const [row] = await sql`select currency from delivery.deliveries where tenant_id = ${tenant.id}`;
  expect(row.currency).toBe("USD");
});

test("so does an order of a store", async () => {
  const shop = await newShop();
  await overlapping((session) => changes(session, shop.tenant), () => placeOrder(shop, "cash"));
  const [row] = await sql`select currency from storefront.storefront_orders
    where tenant_id = ${shop.tenant.id}`;
  expect(row.currency).toBe("USD");
});
