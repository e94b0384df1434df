/** A store's parcel on its way back names no warehouse, and comes back to that which its goods left: that takes it along to another address, and stays. */
import { expect, test } from "vitest";
import { receive } from "../../support/back-from-customer.ts";
import { sql } from "../../support/db.ts";
import { assign, checkAll, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newAddress } from "../../support/make.ts";
import { changesNotified, goodsExpected, refusedFirst } from "../../support/order-fees.ts";
import {
  approveOrder,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { placeOrder, standing } from "../../support/orders.ts";
import { photoOf, refused, report, undo } from "../../support/outcomes.ts";
import type { Yard } from "../../support/packages.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { sentBackBy, transferred } from "../../support/send-back.ts";
import { newBin, newWarehouse, unitsOf } from "../../support/warehouses.ts";

const remove = (tenant: Tenant, id: string) => tenant.ops.delete(`/warehousing/warehouses/${id}`);

const returnOf = async (id: string) =>
  (await sql`select id, dropoff_address_id as to, dropoff_snapshot ->> 'id' as brought, dropoff_warehouse_id,
    pickup_warehouse_id, current_warehouse_id from delivery.deliveries
    where original_delivery_id = ${id} and status not in ('delivered', 'cancelled')`)[0];

/** Its driver brings a return to its end. */
async function brought({ driver }: Tenant, id: string): Promise<void> {
  await moves(driver, id, "depart", ["complete", { proof: await photoOf(driver, id) }]);
}

/** Moves a warehouse to a new address, and answers it. */
async function moved(tenant: Tenant, warehouse: string): Promise<string> {
  const address_id = await newAddress(tenant, { city: "Erbil" });
  const answer = await tenant.ops.put(`/warehousing/warehouses/${warehouse}`, { address_id });
  expect(answer).toSucceed(200);
  return address_id;
}

test("refused at the door it goes to where the warehouse stands now, and its driver learns of it", async () => {
  const { shop, tenant, id, first } = await refusedFirst();
  const before = await returnOf(first);
  expect(before).toMatchObject({
    dropoff_warehouse_id: null,
    pickup_warehouse_id: null,
    current_warehouse_id: null,
  });
  await moved(tenant, shop.second.warehouse);
  expect((await returnOf(first)).to).toBe(before.to);
  const notified = await changesNotified(tenant);
  const now = await moved(tenant, shop.shelf.warehouse);
  expect(await returnOf(first)).toMatchObject({ to: now, brought: now });
  expect(await changesNotified(tenant)).toEqual([before.id, ...notified]);
  await brought(tenant, before.id);
  const [receipt] = await goodsExpected(tenant);
  expect(await receive({ tenant }, receipt)).toSucceed(200);
  expect(await unitsOf(shop.shelf.item, shop.shelf.bin)).toEqual({ available: 2 });
  expect(await whereabouts(id)).toMatchObject({ back: 2 });
  await checkAll(tenant);
});

test("so does what is sent back from another warehouse", async () => {
  const shop = await newSplitShop({ first: 2, second: 0 });
  const { tenant, shelf, second: { warehouse: there } } = shop;
  const yard = { tenant, warehouse: shelf.warehouse, there } as Yard;
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  for (const task of await picksOf(id)) expect(await pick(shop, task.id)).toSucceed(200);
  const [{ barcode }] =
    await sql`select barcode from delivery.deliveries where id = ${delivery_id}`;
  await transferred(yard, { id: delivery_id, barcode });
  await sentBackBy(yard, delivery_id, "operational-return");
  const now = await moved(tenant, shelf.warehouse);
  expect(await returnOf(delivery_id)).toMatchObject({ to: now, brought: now });
});

test("the warehouse is not deleted until the goods are received", async () => {
  const { shop, tenant, id, first } = await refusedFirst();
  const { warehouse } = shop.shelf;
  expect(await remove(tenant, warehouse)).toFailWith(409, "warehouse_in_use");
  await brought(tenant, (await returnOf(first)).id);
  expect(await remove(tenant, warehouse)).toFailWith(409, "warehouse_in_use");
  const [receipt] = await goodsExpected(tenant);
  const item_details = [{ received_quantity: 0 }];
  expect(await receive({ tenant }, receipt, { item_details })).toSucceed(200);
  expect(await remove(tenant, warehouse)).toSucceed(200);
  expect(await whereabouts(id)).toMatchObject({ lost: 2 });
  await checkAll(tenant);
});

test("of one that was deleted meanwhile the goods are expected in the default warehouse", async () => {
  const shop = await newSplitShop({
    first: 1,
    second: 0,
    settings: { "delivery.attempts": { after_last: "return" } },
  });
  const { tenant, shelf } = shop;
  const { id } = await placeOrder(shop, "cash", 1);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await assign(tenant, delivery_id);
  await moves(tenant.driver, delivery_id, "pickup", "depart", "complete");
  const other = await newWarehouse(tenant);
  const bin = await newBin(tenant, other, {
    location_type: "RECEIVING",
    is_default_receiving: true,
  });
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: other });
  expect(await remove(tenant, shelf.warehouse)).toSucceed(200);
  expect(await undo(tenant.ops, delivery_id)).toSucceed(200);
  expect(await report(tenant.driver, delivery_id, refused)).toSucceed(200);
  expect(await standing(id)).toMatchObject({ status: "cancelled" });
  const [receipt] = await goodsExpected(tenant);
  expect(await receive({ tenant }, receipt)).toSucceed(200);
  expect(await unitsOf(shelf.item, bin)).toEqual({ available: 1 });
  expect(await whereabouts(id)).toEqual({ back: 1 });
  await checkAll(tenant);
});
