/** Orders that cost more or less than their goods: with a tax, or with a discount since less was paid and accepted. */
import { expect } from "vitest";
import { sql } from "./db.ts";
import { newSplitShop } from "./order-goods.ts";
import { newCart, orderOf, type Placed, placeOrder, type Shop } from "./orders.ts";
import { eventFor, numberOf, report, takeCards } from "./payments.ts";
import type { Person } from "./api.ts";
import { newProduct } from "./storefront.ts";
import { newItem, stockIn } from "./warehouses.ts";

/** A shop whose product costs `price` and whose delivery costs `fee` a unit; it takes cards. */
export async function newPricedShop(
  { price, fee, ...options }: { price: number; fee: number } & Parameters<typeof newSplitShop>[0],
) {
  const shop = await newSplitShop({ picking: true, ...options });
  await takeCards(shop);
  await sql`update storefront.product_variants set price = ${price} where id = ${shop.product.variant}`;
  await sql`update delivery.delivery_services set default_price = ${fee} where id = ${shop.service}`;
  return shop;
}

/** A shop with one product at 9,000 and one at 1,000, whose delivery is free; the two may lie in two warehouses. */
export async function newTwoGoodsShop({ apart = false } = {}) {
  const shop = await newPricedShop({ price: 9_000, fee: 0, first: 100, second: 0 });
  const cheap = await newProduct(shop.tenant, shop.store, { price: 1_000 });
  const item = await newItem(shop.tenant);
  await sql`update storefront.product_variants set inventory_item_id = ${item} where id = ${cheap.variant}`;
  await stockIn(shop.tenant, {
    item_id: item,
    warehouse_id: apart ? shop.second.warehouse : shop.shelf.warehouse,
    bin_id: apart ? shop.second.bin : shop.shelf.bin,
    quantity: 100,
  });
  return { ...shop, cheap: { ...cheap, item } };
}

/** Orders one of each of its products. */
export async function placeBoth(
  shop: Awaited<ReturnType<typeof newTwoGoodsShop>>,
  method: "cash" | "razorpay",
  customer: Person,
): Promise<Placed> {
  const cart = await newCart(shop, 1, customer.id);
  await sql`insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
    values (${shop.tenant.id}, ${cart}, ${shop.cheap.variant}, 1)`;
  const answer = await customer.post("/storefront/orders/confirm", orderOf(shop, cart, method));
  expect(answer).toSucceed(201);
  return { id: answer.body.order.id, instructions: answer.body.instructions, answer };
}

/** An order of so many units for which `amount` was paid by card, which the shop accepts. */
export async function placePaid(
  shop: Shop,
  quantity: number,
  amount: number,
  customer: Person,
): Promise<Placed> {
  const placed = await placeOrder(shop, "razorpay", quantity, customer);
  await acceptPaid(shop, placed, amount);
  return placed;
}

/** The gateway reports `amount`, less than the order costs, and the shop accepts it. */
export async function acceptPaid(shop: Shop, placed: Placed, amount: number): Promise<void> {
  const { admin } = shop.tenant;
  expect(await report(eventFor(shop, numberOf(placed), amount))).toMatchObject({ status: 200 });
  const open = await admin.get("/payment/webhook-events", { query: { open: true, limit: 100 } });
  const { id } = open.body.data.find((event: { order_id: string }) => event.order_id === placed.id);
  const answer = await admin.post(`/payment/webhook-events/${id}/resolve`, {
    resolution: "accepted",
    action: "accept",
  });
  expect(answer).toSucceed(200);
}

/** Gives an order that waits for its payment a tax and a discount, which no request can. */
export async function agree(
  id: string,
  { tax = 0, discount = 0 }: { tax?: number; discount?: number },
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update storefront.storefront_orders set tax_amount = ${tax}, discount_amount = ${discount},
      total_price = subtotal + ${tax} + shipping_cost - ${discount} where id = ${id}`;
    await tx`update money.payments p set amount = o.total_price from storefront.storefront_orders o
      where o.id = ${id} and p.order_id = o.id and p.status = 'pending'`;
  });
}

/** Notes of a pick so many of each of these items, of the others none, and ends the picking. */
export async function pickItems(
  { tenant }: Shop,
  pick: string,
  found: Record<string, number>,
): Promise<void> {
  const path = `/warehousing/picking-orders/${pick}`;
  const { order } = (await tenant.ops.get(path)).body;
  const item_details = order.item_details.map((
    { item_id, bin_id, quantity }: { item_id: string; bin_id: string; quantity: number },
  ) => ({
    ...{ item_id, bin_id, quantity, picked_quantity: found[item_id] ?? 0 },
    status: (found[item_id] ?? 0) === quantity ? "picked" : "missing",
  }));
  expect(await tenant.ops.put(path, { status: "completed", item_details })).toSucceed(200);
}
