// A customer of the demo's store buys five times: paid at the door, out of two warehouses, with less found than was
// ordered, by wallet, and by card at a gateway; what is refused at the door goes back on its shelf.
// node tests/walkthrough/store.mjs
import { randomUUID } from "node:crypto";
import { call, check, expectError, money, register, say, show, signIn, waitFor } from "./barid.mjs";

const admin = await signIn("admin@demo.test");
const ops = await signIn("ops@demo.test");
const manager = await signIn("warehouse@demo.test");
const driver1 = await signIn("driver1@demo.test");
const shop = "storefront/public/markets/suq-dijla";

say("Somebody registers, looks around and joins");
const customer = await register(`zahra-${Date.now().toString(36)}@shop.test`);
const { market } = await call(customer, "GET", shop);
const { data: products } = await call(customer, "GET", `${shop}/products?language=ar`);
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
const { data: [delivery] } = await call(customer, "GET", "delivery/deliveries");
check("the customer sees it", delivery.id, approved.delivery_assigned.delivery_id);
check("cash to take", delivery.cod_amount, cash.order.totalPrice);
await give(delivery.id);
const early = await expectError(driver1, "POST", `delivery/deliveries/${delivery.id}/pickup`, {});
check("they cannot have what nobody picked", early.code, "goods_not_picked");

say("The warehouse is told what to fetch, and its label says what comes next");
const [task] = await tasksOf(approved.order);
show(`${task.reference_number} in ${task.warehouse.code}: ${task.item_details.length} lines`);
const next = async ({ tracking_number }) =>
  (await call(manager, "GET", `warehousing/package-scan/${tracking_number}`)).delivery.next_action;
check("scanned", await next(approved.deliveries[0]), "pick");
await pick(task);
check("scanned again", await next(approved.deliveries[0]), "handoff");
await carry(delivery.id, "pickup", "depart", "complete");
check("the order followed", await statusOf(cash.order), ["delivered", "paid"]);

say("Out of two warehouses: neither has all of it, so two deliveries bring it");
const { warehouses } = await call(ops, "GET", "warehousing/warehouses?limit=100");
const [main, erbil] = ["WH-MAIN", "WH-EBL"].map((code) =>
  warehouses.find((one) => one.code === code).id
);
const phone = (await call(ops, "GET", "warehousing/inventory-items?search=PHO-A1"))
  .data.find(({ sku }) => sku === "PHO-A1").id;
await stock(main, "B-01");
if (await free(phone, erbil) === 0) await stock(erbil, "A-01");
const all = await free(phone);
const inMain = await free(phone, main);
const split = await buy("cash_on_delivery", { "PHO-A1": inMain + 1 });
const { data: two } = await call(admin, "PUT", `storefront/orders/${split.order.id}/approve`, {});
check("deliveries", two.deliveries.map(({ items }) => items[0].quantity), [inMain, 1]);
for (const one of await tasksOf(two.order)) await pick(one);
for (const { delivery_id } of two.deliveries) await give(delivery_id);
await carry(two.deliveries[0].delivery_id, "pickup", "depart", "complete");
check("one is with her, one is on its way", await ended(two.order), ["shipped", "partial"]);

say("The second is refused at the door: its goods go back to the warehouse they came from");
await carry(two.deliveries[1].delivery_id, "pickup", "depart");
await call(driver1, "POST", `delivery/deliveries/${two.deliveries[1].delivery_id}/fail`, {
  reason: "refused",
});
const back = await call(
  driver1,
  "POST",
  `delivery/deliveries/${two.deliveries[1].delivery_id}/return`,
  {},
);
check("the order ended", await ended(two.order), ["delivered", "partial"]);
const receipt = `warehousing/receiving-orders/${back.receiving_order_id}`;
const { order: expected } = await call(manager, "GET", receipt);
check("expected back", expected.item_details.map(({ item, quantity }) => [item.sku, quantity]), [[
  "PHO-A1",
  1,
]]);
await call(manager, "PUT", receipt, { status: "received" });
check("on the shelf again", await free(phone), all - inMain);

say("One is not found: the driver waits until the shop says what becomes of it");
const few = await buy("cash_on_delivery", { "KLE-1KG": 3 });
const { data: short } = await call(admin, "PUT", `storefront/orders/${few.order.id}/approve`, {});
const [shortTask] = await tasksOf(short.order);
await pick(shortTask, 2);
await give(short.deliveries[0].delivery_id);
const waits = await expectError(
  driver1,
  "POST",
  `delivery/deliveries/${short.deliveries[0].delivery_id}/pickup`,
  {},
);
check("the driver waits", waits.code, "goods_not_picked");
const { data: taken } = await call(
  admin,
  "POST",
  `storefront/orders/${few.order.id}/accept-short`,
  {},
  { "idempotency-key": randomUUID() },
);
check("she pays as much less", taken.order.total_price, few.order.totalPrice - 12_000);
await carry(short.deliveries[0].delivery_id, "pickup", "depart", "complete");
check("she has what there was", await ended(short.order), ["delivered", "partial"]);

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
const paid = await waitFor("the payment", async () => {
  const [, status] = await statusOf(card.order);
  return status === "pending" ? undefined : status;
});
check("after", paid, "paid");
await call(admin, "PUT", `storefront/orders/${card.order.id}/approve`, {});
const { data: orders } = await call(customer, "GET", "storefront/my/orders");
check(
  "her orders, the newest first",
  orders.map(({ paymentMethod, status }) => `${paymentMethod} ${status}`),
  [
    "gateway approved",
    "wallet cancelled",
    "cash_on_delivery delivered",
    "cash_on_delivery delivered",
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

/** Gives a delivery to the driver, who accepts it. */
async function give(delivery_id) {
  const { id } = await call(ops, "POST", "delivery/assignments", {
    delivery_id,
    driver_id: driver1.id,
  });
  await call(driver1, "PUT", `delivery/assignments/${id}`, { status: "accepted" });
}

async function carry(id, ...steps) {
  for (const step of steps) await call(driver1, "POST", `delivery/deliveries/${id}/${step}`, {});
}

/** The picking orders of an order, one in each warehouse it leaves. */
async function tasksOf({ id, order_number }) {
  const { orders } = await call(
    manager,
    "GET",
    `warehousing/picking-orders?search=${order_number}`,
  );
  return orders.filter(({ order_id }) => order_id === id);
}

/** Picks all of it, or of its first line as much as was found. */
async function pick({ id, item_details }, found) {
  await call(ops, "PUT", `warehousing/picking-orders/${id}`, {
    status: "completed",
    item_details: item_details.map(({ item_id, bin_id, quantity }, line) => ({
      item_id,
      bin_id,
      quantity,
      picked_quantity: line === 0 && found !== undefined ? found : quantity,
    })),
  });
}

/** One more phone, with a serial number of its own. */
async function stock(warehouse_id, code) {
  const { data: bins } = await call(
    ops,
    "GET",
    `warehousing/warehouses/${warehouse_id}/bins?limit=100`,
  );
  const bin_id = bins.find((one) => one.code === code).id;
  const piece = { item_id: phone, bin_id, quantity: 1, serial_number: randomUUID() };
  await call(ops, "POST", "warehousing/inventory/receipts", { warehouse_id, items: [piece] });
}

/** Units of an item that are available, in one warehouse or in all. */
async function free(item, warehouse) {
  const { data: inventory } = await call(
    ops,
    "GET",
    `warehousing/inventory?status=available&item_id=${item}&limit=100${
      warehouse ? `&warehouse_id=${warehouse}` : ""
    }`,
  );
  return inventory.reduce((sum, { quantity }) => sum + quantity, 0);
}

async function ended({ id }) {
  const { order } = (await call(admin, "GET", `storefront/orders/${id}`)).data;
  return [order.status, order.fulfilment];
}
