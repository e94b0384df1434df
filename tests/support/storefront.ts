/** Stores in any state, and what is sold and bought in them, straight in the database. */
import { randomUUID } from "node:crypto";
import { sql } from "./db.ts";
import { newService } from "./money.ts";
import { newTenant, type Tenant } from "./people.ts";

type Json = Parameters<typeof sql.json>[0];

export interface Store {
  id: string;
  name: string;
  category: string;
}

/** The tenant's market, live unless said otherwise, with one category. */
export async function newStore(
  tenant: { id: string },
  more: Record<string, unknown> = {},
): Promise<Store> {
  const name = `Store-${randomUUID()}`;
  const [market] = await sql`insert into storefront.markets ${
    sql({
      tenant_id: tenant.id,
      store_name: name,
      status: "approved",
      publish_status: "published",
      tagline: sql.json({ en: "All you need" }),
      settings: sql.json({ currency: "IQD", payment_methods: ["wallet", "cash_on_delivery"] }),
      ...more,
    })
  } returning id`;
  const category = await newCategory(tenant, market.id);
  return { id: market.id, name, category };
}

/** A new tenant and its market. */
export async function newStoreOwner(more: Record<string, unknown> = {}) {
  const tenant = await newTenant();
  return { tenant, store: await newStore(tenant, more) };
}

/** The path of a store, or of something in it, which anybody may ask for. */
export const shopPath = (name: string, rest = "") =>
  `/storefront/public/markets/${encodeURIComponent(name)}${rest}`;

export async function newCategory(
  tenant: { id: string },
  market: string,
  name: Record<string, string> = { en: "Sweets", ar: "حلويات" },
): Promise<string> {
  const [row] = await sql`insert into storefront.product_categories (tenant_id, market_id, name)
    values (${tenant.id}, ${market}, ${sql.json(name)}) returning id`;
  return row.id;
}

/** A product with one variant. */
export async function newProduct(
  tenant: { id: string },
  store: Store,
  more: { name?: Json; price?: number; is_active?: boolean; category?: string | null } = {},
): Promise<{ id: string; variant: string; sku: string }> {
  const { name = { en: "Kleicha" }, price = 5000, is_active = true } = more;
  const category = more.category === undefined ? store.category : more.category;
  const sku = `SKU-${randomUUID()}`;
  const [product] = await sql`insert into storefront.products
    (tenant_id, market_id, category_id, name, images, is_active)
    values (${tenant.id}, ${store.id}, ${category}, ${sql.json(name)},
      ${sql.json(["https://example.test/1.jpg"])}, ${is_active}) returning id`;
  const [variant] =
    await sql`insert into storefront.product_variants (tenant_id, product_id, sku, price)
    values (${tenant.id}, ${product.id}, ${sku}, ${price}) returning id`;
  return { id: product.id, variant: variant.id, sku };
}

/** An order of one product, delivered unless said otherwise. */
export async function newOrder(
  tenant: Tenant,
  store: Store,
  product: { id: string; variant: string },
  more: { user?: string; status?: string } = {},
): Promise<{ id: string; item: string }> {
  const { user = tenant.customer.id, status = "delivered" } = more;
  const service = await newService(tenant);
  const [cart] = await sql`insert into storefront.carts (tenant_id, market_id, customer_id, status)
    values (${tenant.id}, ${store.id}, ${user}, 'converted') returning id`;
  const [order] = await sql`insert into storefront.storefront_orders ${
    sql({
      tenant_id: tenant.id,
      order_number: `1001-${randomUUID().slice(0, 8)}`,
      market_id: store.id,
      user_id: user,
      cart_id: cart.id,
      status,
      payment_method: "cash_on_delivery",
      payment_method_type_id: "5a1e0000-0000-4000-8000-000000000001",
      delivery_service_id: service,
      currency: "IQD",
      subtotal: 5000,
      shipping_cost: 1000,
      total_price: 6000,
      total_items: 1,
      shipping_address: sql.json({ full_address: "Street 1", city: "Baghdad" }),
      city: "Baghdad",
    })
  } returning id`;
  const [item] = await sql`insert into storefront.storefront_order_items
    (tenant_id, order_id, variant_id, product_id, product_name, sku, quantity, unit_price, total)
    values (${tenant.id}, ${order.id}, ${product.variant}, ${product.id}, ${
    sql.json({ en: "Kleicha" })
  }, 'SKU', 1, 5000, 5000) returning id`;
  return { id: order.id, item: item.id };
}

/** Types of the events of a tenant, in the order they happened. */
export async function eventsOf(tenant: { id: string }): Promise<string[]> {
  const rows = await sql`select event_type from integration.system_events
    where tenant_id = ${tenant.id} order by position`;
  return rows.map(({ event_type }) => event_type);
}

/** A key stores can be listed under. Made right before it is named: other tests set the whole list. */
export async function newDirectoryCategory(): Promise<string> {
  const key = `c${randomUUID().slice(0, 8)}`;
  await sql`update tenancy.system_settings
    set value = value || ${sql.json([{ key, name: { en: key } }])}
    where key = 'storefront.directory_categories'`;
  return key;
}
