/** Goods that their customer did not take: they are received, and can be sold again. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approved, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop } from "../../support/orders.ts";
import { newBin, newWarehouse, stockIn, unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newSplitShop({ first: 100, second: 0 });
});
const receive = (id: string, body: object = {}) =>
  shop.tenant.ops.put(`/warehousing/receiving-orders/${id}`, { status: "received", ...body });

/** Four units refused at the door; answers the order and its receipt. */
async function refused(back: Record<string, unknown> = {}) {
  const { id } = await placeOrder(shop, "cash", 4);
  const { deliveries: [{ delivery_id, tracking_number }] } = await approved(shop, id);
  await assign(shop.tenant, delivery_id);
  await moves(shop.tenant.driver, delivery_id, "pickup", "depart", "fail");
  const { receiving_order_id } = await moves(shop.tenant.driver, delivery_id, ["return", back]);
  return {
    id,
    delivery: delivery_id as string,
    barcode: tracking_number as string,
    receipt: receiving_order_id as string,
  };
}

test("without a word of where: to the warehouse they came from, as the goods they are", async () => {
  const free = (await unitsOf(shop.shelf.item)).available!;
  const { id, barcode, receipt } = await refused();
  expect((await unitsOf(shop.shelf.item)).available).toBe(free - 4);
  const { order } =
    (await shop.tenant.warehouse.get(`/warehousing/receiving-orders/${receipt}`)).body;
  expect(order).toMatchObject({
    warehouse_id: shop.shelf.warehouse,
    status: "pending",
    item_details: [{ item_id: shop.shelf.item, quantity: 4, received_quantity: null }],
  });
  const scanned = (await shop.tenant.warehouse.get(`/warehousing/package-scan/${barcode}`)).body;
  expect(scanned).toMatchObject({ action: "open_receiving_order", entity_id: receipt });
  expect(await whereabouts(id)).toEqual({ out: 4 });

  expect(await receive(receipt)).toSucceed(200);
  expect((await unitsOf(shop.shelf.item)).available).toBe(free);
  expect(await whereabouts(id)).toEqual({ back: 4 });
  const { order: ended } = (await shop.tenant.admin.get(`/storefront/orders/${id}`)).body.data;
  expect(ended).toMatchObject({ status: "cancelled", fulfilment: "returned" });
  const [{ receipts }] =
    await sql`select count(*)::int as receipts from warehousing.receiving_orders r
    join storefront.storefront_order_parts p on p.receiving_order_id = r.id where p.order_id = ${id}`;
  expect(receipts).toBe(1);
  const [{ parcels }] = await sql`select count(*)::int as parcels from warehousing.inventory_items
    where tenant_id = ${shop.tenant.id} and parcel_delivery_id is not null`;
  expect(parcels).toBe(0);
  await checkAll(shop.tenant);
});

test("to the warehouse that is named, damaged and missing as the receipt says", async () => {
  const there = await newWarehouse(shop.tenant);
  const bin = await newBin(shop.tenant, there);
  const { id, receipt } = await refused({ warehouse_id: there });
  const line = { item_id: shop.shelf.item, bin_id: bin };
  const wrong = await receive(receipt, {
    item_details: [{ ...line, received_quantity: 2, damaged_quantity: 3 }],
  });
  expect(wrong).toFailWith(400, "damaged_too_much");
  expect(wrong.body.field).toBe("item_details.0.damaged_quantity");
  const answer = await receive(receipt, {
    item_details: [{ ...line, received_quantity: 3, damaged_quantity: 1 }],
  });
  expect(answer).toSucceed(200);
  expect(answer.body.order.item_details).toMatchObject([
    { received_quantity: 3, damaged_quantity: 1, condition: "damaged" },
  ]);
  expect(await unitsOf(shop.shelf.item, bin)).toEqual({ available: 2, damaged: 1 });
  expect(await whereabouts(id)).toEqual({ back: 3, lost: 1 });
  await checkAll(shop.tenant);
});

test("all of a line is damaged where no number says otherwise", async () => {
  const { receipt } = await refused();
  const answer = await receive(receipt, { item_details: [{ condition: "damaged" }] });
  expect(answer.body.order.item_details).toMatchObject([
    { received_quantity: 4, damaged_quantity: 4, condition: "damaged" },
  ]);
  expect((await unitsOf(shop.shelf.item)).damaged).toBeGreaterThanOrEqual(4);
});

test("sent by the shop's own means: expected when the shop says that they came back", async () => {
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approved(shop, id);
  await moves(shop.tenant.ops, delivery_id, ["cancel", { reason: "Own van" }]);
  const { admin } = shop.tenant;
  expect(await admin.put(`/storefront/orders/${id}/ship`)).toSucceed(200);
  const free = (await unitsOf(shop.shelf.item)).available!;
  expect(await admin.put(`/storefront/orders/${id}/return`, { reason: "other" })).toSucceed(200);
  const { order } = (await admin.get(`/storefront/orders/${id}`)).body.data;
  expect(order).toMatchObject({ status: "cancelled", fulfilment: "returned" });
  const [{ receiving_order_id }] = await sql`select receiving_order_id
    from storefront.storefront_order_parts where order_id = ${id}`;
  expect(await whereabouts(id)).toEqual({ out: 2 });
  expect(await receive(receiving_order_id)).toSucceed(200);
  expect((await unitsOf(shop.shelf.item)).available).toBe(free + 2);
  expect(await whereabouts(id)).toEqual({ back: 2 });
  await checkAll(shop.tenant);
});

test("the very pieces that left come back", async () => {
  const pieces = await newSplitShop({ first: 0, second: 0 });
  const { shelf, tenant } = pieces;
  await sql`update warehousing.inventory_items set is_serialized = true where id = ${shelf.item}`;
  const line = { item_id: shelf.item, warehouse_id: shelf.warehouse, bin_id: shelf.bin };
  for (const serial_number of ["S-1", "S-2", "S-3"]) {
    await stockIn(tenant, { ...line, quantity: 1, serial_number, lot_number: "L-1" });
  }
  const { id } = await placeOrder(pieces, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approved(pieces, id);
  await assign(tenant, delivery_id);
  await moves(tenant.driver, delivery_id, "pickup");
  const { receiving_order_id } = await moves(tenant.driver, delivery_id, "return");
  const answer = await tenant.ops.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
    status: "received",
    item_details: [{ damaged_quantity: 1 }],
  });
  expect(answer).toSucceed(200);
  const rows = await sql`select serial_number, lot_number, status from warehousing.stock
    where item_id = ${shelf.item} and quantity > 0 order by serial_number`;
  expect(rows.map(({ serial_number, lot_number }) => `${serial_number} ${lot_number}`))
    .toEqual(["S-1 L-1", "S-2 L-1", "S-3 L-1"]);
  expect(rows.filter(({ status }) => status === "damaged")).toHaveLength(1);
  await checkAll(tenant);
});
