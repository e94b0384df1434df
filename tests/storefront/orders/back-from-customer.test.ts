/** Goods that a customer had received and sends back are expected where they were sold, and are stock again once they are received. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, checkAll, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newAddress } from "../../support/make.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { newService } from "../../support/money.ts";
import { payFor, perDelivery, setRule } from "../../support/driver-pay.ts";
import { receiptOf, receive, received } from "../../support/back-from-customer.ts";
import { approveOrder, bring, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { placeOrder, standing } from "../../support/orders.ts";
import { newBin, newWarehouse, stockIn, unitsOf } from "../../support/warehouses.ts";

test("goods that a customer sends back are expected and received part by part, each unit once", async () => {
  const all = await received(4);
  const { shop, tenant, id } = all;
  const back = await all.sentBack(1);
  const receipt = await receiptOf(back);
  expect(receipt).toMatchObject({ warehouse_id: shop.shelf.warehouse, status: "pending" });
  const { order } = (await tenant.ops.get(`/warehousing/receiving-orders/${receipt.id}`)).body;
  expect(order.item_details).toMatchObject([{ item_id: shop.shelf.item, quantity: 1 }]);
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: 6 });
  expect(await whereabouts(id)).toEqual({ delivered: 3, out: 1 });
  const [{ barcode }] = await sql`select barcode from delivery.deliveries where id = ${back}`;
  const scanned = await tenant.ops.get(`/warehousing/package-scan/${barcode}`);
  expect(scanned.body).toMatchObject({ action: "open_receiving_order", entity_id: receipt.id });

  expect(await receive(all, receipt.id)).toSucceed(200);
  expect(await unitsOf(shop.shelf.item, shop.shelf.bin)).toEqual({ available: 7 });
  expect(await whereabouts(id)).toEqual({ delivered: 3, back: 1 });
  await checkAll(tenant);

  expect(await all.order(4)).toFailWith(409, "return_already_exists");
  const rest = await receiptOf(await all.sentBack());
  const counted = { item_details: [{ received_quantity: 2, damaged_quantity: 1 }] };
  expect(await receive(all, rest.id, counted)).toSucceed(200);
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: 8, damaged: 1 });
  expect(await whereabouts(id)).toEqual({ back: 3, lost: 1 });
  expect(await all.order()).toFailWith(409, "return_already_exists");

  expect(await standing(id)).toMatchObject({ status: "delivered" });
  const { order: read } = (await tenant.admin.get(`/storefront/orders/${id}`)).body.data;
  expect(read.fulfilment).toBe("full");
  const refunds = await sql`select from money.payments where order_id = ${id} and type = 'REFUND'`;
  expect(refunds).toHaveLength(0);
  expect(await tenant.admin.post(`/storefront/orders/${id}/refund`, { amount: 5_000 }))
    .toSucceed(200);
  const [{ parcels }] = await sql`select count(*)::int as parcels from warehousing.inventory_items
    where tenant_id = ${tenant.id} and parcel_delivery_id is not null`;
  expect(parcels).toBe(0);
  await checkAll(tenant);
});

test("a return that names no items brings all goods back", async () => {
  const all = await received(2);
  const receipt = await receiptOf(await all.sentBack());
  expect(await receive(all, receipt.id)).toSucceed(200);
  expect(await unitsOf(all.shop.shelf.item)).toEqual({ available: 10 });
  expect(await whereabouts(all.id)).toEqual({ back: 2 });
  await checkAll(all.tenant);
});

test("goods are expected in their warehouse where it stands by then, or in the one that is named", async () => {
  const all = await received(3);
  const { shop, tenant } = all;
  const made = await all.order(1);
  const address_id = await newAddress(tenant);
  expect(await tenant.ops.put(`/warehousing/warehouses/${shop.shelf.warehouse}`, { address_id }))
    .toSucceed(200);
  const place = `/delivery/deliveries/${made.body.id}`;
  expect((await tenant.ops.get(place)).body.delivery.dropoff_address_id).toBe(address_id);
  await assign(tenant, made.body.id);
  await moves(tenant.driver, made.body.id, "pickup", "depart", "complete");
  expect((await receiptOf(made.body.id)).warehouse_id).toBe(shop.shelf.warehouse);

  const there = await newWarehouse(tenant);
  const bin = await newBin(tenant, there, { is_default_receiving: true });
  const other = await receiptOf(await all.sentBack(2, { dropoff_warehouse_id: there }));
  expect(other).toMatchObject({ warehouse_id: there, status: "pending" });
  expect(await receive(all, other.id)).toSucceed(200);
  expect(await unitsOf(shop.shelf.item, bin)).toEqual({ available: 2 });
  expect(await whereabouts(all.id)).toEqual({ out: 1, back: 2 });
  await checkAll(tenant);
});

test("nothing is expected of a return to another address, or of one that is undone", async () => {
  const all = await received(3);
  const { tenant } = all;
  const elsewhere = await newAddress(tenant);
  const away = await all.order(1, { dropoff_address_id: elsewhere }, tenant.ops);
  expect(away).toSucceed(201);
  await assign(tenant, away.body.id);
  await moves(tenant.driver, away.body.id, "pickup", "depart", "complete");
  expect(await receiptOf(away.body.id)).toBeUndefined();

  const undone = await all.sentBack(1);
  expect(await whereabouts(all.id)).toEqual({ delivered: 2, out: 1 });
  expect(await move(tenant.driver, undone, "outcome/undo", { reason: "Too early" })).toSucceed(200);
  expect(await receiptOf(undone)).toBeUndefined();
  expect(await whereabouts(all.id)).toEqual({ delivered: 3 });
  await moves(tenant.driver, undone, "complete");
  expect(await receive(all, (await receiptOf(undone)).id)).toSucceed(200);
  expect(await move(tenant.driver, undone, "outcome/undo", { reason: "Too late" }))
    .toFailWith(409, "outcome_went_on");
  await checkAll(tenant);
});

test("goods are stock of whichever warehouse the driver brings them into, no parcel lies there, and the driver is paid", async () => {
  const all = await received(3);
  const { shop, tenant } = all;
  await setRule(tenant, perDelivery(500));
  const there = await newWarehouse(tenant);
  const bin = await newBin(tenant, there, { is_default_receiving: true });
  const { body: { id: back } } = await all.order(2);
  await assign(tenant, back);
  await moves(tenant.driver, back, "pickup", "depart", ["return", { warehouse_id: there }]);
  expect(await receive(all, (await receiptOf(back)).id)).toSucceed(200);
  expect(await unitsOf(shop.shelf.item, bin)).toEqual({ available: 2 });
  const [row] = await sql`select status, current_warehouse_id as at from delivery.deliveries
    where id = ${back}`;
  expect(row).toEqual({ status: "delivered", at: null });
  const [carried] = await sql`select status from delivery.assignments where delivery_id = ${back}`;
  expect(carried.status).toBe("completed");
  expect(await payFor(back)).toMatchObject([{ driver_id: tenant.driver.id, amount: 500 }]);
  await checkAll(tenant);
});

test("received while its handover waits for an answer, it came with who has it still", async () => {
  const all = await received(3);
  const { tenant } = all;
  await setRule(tenant, perDelivery(500));
  const there = await newWarehouse(tenant);
  await newBin(tenant, there, { is_default_receiving: true });
  const { body: { id: back } } = await all.order(2);
  await assign(tenant, back);
  await moves(tenant.driver, back, "pickup", "depart", ["return", { warehouse_id: there }]);
  const second = await newDriver(tenant);
  await sql`update delivery.addresses set latitude = 33.31, longitude = 44.36 where tenant_id = ${tenant.id}`;
  expect(await handOver(tenant.ops, tenant.driver, second, [back])).toSucceed(201);
  expect(await receive(all, (await receiptOf(back)).id)).toSucceed(200);
  expect(await payFor(back)).toMatchObject([{ driver_id: tenant.driver.id, amount: 500 }]);
  expect(await sql`select from delivery.open_assignments where delivery_id = ${back}`).toHaveLength(
    0,
  );
  await checkAll(tenant);
});

test("a customer who sees no warehouse changes the draft of their return", async () => {
  const all = await received(2);
  const { shop, tenant } = all;
  await sql`update warehousing.warehouses set access_mode = 'select_users'
    where id = ${shop.shelf.warehouse}`;
  const draft = await all.order(undefined, { status: "draft" });
  expect(draft).toSucceed(201);
  const path = `/delivery/deliveries/${draft.body.id}`;
  expect(await tenant.customer.patch(path, { notes: "Ring twice" })).toSucceed(200);
  expect((await tenant.ops.get(path)).body.delivery)
    .toMatchObject({ dropoff_warehouse_id: shop.shelf.warehouse, notes: "Ring twice" });
  expect(await tenant.customer.post(`${path}/submit`)).toSucceed(200);
  await assign(tenant, draft.body.id);
  await moves(tenant.driver, draft.body.id, "pickup", "depart", "complete");
  expect(await receiptOf(draft.body.id)).toMatchObject({ status: "pending" });
});

test("the same lots and pieces come back, each once", async () => {
  const shop = await newSplitShop({ first: 0, second: 0 });
  const { shelf, tenant } = shop;
  await sql`update warehousing.inventory_items set is_serialized = true where id = ${shelf.item}`;
  const line = { item_id: shelf.item, warehouse_id: shelf.warehouse, bin_id: shelf.bin };
  for (const serial_number of ["S-1", "S-2"]) {
    await stockIn(tenant, { ...line, quantity: 1, serial_number, lot_number: "L-1" });
  }
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await bring(shop, delivery_id, "delivered");
  const service = await newService(tenant, { allow_returns: true });
  const [item] =
    await sql`select id from delivery.delivery_items where delivery_id = ${delivery_id}`;
  for (const _ of [1, 2]) {
    const made = await tenant.customer.post("/delivery/deliveries", {
      delivery_flow: "customer_return",
      original_delivery_id: delivery_id,
      delivery_service_id: service,
      unit_size: 1,
      payer_type: "sender",
      payment_method: "cash",
      return_items: [{ delivery_item_id: item.id, quantity: 1 }],
    });
    await assign(tenant, made.body.id);
    await moves(tenant.driver, made.body.id, "pickup", "depart", "complete");
    expect(await receive({ tenant }, (await receiptOf(made.body.id)).id)).toSucceed(200);
  }
  const rows = await sql`select serial_number, lot_number, quantity::int as quantity
    from warehousing.stock where item_id = ${shelf.item} and quantity > 0 order by serial_number`;
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { serial_number: "S-1", lot_number: "L-1", quantity: 1 },
    { serial_number: "S-2", lot_number: "L-1", quantity: 1 },
  ]);
  expect(await whereabouts(id)).toEqual({ back: 2 });
  await checkAll(tenant);
});

test("goods that were sent back are not refunded when the rest of the order ends", async () => {
  const all = await received(5, { first: 3, second: 2 });
  const { shop, tenant, id, second } = all;
  const { id: receipt } = await receiptOf(await all.sentBack());
  expect(await receive(all, receipt)).toSucceed(200);
  await bring(shop, second, "returned");
  const [{ amount }] = await sql`select amount::float8 as amount from money.payments
    where order_id = ${id} and type = 'REFUND'`;
  expect(amount).toBe(2 * 5_000);
  expect(await whereabouts(id)).toEqual({ back: 3, out: 2 });
  await checkAll(tenant);
});
