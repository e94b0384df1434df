/** A cart says of each line how many can be ordered now. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { approveOrder } from "../../support/order-goods.ts";
import { newCart, newShop, placeOrder, type Shop } from "../../support/orders.ts";
import { newBin, newWarehouse, stockIn } from "../../support/warehouses.ts";

/** The only line of a cart, as its customer reads it. */
const lineOf = async ({ tenant }: Shop, cart: string) =>
  (await tenant.customer.get(`/storefront/carts/${cart}`)).body.data.items[0];

test("as many as are available in all warehouses, without what is set aside", async () => {
  const shop = await newShop({ stock: 5 });
  const { tenant, shelf } = shop;
  const { id } = await placeOrder(shop, "cash", 2);
  await approveOrder(shop, id);
  const cart = await newCart(shop, 9);
  expect(await lineOf(shop, cart)).toMatchObject({
    quantity: 9,
    available: true,
    availableQuantity: 3,
  });
  const warehouse = await newWarehouse(tenant);
  const there = { item_id: shelf.item, warehouse_id: warehouse };
  await stockIn(tenant, { ...there, bin_id: await newBin(tenant, warehouse), quantity: 4 });
  expect(await lineOf(shop, cart)).toMatchObject({ availableQuantity: 7 });
  const [{ id: item }] = await sql`select id from storefront.cart_items where cart_id = ${cart}`;
  const answer = await tenant.customer.put(`/storefront/carts/${cart}/items/${item}`, {
    quantity: 7,
  });
  expect(answer.body.data.items).toMatchObject([{ quantity: 7, availableQuantity: 7 }]);
});

test("never more than a cart takes; none of what is sold out or not on sale; null of what is not kept in stock", async () => {
  const shop = await newShop({ stock: 5_000 });
  const { tenant, shelf, product } = shop;
  const cart = await newCart(shop);
  expect((await lineOf(shop, cart)).availableQuantity).toBe(999);
  await sql`update storefront.product_variants set is_active = false where id = ${product.variant}`;
  expect(await lineOf(shop, cart)).toMatchObject({ available: false, availableQuantity: 0 });
  await sql`update storefront.product_variants set is_active = true, inventory_item_id = null
    where id = ${product.variant}`;
  expect(await lineOf(shop, cart)).toMatchObject({ available: true, availableQuantity: null });
  const [empty] = await sql`insert into warehousing.inventory_items ${
    sql({ tenant_id: tenant.id, sku: "EMPTY", name: "Empty" })
  } returning id`;
  await sql`update storefront.product_variants set inventory_item_id = ${empty.id}
    where id = ${product.variant}`;
  expect(await lineOf(shop, cart)).toMatchObject({ available: true, availableQuantity: 0 });
  expect(shelf.item).not.toBe(empty.id);
});

test("of another company's stock a cart knows nothing", async () => {
  const [shop, other] = await Promise.all([newShop({ stock: 1 }), newShop({ stock: 8 })]);
  const rows = await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${shop.tenant.id}, true)`;
    return await tx`select storefront.item_available(${other.shelf.item})::int as theirs,
      storefront.item_available(${shop.shelf.item})::int as own`;
  });
  expect(rows).toEqual([{ theirs: 0, own: 1 }]);
});
