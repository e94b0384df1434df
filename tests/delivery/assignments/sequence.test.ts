import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer, Person } from "../../support/api.ts";
import { nobody } from "../../support/api.ts";
import { equip, move, newDeliveries, newDelivery, newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/assignments";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  await equip(other, other.driver.id);
});

async function listOf(driver: Person, count: number, of = tenant): Promise<string[]> {
  const delivery_ids = await newDeliveries(of, count);
  const answer = await of.ops.post(`${path}/bulk`, { driver_id: driver.id, delivery_ids });
  expect(answer).toSucceed(201);
  return answer.body.assignment_ids;
}
const set = (driver: { id: string }, assignments: unknown, by = tenant.ops) =>
  by.put(`${path}/driver/${driver.id}/sequence`, { assignments });
const read = (driver: { id: string }, by = tenant.ops) => by.get(`${path}/${driver.id}/sequence`);
const ordered = (answer: Answer) => answer.body.assignments.map((row: { id: string }) => row.id);

/** Refused with this status, in words, and with no key of ours anywhere. */
function expectUnkeyed(answer: Answer, status: number) {
  expect(answer.status).toBe(status);
  expect(answer.body).not.toHaveProperty("code");
  expect(answer.body.success).toBe(false);
  expect(answer.body.message).toMatch(/\s/);
  expect(JSON.stringify(answer.body)).not.toMatch(/[a-z]+_(params|error|failed|found|sequence)\b/);
}

describe("the sequence", () => {
  test("is set and read by dispatchers and by the driver", async () => {
    const driver = await newDriver(tenant);
    const [a, b, c] = await listOf(driver, 3);
    for (const by of [tenant.ops, tenant.dispatcher, tenant.admin, driver]) {
      const answer = await set(driver, [
        { assignment_id: a, sequence_number: 3 },
        { assignment_id: b, sequence_number: 1 },
        { assignment_id: c, sequence_number: 2 },
      ], by);
      expect(answer).toSucceed(200);
      expect(answer.body).toEqual({ success: true, message: expect.any(String), updated_count: 3 });
      const shown = await read(driver, by);
      expect(shown).toSucceed(200);
      expect(shown.body.total).toBe(3);
      expect(ordered(shown)).toEqual([b, c, a]);
      expect(shown.body.assignments[0]).toMatchObject({ sequence_number: 1, status: "pending" });
    }
    const places = [c, a, b].map((id, index) => ({ assignment_id: id, sequence_number: index }));
    expect(await set(driver, places)).toSucceed(200);
    expect(ordered(await read(driver))).toEqual([c, a, b]);
  });

  test("holds live rows only", async () => {
    const driver = await newDriver(tenant);
    const [a, b] = await listOf(driver, 2);
    await driver.put(`${path}/${a}`, { status: "rejected" });
    expect(ordered(await read(driver))).toEqual([b]);
    expectUnkeyed(await set(driver, [{ assignment_id: a, sequence_number: 5 }]), 400);
  });

  test("is not changed in part: a foreign, ended, unknown or repeated row fails all of it", async () => {
    const [driver, second] = [await newDriver(tenant), await newDriver(tenant)];
    const [a, b] = await listOf(driver, 2);
    const [foreign] = await listOf(second, 1);
    const [theirs] = await listOf(other.driver, 1, other);
    for (const id of [foreign, theirs, randomUUID(), a]) {
      const answer = await set(driver, [
        { assignment_id: a, sequence_number: 9 },
        { assignment_id: id, sequence_number: 8 },
      ]);
      expectUnkeyed(answer, 400);
      expect(answer.body.assignment_ids).toEqual([id]);
    }
    const rows = await sql`select sequence_number from delivery.assignments
      where id in (${a}, ${b}) order by sequence_number`;
    expect(rows.map((row) => row.sequence_number)).toEqual([1, 2]);
  });

  test("refuses in words alone, in the language asked for", async () => {
    const driver = await newDriver(tenant);
    const [a] = await listOf(driver, 1);
    for (
      const wrong of [
        undefined,
        [],
        "x",
        [{}],
        [{ assignment_id: a }],
        [{
          assignment_id: a,
          sequence_number: "1",
        }],
        [{ assignment_id: a, sequence_number: -1 }],
        [{
          assignment_id: "x",
          sequence_number: 1,
        }],
      ]
    ) expectUnkeyed(await set(driver, wrong), 400);
    const good = [{ assignment_id: a, sequence_number: 1 }];
    for (const by of [tenant.driver2, tenant.customer, tenant.warehouse, tenant.staff]) {
      expectUnkeyed(await set(driver, good, by), 403);
      expectUnkeyed(await read(driver, by), 403);
    }
    expectUnkeyed(await set(driver, good, nobody), 401);
    for (const id of [randomUUID(), other.driver.id]) {
      expectUnkeyed(await set({ id }, good), 404);
      expectUnkeyed(await read({ id }), 404);
    }
    expectUnkeyed(await read({ id: "no-id" }), 400);
    const arabic = await tenant.customer.put(`${path}/driver/${driver.id}/sequence`, {}, {
      headers: { "accept-language": "ar" },
    });
    expect(arabic.body.message).toMatch(/[\u0600-\u06ff]/);
    expect((await set(driver, [], tenant.ops.in("ku"))).body.message).toMatch(/[\u0600-\u06ff]/);
  });
});

describe("a proposal", () => {
  const at = (longitude: number, latitude = 33) =>
    sql.json({ full_address: "x", latitude, longitude });

  test("orders stops with pickups before their drop-offs, tells what it saves, and changes nothing", async () => {
    const driver = await newDriver(tenant);
    // Along a line, given in a zigzag.
    const longitudes = [44.1, 44.4, 44.2, 44.5, 44.3];
    const ids: string[] = [];
    for (const longitude of longitudes) {
      ids.push(
        await newDelivery(tenant, {
          pickup_snapshot: at(44.0),
          dropoff_snapshot: at(longitude),
        }),
      );
    }
    const bulk = await tenant.ops.post(`${path}/bulk`, { driver_id: driver.id, delivery_ids: ids });
    await move(ids[3], "picked_up");
    const ask = () =>
      driver.post(`${path}/driver/${driver.id}/sequence/suggest`, { latitude: 33, longitude: 44 });
    const answer = await ask();
    expect(answer).toSucceed(200);
    const { stops, assignments, distance_km, distance_saved_km } = answer.body;
    expect(stops).toHaveLength(9);
    for (const id of ids) {
      const own = stops.filter((stop: { delivery_id: string }) => stop.delivery_id === id);
      expect(own.map((stop: { type: string }) => stop.type))
        .toEqual(id === ids[3] ? ["dropoff"] : ["pickup", "dropoff"]);
    }
    const drops = stops.filter((stop: { type: string }) => stop.type === "dropoff");
    expect(drops.map((stop: { longitude: number }) => stop.longitude))
      .toEqual([...longitudes].sort());
    // From 44.0 to 44.5 on the 33rd parallel, and as much longer as roads are: 46.6 km times 1.3.
    expect(distance_km).toBeCloseTo(60.6, 0);
    expect(distance_saved_km).toBeGreaterThan(130);
    // At 30 km/h, and 3 minutes for each of the 9 stops.
    expect(answer.body).toMatchObject({ measured_by: "estimate", late_stops: 0, minutes: 148 });
    expect(assignments).toHaveLength(5);
    expect((await ask()).body).toEqual(answer.body);
    expect(ordered(await read(driver))).toEqual(bulk.body.assignment_ids);
    expect(await set(driver, assignments, driver)).toSucceed(200);
    expect(ordered(await read(driver)))
      .toEqual(assignments.map((row: { assignment_id: string }) => row.assignment_id));
  });

  /** A driver with parcels in hand for places along a line, each with its window in minutes from now. */
  async function carrying(windows: Record<string, number>[]) {
    const driver = await newDriver(tenant);
    const ids: string[] = [];
    for (const [index, window] of windows.entries()) {
      const id = await newDelivery(tenant, { dropoff_snapshot: at(44.1 + index / 10) });
      for (const [column, minutes] of Object.entries(window)) {
        await sql`update delivery.deliveries
          set ${sql(column)} = now() + make_interval(mins => ${minutes}) where id = ${id}`;
      }
      ids.push(id);
    }
    expect(await tenant.ops.post(`${path}/bulk`, { driver_id: driver.id, delivery_ids: ids }))
      .toSucceed(201);
    for (const id of ids) await move(id, "picked_up");
    const { body } = await driver.post(`${path}/driver/${driver.id}/sequence/suggest`, {
      latitude: 33,
      longitude: 44,
    });
    return {
      body,
      order: body.stops.map((stop: { delivery_id: string }) => ids.indexOf(stop.delivery_id)),
    };
  }

  test.each(["promised_at", "deliver_before"])(
    "is on time for %s first, and short after that",
    async (column) => {
      // The first is 24 minutes away and the third 73; an hour and a half is enough for it only if it is next.
      const { order, body } = await carrying([{}, {}, { [column]: 75 }]);
      expect(order[0]).toBe(2);
      expect(body.late_stops).toBe(0);
      expect((await carrying([{}, {}, { [column]: 600 }])).order).toEqual([0, 1, 2]);
    },
  );

  test("counts stops that are late in any order, waits for receivers, and says how long it takes", async () => {
    const late = await carrying([{ promised_at: -60 }, { deliver_before: 5 }, {}]);
    expect(late.order).toEqual([0, 1, 2]);
    expect(late.body.late_stops).toBe(2);
    const opens = 300;
    const waiting = await carrying([{}, { deliver_after: opens }, {}]);
    expect(waiting.order).toEqual([0, 1, 2]);
    // Until the window opens, 3 minutes there, the way to the third and 3 minutes more.
    expect(waiting.body.minutes).toBeGreaterThanOrEqual(opens + 3 + 24 + 3 - 1);
    expect(waiting.body.minutes).toBeLessThanOrEqual(opens + 3 + 25 + 3);
  });

  test("starts at the driver's last known position if the request has none", async () => {
    const driver = await newDriver(tenant);
    const [seen, near, far] = [
      await newDelivery(tenant, { dropoff_snapshot: at(44.0) }),
      await newDelivery(tenant, { pickup_snapshot: at(44.1), dropoff_snapshot: at(44.2) }),
      await newDelivery(tenant, { pickup_snapshot: at(44.8), dropoff_snapshot: at(44.9) }),
    ];
    await tenant.ops.post(`${path}/bulk`, {
      driver_id: driver.id,
      delivery_ids: [seen, far, near],
    });
    await sql`update delivery.assignments set status = 'accepted' where delivery_id = ${seen}`;
    await move(seen, "picked_up", "delivered");
    await sql`update delivery.assignments set status = 'completed' where delivery_id = ${seen}`;
    const answer = await tenant.ops.post(`${path}/driver/${driver.id}/sequence/suggest`);
    expect(answer).toSucceed(200);
    expect(answer.body.stops[0]).toMatchObject({ delivery_id: near, type: "pickup" });
    expect(answer.body.stops[0].distance_km).toBeCloseTo(12.1, 0);
  });

  test("has nothing to say of an empty list, and keeps what has no place at the end", async () => {
    const driver = await newDriver(tenant);
    const url = `${path}/driver/${driver.id}/sequence/suggest`;
    expect((await tenant.ops.post(url)).body)
      .toMatchObject({
        assignments: [],
        stops: [],
        distance_km: 0,
        distance_saved_km: 0,
        late_stops: 0,
        minutes: 0,
      });
    const lost = await newDelivery(tenant, { dropoff_snapshot: sql.json({ full_address: "?" }) });
    const [other] = await newDeliveries(tenant, 1);
    await tenant.ops.post(`${path}/bulk`, { driver_id: driver.id, delivery_ids: [lost, other] });
    const { body } = await tenant.ops.post(url);
    expect(body.unplaced).toHaveLength(1);
    expect(body.assignments[1].assignment_id).toBe(body.unplaced[0]);
    for (const wrong of [{ latitude: 91, longitude: 0 }, { latitude: "x", longitude: 0 }]) {
      expect(await tenant.ops.post(url, wrong)).toFailWith(400, "validation_failed");
    }
    expect(await tenant.ops.post(url, { latitude: 33 })).toFailWith(400, "invalid_coordinates");
    expect(await tenant.driver2.post(url)).toFailWith(403, "forbidden");
    expect(await tenant.ops.post(`${path}/driver/${randomUUID()}/sequence/suggest`))
      .toFailWith(404, "driver_not_found");
  });
});
