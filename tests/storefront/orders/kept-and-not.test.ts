/** An order of goods that a warehouse keeps, and of goods that nobody keeps in stock, comes back to its store. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import {
  approveOrder,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { checkAll, newCart, orderOf, type Shop } from "../../support/orders.ts";
import { newProduct } from "../../support/storefront.ts";
import { unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
let unkept: string;
beforeAll(async () => {
  shop = await newSplitShop({ first: 100, second: 0 });
  unkept = (await newProduct(shop.tenant, shop.store)).variant;
});

/** Orders so many of what is kept, and three of what is not. */
async function ordered(kept: number) {
  const cart = await newCart(shop, Math.max(kept, 1));
  if (kept === 0) await sql`delete from storefront.cart_items where cart_id = ${cart}`;
  await sql`insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
    values (${shop.tenant.id}, ${cart}, ${unkept}, 3)`;
  const answer = await shop.tenant.customer.post("/storefront/orders/confirm", orderOf(shop, cart));
  expect(answer).toSucceed(201);
  const { id } = answer.body.order;
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  return { id: id as string, delivery: delivery_id as string };
}

async function received(receipt: string, lines: object[], item_details?: object[]) {
  const at = `/warehousing/receiving-orders/${receipt}`;
  expect((await shop.tenant.warehouse.get(at)).body.order.item_details).toMatchObject(lines);
  expect((await shop.tenant.warehouse.get(at)).body.order.item_details).toHaveLength(lines.length);
  const answer = await shop.tenant.ops.put(at, { status: "received", item_details });
  expect(answer).toSucceed(200);
}

const parcelItems = async () =>
  (await sql`select count(*)::int as n from warehousing.inventory_items
    where tenant_id = ${shop.tenant.id} and parcel_delivery_id is not null`)[0].n;

test("by its driver: what is kept is stock again, and the rest is back without being any", async () => {
  const before = (await unitsOf(shop.shelf.item)).available!;
  const { id, delivery } = await ordered(2);
  await assign(shop.tenant, delivery);
  await moves(shop.tenant.driver, delivery, "pickup", "depart", "fail");
  const { receiving_order_id } = await moves(shop.tenant.driver, delivery, "return");
  await received(receiving_order_id, [{ item_id: shop.shelf.item, quantity: 2 }]);
  expect((await unitsOf(shop.shelf.item)).available).toBe(before);
  expect(await whereabouts(id)).toEqual({ back: 5 });
  expect(await parcelItems()).toBe(0);
  await checkAll(shop.tenant);
});

test("by the shop itself: the rest is not lost", async () => {
  const { id, delivery } = await ordered(2);
  await moves(shop.tenant.ops, delivery, ["cancel", { reason: "Own van" }]);
  const { admin } = shop.tenant;
  expect(await admin.put(`/storefront/orders/${id}/ship`)).toSucceed(200);
  expect(await admin.put(`/storefront/orders/${id}/return`, { reason: "other" })).toSucceed(200);
  const [{ receiving_order_id }] = await sql`select receiving_order_id
    from storefront.storefront_order_parts where order_id = ${id}`;
  expect(await whereabouts(id)).toEqual({ out: 5 });
  await received(receiving_order_id, [{ item_id: shop.shelf.item, quantity: 2 }], [
    { received_quantity: 1 },
  ]);
  expect(await whereabouts(id)).toEqual({ back: 4, lost: 1 });
  await checkAll(shop.tenant);
});

test("of such goods alone it is a parcel, which is counted", async () => {
  const { id, delivery } = await ordered(0);
  await assign(shop.tenant, delivery);
  await moves(shop.tenant.driver, delivery, "pickup", "depart", "fail");
  const { receiving_order_id } = await moves(shop.tenant.driver, delivery, [
    "return",
    { warehouse_id: shop.shelf.warehouse },
  ]);
  await received(receiving_order_id, [{ quantity: 3 }], [{ received_quantity: 2 }]);
  expect(await whereabouts(id)).toEqual({ back: 2, lost: 1 });
  await checkAll(shop.tenant);
});

test("none of what is kept is found: the rest is brought by another delivery after a cancelled one", async () => {
  const { id, delivery } = await ordered(2);
  const { admin, ops, driver } = shop.tenant;
  const [task] = await picksOf(id);
  expect(await pick(shop, task.id, 0)).toSucceed(200);
  expect(await admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  await moves(ops, delivery, ["cancel", { reason: "Own van" }]);
  const answer = await admin.post(`/storefront/orders/${id}/redeliver`);
  expect(answer).toSucceed(200);
  const [{ delivery_id, items }] = answer.body.data.order.deliveries;
  expect(items).toMatchObject([{ quantity: 3 }]);
  await assign(shop.tenant, delivery_id);
  await moves(driver, delivery_id, "pickup", "depart", "complete");
  expect(await whereabouts(id)).toEqual({ delivered: 3, short: 2 });
  await checkAll(shop.tenant);
});
