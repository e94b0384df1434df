import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, type Ground, moves, newDelivery, newGround } from "../../support/deliveries.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { listedDriver } from "../../support/fleet.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";

const path = "/delivery/drivers/me/duty";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  ground = await newGround(tenant);
});

const dutyEvents = async (driver: string) =>
  (await sql`select event_data ->> 'on_duty' as on from integration.system_events
    where tenant_id = ${tenant.id} and event_type = 'driver.duty_changed' and entity_id = ${driver}
    order by created_at`).map(({ on }) => on);

test("is the driver's own, or the office's to change; nobody else's", async () => {
  const body = { on_duty: true };
  await expectGuarded({ method: "POST", path, body }, {
    denied: [tenant.customer, tenant.institution, tenant.warehouse, tenant.staff],
  });
  // The office names whose: its own people drive nothing.
  expect(await tenant.ops.post(path, body)).toFailWith(403, "forbidden");
  await expectRefused(tenant.driver, { method: "POST", path }, [
    [{}, "on_duty"],
    [{ on_duty: "yes" }, "on_duty"],
    [{ on_duty: true, keep_parcels: 1 }, "keep_parcels"],
  ]);
  await expectRefused(tenant.ops, { method: "POST", path }, [
    [{ on_duty: true, driver_id: "x" }, "driver_id", "invalid_uuid"],
  ]);
});

test("shows the driver with duty, sign of life and place, and says each change once", async () => {
  const driver = await newDriver(tenant);
  const on = await driver.post(path, { on_duty: true });
  expect(on).toSucceed(200);
  expect(on.body.data.driver).toMatchObject({
    id: driver.id,
    on_duty: true,
    is_online: true,
    last_position: null,
  });
  expect(on.body.data.driver.last_heartbeat_at).toBeTruthy();
  await driver.post(path, { on_duty: true });
  const off = await driver.post(path, { on_duty: false });
  expect(off.body.data.driver).toMatchObject({ on_duty: false, is_online: false });
  expect(await dutyEvents(driver.id)).toEqual(["true", "false"]);
});

test("ends when the driver is given a rest, is shut out or leaves, and does not come back by itself", async () => {
  const rested = await newDriver(tenant);
  const shut = await newDriver(tenant);
  const gone = await newDriver(tenant);
  for (const driver of [rested, shut, gone]) await driver.post(path, { on_duty: true });
  const users = `/tenants/${tenant.id}/users`;
  expect(await tenant.ops.patch(`/delivery/drivers/${rested.id}`, { status: "inactive" }))
    .toSucceed(200);
  expect(await tenant.admin.post(`${users}/${shut.id}/deactivate`)).toSucceed(200);
  expect(await gone.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
  expect(await tenant.ops.patch(`/delivery/drivers/${rested.id}`, { status: "active" }))
    .toSucceed(200);
  expect(await tenant.admin.put(`${users}/${shut.id}`, { is_active: true })).toSucceed(200);
  for (const { id } of [rested, shut, gone]) {
    expect(await listedDriver(tenant, id)).toMatchObject({ on_duty: false, is_online: false });
    expect(await dutyEvents(id)).toEqual(["true", "false"]);
  }
});

test("a driver changes nobody else's", async () => {
  const [one, two] = [await newDriver(tenant), await newDriver(tenant)];
  expect(await one.post(path, { on_duty: true, driver_id: two.id })).toFailWith(403, "forbidden");
  expect(await one.post(path, { on_duty: true, driver_id: one.id })).toSucceed(200);
  expect(await dutyEvents(two.id)).toEqual([]);
});

test("the office changes it for a driver of its own tenant, which is no sign of life", async () => {
  const driver = await newDriver(tenant);
  const answer = await tenant.dispatcher.post(path, { on_duty: true, driver_id: driver.id });
  expect(answer).toSucceed(200);
  expect(answer.body.data.driver).toMatchObject({
    id: driver.id,
    on_duty: true,
    is_online: false,
    last_heartbeat_at: null,
  });
  for (const driver_id of [randomUUID(), other.driver.id, tenant.customer.id]) {
    expect(await tenant.ops.post(path, { on_duty: true, driver_id })).toFailWith(
      404,
      "driver_not_found",
    );
  }
});

test("an inactive driver does not go on duty", async () => {
  const driver = await newDriver(tenant);
  await sql`update delivery.drivers set status = 'inactive' where user_id = ${driver.id}`;
  expect(await tenant.ops.post(path, { on_duty: true, driver_id: driver.id })).toFailWith(
    409,
    "driver_inactive",
  );
});

describe("parcels in hand", () => {
  test("keep a driver on duty until they are delivered, or the driver says to keep them", async () => {
    const driver = await newDriver(tenant);
    await driver.post(path, { on_duty: true });
    const [held, waiting] = [await newDelivery(ground), await newDelivery(ground)];
    await assign(tenant, held.id, driver);
    await assign(tenant, waiting.id, driver);
    await moves(driver, held.id, "pickup");
    const refused = await driver.post(path, { on_duty: false });
    expect(refused).toFailWith(409, "driver_has_parcels");
    expect(refused.body.delivery_codes).toEqual([held.delivery_code]);
    expect(refused.body.message).toMatch(/^You still have parcels: \d+\./);

    const kept = await driver.post(path, { on_duty: false, keep_parcels: true });
    expect(kept.body.data.driver.on_duty).toBe(false);
    await driver.post(path, { on_duty: true });
    await moves(driver, held.id, "depart", "fail");
    expect(await driver.post(path, { on_duty: false })).toFailWith(409, "driver_has_parcels");
    await moves(tenant.ops, held.id, ["retry", { override_reason: "called" }]);
    await moves(driver, held.id, "complete");
    expect(await driver.post(path, { on_duty: false })).toSucceed(200);
  });
});

test("a parcel that waits for its new driver's answer is in the hands of the one who gives it", async () => {
  const [from, to] = [await newDriver(tenant), await newDriver(tenant)];
  for (const driver of [from, to]) await driver.post(path, { on_duty: true });
  const { id, delivery_code } = await newDelivery(ground);
  await assign(tenant, id, from);
  await moves(from, id, "pickup");
  const given = await handOver(tenant.ops, from, to, [id]);
  expect(given).toSucceed(201);
  const refused = await from.post(path, { on_duty: false });
  expect(refused).toFailWith(409, "driver_has_parcels");
  expect(refused.body.delivery_codes).toEqual([delivery_code]);
  expect(await to.post(path, { on_duty: false })).toSucceed(200);
  const bulk = `/delivery/assignments/bulk/${given.body.bulk_assignment_id}`;
  expect(await to.put(bulk, { status: "accepted" })).toSucceed(200);
  expect(await from.post(path, { on_duty: false })).toSucceed(200);
  await to.post(path, { on_duty: true });
  expect(await to.post(path, { on_duty: false })).toFailWith(409, "driver_has_parcels");
});

test("online is who was heard of within the tenant's threshold, at the moment of reading", async () => {
  const [heard, silent] = [await newDriver(tenant), await newDriver(tenant)];
  await heard.post(path, { on_duty: true });
  await silent.post(path, { on_duty: true });
  await sql`update delivery.driver_presence set last_heartbeat_at = now() - interval '100 seconds'
    where driver_id = ${silent.id}`;
  const online = async () =>
    (await tenant.ops.get("/delivery/drivers?is_online=true&limit=100")).body.data
      .map(({ id }: { id: string }) => id);
  expect(await online()).toEqual(expect.arrayContaining([heard.id, silent.id]));
  await saveSettings(tenant.id, "general.user_settings", { offline_threshold_seconds: 60 });
  expect(await online()).toContain(heard.id);
  expect(await online()).not.toContain(silent.id);
  await saveSettings(tenant.id, "general.user_settings", { offline_threshold_seconds: 120 });
});
