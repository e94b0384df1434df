/** A warehouse stays as long as something is on its way to it, from it or through it. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { deliveryIn, move, moves, newDelivery } from "../../support/deliveries.ts";
import { newPackage, newYard, type Yard } from "../../support/packages.ts";
import { newShop, placeOrder } from "../../support/orders.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { pickingOrders } from "../../support/picking.ts";
import { newItem, newShelf, newWarehouse, stockIn } from "../../support/warehouses.ts";
import { waybillSteps } from "../../support/waybills.ts";

let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
});

const remove = (id: string) => tenant.ops.delete(`/warehousing/warehouses/${id}`);

async function stands(id: string): Promise<void> {
  expect(await remove(id)).toFailWith(409, "warehouse_in_use");
}

test("a delivery that names it, wherever", async () => {
  yard = await newYard(tenant);
  const through = await newDelivery(yard, { staged: true, warehouse_id: yard.warehouse });
  const to = await newDelivery(yard, {
    dropoff_address_id: undefined,
    dropoff_warehouse_id: yard.there,
  });
  await stands(yard.warehouse);
  await stands(yard.there);
  for (const { id } of [through, to]) {
    expect(await move(tenant.ops, id, "cancel", { reason: "no" })).toSucceed(200);
  }
  expect(await remove(yard.warehouse)).toSucceed(200);
  expect(await remove(yard.there)).toSucceed(200);
});

test("a receipt that is expected", async () => {
  yard = await newYard(tenant);
  const from = { pickup_address_id: undefined, pickup_warehouse_id: yard.there };
  const { id } = await deliveryIn(yard, "in_transit", from);
  const back: Body = await moves(tenant.driver, id, ["return", { warehouse_id: yard.there }]);
  await stands(yard.there);
  const received = await tenant.warehouse.put(
    `/warehousing/receiving-orders/${back.receiving_order_id}`,
    { status: "received", item_details: [{ received_quantity: 0 }] },
  );
  expect(received).toSucceed(200);
  expect(await remove(yard.there)).toSucceed(200);
});

test("a waybill with one end there, until it is over", async () => {
  yard = await newYard(tenant);
  const parcel = await newPackage(yard);
  const { draft, step } = waybillSteps(tenant, yard);
  const { id } = await draft(parcel.id);
  expect(await move(tenant.ops, parcel.id, "cancel", { reason: "no" })).toSucceed(200);
  await stands(yard.warehouse);
  await stands(yard.there);
  expect(await step(id, "cancel")).toSucceed(200);
  expect(await remove(yard.there)).toSucceed(200);
});

test("no draft of inventory that its waybill left over", async () => {
  yard = await newYard(tenant);
  const { create, step, new_delivery_defaults } = waybillSteps(tenant, yard);
  const item_id = await newItem(tenant);
  const place = { item_id, warehouse_id: yard.warehouse, bin_id: yard.bin! };
  await stockIn(tenant, { ...place, quantity: 1 });
  const made = await create({ inventory_item_ids: [item_id], new_delivery_defaults });
  expect(made).toSucceed(201);
  const [draft] = made.body.delivery_ids;
  await stands(yard.there);
  expect(await step(made.body.waybill_id, "cancel")).toSucceed(200);
  expect(await remove(yard.there)).toSucceed(200);
  const gone = { ...place, delta: -1, reason: "lost" };
  expect(await tenant.warehouse.post("/warehousing/inventory/adjustments", gone)).toSucceed(201);
  expect(await remove(yard.warehouse)).toSucceed(200);
  expect(await move(tenant.ops, draft, "cancel", { reason: "no" })).toSucceed(200);
});

test("a pick that is to be made", async () => {
  const at = await newShelf(tenant, 1);
  const made = await tenant.ops.post(pickingOrders, {
    warehouse_id: at.warehouse,
    order_type: "individual",
    status: "pending",
    item_details: [{ item_id: at.item, bin_id: at.bin, quantity: 1 }],
  });
  expect(made).toSucceed(201);
  const gone = { item_id: at.item, warehouse_id: at.warehouse, bin_id: at.bin, delta: -1 };
  expect(
    await tenant.warehouse.post("/warehousing/inventory/adjustments", { ...gone, reason: "lost" }),
  ).toSucceed(201);
  await stands(at.warehouse);
  expect(await tenant.ops.put(`${pickingOrders}/${made.body.order.id}`, { status: "cancelled" }))
    .toSucceed(200);
  expect(await remove(at.warehouse)).toSucceed(200);
});

test("a sorting that is under way", async () => {
  const at = await newWarehouse(tenant);
  const sessions = "/warehousing/sorting-sessions";
  const { session } = (await tenant.ops.post(sessions, { warehouse_id: at })).body;
  await stands(at);
  expect(await tenant.ops.put(`${sessions}/${session.id}`, { status: "completed" })).toSucceed(200);
  expect(await remove(at)).toSucceed(200);
});

test("a parcel that was missing there and may turn up", async () => {
  yard = await newYard(tenant);
  const parcel = await newPackage(yard);
  const { onTheRoad, step } = waybillSteps(tenant, yard);
  const id = await onTheRoad(parcel.id);
  const received = await step(id, "receive", { missing_delivery_ids: [parcel.id] });
  const [{ id: discrepancy }] = received.body.waybill.discrepancies;
  await stands(yard.there);
  expect(await step(id, `discrepancies/${discrepancy}/resolve`, { resolution: "lost" }))
    .toSucceed(200);
  expect(await remove(yard.there)).toSucceed(200);
});

test("a setting that sends parcels through it", async () => {
  const at = await newWarehouse(tenant);
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: at });
  const answer = await remove(at);
  expect(answer).toFailWith(409, "warehouse_in_use_by_settings");
  expect(answer.body.setting_references)
    .toEqual([{ source: "general.warehouse", setting_key: "default_warehouse_id" }]);
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: null });
  expect(await remove(at)).toSucceed(200);
});

test("goods that a shop sent itself, as long as they may come back", async () => {
  const shop = await newShop({ auto: false, stock: 1 });
  const { admin, ops } = shop.tenant;
  const order = (id: string, step: string) => admin.put(`/storefront/orders/${id}/${step}`);
  const { id } = await placeOrder(shop);
  for (const step of ["approve", "ship"]) expect(await order(id, step)).toSucceed(200);
  const away = () => ops.delete(`/warehousing/warehouses/${shop.shelf.warehouse}`);
  expect(await away()).toFailWith(409, "warehouse_in_use");
  expect(await order(id, "deliver")).toSucceed(200);
  expect(await away()).toSucceed(200);
});
