import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import {
  equip,
  move,
  newDeliveries,
  newDelivery,
  newDriver,
  newStaged,
  rowsOf,
  statusOf,
  usedBy,
} from "../support/assignments.ts";
import { sql } from "../support/db.ts";
import { newAddress } from "../support/make.ts";
import { newTenant, saveSettings, type Tenant } from "../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../support/promises.ts";
import { newZone, square } from "../support/zones.ts";

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
  test("gives it to the driver: a row that waits, a delivery assigned, his load, what his app hears", async () => {
    const driver = await newDriver(tenant, { capacity: 5 });
    const delivery_id = await newDelivery(tenant, { unit_size: 2 });
    const answer = await tenant.dispatcher.post(path, {
      delivery_id,
      driver_id: driver.id,
      estimated_pickup_time: "2026-12-01T08:00:00Z",
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
    const [a, b, c] = await newDeliveries(tenant, 3);
    await assign({ delivery_id: a, driver_id: driver.id, sequence_number: 7 });
    await assign({ delivery_id: b, driver_id: driver.id });
    await tenant.ops.post(bulkPath, { driver_id: driver.id, delivery_ids: [c] });
    const rows = await sql`select sequence_number from delivery.assignments
      where driver_id = ${driver.id} order by assignment_time`;
    expect(rows.map((row) => row.sequence_number)).toEqual([7, 8, 9]);
  });
});

describe("what keeps a delivery from being assigned", () => {
  const cases: [code: string, status: number, columns: Record<string, unknown>][] = [
    ["delivery_carrier_not_internal", 400, { carrier_type: "external" }],
    ["delivery_status_changed", 409, { status: "draft" }],
    ["delivery_status_changed", 409, { status: "delivered" }],
    ["delivery_status_changed", 409, { status: "cancelled" }],
  ];
  test.each(cases)("%s (%i) for %o", async (code, status, columns) => {
    const delivery_id = await newDelivery(tenant, columns);
    const driver_id = tenant.driver.id;
    const answer = await assign({ delivery_id, driver_id });
    expect(answer).toFailWith(status, code);
    expect(answer.body).toMatchObject({ field: "delivery_id", delivery_ids: [delivery_id] });
    const bulk = await tenant.ops.post(bulkPath, { driver_id, delivery_ids: [delivery_id] });
    expect(bulk).toFailWith(status, code);
    expect(bulk.body.field).toBe("delivery_ids");
    expect(await rowsOf(delivery_id)).toEqual([]);
  });

  test("a second driver, and one that is on the way", async () => {
    const delivery_id = await newDelivery(tenant);
    const driver_id = tenant.driver.id;
    expect(await assign({ delivery_id, driver_id })).toSucceed(201);
    expect(await assign({ delivery_id, driver_id })).toFailWith(409, "delivery_already_assigned");
    await move(delivery_id, "picked_up");
    expect(await assign({ delivery_id, driver_id })).toFailWith(409, "delivery_already_assigned");
  });

  test("an open exception of its own, or of its parcel", async () => {
    const open = async (id: string) =>
      await sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type)
      values (${tenant.id}, ${id}, 'damaged')`;
    const delivery_id = await newDelivery(tenant);
    await open(delivery_id);
    const driver_id = tenant.driver.id;
    expect(await assign({ delivery_id, driver_id })).toFailWith(409, "delivery_has_open_exception");
    const staged = await newStaged(tenant);
    await open(staged.parent);
    expect(await assign({ delivery_id: staged.parent, driver_id }))
      .toFailWith(409, "parent_exception_open");
  });

  test("a leg out of the warehouse that nobody has picked", async () => {
    const { b } = await newStaged(tenant, ["delivered", "pending"]);
    expect(await assign({ delivery_id: b, driver_id: tenant.driver.id }))
      .toFailWith(409, "warehouse_preparation_inconsistent");
  });

  test("the driver: unknown, inactive, without a vehicle, or with one that is full", async () => {
    const delivery_id = await newDelivery(tenant, { unit_size: 3 });
    expect(await assign({ delivery_id, driver_id: randomUUID() }))
      .toFailWith(404, "driver_not_found");
    const resting = await newDriver(tenant);
    await sql`update delivery.drivers set status = 'inactive' where user_id = ${resting.id}`;
    expect(await assign({ delivery_id, driver_id: resting.id })).toFailWith(
      409,
      "driver_not_active",
    );
    const gone = await newDriver(tenant);
    await sql`update tenancy.tenant_users set is_active = false where user_id = ${gone.id}`;
    expect(await assign({ delivery_id, driver_id: gone.id })).toFailWith(409, "driver_not_active");
    const walking = await newDriver(tenant, { capacity: null });
    expect(await assign({ delivery_id, driver_id: walking.id }))
      .toFailWith(409, "driver_has_no_vehicle");
    const small = await newDriver(tenant, { capacity: 2.5 });
    const full = await assign({ delivery_id, driver_id: small.id });
    expect(full).toFailWith(409, "insufficient_vehicle_capacity");
    expect(full.body).toMatchObject({ capacity: 2.5, used: 0 });
    expect(await statusOf(delivery_id)).toBe("pending");
  });

  test("a vehicle that is another's, out of use or unknown; a free one may be named", async () => {
    const [mine, theirs] = [await newDriver(tenant), await newDriver(tenant)];
    const [{ vehicle_id: taken }] =
      await sql`select vehicle_id from delivery.drivers where user_id = ${theirs.id}`;
    const delivery_id = await newDelivery(tenant);
    const using = (vehicle_id: string) => assign({ delivery_id, driver_id: mine.id, vehicle_id });
    expect(await using(taken)).toFailWith(409, "driver_vehicle_taken");
    expect(await using(randomUUID())).toFailWith(404, "vehicle_not_found");
    const [free] =
      await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity, is_active)
      values (${tenant.id}, 'Free', 9, false) returning id`;
    expect(await using(free.id)).toFailWith(409, "vehicle_inactive");
    await sql`update delivery.vehicles set is_active = true where id = ${free.id}`;
    expect(await using(free.id)).toSucceed(201);
    expect((await rowsOf(delivery_id))[0].vehicle_id).toBe(free.id);
  });
});

describe("zones", () => {
  let from: string;
  let to: string;
  let zones: { pickup: string; dropoff: string };
  beforeAll(async () => {
    zones = {
      pickup: await newZone(tenant, square(10, 10, 1)),
      dropoff: await newZone(tenant, square(20, 20, 1)),
    };
    from = await newAddress(tenant, { longitude: 10, latitude: 10 });
    to = await newAddress(tenant, { longitude: 20, latitude: 20 });
  });
  const between = () =>
    newDelivery(tenant, {
      pickup_address_id: from,
      dropoff_address_id: to,
      pickup_zone_id: zones.pickup,
      dropoff_zone_id: zones.dropoff,
    });

  test("a driver goes where he is mapped to, or everywhere", async () => {
    const delivery_id = await between();
    const of = async (list: string[]) => (await newDriver(tenant, { zones: list })).id;
    const refused = async (list: string[], code: string) => {
      const answer = await assign({ delivery_id, driver_id: await of(list) });
      expect(answer).toFailWith(400, code);
      return answer.body.missing_zones;
    };
    expect(await refused([zones.dropoff], "driver_not_allowed_in_pickup_zone"))
      .toEqual([zones.pickup]);
    expect(await refused([zones.pickup], "driver_not_allowed_in_delivery_zone"))
      .toEqual([zones.dropoff]);
    expect((await refused([], "driver_not_allowed_in_zones")).sort())
      .toEqual([zones.pickup, zones.dropoff].sort());
    const one = await of([zones.pickup]);
    const bulk = await tenant.ops.post(bulkPath, { driver_id: one, delivery_ids: [delivery_id] });
    expect(bulk).toFailWith(400, "driver_not_allowed_in_zones");
    expect(bulk.body.missing_zones).toEqual([zones.dropoff]);
    const both = await of([zones.pickup, zones.dropoff]);
    expect(await assign({ delivery_id, driver_id: both })).toSucceed(201);
    expect(await assign({ delivery_id: await between(), driver_id: tenant.driver.id }))
      .toSucceed(201);
  });

  test("a delivery of which nobody knows where it leads cannot be judged, also for a driver of all zones", async () => {
    const nowhere = await newAddress(tenant, { longitude: null, latitude: null });
    const delivery_id = await newDelivery(tenant, { dropoff_address_id: nowhere });
    const driver_id = tenant.driver.id;
    expect(await assign({ delivery_id, driver_id }))
      .toFailWith(400, "delivery_zone_validation_unavailable");
    const bulk = await tenant.ops.post(bulkPath, {
      driver_id,
      delivery_ids: [await newDelivery(tenant), delivery_id],
    });
    expect(bulk).toFailWith(400, "deliveries_zone_context_incomplete");
    expect(bulk.body.delivery_ids).toEqual([delivery_id]);
    expect(bulk.body.message).toContain(delivery_id);
  });

  test("a view that fails is our fault, whatever PostgreSQL calls it, and nothing is written", async () => {
    const delivery_id = await newDelivery(tenant);
    const outcome = await sql.begin(async (tx) => {
      await tx.unsafe(
        `create or replace view delivery.delivery_zone_context with (security_invoker = true) as
        select d.id as delivery_id, d.pickup_zone_id, (1 / (d.delivery_code - d.delivery_code))::text::uuid as dropoff_zone_id
        from delivery.deliveries d`,
      );
      const claims = { sub: tenant.ops.id, tenant_id: tenant.id, tenant_mode: "required" };
      const refusal = await tx.savepoint((inner) =>
        inner`select private.call(${inner.json({ ...claims, request_id: "r", operation: "o" })},
          ${
          inner.json({ access: ["permission:manage:operations:tenant"] })
        }, 'delivery.assignment_create',
          ${inner.json({ delivery_id, driver_id: tenant.driver.id })})`
      ).catch((error) => error);
      await tx`reset role`;
      const rows = await tx`select from delivery.assignments where delivery_id = ${delivery_id}`;
      throw Object.assign(new Error("undo"), { refusal, rows: rows.length });
    }).catch((error) => error);
    expect(outcome.refusal).toMatchObject({ code: "RULE0", message: "internal_server_error" });
    expect(outcome.rows).toBe(0);
    expect(await statusOf(delivery_id)).toBe("pending");
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
      [{}, "delivery_id", "invalid_uuid"],
      [{ ...good, delivery_id: "no-id" }, "delivery_id", "invalid_uuid"],
      [{ ...good, driver_id: "\u0000" }, "driver_id", "invalid_uuid"],
      [{ ...good, estimated_pickup_time: "soon" }, "estimated_pickup_time"],
      [{ ...good, estimated_pickup_time: "2026-02-30T00:00:00Z" }, "estimated_pickup_time"],
      [{ ...good, sequence_number: 0 }, "sequence_number"],
      [{ ...good, sequence_number: "1" }, "sequence_number"],
      [{ ...good, notes: "x".repeat(2001) }, "notes"],
    ]);
    await expectRefused(tenant.ops, { method: "POST", path: bulkPath }, [
      [{ delivery_ids: [delivery_id] }, "driver_id", "invalid_uuid"],
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
