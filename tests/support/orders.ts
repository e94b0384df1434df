/** A shop that sells what a warehouse holds, and people who buy there. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { priceOf } from "../prove/invariants/orders.ts";
import type { Answer, Person } from "./api.ts";
import { sql } from "./db.ts";
import { fundWallet, newService } from "./money.ts";
import { newTenant, type Tenant } from "./people.ts";
import { booksOf, stockOf, totalsOf } from "./reconciled.ts";
import { newProduct, newStore, type Store } from "./storefront.ts";
import { newShelf, type Shelf } from "./warehouses.ts";

export const methods = {
  cash: "5a1e0000-0000-4000-8000-000000000001",
  wallet: "5a1e0000-0000-4000-8000-000000000002",
  gatewayone: "5a1e0000-0000-4000-8000-000000000003",
  razorpay: "5a1e0000-0000-4000-8000-000000000004",
};
export const returnHost = "shop.example.com";
export const backRef = `https://${returnHost}/thanks?order=1`;

export interface Shop {
  tenant: Tenant;
  store: Store;
  shelf: Shelf;
  product: { id: string; variant: string; sku: string };
  service: string;
  /** Of the razorpay account; events name it. */
  account: string;
}

/**
 * A live shop with one product at 5,000 of which `stock` lie in a warehouse; delivery costs 1,000 a unit. Unless it is
 * `picking`, goods leave without having been picked before.
 */
export async function newShop(
  { stock = 10, auto = true, picking = false, settings = {} }: {
    stock?: number;
    auto?: boolean;
    picking?: boolean;
    settings?: Record<string, Record<string, unknown>>;
  } = {},
): Promise<Shop> {
  const tenant = await newTenant({
    settings: {
      "general.storefront": { return_hosts: [returnHost], picking_required: picking },
      ...settings,
    },
  });
  const shelf = await newShelf(tenant, stock);
  const store = await newStore(tenant, {
    settings: sql.json({
      currency: "IQD",
      auto_create_delivery: auto,
      payment_methods: ["wallet", "cash_on_delivery", "gateway"],
    }),
  });
  const product = await newProduct(tenant, store);
  await sql`update storefront.product_variants set inventory_item_id = ${shelf.item}
    where id = ${product.variant}`;
  const service = await newService(tenant);
  const account = `acc_${randomUUID().replaceAll("-", "").slice(0, 14)}`;
  return { tenant, store, shelf, product, service, account };
}

/** A cart of the shop with so many of its product. */
export async function newCart(
  { tenant, store, product }: Shop,
  quantity = 1,
  customer = tenant.customer.id,
): Promise<string> {
  await sql`update storefront.carts set status = 'abandoned'
    where tenant_id = ${tenant.id} and customer_id = ${customer} and status = 'active'`;
  const [cart] = await sql`insert into storefront.carts (tenant_id, market_id, customer_id)
    values (${tenant.id}, ${store.id}, ${customer}) returning id`;
  await sql`insert into storefront.cart_items (tenant_id, cart_id, variant_id, quantity)
    values (${tenant.id}, ${cart.id}, ${product.variant}, ${quantity})`;
  return cart.id;
}

export const home = {
  full_address: "Street 14, house 3",
  city: "Baghdad",
  country: "IQ",
  contact_info: { phone: "+9647701234567", email: "buyer@example.test" },
};

/** The body that a customer sends to order a cart. */
export function orderOf(
  shop: Shop,
  cart: string,
  method: keyof typeof methods = "cash",
): Record<string, unknown> {
  return {
    cartId: cart,
    marketId: shop.store.id,
    deliveryServiceId: shop.service,
    paymentMethodTypeId: methods[method],
    address: home,
    save_to_address_book: false,
    ...(method === "gatewayone" || method === "razorpay" ? { backRef } : {}),
  };
}

export interface Placed {
  id: string;
  instructions: { redirect_url: string; gateway_order_id: string; expires_at: string };
  answer: Answer;
}

/** Orders so many of the product. Wallets are filled first. */
export async function placeOrder(
  shop: Shop,
  method: keyof typeof methods = "cash",
  quantity = 1,
  customer: Person = shop.tenant.customer,
): Promise<Placed> {
  if (method === "wallet") {
    await fundWallet(shop.tenant, "customer", customer.id, 5_000 * quantity + 1_000 * quantity);
  }
  const cart = await newCart(shop, quantity, customer.id);
  const answer = await customer.post(
    "/storefront/orders/confirm",
    orderOf(shop, cart, method),
  );
  expect(answer).toSucceed(201);
  return { id: answer.body.order.id, instructions: answer.body.instructions, answer };
}

/** How an order stands in the database. */
export async function standing(order: string) {
  const [row] = await sql`select o.status, o.payment_status,
      (select coalesce(sum(s.quantity), 0)::int from warehousing.stock s
        where s.reserved_for_id = o.id and s.quantity > 0) as reserved,
      (select count(*)::int from money.payments p
        where p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS') as paid,
      (select count(*)::int from money.payments p
        where p.order_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS') as refunds
    from storefront.storefront_orders o where o.id = ${order}`;
  return row;
}

/** Books and stock of everybody are right, and orders are paid exactly when a payment says so. */
export async function checkAll(tenant: { id: string }): Promise<void> {
  expect(await booksOf(tenant)).toEqual([]);
  expect(await stockOf(tenant)).toEqual([]);
  expect(
    await sql`select o.id from storefront.storefront_orders o where o.tenant_id = ${tenant.id}
      and (o.payment_status = 'paid') <> (
        select count(*) = 1 and bool_and(p.amount = ${
      sql.unsafe(priceOf)
    } and p.currency = o.currency)
        from money.payments p where p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS')`,
  ).toEqual([]);
  expect(await totalsOf(tenant)).toEqual([]);
}

/** Balance of a wallet by its owner; null asks for the tenant's own. */
export async function walletOf(tenant: { id: string }, owner: string | null): Promise<number> {
  const [row] = await sql`select balance from money.accounts
    where tenant_id = ${tenant.id} and kind = 'wallet' and owner_user_id is not distinct from ${owner}`;
  return row?.balance ?? 0;
}
