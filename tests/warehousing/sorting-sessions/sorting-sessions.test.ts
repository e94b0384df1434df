import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newStaff, newYard } from "../../support/packages.ts";
import { newTenant } from "../../support/people.ts";
import {
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";
import { eventsOf } from "../../support/warehouses.ts";

let { tenant, yard, staff, assigned, newSession } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, staff, assigned, newSession } = await newSorting());
});

describe("a session", () => {
  test("opens with a cage or trolley for each destination, of 10 unless said", async () => {
    const answer = await tenant.warehouse.post(path, {
      warehouse_id: yard.warehouse,
      assignments: [
        assigned("city", "Basra"),
        assigned("zone", "North", { capacity: 3 }),
        assigned("partner_area", "Kurdistan"),
      ],
    });
    expect(answer).toSucceed(201);
    const { session } = answer.body;
    const kinds = ["CAGE", "TROLLEY", "CAGE"];
    const place = (i: number) => ({
      id: session.assignments[i].cage_location_id,
      code: expect.stringMatching(new RegExp(`^${kinds[i]}-\\d+$`)),
      name: ["Cage Basra", "Trolley North", "Cage Kurdistan"][i],
      location_type: kinds[i],
      total_capacity: [10, 3, 10][i],
      filled_capacity: 0,
    });
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      session: {
        id: expect.any(String),
        tenant_id: tenant.id,
        warehouse_id: yard.warehouse,
        status: "active",
        started_at: expect.any(String),
        ended_at: null,
        created_by: tenant.warehouse.id,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        warehouse: { id: yard.warehouse, name: expect.any(String), code: expect.any(String) },
        assignments: [["city", "Basra"], ["zone", "North"], ["partner_area", "Kurdistan"]]
          .map(([destination_type, destination_value], i) => ({
            id: expect.any(String),
            session_id: session.id,
            staff_id: staff,
            destination_type,
            destination_value,
            cage_location_id: expect.any(String),
            created_at: expect.any(String),
            cage_location: place(i),
            staff: { id: staff, full_name: expect.any(String), employee_id: "E-7" },
          })),
        temporary_locations: kinds.map((_, i) => ({ ...place(i), is_active: true })),
      },
    });
    const read = await tenant.dispatcher.get(`${path}/${session.id}`);
    expect(read.body.session).toEqual(session);
    const listed = await tenant.staff.get(`${path}/${session.id}/assignments`);
    expect(listed).toSucceed(200);
    expect(listed.body.assignments).toEqual(session.assignments);
    const bins = await sql`select is_temporary from warehousing.bins
      where id = any (${session.temporary_locations.map((l: { id: string }) => l.id)})`;
    expect(bins.map((bin) => bin.is_temporary)).toEqual([true, true, true]);
  });

  test("opens without assignments, both arrays empty", async () => {
    for (const body of [{}, { assignments: [] }, { assignments: null }]) {
      const answer = await tenant.staff.post(path, { warehouse_id: yard.warehouse, ...body });
      expect(answer).toSucceed(201);
      expect(answer.body.session).toMatchObject({ assignments: [], temporary_locations: [] });
    }
  });

  test("takes more assignments while it is active, named also by the user", async () => {
    const session = await newSession();
    const added = await tenant.staff.post(`${path}/${session.id}/assignments`, {
      assignments: [{ ...assigned("zone", "South"), staff_id: tenant.staff.id }],
    });
    expect(added).toSucceed(201);
    expect(Object.keys(added.body).sort()).toEqual([
      "assignments",
      "message",
      "success",
      "temporary_locations",
    ]);
    expect(added.body.assignments[0]).toMatchObject({ staff_id: staff, session_id: session.id });
    expect(added.body.temporary_locations[0]).toMatchObject({ location_type: "TROLLEY" });
  });

  test("is completed once: its end is set, its places go out of use and keep their names", async () => {
    const session = await newSession(["city", "Basra"]);
    const answer = await tenant.staff.put(`${path}/${session.id}`, { status: "completed" });
    expect(answer).toSucceed(200);
    expect(answer.body.session).toMatchObject({
      status: "completed",
      ended_at: expect.any(String),
      temporary_locations: [{ name: "Cage Basra", is_active: false }],
    });
    expect(await eventsOf(session.id)).toEqual(["sorting_session.completed"]);
    const one = session.assignments[0].id;
    for (
      const late of [
        tenant.staff.put(`${path}/${session.id}`, { status: "completed" }),
        tenant.staff.post(`${path}/${session.id}/assignments`, {
          assignments: [assigned("city", "Erbil")],
        }),
        tenant.staff.post(`${path}/${session.id}/scan`, { delivery_barcode: "X" }),
        tenant.staff.put(`${path}/${session.id}/assignments/${one}`, { capacity: 5 }),
        tenant.staff.delete(`${path}/${session.id}/assignments/${one}`),
      ]
    ) expect(await late).toFailWith(409, "sorting_session_not_active");
  });

  test("completed by ten at once ends once", async () => {
    const session = await newSession(["city", "Basra"]);
    const answers = await Promise.all(
      Array.from(
        { length: 10 },
        () => tenant.staff.put(`${path}/${session.id}`, { status: "completed" }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
    expect(await eventsOf(session.id)).toHaveLength(1);
  });

  test("changes who fills a cage and what it takes, and gives an empty one up", async () => {
    const session = await newSession(["city", "Basra"], ["city", "Erbil"]);
    const second = await newStaff(tenant, yard.warehouse, tenant.admin.id, "E-8");
    const [one, two] = session.assignments;
    const at = `${path}/${session.id}/assignments`;
    const changed = await tenant.staff.put(`${at}/${one.id}`, { staff_id: second, capacity: 4 });
    expect(changed).toSucceed(200);
    expect(changed.body.assignment).toMatchObject({
      staff_id: second,
      staff: { employee_id: "E-8" },
      cage_location: { total_capacity: 4 },
    });
    expect(await tenant.staff.delete(`${at}/${two.id}`)).toSucceed(200);
    const { body } = await tenant.staff.get(`${path}/${session.id}`);
    expect(body.session.assignments).toHaveLength(1);
    const [bin] = await sql`select is_active from warehousing.bins
      where id = ${two.cage_location_id}`;
    expect(bin.is_active).toBe(false);
    await sql`update warehousing.bins set filled_capacity = 3 where id = ${one.cage_location_id}`;
    const small = await tenant.staff.put(`${at}/${one.id}`, { capacity: 2 });
    expect(small).toFailWith(409, "capacity_below_filled");
    expect(small.body).toMatchObject({ field: "capacity", filled_capacity: 3 });
    expect(await tenant.staff.delete(`${at}/${one.id}`)).toFailWith(409, "cage_not_empty");
    for (const id of [randomUUID(), two.id]) {
      expect(await tenant.staff.put(`${at}/${id}`, {})).toFailWith(
        404,
        "sorting_assignment_not_found",
      );
    }
  });
});

describe("the list", () => {
  test("is of one warehouse, by status and day, in pages", async () => {
    const own = await newTenant();
    const place = await newYard(own);
    const at = (day: string, ended = false) =>
      sql`insert into warehousing.sorting_sessions (tenant_id, warehouse_id, started_at, status, ended_at)
      values (${own.id}, ${place.warehouse}, ${day + "T12:00:00Z"}, ${
        ended ? "completed" : "active"
      }, ${ended ? day + "T13:00:00Z" : null})`;
    await at("2026-03-01", true);
    await at("2026-03-02");
    await at("2026-03-03");
    const ask = async (query: Record<string, string | number>) => {
      const answer = await own.warehouse.get(path, {
        query: { warehouse_id: place.warehouse, ...query },
      });
      expect(answer).toSucceed(200);
      return answer.body;
    };
    const days = (body: { sessions: { started_at: string }[] }) =>
      body.sessions.map(({ started_at }) => started_at.slice(8, 10));
    const all = await ask({});
    expect(days(all)).toEqual(["03", "02", "01"]);
    expect(all).toMatchObject({ page: 1, limit: 20, total: 3 });
    expect(days(await ask({ status: "completed" }))).toEqual(["01"]);
    expect(days(await ask({ date_from: "2026-03-02" }))).toEqual(["03", "02"]);
    expect(days(await ask({ date_to: "2026-03-02" }))).toEqual(["02", "01"]);
    expect(days(await ask({ page: 2, limit: 2 }))).toEqual(["01"]);
    expect((await ask({ limit: 500 })).limit).toBe(100);
    expect((await ask({ warehouse_id: place.there })).total).toBe(0);
    const without = await own.warehouse.get(path);
    expect(without).toFailWith(400, "warehouse_id_required");
    expect(without.body.field).toBe("warehouse_id");
    for (const query of [{ date_from: "March" }, { status: "ended" }]) {
      const wrong = await own.warehouse.get(path, {
        query: { warehouse_id: place.warehouse, ...query },
      });
      expect(wrong).toFailWith(400, "validation_failed");
    }
  });
});
