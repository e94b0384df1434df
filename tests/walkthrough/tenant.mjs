// A company joins Barid: the wizard opens it, its store is filled, approved and visited, a subscriber hears of it.
// node tests/walkthrough/tenant.mjs
import { createHmac } from "node:crypto";
import {
  anonymousClient,
  call,
  check,
  demoPassword,
  expectError,
  listen,
  register,
  say,
  show,
  signIn,
  stop,
  waitFor,
} from "./barid.mjs";

const slug = `furat-${Date.now().toString(36)}`;
const system = await signIn("system@barid.test");

say("A system administrator opens a tenant with the wizard, in one call");
const opened = await call(system, "POST", "tenants/wizard", {
  tenant: {
    name: { en: "Furat Post", ar: "بريد الفرات", ku: "پۆستی فورات" },
    slug,
    contact_info: { email: `admin@${slug}.test`, phone: "+9647705550001" },
  },
  admin_user: { create: true, password: demoPassword },
  general_config: {
    currency: { currency_code: "IQD", currency_name: "Iraqi dinar", currency_symbol: "د.ع" },
    domestic_country: { code: "IQ", name: "Iraq", dial_code: "+964" },
  },
});
for (const { step, status } of opened.steps) show(`${step}: ${status}`);

say("Its administrator signs in and is at home");
const admin = await signIn(`admin@${slug}.test`);
const { memberships: [home] } = await call(admin, "GET", "tenants/me");
check("their tenant", home.tenant_id, opened.tenant_id);
check("their role", home.roles, ["tenant_admin"]);

say("A subscriber listens; the secret is told once");
const heard = [];
const subscriber = await listen(heard);
const { subscriptions } = await call(admin, "GET", "webhooks/subscriptions");
const module = subscriptions.find((one) => one.module.key === "storefront").module;
const { subscription, secret } = await call(admin, "POST", "webhooks/subscriptions", {
  module_id: module.id,
  url: subscriber.url,
  event_types: ["*"],
});
show(`${subscription.url} hears ${subscription.event_types} of ${module.key}`);
// Only here, on a machine of one's own: a deployment refuses addresses that are not public.
await call(admin, "POST", `webhooks/subscriptions/${subscription.id}/test`);
await waitFor("the test event", () => heard[0]);
check("the test event", genuine(heard[0]).type, "webhook.test");

say("They open a market and fill it");
const { data: { market } } = await call(admin, "POST", "storefront/market/create", {
  store_name: slug,
  directory_category: "grocery",
  tagline: { en: "Sweets of the south", ar: "حلويات الجنوب", ku: "شیرینییەکانی باشوور" },
  settings: { currency: "IQD", payment_methods: ["cash_on_delivery", "wallet"] },
});
show(`${market.store_name}, number ${market.code}, ${market.status}`);
const { data: category } = await call(admin, "POST", "storefront/categories", {
  name: { en: "Sweets", ar: "حلويات", ku: "شیرینی" },
});
const { data: product } = await call(admin, "POST", "storefront/products", {
  name: { en: "Kleicha", ar: "كليچة", ku: "کلێچە" },
  category_id: category.id,
  variants: [
    { sku: "KLE-500", price: 6_500, attributes: { weight: "500 g" } },
    { sku: "KLE-1KG", price: 12_000, compare_at_price: 13_000, attributes: { weight: "1 kg" } },
  ],
});
show(`${product.title}, from ${product.min_price} to ${product.max_price}`);

say("Nobody sees it until it is approved and published");
const visitor = anonymousClient();
const shop = `storefront/public/markets/${slug}`;
const hidden = await expectError(visitor, "GET", shop);
check("a visitor", [hidden.status, hidden.code], [404, "market_not_found"]);
await call(admin, "POST", "storefront/market/submit-for-approval", { notes: "Ready" });
const early = await expectError(admin, "PUT", "storefront/market/publish", {
  publish_status: "published",
});
check("published before it is approved", early.code, "market_not_approved");
const approved = await call(system, "PUT", `storefront/market/${market.id}/review`, {
  decision: "approved",
  admin_notes: "Welcome",
});
check("the reviewer said", approved.data.market.status, "approved");
await call(admin, "PUT", "storefront/market/publish", { publish_status: "published" });
const seen = await call(visitor, "GET", shop);
check("now a visitor sees it", seen.market.store_name, slug);
const { data: products } = await call(visitor, "GET", `${shop}/products?language=ar`);
check("its products, in Arabic", products.map(({ title }) => title), ["كليچة"]);

say("A customer joins and fills a cart; prices are those of the moment");
const customer = await register(`zahra@${slug}.test`, { data: { full_name: "زهراء محمود" } });
const { data: joined } = await call(customer, "POST", `${shop}/join`);
check("she is now", joined.tenant_user_type, "customer");
// The token she has was made before she belonged anywhere.
await customer.auth.refreshSession();
const { data: cart } = await call(customer, "POST", "storefront/carts", {
  marketId: market.id,
});
const items = `storefront/carts/${cart.id}/items`;
await call(customer, "POST", items, { variantId: product.variants[0].id, quantity: 2 });
const { data: filled } = await call(customer, "POST", items, {
  variantId: product.variants[1].id,
  quantity: 1,
});
check("in the cart", [filled.totalItems, filled.subtotal], [3, 25_000]);
const stranger = await signIn("customer@demo.test");
const foreign = await expectError(stranger, "GET", `storefront/carts/${cart.id}`);
check("another tenant's customer asks for it", foreign.status, 404);

say("What the subscriber heard, each signed as Standard Webhooks says");
await waitFor("six events", () => heard.length >= 6 || undefined);
// Several are sent at once, so two may overtake each other.
check("events", heard.map((one) => genuine(one).type).sort(), [
  "customer.joined",
  "market.approved",
  "market.created",
  "market.published",
  "market.submitted",
  "webhook.test",
]);
const log = await call(admin, "GET", `webhooks/events/${subscription.id}`);
show(`the log keeps ${log.total} of them`);
check(
  "signed by anybody else",
  heard[0].headers["webhook-signature"] ===
    signature(heard[0], "whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldA=="),
  false,
);
subscriber.close();

/** The event in a request; stops the walkthrough if the signature is not that of the subscription. */
function genuine(request) {
  if (!request.headers["webhook-signature"].split(" ").includes(signature(request, secret))) {
    stop(`${request.headers["webhook-id"]} is not signed by ${subscription.id}`);
  }
  return JSON.parse(request.raw);
}

/** HMAC-SHA256 over id, time and body, with the secret behind its prefix. */
function signature({ raw, headers }, secret) {
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${raw}`;
  const bytes = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return `v1,${createHmac("sha256", bytes).update(signed).digest("base64")}`;
}
