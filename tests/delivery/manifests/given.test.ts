/** The office gives a manifest to another driver, until it has arrived. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newProcessingPoint } from "../../support/make.ts";
import { newManifest } from "../../support/manifests.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { eventsOf } from "../../support/set-destination.ts";

const base = "/delivery/transfer-manifests";
let tenant: Tenant;
let to: Person;
beforeAll(async () => {
  tenant = await newTenant();
  to = await newDriver(tenant);
});

const give = (id: string, driver_id: string, more = {}, person = tenant.ops, headers = {}) =>
  person.patch(`${base}/${id}`, { driver_id, ...more }, { headers });
const noticesOf = async (who: Person, type: string, id: string) =>
  (await who.get("/tenants/me/notifications", { query: { type } })).body.data
    .filter((notice: { payload: { manifest_id: string } }) => notice.payload.manifest_id === id);

test.each(
  [
    ["draft", "pickup", "picked_up"],
    ["picked_up", "depart", "in_transit"],
    ["in_transit", "arrive", "awaiting_receipt"],
  ] as const,
)(
  "one that is %s: the new driver takes the next step, the former no longer sees it",
  async (status, step, next) => {
    const { id, number } = await newManifest(tenant, { status, proof: true });
    expect(await to.get(`${base}/${id}`)).toFailWith(404, "manifest_not_found");
    const answer = await give(id, to.id);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ status, driver_id: to.id, driver: { id: to.id } });
    expect(await give(id, to.id)).toSucceed(200);
    const events = await sql`select payload, actor_id from delivery.transfer_manifest_events
    where manifest_id = ${id} and event_type = 'driver_changed'`;
    expect(events).toMatchObject([{
      payload: { from: tenant.driver.id, to: to.id },
      actor_id: tenant.ops.id,
    }]);
    expect(await noticesOf(to, "manifest_given", id)).toMatchObject([{
      message: `Manifest ${number} was given to you.`,
      payload: { manifest_id: id, manifest_number: number },
    }]);
    expect(await noticesOf(tenant.driver, "manifest_given_to_another", id)).toMatchObject([{
      message: `Manifest ${number}, which was yours, was given to another driver.`,
    }]);
    expect(await tenant.driver.get(`${base}/${id}`)).toFailWith(404, "manifest_not_found");
    // Its parcels may be with them.
    const late = await tenant.driver.post(`${base}/${id}/${step}`, {});
    expect(late).toFailWith(409, "assignment_ended");
    expect(late.body.message).toContain("call the office");
    expect(await tenant.driver2.post(`${base}/${id}/${step}`, {}))
      .toFailWith(404, "manifest_not_found");
    const mine = (await to.get(base)).body.data.map((row: { id: string }) => row.id);
    expect(mine).toContain(id);
    const done = await to.post(`${base}/${id}/${step}`, {});
    expect(done).toSucceed(200);
    expect(done.body.data.status).toBe(next);
    const again = await to.post(`${base}/${id}/${step}`, {});
    expect(again).toFailWith(409, "invalid_status_transition");
    expect(again.body.message).toContain("This was done already.");
  },
);

test("one whose driver has left, and one that nobody drives, by a warehouse as well", async () => {
  const gone = await newDriver(tenant);
  const left = await newManifest(tenant, { status: "in_transit", driver: gone.id });
  expect(await gone.post(`/tenants/${tenant.id}/leave`)).toSucceed(200);
  expect(await give(left.id, to.id, {}, tenant.warehouse)).toSucceed(200);
  expect(await to.post(`${base}/${left.id}/arrive`, {})).toSucceed(200);
  const free = await newManifest(tenant, { status: "draft", driver: null });
  expect(await give(free.id, to.id)).toSucceed(200);
  expect(await noticesOf(to, "manifest_given", free.id)).toHaveLength(1);
});

test("with another processing point in one call, all or nothing", async () => {
  const { id, point } = await newManifest(tenant, { status: "picked_up" });
  const other = await newProcessingPoint(tenant);
  const both = { destination_processing_point_id: other };
  expect(await give(id, randomUUID(), both)).toFailWith(404, "driver_not_found");
  const nowhere = await give(id, to.id, { destination_processing_point_id: randomUUID() });
  expect(nowhere).toFailWith(404, "processing_point_not_found");
  expect(nowhere.body.field).toBe("destination_processing_point_id");
  const [before] = await sql`select processing_point_id, driver_id from delivery.transfer_manifests
    where id = ${id}`;
  expect(before).toEqual({ processing_point_id: point, driver_id: tenant.driver.id });
  const answer = await give(id, to.id, both);
  expect(answer.body.data).toMatchObject({ processing_point_id: other, driver_id: to.id });
  expect(await eventsOf(id)).toMatchObject({ processing_point_changed: 1, driver_changed: 1 });
});

test("not once it has arrived, when the same driver and another point are still taken", async () => {
  for (const status of ["awaiting_receipt", "receiving", "received", "cancelled"] as const) {
    const { id } = await newManifest(tenant, { status });
    expect(await give(id, to.id), status).toFailWith(409, "manifest_action_not_allowed");
  }
  const { id, number } = await newManifest(tenant);
  const refused = await give(id, to.id);
  expect(refused.body.message).toBe(`Manifest ${number} has arrived, so it stays with its driver.`);
  const destination_processing_point_id = await newProcessingPoint(tenant);
  expect(await give(id, tenant.driver.id, { destination_processing_point_id })).toSucceed(200);
});

test("to nobody who is no active driver of the company, and by nobody but the office", async () => {
  const { id } = await newManifest(tenant, { status: "draft" });
  const stranger = await newTenant();
  for (const who of [stranger.driver.id, tenant.ops.id, tenant.institution.id, randomUUID()]) {
    expect(await give(id, who)).toFailWith(404, "driver_not_found");
  }
  const rests = await newDriver(tenant);
  expect(await tenant.ops.patch(`/delivery/drivers/${rests.id}`, { status: "inactive" }))
    .toSucceed(200);
  const shut = await newDriver(tenant);
  expect(await tenant.admin.put(`/tenants/${tenant.id}/users/${shut.id}`, { is_active: false }))
    .toSucceed(200);
  for (const who of [rests, shut]) {
    const refused = await give(id, who.id);
    expect(refused).toFailWith(409, "driver_inactive");
    expect(refused.body.field).toBe("driver_id");
  }
  for (const who of [tenant.driver, tenant.institution, tenant.customer, tenant.staff]) {
    expect(await give(id, to.id, {}, who)).toFailWith(403, "forbidden");
  }
  expect(await give(id, to.id, {}, nobody)).toFailWith(401, "unauthorized");
  expect(await give(id, stranger.driver.id, {}, stranger.ops))
    .toFailWith(404, "manifest_not_found");
  expect(await give(id, "somebody")).toFailWith(400, "invalid_uuid");
  const nothing = await tenant.ops.patch(`${base}/${id}`, {});
  expect(nothing).toFailWith(400, "validation_failed");
  expect(nothing.body.field).toBe("destination_processing_point_id");
  expect(await give(id, to.id, {}, tenant.ops, { "if-match": '"1"' }))
    .toFailWith(412, "version_conflict");
  expect(await eventsOf(id)).not.toHaveProperty("driver_changed");
});

test("of that and the arrival at the same moment one is", async () => {
  for (let round = 0; round < 5; round++) {
    const { id } = await newManifest(tenant, { status: "in_transit", proof: true });
    const [given, arrived] = await Promise.all([
      give(id, to.id),
      tenant.driver.post(`${base}/${id}/arrive`, {}),
    ]);
    if (given.status === 200) expect(arrived).toFailWith(409, "assignment_ended");
    else {
      expect(given).toFailWith(409, "manifest_action_not_allowed");
      expect(arrived).toSucceed(200);
    }
  }
});
