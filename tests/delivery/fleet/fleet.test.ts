import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { addVehicle, equippedDriver, storedDriver } from "../../support/fleet.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectPaged,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/drivers";
const vehiclesPath = "/delivery/vehicles";

let tenant: Tenant;
let other: Tenant;
let zone: string;
let foreign: { zone: string; vehicle: string };

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  zone = await newZone(tenant, square(44.3, 33.3, 0.5));
  foreign = {
    zone: await newZone(other, square(44.3, 33.3, 0.5)),
    vehicle: await addVehicle(other),
  };
});

describe("a driver who was shut out, has left, or is something else by now", () => {
  test("is made active by nobody but who lets them in again", async () => {
    const shut = await equippedDriver(tenant);
    await tenant.admin.post(`/tenants/${tenant.id}/users/${shut}/deactivate`);
    const left = await newPerson(tenant.id, "driver", "driver");
    expect(await tenant.ops.post(path, { user_id: left.id })).toSucceed(201);
    expect(await left.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
    const changed = await newPerson(tenant.id, "driver", "driver");
    expect(await tenant.ops.post(path, { user_id: changed.id })).toSucceed(201);
    await sql`update tenancy.tenant_users set tenant_user_type = 'staff'
      where tenant_id = ${tenant.id} and user_id = ${changed.id}`;
    for (const id of [shut, left.id, changed.id]) {
      for (const [field, value] of [["status", "active"], ["default", true]] as const) {
        const answer = await tenant.ops.patch(`${path}/${id}`, { [field]: value });
        expect(answer).toFailWith(409, "driver_inactive");
        expect(answer.body.field).toBe(field);
      }
      // Their vehicle is taken from them all the same.
      expect(await tenant.ops.patch(`${path}/${id}`, { vehicle_id: null, default: false }))
        .toSucceed(200);
    }
    expect(await tenant.ops.post(path, { user_id: left.id })).toFailWith(404, "user_not_found");
  });
});

describe("equipping a driver", () => {
  test("returns the driver, the vehicle and the position", async () => {
    const vehicle_id = await addVehicle(tenant);
    const person = await newPerson(tenant.id, "driver", "driver");
    const answer = await tenant.dispatcher.post(path, {
      user_id: person.id,
      vehicle_id,
      zone_ids: [zone, zone],
    });
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: "Created.",
      data: {
        id: person.id,
        user: {
          id: person.id,
          full_name: expect.stringContaining("driver"),
          phone: expect.stringContaining("+964"),
          email: expect.stringContaining("@barid.test"),
        },
        vehicle: { id: vehicle_id, name: "Van", image_url: null },
        all_zones: false,
        zone_ids: [zone],
        status: "active",
        capacity_used: 0,
        on_duty: false,
        is_online: false,
        last_heartbeat_at: null,
        last_position: null,
        is_default: false,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    });
    // Adding them as a user has made them a driver already; a second time gives what is sent.
    const again = await tenant.ops.post(path, { user_id: person.id, all_zones: true });
    expect(again.body.data).toMatchObject({ all_zones: true, zone_ids: [zone] });
    const wallets = await sql`select from money.accounts where owner_user_id = ${person.id}`;
    expect(wallets).toHaveLength(1);
  });

  test("changes take what is sent; null takes the vehicle away", async () => {
    const id = await equippedDriver(tenant, {
      vehicle_id: await addVehicle(tenant),
      zone_ids: [zone],
    });
    const set = async (change: object) => {
      const answer = await tenant.ops.patch(`${path}/${id}`, change);
      expect(answer).toSucceed(200);
      return answer.body.data;
    };
    expect(await set({ vehicle_id: null })).toMatchObject({ vehicle: null, zone_ids: [zone] });
    expect(await set({ zone_ids: [] })).toMatchObject({ zone_ids: [] });
    expect(await set({ status: "inactive", all_zones: true })).toMatchObject({
      status: "inactive",
      all_zones: true,
    });
  });

  test("default makes the driver the tenant's default, one at a time", async () => {
    const [first, second] = [
      await equippedDriver(tenant, { default: true }),
      await equippedDriver(tenant),
    ];
    expect((await storedDriver(first)).default_driver).toBe(first);
    await tenant.ops.patch(`${path}/${second}`, { default: false });
    expect((await storedDriver(second)).default_driver).toBe(first);
    const answer = await tenant.ops.patch(`${path}/${second}`, { default: true });
    expect(answer.body.data.is_default).toBe(true);
    expect((await storedDriver(second)).default_driver).toBe(second);
    await tenant.ops.patch(`${path}/${second}`, { default: false });
    expect((await storedDriver(second)).default_driver).toBeNull();
    const idle = { status: "inactive", default: true };
    const refused = await tenant.ops.patch(`${path}/${second}`, idle);
    expect(refused).toFailWith(409, "driver_inactive");
    expect(refused.body.field).toBe("default");
    expect((await storedDriver(second)).status).toBe("active");
  });

  test("is refused for wrong input, wrong callers and other tenants' ids, and leaves the driver unchanged", async () => {
    const id = await equippedDriver(tenant, { zone_ids: [zone] });
    const before = await storedDriver(id);
    const call = { method: "PATCH", path: `${path}/${id}`, body: { all_zones: true } } as const;
    await expectRefused(tenant.ops, call, [
      [{ vehicle_id: "x" }, "vehicle_id", "invalid_uuid"],
      [{ zone_ids: "all" }, "zone_ids"],
      [{ zone_ids: ["x"] }, "zone_ids.0", "invalid_uuid"],
      [{ status: "asleep" }, "status"],
      [{ all_zones: "yes" }, "all_zones"],
      [{ default: "yes" }, "default"],
    ]);
    const lost = await tenant.ops.patch(call.path, { all_zones: true, zone_ids: [foreign.zone] });
    expect(lost).toFailWith(404, "zone_not_found");
    expect(lost.body.field).toBe("zone_ids");
    for (const vehicle_id of [foreign.vehicle, randomUUID()]) {
      expect(await tenant.ops.patch(call.path, { vehicle_id })).toFailWith(
        404,
        "vehicle_not_found",
      );
    }
    const { staff, warehouse, driver, institution, customer } = tenant;
    const denied = [staff, warehouse, driver, institution, customer];
    await expectGuarded(call, { denied });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${path}/{id}` },
      "driver_id",
      "driver_not_found",
      await equippedDriver(other),
    );
    expect(await storedDriver(id)).toEqual(before);

    await expectGuarded({ method: "POST", path, body: { user_id: driver.id } }, { denied });
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "user_id", "validation_failed"],
      [{ user_id: "x" }, "user_id", "invalid_uuid"],
    ]);
    for (const { id: user_id } of [customer, institution, tenant.ops]) {
      const answer = await tenant.ops.post(path, { user_id });
      expect(answer).toFailWith(409, "user_not_driver");
      expect(answer.body.field).toBe("user_id");
    }
    for (const user_id of [randomUUID(), other.driver2.id]) {
      expect(await tenant.ops.post(path, { user_id })).toFailWith(404, "user_not_found");
    }
    expect(await storedDriver(other.driver2.id)).toBeUndefined();
    await expectReplayed(tenant.ops, path, { user_id: id }, { user_id: id, all_zones: true });
    const arabic = await tenant.ops.in("ar").post(path, { user_id: customer.id });
    expect(arabic.body.message).toBe("هذا المستخدم ليس سائقًا.");
  });
});

describe("the lists", () => {
  let listed: Tenant;
  let van: string;
  let near: string;
  const drivers: string[] = [];
  beforeAll(async () => {
    listed = await newTenant();
    van = await addVehicle(listed, 5);
    near = await newZone(listed, square(1, 1, 1));
    drivers.push(
      await equippedDriver(listed, { vehicle_id: van, zone_ids: [near] }),
      await equippedDriver(listed, { all_zones: true, default: true }),
      await equippedDriver(listed, { status: "inactive" }),
    );
    await sql`update tenancy.profiles set full_name = 'Ali_1', phone = '+9647709999999'
      where id = ${drivers[0]}`;
    await listed.ops.post(`${path}/me/duty`, { on_duty: true, driver_id: drivers[1] });
    await sql`update delivery.driver_presence set last_heartbeat_at = now() where driver_id = ${
      drivers[1]
    }`;
    for (const capacity of [7, 9]) await addVehicle(listed, capacity);
  });
  const found = async (query: Record<string, string>, at = path): Promise<string[]> => {
    const answer = await listed.staff.get(at, { query });
    expect(answer).toSucceed(200);
    return answer.body.data.map((row: { id: string }) => row.id).sort();
  };
  const some = (...at: number[]) => at.map((index) => drivers[index]).sort();

  test("of drivers can be narrowed, searched, sorted and paged", async () => {
    expect(await found({})).toEqual(some(0, 1, 2));
    expect(await found({ status: "inactive" })).toEqual(some(2));
    expect(await found({ is_online: "true" })).toEqual(some(1));
    expect(await found({ all_zones: "false" })).toEqual(some(0, 2));
    expect(await found({ vehicle_id: van })).toEqual(some(0));
    expect(await found({ vehicle_id: foreign.vehicle })).toEqual([]);
    expect(await found({ zone_id: near })).toEqual(some(0, 1));
    expect(await found({ search: "ali_" })).toEqual(some(0));
    expect(await found({ search: "0999999" })).toEqual(some(0));
    await expectPaged(listed.staff, path, "full_name");
    const wrong = await listed.staff.get(path, { query: { status: "asleep" } });
    expect(wrong).toFailWith(400, "validation_failed");
    const { data } = (await listed.staff.get(path, { query: { search: "Ali_1" } })).body;
    expect(Object.keys(data[0]).sort()).toEqual([
      "all_zones",
      "capacity_used",
      "created_at",
      "id",
      "is_default",
      "is_online",
      "last_heartbeat_at",
      "last_position",
      "on_duty",
      "status",
      "updated_at",
      "user",
      "vehicle",
      "zone_ids",
    ]);
  });

  test("of vehicles as well", async () => {
    await expectPaged(listed.driver, vehiclesPath, "unit_capacity");
    expect(await found({ is_active: "false" }, vehiclesPath)).toEqual([]);
    expect(await found({ search: "VAN" }, vehiclesPath)).toHaveLength(3);
  });

  test("are for staff; a driver finds only themselves, customers and institutions find none", async () => {
    expect(await listed.ops.post(path, { user_id: listed.driver.id })).toSucceed(201);
    const own = await listed.driver.get(path);
    expect(own.body.data.map((row: { id: string }) => row.id)).toEqual([listed.driver.id]);
    const denied = [listed.customer, listed.institution];
    await expectGuarded({ method: "GET", path }, { denied });
    await expectGuarded({ method: "GET", path: vehiclesPath }, { denied });
  });
});
