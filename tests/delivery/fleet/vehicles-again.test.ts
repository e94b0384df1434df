/** A parcel that a driver has again, by a handover that was refused or an outcome that was undone, is in no vehicle of somebody else. */
import { beforeAll, expect, test } from "vitest";
import { handOver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { checkAll, type Ground, moves, newDelivery, newGround } from "../../support/deliveries.ts";
import { addVehicle } from "../../support/fleet.ts";
import { undo } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/drivers";
let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const equip = (driver: { id: string }, vehicle_id: string | null) =>
  tenant.ops.patch(`${path}/${driver.id}`, { vehicle_id });
const vehicleOf = async (delivery: string): Promise<string | null> =>
  (await sql`select vehicle_id from delivery.assignments
    where delivery_id = ${delivery} and status = 'accepted'`)[0]!.vehicle_id;

/** A parcel on the road with the driver, in their own vehicle. */
async function carried(): Promise<string> {
  const { id: delivery_id } = await newDelivery(ground);
  const given = await tenant.dispatcher.post("/delivery/assignments", {
    delivery_id,
    driver_id: tenant.driver.id,
  });
  expect(given).toSucceed(201);
  const answer = { status: "accepted" };
  expect(await tenant.driver.put(`/delivery/assignments/${given.body.id}`, answer)).toSucceed(200);
  await moves(tenant.driver, delivery_id, "pickup", "depart");
  return delivery_id;
}

/** The driver hands the parcel over, gets another vehicle meanwhile, and somebody else the one of before. */
async function refusedAfterChange(next: string | null): Promise<{ id: string; old: string }> {
  const [old, own] = [await addVehicle(tenant), await addVehicle(tenant)];
  expect(await equip(tenant.driver, old)).toSucceed(200);
  expect(await equip(tenant.driver2, own)).toSucceed(200);
  const id = await carried();
  const handed = await handOver(tenant.ops, tenant.driver, tenant.driver2, [id]);
  expect(handed).toSucceed(201);
  expect(await equip(tenant.driver, next)).toSucceed(200);
  const [{ id: offer }] = await sql`select id from delivery.assignments
    where delivery_id = ${id} and driver_id = ${tenant.driver2.id} and ended_at is null`;
  const answer = { status: "rejected", reason: "full" };
  expect(await tenant.driver2.put(`/delivery/assignments/${offer}`, answer)).toSucceed(200);
  return { id, old };
}

test("refused by the other driver, it is in the vehicle that its driver has meanwhile", async () => {
  const fresh = await addVehicle(tenant);
  const { id, old } = await refusedAfterChange(fresh);
  expect(await vehicleOf(id)).toBe(fresh);
  expect(await tenant.ops.patch(`/delivery/vehicles/${old}`, { is_active: false })).toSucceed(200);
  await moves(tenant.driver, id, "complete");
  await checkAll(tenant);
});

test("of a driver who has none any more it is in the one of before, which nobody has", async () => {
  const { id, old } = await refusedAfterChange(null);
  expect(await vehicleOf(id)).toBe(old);
  await moves(tenant.driver, id, "complete");
});

test("an outcome that is undone puts it into the vehicle that its driver has now", async () => {
  const [old, fresh] = [await addVehicle(tenant), await addVehicle(tenant)];
  expect(await equip(tenant.driver, old)).toSucceed(200);
  const id = await carried();
  await moves(tenant.driver, id, "complete");
  expect(await equip(tenant.driver, fresh)).toSucceed(200);
  expect(await equip(tenant.driver2, old)).toSucceed(200);
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await vehicleOf(id)).toBe(fresh);
  await moves(tenant.driver, id, "complete");
  await checkAll(tenant);
});

test("where somebody else has the one of before, it is in none until its driver gets one", async () => {
  const [old, fresh] = [await addVehicle(tenant), await addVehicle(tenant)];
  expect(await equip(tenant.driver, old)).toSucceed(200);
  const id = await carried();
  await moves(tenant.driver, id, "complete");
  expect(await equip(tenant.driver, null)).toSucceed(200);
  expect(await equip(tenant.driver2, old)).toSucceed(200);
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await vehicleOf(id)).toBeNull();
  expect(await equip(tenant.driver, fresh)).toSucceed(200);
  expect(await vehicleOf(id)).toBe(fresh);
  await moves(tenant.driver, id, "complete");
});
