import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { equip, newDeliveries, newDelivery } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

const path = "/delivery/assignments";
let tenant: Tenant;
let other: Tenant;
let rows: { id: string; delivery: string; status: string; driver: string }[];
let bulk: string;

const statuses = ["pending", "assigned", "accepted", "rejected", "completed", "returned"];

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  const vehicle = await equip(tenant, tenant.driver.id);
  await equip(tenant, tenant.driver2.id);
  const [made] = await sql`insert into delivery.bulk_assignments
    (tenant_id, driver_id, assignment_count, total_units)
    values (${tenant.id}, ${tenant.driver2.id}, 6, 6) returning id`;
  bulk = made.id;
  rows = [];
  // Two of each status, one of them in the bulk of the second driver.
  for (const [index, status] of [...statuses, ...statuses].entries()) {
    const second = index >= 6;
    const driver = second ? tenant.driver2.id : tenant.driver.id;
    const delivery = await newDelivery(tenant, { external_reference_id: `REF_${index}%` });
    const [row] = await sql`insert into delivery.assignments ${
      sql({
        tenant_id: tenant.id,
        delivery_id: delivery,
        driver_id: driver,
        vehicle_id: second ? null : vehicle,
        bulk_assignment_id: second ? bulk : null,
        status,
        units: 1,
        assigned_by: tenant.ops.id,
        assignment_time: new Date(Date.UTC(2026, 0, 1 + index)),
      } as never)
    } returning id`;
    rows.push({ id: row.id, delivery, status, driver });
  }
});

async function list(query: Record<string, string | number | object> = {}, by = tenant.ops) {
  const answer = await by.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
}
const ids = (body: { assignments: { id: string }[] }) => body.assignments.map(({ id }) => id);
const idsOf = (keep: (row: typeof rows[number], index: number) => boolean) =>
  rows.filter(keep).map(({ id }) => id).reverse();

describe("the list", () => {
  test("shows a row as documented, newest first, with counters", async () => {
    const body = await list();
    expect(body).toMatchObject({ page: 1, limit: 10, total: 12 });
    expect(body.stats).toEqual({
      totalAssignments: 12,
      pendingAssignments: 2,
      completedAssignments: 2,
      recentlyAddedCount: 0,
    });
    expect(ids(body)).toEqual(idsOf(() => true).slice(0, 10));
    const [first] = (await list({ delivery_id: rows[0].delivery })).assignments;
    const [code] = await sql`select delivery_code from delivery.deliveries where id = ${
      rows[0].delivery
    }`;
    const none = { cod: 0, delivery_fee: 0, currency: "IQD" };
    const person = { full_name: expect.any(String), phone: expect.any(String) };
    expect(first).toEqual({
      id: rows[0].id,
      tenant_id: tenant.id,
      delivery_id: rows[0].delivery,
      bulk_assignment_id: null,
      assignment_time: "2026-01-01T00:00:00+00:00",
      status: "pending",
      assignment_status: "pending",
      requires_driver_response: true,
      sequence_number: 1,
      estimated_pickup_time: null,
      estimated_delivery_time: null,
      notes: null,
      responded_at: null,
      response_reason: null,
      delivery: {
        id: rows[0].delivery,
        delivery_code: Number(code.delivery_code),
        external_reference_id: "REF_0%",
        customer: { id: tenant.customer.id, ...person },
        barcode: expect.any(String),
        parent_id: null,
        postponed_to: null,
        leg: null,
        cod_amount: 0,
        delivery_fee: 1000,
        currency: "IQD",
        cash_due: { pickup: none, delivery: none },
        parcel: null,
        sender: { name: expect.any(String), phone: expect.any(String) },
        recipient: {},
      },
      drivers: { id: tenant.driver.id, user: { id: tenant.driver.id, ...person } },
      vehicle: { id: expect.any(String), name: "Van", image_url: null },
      assigned_by: { id: tenant.ops.id, full_name: expect.any(String) },
    });
  });

  test("says whether an answer is wanted from the row itself, only while it is pending", async () => {
    await sql`update public.delivery_realtime_assignments set assignment_status = 'pending', requires_driver_response = true
      where tenant_id = ${tenant.id}`;
    const body = await list({ limit: 50 });
    for (const row of body.assignments) {
      expect(row.requires_driver_response).toBe(row.status === "pending");
      expect(row.assignment_status).toBe(row.status);
    }
  });

  test("adds what is included, and nothing else", async () => {
    const one = async (include: string) =>
      (await list({ include, delivery_id: rows[0].delivery })).assignments[0];
    const all = await one("customer, delivery_details,route");
    expect(all.customer).toMatchObject({ id: tenant.customer.id, email: expect.any(String) });
    expect(all.delivery_details).toMatchObject({ status: "pending", pickup: { latitude: 33.31 } });
    expect(all.route).toEqual({ distance_km: expect.any(Number), source: "haversine" });
    const some = await one("route");
    expect(some).toHaveProperty("route");
    expect(some).not.toHaveProperty("customer");
    expect(await tenant.ops.get(path, { query: { include: "secrets" } }))
      .toFailWith(400, "validation_failed");
  });

  test.each(statuses)("takes status %s", async (status) => {
    const wanted = idsOf((row) => row.status === status);
    const body = await list({ status });
    expect(ids(body)).toEqual(wanted);
    expect(body.total).toBe(2);
    expect(body.stats.totalAssignments).toBe(12);
    expect(ids(await list({ column_filters: { status } }))).toEqual(wanted);
  });

  test("narrows by every parameter and column, each joined to the others", async () => {
    expect(ids(await list({ driver_id: tenant.driver.id, limit: 50 })))
      .toEqual(idsOf((_, index) => index < 6));
    expect(ids(await list({ bulk_assignment_id: bulk }))).toEqual(idsOf((_, index) => index > 5));
    const [{ vehicle_id, delivery_code }] = await sql`select a.vehicle_id, d.delivery_code
      from delivery.assignments a join delivery.deliveries d on d.id = a.delivery_id
      where a.id = ${rows[2].id}`;
    const by = async (column_filters: object, more = {}) =>
      ids(await list({ column_filters, limit: 50, ...more }));
    expect(await by({ vehicle_id })).toEqual(idsOf((_, index) => index < 6));
    expect(await by({ driver_id: tenant.driver2.id })).toEqual(idsOf((_, index) => index > 5));
    expect(await by({ assigned_by: tenant.ops.id })).toHaveLength(12);
    expect(await by({ assigned_by: tenant.admin.id })).toEqual([]);
    expect(await by({ bulk_assignment_id: bulk })).toHaveLength(6);
    expect(await by({ delivery_id: rows[4].delivery })).toEqual([rows[4].id]);
    expect(await by({ delivery_code: Number(delivery_code) })).toEqual([rows[2].id]);
    expect(await by({ delivery_code: String(delivery_code) })).toEqual([rows[2].id]);
    expect(await by({ external_reference_id: "ref_1" })).toEqual(
      [rows[11], rows[10], rows[1]].map((r) => r.id),
    );
    expect(await by({ external_reference_id: "1%" })).toEqual([rows[11].id, rows[1].id]);
    expect(await by({ assignment_time: { from: "2026-01-03", to: "2026-01-04" } }))
      .toEqual([rows[3].id, rows[2].id]);
    // Both hold, and the total says so as well.
    const both = await list({ status: "pending", column_filters: { status: "assigned" } });
    expect([both.assignments, both.total]).toEqual([[], 0]);
    expect(await by({ status: "pending" }, { driver_id: tenant.driver.id })).toEqual([rows[0].id]);
  });

  test("pages without gap or repeat, and clamps", async () => {
    const seen: string[] = [];
    for (let page = 1; page <= 3; page++) {
      const body = await list({ page, limit: 5 });
      expect(body).toMatchObject({ page, limit: 5, total: 12 });
      seen.push(...ids(body));
    }
    expect(seen).toEqual(idsOf(() => true));
    expect((await list({ limit: 5000 })).limit).toBe(100);
    expect(await list({ limit: "x", page: 0 })).toMatchObject({ limit: 10, page: 1 });
    expect(ids(await list({ sort_by: "assignment_time", sort_order: "asc", limit: 50 })))
      .toEqual(idsOf(() => true).reverse());
  });

  test("refuses what it cannot be asked", async () => {
    for (
      const [query, field, code] of [
        [{ status: "lost" }, "status", "validation_failed"],
        [{ driver_id: "x" }, "driver_id", "invalid_uuid"],
        [{ sort_by: "status" }, "sort_by", "validation_failed"],
        [{ column_filters: "{" }, "column_filters", "invalid_column_filters"],
        [
          { column_filters: { delivery_code: "A1" } },
          "column_filters.delivery_code",
          "invalid_column_filters",
        ],
      ] as const
    ) {
      const answer = await tenant.ops.get(path, { query });
      expect(answer).toFailWith(400, code);
      expect(answer.body.field).toBe(field);
    }
  });

  test("a driver always gets only their own rows", async () => {
    const mine = await list({ limit: 50 }, tenant.driver);
    expect(ids(mine)).toEqual(idsOf((_, index) => index < 6));
    expect(mine.total).toBe(6);
    expect(mine.stats).toMatchObject({ totalAssignments: 6, pendingAssignments: 1 });
    const another = await list({ driver_id: tenant.driver2.id, limit: 50 }, tenant.driver);
    expect([ids(another), another.total]).toEqual([ids(mine), 6]);
    expect(await list({ status: "pending", driver_id: randomUUID() }, tenant.driver))
      .toMatchObject({ assignments: [{ id: rows[0].id }], total: 1 });
    expect(await list({ column_filters: { driver_id: tenant.driver2.id } }, tenant.driver))
      .toMatchObject({ assignments: [], total: 0 });
    expect(mine.assignments[0].delivery.id).toBeTruthy();
  });

  test("shows no rows to other roles, and none of other tenants", async () => {
    await expectGuarded({ method: "GET", path }, { denied: [tenant.customer, tenant.institution] });
    const theirs = await list({}, other.ops);
    expect(theirs).toMatchObject({ assignments: [], total: 0, stats: { totalAssignments: 0 } });
    expect(await list({ delivery_id: randomUUID() })).toMatchObject({ total: 0 });
  });

  test("counts what was added within a day", async () => {
    const [delivery_id] = await newDeliveries(tenant, 1);
    await tenant.ops.post(path, { delivery_id, driver_id: tenant.driver.id });
    expect((await list()).stats.recentlyAddedCount).toBe(1);
  });
});
