/** A changed line keeps what its picker recorded, unless the change says otherwise. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { checkStock, newItem, newShelf, stockIn, unitsOf } from "../../support/warehouses.ts";

let { tenant, newOrder } = {} as Picking;
beforeAll(async () => {
  ({ tenant, newOrder } = await newPicking());
});

/** An order in progress of 5 units, of which 4 are reported as picked. */
async function fourOfFive() {
  const at = await newShelf(tenant, 20);
  const order = await newOrder({
    status: "in_progress",
    item_details: [line(at, { quantity: 5 })],
  }, at);
  const report = (status: string, picked?: number) =>
    tenant.ops.post(`${path}/${order.id}/progress`, {
      status,
      items: picked === undefined
        ? []
        : [{ item_id: at.item, bin_id: at.bin, picked_quantity: picked }],
    });
  const put = (...item_details: object[]) =>
    tenant.ops.put(`${path}/${order.id}`, { item_details });
  expect(await report("in_progress", 4)).toSucceed();
  return { at, put, report };
}

const linesOf = ({ body }: { body: Body }) =>
  body.order.item_details.map((one: Body) => [one.quantity, one.picked_quantity, one.status]);

describe("what was recorded of a line", () => {
  test("stays when its quantity changes, and nothing leaves that nobody took", async () => {
    const { at, put, report } = await fourOfFive();
    expect(linesOf(await put(line(at, { quantity: 8 })))).toEqual([[8, 4, "pending"]]);
    expect(await unitsOf(at.item)).toEqual({ available: 12, reserved: 8 });
    const done = await report("completed");
    expect(linesOf(done)).toEqual([[8, 4, "short"]]);
    expect(await unitsOf(at.item)).toEqual({ available: 16 });
    await checkStock(tenant);
  });

  test("is at most the new quantity", async () => {
    const { at, put, report } = await fourOfFive();
    expect(linesOf(await put(line(at, { quantity: 3 })))).toEqual([[3, 3, "pending"]]);
    expect(linesOf(await report("completed"))).toEqual([[3, 3, "picked"]]);
    expect(await unitsOf(at.item)).toEqual({ available: 17 });
  });

  test("stays where the line is sent as it is, or with another status alone", async () => {
    const { at, put } = await fourOfFive();
    const five = line(at, { quantity: 5 });
    expect(linesOf(await put(five))).toEqual([[5, 4, "pending"]]);
    expect(linesOf(await put({ ...five, picked_quantity: null, status: "packed" })))
      .toEqual([[5, 4, "packed"]]);
    expect(linesOf(await put({ ...five, status: null }))).toEqual([[5, 4, "packed"]]);
    // Said is said.
    expect(linesOf(await put({ ...five, picked_quantity: 0, status: "pending" })))
      .toEqual([[5, 0, "pending"]]);
  });

  test("fills the lines into which its place is divided, beside new ones", async () => {
    const { at, put } = await fourOfFive();
    const item_id = await newItem(tenant);
    await stockIn(tenant, {
      item_id,
      warehouse_id: at.warehouse,
      bin_id: at.bin,
      quantity: 2,
    });
    const other = line({ ...at, item: item_id });
    expect(linesOf(await put(other, line(at, { quantity: 3 }), line(at, { quantity: 4 }))))
      .toEqual([[2, 0, "pending"], [3, 3, "pending"], [4, 1, "pending"]]);
    const said = line(at, { quantity: 3, picked_quantity: 2 });
    expect(linesOf(await put(line(at, { quantity: 6 }), said)))
      .toEqual([[6, 2, "pending"], [3, 2, "pending"]]);
  });

  test("as picked is pending again where more is asked for, and picked where all is", async () => {
    const { at, put, report } = await fourOfFive();
    expect(linesOf(await report("in_progress", 5))).toEqual([[5, 5, "picked"]]);
    expect(linesOf(await put(line(at, { quantity: 6 })))).toEqual([[6, 5, "pending"]]);
    const short = line(at, { quantity: 6, status: "short" });
    expect(linesOf(await put(short))).toEqual([[6, 5, "short"]]);
    expect(linesOf(await put(line(at, { quantity: 5 })))).toEqual([[5, 5, "picked"]]);
  });
});

describe("what contradicts the quantities", () => {
  test("does not stand when the picking ends", async () => {
    for (
      const [picked_quantity, status, ends] of [
        [2, "picked", "short"],
        [2, "missing", "short"],
        [5, "missing", "picked"],
        [5, "short", "picked"],
        [0, "short", "missing"],
        [2, "torn", "torn"],
      ] as const
    ) {
      const { at, report, put } = await fourOfFive();
      const said = await put(line(at, { quantity: 5, picked_quantity, status }));
      expect(linesOf(said)).toEqual([[5, picked_quantity, status]]);
      expect(linesOf(await report("completed"))).toEqual([[5, picked_quantity, ends]]);
      expect(await unitsOf(at.item)).toEqual({ available: 20 - picked_quantity });
    }
  });

  test("is no progress: it counts the lines, beside times and notes that were sent", async () => {
    const at = await newShelf(tenant, 20);
    const order = await newOrder({
      item_details: [line(at, { quantity: 5 })],
      picking_progress: { total_items: 9, picked_items: 3, picker_notes: "aisle 2" },
    }, at);
    expect(order.picking_progress).toMatchObject({
      total_items: 5,
      picked_items: 0,
      picker_notes: "aisle 2",
    });
    const items = [{ item_id: at.item, bin_id: at.bin, picked_quantity: 4 }];
    const { body } = await tenant.ops.post(`${path}/${order.id}/progress`, {
      status: "in_progress",
      items,
    });
    expect(body.order.picking_progress).toMatchObject({ total_items: 5, picked_items: 4 });
    const again = await tenant.ops.put(`${path}/${order.id}`, {
      picking_progress: { picked_items: 0 },
    });
    expect(again.body.order.picking_progress).toMatchObject({ total_items: 5, picked_items: 4 });
  });
});
