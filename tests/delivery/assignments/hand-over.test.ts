import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import {
  equip,
  move,
  newDeliveries,
  newDelivery,
  newDriver,
  rowsOf,
  statusOf,
  usedBy,
} from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";

const path = "/delivery/assignments";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  await equip(other, other.driver.id);
});

async function listOf(driver: Person, ids: string[]): Promise<string[]> {
  const answer = await tenant.ops.post(`${path}/bulk`, { driver_id: driver.id, delivery_ids: ids });
  expect(answer).toSucceed(201);
  return answer.body.assignment_ids;
}

const handOver = (from: Person, to_driver_id: string, more = {}) =>
  tenant.ops.post(`${path}/driver/${from.id}/hand-over`, { to_driver_id, ...more });

const openList = async (driver: Person) =>
  (await sql`select delivery_id from delivery.assignments
    where driver_id = ${driver.id} and status in ('pending', 'assigned', 'accepted')
    order by sequence_number`).map((row) => row.delivery_id);

describe("handing a list over", () => {
  test("moves what is not picked up yet, in its order, behind what the other has; keeps the rest", async () => {
    const [from, to] = [await newDriver(tenant), await newDriver(tenant)];
    const ids = await newDeliveries(tenant, 4);
    const [theirs] = await newDeliveries(tenant, 1);
    const old = await listOf(from, ids);
    await listOf(to, [theirs]);
    await tenant.ops.put(`${path}/driver/${from.id}/sequence`, {
      assignments: old.map((assignment_id, index) => ({
        assignment_id,
        sequence_number: 4 - index,
      })),
    });
    await from.put(`${path}/${old[1]}`, { status: "accepted" });
    await move(ids[0], "picked_up");
    const answer = await handOver(from, to.id, { picked_up: false });
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      bulk_assignment_id: expect.any(String),
      assignment_ids: expect.any(Array),
      count: 3,
      to_confirm: 0,
      total_units: 3,
      driver_capacity_used: 4,
      kept: [{ assignment_id: old[0], delivery_id: ids[0], status: "picked_up" }],
    });
    expect(await openList(to)).toEqual([theirs, ids[3], ids[2], ids[1]]);
    expect(await openList(from)).toEqual([ids[0]]);
    expect([await usedBy(tenant, from.id), await usedBy(tenant, to.id)]).toEqual([1, 4]);
    for (const id of ids.slice(1)) {
      const rows = await rowsOf(id);
      expect(rows.map(({ status }) => status)).toEqual(["returned", "pending"]);
      expect(await statusOf(id)).toBe("assigned");
    }
  });

  test("moves the part that is named, with its times and notes", async () => {
    const [from, to] = [await newDriver(tenant), await newDriver(tenant)];
    const [one, two] = await newDeliveries(tenant, 2);
    await tenant.ops.post(path, {
      delivery_id: one,
      driver_id: from.id,
      notes: "Back door",
      estimated_pickup_time: "2026-12-01T08:00:00Z",
    });
    await listOf(from, [two]);
    expect(await handOver(from, to.id, { delivery_ids: [one] })).toSucceed(201);
    expect(await openList(from)).toEqual([two]);
    const [row] = await sql`select * from delivery.assignments where driver_id = ${to.id}`;
    expect(row).toMatchObject({ notes: "Back door", delivery_id: one });
    expect(row.estimated_pickup_time.toISOString()).toBe("2026-12-01T08:00:00.000Z");
  });

  test("gives nothing when the other may not have all of it", async () => {
    const from = await newDriver(tenant);
    const ids = await newDeliveries(tenant, 3);
    await listOf(from, ids);
    const small = await newDriver(tenant, { capacity: 2 });
    expect(await handOver(from, small.id)).toFailWith(409, "insufficient_vehicle_capacity");
    const local = await newDriver(tenant, { zones: [] });
    expect(await handOver(from, local.id)).toFailWith(400, "driver_not_allowed_in_zones");
    const walking = await newDriver(tenant, { capacity: null });
    expect(await handOver(from, walking.id)).toFailWith(409, "driver_has_no_vehicle");
    expect(await openList(from)).toEqual(ids);
    expect(await rowsOf(ids[0])).toHaveLength(1);
  });

  test("refuses what makes no sense", async () => {
    const [from, to] = [await newDriver(tenant), await newDriver(tenant)];
    expect(await handOver(from, to.id)).toFailWith(409, "nothing_to_hand_over");
    expect(await handOver(from, from.id)).toFailWith(400, "same_driver");
    const [mine] = await newDeliveries(tenant, 1);
    await listOf(from, [mine]);
    const foreign = await newDelivery(other);
    for (const id of [randomUUID(), foreign]) {
      expect(await handOver(from, to.id, { delivery_ids: [mine, id] }))
        .toFailWith(404, "assignment_not_found");
    }
    for (const id of [randomUUID(), other.driver.id]) {
      const nobody = await handOver(from, id);
      expect(nobody).toFailWith(404, "driver_not_found");
      expect(nobody.body.field).toBe("to_driver_id");
      expect(await tenant.ops.post(`${path}/driver/${id}/hand-over`, { to_driver_id: to.id }))
        .toFailWith(404, "driver_not_found");
    }
    await expectRefused(
      tenant.ops,
      { method: "POST", path: `${path}/driver/${from.id}/hand-over` },
      [
        [{}, "to_driver_id", "validation_failed"],
        [{ to_driver_id: to.id, delivery_ids: [] }, "delivery_ids"],
      ],
    );
    await expectGuarded({ method: "POST", path: `${path}/driver/${from.id}/hand-over` }, {
      denied: [from, tenant.customer, tenant.warehouse],
    });
    expect(await openList(from)).toEqual([mine]);
  });
});
