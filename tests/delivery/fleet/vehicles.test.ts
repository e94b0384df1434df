/** Vehicles: added, changed, taken out of use. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, move, newDelivery, newGround } from "../../support/deliveries.ts";
import { addVehicle, equippedDriver, storedDriver } from "../../support/fleet.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/drivers";
const vehiclesPath = "/delivery/vehicles";

let tenant: Tenant;
let other: Tenant;
let foreign: { zone: string; vehicle: string };

const storedVehicle = async (id: string) =>
  (await sql`select * from delivery.vehicles where id = ${id}`)[0];

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  foreign = {
    zone: await newZone(other, square(44.3, 33.3, 0.5)),
    vehicle: await addVehicle(other),
  };
});

describe("a vehicle", () => {
  test("is added, changed and taken out of use", async () => {
    const body = { name: " Truck ", unit_capacity: 120.5, image_url: "https://example.com/t.png" };
    const answer = await tenant.ops.post(vehiclesPath, body);
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: "Created.",
      data: {
        ...body,
        name: "Truck",
        id: expect.any(String),
        is_active: true,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    });
    const one = `${vehiclesPath}/${answer.body.data.id}`;
    const changed = await tenant.ops.patch(one, { image_url: null, is_active: false });
    expect(changed).toSucceed(200);
    expect(changed.body.data).toMatchObject({
      name: "Truck",
      unit_capacity: 120.5,
      image_url: null,
      is_active: false,
    });
    const id = await equippedDriver(tenant);
    expect(await tenant.ops.patch(`${path}/${id}`, { vehicle_id: answer.body.data.id })).toFailWith(
      409,
      "vehicle_inactive",
    );
    await expectReplayed(tenant.ops, vehiclesPath, { name: "A", unit_capacity: 1 }, {
      name: "B",
      unit_capacity: 1,
    });
  });

  test("has one driver at most, however many ask at once", async () => {
    const vehicle_id = await addVehicle(tenant);
    const drivers = await Promise.all(Array.from({ length: 6 }, () => equippedDriver(tenant)));
    const answers = await Promise.all(
      drivers.map((id) => tenant.ops.patch(`${path}/${id}`, { vehicle_id })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 200)) {
      expect(answer).toFailWith(409, "driver_vehicle_taken");
    }
    const [row] = await sql`select count(*)::int as n from delivery.drivers
      where vehicle_id = ${vehicle_id}`;
    expect(row.n).toBe(1);
  });

  test("with a driver stays in use, and its capacity covers the driver's load", async () => {
    const [vehicle, smaller] = [await addVehicle(tenant), await addVehicle(tenant, 10)];
    const id = await equippedDriver(tenant, { vehicle_id: vehicle });
    await sql`update delivery.drivers set capacity_used = 20 where user_id = ${id}`;
    const change = (body: object) => tenant.ops.patch(`${vehiclesPath}/${vehicle}`, body);
    expect(await change({ is_active: false })).toFailWith(409, "vehicle_in_use");
    expect(await change({ unit_capacity: 19.999 })).toFailWith(
      409,
      "insufficient_vehicle_capacity",
    );
    expect(await change({ unit_capacity: 20 })).toSucceed(200);
    expect(await tenant.ops.patch(`${path}/${id}`, { vehicle_id: smaller })).toFailWith(
      409,
      "insufficient_vehicle_capacity",
    );
    const refused = await tenant.ops.patch(`${path}/${id}`, { vehicle_id: null });
    expect(refused).toFailWith(409, "insufficient_vehicle_capacity");
    expect(refused.body).toMatchObject({
      field: "vehicle_id",
      message: "The driver carries deliveries, and needs the vehicle until they are done.",
    });
    expect((await storedDriver(id)).vehicle_id).toBe(vehicle);
    await sql`update delivery.drivers set capacity_used = 0 where user_id = ${id}`;
    expect(await tenant.ops.patch(`${path}/${id}`, { vehicle_id: null })).toSucceed(200);
  });

  test("in which a driver was assigned parcels is nobody else's, in use and large enough until they are done", async () => {
    const ground = await newGround(tenant);
    const [own, named] = [await addVehicle(tenant), await addVehicle(tenant)];
    const id = await equippedDriver(tenant, { vehicle_id: own, all_zones: true });
    const next = await equippedDriver(tenant);
    const { id: delivery_id } = await newDelivery(ground, { unit_size: 20 });
    const made = await tenant.ops.post("/delivery/assignments", {
      delivery_id,
      driver_id: id,
      vehicle_id: named,
    });
    expect(made).toSucceed(201);
    const change = (body: object) => tenant.ops.patch(`${vehiclesPath}/${named}`, body);
    const give = (driver: string) => tenant.ops.patch(`${path}/${driver}`, { vehicle_id: named });
    expect(await give(next)).toFailWith(409, "driver_vehicle_taken");
    expect(await change({ is_active: false })).toFailWith(409, "vehicle_in_use");
    expect(await change({ unit_capacity: 19 })).toFailWith(409, "insufficient_vehicle_capacity");
    expect(await change({ unit_capacity: 20 })).toSucceed(200);
    // The driver's own: nothing is in it.
    expect(await give(id)).toSucceed(200);
    expect(await tenant.ops.patch(`${path}/${next}`, { vehicle_id: own })).toSucceed(200);
    expect(await tenant.ops.post(`/delivery/assignments/${made.body.id}/unassign`)).toSucceed(200);
    expect(await tenant.ops.patch(`${path}/${id}`, { vehicle_id: null })).toSucceed(200);
    expect(await change({ unit_capacity: 19 })).toSucceed(200);
    expect(await give(next)).toSucceed(200);
  });

  test("that a driver leaves for another is free: what they carry goes along", async () => {
    const ground = await newGround(tenant);
    const [old, fresh] = [await addVehicle(tenant), await addVehicle(tenant)];
    const id = await equippedDriver(tenant, { vehicle_id: old, all_zones: true });
    const { id: delivery_id } = await newDelivery(ground);
    const made = await tenant.ops.post("/delivery/assignments", { delivery_id, driver_id: id });
    expect(made).toSucceed(201);
    expect(await tenant.ops.patch(`${path}/${id}`, { vehicle_id: fresh })).toSucceed(200);
    const { body } = await tenant.ops.get("/delivery/assignments", { query: { delivery_id } });
    expect(body.assignments[0].vehicle).toMatchObject({ id: fresh });
    const next = await equippedDriver(tenant);
    expect(await tenant.ops.patch(`${path}/${next}`, { vehicle_id: old })).toSucceed(200);
    const change = (body: object) => tenant.ops.patch(`${vehiclesPath}/${fresh}`, body);
    expect(await change({ is_active: false })).toFailWith(409, "vehicle_in_use");
  });

  test("is not given to one driver while another is assigned a parcel in it", async () => {
    const ground = await newGround(tenant);
    for (let round = 0; round < 4; round++) {
      const vehicle_id = await addVehicle(tenant);
      const driver_id = await equippedDriver(tenant, {
        vehicle_id: await addVehicle(tenant),
        all_zones: true,
      });
      const next = await equippedDriver(tenant);
      const { id: delivery_id } = await newDelivery(ground);
      const answers = await Promise.all([
        tenant.ops.post("/delivery/assignments", { delivery_id, driver_id, vehicle_id }),
        tenant.ops.patch(`${path}/${next}`, { vehicle_id }),
      ]);
      expect(answers.filter(({ body }) => body.success)).toHaveLength(1);
      expect(answers.find(({ body }) => !body.success))
        .toFailWith(409, "driver_vehicle_taken");
    }
  });

  test("is changed for another while its driver gets, picks up and loses deliveries: what is in it follows", async () => {
    const ground = await newGround(tenant);
    for (let round = 0; round < 3; round++) {
      const [old, fresh] = [await addVehicle(tenant), await addVehicle(tenant)];
      await sql`update delivery.drivers set vehicle_id = ${old} where user_id = ${tenant.driver.id}`;
      const ids: string[] = [];
      for (let i = 0; i < 4; i++) ids.push((await newDelivery(ground)).id);
      for (const id of ids.slice(0, 3)) await assign(tenant, id);
      await sql`update delivery.assignments set vehicle_id = ${old}
        where delivery_id = any (${ids}) and vehicle_id is null`;
      const answers = await Promise.all([
        tenant.ops.patch(`${path}/${tenant.driver.id}`, { vehicle_id: fresh }),
        move(tenant.driver, ids[0]!, "pickup"),
        move(tenant.ops, ids[1]!, "cancel", { reason: "No" }),
        tenant.ops.post("/delivery/assignments", {
          delivery_id: ids[3],
          driver_id: tenant.driver.id,
        }),
      ]);
      for (const answer of answers) expect(answer.body.success).toBe(true);
      const held = await sql`select delivery_id from delivery.assignments
        where delivery_id = any (${
        ids.slice(0, 3)
      }) and vehicle_id = ${fresh} and status = 'accepted'`;
      expect(held.map(({ delivery_id }) => delivery_id).sort()).toEqual([ids[0], ids[2]].sort());
      await sql`update delivery.assignments set status = 'returned', ended_at = now()
        where driver_id = ${tenant.driver.id} and status in ('pending', 'assigned', 'accepted')`;
    }
  });

  test("is never given to a driver while it goes out of use", async () => {
    for (let round = 0; round < 6; round++) {
      const [vehicle_id, id] = [await addVehicle(tenant), await equippedDriver(tenant)];
      const [given, retired] = await Promise.all([
        tenant.ops.patch(`${path}/${id}`, { vehicle_id }),
        tenant.ops.patch(`${vehiclesPath}/${vehicle_id}`, { is_active: false }),
      ]);
      expect([given.status, retired.status].sort()).toEqual([200, 409]);
      const { vehicle_id: has } = await storedDriver(id);
      expect((await storedVehicle(vehicle_id)).is_active).toBe(has !== null);
    }
  });

  test("is refused for wrong input, wrong people and other tenants' ids", async () => {
    const id = await addVehicle(tenant);
    const before = await storedVehicle(id);
    const call = { method: "PATCH", path: `${vehiclesPath}/${id}`, body: { name: "X" } } as const;
    const wrong = [
      [{ name: "", unit_capacity: 1 }, "name"],
      [{ name: "X", unit_capacity: -1 }, "unit_capacity"],
      [{ name: "X", unit_capacity: "1" }, "unit_capacity"],
      [{ name: "X", unit_capacity: 1, image_url: "x" }, "image_url"],
      [{ name: "a\u0000", unit_capacity: 1 }, "name"],
    ] as const;
    await expectRefused(tenant.ops, call, wrong);
    await expectRefused(tenant.ops, { method: "POST", path: vehiclesPath }, [
      [{}, "name"],
      [{ name: "X" }, "unit_capacity"],
      ...wrong,
    ]);
    const { staff, warehouse, driver, institution, customer } = tenant;
    const denied = [staff, warehouse, driver, institution, customer];
    await expectGuarded(call, { denied });
    await expectGuarded({ ...call, method: "POST", path: vehiclesPath }, { denied });
    await expectNoSuch(
      tenant.ops,
      { ...call, path: `${vehiclesPath}/{id}` },
      "vehicle_id",
      "vehicle_not_found",
      foreign.vehicle,
    );
    expect(await storedVehicle(id)).toEqual(before);
  });
});
