/** The size of an order whose goods are measured in part: what is measured counts in any case. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { approveOrder } from "../../support/order-goods.ts";
import { checkAll, newCart, newShop, orderOf, type Shop } from "../../support/orders.ts";
import { newProduct } from "../../support/storefront.ts";

const confirm = "/storefront/orders/confirm";

/** A cart with 4 of what is kept in stock, and 3 of something that is not. */
async function mixedCart(shop: Shop, measured = 4): Promise<string> {
  const cart = await newCart(shop, measured);
  const card = await newProduct(shop.tenant, shop.store, { price: 0 });
  await sql`insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
    values (${shop.tenant.id}, ${cart}, ${card.variant}, 3)`;
  return cart;
}

test.each(
  [
    // The service takes 2 to 20 units of 1,000.
    ["service_min", 6],
    ["service_half", 15],
    ["service_max", 20],
    [null, 5],
  ] as const,
)(
  "with the fallback %s an order of 4 measured units and others has %i",
  async (fallback, units) => {
    const shop = await newShop({
      settings: { "general.unit_size": fallback ? { missing_unit_size_fallback: fallback } : {} },
    });
    await sql`update delivery.delivery_services set unit_min = 2, unit_max = 20 where id = ${shop.service}`;
    const placed = await shop.tenant.customer.post(confirm, orderOf(shop, await mixedCart(shop)));
    expect(placed).toSucceed(201);
    expect(placed.body.order.deliveryFee).toBe(units * 1_000);
    await approveOrder(shop, placed.body.order.id);
    const made = await sql`select unit_size::float, delivery_fee from delivery.deliveries
    where order_id = ${placed.body.order.id}`;
    expect(made).toEqual([{ unit_size: units, delivery_fee: units * 1_000 }]);
    await checkAll(shop.tenant);
  },
);

test("what is measured and too large for the service is refused, whatever else is in the cart", async () => {
  const shop = await newShop();
  await sql`update delivery.delivery_services set unit_max = 3 where id = ${shop.service}`;
  const refused = await shop.tenant.customer.post(confirm, orderOf(shop, await mixedCart(shop)));
  expect(refused).toFailWith(400, "can_not_use_this_delivery_for_this_unit_size");
  expect(refused.body).toMatchObject({ calculated_unit_size: 4 });
  // At the service's most, a guess refuses nothing.
  const full = await shop.tenant.customer.post(confirm, orderOf(shop, await mixedCart(shop, 3)));
  expect(full).toSucceed(201);
  expect(full.body.order.deliveryFee).toBe(3_000);
});
