/** Sorting sessions that are refused: wrong input, people and other tenants' ids. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import {
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";

let other: Sorting;
let { tenant, yard, staff, assigned, newSession } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, staff, assigned, newSession } = await newSorting());
  other = await newSorting();
});

describe("refusals", () => {
  test("bad input writes nothing", async () => {
    const body = (more: object) => ({ warehouse_id: yard.warehouse, ...more });
    const [before] =
      await sql`select count(*) from warehousing.bins where tenant_id = ${tenant.id}`;
    await expectRefused(tenant.staff, { method: "POST", path }, [
      [{}, "warehouse_id", "validation_failed"],
      [{ warehouse_id: "no" }, "warehouse_id", "invalid_uuid"],
      [body({ assignments: {} }), "assignments"],
      [body({ assignments: [assigned("country", "Iraq")] }), "assignments.0.destination_type"],
      [body({ assignments: [assigned("city", " ")] }), "assignments.0.destination_value"],
      [
        body({ assignments: [assigned("city", "x".repeat(201))] }),
        "assignments.0.destination_value",
      ],
      [body({ assignments: [assigned("city", "a\u0000")] }), "assignments.0.destination_value"],
      [body({ assignments: [assigned("city", "A", { capacity: 0 })] }), "assignments.0.capacity"],
      [body({ assignments: [assigned("city", "A", { capacity: 1.5 })] }), "assignments.0.capacity"],
    ]);
    for (const staff_id of [randomUUID(), other.staff, other.tenant.staff.id]) {
      const unknown = await tenant.ops.post(
        path,
        body({ assignments: [assigned("city", "A"), assigned("city", "B", { staff_id })] }),
      );
      expect(unknown).toFailWith(404, "staff_not_found");
      expect(unknown.body.field).toBe("assignments.1.staff_id");
    }
    for (const warehouse_id of [randomUUID(), other.yard.warehouse]) {
      expect(await tenant.ops.post(path, { warehouse_id })).toFailWith(404, "warehouse_not_found");
    }
    const [after] = await sql`select count(*) from warehousing.bins where tenant_id = ${tenant.id}`;
    expect(after.count).toBe(before.count);
    const session = await newSession();
    expect(await tenant.staff.put(`${path}/${session.id}`, { status: "active" }))
      .toFailWith(400, "validation_failed");
  });

  test("staff of another warehouse do not open, change or end a session", async () => {
    const session = await newSession(["city", "Basra"]);
    await sql`update warehousing.warehouse_staff set is_active = false where id = ${staff}`;
    try {
      expect(await tenant.staff.post(path, { warehouse_id: yard.warehouse })).toFailWith(
        403,
        "forbidden",
      );
      expect(await tenant.staff.put(`${path}/${session.id}`, { status: "completed" })).toFailWith(
        403,
        "forbidden",
      );
      const gone = await tenant.ops.post(path, {
        warehouse_id: yard.warehouse,
        assignments: [assigned("city", "Basra")],
      });
      expect(gone).toFailWith(409, "staff_not_in_warehouse");
    } finally {
      await sql`update warehousing.warehouse_staff set is_active = true where id = ${staff}`;
    }
  });

  test("others are kept out, unknown sessions are unknown, keys are replayed, in every language", async () => {
    const foreign = await other.tenant.ops.post(path, { warehouse_id: other.yard.warehouse });
    const outsiders = [tenant.driver, tenant.customer, tenant.institution];
    const id = randomUUID();
    for (
      const [method, at, body] of [
        ["GET", "{id}", {}],
        ["PUT", "{id}", { status: "completed" }],
        ["GET", "{id}/assignments", {}],
        ["POST", "{id}/assignments", { assignments: [assigned("city", "A")] }],
        ["POST", "{id}/scan", { delivery_barcode: "X" }],
        ["PUT", `{id}/assignments/${id}`, {}],
        ["DELETE", `{id}/assignments/${id}`, {}],
      ] as const
    ) {
      await expectNoSuch(
        tenant.ops,
        { method, path: `${path}/${at}`, body },
        "session_id",
        "sorting_session_not_found",
        foreign.body.session.id,
      );
      await expectGuarded({ method, path: `${path}/${at.replace("{id}", id)}`, body }, {
        denied: outsiders,
      });
    }
    for (const method of ["GET", "POST"] as const) {
      await expectGuarded({ method, path }, { denied: outsiders });
    }
    await expectReplayed(
      tenant.ops,
      path,
      { warehouse_id: yard.warehouse },
      { warehouse_id: yard.there },
    );
    for (const [language, word] of [["ar", "جلسة الفرز"], ["ku", "جیاکردنەوە"]] as const) {
      const answer = await tenant.ops.get(`${path}/${id}`, { query: { language } });
      expect(answer.body.message).toContain(word);
    }
  });
});
