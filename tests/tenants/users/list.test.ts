/** The lists of a tenant's users, of roles and of permissions. */
import { beforeAll, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { usersOf } from "../../support/users.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

test("lists users with page numbers, filters by kind, role and activity, searches and sorts", async () => {
  const tenant = await newTenant();
  await sql`update tenancy.profiles set full_name = '100% Nour' where id = ${tenant.driver.id}`;
  const list = async (query: Record<string, string | number> = {}) =>
    (await tenant.admin.get(usersOf(tenant), { query })).body;
  const all = await list();
  expect(all.pagination).toEqual({ page: 1, limit: 20, total: 10, total_pages: 1 });
  expect(all.data).toHaveLength(10);
  expect((await list({ limit: 500 })).pagination.limit).toBe(100);
  expect((await list({ limit: "x", page: "0" })).pagination).toMatchObject({ limit: 20, page: 1 });
  expect((await list({ limit: 4, page: 3 })).data).toHaveLength(2);
  expect((await list({ type: "driver" })).data.map((u: Body) => u.id).sort())
    .toEqual([tenant.driver.id, tenant.driver2.id].sort());
  expect((await list({ role: "tenant_admin" })).data.map((u: Body) => u.id)).toEqual([
    tenant.admin.id,
  ]);
  expect((await list({ search: "100%" })).data.map((u: Body) => u.id)).toEqual([tenant.driver.id]);
  expect((await list({ search: "%" })).pagination.total).toBe(1);
  expect((await list({ search: "_" })).pagination.total).toBe(0);
  expect((await list({ search: "DISPATCHER-" })).pagination.total).toBe(1);
  const names = (await list({ sort_by: "full_name", sort_order: "asc" })).data.map((u: Body) =>
    u.full_name
  );
  expect(names).toEqual([...names].sort());
  await tenant.admin.post(`${usersOf(tenant)}/${tenant.staff.id}/deactivate`);
  expect((await list({ is_active: "false" })).data.map((u: Body) => u.id)).toEqual([
    tenant.staff.id,
  ]);
  const wrong = await tenant.admin.get(usersOf(tenant), { query: { type: "boss" } });
  expect(wrong).toFailWith(400, "validation_failed");
  expect(wrong.body.field).toBe("type");
});

test("the lists of roles and permissions name nothing of the system", async () => {
  const roles = await a.staff.get(`/tenants/${a.id}/roles`);
  expect(roles).toSucceed(200);
  expect(roles.body.data.map((role: Body) => role.key)).toEqual([
    "customer",
    "dispatcher",
    "driver",
    "institution",
    "operations_manager",
    "tenant_admin",
    "warehouse_manager",
    "warehouse_staff",
  ]);
  expect(roles.body.data.find((role: Body) => role.key === "dispatcher")).toEqual({
    key: "dispatcher",
    name: { en: "Dispatcher", ar: expect.any(String), ku: expect.any(String) },
    permissions: ["manage:operations:tenant", "view:tenant"],
  });
  const permissions = await a.staff.get(`/tenants/${a.id}/permissions`);
  expect(permissions.body.data.map((permission: Body) => permission.key)).toEqual([
    "manage:module:warehouse",
    "manage:operations:tenant",
    "manage:tenant",
    "view:tenant",
  ]);
  expect(await a.driver.get(`/tenants/${a.id}/roles`)).toFailWith(403, "forbidden");
  expect(await b.admin.get(`/tenants/${a.id}/permissions`)).toFailWith(403, "forbidden");
  expect(await nobody.get(`/tenants/${a.id}/roles`)).toFailWith(401, "unauthorized");
});
