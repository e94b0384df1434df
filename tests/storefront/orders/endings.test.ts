/** An order that two deliveries bring: every pair of their ends, however it was paid. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { size } from "../../prove/proof.ts";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import {
  approveOrder,
  bring,
  type Ending,
  endings,
  newSplitShop,
  whereabouts,
} from "../../support/order-goods.ts";
import { checkAll, placeOrder, standing, walletOf } from "../../support/orders.ts";
import { eventFor, numberOf, report, takeCards } from "../../support/payments.ts";
import { newPerson } from "../../support/people.ts";
import { isDue } from "../../support/refunds-due.ts";
import { stockIn, unitsOf } from "../../support/warehouses.ts";

const total = 30_000;
const fee = 5_000;
/** The stock of each of the two warehouses, at 5,000 a unit. */
const units = [3, 2];
const goods = units.map((count) => count * 5_000);

let shop: Awaited<ReturnType<typeof newSplitShop>>;
beforeAll(async () => {
  shop = await newSplitShop({ first: 0, second: 0 });
  await takeCards(shop);
});

/** Five units in two warehouses, ordered, paid and approved. */
async function ordered(method: "cash" | "wallet" | "razorpay") {
  const { tenant, shelf, second } = shop;
  const places = [{ warehouse: shelf.warehouse, bin: shelf.bin }, second];
  for (const [index, { warehouse, bin }] of places.entries()) {
    const line = { item_id: shelf.item, warehouse_id: warehouse, bin_id: bin };
    await stockIn(tenant, { ...line, quantity: units[index]! });
  }
  const customer: Person = await newPerson(tenant.id, "customer", "customer");
  const order = await placeOrder(shop, method, 5, customer);
  if (method === "razorpay") {
    expect(await report(eventFor(shop, numberOf(order), total))).toMatchObject({ status: 200 });
  }
  const { deliveries } = await approveOrder(shop, order.id);
  expect(deliveries).toHaveLength(2);
  return {
    id: order.id,
    customer,
    deliveries: deliveries.map((one: { delivery_id: string }) => one.delivery_id),
  };
}

const pairs = endings.flatMap((one) => endings.map((two) => [one, two] as [Ending, Ending]));

const methods = ["cash", "wallet", "razorpay"] as const;

/** In the brief form every pair once, each way of paying three of them, with every first and every second end. */
const pairsOf = (method: typeof methods[number]) =>
  pairs.filter((_, n) =>
    size !== "brief" || (Math.floor(n / 3) + n + methods.indexOf(method)) % 3 === 0
  );

describe.each(methods)("paid by %s", (method) => {
  test.each(pairsOf(method))("%s and %s", async (...ends) => {
    const { tenant } = shop;
    const house = await walletOf(tenant, null);
    const { id, customer, deliveries } = await ordered(method);
    // A cancellation comes first, while the order has not left.
    const steps = [0, 1].sort((a, b) =>
      Number(ends[b] === "cancelled") - Number(ends[a] === "cancelled")
    );
    for (const [place, index] of steps.entries()) {
      await bring(shop, deliveries[index], ends[index]!);
      const open = place === 0 && ends[index] !== "cancelled";
      if (open) expect(await standing(id)).toMatchObject({ status: "shipped" });
    }
    const got = goods.reduce(
      (sum, value, index) => sum + (ends[index] === "delivered" ? value : 0),
      0,
    );
    const admin = (step: string) =>
      tenant.admin.put(`/storefront/orders/${id}/${step}`, { reason: "customer_request" });
    let fulfilment = "none";
    if (got > 0) {
      fulfilment = got === total - fee ? "full" : "partial";
      expect(await standing(id)).toMatchObject({
        status: "delivered",
        payment_status: "paid",
        reserved: 0,
      });
      expect(await admin("cancel")).toFailWith(409, "order_not_cancellable");
      expect(await admin("return")).toFailWith(409, "invalid_status_transition");
    } else if (ends.includes("returned")) {
      fulfilment = "returned";
      expect(await standing(id)).toMatchObject({ status: "cancelled", reserved: 0 });
      expect(await admin("cancel")).toFailWith(409, "order_not_cancellable");
      expect(await admin("return")).toFailWith(409, "invalid_status_transition");
    } else {
      expect(await standing(id)).toMatchObject({ status: "confirmed" });
      expect(await admin("return")).toFailWith(409, "invalid_status_transition");
      expect(await admin("cancel")).toSucceed(200);
    }
    const { order } = (await tenant.admin.get(`/storefront/orders/${id}`)).body.data;
    expect(order).toMatchObject({ fulfilment, status: got > 0 ? "delivered" : "cancelled" });
    expect(order.deliveries.map((one: { status: string }) => one.status)).toEqual([...ends]);
    const mine = (await customer.get("/storefront/my/orders")).body.data;
    expect(mine).toMatchObject([{ id, fulfilment }]);

    const back = method === "cash" ? 0 : got > 0 ? total - fee - got : total;
    expect(await walletOf(tenant, customer.id)).toBe(back);
    // At the door the fee is taken with the first of them, or with the other where that is cancelled or has come back.
    const taken = method === "cash" ? got + (got > 0 ? fee : 0) : total - back;
    expect(await walletOf(tenant, null) - house).toBe(taken);
    const paid =
      await sql`select amount from money.payments where order_id = ${id} and type = 'ORDER' and status = 'SUCCESS'`;
    expect(paid.map((row) => row.amount)).toEqual(
      method === "cash" ? got > 0 ? [taken] : [] : [total],
    );
    const counts: Record<string, number> = {};
    for (const [index, end] of ends.entries()) {
      const state = end === "returned" ? "out" : end === "cancelled" ? "released" : end;
      counts[state] = (counts[state] ?? 0) + units[index]!;
    }
    expect(await whereabouts(id)).toEqual(counts);
    // Those that came back are received; then all that the customer did not get can be sold again.
    for (
      const { receiving_order_id }
        of await sql`select receiving_order_id from storefront.storefront_order_parts
        where order_id = ${id} and receiving_order_id is not null`
    ) {
      expect(
        await tenant.ops.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
          status: "received",
        }),
      )
        .toSucceed(200);
    }
    const rest = await unitsOf(shop.shelf.item);
    expect(rest).toEqual(got === total - fee ? {} : { available: 5 - got / 5_000 });
    await clear();
    await checkAll(tenant);
  });
});

/** Takes what is left off the shelves: the next order begins with five units. */
async function clear(): Promise<void> {
  const { tenant, shelf, second } = shop;
  for (const { warehouse, bin } of [{ warehouse: shelf.warehouse, bin: shelf.bin }, second]) {
    const { available = 0 } = await unitsOf(shelf.item, bin);
    if (available === 0) continue;
    const answer = await tenant.ops.post("/warehousing/inventory/adjustments", {
      warehouse_id: warehouse,
      bin_id: bin,
      item_id: shelf.item,
      delta: -available,
      reason: "Sold elsewhere",
    });
    expect(answer.status).toBeLessThan(300);
  }
}

test("if the shop's wallet is short, the order ends all the same and shows the amount owed", async () => {
  const { tenant } = shop;
  const { id, customer, deliveries } = await ordered("wallet");
  await bring(shop, deliveries[0], "delivered");
  const house = await walletOf(tenant, null);
  const [{ id: wallet }] = await sql`select id from money.accounts
    where tenant_id = ${tenant.id} and kind = 'wallet' and owner_user_id is null`;
  const emptied = await tenant.admin.post(
    `/delivery/wallets/${wallet}/adjust`,
    { amount: house, direction: "debit", reason: "To the bank" },
    { headers: { "idempotency-key": randomUUID() } },
  );
  expect(emptied.status).toBeLessThan(300);
  await bring(shop, deliveries[1], "returned");
  expect(await standing(id)).toMatchObject({ status: "delivered", refunds: 0 });
  expect(await walletOf(tenant, customer.id)).toBe(0);
  const [event] = await sql`select event_data from integration.system_events
    where entity_id = ${id} and event_type = 'order.refund_due'`;
  expect(event!.event_data).toMatchObject({ amount: 10_000 });
  await isDue(shop, id, customer, 10_000);

  // The goods that were delivered stay paid.
  const filled = await tenant.admin.post(
    `/delivery/wallets/${wallet}/adjust`,
    { amount: house, direction: "credit", reason: "From the bank" },
    { headers: { "idempotency-key": randomUUID() } },
  );
  expect(filled.status).toBeLessThan(300);
  const refund = () => tenant.admin.post(`/storefront/orders/${id}/refund`, {});
  expect((await refund()).body.data.order).toMatchObject({
    refunded_amount: 10_000,
    refund_due_amount: 0,
  });
  expect(await walletOf(tenant, customer.id)).toBe(10_000);
  await isDue(shop, id, customer, 0);
  await checkAll(tenant);
});
