/** A write of the lines of a picking order is a change of it: its ETag, what If-Match finds, and the list of what changed. */
import { beforeAll, expect, test } from "vitest";
import type { Answer, Body } from "../../support/api.ts";
import { settled } from "../../support/changes.ts";
import { sql } from "../../support/db.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { placeOrder } from "../../support/orders.ts";
import { newStaff } from "../../support/packages.ts";
import type { Tenant } from "../../support/people.ts";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { checkStock, newShelf } from "../../support/warehouses.ts";

let { tenant, shelf, newOrder } = {} as Picking;
beforeAll(async () => {
  ({ tenant, shelf, newOrder } = await newPicking());
  await newStaff(tenant, shelf.warehouse, tenant.staff.id);
});

/** The runtime compresses answers and marks their tags as weak. */
const strong = ({ headers }: Answer) => headers.get("etag")!.replace("W/", "");
const tagOf = async (id: string) => strong(await tenant.ops.get(`${path}/${id}`));

/** An order of five units of the shelf, whose picking has begun. */
const begun = () =>
  newOrder({ status: "in_progress", item_details: [line(shelf, { quantity: 5 })] });

/** The picker's report of what was taken, with the picking as it was. */
const report = (id: string, picked_quantity: number, tag?: string) =>
  tenant.staff.post(`${path}/${id}/progress`, {
    status: "in_progress",
    items: [{ item_id: shelf.item, bin_id: shelf.bin, picked_quantity }],
  }, tag ? { headers: { "if-match": tag } } : undefined);

const pickedOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.order.item_details.map((one: Body) =>
    one.picked_quantity
  );

/** Where the list of what changed is read to its end. */
async function endOfChanges(of: Tenant): Promise<string> {
  await settled(of.id, ["warehousing.picking_orders"]);
  let query: Record<string, string> = { updated_since: "2000-01-01" };
  for (;;) {
    const { body } = await of.ops.get(path, { query });
    if (!body.has_more) return body.next_cursor;
    query = { cursor: body.next_cursor };
  }
}

/** The orders that changed since: ids and picked quantities. */
async function changedSince(of: Tenant, cursor: string) {
  await settled(of.id, ["warehousing.picking_orders"]);
  const { body } = await of.ops.get(path, { query: { cursor } });
  return body.orders.map((order: Body) => [
    order.id,
    order.item_details.map((one: Body) => one.picked_quantity),
  ]);
}

test("a report of a picker makes the tag old that somebody changes the order with", async () => {
  const { id, item_details } = await begun();
  const tag = await tagOf(id);
  expect(await report(id, 5)).toSucceed(200);
  expect(await tagOf(id)).not.toBe(tag);
  const whole = { status: "in_progress", item_details };
  const stale = await tenant.ops.put(`${path}/${id}`, whole, { headers: { "if-match": tag } });
  expect(stale).toFailWith(412, "version_conflict");
  expect(await pickedOf(id)).toEqual([5]);
  const fresh = await tenant.ops.put(`${path}/${id}`, whole, {
    headers: { "if-match": await tagOf(id) },
  });
  expect(fresh).toSucceed(200);
  expect(await pickedOf(id)).toEqual([0]);
});

test("a report with the tag of what was read is taken while it is still so; without one, always", async () => {
  const { id } = await begun();
  const tag = await tagOf(id);
  const first = await report(id, 1, tag);
  expect(first).toSucceed(200);
  const stale = await report(id, 2, tag);
  expect(stale).toFailWith(412, "version_conflict");
  expect(await pickedOf(id)).toEqual([1]);
  expect(await report(id, 3, strong(first))).toSucceed(200);
  expect(await report(id, 4)).toSucceed(200);
  expect(await pickedOf(id)).toEqual([4]);
});

test("of ten reports with one tag at the same moment exactly one is taken", async () => {
  const { id } = await begun();
  for (let round = 0; round < 3; round++) {
    const tag = await tagOf(id);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => report(id, n % 6, tag)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(412)]);
    const won = answers.find(({ status }) => status === 200)!;
    expect(await pickedOf(id)).toEqual([won.body.order.item_details[0].picked_quantity]);
  }
});

test("who follows what changed sees every report, by the cursor and by the time", async () => {
  const { id } = await begun();
  const cursor = await endOfChanges(tenant);
  expect(await changedSince(tenant, cursor)).toEqual([]);
  const before = (await tenant.ops.get(`${path}/${id}`)).body.order.updated_at;
  expect(await report(id, 2)).toSucceed(200);
  expect(await changedSince(tenant, cursor)).toEqual([[id, [2]]]);
  const { updated_at } = (await tenant.ops.get(`${path}/${id}`)).body.order;
  expect(Date.parse(updated_at)).toBeGreaterThan(Date.parse(before));
  const since = await tenant.ops.get(path, { query: { updated_since: updated_at } });
  expect(since.body.orders).toMatchObject([{ id, item_details: [{ picked_quantity: 2 }] }]);
});

test("an order of which nothing new is reported stays as it is", async () => {
  const at = await newShelf(tenant, 5);
  const order = await newOrder({ status: "completed" }, at);
  const tag = await tagOf(order.id);
  const same = {
    status: "completed",
    items: [{ item_id: at.item, bin_id: at.bin, picked_quantity: 2 }],
  };
  expect(await tenant.ops.post(`${path}/${order.id}/progress`, same)).toSucceed(200);
  expect(await tagOf(order.id)).toBe(tag);
  await checkStock(tenant);
});

test("a store that sends an order without what was missing changes its pick", async () => {
  const shop = await newSplitShop({ first: 3, second: 0, picking: true });
  const { tenant: store } = shop;
  const { id: order_id } = await placeOrder(shop, "cash", 3);
  await approveOrder(shop, order_id);
  const [{ id }] = await picksOf(order_id);
  expect(await pick(shop, id, 1)).toSucceed(200);
  const cursor = await endOfChanges(store);
  expect(await store.admin.post(`/storefront/orders/${order_id}/accept-short`)).toSucceed(200);
  expect(await changedSince(store, cursor)).toEqual([[id, [1]]]);
  const [{ quantity }] = await sql`select quantity::int from warehousing.picking_order_items
    where picking_order_id = ${id}`;
  expect(quantity).toBe(1);
});
