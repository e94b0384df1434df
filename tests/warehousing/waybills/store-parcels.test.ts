/** A store's parcel travels as a parcel: its goods are its order's, and a waybill moves no others for it. */
import { describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, checkAll, moves, takenOver } from "../../support/deliveries.ts";
import {
  approveOrder,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { checkAll as checkOrders, placeOrder, standing } from "../../support/orders.ts";
import { whereIs, type Yard } from "../../support/packages.ts";
import type { Tenant } from "../../support/people.ts";
import { received, sentBackBy, transferred } from "../../support/send-back.ts";
import { newBin, newWarehouse, stockIn, unitsOf } from "../../support/warehouses.ts";
import { waybills, waybillSteps, withKey } from "../../support/waybills.ts";

/** An order of four units in a parcel of its own, and a second warehouse; `stock` units lie in the first. */
async function ordered(stock: number, { picked = true } = {}) {
  const shop = await newSplitShop({ first: stock, second: 0, picking: true });
  const { tenant } = shop;
  const there = await newWarehouse(tenant);
  const thereBin = await newBin(tenant, there, {
    location_type: "RECEIVING",
    is_default_receiving: true,
  });
  const yard = {
    tenant,
    warehouse: shop.shelf.warehouse,
    service: shop.service,
    there,
    thereBin,
  } as Yard;
  const { id } = await placeOrder(shop, "cash", 4);
  const { deliveries: [{ delivery_id: parcel }] } = await approveOrder(shop, id);
  const [task] = await picksOf(id);
  if (picked) expect(await pick(shop, task!.id)).toSucceed(200);
  const { item, bin } = shop.shelf;
  return {
    shop,
    tenant,
    yard,
    id,
    parcel: parcel as string,
    item,
    bin,
    ...waybillSteps(tenant, yard),
  };
}

/** Nothing is wrong with stock, books and orders, and the reconciliation agrees. */
async function expectReconciled(tenant: Tenant) {
  const answer = await tenant.warehouse.get("/warehousing/stock-reconciliation");
  expect(answer).toSucceed(200);
  expect(answer.body).toMatchObject({ reconciled: true, differences: [] });
  await checkAll(tenant);
  await checkOrders(tenant);
}

describe("a store's parcel", () => {
  test.each(["waybill", "single_delivery"] as const)(
    "goes to another warehouse by %s, and out of stock go the order's goods alone",
    async (way) => {
      const { shop, tenant, yard, id, parcel, item, bin, create, step } = await ordered(10);
      if (way === "waybill") {
        const made = await create({ delivery_ids: [parcel] });
        expect(made).toSucceed(201);
        expect(made.body.waybill.items).toMatchObject([{ item_id: item, stock_quantity: 0 }]);
        expect(await unitsOf(item, bin)).toEqual({ available: 6, reserved: 4 });
        const { waybill_id } = made.body;
        expect(await step(waybill_id, "seal")).toSucceed(200);
        const driver = { driver_id: tenant.driver.id };
        expect(await step(waybill_id, "driver-handover", driver)).toSucceed(200);
        expect(await unitsOf(item)).toEqual({ available: 6 });
        expect(await step(waybill_id, "receive")).toSucceed(200);
      } else {
        const [{ barcode }] =
          await sql`select barcode from delivery.deliveries where id = ${parcel}`;
        await transferred(yard, { id: parcel, barcode });
      }
      expect(await whereIs(parcel)).toMatchObject({
        status: "pending",
        at: yard.there,
        from: yard.there,
      });
      expect(await whereabouts(id)).toEqual({ out: 4 });
      expect(await unitsOf(item)).toEqual({ available: 6 });
      expect(await unitsOf(item, yard.thereBin)).toEqual({});
      await expectReconciled(tenant);

      await assign(tenant, parcel);
      await moves(shop.tenant.driver, parcel, "pickup", "depart", "complete");
      expect(await standing(id)).toMatchObject({ status: "delivered", reserved: 0 });
      expect(await whereabouts(id)).toEqual({ delivered: 4 });
      expect(await unitsOf(item)).toEqual({ available: 6 });
      await expectReconciled(tenant);
    },
  );

  test("needs no other units, and sent back from there its goods are received where they are sold", async () => {
    const { tenant, yard, id, parcel, item, bin, onTheRoad, step } = await ordered(4);
    const waybill = await onTheRoad(parcel);
    expect(await step(waybill, "receive")).toSucceed(200);
    expect(await unitsOf(item)).toEqual({});
    const back = await sentBackBy(yard, parcel, "operational-return");
    await takenOver(yard, back.id, tenant.driver);
    await moves(tenant.driver, back.id, "complete");
    const [receipt, ...more] = await sql`select id, warehouse_id from warehousing.receiving_orders
      where tenant_id = ${tenant.id} and status = 'pending'`;
    expect(more).toEqual([]);
    expect(receipt).toMatchObject({ warehouse_id: yard.warehouse });
    await received(yard, receipt!.id);
    expect(await unitsOf(item)).toEqual({ available: 4 });
    expect(await unitsOf(item, bin)).toEqual({ available: 4 });
    expect(await whereabouts(id)).toEqual({ back: 4 });
    await expectReconciled(tenant);
  });

  test("that is not picked does not leave, and the refusal names its pick", async () => {
    const { tenant, yard, id, parcel, item, draft, step } = await ordered(10, { picked: false });
    const waybill = await draft(parcel);
    expect(await step(waybill.id, "seal")).toSucceed(200);
    const early = await step(waybill.id, "driver-handover", { driver_id: tenant.driver.id });
    expect(early).toFailWith(409, "goods_not_picked");
    const [task] = await picksOf(id);
    expect(early.body.picking_order_id).toBe(task!.id);
    expect(await whereIs(parcel)).toMatchObject({ status: "pending", at: yard.warehouse });
    expect(await unitsOf(item)).toEqual({ available: 6, reserved: 4 });
    await expectReconciled(tenant);
  });

  test("is no raw inventory, where units of its goods are sent on", async () => {
    const { tenant, yard, parcel, item, onTheRoad, step, new_delivery_defaults } = await ordered(6);
    expect(await step(await onTheRoad(parcel), "receive")).toSucceed(200);
    await stockIn(tenant, {
      item_id: item,
      warehouse_id: yard.there,
      bin_id: yard.thereBin,
      quantity: 3,
    });
    const made = await tenant.warehouse.post(waybills, {
      source_warehouse_id: yard.there,
      destination_warehouse_id: yard.warehouse,
      inventory_item_ids: [item],
      new_delivery_defaults,
    }, withKey());
    expect(made).toSucceed(201);
    expect(made.body.operation_result).toMatchObject({
      reused_delivery_ids: [],
      created_delivery_ids: [expect.any(String)],
    });
    const id = made.body.waybill_id;
    expect(await step(id, "seal")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    expect(await step(id, "receive")).toSucceed(200);
    expect(await unitsOf(item, yard.thereBin)).toEqual({ available: 2 });
    expect(await unitsOf(item)).toEqual({ available: 5 });
    expect(await whereIs(parcel)).toMatchObject({ status: "pending", at: yard.there });
    await expectReconciled(tenant);
  });
});
