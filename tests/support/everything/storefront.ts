/** A row in every table of the storefront: a live market, something on sale, and somebody who bought it. */
import { randomUUID } from "node:crypto";
import type { Added, Adding } from "./rows.ts";

export async function addStorefront({ tenant, tx, one, json, next, made }: Adding): Added {
  const customer = tenant.customer.id;
  const store_name = `store-${randomUUID()}`;
  const added = await one("storefront.markets", {
    store_name,
    status: "approved",
    publish_status: "published",
    tagline: json({ en: "All you need" }),
    settings: json({ currency: "IQD", payment_methods: ["wallet", "cash_on_delivery"] }),
  });
  // A tenant has one market; whoever adds everything twice finds it there.
  const [market] = added
    ? [{ id: added, store_name }]
    : await tx`select id, store_name from storefront.markets where tenant_id = ${tenant.id}`;
  // Just verified, so that no look-up of other tests is due for it.
  const now = new Date();
  await one("storefront.custom_domains", {
    market_id: market.id,
    custom_domain: `${randomUUID()}.example.com`,
    dns_records: json([]),
    status: "active",
    dns_checked_at: now,
    dns_verified_at: now,
  });
  const category = await one("storefront.product_categories", {
    market_id: market.id,
    name: json({ en: "Sweets" }),
  });
  const product = await one("storefront.products", {
    market_id: market.id,
    category_id: category,
    name: json({ en: "Kleicha" }),
  });
  const variant = await one("storefront.product_variants", {
    product_id: product,
    sku: `SKU-${next()}`,
    price: 5000,
  });
  // A category that nothing is in, so that it can be archived.
  const empty = await one("storefront.product_categories", {
    market_id: market.id,
    name: json({ en: "Drinks" }),
  });
  const ordered = await one("storefront.carts", {
    market_id: market.id,
    customer_id: customer,
    status: "converted",
  });
  const order = await one("storefront.storefront_orders", {
    order_number: `1001-${next()}`,
    market_id: market.id,
    user_id: customer,
    cart_id: ordered,
    status: "delivered",
    payment_method: "cash_on_delivery",
    payment_method_type_id: "5a1e0000-0000-4000-8000-000000000001",
    delivery_service_id: made.service,
    currency: "IQD",
    subtotal: 5000,
    shipping_cost: 1000,
    total_price: 6000,
    total_items: 1,
    shipping_address: json({ full_address: "Street 1", city: "Baghdad" }),
    city: "Baghdad",
  });
  const bought = { product_id: product, variant_id: variant, order_id: order };
  const order_item = await one("storefront.storefront_order_items", {
    ...bought,
    product_name: json({ en: "Kleicha" }),
    sku: "SKU",
    quantity: 1,
    unit_price: 5000,
    total: 5000,
  });
  const part = await one("storefront.storefront_order_parts", {
    order_id: order,
    position: 1,
    left_at: new Date(),
  });
  await one("storefront.storefront_order_part_items", {
    part_id: part,
    position: 1,
    order_item_id: order_item,
    quantity: 1,
  }, "part_id");
  await one("storefront.storefront_order_history", { order_id: order, status: "delivered" });
  const review = await one("storefront.product_reviews", {
    product_id: product,
    user_id: customer,
    order_item_id: order_item,
    rating: 5,
  });
  const cart = await one("storefront.carts", { market_id: market.id, customer_id: customer });
  const cart_item = await one("storefront.cart_items", {
    cart_id: cart,
    variant_id: variant,
    quantity: 2,
  });
  const home = await one("delivery.addresses", {
    full_address: "At home",
    owner_user_id: customer,
  });
  await one("storefront.customer_addresses", {
    user_id: customer,
    address_id: home,
    is_default: true,
  }, "address_id");
  return {
    market: market.id,
    store_name: market.store_name,
    category,
    empty_category: empty,
    product,
    variant,
    review,
    cart,
    cart_item,
    order,
    payment_method: "5a1e0000-0000-4000-8000-000000000001",
    order_item,
  };
}
