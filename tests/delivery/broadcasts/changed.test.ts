/** delivery.changed: what changed of a parcel, to the board and to the driver who has it. */
import { beforeAll, expect, test } from "vitest";
import { change } from "../../support/amount-changes.ts";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  deliveryIn,
  newDelivery,
  path,
  stagedInWarehouse,
  takenOver,
} from "../../support/deliveries.ts";
import type { Tenant } from "../../support/people.ts";
import { boardOf, driverTopic, pushesTo } from "../../support/pushes.ts";
import { newRoads, redirect, type Roads } from "../../support/redirects.ts";

let roads: Roads;
let tenant: Tenant;
beforeAll(async () => {
  roads = await newRoads();
  tenant = roads.tenant;
});

const heard = async (topic: string, ...deliveries: string[]): Promise<Body[]> =>
  (await pushesTo(topic, "delivery.changed")).filter((one) => deliveries.includes(one.delivery_id));
const board = (...deliveries: string[]) => heard(boardOf(tenant), ...deliveries);
const own = (driver: Person, ...deliveries: string[]) => heard(driverTopic(driver), ...deliveries);
const noticesOf = async (delivery: string) =>
  (await sql`select from tenancy.notifications
    where type = 'delivery_changed' and payload ->> 'delivery_id' = ${delivery}`).length;

test("a redirect, another amount and another window of a parcel on the road are each heard once", async () => {
  const { id, delivery_code } = await deliveryIn(roads, "in_transit", { cod_amount: 5000 });
  const recipient = { name: "Sara", phone: "+9647700000009" };
  expect(await redirect(tenant.ops, id, roads.far, { recipient })).toSucceed(200);
  expect(await change(tenant.ops, id, 4000)).toSucceed(201);
  const window = { deliver_after: "2030-01-01T08:00:00Z", deliver_before: "2030-01-01T12:00:00Z" };
  expect(await tenant.ops.patch(`${path}/${id}`, window)).toSucceed(200);
  const about = { delivery_id: id, delivery_code, parent_id: null, driver_id: tenant.driver.id };
  const told = [
    { ...about, changed: ["place", "recipient", "amount"] },
    { ...about, changed: ["amount"] },
    { ...about, changed: ["window"] },
  ];
  expect(await board(id)).toEqual(told);
  expect(await own(tenant.driver, id)).toEqual(told);
  expect(JSON.stringify(told)).not.toMatch(/Sara|\+964/);
  expect(await noticesOf(id)).toBe(3);
});

test("a correction that changes nothing is told to nobody", async () => {
  const { id } = await deliveryIn(roads, "in_transit", { notes: "Ring twice" });
  expect(await tenant.ops.patch(`${path}/${id}`, { notes: "Ring twice" })).toSucceed(200);
  expect(await board(id)).toEqual([]);
  expect(await noticesOf(id)).toBe(0);
  expect(await tenant.ops.patch(`${path}/${id}`, { notes: "Knock" })).toSucceed(200);
  expect((await board(id)).map(({ changed }) => changed)).toEqual([["notes"]]);
  expect(await noticesOf(id)).toBe(1);
});

test("of a parcel that nobody carries the board alone hears; a staged one is told by its leg", async () => {
  const { id } = await newDelivery(roads);
  expect(await redirect(tenant.ops, id, roads.far)).toSucceed(200);
  expect(await board(id)).toMatchObject([{ driver_id: null, changed: ["place", "amount"] }]);
  expect(await own(tenant.driver, id)).toEqual([]);
  const { parent, a, b } = await stagedInWarehouse(roads, { cod_amount: 5000 });
  await takenOver(roads, b);
  expect(await change(tenant.ops, parent.id, 3000)).toSucceed(201);
  const leg = { delivery_id: b, parent_id: parent.id, driver_id: tenant.driver.id };
  expect(await board(parent.id, a, b)).toMatchObject([{ ...leg, changed: ["amount"] }]);
  expect(await own(tenant.driver, parent.id, a, b)).toMatchObject([leg]);
});
