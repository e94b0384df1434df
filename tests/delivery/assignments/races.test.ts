import { beforeAll, describe, expect, test } from "vitest";
import { size } from "../../prove/proof.ts";
import type { Person } from "../../support/api.ts";
import {
  newDeliveries,
  newDelivery,
  newDriver,
  newStaged,
  statusOf,
} from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { assignWithin, overlapping } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { tally } from "../../support/races.ts";

const path = "/delivery/assignments";
let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

/** The invariants: at most one open assignment for each delivery, and a load that equals its sum. */
async function expectSound(ids: string[]) {
  const live = await sql`select delivery_id, count(*)::int as n from delivery.assignments
    where delivery_id in ${sql(ids)} and status in ('pending', 'assigned', 'accepted')
    group by delivery_id having count(*) > 1`;
  expect(live).toEqual([]);
  const states = await sql`select d.id from delivery.deliveries d
    where d.id in ${sql(ids)} and (d.status in ('assigned', 'accepted')) <> exists (
      select from delivery.assignments a where a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted'))`;
  expect(states).toEqual([]);
  const loads = await sql`select d.user_id, d.capacity_used, v.unit_capacity from delivery.drivers d
    left join delivery.vehicles v on v.id = d.vehicle_id
    where d.tenant_id = ${tenant.id} and (d.capacity_used > coalesce(v.unit_capacity, 0) or d.capacity_used <> (
      select coalesce(sum(a.units), 0) from delivery.assignments a
      where a.driver_id = d.user_id and a.status in ('pending', 'assigned', 'accepted')))`;
  expect(loads).toEqual([]);
}

const deadlocks = async () =>
  Number(
    (await sql`select deadlocks from pg_stat_database where datname = current_database()`)[0]
      .deadlocks,
  );

describe("at the same moment", () => {
  test("of two assignments that fill one van, the second sees the capacity used by the first", async () => {
    const driver = await newDriver(tenant, { capacity: 1 });
    const [first, second] = await newDeliveries(tenant, 2);
    const answer = await overlapping(
      (office) => assignWithin(office, tenant, first, driver.id),
      () => tenant.ops.post(path, { delivery_id: second, driver_id: driver.id }),
    );
    expect(answer).toFailWith(409, "insufficient_vehicle_capacity");
    await expectSound([first, second]);
  });

  test("fifty dispatchers and the same fifty deliveries: each ends with one driver, no van too full, no deadlock", async () => {
    const before = await deadlocks();
    const drivers = await Promise.all(
      Array.from({ length: 5 }, () => newDriver(tenant, { capacity: 8 })),
    );
    const staged = await Promise.all(Array.from({ length: 10 }, () => newStaged(tenant)));
    const plain = await newDeliveries(tenant, 40);
    const ids = [...staged.map(({ parent }) => parent), ...plain];
    // Each dispatcher begins elsewhere; some take one, some five at once, some in the opposite order.
    const answers = await Promise.all(Array.from({ length: 50 }, (_, who) => {
      const driver_id = drivers[who % 5].id;
      const at = (who * 7) % 50;
      if (who % 2) return tenant.ops.post(path, { delivery_id: ids[at], driver_id });
      const some = Array.from({ length: 5 }, (_, i) => ids[(at + i * 3) % 50]);
      return tenant.dispatcher.post(`${path}/bulk`, {
        driver_id,
        delivery_ids: who % 4 ? some : some.reverse(),
      });
    }));
    const counts = tally(answers);
    expect(
      Object.keys(counts).filter((key) =>
        !/^201$|^409 (delivery_already_assigned|insufficient_vehicle_capacity)$/.test(key)
      ),
    ).toEqual([]);
    expect(counts["201"]).toBeGreaterThan(0);
    await expectSound([...plain, ...staged.map(({ a }) => a)]);
    // Then all fifty by everybody, one after the other per dispatcher: whatever is left finds a place or none.
    await Promise.all(drivers.map(async (driver) => {
      for (const delivery_id of ids) {
        const answer = await tenant.ops.post(path, { delivery_id, driver_id: driver.id });
        if (size === "brief" && answer.body.code === "insufficient_vehicle_capacity") break;
      }
    }));
    await expectSound([...plain, ...staged.map(({ a }) => a)]);
    const [{ n }] = await sql`select count(*)::int as n from delivery.assignments a
      where a.driver_id in ${sql(drivers.map(({ id }) => id))}`;
    expect(n).toBe(40);
    expect(await deadlocks()).toBe(before);
  });

  test("forty concurrent bulks of other deliveries for one driver all succeed", async () => {
    const driver = await newDriver(tenant, { capacity: 1_000 });
    const ids = await newDeliveries(tenant, 200);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, who) =>
        tenant.ops.post(`${path}/bulk`, {
          driver_id: driver.id,
          delivery_ids: ids.slice(who * 5, who * 5 + 5),
        })),
    );
    expect(tally(answers)).toEqual({ "201": 40 });
    await expectSound(ids);
  });

  test("fifty times the same bulk: one has it", async () => {
    const drivers = await Promise.all(Array.from({ length: 5 }, () => newDriver(tenant)));
    const ids = await newDeliveries(tenant, 50);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, who) =>
        tenant.ops.post(`${path}/bulk`, {
          driver_id: drivers[who % 5].id,
          delivery_ids: who % 2 ? ids : [...ids].reverse(),
        })),
    );
    expect(tally(answers)).toEqual({ "201": 1, "409 delivery_already_assigned": 49 });
    await expectSound(ids);
  });

  async function given(driver: Person): Promise<{ id: string; delivery: string }> {
    const delivery = (await newStaged(tenant)).a;
    const answer = await tenant.ops.post(path, { delivery_id: delivery, driver_id: driver.id });
    return { id: answer.body.id, delivery };
  }

  test("yes and no from two phones: one of them counts", async () => {
    const driver = await newDriver(tenant);
    for (let round = 0; round < 6; round++) {
      const { id, delivery } = await given(driver);
      const answers = await Promise.all(
        ["accepted", "rejected"].map((status) => driver.put(`${path}/${id}`, { status })),
      );
      expect(tally(answers)).toEqual({ "200": 1, "409 assignment_not_pending": 1 });
      const accepted = answers[0].status === 200;
      expect(await statusOf(delivery)).toBe(accepted ? "accepted" : "pending");
      await expectSound([delivery]);
    }
  });

  test("a yes and taking it back: the row ends returned or the yes came too late, nothing between", async () => {
    const driver = await newDriver(tenant);
    for (let round = 0; round < 6; round++) {
      const { id, delivery } = await given(driver);
      const [said, taken] = await Promise.all([
        driver.put(`${path}/${id}`, { status: "accepted" }),
        tenant.ops.post(`${path}/${id}/unassign`),
      ]);
      expect(taken.status).toBe(200);
      expect([200, 409]).toContain(said.status);
      expect(await statusOf(delivery)).toBe("pending");
      await expectSound([delivery]);
    }
  });

  test("a yes to a bulk and handing the list over: the new driver has all of it either way", async () => {
    for (let round = 0; round < 4; round++) {
      const [from, to] = [await newDriver(tenant), await newDriver(tenant)];
      const ids = [...await newDeliveries(tenant, 4), (await newStaged(tenant)).a];
      const bulk = await tenant.ops.post(`${path}/bulk`, { driver_id: from.id, delivery_ids: ids });
      const [said, moved] = await Promise.all([
        from.put(`${path}/bulk/${bulk.body.bulk_assignment_id}`, { status: "accepted" }),
        tenant.ops.post(`${path}/driver/${from.id}/hand-over`, { to_driver_id: to.id }),
      ]);
      expect(moved).toSucceed(201);
      expect([200, 409]).toContain(said.status);
      const rows = await sql`select driver_id, status from delivery.assignments
        where delivery_id in ${sql(ids)} and status <> 'returned'`;
      expect(rows.map((row) => [row.driver_id, row.status])).toEqual(
        Array(5).fill([to.id, "pending"]),
      );
      await expectSound(ids);
    }
  });

  test("two drivers handing their lists to each other: no deadlock, nothing lost", async () => {
    const before = await deadlocks();
    const [one, two] = [await newDriver(tenant), await newDriver(tenant)];
    const [mine, theirs] = [await newDeliveries(tenant, 5), await newDeliveries(tenant, 5)];
    await tenant.ops.post(`${path}/bulk`, { driver_id: one.id, delivery_ids: mine });
    await tenant.ops.post(`${path}/bulk`, { driver_id: two.id, delivery_ids: theirs });
    const swap = (from: Person, to: Person) =>
      tenant.ops.post(`${path}/driver/${from.id}/hand-over`, { to_driver_id: to.id });
    const answers = await Promise.all([swap(one, two), swap(two, one), swap(one, two)]);
    for (const { status } of answers) expect([201, 409]).toContain(status);
    await expectSound([...mine, ...theirs]);
    const [{ n }] = await sql`select count(*)::int as n from delivery.assignments
      where delivery_id in ${sql([...mine, ...theirs])} and status = 'pending'`;
    expect(n).toBe(10);
    expect(await deadlocks()).toBe(before);
  });

  test("a row of a bulk answered from two sides leaves the bulk's row right", async () => {
    const driver = await newDriver(tenant);
    const ids = await newDeliveries(tenant, 6);
    const bulk = await tenant.ops.post(`${path}/bulk`, { driver_id: driver.id, delivery_ids: ids });
    const rows: string[] = bulk.body.assignment_ids;
    await Promise.all(
      rows.map((id, i) => driver.put(`${path}/${id}`, { status: i % 2 ? "accepted" : "rejected" })),
    );
    const [row] = await sql`select assignment_status from public.delivery_realtime_assignments
      where bulk_assignment_id = ${bulk.body.bulk_assignment_id}`;
    expect(row.assignment_status).toBe("accepted");
    await expectSound(ids);
  });

  test("an assignment and a cancellation of the delivery's wait: never both", async () => {
    const driver = await newDriver(tenant);
    for (let round = 0; round < 5; round++) {
      const delivery = await newDelivery(tenant);
      const [answer] = await Promise.all([
        tenant.ops.post(path, { delivery_id: delivery, driver_id: driver.id }),
        sql`update delivery.deliveries set status = 'cancelled'
          where id = ${delivery} and status = 'pending'`,
      ]);
      if (answer.status !== 201) expect(answer).toFailWith(409, "delivery_status_changed");
      await expectSound([delivery]);
    }
  });
});
