/** The audit log of a tenant, as its administrators read it. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { type Body, nobody, withKey } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

const path = "/tenants/me/audit";
let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const list = async (query: Record<string, string | number> = {}): Promise<Body> => {
  const answer = await tenant.admin.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
};

test("says who changed what, before and after, in which call, and what the client called it", async () => {
  const { body: { data: address } } = await tenant.dispatcher.post("/delivery/addresses", {
    full_address: "Karrada 5",
    city: "Baghdad",
  });
  const changed = await tenant.ops.patch(`/delivery/addresses/${address.id}`, { city: "Erbil" }, {
    headers: { "x-request-id": "my-own.name" },
  });
  const request_id = changed.headers.get("x-request-id");
  expect(request_id).not.toBe("my-own.name");
  const { data: changes, pagination } = await list({ entity_id: address.id });
  expect(pagination).toEqual({ page: 1, limit: 50, total: 2, total_pages: 1 });
  expect(changes[0]).toEqual({
    id: expect.any(Number),
    created_at: expect.any(String),
    entity_type: "delivery.addresses",
    entity_id: address.id,
    action: "update",
    before: { city: "Baghdad" },
    after: { city: "Erbil" },
    operation: "PATCH /delivery/addresses/:address_id",
    actor_id: tenant.ops.id,
    actor_name: expect.stringContaining("ops"),
    actor_key_id: null,
    actor_key_name: null,
    request_id,
    client_request_id: "my-own.name",
  });
  expect(changes[1]).toMatchObject({
    action: "insert",
    before: null,
    after: { full_address: "Karrada 5" },
    actor_id: tenant.dispatcher.id,
  });
});

test("names the key of a program", async () => {
  const { body: { api_key, key } } = await tenant.admin.post("/tenants/me/api-keys", {
    name: "Scanner",
    scopes: ["manage:operations:tenant"],
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const made = await withKey(key).post("/delivery/zone-tags", { name: "by-a-key" });
  expect(made).toSucceed(201);
  const { data: changes } = await list({ actor_key_id: api_key.id });
  expect(changes).toMatchObject([{
    entity_type: "delivery.zone_tags",
    actor_id: null,
    actor_name: null,
    actor_key_id: api_key.id,
    actor_key_name: "Scanner",
  }]);
});

test("names the person, the group of settings and the module that a change is about", async () => {
  const own = await newTenant();
  const users = `/tenants/${own.id}/users/${own.dispatcher.id}`;
  expect(await own.admin.put(users, { full_name: "Another Name", employee_id: "E-7" }))
    .toSucceed(200);
  const settings = { general: { language: { settings: { default: "ar" } } } };
  for (const language of ["ar", "ku"]) {
    settings.general.language.settings.default = language;
    expect(await own.admin.put(`/tenants/${own.id}/settings`, settings)).toSucceed(200);
  }
  const system = await newSystemAdmin();
  const { data: modules } = (await system.get(`/tenants/${own.id}/modules`)).body;
  const enabled = modules.slice(1).map(({ id }: Body) => id);
  for (const enabled_module_ids of [enabled, [...enabled, modules[0].id]]) {
    expect(await system.put(`/tenants/${own.id}/modules`, { enabled_module_ids })).toSucceed(200);
  }
  const changes = async (entity_type: string, entity_id: string) => {
    const query = { entity_type, entity_id, action: "update" };
    return (await own.admin.get(path, { query })).body.data;
  };
  expect(await changes("tenancy.tenant_users", own.dispatcher.id))
    .toMatchObject([{ after: { employee_id: "E-7" }, actor_id: own.admin.id }]);
  expect(await changes("tenancy.profiles", own.dispatcher.id))
    .toMatchObject([{ after: { full_name: "Another Name" }, actor_id: own.admin.id }]);
  expect(await changes("tenancy.tenant_settings", "general.language"))
    .toMatchObject([{ after: { settings: { default: "ku" } } }]);
  expect(await changes("tenancy.tenant_modules", modules[0].id))
    .toMatchObject([{
      before: { is_enabled: false },
      after: { is_enabled: true },
      actor_id: system.id,
    }]);
});

test("holds what schedules and the system's administrators change of the company", async () => {
  const system = await newSystemAdmin();
  const made = await system.post("/tenants", { name: { en: "New" }, slug: `new-${randomUUID()}` });
  const { id: tenant_id } = made.body.tenant;
  const listed = async (query: Record<string, string>) =>
    (await system.get(path, { query: { ...query, tenant_id } })).body.data;
  expect(await listed({ entity_type: "tenancy.tenants" }))
    .toMatchObject([{ entity_id: tenant_id, action: "insert", actor_id: system.id }]);
  const [{ id }] = await sql`insert into tenancy.invitations (tenant_id, email, person, expires_at)
    values (${tenant_id}, 'old@barid.test', '{}', now() - interval '91 days') returning id`;
  await sql`select tenancy.invitations_purge()`;
  expect(await listed({ entity_id: id, action: "delete" })).toHaveLength(1);
});

test("narrows by what, who, which request and when, pages and sorts", async () => {
  const own = await newTenant();
  const ask = async (query: Record<string, string | number>) =>
    (await own.admin.get(path, { query })).body;
  for (const name of ["one", "two", "three"]) {
    await own.dispatcher.post("/delivery/zone-tags", { name });
  }
  const { data: changes } = await ask({
    entity_type: "delivery.zone_tags",
    actor_id: own.dispatcher.id,
  });
  expect(changes.map(({ after }: Body) => after.name)).toEqual(["three", "two", "one"]);
  const second = await ask({ entity_type: "delivery.zone_tags", limit: 2, page: 2 });
  expect(second.data.map(({ after }: Body) => after.name)).toEqual(["one"]);
  expect(second.pagination).toMatchObject({ total: 3, total_pages: 2 });
  const oldest = await ask({ entity_type: "delivery.zone_tags", sort_order: "asc", limit: 1 });
  expect(oldest.data[0].after.name).toBe("one");
  expect((await ask({ request_id: changes[0].request_id })).data).toEqual([changes[0]]);
  const entity_type = "delivery.zone_tags";
  expect((await ask({ entity_type, from: changes[0].created_at })).pagination.total).toBe(1);
  expect((await ask({ entity_type, to: "2020-01-01" })).pagination.total).toBe(0);
  expect((await ask({ actor_id: own.admin.id, entity_type })).pagination.total).toBe(0);
  for (const [name, value] of [["actor_id", "x"], ["from", "soon"], ["action", "look"]]) {
    const wrong = await own.admin.get(path, { query: { [name]: value } });
    expect(wrong.status).toBe(400);
    expect(wrong.body.field).toBe(name);
  }
});

test("is read as a file, with more rows than a step of the export", async () => {
  const own = await newTenant();
  await sql`insert into app.audit_log (tenant_id, entity, entity_id, action, after)
    select ${own.id}, 'test.rows', n::text, 'insert', jsonb_build_object('n', n) from generate_series(1, 2500) n`;
  const file = await own.admin.get(path, { query: { format: "csv", entity_type: "test.rows" } });
  expect(file.headers.get("content-type")).toContain("text/csv");
  const lines = new TextDecoder().decode(file.body).trim().split("\r\n");
  expect(lines).toHaveLength(2_501);
  expect(lines[0]).toContain("entity_type,entity_id,action,before,after,operation");
  expect(new Set(lines).size).toBe(2_501);
});

test("is the administrators' of the company, and holds no secret", async () => {
  for (const who of [tenant.ops, tenant.dispatcher, tenant.staff, tenant.driver, tenant.customer]) {
    expect(await who.get(path)).toFailWith(403, "forbidden");
  }
  expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  const foreign = await tenant.admin.get(path, { query: { tenant_id: other.id } });
  expect(foreign).toFailWith(403, "forbidden");
  await other.dispatcher.post("/delivery/zone-tags", { name: "theirs" });
  const [row] = await sql`select entity_id from app.audit_log
    where tenant_id = ${other.id} and entity = 'delivery.zone_tags'`;
  expect((await list({ entity_id: row.entity_id })).data).toEqual([]);
  await tenant.admin.post(`/tenants/${tenant.id}/users`, {
    email: `audited-${tenant.id}@barid.test`,
    password: "never in the log",
    full_name: "N",
    tenant_user_type: "staff",
    roles: ["dispatcher"],
  });
  const all = JSON.stringify((await list({ limit: 200 })).data);
  expect(all).toContain("tenancy.invitations");
  expect(all).not.toMatch(/key_hash|sealed_password|account_id/);
});
