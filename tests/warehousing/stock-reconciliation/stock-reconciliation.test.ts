/** The proof that no unit of stock is lost sight of. */
import { describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { approveOrder, bring, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { placeOrder } from "../../support/orders.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { pickingSteps } from "../../support/picking.ts";
import { expectGuarded } from "../../support/promises.ts";
import { newBin, newShelf, newWarehouse } from "../../support/warehouses.ts";

const path = "/warehousing/stock-reconciliation";

const ask = async (tenant: Tenant, query: Body = {}): Promise<Body> => {
  const answer = await tenant.warehouse.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
};
const nothing = {
  received: 0,
  returned: 0,
  transferred_in: 0,
  transferred_out: 0,
  picked: 0,
  adjusted: 0,
  counted: 0,
  written_off: 0,
  movements: 0,
  in_stock: 0,
};

describe("the reconciliation", () => {
  test("adds up what came into each warehouse and left it, now and then", async () => {
    const tenant = await newTenant();
    const { warehouse, bin, item } = await newShelf(tenant, 50);
    const there = await newWarehouse(tenant);
    const beside = await newBin(tenant, there);
    const line = (quantity: number) => ({ item_id: item, bin_id: bin, quantity });
    const post = async (path: string, body: object) => {
      const answer = await tenant.ops.post(`/warehousing/${path}`, body);
      expect(answer, path).toSucceed(201);
    };
    const at = { warehouse_id: warehouse, reason: "test" };
    await post("inventory/receipts", { warehouse_id: warehouse, items: [line(5)] });
    const before = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await post("inventory/returns", { ...at, items: [line(2)] });
    await post("inventory/write-offs", { ...at, items: [line(3)] });
    await post("inventory/adjustments", { ...at, item_id: item, bin_id: bin, delta: -1 });
    await post("inventory/counts", {
      warehouse_id: warehouse,
      items: [{ item_id: item, bin_id: bin, counted: 54 }],
    });
    await post("inventory-transfers", {
      source_warehouse_id: warehouse,
      destination_warehouse_id: there,
      items: [{ item_id: item, quantity: 4, source_bin_id: bin, destination_bin_id: beside }],
    });
    await post("picking-orders", {
      warehouse_id: warehouse,
      order_type: "batch",
      status: "completed",
      item_details: [line(7)],
    });
    const { newOrder } = pickingSteps(tenant, { warehouse, bin, item });
    await newOrder({ status: "in_progress" });
    const seen = await ask(tenant);
    expect(seen).toMatchObject({ reconciled: true, difference_count: 0, differences: [] });
    const of = (body: Body, id: string) =>
      body.warehouses.find((row: Body) => row.warehouse_id === id);
    expect(of(seen, warehouse)).toEqual({
      warehouse_id: warehouse,
      warehouse_name: expect.any(String),
      received: 55,
      returned: 2,
      transferred_in: 0,
      transferred_out: 4,
      picked: 7,
      adjusted: -1,
      counted: 1,
      written_off: 3,
      movements: 43,
      in_stock: 43,
    });
    expect(of(seen, there)).toMatchObject({
      ...nothing,
      transferred_in: 4,
      movements: 4,
      in_stock: 4,
    });
    const then = await ask(tenant, { as_of: before });
    expect(then).toMatchObject({
      as_of: expect.stringContaining(before.slice(0, 19)),
      reconciled: true,
    });
    expect(of(then, warehouse)).toMatchObject({
      ...nothing,
      received: 55,
      movements: 55,
      in_stock: 55,
    });
    expect(of(then, there)).toMatchObject(nothing);
    expect((await ask(tenant, { as_of: "2020-01-01" })).warehouses).toEqual([]);
  });

  test("says where each unit of each order is", async () => {
    const shop = await newSplitShop({ first: 20, second: 0 });
    const { tenant } = shop;
    const place = async (quantity: number) => (await placeOrder(shop, "cash", quantity)).id;
    await place(1);
    const cancelled = await place(2);
    await tenant.admin.put(`/storefront/orders/${cancelled}/cancel`, { reason: "other" });
    const reserved = await place(3);
    await approveOrder(shop, reserved);
    const picked = await place(4);
    await approveOrder(shop, picked);
    await pick(shop, (await picksOf(picked))[0].id);
    const gone = await place(2);
    const { deliveries } = await approveOrder(shop, gone);
    await pick(shop, (await picksOf(gone))[0].id);
    await bring(shop, deliveries[0].delivery_id, "delivered");
    const seen = await ask(tenant);
    expect(seen.orders).toEqual({
      orders: 5,
      ordered: 12,
      to_reserve: 1,
      reserved: 3,
      picked: 4,
      out: 0,
      delivered: 2,
      back: 0,
      short: 0,
      released: 2,
      lost: 0,
    });
    expect(seen.reconciled).toBe(true);
    expect((await ask(tenant, { as_of: "2020-01-01" })).orders).toMatchObject({
      orders: 0,
      ordered: 0,
    });
  });

  test("is for those who run operations or the warehouse, each in their own company", async () => {
    const [one, two] = [await newTenant(), await newTenant()];
    await newShelf(one, 5);
    expect((await ask(two)).warehouses).toEqual([]);
    await expectGuarded({ method: "GET", path }, {
      denied: [one.staff, one.driver, one.institution, one.customer],
    });
    expect(await two.admin.get(path, { query: { tenant_id: one.id } })).toFailWith(
      403,
      "forbidden",
    );
    const wrong = await one.ops.get(path, { query: { as_of: "soon" } });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("as_of");
  });
});
