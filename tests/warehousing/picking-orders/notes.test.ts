/** The progress that pickers report, and its effect on completing the order. */
import { beforeAll, describe, expect, test } from "vitest";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { checkStock, newItem, newShelf, stockIn, unitsOf } from "../../support/warehouses.ts";

let { tenant, shelf, wanted, newOrder } = {} as Picking;
beforeAll(async () => {
  ({ tenant, shelf, wanted, newOrder } = await newPicking(100, {
    settings: { "general.timezone": { name: "Asia/Baghdad" } },
  }));
});

const put = (id: string, body: object) => tenant.ops.put(`${path}/${id}`, body);

describe("a quantity that was picked", () => {
  test("as 0 in every line is what lines say before anybody reported anything: all was picked", async () => {
    const at = await newShelf(tenant, 5);
    const order = await newOrder({ item_details: [line(at, { picked_quantity: 0 })] }, at);
    const done = await put(order.id, { status: "completed", item_details: order.item_details });
    expect(done).toSucceed(200);
    expect(done.body.order.item_details).toMatchObject([{ picked_quantity: 2, status: "picked" }]);
    expect(await unitsOf(at.item)).toEqual({ available: 3 });
    await checkStock(tenant);
  });

  test("of no line means all; of one line, that nothing else was", async () => {
    const at = await newShelf(tenant, 5);
    const second = await newItem(tenant);
    await stockIn(tenant, {
      item_id: second,
      warehouse_id: at.warehouse,
      bin_id: at.bin,
      quantity: 5,
    });
    const lines = [line(at, { picked_quantity: null }), line({ ...at, item: second })];
    const all = await newOrder({ item_details: lines }, at);
    expect(all.item_details).toMatchObject([{ picked_quantity: 0 }, { picked_quantity: 0 }]);
    expect(await put(all.id, { status: "completed" })).toSucceed(200);
    expect([await unitsOf(at.item), await unitsOf(second)])
      .toEqual([{ available: 3 }, { available: 3 }]);
    const one = await newOrder({ item_details: lines }, at);
    const reported = [lines[0], { ...lines[1], picked_quantity: 1 }];
    const done = await put(one.id, { item_details: reported, status: "completed" });
    expect(done.body.order.item_details)
      .toMatchObject([{ picked_quantity: 0 }, { picked_quantity: 1 }]);
    expect([await unitsOf(at.item), await unitsOf(second)])
      .toEqual([{ available: 3 }, { available: 2 }]);
    await checkStock(tenant);
  });
});

test("the lines of an ended order change nothing as they are, and are fixed otherwise", async () => {
  for (const status of ["completed", "cancelled"]) {
    const order = await newOrder({ status });
    const same = await put(order.id, { item_details: order.item_details, notes: "seen" });
    expect(same).toSucceed(200);
    expect(same.body.order).toMatchObject({ notes: "seen", item_details: order.item_details });
    expect(await put(order.id, { item_details: [line(shelf)] })).toSucceed(200);
    for (const more of [{ quantity: 3 }, { picked_quantity: 1 }, { status: "lost" }]) {
      expect(await put(order.id, { item_details: [line(shelf, more)] }))
        .toFailWith(409, "picking_items_fixed");
    }
  }
});

test("null is what was not sent", async () => {
  const nothing = { reference_number: null, priority: null, picking_progress: null };
  const order = await newOrder(nothing);
  expect(order).toMatchObject({ reference_number: expect.stringMatching(/^PKO-/), priority: 0 });
  const next = `PKO-${
    String(Number(order.reference_number.slice(4)) + 1).padStart(
      order.reference_number.length - 4,
      "0",
    )
  }`;
  await newOrder({ reference_number: next });
  expect((await newOrder(nothing)).reference_number).not.toBe(next);
  const reported = await put(order.id, { picking_progress: { picker_notes: "left" } });
  expect(reported).toSucceed(200);
  expect((await put(order.id, { picking_progress: null })).body.order.picking_progress)
    .toMatchObject({ picker_notes: "left", total_items: 2 });
});

test("times of the progress are kept as moments, on the tenant's clock without an offset", async () => {
  const times = { start_time: "2026-03-01T10:00:00", end_time: "2026-03-01T12:00:00+01:00" };
  const { picking_progress } = await newOrder({ picking_progress: times });
  expect(new Date(picking_progress.start_time).toISOString()).toBe("2026-03-01T07:00:00.000Z");
  expect(new Date(picking_progress.end_time).toISOString()).toBe("2026-03-01T11:00:00.000Z");
  const order = await tenant.ops.post(path, wanted({ picking_progress: { start_time: null } }));
  expect(order.body.order.picking_progress.start_time).toBeNull();
});
