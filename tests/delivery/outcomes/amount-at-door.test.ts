/** A driver without a network reports what was handed over after its amount was changed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { change } from "../../support/amount-changes.ts";
import { withKey } from "../../support/api.ts";
import { newKey } from "../../support/api-keys.ts";
import {
  bookOf,
  checkAll,
  type Ground,
  move,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { kept, partial, priced } from "../../support/kept-parts.ts";
import { eventsOf, onItsWay, report, sound, undo } from "../../support/outcomes.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const now = () => new Date().toISOString();
const parcel = async () => await onItsWay(ground, "in_transit", { cod_amount: 5000 });
const changed = async (id: string, amount: number, more: Record<string, unknown> = {}) =>
  expect(await change(tenant.ops, id, amount, more)).toSucceed(201);
const amountOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.cod_amount;
const historyOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}/amount-changes`)).body.data;
const noticesOf = async (id: string) =>
  (await tenant.ops.get("/tenants/me/notifications")).body.data
    .filter((one: { type: string; payload: { delivery_id: string } }) =>
      one.type === "amount_change_late" && one.payload.delivery_id === id
    );

test("a program that reports it by an API key: the person who changed the amount is notified", async () => {
  const program = withKey((await newKey(tenant)).key);
  const id = await parcel();
  const occurred_at = now();
  await changed(id, 4000);
  const cash_collected = { cod: 5000, delivery_fee: 2000 };
  expect(await report(program, id, { result: "delivered", occurred_at, cash_collected }))
    .toSucceed(200);
  expect(await amountOf(id)).toBe(5000);
  expect(await noticesOf(id)).toMatchObject([{ payload: { amount: 5000, currency: "IQD" } }]);
});

test.each([
  ["says the cash", { cash_collected: { cod: 5000, delivery_fee: 2000 } }],
  ["leaves it to the server", {}],
])("an app that %s: the amount of the door is taken, and put back by an undo", async (_, cash) => {
  const id = await parcel();
  const occurred_at = now();
  await changed(id, 4000);
  await changed(id, 3000);
  const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
  const done = await report(tenant.driver, id, { result: "delivered", occurred_at, ...cash });
  expect(done).toSucceed(200);
  expect(done.body.data).toMatchObject({
    delivery: { cod_amount: 5000, ordered_cod_amount: 5000 },
    cash: { due: { cod: 5000 }, collected: { cod: 5000 } },
  });
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 7000);
  const [last] = await historyOf(id);
  expect(last).toMatchObject({ old_cod_amount: 3000, new_cod_amount: 5000, reason: "as_at_door" });
  expect(await eventsOf(id, "delivery.amount_changed")).toHaveLength(3);
  expect(await noticesOf(id)).toMatchObject([{ payload: { amount: 5000, currency: "IQD" } }]);
  await sound(tenant);

  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await amountOf(id)).toBe(3000);
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held);
  // Reported anew, it is a report of now.
  expect(await report(tenant.driver, id, { result: "delivered", occurred_at: now() }))
    .toSucceed(200);
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 5000);
  await sound(tenant);
});

test("a change of an administrator of the system, who is no member: the amount of the door is taken all the same", async () => {
  const id = await parcel();
  const occurred_at = now();
  const system = await newSystemAdmin();
  const body = { cod_amount: 4000, reason: "Asked us" };
  const query = { tenant_id: tenant.id };
  expect(await system.post(`${path}/${id}/amount-changes`, body, { query })).toSucceed(201);
  await changed(id, 3000);
  expect(await report(tenant.driver, id, { result: "delivered", occurred_at })).toSucceed(200);
  expect(await amountOf(id)).toBe(5000);
  // Of the other change its member is.
  expect(await noticesOf(id)).toHaveLength(1);
  await sound(tenant);
});

test("what a late report and its undo wrote is no request: one more takes the amount of the door again", async () => {
  const id = await parcel();
  const first = now();
  const second = new Date(Date.parse(first) + 1).toISOString();
  await changed(id, 3000);
  const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
  const reported = { result: "delivered", cash_collected: { cod: 5000, delivery_fee: 2000 } };
  expect(await report(tenant.driver, id, { ...reported, note: "1", occurred_at: first }))
    .toSucceed(200);
  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await amountOf(id)).toBe(3000);
  expect(await report(tenant.driver, id, { ...reported, note: "2", occurred_at: second }))
    .toSucceed(200);
  expect(await amountOf(id)).toBe(5000);
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held + 7000);
  await sound(tenant);
});

test("what was changed before the door, or without a time of it, holds", async () => {
  const before = await parcel();
  await changed(before, 4000);
  const mismatch = await report(tenant.driver, before, {
    result: "delivered",
    occurred_at: now(),
    cash_collected: { cod: 5000, delivery_fee: 2000 },
  });
  expect(mismatch).toFailWith(400, "cash_amount_mismatch");
  expect(mismatch.body.due.cod).toBe(4000);
  expect(await move(tenant.driver, before, "complete", { occurred_at: now() })).toSucceed(200);
  const untimed = await parcel();
  await changed(untimed, 4000);
  expect(await move(tenant.driver, untimed, "complete")).toSucceed(200);
  for (const id of [before, untimed]) expect(await amountOf(id)).toBe(4000);
});

test("between two changes the amount is the one of that moment", async () => {
  const id = await parcel();
  await changed(id, 4000);
  const occurred_at = now();
  await changed(id, 6000);
  expect(await move(tenant.driver, id, "complete", { occurred_at })).toSucceed(200);
  expect(await amountOf(id)).toBe(4000);
});

test("a driver who heard of the newer amount took it: by the cash, or by an own request", async () => {
  const heard = await parcel();
  let occurred_at = now();
  await changed(heard, 4000);
  const cash_collected = { cod: 4000, delivery_fee: 2000 };
  expect(await move(tenant.driver, heard, "complete", { occurred_at, cash_collected }))
    .toSucceed(200);
  const asked = await parcel();
  const request = await change(tenant.driver, asked, 4500);
  expect(request).toSucceed(201);
  occurred_at = now();
  const { id } = request.body.data.amount_change;
  expect(await tenant.ops.post(`${path}/${asked}/amount-changes/${id}/approve`)).toSucceed(200);
  expect(await move(tenant.driver, asked, "complete", { occurred_at })).toSucceed(200);
  expect([await amountOf(heard), await amountOf(asked)]).toEqual([4000, 4500]);
  for (const one of [heard, asked]) expect(await noticesOf(one)).toEqual([]);
});

test("cash that is neither amount is refused with what was due at the door, and nothing is kept", async () => {
  const id = await parcel();
  const occurred_at = now();
  await changed(id, 4000);
  const wrong = await move(tenant.driver, id, "complete", {
    occurred_at,
    cash_collected: { cod: 4500, delivery_fee: 2000 },
  });
  expect(wrong).toFailWith(400, "cash_amount_mismatch");
  expect(wrong.body.due.cod).toBe(5000);
  expect(await statusOf(id)).toBe("in_transit");
  expect(await amountOf(id)).toBe(4000);
  expect(await historyOf(id)).toHaveLength(1);
});

test("the whole was handed over before a part of it was agreed on, also for the same amount", async () => {
  for (const amount of [11_000, 20_000]) {
    const id = await onItsWay(ground, "in_transit", priced);
    const occurred_at = now();
    await changed(id, amount, { kept_items: await kept(tenant, id, { Cap: 1, Shirt: 1 }) });
    expect(await report(tenant.driver, id, { result: "delivered" }))
      .toFailWith(409, "amount_is_for_part");
    expect(await report(tenant.driver, id, { result: "delivered", occurred_at })).toSucceed(200);
    expect(await amountOf(id)).toBe(20_000);
    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await amountOf(id)).toBe(amount);
    expect(await report(tenant.driver, id, { result: "delivered" }))
      .toFailWith(409, "amount_is_for_part");
  }
  await sound(tenant);
});

test("a part was kept for its prices before another amount was agreed on", async () => {
  const id = await onItsWay(ground, "in_transit", priced);
  const occurred_at = now();
  const body = { ...await partial(tenant, id, { Shirt: 1 }), occurred_at };
  const prices = (await report(tenant.driver, await onItsWay(ground, "in_transit", priced), {
    ...await partial(tenant, id, { Shirt: 1 }),
  })).body;
  expect(prices.code).toBe("partial_items_invalid");
  await changed(id, 15_000);
  const done = await report(tenant.driver, id, body);
  expect(done).toSucceed(200);
  const due = done.body.data.cash.due.cod;
  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await amountOf(id)).toBe(15_000);

  const same = await onItsWay(ground, "in_transit", priced);
  const straight = await report(tenant.driver, same, await partial(tenant, same, { Shirt: 1 }));
  expect(straight.body.data.cash.due.cod).toBe(due);
  await sound(tenant);
});

test("a part that was agreed on by telephone from the door is what was agreed", async () => {
  const id = await onItsWay(ground, "in_transit", priced);
  const occurred_at = now();
  await changed(id, 9000, { kept_items: await kept(tenant, id, { Shirt: 1 }) });
  const done = await report(tenant.driver, id, {
    ...await partial(tenant, id, { Shirt: 1 }),
    occurred_at,
  });
  expect(done).toSucceed(200);
  expect(done.body.data.cash.due.cod).toBe(9000);
});

test("the driver of a last leg takes what the parcel owed then", async () => {
  const { parent, b } = await stagedInWarehouse(ground, { cod_amount: 5000 });
  await takenOver(ground, b);
  const occurred_at = now();
  await changed(parent.id, 4000);
  const done = await report(tenant.driver, b, { result: "delivered", occurred_at });
  expect(done).toSucceed(200);
  expect(done.body.data.cash.collected.cod).toBe(5000);
  expect(await amountOf(parent.id)).toBe(5000);
  await sound(tenant);
});
