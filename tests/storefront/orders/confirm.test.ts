/** A cart becomes one order, at the prices of the moment, paid as its customer chose. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import {
  checkAll,
  home,
  newCart,
  newShop,
  orderOf,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { newCardShop } from "../../support/payments.ts";
import { newPerson } from "../../support/people.ts";
import { eventsOf } from "../../support/warehouses.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/storefront/orders/confirm";
let shop: Shop;
let other: Shop;
beforeAll(async () => {
  [shop, other] = await Promise.all([newCardShop(), newShop()]);
});

describe("the city of an address", () => {
  const { city: _, ...without } = home;
  const confirm = async (mine: Shop, address: object, more: object = {}) => {
    const answer = await mine.tenant.customer.post(path, {
      ...orderOf(mine, await newCart(mine)),
      address,
      ...more,
    });
    expect(answer).toSucceed(201);
    return answer.body.order;
  };
  const listed = async (mine: Shop, city: string) =>
    (await mine.tenant.admin.get("/storefront/orders", {
      query: { column_filters: JSON.stringify({ city }) },
    })).body.orders.length;

  test("defaults to that of its zone, for embedded and saved addresses", async () => {
    const mine = await newShop();
    const zone = await newZone(mine.tenant, square(44.4, 33.3, 0.05));
    const [{ name }] = await sql`select name from delivery.zones where id = ${zone}`;
    const place = { ...without, lat: 33.3, long: 44.4 };
    expect((await confirm(mine, place)).shippingAddress.city).toBe(name);
    const kept = await confirm(mine, place, { save_to_address_book: true });
    expect(kept.shippingAddress.city).toBe(name);
    const [book] = (await mine.tenant.customer.get("/delivery/addresses")).body.data;
    expect(book.city).toBe(name);
    // It can be changed, and what is sent is not touched.
    const edited = await mine.tenant.customer.patch(`/delivery/addresses/${book.id}`, {
      city: "Kadhimiya",
    });
    expect(edited.body.data.city).toBe("Kadhimiya");
    const again = await confirm(mine, {}, { address: undefined, addressId: book.id });
    expect(again.shippingAddress.city).toBe("Kadhimiya");
    expect((await confirm(mine, { ...home, lat: 33.3, long: 44.4 })).shippingAddress.city)
      .toBe(home.city);
    expect(await listed(mine, name)).toBe(2);
  });

  test("stays open outside every zone, and without coordinates", async () => {
    const mine = await newShop();
    expect((await confirm(mine, without)).shippingAddress.city).toBeNull();
    expect((await confirm(mine, { ...without, lat: 1, long: 1 })).shippingAddress.city).toBeNull();
  });
});

test("cash on delivery makes the full order, unpaid, with instructions for the door", async () => {
  const { answer, id } = await placeOrder(shop, "cash", 2);
  const { order, paymentType, instructions, message } = answer.body;
  expect(paymentType).toBe("cash_on_delivery");
  expect(instructions).toContain("12000 IQD");
  expect(message).toBe("Your order has been placed.");
  expect(order).toMatchObject({
    id,
    status: "pending",
    paymentStatus: "pending",
    paymentMethod: "cash_on_delivery",
    subtotal: 10_000,
    deliveryFee: 2_000,
    totalPrice: 12_000,
    currency: "IQD",
    totalItems: 2,
    shippingAddress: { ...home, latitude: null, longitude: null },
    market: {
      id: shop.store.id,
      name: shop.store.name,
      settings: { currency: "IQD", deliveryFee: 2_000 },
    },
    items: [{ variantId: shop.product.variant, quantity: 2, unitPrice: 5_000, total: 10_000 }],
    payments: [{
      status: "pending",
      payment_method: "cash_on_delivery",
      amount: 12_000,
      processed_at: null,
    }],
  });
  const [market] = await sql`select code::int from storefront.markets where id = ${shop.store.id}`;
  expect(order.order_number).toMatch(new RegExp(`^${market.code}-\\d{6}$`));
  expect(await eventsOf(id)).toEqual(["order.created"]);
  const [cart] = await sql`select c.status from storefront.carts c
    join storefront.storefront_orders o on o.cart_id = c.id where o.id = ${id}`;
  expect(cart.status).toBe("converted");
});

test("a wallet is debited at once, and the order is paid", async () => {
  const buyer = await newPerson(shop.tenant.id, "customer", "customer");
  await fundWallet(shop.tenant, "customer", buyer.id, 6_000);
  const before = await walletOf(shop.tenant, null);
  const cart = await newCart(shop, 1, buyer.id);
  const answer = await buyer.post(path, orderOf(shop, cart, "wallet"));
  expect(answer).toSucceed(201);
  expect(answer.body).toMatchObject({
    paymentType: "wallet",
    instructions: null,
    order: { status: "approved", paymentStatus: "paid" },
  });
  expect(await walletOf(shop.tenant, buyer.id)).toBe(0);
  expect(await walletOf(shop.tenant, null)).toBe(before + 6_000);
  expect(await eventsOf(answer.body.order.id)).toEqual(["order.created", "order.paid"]);
  await checkAll(shop.tenant);
});

test("a wallet with too little money creates no order, and the cart stays", async () => {
  const buyer = await newPerson(shop.tenant.id, "customer", "customer");
  await fundWallet(shop.tenant, "customer", buyer.id, 5_999);
  const cart = await newCart(shop, 1, buyer.id);
  const answer = await buyer.post(path, orderOf(shop, cart, "wallet"));
  expect(answer).toFailWith(400, "insufficient_wallet_balance");
  expect(await walletOf(shop.tenant, buyer.id)).toBe(5_999);
  const [row] = await sql`select status from storefront.carts where id = ${cart}`;
  expect(row.status).toBe("active");
});

test("a gateway gets a payment with its URL, under a numeric id that is never reused", async () => {
  for (const method of ["gatewayone", "razorpay"] as const) {
    const { answer, instructions } = await placeOrder(shop, method);
    expect(answer.body.paymentType).toBe("gateway");
    expect(instructions.gateway_order_id).toMatch(/^\d{12,18}$/);
    expect(instructions.redirect_url).toMatch(/^http/);
    const hours = (Date.parse(instructions.expires_at) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThan(24.1);
    expect(answer.body.order).toMatchObject({ status: "pending", paymentStatus: "pending" });
  }
});

test("confirming again returns the same order, whatever else is sent, and the payment URL", async () => {
  const cart = await newCart(shop);
  const first = await shop.tenant.customer.post(path, orderOf(shop, cart, "gatewayone"));
  const again = await shop.tenant.customer.post(path, orderOf(shop, cart, "cash"));
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.body).toEqual(first.body);
});

test("a cancelled order in cash is not to be paid at the door", async () => {
  const cart = await newCart(shop);
  const first = await shop.tenant.customer.post(path, orderOf(shop, cart));
  expect(first.body.instructions).toContain("6000 IQD");
  const cancel = `/storefront/orders/${first.body.order.id}/cancel`;
  expect(await shop.tenant.admin.put(cancel, { reason: "other" })).toSucceed(200);
  const again = await shop.tenant.customer.post(path, orderOf(shop, cart));
  expect(again).toSucceed(200);
  expect(again.body).toMatchObject({ instructions: null, order: { status: "cancelled" } });
});

test("twenty at once make one order and one debit", async () => {
  const buyer = await newPerson(shop.tenant.id, "customer", "customer");
  await fundWallet(shop.tenant, "customer", buyer.id, 100_000);
  const cart = await newCart(shop, 1, buyer.id);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => buyer.post(path, orderOf(shop, cart, "wallet"))),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
  expect(new Set(answers.map(({ body }) => body.order.id)).size).toBe(1);
  expect(await walletOf(shop.tenant, buyer.id)).toBe(94_000);
  await checkAll(shop.tenant);
});

test("a key replays the answer, and refuses other input", async () => {
  const headers = { "idempotency-key": randomUUID() };
  const body = orderOf(shop, await newCart(shop));
  const first = await shop.tenant.customer.post(path, body, { headers });
  const again = await shop.tenant.customer.post(path, body, { headers });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  const changed = { ...body, customer_notes: "Ring twice" };
  expect(await shop.tenant.customer.post(path, changed, { headers }))
    .toFailWith(409, "idempotency_conflict");
});

test("prices are those of the moment, not of the cart", async () => {
  const cheap = await newShop();
  const cart = await newCart(cheap);
  await sql`update storefront.product_variants set price = 7000 where id = ${cheap.product.variant}`;
  const answer = await cheap.tenant.customer.post(path, orderOf(cheap, cart));
  expect(answer.body.order).toMatchObject({ subtotal: 7_000, totalPrice: 8_000 });
});

describe("the destination", () => {
  test("an embedded address is not saved, unless the customer asks for it", async () => {
    const { customer } = shop.tenant;
    const count = async () => (await customer.get("/storefront/addresses")).body.pagination.total;
    const before = await count();
    await placeOrder(shop);
    expect(await count()).toBe(before);
    const kept = { ...orderOf(shop, await newCart(shop)), save_to_address_book: true };
    expect(await customer.post(path, kept)).toSucceed(201);
    expect(await count()).toBe(before + 1);
  });

  test("is saved without what is null in it", async () => {
    const nothing = { city: null, country: null, lat: null, long: null };
    for (const contact_info of [null, { phone: null, email: null }]) {
      const answer = await shop.tenant.customer.post(path, {
        ...orderOf(shop, await newCart(shop)),
        address: { full_address: "House 9", contact_info, ...nothing },
        save_to_address_book: true,
      });
      expect(answer).toSucceed(201);
      expect(answer.body.order.shippingAddress).toMatchObject({ contact_info: {}, city: null });
    }
  });

  test("an address of the address book is copied as it is now; another person's is not found", async () => {
    const { customer } = shop.tenant;
    const made = await customer.post("/storefront/addresses", home);
    const { address: _told, ...rest } = orderOf(shop, await newCart(shop));
    const answer = await customer.post(path, { ...rest, addressId: made.body.data.id });
    expect(answer.body.order.shippingAddress).toMatchObject({ full_address: home.full_address });
    const theirs = await other.tenant.customer.post("/storefront/addresses", home);
    const stolen = { ...rest, cartId: await newCart(shop), addressId: theirs.body.data.id };
    expect(await customer.post(path, stolen)).toFailWith(404, "address_not_found");
  });
});

test("an unreachable gateway leaves the order, and confirming again opens the payment", async () => {
  const { id } = await placeOrder(shop, "gatewayone");
  // As if the answer of the first call had been lost.
  await sql`update money.payments set redirect_url = null, opened_at = opened_at - interval '1 minute'
    where order_id = ${id}`;
  const [{ cart_id, number }] = await sql`select o.cart_id, p.gateway_order_id as number
    from storefront.storefront_orders o join money.payments p on p.order_id = o.id where o.id = ${id}`;
  const again = await shop.tenant.customer.post(path, orderOf(shop, cart_id, "gatewayone"));
  expect(again).toSucceed(200);
  expect(again.body.order.id).toBe(id);
  expect(again.body.instructions.gateway_order_id).not.toBe(number);
  expect(await standing(id)).toMatchObject({ status: "pending", payment_status: "pending" });
});
