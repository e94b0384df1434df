import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { newDeliveries, newDriver, newStaged, statusOf } from "../../support/assignments.ts";
import { auto, driverOf, onDuty, ordered, searchOf } from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { newDelivery, newGround } from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { newZone, square } from "../../support/zones.ts";

const open = "/delivery/assignments/open";
const self = "/delivery/assignments/self";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant({ settings: { "general.driver": { driver_can_self_assign: true } } });
});

const openTo = async (driver: Person, query = ""): Promise<Body[]> => {
  const answer = await driver.get(open + query);
  expect(answer).toSucceed(200);
  return answer.body.data;
};
const idsOpenTo = async (driver: Person) => {
  const rows = await openTo(driver, "?limit=100");
  return rows.map(({ delivery_id }) => delivery_id);
};

describe("both calls", () => {
  test("are drivers', on duty, where the tenant lets them", async () => {
    const [delivery] = await newDeliveries(tenant, 1);
    const body = { delivery_ids: [delivery] };
    const denied = [tenant.admin, tenant.dispatcher, tenant.customer, tenant.institution];
    await expectGuarded({ method: "GET", path: open }, { denied });
    await expectGuarded({ method: "POST", path: self, body }, { denied });
    const idle = await newDriver(tenant);
    expect(await idle.get(open)).toFailWith(409, "driver_off_duty");
    expect(await idle.post(self, body)).toFailWith(409, "driver_off_duty");

    const strict = await newTenant();
    const driver = await onDuty(strict);
    const [theirs] = await newDeliveries(strict, 1);
    expect(await driver.get(open)).toFailWith(403, "self_assignment_disabled");
    expect(await driver.post(self, { delivery_ids: [theirs] })).toFailWith(
      403,
      "self_assignment_disabled",
    );
    await expectRefused(idle, { method: "POST", path: self }, [
      [{}, "delivery_ids"],
      [{ delivery_ids: [] }, "delivery_ids"],
      [{ delivery_ids: Array.from({ length: 21 }, () => randomUUID()) }, "delivery_ids"],
      [{ delivery_ids: ["x"] }, "delivery_ids.0", "invalid_uuid"],
    ]);
  });
});

describe("GET /delivery/assignments/open", () => {
  test("shows what the driver could be assigned, the nearest pickup first, without its people", async () => {
    const fresh = await newTenant({
      settings: { "general.driver": { driver_can_self_assign: true } },
    });
    const place = await newGround(fresh);
    const driver = await onDuty(fresh, { capacity: 5, at: [33.32, 44.36] });
    const far = await newAddress(fresh, { latitude: 33.4, longitude: 44.36 });
    const near = await newDelivery(place, { notes: "call Layla" });
    const [away] = await newDeliveries(fresh, 1, {
      pickup_address_id: far,
      pickup_snapshot: sql.json({ full_address: "Far", latitude: 33.4, longitude: 44.36 }),
    });
    const [nowhere] = await newDeliveries(fresh, 1, { pickup_snapshot: sql.json({}) });
    await newDeliveries(fresh, 1, { unit_size: 6 });
    await newDeliveries(fresh, 1, { status: "draft" });
    await newDeliveries(fresh, 1, { carrier_type: "external", carrier_code: "easypost" });
    const [excepted] = await newDeliveries(fresh, 1);
    await sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items)
      values (${fresh.id}, ${excepted}, 'damaged', '[]')`;
    const staged = await newStaged(fresh);

    const rows = await openTo(driver);
    const ids = rows.map(({ delivery_id }) => delivery_id);
    expect(ids.filter((id) => id !== staged.a)).toEqual([near.id, away, nowhere]);
    expect(ids).toContain(staged.a);
    expect(rows[0]).toMatchObject({
      delivery_code: near.delivery_code,
      unit_size: 2,
      distance_km: 1.446,
      pickup: { city: "Baghdad", latitude: 33.31, longitude: 44.36 },
      cash_due: { delivery: { delivery_fee: near.price } },
    });
    expect(rows.at(-1)!.distance_km).toBeNull();
    const text = JSON.stringify(rows);
    for (const secret of ["Recipient", "+964", "Layla", "contact_info"]) {
      expect(text).not.toContain(secret);
    }

    const first = await driver.get(`${open}?limit=1`);
    expect(first.body).toMatchObject({
      data: [{ delivery_id: near.id }],
      pagination: { page: 1, limit: 1, total: 4, total_pages: 4 },
    });
    const second = await driver.get(`${open}?limit=1&page=2`);
    expect(second.body.data[0].delivery_id).not.toBe(near.id);
  });

  test("is what taking it agrees with, by zones, room, vehicle and who has it", async () => {
    const fresh = await newTenant({
      settings: { "general.driver": { driver_can_self_assign: true } },
    });
    const [here, there] = [
      await newZone(fresh, square(44.36, 33.31, 0.1)),
      await newZone(fresh, square(45.36, 34.31, 0.1)),
    ];
    const zones = (pickup_zone_id: string | null, dropoff_zone_id: string | null) => ({
      pickup_zone_id,
      dropoff_zone_id,
    });
    const deliveries = [
      ...await newDeliveries(fresh, 1, zones(here, here)),
      ...await newDeliveries(fresh, 1, zones(here, there)),
      ...await newDeliveries(fresh, 1, zones(null, null)),
      ...await newDeliveries(fresh, 1, { ...zones(here, here), unit_size: 3 }),
      ...await newDeliveries(fresh, 1, { ...zones(here, here), status: "cancelled" }),
    ];
    const taken = await newDeliveries(fresh, 1, zones(here, here));
    await fresh.ops.post("/delivery/assignments", {
      delivery_id: taken[0],
      driver_id: (await newDriver(fresh)).id,
    });
    const drivers = [
      await onDuty(fresh),
      await onDuty(fresh, { zones: [here] }),
      await onDuty(fresh, { zones: [here, there], capacity: 2 }),
      await onDuty(fresh, { capacity: null }),
    ];
    let agreed = 0;
    for (const driver of drivers) {
      const ids = await idsOpenTo(driver);
      for (const delivery of [...deliveries, ...taken]) {
        const byHand = await fresh.ops.post("/delivery/assignments/bulk", {
          driver_id: driver.id,
          delivery_ids: [delivery],
          dry_run: true,
        });
        expect(ids.includes(delivery), JSON.stringify(byHand.body)).toBe(byHand.body.ok);
        if (byHand.body.ok) agreed++;
      }
    }
    expect(agreed).toBeGreaterThan(5);
  });

  test("shows nothing of another tenant", async () => {
    const other = await newTenant({
      settings: { "general.driver": { driver_can_self_assign: true } },
    });
    await newDeliveries(tenant, 1);
    expect(await openTo(await onDuty(other))).toEqual([]);
  });
});

describe("POST /delivery/assignments/self", () => {
  test("gives the driver all of them, accepted, as a bulk", async () => {
    const driver = await onDuty(tenant);
    const ids = await newDeliveries(tenant, 3, { unit_size: 2 });
    const answer = await driver.post(self, { delivery_ids: ids });
    expect(answer).toSucceed(201);
    expect(answer.body).toMatchObject({ count: 3, total_units: 6, driver_capacity_used: 6 });
    for (const id of ids) expect(await statusOf(id)).toBe("accepted");
    const rows =
      await sql`select status, driver_id, assigned_by, responded_at, bulk_assignment_id from delivery.assignments
      where delivery_id in ${sql(ids)}`;
    for (const row of rows) {
      expect(row).toMatchObject({
        status: "accepted",
        driver_id: driver.id,
        assigned_by: driver.id,
        bulk_assignment_id: answer.body.bulk_assignment_id,
      });
      expect(row.responded_at).toBeTruthy();
    }
    expect(await driver.post(`/delivery/deliveries/${ids[0]}/pickup`, {})).toSucceed(200);
    expect(await idsOpenTo(driver)).not.toContain(ids[1]);
  });

  test("is all or none: what is taken meanwhile is named, and nothing else is given", async () => {
    const [driver, faster] = [await onDuty(tenant), await onDuty(tenant)];
    const [one, two] = await newDeliveries(tenant, 2);
    expect(await faster.post(self, { delivery_ids: [two] })).toSucceed(201);
    const late = await driver.post(self, { delivery_ids: [one, two] });
    expect(late).toFailWith(409, "delivery_already_assigned");
    expect(late.body.delivery_ids).toEqual([two]);
    expect(await driverOf(one)).toBeNull();
  });

  test("asked once more by who has them, since the answer was lost, says so; a delivery of somebody else's among them does not", async () => {
    const [driver, faster] = [await onDuty(tenant), await onDuty(tenant)];
    const [one, two, three] = await newDeliveries(tenant, 3);
    expect(await driver.post(self, { delivery_ids: [one, two] })).toSucceed(201);
    expect(await faster.post(self, { delivery_ids: [three] })).toSucceed(201);
    const again = await driver.post(self, { delivery_ids: [two, one] });
    expect(again).toFailWith(409, "delivery_already_assigned");
    expect(again.body).toMatchObject({
      delivery_ids: [two, one],
      message: "You have these deliveries already: read your assignments again.",
    });
    const mixed = await driver.post(self, { delivery_ids: [one, three] });
    expect(mixed).toFailWith(409, "delivery_already_assigned");
    expect(mixed.body.message).not.toBe(again.body.message);
    const twice = await driver.post(self, { delivery_ids: [one, one] });
    expect(twice).toFailWith(400, "duplicate_deliveries");
  });

  test("refuses what could not be assigned by hand either", async () => {
    const other = await newTenant();
    const [theirs] = await newDeliveries(other, 1);
    const small = await onDuty(tenant, { capacity: 1 });
    const zone = await newZone(tenant, square(10, 10, 0.1));
    const elsewhere = await onDuty(tenant, { zones: [zone] });
    const bare = await onDuty(tenant, { capacity: null });
    const [one, two] = await newDeliveries(tenant, 2);
    const take = (driver: Person, ...delivery_ids: string[]) => driver.post(self, { delivery_ids });
    expect(await take(small, one, two)).toFailWith(409, "insufficient_vehicle_capacity");
    expect(await take(small, one, one)).toFailWith(400, "duplicate_deliveries");
    expect(await take(elsewhere, one)).toFailWith(400, "driver_not_allowed_in_zones");
    expect(await take(bare, one)).toFailWith(409, "driver_has_no_vehicle");
    for (const id of [theirs, randomUUID()]) {
      expect(await take(small, id)).toFailWith(404, "delivery_not_found");
    }
    expect(await driverOf(one)).toBeNull();
  });

  test("repeated with one key is done once", async () => {
    const driver = await onDuty(tenant);
    const [one, two] = await newDeliveries(tenant, 2);
    await expectReplayed(driver, self, { delivery_ids: [one] }, { delivery_ids: [two] });
  });

  test("ends the search for a driver", async () => {
    const searching = await newTenant({
      settings: { "general.driver": { driver_can_self_assign: true } },
    });
    const place = await newGround(searching);
    await sql`update delivery.drivers set status = 'inactive' where tenant_id = ${searching.id}`;
    await auto(searching);
    const made = await ordered(place);
    const driver = await onDuty(searching);
    expect(await driver.post(self, { delivery_ids: [made.id] })).toSucceed(201);
    expect(await searchOf(searching, made.id)).toMatchObject({ status: "off" });
  });
});

test("of fifty drivers who want one delivery exactly one gets it", async () => {
  const drivers = await Promise.all(Array.from({ length: 50 }, () => onDuty(tenant)));
  const [wanted] = await newDeliveries(tenant, 1);
  const answers = await Promise.all(
    drivers.map((driver) => driver.post(self, { delivery_ids: [wanted] })),
  );
  const codes = answers.map(({ status, body }) => body.code ?? status).sort();
  expect(codes).toEqual([201, ...Array(49).fill("delivery_already_assigned")]);
  expect(await sql`select from delivery.assignments where delivery_id = ${wanted}`).toHaveLength(1);
});
