/** Bins and staff of a warehouse. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { accept, account, invited } from "../../support/invitations.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { inTenant, newBin, newShelf, newWarehouse } from "../../support/warehouses.ts";

let tenant: Tenant;
let other: Tenant;
let warehouse: string;
let foreign: string;
let bins: string;
let staff: string;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  [warehouse, foreign] = [await newWarehouse(tenant), await newWarehouse(other)];
  bins = `/warehousing/warehouses/${warehouse}/bins`;
  staff = `/warehousing/warehouses/${warehouse}/staff`;
});

let serial = 0;
const wanted = (more: object = {}) => ({ code: `BIN-${++serial}`, name: "Shelf", ...more });

describe("bins", () => {
  test("are added with defaults and read back", async () => {
    const body = wanted();
    const answer = await tenant.warehouse.post(bins, body);
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      bin: {
        id: expect.any(String),
        warehouse_id: warehouse,
        ...body,
        location_type: "BIN",
        capacity: null,
        filled_capacity: 0,
        is_default_receiving: false,
        is_temporary: false,
        is_active: true,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    });
    const read = await tenant.warehouse.get(`${bins}/${answer.body.bin.id}`);
    expect(read.body.bin).toEqual(answer.body.bin);
    expect(await tenant.ops.post(bins, body)).toFailWith(409, "bin_code_exists");
    const beside = await newWarehouse(tenant);
    expect(await tenant.ops.post(`/warehousing/warehouses/${beside}/bins`, body)).toSucceed(201);
  });

  test("one of a warehouse receives by default; a closed one gives way", async () => {
    const at = await newWarehouse(tenant);
    const path = `/warehousing/warehouses/${at}/bins`;
    const add = () => tenant.ops.post(path, wanted({ is_default_receiving: true }));
    const defaultBin = async () => {
      const [row] = await inTenant<{ id: string | null }>(
        tenant,
        "select warehousing.default_receiving_bin($1::uuid) as id",
        [at],
      );
      return row.id;
    };
    expect(await defaultBin()).toBeNull();
    const answers = await Promise.all([add(), add(), add()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const first = answers.find(({ status }) => status === 201)!.body.bin.id;
    expect(await defaultBin()).toBe(first);
    expect(await add()).toFailWith(409, "default_receiving_exists");
    expect(await tenant.ops.put(`${path}/${first}`, { is_active: false })).toSucceed(200);
    const second = await add();
    expect(second).toSucceed(201);
    expect(await defaultBin()).toBe(second.body.bin.id);
    expect(await tenant.ops.put(`${path}/${first}`, { is_active: true }))
      .toFailWith(409, "default_receiving_exists");
  });

  test("change what is sent, and stay in use while something lies in them", async () => {
    const shelf = await newShelf(tenant, 1);
    const path = `/warehousing/warehouses/${shelf.warehouse}/bins/${shelf.bin}`;
    expect(await tenant.ops.put(path, { is_active: false })).toFailWith(409, "bin_not_empty");
    expect((await tenant.ops.put(path, { capacity: 5, location_type: "STAGING" })).body.bin)
      .toMatchObject({ capacity: 5, location_type: "STAGING", is_active: true });
    expect((await tenant.ops.put(path, { capacity: null })).body.bin.capacity).toBeNull();
    await sql`update warehousing.bins set capacity = 9, filled_capacity = 3 where id = ${shelf.bin}`;
    expect(await tenant.ops.put(path, { capacity: 2 })).toFailWith(409, "bin_full");
    // A bin is found in its own warehouse only.
    expect(await tenant.ops.put(`${bins}/${shelf.bin}`, { name: "x" }))
      .toFailWith(404, "bin_not_found");
    expect(await tenant.ops.get(`${bins}/${shelf.bin}`)).toFailWith(404, "bin_not_found");
  });

  test("are listed by page, type and words", async () => {
    const at = await newWarehouse(tenant);
    const path = `/warehousing/warehouses/${at}/bins`;
    for (const [code, location_type] of [["A-1", "BIN"], ["A-2", "CAGE"], ["100%", "BIN"]]) {
      await newBin(tenant, at, { code, location_type });
    }
    const list = async (query = {}) => {
      const answer = await tenant.warehouse.get(path, { query });
      expect(answer).toSucceed(200);
      return answer.body;
    };
    const codes = async (query = {}) =>
      (await list(query)).data.map((bin: { code: string }) => bin.code);
    expect(await list()).toMatchObject({ pagination: { page: 1, limit: 20, total: 3 } });
    expect(await codes({ sort_by: "code", sort_order: "asc" })).toEqual(["100%", "A-1", "A-2"]);
    expect(await codes({ location_type: "CAGE" })).toEqual(["A-2"]);
    expect(await codes({ search: "%" })).toEqual(["100%"]);
    expect(await codes({ is_active: "false" })).toEqual([]);
    expect(await list({ limit: 2, page: 2 })).toMatchObject({
      data: [expect.anything()],
      pagination: { total: 3 },
    });
    // The path says which warehouse, whatever the query says.
    expect(await list({ warehouse_id: warehouse })).toMatchObject({ pagination: { total: 3 } });
  });

  test("refuse wrong input, unknown warehouses and the wrong people", async () => {
    await expectRefused(tenant.ops, { method: "POST", path: bins }, [
      [{}, "code"],
      [wanted({ name: "" }), "name"],
      [wanted({ location_type: "ROOM" }), "location_type"],
      [wanted({ capacity: -1 }), "capacity"],
      [wanted({ is_active: "no" }), "is_active"],
    ]);
    for (const [method, body] of [["POST", wanted()], ["GET", undefined]] as const) {
      await expectNoSuch(
        tenant.ops,
        { method, path: "/warehousing/warehouses/{id}/bins", body },
        "warehouse_id",
        "warehouse_not_found",
        foreign,
      );
    }
    const foreignBin = await newBin(other, foreign);
    await expectNoSuch(
      tenant.ops,
      { method: "PUT", path: `${bins}/{id}`, body: { name: "x" } },
      "bin_id",
      "bin_not_found",
      foreignBin,
    );
    await expectReplayed(tenant.ops, bins, wanted(), wanted());
    await expectGuarded({ method: "POST", path: bins, body: wanted() }, {
      denied: [tenant.staff, tenant.driver, tenant.customer],
    });
    await expectGuarded({ method: "GET", path: bins }, {
      denied: [tenant.driver, tenant.customer],
    });
  });
});

describe("staff", () => {
  test("are assigned once, let go, and may come back", async () => {
    const body = { user_id: tenant.staff.id, employee_id: "E-7", role: "picker" };
    const answer = await tenant.warehouse.post(staff, body);
    expect(answer).toSucceed(201);
    expect(answer.body.staff).toEqual({
      id: expect.any(String),
      warehouse_id: warehouse,
      ...body,
      user: { id: tenant.staff.id, full_name: expect.any(String) },
      is_active: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await tenant.ops.post(staff, body)).toFailWith(409, "staff_already_assigned");
    const end = `${staff}/${answer.body.staff.id}/deactivate`;
    for (let twice = 0; twice < 2; twice++) {
      expect((await tenant.ops.post(end)).body.staff.is_active).toBe(false);
    }
    expect(await tenant.ops.post(staff, body)).toSucceed(201);
    const list = async (query = {}) => (await tenant.ops.get(staff, { query })).body;
    expect(await list()).toMatchObject({ pagination: { page: 1, limit: 20, total: 2 } });
    expect((await list({ is_active: "true" })).data).toHaveLength(1);
  });

  test("who leave the company are in no warehouse any more, also when they come back", async () => {
    const { email, who } = await account();
    const own = await newTenant();
    const house = await newWarehouse(own);
    const path = `/warehousing/warehouses/${house}/staff`;
    const role = { roles: ["warehouse_staff"] };
    const first = await invited(own, email, role);
    expect(await accept(who, first.id)).toSucceed(200);
    expect(await own.ops.post(path, { user_id: who.id })).toSucceed(201);
    const seen = async () => {
      const query = { tenant_id: own.id };
      return (await who.get("/warehousing/warehouses", { query })).body.warehouses.length;
    };
    expect(await seen()).toBe(1);
    expect(await who.post(`/tenants/${own.id}/leave`)).toSucceed(200);
    const { data } = (await own.ops.get(path)).body;
    expect(data).toMatchObject([{ user_id: who.id, is_active: false }]);
    const second = await invited(own, email, role);
    expect(await accept(who, second.id)).toSucceed(200);
    expect(await seen()).toBe(0);
  });

  test("are members of staff of the tenant, named by those who run the warehouse", async () => {
    for (const user_id of [tenant.driver.id, tenant.customer.id, other.staff.id, randomUUID()]) {
      const answer = await tenant.ops.post(staff, { user_id });
      expect(answer).toFailWith(404, "user_not_found");
      expect(answer.body).toMatchObject({
        field: "user_id",
        message: "No active member of staff of the company has this id.",
      });
    }
    await expectRefused(tenant.ops, { method: "POST", path: staff }, [
      [{}, "user_id", "validation_failed"],
      [{ user_id: tenant.ops.id, employee_id: "" }, "employee_id"],
      [{ user_id: tenant.ops.id, role: 7 }, "role"],
    ]);
    for (const [method, path] of [["POST", ""], ["GET", ""]] as const) {
      await expectNoSuch(
        tenant.ops,
        {
          method,
          path: `/warehousing/warehouses/{id}/staff${path}`,
          body: { user_id: tenant.ops.id },
        },
        "warehouse_id",
        "warehouse_not_found",
        foreign,
      );
    }
    const [theirs] =
      await sql`insert into warehousing.warehouse_staff (tenant_id, warehouse_id, user_id)
      values (${other.id}, ${foreign}, ${other.staff.id}) returning id`;
    await expectNoSuch(
      tenant.ops,
      { method: "POST", path: `${staff}/{id}/deactivate` },
      "staff_id",
      "staff_not_found",
      theirs.id,
    );
    await expectGuarded({ method: "POST", path: staff, body: { user_id: tenant.ops.id } }, {
      denied: [tenant.staff, tenant.driver, tenant.institution],
    });
  });
});
