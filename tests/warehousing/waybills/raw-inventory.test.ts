/** A piece of inventory travels by waybill alone: the draft that stands for it is never an order. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, checkAll, move, path } from "../../support/deliveries.ts";
import { packageTransfers } from "../../support/package-transfers.ts";
import { whereIs } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { checkStock, newItem, stockIn, unitsOf } from "../../support/warehouses.ts";
import { type Hauling, newHauling, waybills, withKey } from "../../support/waybills.ts";

let other: Tenant;
let { tenant, yard, create, step, new_delivery_defaults } = {} as Hauling;

beforeAll(async () => {
  ({ tenant, yard, create, step, new_delivery_defaults } = await newHauling());
  other = await newTenant();
});

/** Five units in the first warehouse, one of them on a drafted waybill. */
async function piece() {
  const item = await newItem(tenant, { name: "Kettle" });
  await stockIn(tenant, {
    item_id: item,
    warehouse_id: yard.warehouse,
    bin_id: yard.bin!,
    quantity: 5,
  });
  const made = await create({ inventory_item_ids: [item], new_delivery_defaults });
  expect(made).toSucceed(201);
  const [draft] = made.body.delivery_ids;
  return { item, draft: draft as string, waybill: made.body.waybill_id as string };
}

async function expectForWaybills(draft: string) {
  for (const person of [tenant.ops, tenant.customer]) {
    expect(await move(person, draft, "submit")).toFailWith(409, "delivery_is_for_waybill");
  }
  expect(await whereIs(draft)).toMatchObject({ status: "draft" });
}

describe("the draft of a piece of inventory", () => {
  test("is not ordered while its waybill is drafted, on the road or received", async () => {
    const { item, draft, waybill } = await piece();
    await expectForWaybills(draft);
    expect(await move(tenant.driver, draft, "submit")).toFailWith(403, "forbidden");
    expect(await move(other.ops, draft, "submit")).toFailWith(404, "delivery_not_found");
    expect(await step(waybill, "seal")).toSucceed(200);
    expect(await step(waybill, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    await expectForWaybills(draft);
    expect(await step(waybill, "receive")).toSucceed(200);
    await expectForWaybills(draft);
    expect(await unitsOf(item)).toEqual({ available: 5 });
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });

    // On from there by another waybill, and no more once that is cancelled.
    const back = await tenant.warehouse.post(waybills, {
      source_warehouse_id: yard.there,
      destination_warehouse_id: yard.warehouse,
      delivery_ids: [draft],
    }, withKey());
    expect(back).toSucceed(201);
    expect(await step(back.body.waybill_id, "cancel")).toSucceed(200);
    expect(await move(tenant.ops, draft, "cancel", { reason: "stays here" })).toSucceed(200);
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    expect(await unitsOf(item)).toEqual({ available: 5 });
    await checkStock(tenant);
    await checkAll(tenant);
  });

  test("is not ordered after its waybill was cancelled, by a driver or another company", async () => {
    const { item, draft, waybill } = await piece();
    expect(await step(waybill, "cancel")).toSucceed(200);
    await expectForWaybills(draft);
    const said = await tenant.ops.post(`${path}/${draft}/submit`, {}, {
      headers: { "accept-language": "ku" },
    });
    expect(said.body.message).toContain("بارنامە");
    const carrier = { carrier_type: "external", carrier_code: "easypost" };
    for (const call of [`${path}/${draft}/carrier`, `${path}/${draft}`]) {
      expect(await tenant.ops.patch(call, carrier)).toFailWith(409, "delivery_is_for_waybill");
    }
    const [{ barcode }] = await sql`select barcode from delivery.deliveries where id = ${draft}`;
    const transfer = await tenant.warehouse.post(packageTransfers, {
      mode: "delivery_operation",
      operation_type: "single_delivery",
      source_warehouse_id: yard.warehouse,
      destination_warehouse_id: yard.there,
      package_barcodes: [barcode],
    }, withKey());
    expect(transfer).toFailWith(400, "no_transferable_packages");
    expect(transfer.body.rejected).toMatchObject([{ reason: "not_transferable_status" }]);
    // Its contents are not written over either.
    const other_things = { package: { items: [{ name: "Something else" }] } };
    expect(await tenant.ops.put(`${path}/${draft}`, other_things)).toSucceed(200);
    await expectForWaybills(draft);
    expect(await create({ delivery_ids: [draft] })).toSucceed(201);
    expect(await unitsOf(item)).toEqual({ available: 4, reserved: 1 });
    await checkStock(tenant);
    await checkAll(tenant);
  });

  test("is cancelled on the road, and its goods arrive all the same", async () => {
    const { item, draft, waybill } = await piece();
    expect(await step(waybill, "seal")).toSucceed(200);
    expect(await step(waybill, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    expect(await move(tenant.ops, draft, "cancel", { reason: "no draft needed" })).toSucceed(200);
    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 1 });
    expect(await unitsOf(item)).toEqual({ available: 5 });
    await checkStock(tenant);
    await checkAll(tenant);
  });

  test("that an older version let people order is not picked up, but cancelled", async () => {
    const { item, draft, waybill } = await piece();
    expect(await step(waybill, "cancel")).toSucceed(200);
    await sql`update delivery.deliveries set status = 'pending' where id = ${draft}`;
    await assign(tenant, draft);
    expect(await move(tenant.driver, draft, "pickup")).toFailWith(409, "delivery_is_for_waybill");
    expect(await move(tenant.ops, draft, "cancel", { reason: "goes by waybill" })).toSucceed(200);
    expect(await unitsOf(item)).toEqual({ available: 5 });
    await checkStock(tenant);
    await checkAll(tenant);
  });
});
