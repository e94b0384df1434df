/** Orders of which less was found than was ordered: the shop sends what there is, or cancels. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { enable, external } from "../../support/carriers.ts";
import { assign, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import {
  approveOrder,
  bring,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop, walletOf } from "../../support/orders.ts";
import { newPerson } from "../../support/people.ts";
import { eventsOf, unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newSplitShop({ first: 500, second: 0, picking: true });
});
const accept = (id: string, at = shop, key?: string) =>
  at.tenant.admin.post(`/storefront/orders/${id}/accept-short`, undefined, {
    headers: key ? { "idempotency-key": key } : {},
  });
const orderAt = async (at: Shop, id: string) =>
  (await at.tenant.admin.get(`/storefront/orders/${id}`)).body.data.order;

/** Three units ordered and approved, of which so many were found. */
async function short(method: "cash" | "wallet", found: number) {
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const { id } = await placeOrder(shop, method, 3, customer);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  const [task] = await picksOf(id);
  expect(await pick(shop, task!.id, found)).toSucceed(200);
  return { id, customer, delivery: delivery_id as string, task: task!.id as string };
}

test("stops before the driver leaves, and is sent incomplete once the shop accepts it", async () => {
  const free = (await unitsOf(shop.shelf.item)).available;
  const { id, delivery } = await short("cash", 2);
  await assign(shop.tenant, delivery);
  expect(await move(shop.tenant.driver, delivery, "pickup")).toFailWith(409, "goods_not_picked");
  const seen = await orderAt(shop, id);
  expect(seen).toMatchObject({
    status: "confirmed",
    total_price: 18_000,
    short: [{ item: { sku: shop.product.sku }, ordered: 3, picked: 2, accepted: false }],
  });
  expect(await whereabouts(id)).toEqual({ picked: 2, reserved: 1 });
  const { next_action } = (await shop.tenant.warehouse.get(
    `/warehousing/package-scan/${seen.deliveries[0].tracking_number}`,
  )).body.delivery;
  expect(next_action).toBe("none");

  const answer = await accept(id);
  expect(answer).toSucceed(200);
  expect(answer.body.data).toMatchObject({
    refund: null,
    order: {
      subtotal: 10_000,
      total_price: 13_000,
      short: [{ ordered: 3, picked: 2, accepted: true }],
      deliveries: [{ items: [{ quantity: 2 }] }],
    },
  });
  expect((await unitsOf(shop.shelf.item)).available).toBe(free - 2);
  await moves(shop.tenant.driver, delivery, "pickup", "depart");
  const done = await moves(shop.tenant.driver, delivery, "complete");
  expect(done.cash.collected).toMatchObject({ cod: 13_000 });
  expect(await orderAt(shop, id)).toMatchObject({
    status: "delivered",
    fulfilment: "partial",
    payments: [{ status: "SUCCESS", amount: 13_000 }],
  });
  expect(await whereabouts(id)).toEqual({ delivered: 2, short: 1 });
  expect(await eventsOf(id)).toContain("order.shortened");
  await checkAll(shop.tenant);
});

test("the overpayment is refunded at once, and nothing more at the end", async () => {
  const { id, customer, delivery } = await short("wallet", 1);
  const itemsOf = async () =>
    (await customer.get(`/storefront/orders/${id}/payment-status`)).body.order.items.map((
      { quantity, total, short }: Record<string, number>,
    ) => [quantity, total, short]);
  expect(await itemsOf()).toEqual([[3, 15_000, 0]]);
  const answer = await accept(id);
  expect(await itemsOf()).toEqual([[3, 15_000, 2]]);
  expect(answer.body.data).toMatchObject({
    refund: { processed: true, amount: 10_000 },
    order: { subtotal: 5_000, total_price: 8_000 },
  });
  expect(await walletOf(shop.tenant, customer.id)).toBe(10_000);
  await bring(shop, delivery, "delivered");
  expect(await walletOf(shop.tenant, customer.id)).toBe(10_000);
  await checkAll(shop.tenant);
});

test("a key replays the answer; without one a second call has nothing to accept", async () => {
  const { id, customer } = await short("wallet", 2);
  const key = randomUUID();
  const first = await accept(id, shop, key);
  const again = await accept(id, shop, key);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await accept(id)).toFailWith(409, "order_not_short");
  expect(await walletOf(shop.tenant, customer.id)).toBe(5_000);
});

test("refuses orders that are still being picked, complete after all, or without any goods", async () => {
  const { id } = await placeOrder(shop);
  expect(await accept(id)).toFailWith(409, "order_not_short");
  await approveOrder(shop, id);
  expect(await accept(id)).toFailWith(409, "order_not_short");

  const found = await short("cash", 2);
  // Reported of a pick that has ended, as long as it is here.
  expect(await pick(shop, found.task)).toSucceed(200);
  expect((await orderAt(shop, found.id)).short).toEqual([]);
  expect(await accept(found.id)).toFailWith(409, "order_not_short");
  await assign(shop.tenant, found.delivery);
  await moves(shop.tenant.driver, found.delivery, "pickup");

  const none = await short("wallet", 0);
  expect(await accept(none.id)).toFailWith(409, "order_nothing_picked");
  const cancelled = await shop.tenant.admin.put(`/storefront/orders/${none.id}/cancel`, {
    reason: "out_of_stock",
  });
  expect(cancelled.body.data.refund.amount).toBe(18_000);
  expect(await whereabouts(none.id)).toEqual({ released: 3 });
  await checkAll(shop.tenant);
});

test("one of two warehouses finds nothing: its delivery is cancelled, and the fee moves to the other", async () => {
  const split = await newSplitShop({ picking: true });
  const { id } = await placeOrder(split, "cash", 5);
  const { deliveries } = await approveOrder(split, id);
  const [first, second] = await picksOf(id);
  await pick(split, first!.id, 0);
  await pick(split, second!.id);
  const answer = await accept(id, split);
  expect(answer).toSucceed(200);
  expect(answer.body.data.order).toMatchObject({ subtotal: 10_000, total_price: 15_000 });
  const rows = await sql`select status, cod_amount from delivery.deliveries
    where order_id = ${id} order by delivery_code`;
  expect(rows[0]!.status).toBe("cancelled");
  expect(rows[1]).toMatchObject({ status: "pending", cod_amount: 15_000 });
  await bring(split, deliveries[1].delivery_id, "delivered");
  expect(await orderAt(split, id)).toMatchObject({
    status: "delivered",
    fulfilment: "partial",
    payments: [{ amount: 15_000, status: "SUCCESS" }],
  });
  expect(await whereabouts(id)).toEqual({ delivered: 2, short: 3 });
  expect(await unitsOf(split.shelf.item)).toEqual({ available: 3 });
  await checkAll(split.tenant);
});

test.for(
  [
    ["cash", "delivered"],
    ["wallet", "delivered"],
    ["wallet", "returned"],
    ["cash", "returned"],
  ] as const,
)(
  "nothing is found once the other warehouse's goods are through: the order ends with them (%s, %s)",
  async ([method, end]) => {
    const split = await newSplitShop({ picking: true });
    const { id } = await placeOrder(split, method, 5);
    const wallet = () => walletOf(split.tenant, split.tenant.customer.id);
    const paid = await wallet();
    const { deliveries } = await approveOrder(split, id);
    const [first, second] = await picksOf(id);
    await pick(split, second!.id);
    await bring(split, deliveries[1].delivery_id, end);
    await pick(split, first!.id, 0);
    const answer = await accept(id, split);
    expect(answer).toSucceed(200);
    // Paid in cash, the fee was on the delivery that never left; paid before, it stays where something was delivered.
    const back = method === "cash" ? null : end === "delivered" ? 15_000 : 30_000;
    expect(answer.body.data).toMatchObject({
      refund: back === null ? null : { processed: true, amount: back, method: "wallet" },
      order: { status: end === "delivered" ? "delivered" : "cancelled" },
    });
    expect(await wallet()).toBe(paid + (back ?? 0));
    expect(await orderAt(split, id)).toMatchObject({
      fulfilment: end === "delivered" ? "partial" : "returned",
    });
    expect(await unitsOf(split.shelf.item)).toMatchObject({ available: 3 });
    await checkAll(split.tenant);
  },
);

test("accepted twice at once, and against a cancellation: once, and in balance", async () => {
  for (let round = 0; round < 4; round++) {
    const { id, customer } = await short("wallet", 2);
    const answers = await Promise.all([accept(id), accept(id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await walletOf(shop.tenant, customer.id)).toBe(5_000);

    const other = await short("wallet", 2);
    const [taken, cancelled] = await Promise.all([
      accept(other.id),
      shop.tenant.admin.put(`/storefront/orders/${other.id}/cancel`, { reason: "other" }),
    ]);
    expect(cancelled.status).toBe(200);
    expect([200, 409]).toContain(taken.status);
    expect(await walletOf(shop.tenant, other.customer.id)).toBe(18_000);
    expect(await whereabouts(other.id))
      .toEqual(taken.status === 200 ? { short: 1, released: 2 } : { released: 3 });
  }
  await checkAll(shop.tenant);
});

test("accepted against the driver's pickup: the driver leaves with the goods found, or waits", async () => {
  for (let round = 0; round < 4; round++) {
    const { id, delivery } = await short("cash", 2);
    await assign(shop.tenant, delivery);
    const [taken, pickup] = await Promise.all([
      accept(id),
      move(shop.tenant.driver, delivery, "pickup"),
    ]);
    expect(taken.status).toBe(200);
    if (pickup.status !== 200) expect(pickup).toFailWith(409, "goods_not_picked");
    expect(await whereabouts(id))
      .toEqual({ short: 1, [pickup.status === 200 ? "out" : "picked"]: 2 });
  }
  await checkAll(shop.tenant);
});

test("a carrier never keeps the old amount: its shipment is cancelled first, and booked again", async () => {
  // A carrier may be booked before the picking only where goods leave unpicked.
  const loose = await newSplitShop({ first: 100, second: 0, picking: false });
  await enable(loose.tenant);
  const { ops } = loose.tenant;
  const booking = (delivery: string, step = "", body: object = { carrier_code: "simulated" }) =>
    ops.post(`/carriers/shipments/${delivery}${step}`, body);
  const given = async (method: "cash" | "wallet", found: number, booked: boolean) => {
    const customer = await newPerson(loose.tenant.id, "customer", "customer");
    const { id } = await placeOrder(loose, method, 3, customer);
    const { deliveries: [{ delivery_id: delivery }] } = await approveOrder(loose, id);
    expect(await ops.patch(`/delivery/deliveries/${delivery}/carrier`, external)).toSucceed(200);
    const shipment = booked ? (await booking(delivery)).body.shipment : undefined;
    expect(await pick(loose, (await picksOf(id))[0]!.id, found)).toSucceed(200);
    return { id, delivery: delivery as string, shipment };
  };
  const { id, delivery, shipment } = await given("cash", 2, true);
  expect(shipment.cash_due).toBe(18_000);
  const key = randomUUID();
  const refused = await accept(id, loose, key);
  expect(refused).toFailWith(409, "shipment_cash_changes");
  expect(refused.body).toMatchObject({
    delivery_id: delivery,
    carrier_code: "simulated",
    amount: 18_000,
    currency: "IQD",
  });
  expect(await orderAt(loose, id)).toMatchObject({
    total_price: 18_000,
    short: [{ ordered: 3, picked: 2, accepted: false }],
  });
  expect(await booking(delivery, "/cancel")).toSucceed(200);
  expect(await booking(delivery)).toFailWith(409, "goods_not_picked");
  expect(await accept(id, loose, key)).toSucceed(200);
  expect((await booking(delivery)).body.shipment.cash_due).toBe(13_000);

  // One that collects nothing may stay booked.
  const paid = await given("wallet", 2, true);
  expect(paid.shipment.cash_due).toBe(0);
  expect(await accept(paid.id, loose)).toSucceed(200);
  // Booked at the same moment, the carrier has the new amount, or nothing.
  for (let round = 0; round < 4; round++) {
    const raced = await given("cash", 1, false);
    const [accepted, booked] = await Promise.all([
      accept(raced.id, loose),
      booking(raced.delivery),
    ]);
    expect(accepted).toSucceed(200);
    if (booked.status === 200) expect(booked.body.shipment.cash_due).toBe(8_000);
    else expect(booked).toFailWith(409, "goods_not_picked");
  }
  await checkAll(loose.tenant);
});
