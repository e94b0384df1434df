/** Markets, what they sell, who buys there, and what becomes of the orders. */
import { sql } from "../../../support/db.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../../../support/order-goods.ts";
import { home, methods, newCart, newShop, placeOrder, type Shop } from "../../../support/orders.ts";
import { newTenant } from "../../../support/people.ts";
import { newProduct, newStore } from "../../../support/storefront.ts";
import type { Call, Calls } from "../call.ts";

let open: Promise<Shop> | undefined;

/** A shop that sells, once for all calls. */
const shopOf = () => open ??= newSplitShop({ first: 1_000, second: 0, picking: true });

const inShop = ({ tenant, store, product, service }: Shop, more: Record<string, string> = {}) => ({
  tenant,
  things: {
    tenant: tenant.id,
    market: store.id,
    store_name: store.name,
    category: store.category,
    product: product.id,
    variant: product.variant,
    service,
    ...more,
  },
});

const shop: Pick<Call, "before"> = { before: async () => inShop(await shopOf()) };

/** A cart with two of the shop's product, or none. */
const cart = (quantity = 2): Pick<Call, "before"> => ({
  before: async () => {
    const one = await shopOf();
    const id = await newCart(one, quantity);
    const [item] = await sql`select id from storefront.cart_items where cart_id = ${id}`;
    return inShop(one, { cart: id, cart_item: item.id });
  },
});

type Stands = "new" | "approved" | "stranded" | "shipped" | "delivered" | "short";

/** An order that stands as it has to. */
const order = (
  stands: Stands,
  method: keyof typeof methods = "cash",
  from: () => Promise<Shop> = shopOf,
): Pick<Call, "before"> => ({
  before: async () => {
    const one = await from();
    const { id } = await placeOrder(one, method, stands === "short" ? 3 : 1);
    if (stands !== "new") await approveOrder(one, id);
    if (stands === "stranded") {
      await sql`update delivery.deliveries set status = 'cancelled' where order_id = ${id}`;
    }
    if (stands === "short") {
      const [task] = await picksOf(id);
      await pick(one, task!.id, 2);
    }
    if (stands === "shipped" || stands === "delivered") {
      await one.tenant.admin.put(`/storefront/orders/${id}/ship`);
    }
    if (stands === "delivered") await one.tenant.admin.put(`/storefront/orders/${id}/deliver`);
    return inShop(one, { order: id });
  },
});

/** A shop that brings its goods itself. */
let own: Promise<Shop> | undefined;
const ownShop = () => own ??= newShop({ auto: false, stock: 1_000 });

/** A tenant with a market of its own that stands as it has to. */
const market = (columns?: Record<string, unknown>): Pick<Call, "before"> => ({
  before: async () => {
    const tenant = await newTenant();
    const store = columns ? await newStore(tenant, columns) : { id: "", name: "" };
    return { tenant, things: { tenant: tenant.id, market: store.id, store_name: store.name } };
  },
});

const fields = {
  tagline: { en: "Sweets from Baghdad", ar: "حلويات من بغداد", ku: "شیرینی لە بەغدا" },
  settings: { currency: "IQD", auto_create_delivery: true, payment_methods: ["cash_on_delivery"] },
  theme_settings: { primary_color: "#0a6847", theme_style: "light" },
};
const kleicha = {
  name: { en: "Kleicha", ar: "كليجة", ku: "کولێچە" },
  images: ["https://cdn.example.com/products/kleicha.jpg"],
};

export const storefront: Calls = {
  "POST /storefront/market/create": {
    ...market(),
    body: () => ({ store_name: `store-${crypto.randomUUID()}`, ...fields }),
  },
  "GET /storefront/market": shop,
  "GET /storefront/market/:market_id": shop,
  "PUT /storefront/market": { ...shop, body: () => ({ tagline: fields.tagline }) },
  "POST /storefront/market/submit-for-approval": {
    ...market({ status: "draft", publish_status: "unpublished" }),
    body: () => ({ notes: "We sell sweets" }),
  },
  "PUT /storefront/market/publish": {
    ...market({ status: "approved", publish_status: "unpublished" }),
    body: () => ({ publish_status: "published" }),
  },
  "PUT /storefront/market/deactivate": market({}),
  "GET /storefront/markets": { ...shop, by: "system" },
  "PUT /storefront/market/:market_id/review": {
    ...market({ status: "pending_approval", publish_status: "unpublished" }),
    by: "system",
    body: () => ({ decision: "approved", admin_notes: "Welcome" }),
  },
  "POST /storefront/custom-domain/connect": {
    ...market({}),
    body: () => ({ custom_domain: `${crypto.randomUUID()}.example.com` }),
  },
  "POST /storefront/custom-domain/verify": { alone: "received" },
  "DELETE /storefront/custom-domain": { alone: "received" },
  "POST /storefront/categories": {
    body: () => ({ name: { en: "Cakes", ar: "كعك", ku: "کێک" }, sort_order: 2 }),
  },
  "PUT /storefront/categories/:category_id": { body: () => ({ sort_order: 1 }) },
  "DELETE /storefront/categories/:category_id": {
    before: ({ things }) =>
      Promise.resolve({ things: { category: things.empty_category as string } }),
  },
  "POST /storefront/products": {
    body: ({ category, inventory_item }) => ({
      ...kleicha,
      description: { en: "With dates, 500 g" },
      category_id: category,
      variants: [{
        sku: "KLEICHA-500",
        price: 5_000,
        compare_at_price: 6_000,
        inventory_item_id: inventory_item,
        attributes: { weight: "500 g" },
      }],
    }),
  },
  "GET /storefront/products/:product_id": shop,
  "PUT /storefront/products/:product_id": { body: () => ({ name: kleicha.name }) },
  "DELETE /storefront/products/:product_id": {
    before: async () => {
      const one = await shopOf();
      return inShop(one, { product: (await newProduct(one.tenant, one.store)).id });
    },
  },
  "POST /storefront/products/:product_id/reviews": {
    by: "customer",
    before: async ({ tenant, things }) => {
      await sql`delete from storefront.product_reviews where tenant_id = ${tenant.id}
        and product_id = ${things.product as string}`;
      return {};
    },
    body: () => ({ rating: 5, comment: "Fresh and on time" }),
  },
  "GET /storefront/reviews": { alone: "received" },
  "PUT /storefront/reviews/:review_id": {
    alone: "received",
    body: () => ({ decision: "approved" }),
  },
  "POST /storefront/orders/confirm": {
    ...cart(),
    by: "customer",
    body: ({ cart, market, service }) => ({
      cartId: cart,
      marketId: market,
      deliveryServiceId: service,
      paymentMethodTypeId: methods.cash,
      address: home,
      save_to_address_book: true,
      customer_notes: "After five, please",
    }),
  },
  "GET /storefront/orders/:order_id/payment-status": { ...order("new"), by: "customer" },
  "GET /storefront/my/orders": { ...order("approved"), by: "customer" },
  "GET /storefront/orders": order("approved"),
  "GET /storefront/orders/:order_id": order("approved"),
  "PUT /storefront/orders/:order_id/approve": {
    ...order("new"),
    body: () => ({ admin_notes: "Gift wrap" }),
  },
  "POST /storefront/orders/:order_id/accept-short": order("short"),
  "POST /storefront/orders/:order_id/redeliver": order("stranded"),
  "PUT /storefront/orders/:order_id/cancel": {
    ...order("new"),
    body: () => ({ reason: "customer_request", admin_notes: "Called in the morning" }),
  },
  "PUT /storefront/orders/:order_id/ship": {
    ...order("approved", "cash", ownShop),
    body: () => ({ note: "With our own van" }),
  },
  "PUT /storefront/orders/:order_id/deliver": {
    ...order("shipped", "cash", ownShop),
    body: () => ({ note: "Handed to Sara" }),
  },
  "PUT /storefront/orders/:order_id/return": {
    ...order("shipped", "wallet", ownShop),
    body: () => ({ reason: "customer_request", refund_required: true }),
  },
  "POST /storefront/orders/:order_id/refund": {
    ...order("delivered", "wallet", ownShop),
    body: () => ({ amount: 1_000, note: "The box was dented" }),
  },
  "POST /storefront/carts": {
    ...shop,
    by: "customer",
    body: ({ market }) => ({ marketId: market }),
  },
  "GET /storefront/carts/:cart_id": { ...cart(), by: "customer" },
  "POST /storefront/carts/:cart_id/items": {
    ...cart(),
    by: "customer",
    body: ({ variant }) => ({ variantId: variant, quantity: 2 }),
  },
  "PUT /storefront/carts/:cart_id/items/:cart_item_id": {
    ...cart(),
    by: "customer",
    body: () => ({ quantity: 3 }),
  },
  "DELETE /storefront/carts/:cart_id/items/:cart_item_id": { ...cart(), by: "customer" },
  "GET /storefront/payment-methods": {
    ...shop,
    by: "customer",
    query: ({ market }) => ({ marketId: String(market) }),
  },
  "GET /storefront/addresses": { by: "customer" },
  "POST /storefront/addresses": { by: "customer", body: () => ({ ...home, is_default: true }) },
  "GET /storefront/public/markets": {
    by: "nobody",
    before: async () => {
      const one = await shopOf();
      const domain = `${crypto.randomUUID()}.example.com`;
      await sql`insert into storefront.custom_domains
        (tenant_id, market_id, custom_domain, status, dns_records, dns_verified_at, dns_checked_at)
        values (${one.tenant.id}, ${one.store.id}, ${domain}, 'active', '[]', now(), now())
        on conflict do nothing`;
      return inShop(one, { domain });
    },
    query: ({ domain }) => ({ domain: String(domain) }),
  },
  "GET /storefront/public/markets/:store_name": { ...shop, by: "nobody" },
  "GET /storefront/public/markets/:store_name/categories": { ...shop, by: "nobody" },
  "GET /storefront/public/markets/:store_name/products": { ...shop, by: "nobody" },
  "GET /storefront/public/markets/:store_name/products/:product_id": { ...shop, by: "nobody" },
  "POST /storefront/public/markets/:store_name/join": {
    before: async () => ({
      ...inShop(await shopOf()),
      caller: (await newTenant()).customer,
    }),
  },
};
