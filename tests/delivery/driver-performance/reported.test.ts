/** Figures go by when a driver says that it happened, as far as that can be: a phone without a network reports later. */
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  moves,
  newDelivery,
  newGround,
  path,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** So many minutes ago. */
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const at = (step: string, minutes?: number): [string, Record<string, unknown>] => [
  step,
  minutes === undefined ? {} : { occurred_at: ago(minutes) },
];

/** A parcel in the hands of a driver of its own that was promised by ten minutes ago. */
async function promised() {
  const driver = await newDriver(tenant);
  const { id } = await newDelivery(ground);
  await sql`update delivery.deliveries set promised_at = ${ago(10)} where id = ${id}`;
  await assign(tenant, id, driver);
  return { id: id as string, driver };
}

/** A driver's row: the same after what changed is counted and after everything is counted anew. */
async function figures(driver: Person) {
  const read = async () => {
    const query = { driver_id: driver.id };
    const answer = await tenant.ops.get("/delivery/driver-performance", { query });
    expect(answer).toSucceed();
    return answer.body.data[0];
  };
  await sql`select delivery.performance_refresh(${tenant.id})`;
  const refreshed = await read();
  await sql`select delivery.performance_recompute(${tenant.id})`;
  expect(await read()).toEqual(refreshed);
  const { on_time_deliveries, late_deliveries, average_delivery_time_minutes } = refreshed;
  return [on_time_deliveries, late_deliveries, Math.round(average_delivery_time_minutes)];
}

test.each<[string, number | undefined, number | undefined, [number, number, number]]>([
  ["both late, made in time", 45, 15, [1, 0, 30]],
  ["both late, made too late", 45, 5, [0, 1, 40]],
  ["the pickup alone", 45, undefined, [0, 1, 45]],
  ["the delivery before the pickup", 15, 45, [1, 0, 0]],
  ["the delivery before a pickup without a time", undefined, 45, [0, 1, 0]],
  ["the delivery by a clock that is fast", 45, -1, [0, 1, 45]],
  ["at once", undefined, undefined, [0, 1, 0]],
])("reported %s", async (_, pickup, complete, expected) => {
  const { id, driver } = await promised();
  await moves(driver, id, at("pickup", pickup), "depart", at("complete", complete));
  expect(await figures(driver)).toEqual(expected);
});

test("an undone delivery says nothing of the next one, and its pickup stays", async () => {
  const { id, driver } = await promised();
  await moves(driver, id, at("pickup", 45), "depart", at("complete", 15));
  expect(await figures(driver)).toEqual([1, 0, 30]);
  const undone = await tenant.ops.post(`${path}/${id}/outcome/undo`, { reason: "Wrong parcel" });
  expect(undone).toSucceed(200);
  await moves(driver, id, at("complete"));
  expect(await figures(driver)).toEqual([0, 1, 45]);
});
