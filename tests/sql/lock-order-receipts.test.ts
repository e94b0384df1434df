/** Calls that may make receipts take their numbers before wallets, in the order that CONTRIBUTING.md gives. */
import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { enable, external, report } from "../support/carriers.ts";
import { sql } from "../support/db.ts";
import { assign, moves } from "../support/deliveries.ts";
import "../support/expect.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../support/order-goods.ts";
import { placeOrder } from "../support/orders.ts";
import { locksBefore } from "../support/overlapping.ts";
import type { Yard } from "../support/packages.ts";
import type { Tenant } from "../support/people.ts";
import { sentBackBy, transferred } from "../support/send-back.ts";
import { inTenant, newBin, newWarehouse } from "../support/warehouses.ts";

/** Another transaction has the numbers of the company's receipts. */
const numbersOf = (tenant: Tenant) => (tx: TransactionSql) =>
  tx`insert into app.counters (tenant_id, counter, value) values (${tenant.id}, 'receiving_order', 1)
    on conflict (tenant_id, counter) do update set value = app.counters.value + 1`;

const noNumbersOf = (tenant: Tenant) => (tx: TransactionSql) =>
  tx`select from app.counters where tenant_id = ${tenant.id} and counter = 'receiving_order' for no key update nowait`;

const orderOf = (id: string) => (tx: TransactionSql) =>
  tx`select from storefront.storefront_orders where id = ${id} for no key update`;

const walletsOf = (tenant: Tenant) => (tx: TransactionSql) =>
  tx`select from money.accounts where tenant_id = ${tenant.id} and kind = 'wallet' order by id for no key update nowait`;

/** An order of which one parcel was sent back from another warehouse, and the other is on its way to the door. */
async function halfSentBack() {
  const shop = await newSplitShop({ first: 3, second: 1 });
  const { tenant } = shop;
  const third = await newWarehouse(tenant);
  await newBin(tenant, third, { location_type: "RECEIVING", is_default_receiving: true });
  await inTenant(tenant, "select money.account_of('wallet', 'tenant', null, 'IQD')");
  const yard = { tenant, warehouse: shop.shelf.warehouse, there: third } as Yard;
  const { id } = await placeOrder(shop, "cash", 4);
  const { deliveries: [{ delivery_id: first }, { delivery_id: second }] } = await approveOrder(
    shop,
    id,
  );
  for (const task of await picksOf(id)) expect(await pick(shop, task.id)).toSucceed(200);
  const [parcel] = await sql`select id, barcode from delivery.deliveries where id = ${first}`;
  await transferred(yard, { id: parcel.id, barcode: parcel.barcode });
  await sentBackBy(yard, first, "cancel");
  await assign(tenant, second);
  await moves(tenant.driver, second, "pickup", "depart");
  const complete = () => tenant.driver.post(`/delivery/deliveries/${second}/complete`, {});
  return { tenant, id, complete };
}

test("the last parcel of an order is delivered, and another one that was sent back is expected", async () => {
  const { tenant, complete } = await halfSentBack();
  expect(await locksBefore(numbersOf(tenant), complete, walletsOf(tenant))).toSucceed(200);
  const [{ receipts }] = await sql`select count(*)::int as receipts
    from warehousing.receiving_orders
    where tenant_id = ${tenant.id} and status = 'pending' and delivery_id is null`;
  expect(receipts).toBe(1);
});

test("its order is locked before them", async () => {
  const { tenant, id, complete } = await halfSentBack();
  await sql`insert into app.counters (tenant_id, counter) values (${tenant.id}, 'receiving_order') on conflict do nothing`;
  expect(await locksBefore(orderOf(id), complete, noNumbersOf(tenant))).toSucceed(200);
});

test.each([
  ["after its order", "order"],
  ["before wallets", "numbers"],
])("a carrier brings back the parcel of a paid order: %s", async (_, first) => {
  const shop = await newSplitShop({ first: 20, second: 0, picking: true });
  const { tenant } = shop;
  const { secret } = await enable(tenant);
  const { id } = await placeOrder(shop, "wallet", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  expect(await pick(shop, (await picksOf(id))[0]!.id)).toSucceed(200);
  expect(await tenant.ops.patch(`/delivery/deliveries/${delivery_id}/carrier`, external))
    .toSucceed(200);
  const booked = await tenant.ops.post(`/carriers/shipments/${delivery_id}`, {
    carrier_code: "simulated",
  });
  expect(booked).toSucceed(200);
  const { tracking_number } = booked.body.shipment;
  const { body } = await locksBefore(
    first === "order" ? orderOf(id) : numbersOf(tenant),
    () => report(tenant, secret, { tracking_number, status: "returned" }),
    walletsOf(tenant),
  );
  expect(body).toMatchObject({ outcome: "applied" });
});
