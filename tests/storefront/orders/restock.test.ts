/** Goods that the customer did not accept: a warehouse receives them, and they can be sold again. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop } from "../../support/orders.ts";
import { photoOf } from "../../support/outcomes.ts";
import { saveSettings } from "../../support/people.ts";
import { newBin, newWarehouse, stockIn, unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newSplitShop({ first: 100, second: 0 });
});
const receive = (id: string, body: object = {}) =>
  shop.tenant.ops.put(`/warehousing/receiving-orders/${id}`, { status: "received", ...body });

/** Orders four units that are refused at the door and returned with `returnBody`. */
async function refusedAtDoor(returnBody: Record<string, unknown> = {}, at = shop) {
  const { id } = await placeOrder(at, "cash", 4);
  const { deliveries: [{ delivery_id, tracking_number }] } = await approveOrder(at, id);
  await assign(at.tenant, delivery_id);
  await moves(at.tenant.driver, delivery_id, "pickup", "depart", "fail");
  const { receiving_order_id } = await moves(at.tenant.driver, delivery_id, [
    "return",
    returnBody,
  ]);
  return {
    id,
    delivery: delivery_id as string,
    barcode: tracking_number as string,
    receipt: receiving_order_id as string,
  };
}

test("returns to the origin warehouse by default, as regular stock", async () => {
  const availableBefore = (await unitsOf(shop.shelf.item)).available!;
  const { id, barcode, receipt } = await refusedAtDoor();
  expect((await unitsOf(shop.shelf.item)).available).toBe(availableBefore - 4);
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
  expect((await unitsOf(shop.shelf.item)).available).toBe(availableBefore);
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

test("returns to the warehouse that is named, with the damaged and missing units of the receipt", async () => {
  const there = await newWarehouse(shop.tenant);
  const bin = await newBin(shop.tenant, there);
  const { id, receipt } = await refusedAtDoor({ warehouse_id: there });
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

test("a condition of damaged without a quantity means the whole line", async () => {
  const own = await newSplitShop({ first: 4, second: 0 });
  const { receipt } = await refusedAtDoor({}, own);
  const answer = await own.tenant.ops.put(`/warehousing/receiving-orders/${receipt}`, {
    status: "received",
    item_details: [{ condition: "damaged" }],
  });
  expect(answer).toSucceed(200);
  expect(answer.body.order.item_details).toMatchObject([
    { received_quantity: 4, damaged_quantity: 4, condition: "damaged" },
  ]);
  expect(await unitsOf(own.shelf.item)).toEqual({ damaged: 4 });
});

test("goods that the shop delivered itself are expected when the shop reports their return", async () => {
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await moves(shop.tenant.ops, delivery_id, ["cancel", { reason: "Own van" }]);
  const { admin } = shop.tenant;
  expect(await admin.put(`/storefront/orders/${id}/ship`)).toSucceed(200);
  const availableBefore = (await unitsOf(shop.shelf.item)).available!;
  expect(await admin.put(`/storefront/orders/${id}/return`, { reason: "other" })).toSucceed(200);
  const { order } = (await admin.get(`/storefront/orders/${id}`)).body.data;
  expect(order).toMatchObject({ status: "cancelled", fulfilment: "returned" });
  const [{ receiving_order_id }] = await sql`select receiving_order_id
    from storefront.storefront_order_parts where order_id = ${id}`;
  expect(await whereabouts(id)).toEqual({ out: 2 });
  const withdrawn = await receive(receiving_order_id, { status: "cancelled" });
  expect(withdrawn).toFailWith(409, "invalid_status_transition");
  expect(withdrawn.body.message).toContain("received quantity of 0");
  expect(await receive(receiving_order_id)).toSucceed(200);
  expect((await unitsOf(shop.shelf.item)).available).toBe(availableBefore + 2);
  expect(await whereabouts(id)).toEqual({ back: 2 });
  await checkAll(shop.tenant);
});

test("restocks the same serial numbers and lots", async () => {
  const serialShop = await newSplitShop({ first: 0, second: 0 });
  const { shelf, tenant } = serialShop;
  await sql`update warehousing.inventory_items set is_serialized = true where id = ${shelf.item}`;
  const line = { item_id: shelf.item, warehouse_id: shelf.warehouse, bin_id: shelf.bin };
  for (const serial_number of ["S-1", "S-2", "S-3"]) {
    await stockIn(tenant, { ...line, quantity: 1, serial_number, lot_number: "L-1" });
  }
  const { id } = await placeOrder(serialShop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(serialShop, id);
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

test("what goes back from the door at once is expected once, and is stock when it is received", async () => {
  const own = await newSplitShop({ first: 4, second: 0 });
  await saveSettings(own.tenant.id, "delivery.attempts", { after_last: "return" });
  const { id } = await placeOrder(own, "cash", 4);
  const { deliveries: [{ delivery_id }] } = await approveOrder(own, id);
  await assign(own.tenant, delivery_id);
  await moves(own.tenant.driver, delivery_id, "pickup", "depart");
  const answer = await move(own.tenant.driver, delivery_id, "outcome", {
    result: "refused",
    reason_code: "refused",
  });
  expect(answer).toSucceed(200);
  const [back] = answer.body.data.returns;
  expect(back).toMatchObject({ delivery_flow: "operational_return", status: "picked_up" });
  expect(await whereabouts(id)).toEqual({ out: 4 });
  const proof = await photoOf(own.tenant.driver, back.id);
  await moves(own.tenant.driver, back.id, ["complete", { proof }]);
  const receipts = await sql`select id from warehousing.receiving_orders
    where tenant_id = ${own.tenant.id} and status = 'pending'`;
  expect(receipts).toHaveLength(1);
  expect(
    await own.tenant.ops.put(`/warehousing/receiving-orders/${receipts[0].id}`, {
      status: "received",
    }),
  ).toSucceed(200);
  expect(await whereabouts(id)).toEqual({ back: 4 });
  expect(await unitsOf(own.shelf.item)).toEqual({ available: 4 });
  await checkAll(own.tenant);
});
