// A customer of the demo's store buys three times: paid at the door, by wallet, and by card at a gateway.
// node tests/walkthrough/store.mjs
import { randomUUID } from "node:crypto";
import {
  call,
  check,
  demoPassword,
  money,
  say,
  show,
  signIn,
  stop,
  until,
  visit,
} from "./barid.mjs";

const admin = await signIn("admin@demo.test");
const ops = await signIn("ops@demo.test");
const driver1 = await signIn("driver1@demo.test");
const shop = "storefront/public/markets/suq-dijla";

say("Somebody registers, looks around and joins");
const customer = visit();
const email = `zahra-${Date.now().toString(36)}@shop.test`;
const { error } = await customer.auth.signUp({ email, password: demoPassword });
if (error) stop(error.message);
const { market } = await call(customer, "GET", shop);
const { products } = await call(customer, "GET", `${shop}/products?language=ar`);
for (const { title, min_price } of products) show(`${title}  ${money(min_price)}`);
const joined = await call(customer, "POST", `${shop}/join`);
check("she is now", joined.data.tenant_user_type, "customer");
// The token she has was made before she belonged anywhere.
await customer.auth.refreshSession();
const variant = (sku) =>
  products.flatMap(({ variants }) => variants).find((one) => one.sku === sku).id;

say("How it can be paid and brought, and what bringing costs");
const ways = async () =>
  (await call(customer, "GET", `storefront/payment-methods?marketId=${market.id}`)).data;
show((await ways()).map(({ name }) => name).join(", "));
const { deliveryServices } = await call(customer, "GET", "delivery/services");
const service = deliveryServices.find(({ code }) => code === "STD");

say("Paid at the door: two packs of tea and one kleicha");
const cash = await buy("cash_on_delivery", { "TEA-450": 2, "KLE-1KG": 1 });
check("goods", cash.order.subtotal, 25_000);
show(
  `${cash.order.order_number}: with ${money(cash.order.deliveryFee)} delivery ${
    money(cash.order.totalPrice)
  }`,
);
check("status", [cash.order.status, cash.order.paymentStatus], ["pending", "pending"]);
const { data: approved } = await call(admin, "PUT", `storefront/orders/${cash.order.id}/approve`, {
  admin_notes: "In stock",
});
check("goods set aside", approved.inventory_reserved, true);
show(`its delivery: ${approved.delivery_assigned.tracking_number}`);

say("That is a delivery like any other: a driver brings it and takes the whole total");
const { deliveries: [delivery] } = await call(customer, "GET", "delivery/deliveries");
check("the customer sees it", delivery.id, approved.delivery_assigned.delivery_id);
check("cash to take", delivery.cod_amount, cash.order.totalPrice);
const given = await call(ops, "POST", "delivery/assignments", {
  delivery_id: delivery.id,
  driver_id: driver1.id,
});
await call(driver1, "PUT", `delivery/assignments/${given.id}`, { status: "accepted" });
for (const step of ["pickup", "depart", "complete"]) {
  await call(driver1, "POST", `delivery/deliveries/${delivery.id}/${step}`, {});
}
check("the order followed", await statusOf(cash.order), ["delivered", "paid"]);

say("Paid by wallet, then cancelled by the shop: the money comes back");
const wallet = async () => (await call(customer, "GET", "delivery/wallets/me")).wallet;
const { id } = await wallet();
await call(admin, "POST", `delivery/wallets/${id}/adjust`, {
  amount: 50_000,
  direction: "credit",
  reason: "Paid in at the office",
}, { "idempotency-key": randomUUID() });
const before = (await wallet()).balance;
const byWallet = await buy("wallet", { "DIB-700": 1 });
check("it was paid", before - (await wallet()).balance, byWallet.order.totalPrice);
const { data: cancelled } = await call(
  admin,
  "PUT",
  `storefront/orders/${byWallet.order.id}/cancel`,
  { reason: "out_of_stock" },
);
check("the order", cancelled.order.status, "cancelled");
check("the wallet is as before", (await wallet()).balance, before);

say("Paid by card: the gateway of this machine shows a page, and what is pressed there counts");
await call(admin, "PUT", `tenants/${joined.data.tenant_id}/settings`, {
  general: { storefront: { settings: { return_hosts: ["suq.dijla.test"] } } },
});
await call(admin, "PUT", "payment/gateways/gatewayone", {
  is_active: true,
  settings: { terminal: "LOCAL001" },
  secrets: { username: "suq", password: "any" },
});
const card = await buy("gatewayone", { "HON-500": 1 });
show(card.instructions.redirect_url);
check("before", await statusOf(card.order), ["pending", "pending"]);
await fetch(card.instructions.redirect_url, {
  method: "POST",
  body: new URLSearchParams({ decision: "pay" }),
});
const paid = await until("the payment", async () => {
  const [, status] = await statusOf(card.order);
  return status === "pending" ? undefined : status;
});
check("after", paid, "paid");
await call(admin, "PUT", `storefront/orders/${card.order.id}/approve`, {});
const { orders } = await call(customer, "GET", "storefront/my/orders");
check(
  "her orders, the newest first",
  orders.map(({ paymentMethod, status }) => `${paymentMethod} ${status}`),
  [
    "gateway approved",
    "wallet cancelled",
    "cash_on_delivery delivered",
  ],
);

/** A cart filled and ordered. Sent again with the same key, a lost answer would come again, and no second order. */
async function buy(code, wanted) {
  const { data: cart } = await call(customer, "POST", "storefront/carts", { marketId: market.id });
  for (const [sku, quantity] of Object.entries(wanted)) {
    await call(customer, "POST", `storefront/carts/${cart.id}/items`, {
      variantId: variant(sku),
      quantity,
    });
  }
  return await call(customer, "POST", "storefront/orders/confirm", {
    cartId: cart.id,
    marketId: market.id,
    deliveryServiceId: service.id,
    paymentMethodTypeId: (await ways()).find((one) => one.code === code).id,
    address: {
      full_address: "الكرادة، شارع ٦٢، دار ٩",
      city: "Baghdad",
      country: "IQ",
      lat: 33.3001,
      long: 44.4252,
      contact_info: { phone: "+9647801112233" },
    },
    ...(code === "gatewayone" ? { backRef: "https://suq.dijla.test/thanks" } : {}),
  }, { "idempotency-key": randomUUID() });
}

async function statusOf({ id }) {
  const { order } = await call(customer, "GET", `storefront/orders/${id}/payment-status`);
  return [order.status, order.paymentStatus];
}
