/** Giving a delivery to a driver, and who may. */
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
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";

const path = "/delivery/assignments";
const bulkPath = `${path}/bulk`;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  await equip(tenant, tenant.driver.id, { capacity: 10_000 });
  await equip(other, other.driver.id);
});

const assign = (body: Record<string, unknown>) => tenant.ops.post(path, body);

describe("assigning one delivery", () => {
  test("assigns it to the driver: a pending row, an assigned delivery, the driver's load and the app's event", async () => {
    const driver = await newDriver(tenant, { capacity: 5 });
    const delivery_id = await newDelivery(tenant, { unit_size: 2 });
    const answer = await tenant.dispatcher.post(path, {
      delivery_id,
      driver_id: driver.id,
      estimated_pickup_time: "2026-12-01T08:00Z",
      estimated_delivery_time: "2026-12-01T09:00:00+03:00",
      notes: "Ring twice",
    });
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      id: expect.any(String),
    });
    const [row] = await rowsOf(delivery_id);
    expect(row).toMatchObject({
      id: answer.body.id,
      driver_id: driver.id,
      status: "pending",
      sequence_number: 1,
      units: 2,
      notes: "Ring twice",
      assigned_by: tenant.dispatcher.id,
      bulk_assignment_id: null,
    });
    expect(row.estimated_pickup_time.toISOString()).toBe("2026-12-01T08:00:00.000Z");
    expect(row.estimated_delivery_time.toISOString()).toBe("2026-12-01T06:00:00.000Z");
    expect(await statusOf(delivery_id)).toBe("assigned");
    expect(await usedBy(tenant, driver.id)).toBe(2);
    const realtime = await sql`select * from public.delivery_realtime_assignments
      where assignment_id = ${row.id}`;
    expect(realtime).toHaveLength(1);
    expect(realtime[0]).toMatchObject({
      driver_id: driver.id,
      assignment_status: "pending",
      requires_driver_response: true,
      is_bulk: false,
      delivery_id,
    });
    const notes = await sql`select type from tenancy.notifications where user_id = ${driver.id}`;
    expect(notes.map(({ type }) => type)).toEqual(["assignment_created"]);
    const events = await sql`select event_type, event_data from integration.system_events
      where entity_id = ${row.id}`;
    expect(events).toMatchObject([{
      event_type: "assignment.created",
      event_data: { driver_id: driver.id, delivery_ids: [delivery_id] },
    }]);
    const audit = await sql`select action from app.audit_log where entity_id = ${row.id}::text`
      .catch(() => null);
    expect(audit === null || audit.length > 0).toBe(true);
  });

  test("asks no answer where the tenant wants none", async () => {
    const plain = await newTenant({
      settings: { "general.driver": { require_accept_or_reject_for_assignments: false } },
    });
    await equip(plain, plain.driver.id);
    const delivery_id = await newDelivery(plain);
    expect(await plain.ops.post(path, { delivery_id, driver_id: plain.driver.id })).toSucceed(201);
    expect((await rowsOf(delivery_id))[0].status).toBe("assigned");
    const [row] =
      await sql`select requires_driver_response from public.delivery_realtime_assignments
      where delivery_id = ${delivery_id}`;
    expect(row.requires_driver_response).toBe(false);
  });

  test("a parent stands for its first leg that is neither over nor a draft", async () => {
    const driver_id = tenant.driver.id;
    const first = await newStaged(tenant);
    const answer = await assign({ delivery_id: first.parent, driver_id });
    expect(answer).toSucceed(201);
    expect(answer.body.resolved_delivery_id).toBe(first.a);
    expect(await rowsOf(first.parent)).toHaveLength(0);
    expect(await statusOf(first.parent)).toBe("assigned");
    const own = await newStaged(tenant);
    expect((await assign({ delivery_id: own.a, driver_id })).body.resolved_delivery_id)
      .toBeUndefined();
    const none = await newStaged(tenant, ["delivered", "draft"]);
    for (const delivery_id of [none.parent, none.b]) {
      expect(await assign({ delivery_id, driver_id })).toFailWith(400, "no_active_child_leg");
    }
    const unstaged = await newDelivery(tenant, { delivery_flow: "pnd_parent" });
    expect(await assign({ delivery_id: unstaged, driver_id }))
      .toFailWith(400, "no_active_child_leg");
  });

  test("a returned assignment stays as it is, and the delivery gets a new one", async () => {
    const delivery_id = await newDelivery(tenant);
    const first = await assign({ delivery_id, driver_id: tenant.driver.id });
    expect(await tenant.ops.post(`${path}/${first.body.id}/unassign`)).toSucceed(200);
    const [before] = await rowsOf(delivery_id);
    const second = await assign({ delivery_id, driver_id: tenant.driver.id });
    expect(second).toSucceed(201);
    const rows = await rowsOf(delivery_id);
    expect(rows.map(({ status }) => status).sort()).toEqual(["pending", "returned"]);
    // Its way may still be measured; nothing else of it changes.
    const kept = (row: typeof before) => ({
      ...row,
      route_details: null,
      updated_at: null,
      changed: null,
    });
    expect(kept(rows.find(({ id }) => id === first.body.id)!)).toEqual(kept(before));
  });

  test("numbers follow the driver's last, unless one is sent", async () => {
    const driver = await newDriver(tenant);
    const [first, a, b, c] = await newDeliveries(tenant, 4);
    await assign({ delivery_id: first, driver_id: driver.id, sequence_number: 0 });
    await assign({ delivery_id: a, driver_id: driver.id, sequence_number: 7 });
    await assign({ delivery_id: b, driver_id: driver.id });
    await tenant.ops.post(bulkPath, { driver_id: driver.id, delivery_ids: [c] });
    const rows = await sql`select sequence_number from delivery.assignments
      where driver_id = ${driver.id} order by assignment_time`;
    expect(rows.map((row) => row.sequence_number)).toEqual([0, 7, 8, 9]);
  });
});

describe("without a driver", () => {
  test("only a manifest's leg into the warehouse goes to the default driver, where the setting says so", async () => {
    const staging = await newTenant();
    await equip(staging, staging.driver.id);
    const plain = await newDelivery(staging);
    const ask = (delivery_id: string) => staging.ops.post(path, { delivery_id });
    expect(await ask(plain)).toFailWith(400, "assignment_driver_required");
    await saveSettings(staging.id, "delivery.transfer_manifest", {
      allow_warehouse_staging_without_assigned_driver: true,
    });
    expect(await ask(plain)).toFailWith(400, "assignment_driver_required");
    await saveSettings(staging.id, "delivery.assignment_change_settings", {
      default_driver_id: staging.driver.id,
    });
    expect(await ask(plain)).toFailWith(400, "assignment_driver_required");
    expect(await ask(randomUUID())).toFailWith(404, "delivery_not_found");
  });
});

describe("the doors", () => {
  test("are for operations", async () => {
    const denied = [tenant.driver, tenant.customer, tenant.institution, tenant.warehouse];
    await expectGuarded({ method: "POST", path }, { denied });
    await expectGuarded({ method: "POST", path: bulkPath }, { denied });
  });

  test("let no wrong input in", async () => {
    const [delivery_id] = await newDeliveries(tenant, 1);
    const good = { delivery_id, driver_id: tenant.driver.id };
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "delivery_id", "validation_failed"],
      [{ ...good, delivery_id: "no-id" }, "delivery_id", "invalid_uuid"],
      [{ ...good, driver_id: "\u0000" }, "driver_id", "invalid_uuid"],
      [{ ...good, estimated_pickup_time: "soon" }, "estimated_pickup_time"],
      ...["2026-02-30T00:00:00Z", "2026-02-30", "2026-12-01T24:00Z"].map((estimated_pickup_time) =>
        [{ ...good, estimated_pickup_time }, "estimated_pickup_time"] as const
      ),
      [{ ...good, sequence_number: -1 }, "sequence_number"],
      [{ ...good, sequence_number: "1" }, "sequence_number"],
      [{ ...good, notes: "x".repeat(2001) }, "notes"],
    ]);
    await expectRefused(tenant.ops, { method: "POST", path: bulkPath }, [
      [{ delivery_ids: [delivery_id] }, "driver_id", "validation_failed"],
      [{ driver_id: tenant.driver.id }, "delivery_ids"],
      [{ driver_id: tenant.driver.id, delivery_ids: [] }, "delivery_ids"],
      [{ driver_id: tenant.driver.id, delivery_ids: ["x"] }, "delivery_ids.0", "invalid_uuid"],
    ]);
    expect(await statusOf(delivery_id)).toBe("pending");
  });

  test("know nothing of another tenant", async () => {
    const [theirs] = await newDeliveries(other, 1);
    const [ours] = await newDeliveries(tenant, 1);
    expect(await assign({ delivery_id: theirs, driver_id: tenant.driver.id }))
      .toFailWith(404, "delivery_not_found");
    expect(await assign({ delivery_id: ours, driver_id: other.driver.id }))
      .toFailWith(404, "driver_not_found");
    expect(await rowsOf(theirs)).toEqual([]);
  });

  test("say it in the caller's language", async () => {
    const ask = (language: "ar" | "ku") =>
      tenant.ops.in(language).post(path, {
        delivery_id: randomUUID(),
        driver_id: tenant.driver.id,
      });
    for (const language of ["ar", "ku"] as const) {
      expect((await ask(language)).body.message).toMatch(/[\u0600-\u06ff]/);
    }
  });

  test("answer a repeated request once", async () => {
    const [one, two] = await newDeliveries(tenant, 2);
    const driver_id = tenant.driver.id;
    await expectReplayed(tenant.ops, path, { delivery_id: one, driver_id }, {
      delivery_id: two,
      driver_id,
    });
    expect(await rowsOf(one)).toHaveLength(1);
    expect(await rowsOf(two)).toHaveLength(0);
  });
});

test("a null is as good as nothing sent", async () => {
  const own = await newTenant();
  const someone = await newDriver(own);
  const [delivery_id, ...others] = await newDeliveries(own, 3);
  const nothing = {
    vehicle_id: null,
    estimated_pickup_time: null,
    estimated_delivery_time: null,
    sequence_number: null,
    notes: null,
  };
  const made = await own.ops.post(path, { delivery_id, driver_id: someone.id, ...nothing });
  expect(made).toSucceed(201);
  expect((await rowsOf(delivery_id))[0]).toMatchObject({
    vehicle_id: expect.any(String),
    sequence_number: 1,
    notes: null,
  });
  expect(await own.ops.post(path, { delivery_id: others[0], driver_id: null }))
    .toFailWith(400, "assignment_driver_required");
  const bulk = { driver_id: someone.id, delivery_ids: others, dry_run: null };
  expect(await own.ops.post(`${path}/bulk`, bulk)).toSucceed(201);
  const answer = { status: "accepted", reason: null };
  expect(await someone.put(`${path}/${made.body.id}`, answer)).toSucceed(200);
  const taken = await own.ops.post(`${path}/${made.body.id}/unassign`, { reason: null });
  expect(taken).toSucceed(200);
  const next = await newDriver(own);
  const moved = await own.ops.post(`${path}/driver/${someone.id}/hand-over`, {
    to_driver_id: next.id,
    delivery_ids: null,
  });
  expect(moved).toSucceed();
  expect(moved.body.count).toBe(2);
});

test("a day is estimated until it ends in the company's time zone", async () => {
  const own = await newTenant({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
  const driver_id = (await newDriver(own)).id;
  const delivery_id = await newDelivery(own);
  const times = {
    estimated_pickup_time: "2037-12-01T10:00",
    estimated_delivery_time: "2037-12-01",
  };
  expect(await own.ops.post(path, { delivery_id, driver_id, ...times })).toSucceed(201);
  const { body } = await own.ops.get(path, { query: { delivery_id } });
  expect(body.assignments[0]).toMatchObject({
    estimated_pickup_time: "2037-12-01T07:00:00+00:00",
    estimated_delivery_time: "2037-12-01T20:59:59.999999+00:00",
  });
});
