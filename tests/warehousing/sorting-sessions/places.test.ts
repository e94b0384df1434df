/** The cages and trolleys of a sorting session among the warehouse's other places, and the warehouse itself meanwhile. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newStaff } from "../../support/packages.ts";
import { newPerson } from "../../support/people.ts";
import {
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";
import { newItem, newWarehouse, unitsOf } from "../../support/warehouses.ts";

let { tenant, yard, assigned, newSession } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, assigned, newSession } = await newSorting());
});

test("what a session made is changed there: elsewhere it only gets another name", async () => {
  const session = await newSession(["city", "Basra"]);
  const [cage] = session.temporary_locations;
  const bin = `/warehousing/warehouses/${yard.warehouse}/bins/${cage.id}`;
  for (
    const change of [
      { capacity: null },
      { capacity: 11 },
      { location_type: "BIN" },
      { is_default_receiving: true },
      { is_active: false },
    ]
  ) {
    expect(await tenant.warehouse.put(bin, change), JSON.stringify(change))
      .toFailWith(409, "bin_of_sorting_session");
  }
  // A form that sends all it was given with another name changes the name alone.
  const { id: _id, warehouse_id: _of, created_at: _c, updated_at: _u, ...read } =
    (await tenant.warehouse.get(bin)).body.bin;
  expect(await tenant.warehouse.put(bin, { ...read, name: "South gate" })).toSucceed(200);
  const seen = await tenant.staff.get(`${path}/${session.id}`);
  expect(seen).toSucceed(200);
  expect(seen.body.session.temporary_locations).toEqual([{ ...cage, name: "South gate" }]);
  // And out of use it stays when the session has ended.
  expect(await tenant.staff.put(`${path}/${session.id}`, { status: "completed" })).toSucceed(200);
  expect(await tenant.warehouse.put(bin, { is_active: true }))
    .toFailWith(409, "bin_of_sorting_session");
});

test("a cage takes no stock, which its session would leave behind", async () => {
  const session = await newSession(["city", "Basra"]);
  const [cage] = session.temporary_locations;
  const item = await newItem(tenant);
  const received = await tenant.ops.post("/warehousing/inventory/receipts", {
    warehouse_id: yard.warehouse,
    items: [{ item_id: item, quantity: 1, bin_id: cage.id }],
  });
  expect(received).toFailWith(409, "bin_of_sorting_session");
  expect(await unitsOf(item)).toEqual({});
});

test("a cage is for somebody who still works for the company", async () => {
  const left = await newPerson(tenant.id, "staff", "warehouse_staff");
  const place = await newStaff(tenant, yard.warehouse, left.id, "E-9");
  await sql`update tenancy.tenant_users set is_active = false
    where tenant_id = ${tenant.id} and user_id = ${left.id}`;
  const before = await tenant.staff.post(path, { warehouse_id: yard.warehouse });
  const assignments = `${path}/${before.body.session.id}/assignments`;
  for (const named of [place, left.id]) {
    const answer = await tenant.staff.post(assignments, {
      assignments: [assigned("city", "Basra"), assigned("city", "Erbil", { staff_id: named })],
    });
    expect(answer).toFailWith(409, "staff_not_in_warehouse");
    expect(answer.body.field).toBe("assignments.1.staff_id");
  }
  expect((await tenant.staff.get(assignments)).body.assignments).toEqual([]);
});

test("a warehouse that is removed at the same moment gets no session", async () => {
  const warehouse = await newWarehouse(tenant);
  const answer = await sql.begin(async (tx) => {
    await tx`select from warehousing.warehouses where id = ${warehouse} for update`;
    const opening = tenant.ops.post(path, { warehouse_id: warehouse });
    await expect.poll(async () => {
      const [{ waiting }] = await sql`select count(*)::int as waiting from pg_locks
        where not granted and locktype in ('transactionid', 'tuple')`;
      return waiting;
    }).toBeGreaterThan(0);
    await tx`update warehousing.warehouses set deleted_at = now() where id = ${warehouse}`;
    return { opening };
  });
  expect(await answer.opening).toFailWith(404, "warehouse_not_found");
  const sessions =
    await sql`select from warehousing.sorting_sessions where warehouse_id = ${warehouse}`;
  expect(sessions).toHaveLength(0);
});
