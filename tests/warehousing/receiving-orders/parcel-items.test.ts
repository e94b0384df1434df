/** The contents of a parcel are part of the stock, and move only with their parcel. */
import { beforeAll, expect, test } from "vitest";
import { assign, move, moves, newDelivery } from "../../support/deliveries.ts";
import { newStagedPackage, newYard, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { pickingOrders } from "../../support/picking.ts";
import { checkStock, unitsOf } from "../../support/warehouses.ts";
import { itemOf } from "../../support/waybills.ts";

let tenant: Tenant;
let yard: Yard;

beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

test("not by a pick, not by a transfer of inventory; the parcel can be prepared as before", async () => {
  const { parent, b: outbound } = await newStagedPackage(yard);
  const item_id = await itemOf(parent.id);
  const [place] = (await tenant.warehouse.get("/warehousing/inventory", { query: { item_id } }))
    .body.data;
  for (const status of ["pending", "in_progress", "completed"]) {
    const picked = await tenant.ops.post(pickingOrders, {
      warehouse_id: yard.warehouse,
      order_type: "individual",
      status,
      item_details: [{ item_id, bin_id: place.bin_id, quantity: 1 }],
    });
    expect(picked).toFailWith(409, "item_of_parcel");
    expect(picked.body).toMatchObject({ field: "item_details.0.item_id", item_id });
  }
  const moved = await tenant.warehouse.post("/warehousing/inventory-transfers", {
    source_warehouse_id: yard.warehouse,
    destination_warehouse_id: yard.there,
    items: [{
      item_id,
      quantity: 1,
      source_bin_id: place.bin_id,
      destination_bin_id: yard.thereBin,
    }],
  });
  expect(moved).toFailWith(409, "item_of_parcel");
  expect(moved.body.field).toBe("items.0.item_id");
  expect(await unitsOf(item_id)).toEqual({ available: 1 });
  const executed = await move(tenant.ops, outbound, "execute");
  expect(executed).toSucceed(200);
  // The lines of its own pick may be sent back as they are.
  const pick = `${pickingOrders}/${executed.body.picking_order.id}`;
  const { order } = (await tenant.ops.get(pick)).body;
  expect(await tenant.ops.put(pick, { item_details: order.item_details, notes: "gate 2" }))
    .toSucceed(200);
  expect(await unitsOf(item_id)).toEqual({ reserved: 1 });
  await checkStock(tenant);
});

test("not by a receipt or a return of goods either: there is one parcel", async () => {
  const { parent } = await newStagedPackage(yard);
  const item_id = await itemOf(parent.id);
  for (const call of ["receipts", "returns"]) {
    const again = await tenant.warehouse.post(`/warehousing/inventory/${call}`, {
      ...{ warehouse_id: yard.warehouse, reason: "scanned twice" },
      items: [{ item_id, bin_id: yard.bin, quantity: 1 }],
    });
    expect(again).toFailWith(409, "item_of_parcel");
    expect(again.body).toMatchObject({ field: "items.0.item_id", item_id });
  }
  expect(await unitsOf(item_id)).toEqual({ available: 1 });
});

test("found or repaired later, it is prepared after all", async () => {
  const { parent, b: outbound } = await newStagedPackage(yard);
  const item_id = await itemOf(parent.id);
  const at = { warehouse_id: yard.warehouse, item_id, bin_id: yard.bin, reason: "looked again" };
  const adjust = (delta: number, status: string) =>
    tenant.warehouse.post("/warehousing/inventory/adjustments", { ...at, delta, status });
  expect(await adjust(-1, "available")).toSucceed(201);
  expect(await move(tenant.ops, outbound, "execute"))
    .toFailWith(409, "warehouse_preparation_inconsistent");
  expect(await adjust(1, "damaged")).toSucceed(201);
  expect(await move(tenant.ops, outbound, "execute"))
    .toFailWith(409, "warehouse_preparation_inconsistent");
  const sound = { item_id, quantity: 1, status: "damaged", to_status: "available" };
  const repaired = await tenant.warehouse.post("/warehousing/inventory/moves", {
    warehouse_id: yard.warehouse,
    items: [{ ...sound, from_bin_id: yard.bin, to_bin_id: yard.bin }],
  });
  expect(repaired).toSucceed(201);
  expect(await move(tenant.ops, outbound, "execute")).toSucceed(200);
  await checkStock(tenant);
});

test("is received whatever number an item of the catalogue was given", async () => {
  const parent = await newDelivery(yard, { staged: true, warehouse_id: yard.warehouse });
  const taken = { name: "Out of an old list", sku: `PARCEL-${parent.delivery_code}-1` };
  expect(await tenant.warehouse.post("/warehousing/inventory-items", taken)).toSucceed(201);
  const [{ id: inbound }] = parent.legs;
  await assign(tenant, inbound);
  await moves(tenant.driver, inbound, "pickup", "depart", "complete");
  expect(await unitsOf(await itemOf(parent.id))).toEqual({ available: 1 });
  const again = await tenant.warehouse.post("/warehousing/inventory-items", taken);
  expect(again).toFailWith(409, "item_sku_exists");
});
