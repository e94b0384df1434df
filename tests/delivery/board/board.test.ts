import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  moves,
  newDelivery,
  newGround,
  takenOver,
} from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { newPackage, newStagedPackage, newYard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";
import { sentBackBy } from "../../support/send-back.ts";
import { newWarehouse } from "../../support/warehouses.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/board";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
let zone: string;
beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  // Around the addresses that are made unless another place is said.
  zone = await newZone(tenant, square(44.36, 33.31, 0.2));
  ground = await newGround(tenant);
});

const board = async (query = "", of: Tenant = tenant) => {
  const answer = await of.dispatcher.get(path + query);
  expect(answer).toSucceed(200);
  return answer.body.data;
};
const driverOf = async (id: string, query = "") =>
  (await board(query)).drivers.find((driver: { id: string }) => driver.id === id);

test("is for the office alone", async () => {
  await expectGuarded({ method: "GET", path }, {
    denied: [tenant.driver, tenant.customer, tenant.institution, tenant.warehouse],
  });
  for (const zone_id of [randomUUID(), await newZone(other, square(44.3, 33.3, 0.5))]) {
    expect(await tenant.ops.get(`${path}?zone_id=${zone_id}`)).toFailWith(404, "zone_not_found");
  }
  expect(await tenant.ops.get(`${path}?zone_id=x`)).toFailWith(400, "invalid_uuid");
});

describe("a driver on the board", () => {
  test("stands there while on duty or with stops left, with place, load and next stop", async () => {
    expect(await driverOf(tenant.driver2.id)).toBeUndefined();
    await tenant.driver2.post("/delivery/drivers/me/duty", { on_duty: true });
    await tenant.driver2.post("/delivery/drivers/me/positions", {
      positions: [{ latitude: 33.3, longitude: 44.4, recorded_at: new Date().toISOString() }],
    });
    expect(await driverOf(tenant.driver2.id)).toMatchObject({
      on_duty: true,
      is_online: true,
      capacity: 1000,
      load: 0,
      stops_left: 0,
      next_stop: null,
      last_position: { latitude: 33.3, longitude: 44.4 },
      vehicle: { name: "Van" },
    });
    const [first, second] = [await newDelivery(ground), await newDelivery(ground)];
    await assign(tenant, first.id, tenant.driver2);
    await assign(tenant, second.id, tenant.driver2);
    await sql`update delivery.assignments set sequence_number = 2 where delivery_id = ${second.id}`;
    const busy = await driverOf(tenant.driver2.id);
    expect(busy).toMatchObject({
      load: 4,
      stops_left: 2,
      next_stop: {
        delivery_id: first.id,
        delivery_code: first.delivery_code,
        place: { kind: "pickup", latitude: 33.31, longitude: 44.36, city: "Baghdad" },
      },
    });
    await moves(tenant.driver2, first.id, "pickup");
    expect((await driverOf(tenant.driver2.id)).next_stop.place.kind).toBe("dropoff");
    await moves(tenant.driver2, first.id, "complete");
    expect(await driverOf(tenant.driver2.id)).toMatchObject({
      stops_left: 1,
      next_stop: { delivery_id: second.id },
    });
  });

  test("goes to the warehouse for what lies in one", async () => {
    const fresh = await newTenant();
    const { id } = await newDelivery(await newGround(fresh));
    const address_id = await newAddress(fresh, { city: "Basra", latitude: 30.5, longitude: 47.8 });
    await sql`update delivery.deliveries
      set current_warehouse_id = ${await newWarehouse(fresh, { address_id })} where id = ${id}`;
    await assign(fresh, id);
    const [driver] = (await board("", fresh)).drivers;
    expect(driver.next_stop).toMatchObject({
      delivery_id: id,
      place: { kind: "pickup", city: "Basra", latitude: 30.5, longitude: 47.8 },
    });
  });

  test("goes to the warehouse that a parcel is transferred to before its receiver", async () => {
    const fresh = await newTenant();
    const { id } = await newDelivery(await newGround(fresh));
    await assign(fresh, id);
    await moves(fresh.driver, id, "pickup");
    const address_id = await newAddress(fresh, { city: "Mosul", latitude: 36.3, longitude: 43.1 });
    await sql`update delivery.deliveries set transfer_kind = 'single_delivery',
      dropoff_warehouse_id = ${await newWarehouse(fresh, { address_id })} where id = ${id}`;
    const [driver] = (await board("", fresh)).drivers;
    expect(driver.next_stop).toMatchObject({
      delivery_id: id,
      place: { kind: "dropoff", city: "Mosul", latitude: 36.3, longitude: 43.1 },
    });
  });

  test("is shown for the zones that driver goes to", async () => {
    const elsewhere = await newZone(tenant, square(40, 30, 0.2));
    await tenant.driver.post("/delivery/drivers/me/duty", { on_duty: true });
    await sql`update delivery.drivers set all_zones = false where user_id = ${tenant.driver.id}`;
    await sql`insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
      values (${tenant.id}, ${tenant.driver.id}, ${zone})`;
    expect(await driverOf(tenant.driver.id, `?zone_id=${zone}`)).toBeDefined();
    expect(await driverOf(tenant.driver.id, `?zone_id=${elsewhere}`)).toBeUndefined();
    expect(await driverOf(tenant.driver2.id, `?zone_id=${elsewhere}`)).toBeDefined();
  });
});

test("unassigned deliveries stand by the zone they are fetched in, with the oldest", async () => {
  const fresh = await newTenant();
  const [here, place] = [await newZone(fresh, square(44.36, 33.31, 0.2)), await newGround(fresh)];
  await newDelivery(place);
  await newDelivery(place);
  const taken = await newDelivery(place);
  await assign(fresh, taken.id);
  const [{ created_at }] = (await fresh.ops.get("/delivery/deliveries?sort_order=asc")).body.data;
  const { unassigned } = await board("", fresh);
  expect(unassigned.total).toBe(2);
  expect(unassigned.by_zone).toEqual([
    { zone_id: here, name: expect.any(String), count: 2, oldest_at: created_at },
  ]);
  const nowhere = await newZone(fresh, square(40, 30, 0.2));
  expect((await board(`?zone_id=${nowhere}`, fresh)).unassigned).toEqual({ total: 0, by_zone: [] });
});

test("a parcel that is sent back is unassigned once, as its return, until a driver has that", async () => {
  const fresh = await newTenant();
  const [here, yard] = [await newZone(fresh, square(44.36, 33.31, 0.2)), await newYard(fresh)];
  const [{ id: oldest }, kept] = [await newPackage(yard), await newDelivery(yard)];
  const { b } = await newStagedPackage(yard);
  const count = async (query = "") => (await board(query, fresh)).unassigned;
  const [{ created_at }] =
    await sql`select created_at from delivery.deliveries where id = ${kept.id}`;
  expect((await count()).total).toBe(3);
  const back = await sentBackBy(yard, oldest, "operational-return");
  const leg = await sentBackBy(yard, b, "operational-return");
  for (const query of ["", `?zone_id=${here}`]) {
    expect(await count(query)).toEqual({
      total: 3,
      by_zone: [
        { zone_id: here, name: expect.any(String), count: 3, oldest_at: expect.any(String) },
      ],
    });
    expect(Date.parse((await count(query)).by_zone[0].oldest_at)).toBe(+created_at);
  }
  for (const { id } of [back, leg]) await takenOver(yard, id, fresh.driver);
  expect(await count()).toMatchObject({ total: 1, by_zone: [{ count: 1 }] });
  await moves(fresh.driver, back.id, "depart", "complete");
  expect((await count()).total).toBe(1);
  await assign(fresh, kept.id);
  expect(await count()).toEqual({ total: 0, by_zone: [] });
});

test("a parcel whose return is cancelled waits for a driver again; one brought into a warehouse waits for its receipt", async () => {
  const fresh = await newTenant();
  const yard = await newYard(fresh);
  const total = async () => (await board("", fresh)).unassigned.total;
  const parcel = await newPackage(yard);
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  await moves(fresh.ops, back.id, ["cancel", { reason: "no" }]);
  expect(await total()).toBe(1);
  // Its bin is no default one: the receipt waits for the staff.
  await sql`update warehousing.bins set is_default_receiving = false where id = ${yard.thereBin}`;
  const answer = await fresh.ops.post(`/delivery/deliveries/${parcel.id}/operational-return`, {
    dropoff_warehouse_id: yard.there,
  });
  expect(answer).toSucceed(201);
  const { id } = answer.body.delivery;
  await takenOver(yard, id, fresh.driver);
  await moves(fresh.driver, id, "depart", "complete");
  const [{ status }] = await sql`select status from delivery.deliveries where id = ${parcel.id}`;
  expect([status, await total()]).toEqual(["pending", 0]);
});

test("late is what is alive past its promised time or its window, the longest first", async () => {
  const fresh = await newTenant();
  const place = await newGround(fresh);
  const made = [];
  for (let n = 0; n < 4; n++) made.push(await newDelivery(place));
  const [promised, windowed, ended, early] = made;
  const set = (id: string, column: string, interval: string) =>
    sql`update delivery.deliveries set ${
      sql(column)
    } = now() + ${interval}::interval where id = ${id}`;
  await set(promised.id, "promised_at", "-1 hour");
  await set(windowed.id, "deliver_before", "-2 hours");
  await set(ended.id, "promised_at", "-3 hours");
  await set(early.id, "promised_at", "1 hour");
  await assign(fresh, ended.id);
  await assign(fresh, promised.id);
  await moves(fresh.driver, ended.id, "pickup", "complete");
  const { late } = await board("", fresh);
  expect(late.total).toBe(2);
  expect(late.deliveries.map(({ id, driver_id }: Record<string, string>) => [id, driver_id]))
    .toEqual([[windowed.id, null], [promised.id, fresh.driver.id]]);
});

test("a parcel that is sent back is not late, until its return is cancelled", async () => {
  const fresh = await newTenant();
  const yard = await newYard(fresh);
  const { id } = await newPackage(yard);
  await sql`update delivery.deliveries set promised_at = now() - interval '1 hour' where id = ${id}`;
  const late = async () => {
    const { total, deliveries } = (await board("", fresh)).late;
    return [total, deliveries.map((one: { id: string }) => one.id)];
  };
  expect(await late()).toEqual([1, [id]]);
  const back = await sentBackBy(yard, id, "operational-return");
  expect(await late()).toEqual([0, []]);
  await moves(fresh.ops, back.id, ["cancel", { reason: "no" }]);
  expect(await late()).toEqual([1, [id]]);
});
