/** A driver's answer to a bulk of which something was taken away before it was given. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { newDeliveries, newDriver, rowsOf, statusOf, usedBy } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/assignments";
let tenant: Tenant;
let driver: Person;
let next: Person;

beforeAll(async () => {
  tenant = await newTenant();
  next = await newDriver(tenant);
});

async function bulkOf(count: number) {
  driver = await newDriver(tenant);
  const ids = await newDeliveries(tenant, count, { unit_size: 2 });
  const made = await tenant.ops.post(`${path}/bulk`, { delivery_ids: ids, driver_id: driver.id });
  expect(made).toSucceed(201);
  return { ids, bulk: made.body.bulk_assignment_id as string };
}
const answer = (bulk: string, status: string) => driver.put(`${path}/bulk/${bulk}`, { status });
const shown = async (bulk: string) =>
  (await sql`select assignment_status, requires_driver_response, assignment_count, total_units
    from public.delivery_realtime_assignments where bulk_assignment_id = ${bulk}`)[0];

/** The ways in which a delivery leaves a driver who has not answered. */
const ways: Record<string, (delivery: string) => Promise<unknown>> = {
  "was unassigned": async (delivery) =>
    expect(await tenant.ops.post(`${path}/${(await rowsOf(delivery))[0].id}/unassign`))
      .toSucceed(200),
  "was cancelled": async (delivery) =>
    expect(await tenant.ops.post(`/delivery/deliveries/${delivery}/cancel`, { reason: "no" }))
      .toSucceed(200),
  "went to another driver": async (delivery) =>
    expect(
      await tenant.ops.post(`${path}/driver/${driver.id}/hand-over`, {
        to_driver_id: next.id,
        delivery_ids: [delivery],
      }),
    ).toSucceed(),
};

describe.each(Object.keys(ways))("a bulk of which one %s", (way) => {
  test.each(["accepted", "rejected"])("is %s for the rest", async (status) => {
    const { ids: [gone, ...rest], bulk } = await bulkOf(3);
    await ways[way](gone);
    const left = await statusOf(gone);
    expect(await shown(bulk)).toEqual({
      assignment_status: "pending",
      requires_driver_response: true,
      assignment_count: 2,
      total_units: 4,
    });
    for (const _attempt of ["first", "again"]) {
      const given = await answer(bulk, status);
      expect(given).toSucceed(200);
      expect(given.body).toMatchObject({ status, updated_count: 2 });
    }
    for (const id of rest) {
      expect(await statusOf(id)).toBe(status === "accepted" ? "accepted" : "pending");
    }
    expect((await rowsOf(gone))[0])
      .toMatchObject({ driver_id: driver.id, status: "returned", responded_at: null });
    expect(await statusOf(gone)).toBe(left);
    expect(await usedBy(tenant, driver.id)).toBe(status === "accepted" ? 4 : 0);
    expect(await shown(bulk)).toMatchObject({
      assignment_status: status,
      requires_driver_response: false,
    });
    const opposite = status === "accepted" ? "rejected" : "accepted";
    expect(await answer(bulk, opposite)).toFailWith(409, "assignment_not_pending");
  });
});

test("a bulk of which everything was taken has nothing to answer", async () => {
  const { ids, bulk } = await bulkOf(2);
  for (const id of ids) await ways["was unassigned"](id);
  for (const status of ["accepted", "rejected"]) {
    expect(await answer(bulk, status)).toFailWith(409, "assignment_not_pending");
  }
  expect(await shown(bulk)).toMatchObject({
    assignment_status: "returned",
    requires_driver_response: false,
  });
});

test("a single assignment that was cancelled cannot be answered", async () => {
  const { ids: [id] } = await bulkOf(1);
  const [row] = await rowsOf(id);
  await ways["was unassigned"](id);
  expect(await driver.put(`${path}/${row.id}`, { status: "accepted" }))
    .toFailWith(409, "assignment_not_pending");
  expect(await statusOf(id)).toBe("pending");
});
