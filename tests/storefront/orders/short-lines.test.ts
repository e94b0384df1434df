/** An order of several lines of which one was cut: what is said of its pick and of its receipts is said of the lines that are left. */
import { beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import { approveOrder, newSplitShop, picksOf, whereabouts } from "../../support/order-goods.ts";
import { checkAll, newCart, orderOf, type Shop } from "../../support/orders.ts";
import { newProduct } from "../../support/storefront.ts";
import { newBin, newItem, stockIn } from "../../support/warehouses.ts";

let shop: Shop;
/** Variants of the goods B and C, beside the shop's own, which is A. */
let others: string[];
beforeAll(async () => {
  shop = await newSplitShop({ first: 100, second: 0, picking: true });
  others = [];
  for (const name of ["B", "C"]) {
    const item = await newItem(shop.tenant, { name });
    await inBin(item, shop.shelf.bin, 100);
    others.push(await soldAs(item));
  }
});

const inBin = (item_id: string, bin_id: string, quantity: number) =>
  stockIn(shop.tenant, { item_id, warehouse_id: shop.shelf.warehouse, bin_id, quantity });

async function soldAs(item: string): Promise<string> {
  const { variant } = await newProduct(shop.tenant, shop.store);
  await sql`update storefront.product_variants set inventory_item_id = ${item}
    where id = ${variant}`;
  return variant;
}

/** Approves an order of so many of each; answers it, its delivery and its pick. */
async function approved(quantities: Record<string, number>) {
  const cart = await newCart(shop);
  await sql`delete from storefront.cart_items where cart_id = ${cart}`;
  for (const [variant, quantity] of Object.entries(quantities)) {
    await sql`insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
      values (${shop.tenant.id}, ${cart}, ${variant}, ${quantity})`;
  }
  const made = await shop.tenant.customer.post("/storefront/orders/confirm", orderOf(shop, cart));
  expect(made).toSucceed(201);
  const { id } = made.body.order;
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  const [task] = await picksOf(id);
  return { id: id as string, delivery: delivery_id as string, task: task!.id as string };
}

const picking = (task: string) => `/warehousing/picking-orders/${task}`;
const linesOf = async (task: string): Promise<Body[]> =>
  (await shop.tenant.ops.get(picking(task))).body.order.item_details;
const counted = (lines: Body[]) => lines.map((one) => [one.quantity, one.picked_quantity]);

/** Ends a pick of which nothing was found in its first line, and all in the others; the shop accepts that. */
async function firstIsCut({ id, task }: { id: string; task: string }) {
  const [first, ...rest] = await linesOf(task);
  const ended = await shop.tenant.ops.post(`${picking(task)}/progress`, {
    status: "completed",
    items: [first!, ...rest].map(({ item_id, bin_id, quantity }, place) => ({
      item_id,
      bin_id,
      picked_quantity: place === 0 ? 0 : quantity,
    })),
  });
  expect(ended).toSucceed(200);
  expect(await shop.tenant.admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  return rest;
}

const written = (lines: Body[], ...picked: number[]) =>
  lines.map(({ item_id, bin_id, quantity }, place) => ({
    item_id,
    bin_id,
    quantity,
    picked_quantity: picked[place],
  }));

test("a note with the lines of its pick as they are leaves them as they are", async () => {
  const order = await approved({ [shop.product.variant]: 1, [others[0]!]: 5, [others[1]!]: 2 });
  const [b, c] = await firstIsCut(order);
  const whole = [b!.quantity, c!.quantity];
  const answer = await shop.tenant.ops.put(picking(order.task), {
    notes: "on the trolley",
    item_details: written([b!, c!], ...whole),
  });
  expect(answer).toSucceed(200);
  expect(counted(answer.body.order.item_details)).toEqual(whole.map((units) => [units, units]));
  await assign(shop.tenant, order.delivery);
  await moves(shop.tenant.driver, order.delivery, "pickup", "depart", "complete");
  await checkAll(shop.tenant);
});

test("less that is found of a line of its pick is recorded of that line", async () => {
  const order = await approved({ [shop.product.variant]: 1, [others[0]!]: 5, [others[1]!]: 2 });
  const [b, c] = await firstIsCut(order);
  const less = await shop.tenant.ops.put(picking(order.task), {
    item_details: written([b!, c!], b!.quantity, c!.quantity - 1),
  });
  expect(less).toSucceed(200);
  expect(counted(less.body.order.item_details)).toEqual([
    [b!.quantity, b!.quantity],
    [c!.quantity, c!.quantity - 1],
  ]);
  expect(less.body.order.item_details[1].status).toBe("short");
  expect((await whereabouts(order.id)).reserved).toBe(1);
  await checkAll(shop.tenant);
});

test("goods of two bins, none found in the first: a report of less in the second is not lost", async () => {
  const item = await newItem(shop.tenant, { name: "Two bins" });
  await inBin(item, shop.shelf.bin, 2);
  await inBin(item, await newBin(shop.tenant, shop.shelf.warehouse), 3);
  const order = await approved({ [await soldAs(item)]: 5 });
  const [second] = await firstIsCut(order);
  const found = second!.quantity - 1;
  const less = await shop.tenant.ops.post(`${picking(order.task)}/progress`, {
    status: "completed",
    items: [{ item_id: item, bin_id: second!.bin_id, picked_quantity: found }],
  });
  expect(less).toSucceed(200);
  expect(counted(less.body.order.item_details)).toEqual([[second!.quantity, found]]);
  expect(await linesOf(order.task)).toMatchObject([{ picked_quantity: found, status: "short" }]);
  await checkAll(shop.tenant);
});

test.each(["driver", "shop"])("brought back by the %s, it is received by place", async (by) => {
  const order = await approved({ [shop.product.variant]: 1, [others[0]!]: 5 });
  const [left] = await firstIsCut(order);
  const { driver, ops, admin } = shop.tenant;
  if (by === "driver") {
    await assign(shop.tenant, order.delivery);
    await moves(driver, order.delivery, "pickup", "depart", "fail", "return");
  } else {
    await moves(ops, order.delivery, ["cancel", { reason: "Own van" }]);
    expect(await admin.put(`/storefront/orders/${order.id}/ship`)).toSucceed(200);
    const back = await admin.put(`/storefront/orders/${order.id}/return`, { reason: "other" });
    expect(back).toSucceed(200);
  }
  const [{ receiving_order_id }] = await sql`select receiving_order_id
    from storefront.storefront_order_parts where order_id = ${order.id}`;
  const receipt = `/warehousing/receiving-orders/${receiving_order_id}`;
  const line = { bin_id: shop.shelf.bin, received_quantity: left!.quantity - 1 };
  const body = { status: "received", item_details: [line] };
  const answer = await ops.put(receipt, body);
  expect(answer).toSucceed(200);
  expect(answer.body.order.item_details).toMatchObject([{ item_id: left!.item_id, ...line }]);
  expect((await ops.put(receipt, body)).body.order).toEqual(answer.body.order);
  expect(await ops.put(receipt, { ...body, item_details: [line, line] }))
    .toFailWith(409, "invalid_status_transition");
  await checkAll(shop.tenant);
});
