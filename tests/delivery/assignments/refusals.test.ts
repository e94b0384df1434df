/** Obstacles to an assignment: the delivery's state, the driver, the vehicle, the zones. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import {
  equip,
  move,
  newDelivery,
  newDriver,
  newStaged,
  rowsOf,
  statusOf,
} from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newZone, square } from "../../support/zones.ts";

const path = "/delivery/assignments";
const bulkPath = `${path}/bulk`;
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
  await equip(tenant, tenant.driver.id, { capacity: 10_000 });
});

const assign = (body: Record<string, unknown>) => tenant.ops.post(path, body);

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

  test("a leg out of the warehouse that is not picked", async () => {
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
    // While they carry something with it, it is nobody else's; they may load more.
    const more = { delivery_id: await newDelivery(tenant), vehicle_id: free.id };
    expect(await assign({ ...more, driver_id: theirs.id })).toFailWith(409, "driver_vehicle_taken");
    expect(await assign({ ...more, driver_id: mine.id })).toSucceed(201);
    for (const id of [delivery_id, more.delivery_id]) {
      await tenant.ops.post(`${path}/${(await rowsOf(id))[0].id}/unassign`);
    }
    expect(await assign({ ...more, driver_id: theirs.id })).toSucceed(201);
  });

  test("of two drivers who are given a free vehicle at once, one gets it", async () => {
    for (let round = 0; round < 4; round++) {
      const [one, two] = [await newDriver(tenant), await newDriver(tenant)];
      const [{ id: vehicle_id }] =
        await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity)
        values (${tenant.id}, 'Free', 9) returning id`;
      const deliveries = [await newDelivery(tenant), await newDelivery(tenant)];
      const answers = await Promise.all(
        [one, two].map((driver, index) =>
          assign({ delivery_id: deliveries[index], driver_id: driver.id, vehicle_id })
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
      expect(answers.find(({ status }) => status === 409)!.body.code).toBe("driver_vehicle_taken");
    }
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

  test("a driver delivers in the zones they are mapped to, or everywhere", async () => {
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

  test("a delivery without a drop-off zone is refused, also for a driver of all zones", async () => {
    const nowhere = await newAddress(tenant, { longitude: null, latitude: null });
    const delivery_id = await newDelivery(tenant, { dropoff_address_id: nowhere });
    const driver_id = tenant.driver.id;
    const one = await assign({ delivery_id, driver_id });
    expect(one).toFailWith(400, "delivery_zone_validation_unavailable");
    expect(one.body.message).toMatch(/^The dropoff address has neither .* coordinates, then/);
    const from = await newDelivery(tenant, { pickup_address_id: nowhere });
    expect((await assign({ delivery_id: from, driver_id })).body.message).toMatch(/^The pickup/);
    const both = { driver_id, delivery_ids: [from, delivery_id] };
    expect((await tenant.ops.post(bulkPath, both)).body.message).toMatch(/^Pickup and dropoff/);
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
    const { refusal, rows } = await assignedWhileZonesAre(
      "(1 / (d.delivery_code - d.delivery_code))::text::uuid",
      delivery_id,
    );
    expect(refusal).toMatchObject({ code: "RULE0", message: "internal_server_error" });
    expect(rows).toBe(0);
    expect(await statusOf(delivery_id)).toBe("pending");
  });

  test.each([
    ["a deadlock", "40P01"],
    ["a lock that is waited for too long", "55P03"],
    ["a server that stops", "57P01"],
  ])(
    "%s at the view is passed on, and the call may be repeated",
    async (_, code) => {
      const { refusal, rows } = await assignedWhileZonesAre(
        "public.passing_failure()",
        await newDelivery(tenant),
        `create function public.passing_failure() returns uuid language plpgsql set search_path = '' as
        $$ begin raise 'meanwhile' using errcode = '${code}'; end $$`,
      );
      expect(refusal).toMatchObject({ code });
      expect(rows).toBe(0);
    },
  );
});

/** The answer of an assignment, and the rows it leaves, while the view takes the drop-off zone from this expression. */
async function assignedWhileZonesAre(zone: string, delivery_id: string, first = "select") {
  const outcome = await sql.begin(async (tx) => {
    await tx.unsafe(first);
    await tx.unsafe(
      `create or replace view delivery.delivery_zone_context with (security_invoker = true) as
        select d.id as delivery_id, d.pickup_zone_id, ${zone} as dropoff_zone_id, d.tenant_id
        from delivery.deliveries d`,
    );
    const claims = { sub: tenant.ops.id, tenant_id: tenant.id, tenant_mode: "required" };
    const refusal = await tx.savepoint((inner) =>
      inner`select private.call(${inner.json({ ...claims, request_id: "r", operation: "o" })},
          ${inner.json({ access: ["permission:manage:operations:tenant"] })},
          'delivery.assignment_create', ${
        inner.json({ delivery_id, driver_id: tenant.driver.id })
      })`
    ).catch((error) => error);
    await tx`reset role`;
    const rows = await tx`select from delivery.assignments where delivery_id = ${delivery_id}`;
    throw Object.assign(new Error("undo"), { refusal, rows: rows.length });
  }).catch((error) => error);
  return outcome as { refusal: unknown; rows: number };
}
