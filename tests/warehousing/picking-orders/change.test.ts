/** Changes of picking orders. */
import { beforeAll, describe, expect, test } from "vitest";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { expectGuarded, expectNoSuch, expectRefused } from "../../support/promises.ts";
import { checkStock, newItem, newShelf, stockIn, unitsOf } from "../../support/warehouses.ts";

let { tenant, shelf, wanted, newOrder } = {} as Picking;
let { tenant: other, shelf: foreign } = {} as Picking;
beforeAll(async () => {
  ({ tenant, shelf, wanted, newOrder } = await newPicking());
  ({ tenant: other, shelf: foreign } = await newPicking());
});

describe("changing an order", () => {
  test("replaces its lines as long as nothing is picked, and reservations follow", async () => {
    const at = await newShelf(tenant, 10);
    const second = await newItem(tenant);
    await stockIn(tenant, {
      item_id: second,
      warehouse_id: at.warehouse,
      bin_id: at.bin,
      quantity: 4,
    });
    const order = await newOrder({ status: "in_progress" }, at);
    const put = (item_details: unknown[]) =>
      tenant.ops.put(`${path}/${order.id}`, { item_details });
    expect(await put([line(at, { quantity: 10 })])).toSucceed(200);
    expect(await unitsOf(at.item)).toEqual({ reserved: 10 });
    expect(await put([line(at, { quantity: 11 })])).toFailWith(409, "insufficient_stock");
    expect(await unitsOf(at.item)).toEqual({ reserved: 10 });
    const both = [line(at, { quantity: 1 }), { item_id: second, bin_id: at.bin, quantity: 4 }];
    expect((await put(both)).body.order.item_details).toHaveLength(2);
    expect(await unitsOf(at.item)).toEqual({ available: 9, reserved: 1 });
    expect(await unitsOf(second)).toEqual({ reserved: 4 });
    // Reported progress does not change stock.
    const reported = await put([{ ...both[0], picked_quantity: 1, status: "packed" }, both[1]]);
    expect(reported.body.order.item_details[0]).toMatchObject({
      picked_quantity: 1,
      status: "packed",
    });
    expect(reported.body.order.picking_progress).toMatchObject({ total_items: 5, picked_items: 1 });
    expect(await tenant.ops.put(`${path}/${order.id}`, { status: "completed" })).toSucceed(200);
    // One of five was picked: the others are free again.
    expect(await unitsOf(at.item)).toEqual({ available: 9 });
    expect(await unitsOf(second)).toEqual({ available: 4 });
    expect(await put([both[0]])).toFailWith(409, "picking_items_fixed");
    await checkStock(tenant);
  });

  test("changes whom it is given to, when it is due and what it says; null clears, what is not sent stays", async () => {
    const order = await newOrder({ notes: "first", assigned_to: tenant.staff.id });
    const put = (body: object) => tenant.ops.put(`${path}/${order.id}`, body);
    const changed = await put({ assigned_to: null, due_date: "2026-12-02T00:00:00Z" });
    expect(changed.body.order).toMatchObject({
      assigned_to: null,
      assigned_to_user: null,
      notes: "first",
      status: "pending",
    });
    expect((await put({ notes: null })).body.order).toMatchObject({
      notes: null,
      due_date: expect.any(String),
    });
    for (const { id } of [other.ops, tenant.customer, tenant.driver, tenant.institution]) {
      expect(await put({ assigned_to: id })).toFailWith(404, "assignee_not_found");
    }
    for (const { id } of [tenant.warehouse, tenant.dispatcher, tenant.admin, tenant.staff]) {
      expect(await put({ assigned_to: id })).toSucceed();
    }
    await expectRefused(tenant.ops, { method: "PUT", path: `${path}/${order.id}` }, [
      [{ status: "picked" }, "status"],
      [{ assigned_to: "me" }, "assigned_to", "invalid_uuid"],
      [{ item_details: [line(shelf, { quantity: 0 })] }, "item_details.0.quantity"],
    ]);
    await expectNoSuch(
      tenant.ops,
      { method: "PUT", path: `${path}/{id}`, body: { notes: "x" } },
      "picking_order_id",
      "picking_order_not_found",
      await (async () => {
        const theirs = await other.ops.post(path, wanted({}, foreign));
        return theirs.body.order.id;
      })(),
    );
    const { warehouse, staff, driver } = tenant;
    await expectGuarded({ method: "PUT", path: `${path}/${order.id}`, body: {} }, {
      denied: [warehouse, staff, driver],
    });
  });
});
