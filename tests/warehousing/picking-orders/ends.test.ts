/** Every line of an ended pick says what became of it, in however many reports it came; and a late report hears why it is too late. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newStaff } from "../../support/packages.ts";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import {
  checkStock,
  newItem,
  newShelf,
  type Shelf,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

let { tenant, newOrder } = {} as Picking;
let at: Shelf;
let second: string;
beforeAll(async () => {
  ({ tenant, newOrder } = await newPicking());
  at = await newShelf(tenant, 100);
  second = await newItem(tenant);
  await stockIn(tenant, {
    ...{ item_id: second, bin_id: at.bin, warehouse_id: at.warehouse },
    quantity: 100,
  });
  await newStaff(tenant, at.warehouse, tenant.staff.id);
});

const pick = () =>
  newOrder({ item_details: [line(at, { quantity: 10 }), line({ ...at, item: second })] }, at);
const report = (id: string, status: string, item_id: string, picked_quantity: number) =>
  tenant.staff.post(`${path}/${id}/progress`, {
    status,
    items: [{ item_id, bin_id: at.bin, picked_quantity }],
  });
const linesOf = ({ body }: { body: Body }) =>
  body.order.item_details.map((one: Body) => [one.picked_quantity, one.status]);

test.each([[7, "short"], [10, "picked"], [0, "missing"]])(
  "two pickers share an order: %s that the one took are %s when the other ends it",
  async (taken, status) => {
    const { id } = await pick();
    expect(await report(id, "in_progress", at.item, taken)).toSucceed(200);
    const ended = await report(id, "completed", second, 2);
    expect(linesOf(ended)).toEqual([[taken, status], [2, "picked"]]);
    // The scanner did not hear the answer, or the first picker reports once more.
    expect(linesOf(await report(id, "completed", second, 2))).toEqual(linesOf(ended));
    expect(linesOf(await report(id, "completed", at.item, taken))).toEqual(linesOf(ended));
    const late = await report(id, "completed", at.item, 1);
    expect(late).toFailWith(409, "picking_items_fixed");
    expect(late.body).toMatchObject({ field: "item_details", status: "completed" });
    await checkStock(tenant);
  },
);

test("so it is by operations, who may send the same again", async () => {
  const order = await pick();
  const body = {
    status: "completed",
    item_details: order.item_details.map((one: Body, place: number) => ({
      ...one,
      picked_quantity: place + 1,
    })),
  };
  const before = await unitsOf(at.item);
  for (let times = 0; times < 2; times++) {
    const done = await tenant.ops.put(`${path}/${order.id}`, body);
    expect(linesOf(done)).toEqual([[1, "short"], [2, "picked"]]);
  }
  expect(await unitsOf(at.item)).toEqual({ available: before.available - 1 });
});

test("a report of a cancelled pick says that it is cancelled, and nobody is given one that has ended", async () => {
  const { id } = await pick();
  expect(await tenant.ops.put(`${path}/${id}`, { status: "cancelled" })).toSucceed(200);
  for (const status of ["in_progress", "completed"]) {
    const late = await report(id, status, at.item, 1);
    expect(late).toFailWith(409, "invalid_status_transition");
    expect(late.body).toMatchObject({ from: "cancelled", to: status });
  }
  expect(await tenant.ops.put(`${path}/${id}`, { assigned_to: tenant.staff.id })).toSucceed(200);
  expect(await sql`select from tenancy.notifications where payload ->> 'picking_order_id' = ${id}`)
    .toHaveLength(0);
});
