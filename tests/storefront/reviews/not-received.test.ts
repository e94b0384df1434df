/** A delivered order of which something did not come: it was short, or its parcel was refused. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, picksOf } from "../../support/order-goods.ts";
import { newCart, orderOf, type Shop } from "../../support/orders.ts";
import { newProduct } from "../../support/storefront.ts";
import { newItem, stockIn } from "../../support/warehouses.ts";

/** A second product, which lies in this bin. */
async function addProduct(shop: Shop, { warehouse, bin }: { warehouse: string; bin: string }) {
  const item = await newItem(shop.tenant);
  await stockIn(shop.tenant, { item_id: item, warehouse_id: warehouse, bin_id: bin, quantity: 1 });
  const product = await newProduct(shop.tenant, shop.store);
  await sql`update storefront.product_variants set inventory_item_id = ${item}
    where id = ${product.variant}`;
  return { ...product, item };
}

/** One of each product, ordered and approved. */
async function order(shop: Shop, second: { variant: string }) {
  const cart = await newCart(shop);
  await sql`insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
    values (${shop.tenant.id}, ${cart}, ${second.variant}, 1)`;
  const placed = await shop.tenant.customer.post("/storefront/orders/confirm", orderOf(shop, cart));
  expect(placed).toSucceed(201);
  const { id } = placed.body.order;
  const { deliveries } = await approveOrder(shop, id);
  return { id, deliveries: deliveries as { delivery_id: string; items: { sku: string }[] }[] };
}

const review = (shop: Shop, { id }: { id: string }) =>
  shop.tenant.customer.post(`/storefront/products/${id}/reviews`, { rating: 1 });

test("what was left out of an order is not reviewed", async () => {
  const shop = await newSplitShop({ first: 1, second: 0, picking: true });
  const missing = await addProduct(shop, shop.shelf);
  const { id, deliveries: [{ delivery_id }] } = await order(shop, missing);
  const [task] = await picksOf(id);
  const path = `/warehousing/picking-orders/${task!.id}`;
  const { order: { item_details } } = (await shop.tenant.ops.get(path)).body;
  expect(
    await shop.tenant.ops.put(path, {
      status: "completed",
      item_details: item_details.map(
        (line: { item_id: string; bin_id: string; quantity: number }) => {
          const { item_id, bin_id, quantity } = line;
          const found = item_id !== missing.item;
          return {
            item_id,
            bin_id,
            quantity,
            picked_quantity: found ? quantity : 0,
            status: found ? "picked" : "missing",
          };
        },
      ),
    }),
  ).toSucceed(200);
  expect(await shop.tenant.admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  await bring(shop, delivery_id, "delivered");
  expect(await review(shop, missing)).toFailWith(403, "review_requires_purchase");
  expect(await review(shop, shop.product)).toSucceed(201);
});

test("what came back with its parcel is not reviewed", async () => {
  const shop = await newSplitShop({ first: 1, second: 0 });
  const refused = await addProduct(shop, shop.second);
  const { deliveries } = await order(shop, refused);
  expect(deliveries).toHaveLength(2);
  for (const { delivery_id, items } of deliveries) {
    await bring(shop, delivery_id, items[0]!.sku === refused.sku ? "returned" : "delivered");
  }
  expect(await review(shop, refused)).toFailWith(403, "review_requires_purchase");
  expect(await review(shop, shop.product)).toSucceed(201);
});
