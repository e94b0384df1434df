import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import {
  equip,
  newDeliveries,
  newDelivery,
  newDriver,
  newStaged,
  rowsOf,
  statusOf,
  usedBy,
} from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";

const path = "/delivery/assignments/bulk";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
  await equip(tenant, tenant.driver.id, { capacity: 10_000 });
});

const bulk = (driver_id: string, delivery_ids: string[], more = {}) =>
  tenant.ops.post(path, { driver_id, delivery_ids, ...more });

describe("assigning many", () => {
  test("is one bulk of single rows, with one row and one notification for the app", async () => {
    const driver = await newDriver(tenant, { capacity: 20 });
    const staged = await newStaged(tenant);
    const plain = await newDeliveries(tenant, 3, { unit_size: 2.5 });
    const answer = await bulk(driver.id, [plain[0], staged.parent, plain[1], plain[2]]);
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      assignment_ids: expect.any(Array),
      bulk_assignment_id: expect.any(String),
      count: 4,
      total_units: 8.5,
      driver_capacity_used: 8.5,
      resolved_deliveries: [{
        requested_delivery_id: staged.parent,
        assigned_delivery_id: staged.a,
      }],
    });
    const rows = await sql`select * from delivery.assignments
      where bulk_assignment_id = ${answer.body.bulk_assignment_id} order by sequence_number`;
    expect(rows.map(({ id }) => id)).toEqual(answer.body.assignment_ids);
    expect(rows.map(({ delivery_id }) => delivery_id))
      .toEqual([plain[0], staged.a, plain[1], plain[2]]);
    expect(rows.map(({ status }) => status)).toEqual(Array(4).fill("pending"));
    expect(await usedBy(tenant, driver.id)).toBe(8.5);
    for (const id of [...plain, staged.a, staged.parent]) {
      expect(await statusOf(id)).toBe("assigned");
    }
    const realtime = await sql`select * from public.delivery_realtime_assignments
      where driver_id = ${driver.id}`;
    expect(realtime).toHaveLength(1);
    expect(realtime[0]).toMatchObject({
      is_bulk: true,
      bulk_assignment_id: answer.body.bulk_assignment_id,
      assignment_id: null,
      assignment_count: 4,
      total_units: 8.5,
      assignment_status: "pending",
      requires_driver_response: true,
    });
    const notes = await sql`select * from tenancy.notifications where user_id = ${driver.id}`;
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatchObject({
      type: "bulk_assignment_created",
      payload: { assignment_count: 4, total_units: 8.5 },
    });
  });

  test("does not mention resolved deliveries where nothing was resolved", async () => {
    const answer = await bulk(tenant.driver.id, await newDeliveries(tenant, 2));
    expect(answer).toSucceed(201);
    expect(answer.body).not.toHaveProperty("resolved_deliveries");
  });

  test("refuses what is named twice, itself or by its parcel", async () => {
    const staged = await newStaged(tenant);
    const [one] = await newDeliveries(tenant, 1);
    for (const ids of [[one, one], [staged.parent, staged.a], [staged.a, one, staged.parent]]) {
      const answer = await bulk(tenant.driver.id, ids);
      expect(answer).toFailWith(400, "duplicate_deliveries");
      expect(answer.body.delivery_ids).toEqual([ids.at(-1)]);
    }
    expect(await rowsOf(one)).toEqual([]);
  });

  test("any failure undoes all, and names what it is about", async () => {
    const driver = await newDriver(tenant, { capacity: 4 });
    const good = await newDeliveries(tenant, 2);
    const before = await fingerprintOf(tenant.id);
    const draft = (await newStaged(tenant)).b;
    const bad: [string, number, string][] = [
      [randomUUID(), 404, "delivery_not_found"],
      [draft, 400, "no_active_child_leg"],
      [
        await newDelivery(tenant, { carrier_type: "external" }),
        400,
        "delivery_carrier_not_internal",
      ],
      [await newDelivery(tenant, { status: "cancelled" }), 409, "delivery_status_changed"],
      [await newDelivery(tenant, { unit_size: 5 }), 409, "insufficient_vehicle_capacity"],
    ];
    const started = await fingerprintOf(tenant.id);
    for (const [id, status, code] of bad) {
      const answer = await bulk(driver.id, [good[0], id, good[1]]);
      expect(answer).toFailWith(status, code);
      expect(answer.body.delivery_ids).toEqual([id]);
    }
    expect(await fingerprintOf(tenant.id)).toEqual(started);
    expect(before["delivery.assignments"]).toBe(started["delivery.assignments"]);
    expect(await usedBy(tenant, driver.id)).toBe(0);
  });

  test("a repeated request is one bulk", async () => {
    const [first, second] = [await newDeliveries(tenant, 2), await newDeliveries(tenant, 2)];
    const driver_id = tenant.driver.id;
    await expectReplayed(tenant.ops, path, { driver_id, delivery_ids: first }, {
      driver_id,
      delivery_ids: second,
    });
    expect(await rowsOf(first[0])).toHaveLength(1);
    expect(await rowsOf(second[0])).toHaveLength(0);
  });
});

describe("a dry run", () => {
  test("says of each what would become of it, and the load after; writes nothing", async () => {
    const driver = await newDriver(tenant, { capacity: 5 });
    const staged = await newStaged(tenant);
    const nowhere = await newAddress(tenant, { latitude: null, longitude: null });
    const ids = [
      staged.parent,
      await newDelivery(tenant, { unit_size: 3 }),
      await newDelivery(tenant, { status: "cancelled" }),
      staged.a,
      await newDelivery(tenant, { unit_size: 2 }),
      await newDelivery(tenant, { pickup_address_id: nowhere }),
      await newDelivery(tenant),
      randomUUID(),
    ];
    const before = await fingerprintOf(tenant.id);
    const answer = await bulk(driver.id, ids, { dry_run: true });
    expect(answer).toSucceed(200);
    const refused = (at: number, code: string) => ({
      delivery_id: ids[at],
      ok: false,
      code,
      message: expect.stringMatching(/\w+ \w+/),
    });
    expect(answer.body).toMatchObject({
      dry_run: true,
      ok: false,
      capacity: { vehicle: 5, used: 0, after: 5 },
      results: [
        { delivery_id: staged.parent, assigned_delivery_id: staged.a, ok: true },
        { delivery_id: ids[1], ok: true },
        refused(2, "delivery_status_changed"),
        refused(3, "duplicate_deliveries"),
        refused(4, "insufficient_vehicle_capacity"),
        refused(5, "deliveries_zone_context_incomplete"),
        { delivery_id: ids[6], ok: true },
        refused(7, "delivery_not_found"),
      ],
    });
    expect(answer.body.results[1]).not.toHaveProperty("assigned_delivery_id");
    expect(await fingerprintOf(tenant.id)).toEqual(before);
    // The real assignment accepts and refuses the same deliveries, for the same reasons.
    const kept = [0, 1, 6].map((at) => ids[at]);
    expect(await bulk(driver.id, [...kept, ids[2]])).toFailWith(409, "delivery_status_changed");
    const real = await bulk(driver.id, kept);
    expect(real).toSucceed(201);
    expect(real.body.driver_capacity_used).toBe(5);
  });

  test("passes nothing for a driver who may get nothing, in the caller's words", async () => {
    const driver = await newDriver(tenant, { capacity: null });
    const ids = await newDeliveries(tenant, 2);
    const answer = await tenant.ops.in("ar").post(path, {
      driver_id: driver.id,
      delivery_ids: ids,
      dry_run: true,
    });
    expect(answer).toSucceed(200);
    expect(answer.body.capacity).toEqual({ vehicle: null, used: 0, after: 0 });
    for (const result of answer.body.results) {
      expect(result).toMatchObject({ ok: false, code: "driver_has_no_vehicle" });
      expect(result.message).toMatch(/[\u0600-\u06ff]/);
    }
    expect(await bulk(randomUUID(), ids, { dry_run: true })).toFailWith(404, "driver_not_found");
  });
});
