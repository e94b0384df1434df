/** The fee of an order that is paid at the door, once the delivery that was to collect it has come back, and where that is undone. */
import { expect, test } from "vitest";
import { enable, external, report as carrierReports } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { assign, move, moves, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import {
  changesNotified,
  dues,
  goodsExpected,
  refusedFirst,
  split,
  taken,
} from "../../support/order-fees.ts";
import { approveOrder, bring, pick, picksOf, whereabouts } from "../../support/order-goods.ts";
import { newTwoGoodsShop, placeBoth } from "../../support/order-prices.ts";
import { checkAll } from "../../support/orders.ts";
import { locksBefore } from "../../support/overlapping.ts";
import type { Tenant } from "../../support/people.ts";

const orderAt = async ({ admin }: Tenant, id: string) =>
  (await admin.get(`/storefront/orders/${id}`)).body.data.order;

const uncollected = async (id: string) =>
  (await sql`select event_data ->> 'amount' as amount from integration.system_events
    where entity_id = ${id} and event_type = 'order.fee_not_collected'`)
    .map(({ amount }) => Number(amount));

/** Refused at once, with the fee on the other delivery. */
async function refusedWithFee() {
  const all = await refusedFirst();
  expect(await dues(all.id)).toEqual([[14_000, 4_000], [14_000, 4_000]]);
  return { ...all, undo: async () => expect(await all.undone()).toSucceed(200) };
}

test("it fails and comes back: the other, which has not left, collects it", async () => {
  const { shop, tenant, id, first, second } = await split();
  await sql`update delivery.deliveries set label_edition = 1 where id = ${second}`;
  await bring(shop, first, "returned");
  expect((await dues(id))[1]).toEqual([14_000, 4_000]);
  const { delivery } = (await tenant.ops.get(`${path}/${second}`)).body;
  expect(delivery).toMatchObject({ cod_amount: 14_000, label_outdated: true });
  await bring(shop, second, "delivered");
  expect(await taken(id)).toBe(14_000);
  expect(await orderAt(tenant, id)).toMatchObject({
    status: "delivered",
    fulfilment: "partial",
    payments: [{ status: "SUCCESS", amount: 14_000 }],
  });
  expect(await uncollected(id)).toEqual([]);
  await checkAll(tenant);
});

test("operations return it, and another driver who waits for the other is notified", async () => {
  const { tenant, id, first, second } = await split();
  await assign(tenant, first);
  await moves(tenant.driver, first, "pickup", "depart", "fail");
  await assign(tenant, second);
  await moves(tenant.ops, first, "return");
  expect(await changesNotified(tenant)).toEqual([second]);
  await moves(tenant.driver, second, "pickup", "depart", "complete");
  expect(await taken(id)).toBe(14_000);
  await checkAll(tenant);
});

test("the other has left: nobody collects it, which an event says", async () => {
  const { shop, tenant, id, first, second } = await split();
  await assign(tenant, second);
  await moves(tenant.driver, second, "pickup");
  await bring(shop, first, "returned");
  await moves(tenant.driver, second, "depart", "complete");
  expect(await taken(id)).toBe(10_000);
  expect(await uncollected(id)).toEqual([4_000]);
  await checkAll(tenant);
});

test("a carrier is booked for the other without it: it comes back all the same, which an event says", async () => {
  const { shop, tenant, id, first, second } = await split();
  const { secret } = await enable(tenant);
  expect(await tenant.ops.patch(`${path}/${second}/carrier`, external)).toSucceed(200);
  const booked = await tenant.ops.post(`/carriers/shipments/${second}`, {
    carrier_code: "simulated",
  });
  const { tracking_number } = booked.body.shipment;
  await bring(shop, first, "returned");
  expect(await dues(id)).toEqual([[14_000, 4_000], [10_000, 0]]);
  for (const status of ["picked_up", "in_transit", "delivered"]) {
    const answer = await carrierReports(tenant, secret, { tracking_number, status });
    expect(answer.body.outcome).toBe("applied");
  }
  expect(await uncollected(id)).toEqual([4_000]);
  await checkAll(tenant);
});

/** Of which the second has cost nothing, and is booked with a carrier that collects nothing. */
async function bookedForNothing() {
  const shop = await newTwoGoodsShop({ apart: true });
  await sql`update storefront.product_variants set price = 0 where id = ${shop.cheap.variant}`;
  await sql`update delivery.delivery_services set default_price = 2000 where id = ${shop.service}`;
  const { tenant } = shop;
  const { id } = await placeBoth(shop, "cash", tenant.customer);
  const { deliveries } = await approveOrder(shop, id);
  const [first, second] = deliveries.map((one: { delivery_id: string }) => one.delivery_id);
  for (const task of await picksOf(id)) expect(await pick(shop, task.id)).toSucceed(200);
  expect(await dues(id)).toEqual([[13_000, 4_000], [0, 0]]);
  const { secret } = await enable(tenant);
  expect(await tenant.ops.patch(`${path}/${second}/carrier`, external)).toSucceed(200);
  const booked = await tenant.ops.post(`/carriers/shipments/${second}`, {
    carrier_code: "simulated",
  });
  expect(booked.body.shipment.cash_due).toBe(0);
  const { tracking_number } = booked.body.shipment;
  const brings = async () => {
    for (const status of ["picked_up", "in_transit", "delivered"]) {
      const answer = await carrierReports(tenant, secret, { tracking_number, status });
      expect(answer.body.outcome).toBe("applied");
    }
  };
  return { shop, tenant, id, first, second, brings };
}

test("a carrier is booked for the other with nothing to collect: nobody collects it, which an event says", async () => {
  const { shop, tenant, id, first, brings } = await bookedForNothing();
  await bring(shop, first, "returned");
  expect(await dues(id)).toEqual([[13_000, 4_000], [0, 0]]);
  await brings();
  expect([await taken(id), await uncollected(id)]).toEqual([0, [4_000]]);
  await checkAll(tenant);
});

test("nor is the first cancelled before its booking is", async () => {
  const { tenant, id, first, second } = await bookedForNothing();
  const cancel = () => tenant.ops.post(`${path}/${first}/cancel`, { reason: "Not this one" });
  const refused = await cancel();
  expect(refused).toFailWith(409, "shipment_cash_changes");
  expect(refused.body).toMatchObject({ delivery_id: second, amount: 0 });
  expect(await dues(id)).toEqual([[13_000, 4_000], [0, 0]]);
  expect(await tenant.ops.post(`/carriers/shipments/${second}/cancel`)).toSucceed(200);
  expect(await cancel()).toSucceed(200);
  expect((await dues(id))[1]).toEqual([4_000, 4_000]);
  await checkAll(tenant);
});

test("both come back: nothing is collected, and nothing is said to be missing", async () => {
  const { shop, tenant, id, first, second } = await split();
  await bring(shop, first, "returned");
  await bring(shop, second, "returned");
  expect(await orderAt(tenant, id)).toMatchObject({ status: "cancelled", fulfilment: "returned" });
  expect([await taken(id), await uncollected(id)]).toEqual([0, []]);
  await checkAll(tenant);
});

test("undone while the other waits: the first collects it again", async () => {
  const { shop, tenant, id, first, second, undo } = await refusedWithFee();
  await undo();
  expect(await dues(id)).toEqual([[14_000, 4_000], [10_000, 0]]);
  await moves(tenant.driver, first, "complete");
  await bring(shop, second, "delivered");
  expect(await taken(id)).toBe(24_000);
  expect(await orderAt(tenant, id)).toMatchObject({ status: "delivered", fulfilment: "full" });
  await checkAll(tenant);
});

test("undone when the other has left with it, or has come: the first collects its goods alone", async () => {
  for (const steps of [["pickup"], ["pickup", "depart", "complete"]]) {
    const { tenant, id, first, second, undo } = await refusedWithFee();
    await assign(tenant, second);
    await moves(tenant.driver, second, ...steps);
    const ended = steps.includes("complete");
    expect(await goodsExpected(tenant)).toHaveLength(ended ? 1 : 0);
    await undo();
    expect(await goodsExpected(tenant)).toEqual([]);
    expect(await dues(id)).toEqual([[10_000, 0], [14_000, 4_000]]);
    expect(await orderAt(tenant, id)).toMatchObject({ status: "shipped" });
    await moves(tenant.driver, first, "complete");
    if (!ended) await moves(tenant.driver, second, "depart", "complete");
    expect(await taken(id)).toBe(24_000);
    expect(await orderAt(tenant, id)).toMatchObject({
      status: "delivered",
      fulfilment: "full",
      payments: [{ status: "SUCCESS", amount: 24_000 }],
    });
    expect(await whereabouts(id)).toEqual({ delivered: 4 });
    expect(await goodsExpected(tenant)).toEqual([]);
    await checkAll(tenant);
  }
});

test("undone when a carrier is booked for the other with it: the first collects its goods alone", async () => {
  const { tenant, id, second, undo } = await refusedWithFee();
  await enable(tenant);
  expect(await tenant.ops.patch(`${path}/${second}/carrier`, external)).toSucceed(200);
  expect(
    (await tenant.ops.post(`/carriers/shipments/${second}`, { carrier_code: "simulated" })).body
      .shipment.cash_due,
  ).toBe(14_000);
  await undo();
  expect(await dues(id)).toEqual([[10_000, 0], [14_000, 4_000]]);
  await checkAll(tenant);
});

test("all deliveries of an order are locked before the order", async () => {
  const { tenant, id, first, second } = await split();
  await assign(tenant, first);
  await moves(tenant.driver, first, "pickup", "depart", "fail");
  const answer = await locksBefore(
    (tx) => tx`select from delivery.deliveries where id = ${second} for no key update`,
    () => move(tenant.driver, first, "return"),
    (tx) => tx`select from storefront.storefront_orders where id = ${id} for no key update nowait`,
  );
  expect(answer).toSucceed(200);
});

test("it comes back while the other is picked up: it is collected with the cash, or the other had left", async () => {
  for (let round = 0; round < 3; round++) {
    const { tenant, id, first, second } = await split();
    await assign(tenant, first);
    await moves(tenant.driver, first, "pickup", "depart", "fail");
    await assign(tenant, second);
    const answers = await Promise.all([
      move(tenant.ops, first, "return"),
      move(tenant.driver, second, "pickup"),
    ]);
    for (const answer of answers) expect(answer).toSucceed(200);
    await moves(tenant.driver, second, "depart", "complete");
    const [, [due, fee]] = await dues(id);
    expect([due, await taken(id)]).toEqual([10_000 + fee, 10_000 + fee]);
    expect([fee, ...await uncollected(id)]).toEqual(fee ? [4_000] : [0, 4_000]);
    await checkAll(tenant);
  }
});
