/** Checks that narrow the drivers who are asked. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { newDeliveries, newDriver } from "../../support/assignments.ts";
import {
  auto,
  newSearching,
  onDuty,
  ordered,
  ranking,
  searchOf,
  seenAt,
} from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { type Ground } from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { type Tenant } from "../../support/people.ts";
import { newZone, square } from "../../support/zones.ts";

const reasonsOf = async (tenant: Tenant, delivery: string, driver: string) =>
  (await ranking(tenant, delivery)).find(({ driver_id }) => driver_id === driver).reasons;

describe("a check that is on narrows", () => {
  let ground: Ground;
  let tenant: Tenant;
  let zone: string;
  let made: Body;
  beforeAll(async () => {
    ground = await newSearching({ enabled: false });
    tenant = ground.tenant;
    // A part of the zone belongs to a smaller one, and a hole of it to nobody.
    zone = await newZone(tenant, square(44.36, 33.31, 0.2), square(44.5, 33.31, 0.02));
    await newZone(tenant, square(44.25, 33.31, 0.02));
    const from = await newAddress(tenant);
    made = {
      id: (await newDeliveries(tenant, 1, {
        pickup_address_id: from,
        pickup_zone_id: zone,
        unit_size: 2,
      }))[0],
    };
  });
  const check = (name: string) =>
    auto(tenant, { enabled: false, priority_checks: { [name]: true } });

  test("driver_online: to those on duty and heard of", async () => {
    const online = await onDuty(tenant);
    const silent = await onDuty(tenant);
    await sql`update delivery.driver_presence set last_heartbeat_at = now() - interval '121 seconds'
      where driver_id = ${silent.id}`;
    const never = await newDriver(tenant);
    await check("driver_online");
    expect(await reasonsOf(tenant, made.id, online.id)).toEqual([]);
    expect(await reasonsOf(tenant, made.id, silent.id)).toEqual(["offline"]);
    expect(await reasonsOf(tenant, made.id, never.id)).toEqual(["offline"]);
  });

  test("available_in_zone: to those seen in the pickup's zone within 15 minutes, a smaller zone inside included", async () => {
    const [inside, smaller, hole, outside, old] = [
      await onDuty(tenant, { at: [33.3, 44.4] }),
      await onDuty(tenant, { at: [33.31, 44.25] }),
      await onDuty(tenant, { at: [33.31, 44.5] }),
      await onDuty(tenant, { at: [34, 44.4] }),
      await onDuty(tenant, { at: [33.3, 44.4] }),
    ];
    await sql`update delivery.driver_presence set recorded_at = now() - interval '16 minutes'
      where driver_id = ${old.id}`;
    const never = await newDriver(tenant);
    await check("available_in_zone");
    for (const driver of [inside, smaller]) {
      expect(await reasonsOf(tenant, made.id, driver.id)).toEqual([]);
    }
    for (const driver of [hole, outside, old, never]) {
      expect(await reasonsOf(tenant, made.id, driver.id)).toEqual(["away"]);
    }
    await seenAt(old, 33.3, 44.4);
    expect(await reasonsOf(tenant, made.id, old.id)).toEqual([]);
  });

  test("vehicle_capacity: to those who keep a fifth of their vehicle free", async () => {
    const [exact, less] = [
      await newDriver(tenant, { capacity: 2.5 }),
      await newDriver(tenant, { capacity: 2.4 }),
    ];
    await check("vehicle_capacity");
    expect(await reasonsOf(tenant, made.id, exact.id)).toEqual([]);
    expect(await reasonsOf(tenant, made.id, less.id)).toEqual(["capacity"]);
    await check("driver_online");
    expect(await reasonsOf(tenant, made.id, less.id)).toEqual(["offline"]);
  });

  test("preferred_zone: to those given the pickup's zone by name, while one of them may", async () => {
    const free = await newDriver(tenant);
    await check("preferred_zone");
    expect(await reasonsOf(tenant, made.id, free.id)).toEqual([]);
    const [named] = [await newDriver(tenant)];
    await sql`insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
      values (${tenant.id}, ${named.id}, ${zone})`;
    expect(await reasonsOf(tenant, made.id, named.id)).toEqual([]);
    expect(await reasonsOf(tenant, made.id, free.id)).toEqual(["zone"]);
    await sql`update delivery.drivers set status = 'inactive' where user_id = ${named.id}`;
    expect(await reasonsOf(tenant, made.id, free.id)).toEqual([]);
    expect(await reasonsOf(tenant, made.id, named.id)).toEqual(["driver_not_active"]);
  });

  test("what was passed over is counted once a driver, for the first reason", async () => {
    const searching = await newSearching({
      priority_checks: { driver_online: true, available_in_zone: true, vehicle_capacity: true },
    });
    const place = await newZone(searching.tenant, square(44.36, 33.31, 0.2));
    const elsewhere = await newZone(searching.tenant, square(40, 30, 0.2));
    await newDriver(searching.tenant, { zones: [elsewhere] });
    await newDriver(searching.tenant, { capacity: 2.1 });
    await newDriver(searching.tenant, { capacity: null });
    await newDriver(searching.tenant);
    await newDriver(searching.tenant);
    await onDuty(searching.tenant, { at: [34, 44.36] });
    const from = await newAddress(searching.tenant);
    await sql`update delivery.addresses set zone_id = ${place} where id = ${from}`;
    const order = await ordered(searching);
    expect((await searchOf(searching.tenant, order.id)).passed_over).toEqual({
      zone: 1,
      capacity: 1,
      offline: 2,
      away: 1,
      declined: 0,
    });
  });
});
