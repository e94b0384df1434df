/** The shop's part: what it approves is set aside and sent, what it cancels comes back. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { fundWallet } from "../../support/money.ts";
import { withDriver } from "../../support/order-goods.ts";
import {
  checkAll,
  newShop,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { newCardShop } from "../../support/payments.ts";
import { eventsOf, movementsOf, unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
let other: Shop;
beforeAll(async () => {
  [shop, other] = await Promise.all([newCardShop(), newShop()]);
  await withDriver(shop);
});
const at = (id: string, step = "") => `/storefront/orders/${id}${step && `/${step}`}`;
const approve = (id: string, body = {}) => shop.tenant.admin.put(at(id, "approve"), body);

describe("approving", () => {
  test("reserves the goods, creates the delivery at the quoted fee, and records the history", async () => {
    const { id, answer: placed } = await placeOrder(shop, "cash", 2);
    await sql`update delivery.delivery_services set default_price = 9000 where id = ${shop.service}`;
    const answer = await approve(id, {
      admin_notes: "Gift wrap",
      estimated_delivery_date: "2037-12-01",
    });
    await sql`update delivery.delivery_services set default_price = 1000 where id = ${shop.service}`;
    expect(answer).toSucceed(200);
    const { order, inventory_reserved, delivery_assigned, message } = answer.body.data;
    expect(order).toMatchObject({
      id,
      status: "confirmed",
      approved_by: shop.tenant.admin.id,
      admin_notes: "Gift wrap",
      payment_status: "pending",
      customer: { id: shop.tenant.customer.id },
      status_history: [{ status: "pending" }, {
        status: "confirmed",
        note: "Gift wrap",
        updated_by: shop.tenant.admin.id,
      }],
      items: [{ variant: { id: shop.product.variant }, warehouse_item: { id: shop.shelf.item } }],
      delivery_assignment: { status: "pending", driver_assigned: false, driver: null },
    });
    expect(order.approved_at).toBeTruthy();
    expect(order.estimated_delivery).toContain("2037-12-01");
    expect(inventory_reserved).toBe(true);
    expect(message).toBe("The order has been approved.");
    const [delivery] = await sql`select * from delivery.deliveries where order_id = ${id}`;
    expect(delivery_assigned).toEqual({
      delivery_id: delivery.id,
      driver_assigned: false,
      tracking_number: delivery.barcode,
    });
    expect(delivery).toMatchObject({
      cod_amount: placed.body.order.totalPrice,
      delivery_fee: 2_000,
      customer_id: shop.tenant.customer.id,
      delivery_service_id: shop.service,
      external_reference_id: order.order_number,
    });
    expect(delivery.dropoff_snapshot.full_address).toBe("Street 14, house 3");
    expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 2 });
    expect(await eventsOf(id)).toEqual(["order.created", "order.confirmed"]);
    await checkAll(shop.tenant);
  });

  test("creates no delivery without auto_create_delivery", async () => {
    const plain = await newShop({ auto: false });
    const { id } = await placeOrder(plain);
    const answer = await plain.tenant.admin.put(at(id, "approve"));
    expect(answer.body.data.delivery_assigned)
      .toEqual({ delivery_id: null, driver_assigned: false, tracking_number: null });
    expect(answer.body.data.order.delivery_assignment).toBeNull();
    expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 1 });
  });

  test("works once: a second call finds the order no longer pending", async () => {
    const { id } = await placeOrder(shop);
    expect(await approve(id)).toSucceed(200);
    const answer = await approve(id);
    expect(answer).toFailWith(409, "order_not_pending");
    expect(answer.body.status).toBe("confirmed");
    expect(await standing(id)).toMatchObject({ reserved: 1 });
  });

  test("also approves an order that waits for approval", async () => {
    const { id } = await placeOrder(shop);
    await sql`update storefront.storefront_orders set status = 'awaiting_approval' where id = ${id}`;
    expect(await approve(id)).toSucceed(200);
  });

  test("waits for a gateway payment, and not for a wallet payment", async () => {
    const { id } = await placeOrder(shop, "gatewayone");
    expect(await approve(id)).toFailWith(409, "order_not_paid");
    expect(await standing(id)).toMatchObject({ status: "pending", reserved: 0 });
    const paid = await placeOrder(shop, "wallet");
    expect(await approve(paid.id)).toSucceed(200);
    const [{ cod_amount }] =
      await sql`select cod_amount from delivery.deliveries where order_id = ${paid.id}`;
    expect(cod_amount).toBe(0);
  });

  test("refuses goods that are no longer in stock: nothing is reserved, no delivery created", async () => {
    const small = await newShop({ stock: 3 });
    const first = await placeOrder(small, "cash", 2);
    const second = await placeOrder(small, "cash", 2);
    expect(await small.tenant.admin.put(at(first.id, "approve"))).toSucceed(200);
    const answer = await small.tenant.admin.put(at(second.id, "approve"));
    expect(answer).toFailWith(409, "insufficient_stock");
    expect(await standing(second.id)).toMatchObject({ status: "pending", reserved: 0 });
    expect(await sql`select id from delivery.deliveries where order_id = ${second.id}`).toEqual([]);
    expect(await unitsOf(small.shelf.item)).toEqual({ available: 1, reserved: 2 });
  });

  test("a key replays the answer", async () => {
    const { id } = await placeOrder(shop);
    const headers = { "idempotency-key": randomUUID() };
    const first = await shop.tenant.admin.put(at(id, "approve"), {}, { headers });
    const again = await shop.tenant.admin.put(at(id, "approve"), {}, { headers });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });
});

describe("on the way", () => {
  test("the driver moves the order: stock leaves at pickup, cash on delivery is credited to the shop", async () => {
    const { id } = await placeOrder(shop, "cash", 2);
    const delivery = (await approve(id)).body.data.delivery_assigned.delivery_id;
    const before = await walletOf(shop.tenant, null);
    await assign(shop.tenant, delivery);
    await moves(shop.tenant.driver, delivery, "pickup");
    expect(await standing(id)).toMatchObject({ status: "shipped", reserved: 0 });
    expect((await movementsOf(shop.shelf.item)).at(-1)).toEqual(["pick", 2]);
    await moves(shop.tenant.driver, delivery, "depart", "complete");
    expect(await standing(id)).toMatchObject({
      status: "delivered",
      payment_status: "paid",
      paid: 1,
    });
    expect(await walletOf(shop.tenant, null)).toBe(before + 12_000);
    expect(await eventsOf(id)).toEqual([
      "order.created",
      "order.confirmed",
      "order.shipped",
      "order.delivered",
      "order.paid",
    ]);
    await checkAll(shop.tenant);
  });

  test("an order that the shop delivers itself is shipped, delivered, paid, and completed after two weeks", async () => {
    const plain = await newShop({ auto: false });
    const { id } = await placeOrder(plain);
    const { admin } = plain.tenant;
    expect(await admin.put(at(id, "ship"))).toFailWith(409, "invalid_status_transition");
    await admin.put(at(id, "approve"));
    expect(await admin.put(at(id, "deliver"))).toFailWith(409, "invalid_status_transition");
    const shipped = await admin.put(at(id, "ship"), { note: "By taxi" });
    expect(shipped.body.data.order).toMatchObject({ status: "shipped" });
    expect(shipped.body.data.order.status_history.at(-1)).toMatchObject({ note: "By taxi" });
    const delivered = await admin.put(at(id, "deliver"));
    expect(delivered.body.data.order).toMatchObject({
      status: "delivered",
      payment_status: "paid",
    });
    expect(await walletOf(plain.tenant, null)).toBe(6_000);
    expect(await unitsOf(plain.shelf.item)).toEqual({ available: 9 });
    await sql`update storefront.storefront_orders set delivered_at = now() - interval '15 days' where id = ${id}`;
    await sql`select storefront.orders_complete()`;
    expect(await standing(id)).toMatchObject({ status: "completed" });
    await checkAll(plain.tenant);
  });

  test("only the delivery ends an order while one is under way", async () => {
    const { id } = await placeOrder(shop);
    const delivery = (await approve(id)).body.data.delivery_assigned.delivery_id;
    const before = await unitsOf(shop.shelf.item);
    const answer = await shop.tenant.admin.put(at(id, "ship"));
    expect(answer).toFailWith(409, "order_has_delivery");
    expect(answer.body.delivery_id).toBe(delivery);
    expect(await unitsOf(shop.shelf.item)).toEqual(before);
    await assign(shop.tenant, delivery);
    await moves(shop.tenant.driver, delivery, "pickup");
    expect(await shop.tenant.admin.put(at(id, "deliver"))).toFailWith(409, "order_has_delivery");
  });

  test("the customer cannot cancel the shop's delivery", async () => {
    const { id } = await placeOrder(shop);
    const delivery = (await approve(id)).body.data.delivery_assigned.delivery_id;
    const answer = await shop.tenant.customer.post(`/delivery/deliveries/${delivery}/cancel`, {
      reason: "no",
    });
    expect(answer).toFailWith(403, "forbidden");
  });
});

test("the customer follows their own order by the customer statuses, and no other order", async () => {
  const { id } = await placeOrder(shop, "wallet");
  const { customer } = shop.tenant;
  const seen = async () => (await customer.get(at(id, "payment-status"))).body.order;
  expect(await seen()).toMatchObject({ id, status: "approved", paymentStatus: "paid" });
  expect((await seen()).payments[0]).toMatchObject({ status: "SUCCESS", amount: 6_000 });
  const delivery = (await approve(id)).body.data.delivery_assigned.delivery_id;
  expect((await seen()).status).toBe("approved");
  await assign(shop.tenant, delivery);
  await moves(shop.tenant.driver, delivery, "pickup");
  expect((await seen()).status).toBe("shipped");
  expect(await other.tenant.customer.get(at(id, "payment-status"))).toFailWith(
    404,
    "order_not_found",
  );
  expect(await shop.tenant.admin.get(at(id, "payment-status"))).toFailWith(403, "forbidden");
  const mine = await customer.get("/storefront/my/orders", { query: { limit: 1 } });
  expect(mine.body.data[0]).toMatchObject({ id, status: "shipped", totalPrice: 6_000 });
  expect((await other.tenant.customer.get("/storefront/my/orders")).body.pagination.total).toBe(0);
});

test("only administrators of the tenant manage orders, and only its own", async () => {
  const { id } = await placeOrder(shop);
  const calls: [string, string, object?][] = [
    ["GET", at(id)],
    ["PUT", at(id, "approve")],
    ["PUT", at(id, "cancel"), { reason: "other" }],
    ["PUT", at(id, "ship")],
    ["POST", at(id, "accept-short")],
    ["PUT", at(id, "deliver")],
    ["POST", at(id, "refund")],
  ];
  for (const [method, path, body = {}] of calls) {
    const sent = method === "GET" ? undefined : body;
    expect(await shop.tenant.customer.send(method, path, sent), path).toFailWith(403, "forbidden");
    expect(await shop.tenant.driver.send(method, path, sent), path).toFailWith(403, "forbidden");
    expect(await nobody.send(method, path, sent), path).toFailWith(401, "unauthorized");
    expect(await other.tenant.admin.send(method, path, sent), path).toFailWith(
      404,
      "order_not_found",
    );
    const wrong = await shop.tenant.admin.send(method, path.replace(id, "x"), sent);
    expect(wrong, path).toFailWith(400, "invalid_uuid");
  }
  expect(await standing(id)).toMatchObject({ status: "pending", reserved: 0 });
});

test("the database itself refuses a customer who writes their order", async () => {
  const { id } = await placeOrder(shop);
  const attempt = (statement: string) =>
    sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${shop.tenant.id}, true),
        set_config('app.user_id', ${shop.tenant.customer.id}, true),
        set_config('app.grants', '{role:customer}', true), set_config('role', 'barid_caller', true)`;
      await tx.unsafe(statement, [id]);
    });
  for (
    const change of [
      "payment_status = 'paid'",
      "status = 'cancelled', cancelled_at = now(), cancel_reason = 'other'",
      "customer_notes = 'mine'",
    ]
  ) {
    await expect(attempt(`update storefront.storefront_orders set ${change} where id = $1`))
      .rejects.toThrow(/row-level security/);
  }
  await expect(
    attempt(`insert into storefront.storefront_order_history (tenant_id, order_id, status)
    select tenant_id, id, 'delivered' from storefront.storefront_orders where id = $1`),
  )
    .rejects.toThrow(/permission denied/);
  await fundWallet(shop.tenant, "customer", shop.tenant.customer.id, 1);
  await expect(attempt(`update money.payments set status = 'SUCCESS' where order_id = $1`))
    .rejects.toThrow(/row-level security/);
});
