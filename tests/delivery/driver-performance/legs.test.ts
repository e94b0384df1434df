/** Figures of drivers who carry parcels in legs: whose a parcel is, and whose ways are whose. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  moves,
  newDelivery,
  newGround,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/driver-performance";
let tenant: Tenant;
let ground: Ground;
let first: Person;
let second: Person;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  [first, second] = [await newDriver(tenant), await newDriver(tenant)];
});

/** A driver's row: the same after what changed is counted and after everything is counted anew. */
async function rowOf(driver: Person) {
  const read = async () => {
    const answer = await tenant.ops.get(path, { query: { driver_id: driver.id } });
    expect(answer).toSucceed();
    return answer.body.data[0];
  };
  await sql`select delivery.performance_refresh(${tenant.id})`;
  const refreshed = await read();
  await sql`select delivery.performance_recompute(${tenant.id})`;
  expect(await read()).toEqual(refreshed);
  return refreshed;
}
const summary = async () => (await tenant.ops.get(path)).body.summary;
const measured = (delivery: string, km: number) =>
  sql`update delivery.assignments set route_details = ${sql.json({ distance_km: km })}
    where delivery_id = ${delivery}`;

async function staged() {
  const parcel = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
  const [a, b] = parcel.legs.map(({ id }: { id: string }) => id);
  return { id: parcel.id as string, a: a as string, b: b as string };
}

describe("a parcel in legs", () => {
  test("credits nobody while the parcel is between its legs, and then the last driver", async () => {
    const { a, b } = await staged();
    await assign(tenant, a, first);
    await moves(first, a, "pickup", "depart", "complete");
    await measured(a, 7);
    expect(await rowOf(first)).toMatchObject({
      total_deliveries: 0,
      handled_legs: 1,
      total_distance_km: 7,
      km_per_delivery: null,
    });
    expect(await summary()).toMatchObject({
      total_deliveries: 0,
      active_drivers: 0,
      top_drivers: [],
      handled_legs: 1,
    });
    await takenOver(ground, b, second);
    await moves(second, b, "complete");
    await measured(b, 5);
    expect(await rowOf(first)).toMatchObject({ total_deliveries: 0, handled_legs: 1 });
    expect(await rowOf(second)).toMatchObject({
      total_deliveries: 1,
      successful_deliveries: 1,
      handled_legs: 1,
      total_distance_km: 5,
      km_per_delivery: 5,
    });
    expect(await summary()).toMatchObject({
      total_deliveries: 1,
      successful_deliveries: 1,
      active_drivers: 1,
      top_drivers: [{ driver_id: second.id, total_deliveries: 1 }],
      handled_legs: 2,
    });
  });

  test("counts for the first driver when it went no further than theirs", async () => {
    const driver = await newDriver(tenant);
    const { a } = await staged();
    await assign(tenant, a, driver);
    await moves(driver, a, "pickup", "depart", "return");
    expect(await rowOf(driver)).toMatchObject({
      total_deliveries: 1,
      failed_deliveries: 1,
      handled_legs: 1,
    });
  });

  test("shows in a driver's months", async () => {
    const { body } = await tenant.ops.get(`${path}/detail`, { query: { driver_id: first.id } });
    expect(body.current_month).toMatchObject({
      total_deliveries: 0,
      handled_legs: 1,
      total_distance_traveled: 7,
      kilometers_per_delivery: null,
    });
    const file = await tenant.ops.get(path, { query: { format: "csv" } });
    const text = new TextDecoder().decode(file.body as Uint8Array);
    expect(text.split("\r\n")[0]).toContain("handled_legs");
    const sorted = await tenant.ops.get(path, {
      query: { sort_by: "handled_legs", column_filters: { handled_legs: { min: 1 } } },
    });
    expect(sorted.body.data.length).toBeGreaterThan(1);
  });
});

test("a cancellation before pickup adds no distance", async () => {
  const driver = await newDriver(tenant);
  const { id } = await newDelivery(ground);
  await assign(tenant, id, driver);
  await measured(id, 14.64);
  await moves(tenant.ops, id, ["cancel", { reason: "no" }]);
  expect(await rowOf(driver)).toMatchObject({
    total_deliveries: 1,
    failed_deliveries: 1,
    total_distance_km: 0,
    km_per_delivery: null,
  });
});

describe("who may read", () => {
  test("the report is for those who manage deliveries", async () => {
    for (const suffix of ["", "/detail"]) {
      const query = { driver_id: first.id };
      for (const person of [tenant.ops, tenant.dispatcher, tenant.admin]) {
        expect(await person.get(path + suffix, { query })).toSucceed();
      }
      for (const person of [tenant.warehouse, tenant.staff, tenant.driver, tenant.customer]) {
        expect(await person.get(path + suffix, { query })).toFailWith(403, "forbidden");
      }
    }
  });

  test("assignments are the office's, and each driver's own", async () => {
    const list = "/delivery/assignments";
    for (const person of [tenant.ops, tenant.dispatcher, tenant.admin]) {
      expect((await person.get(list)).body.total).toBeGreaterThan(2);
    }
    expect(
      (await second.get(list)).body.assignments.map((row: { drivers: { id: string } }) =>
        row.drivers.id
      ),
    ).toEqual([second.id]);
    for (const person of [tenant.warehouse, tenant.staff, tenant.customer, tenant.institution]) {
      expect(await person.get(list)).toFailWith(403, "forbidden");
    }
  });
});
