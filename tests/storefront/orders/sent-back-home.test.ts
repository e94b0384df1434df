/** The return of a store's parcel that ends in the warehouse it left, however it comes there: its goods are expected, and no parcel lies there. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, checkAll, moves, parcelStock } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import {
  approveOrder,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { checkAll as checkOrders, placeOrder, standing } from "../../support/orders.ts";
import { report } from "../../support/outcomes.ts";
import { whereIs, type Yard } from "../../support/packages.ts";
import { saveSettings } from "../../support/people.ts";
import { received, sentBackBy, transferred } from "../../support/send-back.ts";
import { newBin, newWarehouse, unitsOf } from "../../support/warehouses.ts";
import { waybillSteps } from "../../support/waybills.ts";

/** An order of four units whose parcel is picked. */
async function ordered() {
  const shop = await newSplitShop({ first: 10, second: 0, picking: true });
  const { tenant, shelf, service } = shop;
  const there = await newWarehouse(tenant);
  await newBin(tenant, there, { location_type: "RECEIVING", is_default_receiving: true });
  const { id } = await placeOrder(shop, "cash", 4);
  const { deliveries: [{ delivery_id: parcel }] } = await approveOrder(shop, id);
  const [task] = await picksOf(id);
  expect(await pick(shop, task!.id)).toSucceed(200);
  const yard = { tenant, warehouse: shelf.warehouse, service, there } as Yard;
  return { tenant, shelf, yard, id, parcel: parcel as string };
}
type Ordered = Awaited<ReturnType<typeof ordered>>;

/** Its goods are received; of the parcel nothing is left. */
async function expectUnpacked({ tenant, shelf, yard, id, parcel }: Ordered, back: string) {
  expect(await whereIs(back)).toMatchObject({ status: "delivered", at: null });
  expect(await whereIs(parcel)).toMatchObject({ status: "returned", at: null });
  expect(await standing(id)).toMatchObject({ status: "cancelled" });
  expect(await whereabouts(id)).toEqual({ out: 4 });
  expect(await unitsOf(shelf.item)).toEqual({ available: 6 });
  for (const one of [parcel, back]) expect(await parcelStock(one)).toEqual({});
  const [receipt, ...more] = await sql`select id, warehouse_id from warehousing.receiving_orders
    where tenant_id = ${tenant.id} and status = 'pending'`;
  expect(more).toEqual([]);
  expect(receipt.warehouse_id).toBe(shelf.warehouse);
  await received(yard, receipt.id);
  expect(await whereabouts(id)).toEqual({ back: 4 });
  expect(await unitsOf(shelf.item)).toEqual({ available: 10 });
  const answer = await tenant.warehouse.get("/warehousing/stock-reconciliation");
  expect(answer.body).toMatchObject({ reconciled: true, differences: [] });
  await checkAll(tenant);
  await checkOrders(tenant);
}

test("by a waybill from another warehouse", async () => {
  const all = await ordered();
  const { tenant, yard, parcel } = all;
  const [{ barcode }] = await sql`select barcode from delivery.deliveries where id = ${parcel}`;
  await transferred(yard, { id: parcel, barcode });
  const { id } = await sentBackBy(yard, parcel, "operational-return");
  expect(await parcelStock(id)).toEqual({ available: 4 });
  const ends = { ...yard, warehouse: yard.there, there: yard.warehouse };
  const { onTheRoad, step } = waybillSteps(tenant, ends);
  expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
  await expectUnpacked(all, id);
});

test("by the driver to whom it was refused, who reports that it is back there", async () => {
  const all = await ordered();
  const { tenant, yard, parcel } = all;
  await saveSettings(tenant.id, "delivery.attempts", { after_last: "return" });
  await assign(tenant, parcel);
  await moves(tenant.driver, parcel, "pickup", "depart");
  const refused = { result: "refused", reason_code: "refused" };
  const [{ id }] = (await report(tenant.driver, parcel, refused)).body.data.returns;
  const { receiving_order_id } = await moves(tenant.driver, id, [
    "return",
    { warehouse_id: yard.warehouse },
  ]);
  await received(yard, receiving_order_id);
  await expectUnpacked(all, id);
});
