/** The next stop of a driver on the board and in the suggested order, throughout a day; and the deliveries of a driver who works no more. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { handOver, newDriver } from "../../support/assignments.ts";
import type { Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  newWarehouse,
  outboundOnRoad,
} from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { dayIn, report } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newZone, square } from "../../support/zones.ts";

let ground: Ground;
let tenant: Tenant;
let driver: Person;
let zone: string;
beforeAll(async () => {
  tenant = await newTenant();
  // Around the addresses that are made unless another place is said.
  zone = await newZone(tenant, square(44.36, 33.31, 0.2));
  ground = await newGround(tenant);
});
beforeEach(async () => {
  driver = await newDriver(tenant, { capacity: 100 });
});
afterAll(() => checkAll(tenant));

const board = async (query = "") => (await tenant.ops.get(`/delivery/board${query}`)).body.data;
const onBoard = async (query = "") =>
  (await board(query)).drivers.find(({ id }: { id: string }) => id === driver.id);
const proposal = async (by: Person = tenant.ops) => {
  const answer = await by.post(`/delivery/assignments/driver/${driver.id}/sequence/suggest`, {});
  expect(answer).toSucceed(200);
  return answer.body;
};
const suggested = async (by?: Person) => (await proposal(by)).stops;
const sooner = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const taken = async (...steps: string[]) => {
  const { id } = await newDelivery(ground);
  await assign(tenant, id, driver);
  await moves(driver, id, ...steps);
  return id as string;
};
const status = (word: string) =>
  tenant.ops.patch(`/delivery/drivers/${driver.id}`, { status: word });

describe("a parcel that its driver brings into a warehouse", () => {
  const basra = { city: "Basra", latitude: 30.5, longitude: 47.8 };
  async function elsewhere() {
    const { warehouse } = await newWarehouse(tenant, await newAddress(tenant, basra));
    return warehouse;
  }
  const there = {
    place: { kind: "dropoff", city: "Basra", latitude: 30.5, longitude: 47.8 },
  };
  const stop = { type: "dropoff", latitude: 30.5, longitude: 47.8 };

  test.each(["in_transit", "failed"])("goes there when it was %s", async (was) => {
    const id = await taken("pickup", "depart", ...was === "failed" ? ["fail"] : []);
    expect((await onBoard()).next_stop.place.city).toBe("Baghdad");
    await moves(driver, id, ["return", { warehouse_id: await elsewhere() }]);
    expect((await onBoard()).next_stop).toMatchObject({ delivery_id: id, ...there });
    for (const by of [tenant.ops, driver]) {
      expect(await suggested(by)).toMatchObject([{ delivery_id: id, ...stop }]);
    }
  });

  test("goes there when it is a leg that came back, and is fetched nowhere", async () => {
    const { b } = await outboundOnRoad(ground);
    await handOver(tenant.ops, tenant.driver, driver, [b]);
    await sql`update delivery.assignments set status = 'accepted', responded_at = now()
      where delivery_id = ${b} and status = 'pending'`;
    await moves(driver, b, ["return", { warehouse_id: await elsewhere() }]);
    expect((await onBoard()).next_stop).toMatchObject({ delivery_id: b, ...there });
    expect(await suggested(driver)).toMatchObject([{ delivery_id: b, ...stop }]);
  });

  test("is not late there by its receiver's time", async () => {
    const id = await taken("pickup", "depart");
    await sql`update delivery.deliveries set promised_at = now() - interval '1 hour' where id = ${id}`;
    const late = async () => (await proposal()).late_stops;
    expect(await late()).toBe(1);
    await moves(driver, id, ["return", { warehouse_id: await elsewhere() }]);
    expect(await late()).toBe(0);
  });

  test.each([
    ["is transferred to another one first", { transfer_kind: "single_delivery" }],
    ["is ordered to it", { delivery_flow: "customer_return" }],
  ])("is not bound by its receiver's time when it %s", async (_, as) => {
    const id = await taken("pickup", "depart");
    const hours = { promised_at: sooner(1), deliver_after: sooner(-24) };
    await sql`update delivery.deliveries set ${sql(hours)} where id = ${id}`;
    expect((await proposal()).late_stops).toBe(1);
    await sql`update delivery.deliveries set ${
      sql({ ...as, dropoff_warehouse_id: await elsewhere() })
    } where id = ${id}`;
    const { late_stops, minutes } = await proposal();
    expect(late_stops).toBe(0);
    expect(minutes).toBeLessThan(24 * 60);
  });
});

test("a driver goes to no door on the board to which a parcel is postponed for another day", async () => {
  const id = await taken("pickup", "depart");
  const another = await taken();
  const day = { postponed_to: dayIn(3), reason_code: "postponed" };
  expect(await report(driver, id, { result: "postponed", ...day })).toSucceed(200);
  expect(await onBoard()).toMatchObject({ stops_left: 2, next_stop: { delivery_id: another } });
  await moves(driver, another, "pickup", "complete");
  expect(await onBoard()).toMatchObject({ stops_left: 1, next_stop: null });
});

describe("the suggested order begins", () => {
  const at = (latitude: number, minutes: number) => ({
    latitude,
    longitude: 44.36,
    recorded_at: new Date(Date.now() - minutes * 60_000).toISOString(),
  });
  const here = (...positions: unknown[]) =>
    driver.post("/delivery/drivers/me/positions", { positions });
  const firstKm = async (by?: Person) => (await suggested(by))[0].distance_km;

  test("where the driver is; where they were last seen when their phone has no network", async () => {
    await driver.post("/delivery/drivers/me/duty", { on_duty: true });
    await taken();
    expect(await here(at(33.41, 0))).toSucceed(202);
    for (const by of [tenant.ops, driver]) {
      // 0.1 degrees of latitude are 11.1 km, times the detour.
      expect(await firstKm(by)).toBeGreaterThan(11);
    }
    // They pick up a second parcel there after this position.
    await taken("pickup");
    expect(await firstKm()).toBeLessThan(1);
    // A position that the phone sends late is from before that; the next one is not.
    expect(await here(at(33.51, 10))).toSucceed(202);
    expect(await firstKm()).toBeLessThan(1);
    expect(await here(at(33.36, 0))).toSucceed(202);
    expect(await firstKm()).toBeGreaterThan(5);
  });

  test("not where somebody else has been with a parcel of theirs, before or since", async () => {
    await driver.post("/delivery/drivers/me/duty", { on_duty: true });
    const another = await newDriver(tenant, { capacity: 100 });
    const given = await taken("pickup");
    await handOver(tenant.ops, driver, another, [given]);
    await sql`update delivery.assignments set status = 'accepted', responded_at = now()
      where delivery_id = ${given} and status = 'pending'`;
    await taken();
    expect(await here(at(33.31, 0))).toSucceed(202);
    const far = { dropoff_snapshot: { city: "Basra", latitude: 30.5, longitude: 47.8 } };
    await sql`update delivery.deliveries set ${sql(far)} where id = ${given}`;
    await moves(another, given, "depart", "complete");
    expect(await firstKm()).toBeLessThan(1);
  });
});

describe("a driver who is made inactive", () => {
  test("has what was not picked up to be given to somebody else, and the board says so", async () => {
    const [waiting, offered, hand] = [
      await taken(),
      (await newDelivery(ground)).id,
      await taken("pickup"),
    ];
    await assign(tenant, offered, driver, "pending");
    expect(await onBoard()).toMatchObject({ status: "active", stops_left: 3 });
    expect((await board()).to_reassign).toEqual({ total: 0, deliveries: [] });
    expect(await status("inactive")).toSucceed(200);
    const { to_reassign, unassigned } = await board();
    expect(to_reassign).toEqual({
      total: 2,
      deliveries: expect.arrayContaining([waiting, offered].map((id) => ({
        id,
        delivery_code: expect.any(Number),
        status: id === offered ? "assigned" : "accepted",
        promised_at: null,
        deliver_before: null,
        pickup_zone_id: zone,
        dropoff_zone_id: zone,
        driver_id: driver.id,
      }))),
    });
    expect(unassigned.total).toBe(0);
    // The parcel in hand is still on its way.
    expect(await onBoard()).toMatchObject({
      status: "inactive",
      on_duty: false,
      stops_left: 3,
      next_stop: { delivery_id: hand, place: { kind: "dropoff" } },
    });
    await handOver(tenant.ops, driver, tenant.driver, [waiting]);
    expect((await board()).to_reassign).toMatchObject({ total: 1, deliveries: [{ id: offered }] });
    await moves(driver, hand, "complete");
    expect(await onBoard()).toMatchObject({ stops_left: 1, next_stop: null });
    expect(await status("active")).toSucceed(200);
    expect((await board()).to_reassign.total).toBe(0);
    expect((await onBoard()).next_stop).toMatchObject({ delivery_id: offered });
  });

  test("has it listed for the zone in which it is fetched, the longest promised first", async () => {
    const nowhere = await newZone(tenant, square(40, 30, 0.2));
    const [late, early] = [await taken(), await taken()];
    await sql`update delivery.deliveries set promised_at = now() + interval '1 hour' where id = ${late}`;
    await sql`update delivery.deliveries set deliver_before = now() - interval '1 hour' where id = ${early}`;
    expect(await status("inactive")).toSucceed(200);
    const ids = async (query: string) =>
      (await board(query)).to_reassign.deliveries.map(({ id }: { id: string }) => id);
    expect(await ids(`?zone_id=${zone}`)).toEqual([early, late]);
    expect(await ids(`?zone_id=${nowhere}`)).toEqual([]);
    // A phone without a network may report a pickup of before: it is taken, and the parcel is in hand.
    expect(await move(driver, late, "pickup")).toSucceed(200);
    expect(await ids("")).toEqual([early]);
    await moves(driver, late, "complete");
    await moves(tenant.ops, early, ["cancel", { reason: "no" }]);
  });
});
