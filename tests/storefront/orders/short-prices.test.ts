/** Goods that were short cost what they cost in their order: with their share of its tax and its discount, to the last unit. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { enable, external, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, path as deliveriesPath } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import {
  acceptPaid,
  agree,
  newPricedShop,
  newTwoGoodsShop,
  pickItems,
  placeBoth,
  placePaid,
} from "../../support/order-prices.ts";
import { checkAll, placeOrder, type Shop, walletOf } from "../../support/orders.ts";
import { eventFor, numberOf, report as reportPayment } from "../../support/payments.ts";
import { newPerson } from "../../support/people.ts";
import { newBin, newWarehouse, stockIn } from "../../support/warehouses.ts";

const buyer = (shop: Shop): Promise<Person> => newPerson(shop.tenant.id, "customer", "customer");
const accept = async (shop: Shop, id: string) => {
  const answer = await shop.tenant.admin.post(`/storefront/orders/${id}/accept-short`);
  expect(answer).toSucceed(200);
  return answer.body.data;
};
const priceOf = async (shop: Shop, id: string) => {
  const { order } = (await shop.tenant.admin.get(`/storefront/orders/${id}`)).body.data;
  const { subtotal, tax_amount, discount_amount, total_price } = order;
  return { subtotal, tax_amount, discount_amount, total_price };
};
const amountsOf = async (id: string) =>
  (await sql`select cod_amount from delivery.deliveries where order_id = ${id} order by delivery_code`)
    .map(({ cod_amount }) => cod_amount);
const shortened = async (id: string) =>
  (await sql`select event_data ->> 'amount' as amount from integration.system_events
    where entity_id = ${id} and event_type = 'order.shortened' order by position`)
    .map(({ amount }) => Number(amount));

describe("8,000 of 10,000 were paid and accepted, and what costs 9,000 is not there", () => {
  test("in one warehouse: the rest costs its share, 800, and 7,200 go back at once", async () => {
    const shop = await newTwoGoodsShop();
    const customer = await buyer(shop);
    const placed = await placeBoth(shop, "razorpay", customer);
    await acceptPaid(shop, placed, 8_000);
    const { deliveries } = await approveOrder(shop, placed.id);
    const [task] = await picksOf(placed.id);
    await pickItems(shop, task!.id, { [shop.cheap.item]: 1 });
    expect(await accept(shop, placed.id)).toMatchObject({
      refund: { processed: true, amount: 7_200 },
      order: { subtotal: 1_000, tax_amount: 0, discount_amount: 200, total_price: 800 },
    });
    expect(await shortened(placed.id)).toEqual([7_200]);
    expect(await walletOf(shop.tenant, customer.id)).toBe(7_200);
    await bring(shop, deliveries[0].delivery_id, "delivered");
    expect(await walletOf(shop.tenant, customer.id)).toBe(7_200);
    await checkAll(shop.tenant);
  });

  test("in two warehouses: as much goes back when it is short as when its delivery comes back", async () => {
    const shop = await newTwoGoodsShop({ apart: true });
    for (const way of ["short", "returned"]) {
      const customer = await buyer(shop);
      const placed = await placeBoth(shop, "razorpay", customer);
      await acceptPaid(shop, placed, 8_000);
      const { deliveries: [dear, cheap] } = await approveOrder(shop, placed.id);
      const [first, second] = await picksOf(placed.id);
      await pickItems(shop, second!.id, { [shop.cheap.item]: 1 });
      await pickItems(shop, first!.id, way === "short" ? {} : { [shop.shelf.item]: 1 });
      if (way === "short") {
        expect(await accept(shop, placed.id)).toMatchObject({
          refund: { amount: 7_200 },
          order: { total_price: 800 },
        });
      } else await bring(shop, dear.delivery_id, "returned");
      await bring(shop, cheap.delivery_id, "delivered");
      expect(await walletOf(shop.tenant, customer.id)).toBe(7_200);
    }
    expect(await walletOf(shop.tenant, null)).toBe(2 * 800);
    await checkAll(shop.tenant);
  });
});

describe("amounts that cannot be divided evenly", () => {
  let shop: Awaited<ReturnType<typeof newPricedShop>>;
  beforeAll(async () => {
    shop = await newPricedShop({ price: 1_000, fee: 100, first: 0, second: 0 });
  });

  test.each([[2, 1, [1, 1]], [1, 0, [3, 1]], [0, 1, [2, 2]], [2, 0, [1, 2]]])(
    "found %i of 3, then %i of 2, accepted one after the other: refunds and the rest are what was paid",
    async (one, two) => {
      await refill();
      const customer = await buyer(shop);
      // 3,333 for goods of 5,000.
      const { id } = await placePaid(shop, 5, 500 + 3_333, customer);
      const { deliveries } = await approveOrder(shop, id);
      const [first, second] = await picksOf(id);
      let back = 0;
      let left = 5;
      for (
        const [task, missing, found] of [[first!, 3 - one, one], [second!, 2 - two, two]] as const
      ) {
        await pick(shop, task.id, found);
        const answer = await accept(shop, id);
        const share = Math.round((3_333 - back) * missing / left);
        expect(answer.refund.amount).toBe(share);
        back += share;
        left -= missing;
        expect(answer.order.total_price).toBe(500 + 3_333 - back);
      }
      for (const [place, found] of [one, two].entries()) {
        if (found) await bring(shop, deliveries[place].delivery_id, "delivered");
      }
      expect(await walletOf(shop.tenant, customer.id)).toBe(back);
      expect(await shortened(id)).toHaveLength(2);
      await checkAll(shop.tenant);
    },
  );

  test("paid with a tax: the goods take their share of it with them", async () => {
    await refill();
    const customer = await buyer(shop);
    const placed = await placeOrder(shop, "razorpay", 5, customer);
    await agree(placed.id, { tax: 502, discount: 101 });
    const total = 5_000 + 502 + 500 - 101;
    expect(await reportPayment(eventFor(shop, numberOf(placed), total))).toMatchObject({
      status: 200,
    });
    const { deliveries } = await approveOrder(shop, placed.id);
    const [first, second] = await picksOf(placed.id);
    await pick(shop, first!.id, 1);
    await pick(shop, second!.id);
    // Two of five: 2,160.4 of 5,401.
    expect((await accept(shop, placed.id)).refund.amount).toBe(2_160);
    expect(await priceOf(shop, placed.id)).toEqual({
      ...{ subtotal: 3_000, tax_amount: 301, discount_amount: 60, total_price: total - 2_160 },
    });
    await bring(shop, deliveries[0].delivery_id, "delivered");
    await bring(shop, deliveries[1].delivery_id, "returned");
    // One of three is kept: 1,080 of 3,241, rounded.
    expect(await walletOf(shop.tenant, customer.id)).toBe(total - 500 - 1_080);
    await checkAll(shop.tenant);
  });

  test.each(
    [
      ["before any leaves", [1, 2], 0, "discount"],
      ["after one has left", [3, 1], 1, "discount"],
      ["after one has left, and nothing is left here", [3, 0], 1, "discount"],
      ["after one has left, with a tax", [3, 1], 1, "tax"],
      ["after one has left, with a tax, and nothing is left here", [3, 0], 1, "tax"],
    ] as const,
  )(
    "paid at the door: what is collected is what it costs, short %s",
    async (_, found, gone, kind) => {
      await refill();
      const customer = await buyer(shop);
      const { id } = await placeOrder(shop, "cash", 5, customer);
      const goods = kind === "discount" ? 3_334 : 5_667;
      await agree(id, kind === "discount" ? { discount: 5_000 - goods } : { tax: goods - 5_000 });
      const { deliveries } = await approveOrder(shop, id);
      const shares = [Math.round(goods * 3 / 5), goods - Math.round(goods * 3 / 5)];
      expect(await amountsOf(id)).toEqual([500 + shares[0]!, shares[1]]);
      const tasks = await picksOf(id);
      await pick(shop, tasks[0]!.id, found[0]);
      if (gone) await bring(shop, deliveries[0].delivery_id, "delivered");
      await pick(shop, tasks[1]!.id, found[1]);
      const { order, refund } = await accept(shop, id);
      expect(refund).toBeNull();
      const less = gone
        ? Math.round(shares[1]! * (2 - found[1]) / 2)
        : Math.round(goods * (5 - found[0] - found[1]) / 5);
      expect(order).toMatchObject({
        subtotal: 1_000 * (found[0] + found[1]),
        total_price: 500 + goods - less,
      });
      expect(await shortened(id)).toEqual([less]);
      const due = await amountsOf(id);
      if (gone) expect(due[0]).toBe(500 + shares[0]!);
      const collected = found[1] ? due[0] + due[1] : due[0];
      expect(collected).toBe(order.total_price);
      if (!gone) await bring(shop, deliveries[0].delivery_id, "delivered");
      if (found[1]) await bring(shop, deliveries[1].delivery_id, "delivered");
      const { order: done } = (await shop.tenant.admin.get(`/storefront/orders/${id}`)).body.data;
      expect(done).toMatchObject({
        status: "delivered",
        payments: [{ status: "SUCCESS", amount: order.total_price }],
      });
      expect(await walletOf(shop.tenant, customer.id)).toBe(0);
      await checkAll(shop.tenant);
    },
  );

  test("a carrier that collects for what was not found: its share of the discounted price goes back", async () => {
    const loose = await newPricedShop({
      price: 1_000,
      fee: 100,
      first: 9,
      second: 0,
      picking: false,
    });
    const { tenant } = loose;
    const { secret } = await enable(tenant);
    const customer = await buyer(loose);
    const { id } = await placeOrder(loose, "cash", 3, customer);
    await agree(id, { discount: 1_000 });
    const { deliveries: [{ delivery_id }] } = await approveOrder(loose, id);
    expect(await tenant.ops.patch(`${deliveriesPath}/${delivery_id}/carrier`, external)).toSucceed(
      200,
    );
    const booked = await tenant.ops.post(`/carriers/shipments/${delivery_id}`, {
      carrier_code: "simulated",
    });
    const { tracking_number, cash_due } = booked.body.shipment;
    expect(cash_due).toBe(2_300);
    expect(await pick(loose, (await picksOf(id))[0]!.id, 2)).toSucceed(200);
    for (const status of ["picked_up", "delivered"]) {
      expect((await report(tenant, secret, { tracking_number, status })).body.outcome).toBe(
        "applied",
      );
    }
    expect(await walletOf(tenant, customer.id)).toBe(667);
    await checkAll(tenant);
  });

  /** Three units in one warehouse and two in the other, whatever was sold before. */
  async function refill(): Promise<void> {
    const { tenant, shelf, second } = shop;
    const places = [{ warehouse: shelf.warehouse, bin: shelf.bin, want: 3 }, {
      ...second,
      want: 2,
    }];
    for (const { warehouse, bin, want } of places) {
      const [{ there }] =
        await sql`select coalesce(sum(quantity), 0)::int as there from warehousing.stock
        where item_id = ${shelf.item} and bin_id = ${bin} and status = 'available'`;
      if (there === want) continue;
      const answer = await tenant.ops.post("/warehousing/inventory/adjustments", {
        ...{ warehouse_id: warehouse, bin_id: bin, item_id: shelf.item },
        ...{ delta: want - there, reason: "Counted" },
      });
      expect(answer.status).toBeLessThan(300);
    }
  }
});

test("in three warehouses, of which the first finds nothing when the second has left: the third collects the fee", async () => {
  const shop = await newSplitShop({ picking: true });
  const third = await newWarehouse(shop.tenant);
  await stockIn(shop.tenant, {
    item_id: shop.shelf.item,
    warehouse_id: third,
    bin_id: await newBin(shop.tenant, third, { is_default_receiving: true }),
    quantity: 2,
  });
  const { id } = await placeOrder(shop, "cash", 7);
  const { deliveries } = await approveOrder(shop, id);
  const [first, second, last] = await picksOf(id);
  await pick(shop, second!.id);
  await assign(shop.tenant, deliveries[1].delivery_id);
  await moves(shop.tenant.driver, deliveries[1].delivery_id, "pickup");
  await pick(shop, first!.id, 0);
  await pick(shop, last!.id, 1);
  await assign(shop.tenant, deliveries[2].delivery_id);
  const { order } = await accept(shop, id);
  const due = await sql`select status, cod_amount, delivery_fee from delivery.deliveries
    where order_id = ${id} order by delivery_code`;
  const fee = order.total_price - order.subtotal;
  expect(due.map(({ delivery_fee }) => delivery_fee)).toEqual([fee, 0, fee]);
  expect(due.map(({ status }) => status)).toEqual(["cancelled", "picked_up", "accepted"]);
  expect(due[1]!.cod_amount + due[2]!.cod_amount).toBe(order.total_price);
  // The driver who fetches it learns that it costs something else.
  const { data: notices } = (await shop.tenant.driver.get("/tenants/me/notifications", {
    query: { type: "delivery_changed" },
  })).body;
  expect(notices.map((one: Body) => one.payload.delivery_id)).toEqual([
    deliveries[2].delivery_id,
  ]);
  await moves(shop.tenant.driver, deliveries[1].delivery_id, "depart", "complete");
  await moves(shop.tenant.driver, deliveries[2].delivery_id, "pickup", "depart", "complete");
  const [{ taken }] = await sql`select sum(amount) as taken from money.cod_collections c
    join delivery.deliveries d on d.id = c.delivery_id where d.order_id = ${id}`;
  expect(taken).toBe(order.total_price);
  await checkAll(shop.tenant);
});
