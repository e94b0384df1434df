/** The fee of an order moves to a delivery that its driver, without a network, had handed over before: the amount of the door counts. */
import { describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, bookOf, move, moves, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { dues, refusedFirst, split, taken } from "../../support/order-fees.ts";
import { bring } from "../../support/order-goods.ts";
import { checkAll } from "../../support/orders.ts";
import { report, undo } from "../../support/outcomes.ts";
import { breachesIn } from "../../support/reconciled.ts";

const uncollected = async (id: string) =>
  (await sql`select event_data ->> 'amount' as amount from integration.system_events
    where entity_id = ${id} and event_type = 'order.fee_not_collected'`)
    .map(({ amount }) => Number(amount));

/** The second delivery is picked up and handed over while the fee is on the first; then the first ends by `end`, and the reports come. */
async function handedOver(end: "cancelled" | "returned") {
  const all = await split();
  const { shop, tenant, id, first, second } = all;
  await assign(tenant, second);
  const fetched = new Date();
  const at = (minutes: number) => new Date(fetched.getTime() + minutes).toISOString();
  await bring(shop, first, end);
  expect((await dues(id))[1]).toEqual([14_000, 4_000]);
  expect(await move(tenant.driver, second, "pickup", { occurred_at: at(0) })).toSucceed(200);
  return { ...all, door: at(1) };
}
const cash_collected = { cod: 10_000, delivery_fee: 0 };

describe.each(["cancelled", "returned"] as const)("the first is %s meanwhile", (end) => {
  test.each([["says the cash", { cash_collected }], ["leaves it to the server", {}]])(
    "an app that %s: what was paid is booked, nobody collected the fee, and an undo puts it back",
    async (_, cash) => {
      const { tenant, id, second, door } = await handedOver(end);
      const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
      const reported = { result: "delivered", occurred_at: door, ...cash };
      const answer = await report(tenant.driver, second, reported);
      expect(answer).toSucceed(200);
      expect(answer.body.data.cash.collected.cod).toBe(10_000);
      expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 10_000);
      expect((await dues(id))[1]).toEqual([10_000, 0]);
      expect([await taken(id), await uncollected(id)]).toEqual([10_000, [4_000]]);
      await checkAll(tenant);
      expect(await breachesIn(tenant)).toEqual([]);

      expect(await undo(tenant.ops, second)).toSucceed(200);
      expect((await dues(id))[1]).toEqual([14_000, 4_000]);
      await moves(tenant.driver, second, "complete");
      expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 14_000);
      await checkAll(tenant);
      expect(await breachesIn(tenant)).toEqual([]);
    },
  );
});

test("a driver who has heard of the fee reports the cash with it, also with an earlier time", async () => {
  const { tenant, id, second, door } = await handedOver("cancelled");
  const answer = await report(tenant.driver, second, {
    result: "delivered",
    occurred_at: door,
    cash_collected: { cod: 14_000, delivery_fee: 0 },
  });
  expect(answer).toSucceed(200);
  expect(await taken(id)).toBe(14_000);
  await checkAll(tenant);
});

test("the history says what the order moved, and that nobody asked for it", async () => {
  const { tenant, second } = await handedOver("cancelled");
  const { body } = await tenant.ops.get(`${path}/${second}/amount-changes`);
  expect(body.data).toMatchObject([{
    old_cod_amount: 10_000,
    new_cod_amount: 14_000,
    reason: "order_divided",
    status: "approved",
    requested_by: null,
    decided_by: null,
  }]);
  const events = await sql`select from integration.system_events
    where entity_id = ${second} and event_type = 'delivery.amount_changed'`;
  expect(events).toHaveLength(0);
});

/** The fee passes to the second, which is handed over; the first has it again, and then the report comes. */
async function takenAtBoth() {
  const all = await refusedFirst();
  const { tenant, id, second, undone } = all;
  expect((await dues(id))[1]).toEqual([14_000, 4_000]);
  await assign(tenant, second);
  const fetched = new Date();
  const at = (minutes: number) => new Date(fetched.getTime() + minutes).toISOString();
  expect(await undone()).toSucceed(200);
  expect(await dues(id)).toEqual([[14_000, 4_000], [10_000, 0]]);
  expect(await move(tenant.driver, second, "pickup", { occurred_at: at(0) })).toSucceed(200);
  const answer = await report(tenant.driver, second, {
    result: "delivered",
    occurred_at: at(1),
    cash_collected: { cod: 14_000, delivery_fee: 0 },
  });
  expect(answer).toSucceed(200);
  expect(await dues(id)).toEqual([[10_000, 0], [14_000, 4_000]]);
  return all;
}

test("a fee that was taken at one door is not taken at the other as well, which had it again meanwhile", async () => {
  const { tenant, id, first } = await takenAtBoth();
  await moves(tenant.driver, first, "complete");
  expect(await taken(id)).toBe(24_000);
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
});

test.each(["before", "after"])(
  "undone %s the other is delivered, one of the two collects the fee",
  async (when) => {
    const { tenant, id, first, second } = await takenAtBoth();
    if (when === "after") await moves(tenant.driver, first, "complete");
    expect(await undo(tenant.ops, second, "as_at_door")).toSucceed(200);
    expect(await dues(id)).toEqual([[10_000, 0], [14_000, 4_000]]);
    await moves(tenant.driver, second, "complete");
    if (when === "before") await moves(tenant.driver, first, "complete");
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(24_000);
    await checkAll(tenant);
    expect(await breachesIn(tenant)).toEqual([]);
  },
);
