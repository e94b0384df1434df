/** A receipt with two lines of one item, as an order of two variants of it leaves when it comes back: an entry by the item is about both. */
import { beforeAll, beforeEach, expect, test } from "vitest";
import { receiptOf, receive } from "../../support/back-from-customer.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { checkAll, newCart, orderOf, type Shop } from "../../support/orders.ts";
import { newProduct } from "../../support/storefront.ts";
import { unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
let other: string;
let id: string;
let receipt: string;
let before: Record<string, number>;

beforeAll(async () => {
  shop = await newSplitShop({ first: 100, second: 0 });
  other = (await newProduct(shop.tenant, shop.store)).variant;
  await sql`update storefront.product_variants set inventory_item_id = ${shop.shelf.item} where id = ${other}`;
});

/** Two units of the one variant and one of the other are back in the warehouse, and wait to be received. */
beforeEach(async () => {
  const cart = await newCart(shop, 2);
  await sql`insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
    values (${shop.tenant.id}, ${cart}, ${other}, 1)`;
  const answer = await shop.tenant.customer.post("/storefront/orders/confirm", orderOf(shop, cart));
  expect(answer).toSucceed(201);
  id = answer.body.order.id;
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await bring(shop, delivery_id, "returned");
  receipt = (await receiptOf(delivery_id)).id;
  before = await unitsOf(shop.shelf.item);
});

const take = (entry: object, ...more: object[]) =>
  receive(shop, receipt, { item_details: [{ item_id: shop.shelf.item, ...entry }, ...more] });

/** [received_quantity, damaged_quantity, condition] of each line. */
const lines = async () =>
  (await sql`select received_quantity, damaged_quantity, condition from warehousing.receiving_order_items
    where receiving_order_id = ${receipt} order by position`).map((line) => [
    Number(line.received_quantity),
    Number(line.damaged_quantity),
    line.condition,
  ]);

async function cameIn(available: number, damaged = 0) {
  const now = await unitsOf(shop.shelf.item);
  expect([
    (now.available ?? 0) - (before.available ?? 0),
    (now.damaged ?? 0) - (before.damaged ?? 0),
  ]).toEqual([available, damaged]);
  await checkAll(shop.tenant);
}

test.each([
  [1, [1, 0]],
  [2, [2, 0]],
  [3, [2, 1]],
  [0, [0, 0]],
])("%i of three fill the lines in their order", async (units, filled) => {
  const entry = { received_quantity: units };
  expect(await take(entry)).toSucceed(200);
  expect((await lines()).map(([received]) => received)).toEqual(filled);
  await cameIn(units);
  const found = Object.entries({ back: units, lost: 3 - units }).filter(([, count]) => count);
  expect(await whereabouts(id)).toEqual(Object.fromEntries(found));
  expect(await take(entry)).toSucceed(200);
  for (const count of [0, 1, 2, 3].filter((one) => one !== units)) {
    expect(await take({ received_quantity: count }))
      .toFailWith(409, "invalid_status_transition");
  }
  await cameIn(units);
});

test.each([
  [{ damaged_quantity: 1 }, [[2, 0, "good"], [1, 1, "damaged"]], 1],
  [{ damaged_quantity: 2 }, [[2, 1, "damaged"], [1, 1, "damaged"]], 2],
  [{ received_quantity: 2, damaged_quantity: 1 }, [[2, 1, "damaged"], [0, 0, "good"]], 1],
  [{ received_quantity: 2, damaged_quantity: 0 }, [[2, 0, "good"], [0, 0, "good"]], 0],
  [{ condition: "damaged" }, [[2, 2, "damaged"], [1, 1, "damaged"]], 3],
])("of %j the last are damaged", async (entry, written, damaged) => {
  expect(await take(entry)).toSucceed(200);
  expect(await lines()).toEqual(written);
  const { received_quantity = 3 } = entry as { received_quantity?: number };
  await cameIn(received_quantity - damaged, damaged);
  expect(await take(entry)).toSucceed(200);
  expect(
    await take({ ...entry, condition: undefined, damaged_quantity: damaged ? damaged - 1 : 1 }),
  )
    .toFailWith(409, "invalid_status_transition");
});

test("more than came of both is refused, and so is an entry for one of them beside it", async () => {
  const much = await take({ received_quantity: 4 });
  expect(much).toFailWith(400, "received_too_much");
  expect(much.body).toMatchObject({ field: "item_details.0.received_quantity", expected: 3 });
  const damaged = await take({ received_quantity: 2, damaged_quantity: 3 });
  expect(damaged).toFailWith(400, "damaged_too_much");
  expect(await take({ received_quantity: 1 }, {})).toFailWith(400, "item_named_twice");
  expect(await take({}, { item_id: shop.shelf.item })).toFailWith(400, "item_named_twice");
  await cameIn(0);
});

test("entries without an item are about a line each", async () => {
  const item_details = [{ received_quantity: 1 }, { received_quantity: 1, damaged_quantity: 1 }];
  expect(await receive(shop, receipt, { item_details })).toSucceed(200);
  expect(await lines()).toEqual([[1, 0, "good"], [1, 1, "damaged"]]);
  await cameIn(1, 1);
  expect(await whereabouts(id)).toEqual({ back: 2, lost: 1 });
});
