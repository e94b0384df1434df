/** Undo of what came of a store's order at the door: the order is on its way again, with its payment, its stock and its other deliveries. */
import { describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, withDriver } from "../../support/order-goods.ts";
import {
  checkAll as checkShop,
  newShop,
  placeOrder,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { undo } from "../../support/outcomes.ts";
import { newPerson } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";

describe("that one delivery brings", () => {
  test("is shipped again, its payment waited for and its stock as it was; and it can be delivered again", async () => {
    const shop = await newShop();
    await withDriver(shop);
    const { id } = await placeOrder(shop, "cash", 2);
    await approveOrder(shop, id);
    const [{ id: delivery }] = await sql`select id from delivery.deliveries where order_id = ${id}`;
    const stock = async () =>
      (await sql`select status, sum(quantity)::int as units from warehousing.stock where tenant_id = ${shop.tenant.id}
        group by status order by status`).map((row) => ({ ...row }));
    await bring(shop, delivery, "delivered");
    const left = await stock();
    for (let life = 1; life <= 2; life++) {
      expect(await standing(id)).toMatchObject({
        status: "delivered",
        payment_status: "paid",
        paid: 1,
      });
      expect(await undo(shop.tenant.ops, delivery)).toSucceed(200);
      expect(await standing(id)).toMatchObject({
        status: "shipped",
        payment_status: "pending",
        paid: 0,
      });
      const [payment] =
        await sql`select status, amount from money.payments where order_id = ${id} and type = 'ORDER'`;
      expect(payment).toEqual({ status: "pending", amount: 12_000 });
      expect(await stock()).toEqual(left);
      await checkShop(shop.tenant);
      await moves(shop.tenant.driver, delivery, "complete");
    }
    expect(await standing(id)).toMatchObject({
      status: "delivered",
      payment_status: "paid",
      paid: 1,
    });
    await checkShop(shop.tenant);
    expect(await breachesIn(shop.tenant)).toEqual([]);
  });

  test("that was paid before stays paid; one that is completed went on", async () => {
    const shop = await newShop();
    await withDriver(shop);
    const { id } = await placeOrder(shop, "wallet", 1);
    await approveOrder(shop, id);
    const [{ id: delivery }] = await sql`select id from delivery.deliveries where order_id = ${id}`;
    await bring(shop, delivery, "delivered");
    expect(await undo(shop.tenant.ops, delivery)).toSucceed(200);
    expect(await standing(id)).toMatchObject({
      status: "shipped",
      payment_status: "paid",
      paid: 1,
    });
    await moves(shop.tenant.driver, delivery, "complete");
    await sql`update storefront.storefront_orders set status = 'completed' where id = ${id}`;
    expect(await undo(shop.tenant.ops, delivery)).toFailWith(409, "outcome_went_on");
    await checkShop(shop.tenant);
  });
});

describe("that two deliveries bring", () => {
  const fee = 5_000;
  const goods = [15_000, 10_000];

  async function ordered(method: "cash" | "wallet") {
    const shop = await newSplitShop();
    const customer = await newPerson(shop.tenant.id, "customer", "customer");
    const { id } = await placeOrder(shop, method, 5, customer);
    const { deliveries } = await approveOrder(shop, id);
    const [first, second] = deliveries.map((one: { delivery_id: string }) => one.delivery_id);
    return { shop, customer, id, first, second };
  }
  /** The cash that drivers hold of the order, largest first. */
  const taken = async (order: string) =>
    (await sql`select c.cod_amount from money.cod_collections c join delivery.deliveries d on d.id = c.delivery_id
      where d.order_id = ${order} and c.reversed_at is null order by c.cod_amount desc`)
      .map(({ cod_amount }) => cod_amount);
  async function sound(shop: { tenant: { id: string } }) {
    await checkShop(shop.tenant);
    expect(await breachesIn(shop.tenant)).toEqual([]);
  }

  test("waits for the one that is undone, and is delivered and paid again with it", async () => {
    const { shop, id, first, second } = await ordered("cash");
    for (const delivery of [first, second]) await bring(shop, delivery, "delivered");
    expect(await standing(id)).toMatchObject({ status: "delivered", payment_status: "paid" });
    expect(await taken(id)).toEqual([goods[0] + fee, goods[1]]);
    for (const delivery of [first, second]) {
      expect(await undo(shop.tenant.ops, delivery)).toSucceed(200);
      expect(await standing(id)).toMatchObject({
        status: "shipped",
        payment_status: "pending",
        paid: 0,
      });
      await sound(shop);
    }
    expect(await taken(id)).toEqual([]);
    await moves(shop.tenant.driver, second, "complete");
    expect(await standing(id)).toMatchObject({ status: "shipped", paid: 0 });
    await moves(shop.tenant.driver, first, "complete");
    expect(await standing(id)).toMatchObject({ status: "delivered", payment_status: "paid" });
    expect(await taken(id)).toEqual([goods[0] + fee, goods[1]]);
    await sound(shop);
  });

  test("can end otherwise: what comes back after all is not paid for", async () => {
    const { shop, id, first, second } = await ordered("cash");
    await bring(shop, second, "delivered");
    expect(await undo(shop.tenant.ops, second)).toSucceed(200);
    await moves(shop.tenant.driver, second, "fail", "return");
    await bring(shop, first, "delivered");
    expect(await standing(id)).toMatchObject({ status: "delivered", payment_status: "paid" });
    const { order } = (await shop.tenant.admin.get(`/storefront/orders/${id}`)).body.data;
    expect(order.fulfilment).toBe("partial");
    expect(await taken(id)).toEqual([goods[0] + fee]);
    await sound(shop);
  });

  test("stays delivered once what came back of it was refunded, whichever ended first", async () => {
    for (const order of [[0, 1], [1, 0]]) {
      const { shop, customer, id, ...parts } = await ordered("wallet");
      const ends = [[parts.first, "delivered"], [parts.second, "returned"]] as const;
      for (const place of order) await bring(shop, ends[place]![0], ends[place]![1]);
      expect(await standing(id)).toMatchObject({ status: "delivered", refunds: 1 });
      expect(await walletOf(shop.tenant, customer.id)).toBe(goods[1]);
      expect(await undo(shop.tenant.ops, parts.first)).toFailWith(409, "outcome_went_on");
      expect(await undo(shop.tenant.ops, parts.second)).toFailWith(409, "outcome_went_on");
      await sound(shop);
    }
  });

  test("goes out again after a failed attempt of one that was none", async () => {
    const { shop, id, first, second } = await ordered("wallet");
    await bring(shop, first, "delivered");
    await bring(shop, second, "delivered");
    expect(await undo(shop.tenant.ops, second)).toSucceed(200);
    await moves(shop.tenant.driver, second, "fail");
    expect(await undo(shop.tenant.driver, second)).toSucceed(200);
    expect(await standing(id)).toMatchObject({ status: "shipped", payment_status: "paid" });
    await moves(shop.tenant.driver, second, "complete");
    expect(await standing(id)).toMatchObject({ status: "delivered", refunds: 0 });
    await sound(shop);
  });
});
