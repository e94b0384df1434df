import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newShelf, newWarehouse, stockIn, unitsOf } from "../../support/warehouses.ts";

const path = "/warehousing/warehouses";
let tenant: Tenant;
let other: Tenant;
let address: string;
let foreignAddress: string;
let foreign: string;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  [address, foreignAddress] = [await newAddress(tenant), await newAddress(other)];
  foreign = await newWarehouse(other);
});

let serial = 0;
const wanted = (more: Record<string, unknown> = {}) => ({
  name: "Main",
  code: `MAIN-${++serial}`,
  address_id: address,
  ...more,
});
async function made(more: Record<string, unknown> = {}) {
  const answer = await tenant.ops.post(path, wanted(more));
  expect(answer).toSucceed(201);
  return answer.body.warehouse;
}

describe("adding a warehouse", () => {
  test("answers the whole warehouse; what is left out has its default", async () => {
    const body = wanted({ total_capacity: 100 });
    const answer = await tenant.ops.post(path, body);
    expect(answer).toSucceed(201);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      warehouse: {
        id: expect.any(String),
        tenant_id: tenant.id,
        address_id: address,
        name: "Main",
        code: body.code,
        status: "active",
        total_capacity: 100,
        available_capacity: 100,
        features: {},
        access_mode: "all_users",
        user_ids: [],
        user_count: 0,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        deleted_at: null,
        address: {
          id: address,
          title: { en: "Place" },
          full_address: expect.any(String),
          city: "Baghdad",
          country: "IQ",
          latitude: 33.31,
          longitude: 44.36,
        },
      },
    });
    // The stored title, whatever language is asked for.
    const read = await tenant.warehouse.in("ar").get(`${path}/${answer.body.warehouse.id}`);
    expect(read.body.warehouse).toEqual(answer.body.warehouse);
    expect((await made({ available_capacity: 7 })).available_capacity).toBe(7);
    expect((await made()).available_capacity).toBeNull();
  });

  test("keeps the features there are and refuses any other", async () => {
    const features = {
      climate_control: true,
      security_level: "high",
      dock_doors: 4,
      hazardous_materials: false,
      refrigeration: true,
      cross_docking: false,
    };
    expect((await made({ features })).features).toEqual(features);
    const answer = await tenant.ops.post(path, wanted({ features: { pool: true } }));
    expect(answer).toFailWith(400, "invalid_warehouse_features");
    expect(answer.body.field).toBe("features.pool");
    for (const wrong of [{ climate_control: "yes" }, { dock_doors: -1 }, { security_level: 3 }]) {
      const refused = await tenant.ops.post(path, wanted({ features: wrong }));
      expect(refused.status).toBe(400);
      expect(refused.body.field).toBe(`features.${Object.keys(wrong)[0]}`);
    }
  });

  test("is for business users of the tenant where it is not for everybody", async () => {
    const few = await made({ access_mode: "select_users", user_ids: [tenant.customer.id] });
    expect(few.user_ids).toEqual([tenant.customer.id]);
    expect((await made({ user_ids: [tenant.customer.id] })).user_ids).toEqual([]);
    for (const access_mode of ["select_users", "exclude_users"]) {
      for (
        const user_ids of [
          undefined,
          [],
          [tenant.staff.id],
          [tenant.customer.id, other.customer.id],
          [randomUUID()],
          ["nobody"],
        ]
      ) {
        const answer = await tenant.ops.post(path, wanted({ access_mode, user_ids }));
        expect(answer, `${user_ids}`).toFailWith(400, "invalid_customer_ids");
      }
    }
  });

  test("a code is taken once in a tenant, until its warehouse is removed", async () => {
    const body = wanted();
    const first = await tenant.ops.post(path, body);
    expect(await tenant.ops.post(path, body)).toFailWith(409, "warehouse_code_exists");
    expect(await other.ops.post(path, { ...body, address_id: foreignAddress })).toSucceed(201);
    expect(await tenant.ops.delete(`${path}/${first.body.warehouse.id}`)).toSucceed(200);
    expect(await tenant.ops.post(path, body)).toSucceed(201);
    const racing = wanted();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => tenant.ops.post(path, racing)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });

  test("refuses wrong input, other people's addresses and the wrong people", async () => {
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "name"],
      [wanted({ name: " " }), "name"],
      [wanted({ code: undefined }), "code"],
      [wanted({ code: "x".repeat(65) }), "code"],
      [wanted({ address_id: undefined }), "address_id", "validation_failed"],
      [wanted({ address_id: "" }), "address_id", "invalid_uuid"],
      [wanted({ status: "closed" }), "status"],
      [wanted({ total_capacity: -1 }), "total_capacity"],
      [wanted({ available_capacity: "9" }), "available_capacity"],
      [wanted({ total_capacity: 10, available_capacity: 50 }), "available_capacity"],
      [wanted({ access_mode: "nobody" }), "access_mode"],
    ]);
    expect((await tenant.ops.post(path, wanted({ name: "a\u0000b" }))).status).toBe(400);
    for (const address_id of [foreignAddress, randomUUID()]) {
      expect(await tenant.ops.post(path, wanted({ address_id })))
        .toFailWith(404, "address_not_found");
    }
    const { warehouse, staff, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path, body: wanted() }, {
      denied: [warehouse, staff, driver, institution, customer],
    });
    await expectReplayed(tenant.ops, path, wanted(), wanted());
  });
});

describe("changing a warehouse", () => {
  test("changes what is sent and nothing else", async () => {
    const before = await made({ total_capacity: 10, features: { refrigeration: true } });
    const put = (body: object) => tenant.ops.put(`${path}/${before.id}`, body);
    const named = (await put({ name: "New name" })).body.warehouse;
    expect(named).toEqual({ ...before, name: "New name", updated_at: expect.any(String) });
    expect(Date.parse(named.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    expect((await put({ total_capacity: null })).body.warehouse).toMatchObject({
      total_capacity: null,
      available_capacity: 10,
    });
    const moved = await newAddress(tenant, { city: "Erbil" });
    expect((await put({ address_id: moved })).body.warehouse.address.city).toBe("Erbil");
    for (const address_id of [null, ""]) {
      expect(await put({ address_id })).toFailWith(400, "invalid_uuid");
    }
    expect(await put({ address_id: foreignAddress })).toFailWith(404, "address_not_found");
    const taken = await made();
    expect(await put({ code: taken.code })).toFailWith(409, "warehouse_code_exists");
    expect(await put({ code: before.code })).toSucceed(200);
    expect(await put({ features: { moat: true } })).toFailWith(400, "invalid_warehouse_features");
  });

  test("its people follow the mode that is in force", async () => {
    const { id } = await made();
    const put = (body: object) => tenant.ops.put(`${path}/${id}`, body);
    expect(await put({ access_mode: "exclude_users" })).toFailWith(400, "invalid_customer_ids");
    expect(await put({ access_mode: "exclude_users", user_ids: [tenant.customer.id] }))
      .toSucceed(200);
    // Those who may not would become those who may.
    expect(await put({ access_mode: "select_users" })).toFailWith(400, "invalid_customer_ids");
    expect((await put({ access_mode: "exclude_users" })).body.warehouse.user_ids)
      .toEqual([tenant.customer.id]);
    const user_ids = [tenant.customer.id];
    expect((await put({ access_mode: "select_users", user_ids })).body.warehouse.user_ids)
      .toEqual(user_ids);
    expect(await put({ user_ids: [] })).toFailWith(400, "invalid_customer_ids");
    expect((await put({ access_mode: "all_users" })).body.warehouse.user_ids).toEqual([]);
    expect(await put({ access_mode: "select_users" })).toFailWith(400, "invalid_customer_ids");
  });

  test("is full without room and active with it, unless a status is sent", async () => {
    const { id } = await made({ total_capacity: 10 });
    const put = async (body: object) =>
      (await tenant.ops.put(`${path}/${id}`, body)).body.warehouse;
    expect((await put({ available_capacity: 0 })).status).toBe("full");
    expect((await put({ available_capacity: 1 })).status).toBe("active");
    expect((await put({ available_capacity: 0, status: "maintenance" })).status).toBe(
      "maintenance",
    );
    expect((await put({ available_capacity: 5 })).status).toBe("maintenance");
    await expectRefused(tenant.ops, { method: "PUT", path: `${path}/${id}` }, [
      [{ available_capacity: 11 }, "available_capacity"],
      [{ total_capacity: 4 }, "total_capacity"],
      [{ total_capacity: 4, available_capacity: 5 }, "available_capacity"],
    ]);
    expect((await put({ total_capacity: 4, available_capacity: 4 })).total_capacity).toBe(4);
    for (const status of ["inactive", "full", "active"]) {
      expect((await put({ status })).status).toBe(status);
    }
  });

  test("finds only the tenant's own and takes only operations' word", async () => {
    for (const method of ["GET", "PUT", "DELETE"] as const) {
      await expectNoSuch(
        tenant.ops,
        { method, path: `${path}/{id}` },
        "warehouse_id",
        "warehouse_not_found",
        foreign,
      );
    }
    const { id } = await made();
    const { warehouse, staff, driver, customer } = tenant;
    for (const method of ["PUT", "DELETE"] as const) {
      await expectGuarded({ method, path: `${path}/${id}`, body: {} }, {
        denied: [warehouse, staff, driver, customer],
      });
    }
    await expectGuarded({ method: "GET", path: `${path}/${id}` }, { denied: [driver, customer] });
  });
});

describe("removing a warehouse", () => {
  test("keeps the record and hides it", async () => {
    const { id } = await made();
    const answer = await tenant.ops.delete(`${path}/${id}`);
    expect(answer.body).toEqual({ success: true, message: expect.any(String) });
    const [{ deleted_at }] =
      await sql`select deleted_at from warehousing.warehouses where id = ${id}`;
    expect(deleted_at).toBeInstanceOf(Date);
    expect(await tenant.ops.get(`${path}/${id}`)).toFailWith(404, "warehouse_not_found");
    expect(await tenant.ops.delete(`${path}/${id}`)).toFailWith(404, "warehouse_not_found");
    const found = await tenant.ops.get(path, { query: { limit: 100 } });
    expect(found.body.warehouses.map((row: { id: string }) => row.id)).not.toContain(id);
  });

  test("is refused while anything lies in it, whatever its status", async () => {
    const { warehouse, bin, item } = await newShelf(tenant, 0);
    const at = { item_id: item, warehouse_id: warehouse, bin_id: bin };
    await stockIn(tenant, { ...at, quantity: 1, status: "damaged" });
    expect(await tenant.ops.delete(`${path}/${warehouse}`)).toFailWith(
      409,
      "warehouse_has_inventory",
    );
    const gone = { ...at, status: "damaged", delta: -1, reason: "thrown away" };
    expect(await tenant.warehouse.post("/warehousing/inventory/adjustments", gone)).toSucceed(201);
    expect(await unitsOf(item)).toEqual({});
    expect(await tenant.ops.delete(`${path}/${warehouse}`)).toSucceed(200);
  });
});

test("row-level security shows a customer the warehouses that are for them", async () => {
  const mine = await newTenant();
  const at = await newAddress(mine);
  const make = async (code: string, access_mode: string, user?: string) => {
    const id = await newWarehouse(mine, { code, access_mode, address_id: at });
    if (user) {
      await sql`insert into warehousing.warehouse_users values (${mine.id}, ${id}, ${user})`;
    }
  };
  await make("all", "all_users");
  await make("me", "select_users", mine.customer.id);
  await make("not-me", "exclude_users", mine.customer.id);
  await make("others", "select_users", mine.institution.id);
  await make("not-others", "exclude_users", mine.institution.id);
  const rows = await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${mine.id}, true),
      set_config('app.user_id', ${mine.customer.id}, true), set_config('app.sees_tenant', 'off', true),
      set_config('role', 'barid_caller', true)`;
    return await tx`select code from warehousing.warehouses order by code`;
  });
  // A customer does not see that others are left out, nor whom a warehouse is for.
  expect(rows.map(({ code }) => code)).toEqual(["all", "me", "not-others"]);
});
