/** A driver without a network reports a pickup that came before the parcel was redirected. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import {
  assign,
  bookOf,
  checkAll,
  move,
  moves,
  newDelivery,
  path,
} from "../../support/deliveries.ts";
import { sound, undo } from "../../support/outcomes.ts";
import type { Tenant } from "../../support/people.ts";
import {
  fee,
  newRoads,
  redirect,
  redirectNotices,
  type Roads,
  whereTo,
} from "../../support/redirects.ts";

let roads: Roads;
let tenant: Tenant;
beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});
afterAll(() => checkAll(tenant));

const now = () => new Date().toISOString();
const bySender = { payer_type: "sender" };
const held = () => bookOf(tenant, "driver_cash", tenant.driver.id);
const redirected = async (id: string, by: Person = tenant.ops) =>
  expect(await redirect(by, id, roads.far)).toSucceed(200);

test.each([
  ["says the cash", { cash_collected: { cod: 0, delivery_fee: fee.near } }],
  ["leaves it to the server", {}],
])(
  "an app that %s: the sender's fee of then is taken, and it goes to the new place",
  async (_, cash) => {
    const { id } = await newDelivery(roads, bySender);
    await assign(tenant, id);
    const occurred_at = now();
    await redirected(id, tenant.customer);
    const before = await held();
    const done = await move(tenant.driver, id, "pickup", { occurred_at, ...cash });
    expect(done).toSucceed(200);
    expect(done.body.cash.collected.delivery_fee).toBe(fee.near);
    expect(await held()).toBe(before + fee.near);
    expect(await whereTo(tenant, id)).toMatchObject({
      dropoff_address_id: roads.far,
      delivery_fee: fee.near,
    });
    expect(await redirectNotices(tenant.customer, id)).toEqual([["redirect_fee_late", fee.near]]);
    await sound(tenant);
    expect(await tenant.driver.post(`${path}/${id}/pickup/undo`, { reason: "Other" }))
      .toSucceed(200);
    expect(await whereTo(tenant, id)).toMatchObject({ delivery_fee: fee.far });
    expect(await held()).toBe(before);
    expect(await move(tenant.driver, id, "pickup", { occurred_at: now() })).toSucceed(200);
    expect(await held()).toBe(before + fee.far);
    await moves(tenant.driver, id, "depart", "complete");
    await sound(tenant);
  },
);

test("picked up and handed over before the redirect, both reports are true", async () => {
  const { id } = await newDelivery(roads, { ...bySender, cod_amount: 5000 });
  await assign(tenant, id);
  const [picked, gone, done] = [now(), now(), now()];
  await new Promise((resolve) => setTimeout(resolve, 5));
  await redirected(id);
  const fees = { delivery_fee: fee.near };
  expect(
    await move(tenant.driver, id, "pickup", { occurred_at: picked, cash_collected: fees }),
  ).toSucceed(200);
  expect(await move(tenant.driver, id, "depart", { occurred_at: gone })).toSucceed(200);
  expect(
    await move(tenant.driver, id, "complete", {
      occurred_at: done,
      cash_collected: { cod: 5000 },
    }),
  ).toSucceed(200);
  expect(await whereTo(tenant, id)).toMatchObject({
    dropoff_address_id: roads.to,
    delivery_fee: fee.near,
  });
  await sound(tenant);
  // Both undone, the redirect is in force as it was.
  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await whereTo(tenant, id)).toMatchObject({
    dropoff_address_id: roads.far,
    delivery_fee: fee.near,
  });
  expect(await tenant.driver.post(`${path}/${id}/pickup/undo`, { reason: "Other" }))
    .toSucceed(200);
  expect(await whereTo(tenant, id)).toMatchObject({
    dropoff_address_id: roads.far,
    delivery_fee: fee.far,
  });
  await sound(tenant);
});

test("a driver who took the newer fee had heard of it", async () => {
  const { id } = await newDelivery(roads, bySender);
  await assign(tenant, id);
  const occurred_at = now();
  await redirected(id);
  const cash_collected = { delivery_fee: fee.far };
  expect(await move(tenant.driver, id, "pickup", { occurred_at, cash_collected })).toSucceed(200);
  expect(await whereTo(tenant, id)).toMatchObject({ delivery_fee: fee.far });
});
