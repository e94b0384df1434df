import { beforeAll, expect, test } from "vitest";
import { type Answer, type Person, withKey } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newDelivery, newGround } from "../../support/deliveries.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

const path = (tenant: { id: string }, user: { id: string }) =>
  `/tenants/${tenant.id}/users/${user.id}`;
const member = async (tenant: { id: string }, user: { id: string }) =>
  (await sql`select * from tenancy.tenant_users where tenant_id = ${tenant.id} and user_id = ${user.id}`)[
    0
  ];
const rolesOf = async (tenant: { id: string }, user: { id: string }) =>
  (await sql`select role_key from tenancy.tenant_user_roles
    where tenant_id = ${tenant.id} and user_id = ${user.id} order by 1`).map((row) => row.role_key);

test("a user's name, phone, number, kind of customer and roles change, and the trail says who did it", async () => {
  const user = await newPerson(a.id, "staff", "dispatcher");
  const answer = await a.admin.put(path(a, user), {
    full_name: "New Name",
    phone: "0770",
    employee_id: "E-7",
    is_business: true,
    roles: ["warehouse_manager", "operations_manager", "warehouse_manager"],
  });
  expect(answer).toSucceed(200);
  expect(answer.body.user).toMatchObject({
    id: user.id,
    full_name: "New Name",
    phone: "0770",
    employee_id: "E-7",
    is_business: true,
    roles: ["operations_manager", "warehouse_manager"],
  });
  const cleared = await a.admin.put(path(a, user), { phone: null, employee_id: null });
  expect(cleared.body.user).toMatchObject({
    phone: null,
    employee_id: null,
    full_name: "New Name",
  });
  const trail = await sql`select distinct entity from app.audit_log
    where tenant_id = ${a.id} and actor_id = ${a.admin.id} and operation = 'PUT /tenants/:tenantId/users/:userId'
    order by 1`;
  expect(trail.map((row) => row.entity)).toEqual([
    "tenancy.profiles",
    "tenancy.tenant_user_roles",
    "tenancy.tenant_users",
  ]);
});

test("roles taken away hold from the next request on", async () => {
  const user = await newPerson(a.id, "staff", "tenant_admin");
  expect(await user.get(`/tenants/${a.id}/users`)).toSucceed();
  expect(await a.admin.put(path(a, user), { roles: ["warehouse_staff"] })).toSucceed();
  expect(await user.get(`/tenants/${a.id}/users`)).toFailWith(403, "forbidden");
});

test("a deactivated user is out at once, keeps their rows and can be let in again", async () => {
  const driver = await newPerson(a.id, "driver", "driver");
  await sql`insert into delivery.drivers (tenant_id, user_id) values (${a.id}, ${driver.id})`;
  const status = async () =>
    (await sql`select status from delivery.drivers where user_id = ${driver.id}`)[0].status;
  const answer = await a.admin.post(`${path(a, driver)}/deactivate`);
  expect(answer).toSucceed(200);
  expect(answer.body.user).toMatchObject({ id: driver.id, is_active: false });
  expect(await driver.get(`/tenants/${a.id}/settings`)).toFailWith(403, "forbidden");
  expect(await status()).toBe("inactive");
  expect(await a.admin.post(`${path(a, driver)}/deactivate`)).toSucceed(200);
  expect(await a.admin.put(path(a, driver), { is_active: true })).toSucceed();
  expect(await driver.get(`/tenants/${a.id}/settings`)).toSucceed();
  expect(await status()).toBe("active");
});

test("saving the whole row of a driver who rests does not send them out, nor makes a driver of who is none any more", async () => {
  const driver = await newPerson(a.id, "driver", "driver");
  await sql`insert into delivery.drivers (tenant_id, user_id, status) values (${a.id}, ${driver.id}, 'inactive')`;
  const status = async () =>
    (await sql`select status from delivery.drivers where user_id = ${driver.id}`)[0].status;
  expect(await a.admin.put(path(a, driver), { phone: "+9647701234567", is_active: true }))
    .toSucceed(200);
  expect(await status()).toBe("inactive");
  await sql`update tenancy.tenant_users set tenant_user_type = 'customer' where user_id = ${driver.id}`;
  await sql`delete from tenancy.tenant_user_roles where user_id = ${driver.id}`;
  for (const is_active of [false, true]) {
    expect(await a.admin.put(path(a, driver), { is_active })).toSucceed(200);
    expect(await status()).toBe("inactive");
  }
  // Their row as a driver was active when they stopped being one.
  await sql`update delivery.drivers set status = 'active' where user_id = ${driver.id}`;
  const ground = await newGround(a);
  const { id } = await newDelivery(ground);
  expect(await a.ops.post("/delivery/assignments", { delivery_id: id, driver_id: driver.id }))
    .toFailWith(409, "driver_not_active");
});

test("nobody deactivates themselves", async () => {
  await newPerson(a.id, "staff", "tenant_admin");
  expect(await a.admin.post(`${path(a, a.admin)}/deactivate`)).toFailWith(
    409,
    "cannot_deactivate_self",
  );
  expect(await a.admin.put(path(a, a.admin), { is_active: false })).toFailWith(
    409,
    "cannot_deactivate_self",
  );
  expect((await member(a, a.admin)).is_active).toBe(true);
});

test("the last administrator stays one, whoever asks", async () => {
  const tenant = await newTenant();
  expect(await tenant.admin.put(path(tenant, tenant.admin), { roles: ["dispatcher"] }))
    .toFailWith(409, "last_tenant_admin");
  const system = await newSystemAdmin();
  expect(await system.post(`${path(tenant, tenant.admin)}/deactivate`))
    .toFailWith(409, "last_tenant_admin");
  expect(await rolesOf(tenant, tenant.admin)).toEqual(["tenant_admin"]);
  const second = await newPerson(tenant.id, "staff", "tenant_admin");
  expect(await system.post(`${path(tenant, tenant.admin)}/deactivate`)).toSucceed();
  expect(await second.put(path(tenant, second), { roles: ["dispatcher"] })).toFailWith(
    409,
    "last_tenant_admin",
  );
});

test("deactivating a person names the keys that stop; another administrator takes one over first", async () => {
  const tenant = await newTenant();
  const second = await newPerson(tenant.id, "staff", "tenant_admin");
  const keyOf = async (name: string, scopes: string[]) => {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const { body } = await second.post("/tenants/me/api-keys", { name, scopes, expires_at });
    return body as { api_key: { id: string; hint: string }; key: string };
  };
  const [shop, till, old] = [
    await keyOf("Shop", ["view:tenant", "manage:tenant"]),
    await keyOf("Till", ["view:tenant"]),
    await keyOf("Old", ["view:tenant"]),
  ];
  await second.delete(`/tenants/me/api-keys/${old.api_key.id}`);
  const taken = await tenant.admin.post(`/tenants/me/api-keys/${till.api_key.id}/take-over`);
  expect(taken).toSucceed(200);

  // A narrower role narrows the key at once; it stops when nothing is left.
  const narrowed = await tenant.admin.put(path(tenant, second), { roles: ["dispatcher"] });
  expect(narrowed.body.stopped_api_keys).toEqual([]);
  expect(await withKey(shop.key).get(`/tenants/${tenant.id}/users`)).toFailWith(403, "forbidden");
  expect(await withKey(shop.key).get(`/tenants/${tenant.id}`)).toSucceed(200);
  const mine = await tenant.admin.get("/tenants/me/api-keys", { query: { created_by: second.id } });
  expect(mine.body.data.map(({ name }: { name: string }) => name)).toEqual(["Old", "Shop"]);
  expect(mine.body.data[1]).toMatchObject({
    scopes: ["manage:tenant", "view:tenant"],
    effective_scopes: ["view:tenant"],
    status: "active",
  });

  const answer = await tenant.admin.post(`${path(tenant, second)}/deactivate`);
  expect(answer).toSucceed(200);
  expect(answer.body.stopped_api_keys)
    .toEqual([{ id: shop.api_key.id, name: "Shop", hint: shop.api_key.hint }]);
  expect(await withKey(shop.key).get(`/tenants/${tenant.id}`)).toFailWith(401, "api_key_stopped");
  expect(await withKey(till.key).get("/delivery/addresses")).toSucceed(200);
  const stopped = await tenant.admin.get("/tenants/me/api-keys", { query: { status: "stopped" } });
  expect(stopped.body.data).toMatchObject([{ id: shop.api_key.id, status: "stopped" }]);
  expect(await tenant.admin.put(path(tenant, second), { is_active: true, roles: ["tenant_admin"] }))
    .toSucceed(200);
  expect(await withKey(shop.key).get(`/tenants/${tenant.id}/users`)).toSucceed(200);
});

test("administrators who remove each other at the same moment leave one", async () => {
  for (let round = 0; round < 8; round++) {
    const tenant = await newTenant();
    const second = await newPerson(tenant.id, "staff", "tenant_admin");
    let calls: Promise<Answer>[] = [];
    // Both are held at the rows they change and let go together.
    await sql.begin(async (tx) => {
      await tx`select from tenancy.tenant_users where tenant_id = ${tenant.id} for update`;
      calls = [
        tenant.admin.post(`${path(tenant, second)}/deactivate`),
        second.post(`${path(tenant, tenant.admin)}/deactivate`),
      ];
      await new Promise((resolve) => setTimeout(resolve, 80));
    });
    const answers = await Promise.all(calls);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const [{ left }] = await sql`select count(*)::int as left from tenancy.tenant_users u
      join tenancy.tenant_user_roles r using (tenant_id, user_id)
      where u.tenant_id = ${tenant.id} and r.role_key = 'tenant_admin' and u.is_active`;
    expect(left).toBe(1);
  }
});

test("e-mail and kind may be sent as they are and not otherwise", async () => {
  const user = await newPerson(a.id, "staff", "dispatcher");
  const [{ email }] = await sql`select email from tenancy.profiles where id = ${user.id}`;
  expect(
    await a.admin.put(path(a, user), { email: email.toUpperCase(), tenant_user_type: "staff" }),
  ).toSucceed();
  const taken = await a.admin.put(path(a, user), { email: "other@barid.test" });
  expect(taken).toFailWith(409, "user_field_fixed");
  expect(taken.body.field).toBe("email");
  expect((await a.admin.put(path(a, user), { tenant_user_type: "driver" })).body)
    .toMatchObject({ code: "user_field_fixed", field: "tenant_user_type" });
});

test("the profile of somebody whom another tenant knows is their own", async () => {
  const shared = await newPerson(a.id, "staff", "dispatcher");
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
    values (${b.id}, ${shared.id}, 'customer')`;
  const [{ full_name }] = await sql`select full_name from tenancy.profiles where id = ${shared.id}`;
  expect((await b.admin.put(path(b, shared), { full_name: "Hijacked" })).body)
    .toMatchObject({ code: "user_field_fixed", field: "full_name" });
  expect(await b.admin.put(path(b, shared), { full_name, is_business: true })).toSucceed();
  expect((await sql`select full_name from tenancy.profiles where id = ${shared.id}`)[0].full_name)
    .toBe(full_name);
  expect((await member(a, shared)).is_business).toBe(false);
});

test("users of another tenant do not exist here", async () => {
  const before = await member(b, b.staff);
  for (const somebody of [b.staff, { id: crypto.randomUUID() } as Person]) {
    expect(await a.admin.put(path(a, somebody), { full_name: "X" })).toFailWith(
      404,
      "user_not_found",
    );
    expect(await a.admin.post(`${path(a, somebody)}/deactivate`)).toFailWith(404, "user_not_found");
  }
  expect(await a.admin.put(path(b, b.staff), { roles: ["dispatcher"] })).toFailWith(
    403,
    "forbidden",
  );
  expect(await member(b, b.staff)).toEqual(before);
  expect(await rolesOf(b, b.staff)).toEqual(["warehouse_staff"]);
});

test.each([
  [{ full_name: "" }, "full_name"],
  [{ full_name: null }, "full_name"],
  [{ phone: "1" }, "phone"],
  [{ roles: ["system_admin"] }, "roles.0"],
  [{ is_active: "no" }, "is_active"],
  [{ employee_id: "x".repeat(65) }, "employee_id"],
])("the change %j is refused", async (body, field) => {
  const answer = await a.admin.put(path(a, a.staff), body);
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toBe(field);
});

test("a malformed user id is refused, and roles that do not fit the kind", async () => {
  const answer = await a.admin.put(`/tenants/${a.id}/users/nobody`, {});
  expect(answer).toFailWith(400, "invalid_uuid");
  expect(answer.body.field).toBe("userId");
  expect(await a.admin.put(path(a, a.driver), { roles: ["tenant_admin"] })).toFailWith(
    400,
    "invalid_roles",
  );
  expect(await rolesOf(a, a.driver)).toEqual(["driver"]);
});

test("a change sent twice under one Idempotency-Key happens once", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const user = await newPerson(a.id, "staff", "dispatcher");
  const first = await a.admin.put(path(a, user), { employee_id: "1" }, { headers });
  await a.admin.put(path(a, user), { employee_id: "2" });
  const again = await a.admin.put(path(a, user), { employee_id: "1" }, { headers });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect((await member(a, user)).employee_id).toBe("2");
});
