import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { newDeliveries, newDriver, newStaged } from "../../support/assignments.ts";
import {
  autoAssign,
  driverOf,
  newSearching,
  onDuty,
  ordered,
  ranking,
  searchOf,
} from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { assign, type Ground, newDelivery } from "../../support/deliveries.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newZone, square } from "../../support/zones.ts";

describe("POST /delivery/deliveries/:delivery_id/auto-assign", () => {
  let ground: Ground;
  let tenant: Tenant;
  let delivery: string;
  beforeAll(async () => {
    ground = await newSearching({ enabled: false });
    tenant = ground.tenant;
    delivery = (await newDelivery(ground)).id;
  });

  test("is for the office alone", async () => {
    await expectGuarded({ method: "POST", path: autoAssign(delivery) }, {
      denied: [tenant.driver, tenant.customer, tenant.institution, tenant.warehouse, tenant.staff],
    });
    await expectRefused(tenant.ops, { method: "POST", path: autoAssign(delivery) }, [
      [{ dry_run: "yes" }, "dry_run"],
    ]);
    const other = await newSearching({ enabled: false });
    await expectNoSuch(
      tenant.ops,
      { method: "POST", path: "/delivery/deliveries/{id}/auto-assign", body: {} },
      "delivery_id",
      "delivery_not_found",
      (await newDelivery(other)).id,
    );
  });

  test("starts the search again with all its attempts, once for a repeated request", async () => {
    const searching = await newSearching({ max_retry_attempts: 1 });
    const made = await ordered(searching);
    expect(await searchOf(searching.tenant, made.id)).toMatchObject({ status: "failed" });
    const driver = await newDriver(searching.tenant);
    const again = await searching.tenant.ops.post(autoAssign(made.id), {});
    expect(again).toSucceed(202);
    expect(again.body.data.auto_assignment).toMatchObject({ status: "searching", attempts: 0 });
    await jobsDone(searching.tenant.id);
    expect(await driverOf(made.id)).toBe(driver.id);
    expect(await searchOf(searching.tenant, made.id)).toMatchObject({
      status: "offered",
      attempts: 1,
    });
    const waiting = await newDelivery(ground);
    await expectReplayed(tenant.ops, autoAssign(waiting.id), {});
  });

  test("starts one also while orders do not search by themselves", async () => {
    const made = await newDelivery(ground);
    expect(await tenant.ops.post(autoAssign(made.id), {})).toSucceed(202);
    await jobsDone(tenant.id);
    expect(await searchOf(tenant, made.id)).toMatchObject({ status: "searching", attempts: 1 });
  });

  test("is refused for what does not wait for a driver, and for what is never assigned so", async () => {
    const taken = await newDelivery(ground);
    const driver = await newDriver(tenant);
    await assign(tenant, taken.id, driver);
    const staged = await newStaged(tenant);
    for (const dry_run of [false, true]) {
      const refused = await tenant.ops.post(autoAssign(taken.id), { dry_run });
      expect(refused).toFailWith(409, "delivery_status_changed");
      expect(refused.body.delivery_ids).toEqual([taken.id]);
      for (const id of [staged.parent, staged.a]) {
        expect(await tenant.ops.post(autoAssign(id), { dry_run })).toFailWith(
          409,
          "delivery_not_auto_assignable",
        );
      }
    }
  });

  test("a dry run writes nothing", async () => {
    const made = await newDelivery(ground);
    await ranking(tenant, made.id);
    expect(await sql`select from delivery.driver_searches where delivery_id = ${made.id}`)
      .toEqual([]);
  });
});

describe("who is asked first", () => {
  test("the fewest stops, then the nearest, then the longest without an assignment, then the id", async () => {
    const ground = await newSearching({ enabled: false });
    const { tenant } = ground;
    const near = await onDuty(tenant, { at: [33.311, 44.36] });
    const far = await onDuty(tenant, { at: [33.5, 44.36] });
    const unknown = [await newDriver(tenant), await newDriver(tenant), await newDriver(tenant)];
    const busy = await onDuty(tenant, { at: [33.31, 44.36] });
    const [carried, before] = [await newDelivery(ground), await newDelivery(ground)];
    await assign(tenant, carried.id, busy);
    await assign(tenant, before.id, unknown[0]);
    await sql`update delivery.deliveries set status = 'pending' where id = ${before.id}`;
    await sql`update delivery.assignments set status = 'returned', ended_at = now() where delivery_id = ${before.id}`;
    const made = await newDelivery(ground);
    const never = unknown.slice(1).map(({ id }) => id).sort();
    const ranked = await ranking(tenant, made.id);
    expect(ranked.map(({ driver_id }) => driver_id)).toEqual(
      [near.id, far.id, ...never, unknown[0].id, busy.id],
    );
    expect(ranked[0]).toMatchObject({
      full_name: expect.any(String),
      live_stops: 0,
      distance_km: 0.111,
      eligible: true,
      reasons: [],
    });
    expect(ranked.at(-1)).toMatchObject({ live_stops: 1, distance_km: 0 });
    expect(ranked[2].distance_km).toBeNull();
  });

  test("may be everybody who could be assigned by hand, whatever driver, vehicle, room and zones are", async () => {
    const ground = await newSearching({ enabled: false });
    const { tenant } = ground;
    const [here, there] = [
      await newZone(tenant, square(44.36, 33.31, 0.1)),
      await newZone(tenant, square(45.36, 34.31, 0.1)),
    ];
    const away = await newAddress(tenant, { latitude: 34.31, longitude: 45.36 });
    const nowhere = await newAddress(tenant, { latitude: 10, longitude: 10 });
    const unknown = await newAddress(tenant, { latitude: null, longitude: null });
    const drivers = [
      await newDriver(tenant),
      await newDriver(tenant, { capacity: null }),
      await newDriver(tenant, { capacity: 1 }),
      await newDriver(tenant, { zones: [here] }),
      await newDriver(tenant, { zones: [there] }),
      await newDriver(tenant, { zones: [here, there] }),
      await newDriver(tenant, { zones: [] }),
      await newDriver(tenant),
      await newDriver(tenant),
      await newDriver(tenant),
    ];
    await sql`update delivery.drivers set status = 'inactive' where user_id = ${drivers[7].id}`;
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${drivers[8].id}`;
    await sql`update delivery.vehicles set is_active = false where id = (
      select vehicle_id from delivery.drivers where user_id = ${drivers[9].id})`;
    const zoned = { pickup_zone_id: here, unit_size: 2 };
    const deliveries = await newDeliveries(tenant, 1, { unit_size: 2 });
    for (
      const more of [
        { ...zoned, dropoff_zone_id: here },
        { ...zoned, dropoff_zone_id: there, dropoff_address_id: away },
        { ...zoned, dropoff_address_id: nowhere },
        { ...zoned, pickup_zone_id: null, dropoff_address_id: unknown },
      ]
    ) deliveries.push(...await newDeliveries(tenant, 1, more));
    const [open] = await newDeliveries(tenant, 1, { ...zoned, dropoff_zone_id: here });
    await sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items)
      values (${tenant.id}, ${open}, 'damaged', '[]')`;
    let eligible = 0;
    for (const delivery of [...deliveries, open]) {
      const ranked = await ranking(tenant, delivery);
      const known = await sql`select user_id from delivery.drivers where tenant_id = ${tenant.id}`;
      expect(ranked.length).toBe(known.length);
      for (const candidate of ranked) {
        const byHand = await tenant.ops.post("/delivery/assignments/bulk", {
          driver_id: candidate.driver_id,
          delivery_ids: [delivery],
          dry_run: true,
        });
        expect(candidate.eligible, JSON.stringify([candidate, byHand.body])).toBe(byHand.body.ok);
        expect(candidate.reasons.length === 0).toBe(candidate.eligible);
        if (candidate.eligible) eligible++;
      }
    }
    expect(eligible).toBeGreaterThan(5);
    const [asked] = await ranking(tenant, open);
    expect(asked.reasons).toContain("delivery_has_open_exception");
  });
});

describe("searches are seen", () => {
  test("by the office alone: in the detail, the list and on the board", async () => {
    const ground = await newSearching({ max_retry_attempts: 2 });
    const { tenant } = ground;
    const failed = await ordered(ground);
    await sql`update delivery.driver_searches set next_attempt_at = now(), attempts = 1
      where delivery_id = ${failed.id}`;
    await sql`select delivery.search_step(${tenant.id}, ${failed.id})`;
    const searching = await ordered(ground);
    const driver = await newDriver(tenant);
    const offered = await ordered(ground);
    const ids = async (status: string) =>
      (await tenant.ops.get(`/delivery/deliveries?auto_assignment=${status}`)).body.data.map((
        { id }: Body,
      ) => id);
    expect(await ids("failed")).toEqual([failed.id]);
    expect(await ids("searching")).toEqual([searching.id]);
    expect(await ids("offered")).toEqual([offered.id]);
    expect(await tenant.ops.get("/delivery/deliveries?auto_assignment=off")).toFailWith(
      400,
      "validation_failed",
    );
    const board = (await tenant.ops.get("/delivery/board")).body.data;
    expect(board).toMatchObject({ searching: 1, failed_to_assign: 1 });
    const elsewhere = await newZone(tenant, square(40, 30, 0.2));
    const there = (await tenant.ops.get(`/delivery/board?zone_id=${elsewhere}`)).body.data;
    expect(there).toMatchObject({ searching: 0, failed_to_assign: 0 });

    const asCustomer = await tenant.customer.get(`/delivery/deliveries/${offered.id}`);
    expect(asCustomer.body.delivery.auto_assignment).toBeNull();
    const asDriver = await driver.get(`/delivery/deliveries/${offered.id}`);
    expect(asDriver.body.delivery.auto_assignment).toBeNull();
    expect((await tenant.customer.get("/delivery/deliveries?auto_assignment=offered")).body.data)
      .toEqual([]);
    const other = await newTenant();
    expect((await other.ops.get("/delivery/deliveries?auto_assignment=offered")).body.data)
      .toEqual([]);
    expect(await other.ops.get(`/delivery/deliveries/${randomUUID()}`)).toFailWith(
      404,
      "delivery_not_found",
    );
  });
});
