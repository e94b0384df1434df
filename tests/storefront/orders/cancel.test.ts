/** Orders that the store cancels: goods and money go back. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { withDriver } from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop, standing, walletOf } from "../../support/orders.ts";
import { newCardShop } from "../../support/payments.ts";
import { eventsOf, unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
  await withDriver(shop);
});
const at = (id: string, step = "") => `/storefront/orders/${id}${step && `/${step}`}`;
const approve = (id: string, body = {}) => shop.tenant.admin.put(at(id, "approve"), body);

describe("cancelling", () => {
  test("before approval gives back nothing, as nothing was reserved or paid", async () => {
    const { id, answer: placed } = await placeOrder(shop);
    const answer = await shop.tenant.admin.put(at(id, "cancel"), { reason: "fraud" });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toEqual({
      order: {
        id,
        order_number: placed.body.order.order_number,
        status: "cancelled",
        cancelled_at: expect.any(String),
        cancel_reason: "fraud",
        admin_notes: null,
      },
      inventory_released: false,
      refund: null,
      delivery_cancelled: false,
    });
    const [payment] = await sql`select status from money.payments where order_id = ${id}`;
    expect(payment.status).toBe("CANCELLED");
  });

  test("after approval releases the goods, refunds the money, cancels the delivery", async () => {
    const { id } = await placeOrder(shop, "wallet", 3);
    const before = await unitsOf(shop.shelf.item);
    await approve(id);
    const purse = await walletOf(shop.tenant, shop.tenant.customer.id);
    const answer = await shop.tenant.admin.put(at(id, "cancel"), {
      reason: "customer_request",
      admin_notes: "Called us",
    });
    expect(answer.body.data).toMatchObject({
      order: { status: "cancelled", cancel_reason: "customer_request", admin_notes: "Called us" },
      inventory_released: true,
      refund: { processed: true, amount: 18_000, method: "wallet" },
      delivery_cancelled: true,
    });
    expect(await walletOf(shop.tenant, shop.tenant.customer.id)).toBe(purse + 18_000);
    expect(await unitsOf(shop.shelf.item)).toEqual(before);
    expect(await standing(id)).toEqual({
      status: "cancelled",
      payment_status: "paid",
      reserved: 0,
      paid: 1,
      refunds: 1,
    });
    expect(await eventsOf(id)).toEqual([
      "order.created",
      "order.paid",
      "order.confirmed",
      "order.cancelled",
      "order.refunded",
    ]);
    await checkAll(shop.tenant);
  });

  test("without a refund if none is requested; a refund is possible later, once", async () => {
    const { id } = await placeOrder(shop, "wallet");
    const cancel = { reason: "other", refund_required: false };
    const answer = await shop.tenant.admin.put(at(id, "cancel"), cancel);
    expect(answer.body.data.refund).toBeNull();
    const part = await shop.tenant.admin.post(at(id, "refund"), { amount: 2_000 });
    expect(part.body.data.refund).toMatchObject({ amount: 2_000 });
    expect(await shop.tenant.admin.post(at(id, "refund"), { amount: 4_001 }))
      .toFailWith(400, "refund_too_high");
    expect((await shop.tenant.admin.post(at(id, "refund"))).body.data.refund.amount).toBe(4_000);
    expect(await shop.tenant.admin.post(at(id, "refund"))).toFailWith(409, "nothing_to_refund");
    await checkAll(shop.tenant);
  });

  test("refuses an order that has left, and a second cancellation", async () => {
    const { id } = await placeOrder(shop);
    const delivery = (await approve(id)).body.data.delivery_assigned.delivery_id;
    await assign(shop.tenant, delivery);
    await moves(shop.tenant.driver, delivery, "pickup");
    const answer = await shop.tenant.admin.put(at(id, "cancel"), { reason: "other" });
    expect(answer).toFailWith(409, "order_not_cancellable");
    expect(answer.body.status).toBe("shipped");
    const gone = await placeOrder(shop);
    await shop.tenant.admin.put(at(gone.id, "cancel"), { reason: "other" });
    expect(await shop.tenant.admin.put(at(gone.id, "cancel"), { reason: "other" }))
      .toFailWith(409, "order_not_cancellable");
  });

  test.each([{}, { reason: "bored" }, { reason: 1 }, { reason: "other", refund_required: "yes" }])(
    "not for %j",
    async (body) => {
      const { id } = await placeOrder(shop);
      expect(await shop.tenant.admin.put(at(id, "cancel"), body)).toFailWith(
        400,
        "validation_failed",
      );
    },
  );
});
