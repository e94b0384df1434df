import { beforeAll, expect, test } from "vitest";
import { type Body, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let system: Person;
let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [system, a, b] = await Promise.all([newSystemAdmin(), newTenant(), newTenant()]);
});
const modulesOf = (tenant: Tenant) => `/tenants/${tenant.id}/modules`;

test("a tenant has every module until somebody says otherwise", async () => {
  const answer = await a.staff.get(modulesOf(a));
  expect(answer).toSucceed(200);
  expect(answer.body.data.map((module: Body) => module.key)).toEqual([
    "delivery",
    "cod",
    "warehousing",
    "storefront",
    "carriers",
    "webhooks",
  ]);
  expect(answer.body.data[0]).toEqual({
    id: expect.any(String),
    key: "delivery",
    name: { en: "Delivery", ar: expect.any(String), ku: expect.any(String) },
    is_enabled: true,
  });
  expect(answer.body.data.every((module: Body) => module.is_enabled)).toBe(true);
});

test("the modules given are those it has, told once, and another tenant keeps its own", async () => {
  const { data: modules } = (await system.get(modulesOf(a))).body;
  const enabled_module_ids = [modules[0].id, modules[3].id];
  const answer = await system.put(modulesOf(a), { enabled_module_ids });
  expect(answer).toSucceed(200);
  const had = answer.body.data.filter((module: Body) => module.is_enabled);
  expect(had.map((module: Body) => module.id)).toEqual(enabled_module_ids);
  expect((await a.admin.get(modulesOf(a))).body.data).toEqual(answer.body.data);
  expect(await system.put(modulesOf(a), { enabled_module_ids })).toSucceed(200);
  const events = await sql`select event_data from integration.system_events
    where tenant_id = ${a.id} and event_type = 'tenant.modules_changed'`;
  expect(events.map((event) => event.event_data.enabled)).toEqual([["delivery", "storefront"]]);
  expect((await b.admin.get(modulesOf(b))).body.data.every((m: Body) => m.is_enabled)).toBe(
    true,
  );
});

test("a module that does not exist is refused and nothing changes", async () => {
  const before = (await system.get(modulesOf(b))).body;
  const answer = await system.put(modulesOf(b), { enabled_module_ids: [crypto.randomUUID()] });
  expect(answer).toFailWith(400, "invalid_reference");
  expect(answer.body.field).toBe("enabled_module_ids");
  expect(await system.put(modulesOf(b), { enabled_module_ids: ["x"] })).toFailWith(
    400,
    "invalid_uuid",
  );
  expect(await system.put(modulesOf(b), {})).toFailWith(400, "validation_failed");
  expect((await system.get(modulesOf(b))).body).toEqual(before);
});

test("staff read, the system's administrators write, and no other tenant does either", async () => {
  expect(await a.admin.put(modulesOf(a), { enabled_module_ids: [] })).toFailWith(403, "forbidden");
  expect(await a.driver.get(modulesOf(a))).toFailWith(403, "forbidden");
  expect(await b.admin.get(modulesOf(a))).toFailWith(403, "forbidden");
  expect(await nobody.get(modulesOf(a))).toFailWith(401, "unauthorized");
  expect(await nobody.put(modulesOf(a), {})).toFailWith(401, "unauthorized");
});
