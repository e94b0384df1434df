/** Goods of an order that leaves from two warehouses, when one of its parcels is sent back: they are expected where they are sold from. */
import { describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { checkAll, moves, takenOver } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import {
  approveOrder,
  bring,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { placeOrder, standing } from "../../support/orders.ts";
import type { Yard } from "../../support/packages.ts";
import { received, sentBackBy, transferred } from "../../support/send-back.ts";
import { newBin, newWarehouse, unitsOf } from "../../support/warehouses.ts";

/** An order of four units; those that leave from the first warehouse lie in a third by now, the others leave from the second. */
async function apart(way: "cash" | "wallet" = "cash", stock = { first: 3, second: 1 }) {
  const shop = await newSplitShop(stock);
  const { tenant } = shop;
  const third = await newWarehouse(tenant);
  await newBin(tenant, third, { location_type: "RECEIVING", is_default_receiving: true });
  const yard = { tenant, warehouse: shop.shelf.warehouse, there: third } as Yard;
  const { id } = await placeOrder(shop, way, 4);
  const { deliveries: [{ delivery_id: first }, rest] } = await approveOrder(shop, id);
  for (const task of await picksOf(id)) expect(await pick(shop, task.id)).toSucceed(200);
  const [parcel] = await sql`select id, barcode from delivery.deliveries where id = ${first}`;
  await transferred(yard, { id: parcel.id, barcode: parcel.barcode });
  return { shop, yard, id, first: first as string, second: rest?.delivery_id as string };
}

const expectedOf = (tenant: string) =>
  sql`select id, warehouse_id from warehousing.receiving_orders
    where tenant_id = ${tenant} and status = 'pending' and delivery_id is null`;

async function broughtHome({ shop, yard }: Awaited<ReturnType<typeof apart>>, back: string) {
  await takenOver(yard, back, shop.tenant.driver);
  await moves(shop.tenant.driver, back, "complete");
}

describe.each(["operational-return", "cancel"] as const)("by %s", (call) => {
  test("when the customer has the rest already", async () => {
    const all = await apart();
    const { shop, yard, id, first, second } = all;
    await bring(shop, second, "delivered");
    const back = await sentBackBy(yard, first, call);
    await broughtHome(all, back.id);
    expect(await standing(id)).toMatchObject({ status: "delivered" });
    const [receipt, ...more] = await expectedOf(shop.tenant.id);
    expect(more).toEqual([]);
    expect(receipt).toMatchObject({ warehouse_id: shop.shelf.warehouse });
    await received(yard, receipt.id);
    expect(await unitsOf(shop.shelf.item, shop.shelf.bin)).toEqual({ available: 3 });
    expect(await whereabouts(id)).toEqual({ delivered: 1, back: 3 });
    await checkAll(shop.tenant);
  });

  test("when the rest is still on its way", async () => {
    const all = await apart("wallet");
    const { shop, yard, id, first, second } = all;
    const back = await sentBackBy(yard, first, call);
    await broughtHome(all, back.id);
    const [receipt] = await expectedOf(shop.tenant.id);
    expect(receipt).toMatchObject({ warehouse_id: shop.shelf.warehouse });
    await received(yard, receipt.id);
    expect(await whereabouts(id)).toEqual({ picked: 1, back: 3 });
    await bring(shop, second, "delivered");
    expect(await standing(id)).toMatchObject({ status: "delivered" });
    expect(await expectedOf(shop.tenant.id)).toEqual([]);
    expect(await whereabouts(id)).toEqual({ delivered: 1, back: 3 });
    await checkAll(shop.tenant);
  });
});

describe.each(["cash", "wallet"] as const)("the whole order, paid by %s,", (way) => {
  test.each(["operational-return", "cancel"] as const)(
    "ends when it is sent back by %s, and what was paid is refunded",
    async (call) => {
      const all = await apart(way, { first: 4, second: 0 });
      const { shop, yard, id, first } = all;
      const back = await sentBackBy(yard, first, call);
      const before = call === "cancel" ? "cancelled" : "shipped";
      expect(await standing(id)).toMatchObject({ status: before });
      await broughtHome(all, back.id);
      expect(await standing(id)).toMatchObject({ status: "cancelled" });
      const refunds = await sql`select status, amount::float8 as amount from money.payments
        where order_id = ${id} and type = 'REFUND'`;
      const [{ total }] = await sql`select total_price::float8 as total
        from storefront.storefront_orders where id = ${id}`;
      expect(refunds).toEqual(way === "wallet" ? [{ status: "SUCCESS", amount: total }] : []);
      const [receipt] = await expectedOf(shop.tenant.id);
      await received(yard, receipt.id);
      expect(await whereabouts(id)).toEqual({ back: 4 });
      await checkAll(shop.tenant);
    },
  );
});
