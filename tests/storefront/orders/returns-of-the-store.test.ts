/** Returns of a store's goods: those that the office or a driver makes are the store's, those that a customer orders are the customer's. */
import { expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { receiptOf, received as receivedOrder } from "../../support/back-from-customer.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, path, statusOf } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop } from "../../support/order-goods.ts";
import { placeOrder, type Shop } from "../../support/orders.ts";
import { report } from "../../support/outcomes.ts";
import type { Yard } from "../../support/packages.ts";
import { received, sentBackBy, transferred } from "../../support/send-back.ts";
import { newBin, newWarehouse } from "../../support/warehouses.ts";

const cancel = (by: Person, id: string) => by.post(`${path}/${id}/cancel`, { reason: "No" });
const correct = (by: Person, id: string, body: object = { notes: "To me" }) =>
  by.patch(`${path}/${id}`, body);

async function ordered() {
  const shop: Shop = await newSplitShop({ first: 10, second: 0 });
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  return { ...shop, parcel: delivery_id as string };
}

test("its customer neither cancels nor corrects the return that the office ordered; the office does", async () => {
  const { tenant, shelf, parcel, service } = await ordered();
  const there = await newWarehouse(tenant);
  await newBin(tenant, there, { location_type: "RECEIVING", is_default_receiving: true });
  const yard = { tenant, warehouse: shelf.warehouse, service, there } as Yard;
  const [{ barcode }] = await sql`select barcode from delivery.deliveries where id = ${parcel}`;
  await transferred(yard, { id: parcel, barcode });
  const { id } = await sentBackBy(yard, parcel, "operational-return");
  expect(await cancel(tenant.customer, id)).toFailWith(403, "forbidden");
  expect(await correct(tenant.customer, id)).toFailWith(403, "forbidden");
  expect(await statusOf(id)).toBe("pending");
  expect(await correct(tenant.ops, id)).toSucceed(200);
  expect(await cancel(tenant.ops, id)).toSucceed(200);
});

test("its customer does not correct what they gave in exchange, nor cancels what the office sends on of it", async () => {
  const { tenant, parcel } = await ordered();
  await assign(tenant, parcel);
  await moves(tenant.driver, parcel, "pickup", "depart");
  const exchanged = await report(tenant.driver, parcel, {
    result: "exchanged",
    taken_back: [{ name: "Old phone", quantity: 1 }],
  });
  expect(exchanged).toSucceed(200);
  const { data: { returns: [back] } } = exchanged.body;
  expect(await correct(tenant.customer, back.id)).toFailWith(403, "forbidden");
  expect(await cancel(tenant.customer, back.id)).toFailWith(403, "forbidden");
  const there = await newWarehouse(tenant);
  await newBin(tenant, there, { location_type: "RECEIVING", is_default_receiving: true });
  await moves(tenant.driver, back.id, "depart", "complete");
  await received({ tenant } as Yard, (await receiptOf(back.id)).id);
  const sentOn = await tenant.ops.post(`${path}/${back.id}/operational-return`, {
    reason: "unwanted",
    dropoff_warehouse_id: there,
  });
  expect(sentOn).toSucceed(201);
  const { id } = sentOn.body.delivery;
  expect(await correct(tenant.customer, id)).toFailWith(403, "forbidden");
  expect(await cancel(tenant.customer, id)).toFailWith(403, "forbidden");
  expect(await statusOf(id)).toBe("pending");
});

test("a customer corrects and cancels the return that they ordered", async () => {
  const { tenant, order } = await receivedOrder(2);
  const made = await order();
  expect(made).toSucceed(201);
  expect(await correct(tenant.customer, made.body.id)).toSucceed(200);
  expect(await cancel(tenant.customer, made.body.id)).toSucceed(200);
  expect(await statusOf(made.body.id)).toBe("cancelled");
});
