/** Goods that come back as they left: without a serial number though their item has them by now, with one though it has none, or booked in before. */
import { describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { receive } from "../../support/back-from-customer.ts";
import { assign, moves } from "../../support/deliveries.ts";
import { approveOrder, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { checkAll, placeOrder } from "../../support/orders.ts";
import { breachesIn } from "../../support/reconciled.ts";
import { checkStock, newBin, newItem, stockIn, unitsOf } from "../../support/warehouses.ts";
import { newHauling } from "../../support/waybills.ts";

type Shop = Awaited<ReturnType<typeof newSplitShop>>;

const serialized = ({ tenant, shelf }: Shop, is_serialized: boolean) =>
  tenant.ops.put(`/warehousing/inventory-items/${shelf.item}`, { is_serialized });

/** An order of all that the shop has, undelivered; `meanwhile` happens while it is out. -> the order, and its receipt. */
async function back(shop: Shop, quantity: number, meanwhile: () => Promise<unknown>) {
  const { tenant } = shop;
  const { id } = await placeOrder(shop, "cash", quantity);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await assign(tenant, delivery_id);
  await moves(tenant.driver, delivery_id, "pickup", "depart");
  await meanwhile();
  await moves(tenant.driver, delivery_id, "fail");
  const { receiving_order_id } = await moves(tenant.driver, delivery_id, "return");
  return { id, receipt: receiving_order_id as string };
}

/** A shop with pieces of a serialized item. */
async function pieces(...serials: string[]) {
  const shop = await newSplitShop({ first: 0, second: 0 });
  expect(await serialized(shop, true)).toSucceed(200);
  const { item: item_id, warehouse: warehouse_id, bin: bin_id } = shop.shelf;
  for (const serial_number of serials) {
    await stockIn(shop.tenant, { item_id, warehouse_id, bin_id, quantity: 1, serial_number });
  }
  return shop;
}

/** Where the units of an item lie: bin, status and serial number. */
async function lying(item: string) {
  const rows = await sql`select bin_id, status, serial_number, quantity::int
    from warehousing.stock where item_id = ${item} and quantity > 0 order by serial_number`;
  return rows.map((row) => Object.values(row));
}

const by = ({ tenant, shelf }: Shop, call: string, line: object, more: object = {}) =>
  tenant.ops.post(`/warehousing/inventory/${call}`, {
    warehouse_id: shelf.warehouse,
    items: [{ item_id: shelf.item, bin_id: shelf.bin, ...line }],
    ...more,
  });

async function expectBalanced({ tenant }: Shop) {
  await checkStock(tenant);
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
}

describe("goods that left before their item was serialized", () => {
  test("come back without a serial number, sound and damaged", async () => {
    const shop = await newSplitShop({ first: 3, second: 0 });
    const { id, receipt } = await back(shop, 3, () => serialized(shop, true));
    const item_details = [{ received_quantity: 3, damaged_quantity: 1 }];
    expect(await receive(shop, receipt, { item_details })).toSucceed(200);
    expect(await unitsOf(shop.shelf.item)).toEqual({ available: 2, damaged: 1 });
    expect(await whereabouts(id)).toEqual({ back: 3 });
    await expectBalanced(shop);
  });

  test("are moved, counted, transferred, sold again and written off as they are", async () => {
    const shop = await newSplitShop({ first: 3, second: 0 });
    const { tenant, shelf, second } = shop;
    const { receipt } = await back(shop, 3, () => serialized(shop, true));
    expect(await receive(shop, receipt)).toSucceed(200);
    const beside = await newBin(tenant, shelf.warehouse);
    const [from_bin_id, to_bin_id] = [shelf.bin, beside];
    expect(await by(shop, "moves", { bin_id: undefined, from_bin_id, to_bin_id, quantity: 1 }))
      .toSucceed(201);
    expect(await by(shop, "counts", { counted: 2 })).toSucceed(201);
    expect(await by(shop, "counts", { counted: 3 })).toFailWith(400, "serial_number_required");
    expect(await by(shop, "receipts", { quantity: 1 })).toFailWith(400, "serial_number_required");
    const adjusted = (delta: number) =>
      tenant.ops.post("/warehousing/inventory/adjustments", {
        warehouse_id: shelf.warehouse,
        item_id: shelf.item,
        bin_id: shelf.bin,
        delta,
        reason: "looked again",
      });
    expect(await adjusted(1)).toFailWith(400, "serial_number_required");
    expect(
      await tenant.ops.post("/warehousing/inventory-transfers", {
        source_warehouse_id: shelf.warehouse,
        destination_warehouse_id: second.warehouse,
        items: [{
          item_id: shelf.item,
          quantity: 1,
          source_bin_id: beside,
          destination_bin_id: second.bin,
        }],
      }),
    ).toSucceed(201);
    expect(await lying(shelf.item)).toEqual(expect.arrayContaining([
      [second.bin, "available", null, 1],
      [shelf.bin, "available", null, 2],
    ]));
    const sold = await back(shop, 1, () => Promise.resolve());
    expect(await receive(shop, sold.receipt)).toSucceed(200);
    expect(await unitsOf(shelf.item)).toEqual({ available: 3 });
    expect(await by(shop, "write-offs", { quantity: 1 }, { reason: "spoilt" })).toSucceed(201);
    expect(await adjusted(-1)).toSucceed(201);
    await expectBalanced(shop);
  });

  test("get their serial numbers by a count", async () => {
    const shop = await newSplitShop({ first: 1, second: 0 });
    const { tenant, shelf } = shop;
    const { receipt } = await back(shop, 1, () => serialized(shop, true));
    expect(await receive(shop, receipt)).toSucceed(200);
    const line = { item_id: shelf.item, bin_id: shelf.bin };
    const counted = await tenant.ops.post("/warehousing/inventory/counts", {
      warehouse_id: shelf.warehouse,
      items: [{ ...line, counted: 0 }, { ...line, counted: 1, serial_number: "S1" }],
    });
    expect(counted).toSucceed(201);
    expect(await lying(shelf.item)).toEqual([[shelf.bin, "available", "S1", 1]]);
    await expectBalanced(shop);
  });
});

test("a piece with a serial number comes back with it when its item has none any more", async () => {
  const shop = await pieces("S1");
  const { id, receipt } = await back(shop, 1, () => serialized(shop, false));
  expect(await receive(shop, receipt)).toSucceed(200);
  expect(await lying(shop.shelf.item)).toEqual([[shop.shelf.bin, "available", "S1", 1]]);
  expect(await whereabouts(id)).toEqual({ back: 1 });
  await expectBalanced(shop);
});

describe("a piece that was booked in before its receipt", () => {
  test("is received where it lies, and is there once", async () => {
    const shop = await pieces("S1");
    const { tenant, shelf } = shop;
    const beside = await newBin(tenant, shelf.warehouse);
    const { id, receipt } = await back(
      shop,
      1,
      () => by(shop, "counts", { bin_id: beside, counted: 1, serial_number: "S1" }),
    );
    expect(await receive(shop, receipt)).toSucceed(200);
    expect(await lying(shelf.item)).toEqual([[beside, "available", "S1", 1]]);
    expect(await whereabouts(id)).toEqual({ back: 1 });
    await expectBalanced(shop);
  });

  test("is the one that came of several, set aside for another order or not", async () => {
    const shop = await pieces("S1", "S2");
    const { shelf } = shop;
    const { id, receipt } = await back(shop, 2, async () => {
      expect(await by(shop, "receipts", { quantity: 1, serial_number: "S2" })).toSucceed(201);
      await placeOrder(shop, "wallet", 1);
    });
    const item_details = [{ received_quantity: 1 }];
    expect(await receive(shop, receipt, { item_details })).toSucceed(200);
    expect(await lying(shelf.item)).toMatchObject([[shelf.bin, expect.any(String), "S2", 1]]);
    expect(await whereabouts(id)).toEqual({ back: 1, lost: 1 });
    await expectBalanced(shop);
  });

  test("is damaged where it lies, unless it is set aside: then it is said where it lies", async () => {
    const shop = await pieces("S1");
    const { tenant, shelf } = shop;
    let other = "";
    const { id, receipt } = await back(shop, 1, async () => {
      expect(await by(shop, "counts", { counted: 1, serial_number: "S1" })).toSucceed(201);
      ({ id: other } = await placeOrder(shop, "cash", 1));
      await approveOrder(shop, other);
    });
    const refused = await receive(shop, receipt, { item_details: [{ condition: "damaged" }] });
    expect(refused).toFailWith(409, "serial_number_taken");
    expect(refused.body).toMatchObject({
      item_id: shelf.item,
      serial_number: "S1",
      warehouse: { id: shelf.warehouse },
      bin: { id: shelf.bin },
    });
    expect(refused.body.field).toBeUndefined();
    const cancelled = await tenant.admin.put(`/storefront/orders/${other}/cancel`, {
      reason: "other",
    });
    expect(cancelled).toSucceed(200);
    expect(await receive(shop, receipt, { item_details: [{ condition: "damaged" }] }))
      .toSucceed(200);
    expect(await lying(shelf.item)).toEqual([[shelf.bin, "damaged", "S1", 1]]);
    expect(await whereabouts(id)).toEqual({ back: 1 });
    await expectBalanced(shop);
  });
});

describe("inventory on a waybill", () => {
  /** One unit on the road, and what becomes of its item meanwhile. */
  async function onTheRoad(serial_number?: string) {
    const hauling = await newHauling();
    const { tenant, yard, create, step, new_delivery_defaults } = hauling;
    const item = await newItem(tenant, { is_serialized: serial_number !== undefined });
    const here = { item_id: item, warehouse_id: yard.warehouse, bin_id: yard.bin!, quantity: 1 };
    await stockIn(tenant, { ...here, ...(serial_number && { serial_number }) });
    const made = await create({ inventory_item_ids: [item], new_delivery_defaults });
    expect(made).toSucceed(201);
    const id: string = made.body.waybill_id;
    expect(await step(id, "seal")).toSucceed(200);
    expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
    const [delivery] = made.body.delivery_ids as string[];
    const booked = (warehouse_id: string, bin_id: string) =>
      tenant.ops.post("/warehousing/inventory/receipts", {
        warehouse_id,
        items: [{ item_id: item, bin_id, quantity: 1, serial_number }],
      });
    return { ...hauling, item, id, delivery, booked };
  }

  test("arrives without a serial number when its item was serialized on the road", async () => {
    const { tenant, yard, step, item, id } = await onTheRoad();
    await tenant.ops.put(`/warehousing/inventory-items/${item}`, { is_serialized: true });
    expect(await step(id, "receive")).toSucceed(200);
    expect(await lying(item)).toEqual([[yard.thereBin, "available", null, 1]]);
    await checkStock(tenant);
  });

  test("arrives without a serial number when it was missing, and is found", async () => {
    const { tenant, yard, step, item, id, delivery } = await onTheRoad();
    await tenant.ops.put(`/warehousing/inventory-items/${item}`, { is_serialized: true });
    const received = await step(id, "receive", { missing_delivery_ids: [delivery] });
    expect(received).toSucceed(200);
    const [{ id: missing }] = received.body.waybill.discrepancies;
    expect(await step(id, `discrepancies/${missing}/resolve`, { resolution: "found" }))
      .toSucceed(200);
    expect(await lying(item)).toEqual([[yard.thereBin, "available", null, 1]]);
    await checkStock(tenant);
  });

  test("that was booked in where it arrives is received there, once", async () => {
    const { tenant, yard, step, item, id, booked } = await onTheRoad("S1");
    const beside = await newBin(tenant, yard.there);
    expect(await booked(yard.there, beside)).toSucceed(201);
    expect(await step(id, "receive")).toSucceed(200);
    expect(await lying(item)).toEqual([[beside, "available", "S1", 1]]);
    await checkStock(tenant);
    expect(await breachesIn(tenant)).toEqual([]);
  });

  test("that was booked in elsewhere is received once the books have it here", async () => {
    const { tenant, yard, step, item, id, delivery, booked } = await onTheRoad("S1");
    expect(await booked(yard.warehouse, yard.bin!)).toSucceed(201);
    const refused = await step(id, "receive");
    expect(refused).toFailWith(409, "serial_number_taken");
    expect(refused.body).toMatchObject({
      serial_number: "S1",
      warehouse: { id: yard.warehouse },
      bin: { id: yard.bin },
    });
    const received = await step(id, "receive", { missing_delivery_ids: [delivery] });
    const [{ id: missing }] = received.body.waybill.discrepancies;
    const found = () => step(id, `discrepancies/${missing}/resolve`, { resolution: "found" });
    expect(await found()).toFailWith(409, "serial_number_taken");
    expect(
      await tenant.ops.post("/warehousing/inventory-transfers", {
        source_warehouse_id: yard.warehouse,
        destination_warehouse_id: yard.there,
        items: [{
          item_id: item,
          quantity: 1,
          serial_number: "S1",
          source_bin_id: yard.bin,
          destination_bin_id: yard.thereBin,
        }],
      }),
    ).toSucceed(201);
    expect(await found()).toSucceed(200);
    expect(await lying(item)).toEqual([[yard.thereBin, "available", "S1", 1]]);
    await checkStock(tenant);
    expect(await breachesIn(tenant)).toEqual([]);
  });
});
