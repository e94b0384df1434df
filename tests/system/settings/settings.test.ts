import { beforeAll, expect, test } from "vitest";
import { nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

const path = "/system/settings";
const general = { key: "general", name: { en: "General", ar: "عام", ku: "گشتی" } };
let system: Person;
let a: Tenant;
beforeAll(async () => {
  [system, a] = await Promise.all([newSystemAdmin(), newTenant()]);
});

test("all settings are there from the start, and keys choose among them", async () => {
  const answer = await system.get(path);
  expect(answer).toSucceed(200);
  expect(answer.body).toEqual({
    success: true,
    message: "Retrieved.",
    settings: {
      "tenant_subscription.enabled": false,
      "storefront.directory_categories": expect.arrayContaining([general]),
      "currencies.enabled": null,
    },
  });
  const keys = "tenant_subscription.enabled, nothing";
  expect((await system.get(path, { query: { keys } })).body.settings)
    .toEqual({ "tenant_subscription.enabled": false });
  expect((await system.get(path, { query: { keys: "nothing" } })).body.settings).toEqual({});
});

test("a setting is set as a whole, kept and written down; the others stay", async () => {
  const categories = [general, { key: "food", name: { en: "Food" } }];
  const answer = await system.put(path, {
    settings: { "storefront.directory_categories": categories },
  });
  expect(answer).toSucceed(200);
  expect(answer.body.settings).toEqual({ "storefront.directory_categories": categories });
  expect((await system.get(path)).body.settings["currencies.enabled"]).toBeNull();
  const [audit] = await sql`select actor_id, after from app.audit_log
    where entity = 'tenancy.system_settings' and actor_id = ${system.id} order by id desc limit 1`;
  expect(audit.after.value).toEqual(categories);
});

const bad: [string, unknown, string, string][] = [
  ["no settings", undefined, "validation_failed", "settings"],
  ["none named", {}, "validation_failed", "settings"],
  ["one that does not exist", { nothing: 1 }, "validation_failed", "settings.nothing"],
  [
    "text for yes",
    { "tenant_subscription.enabled": "yes" },
    "validation_failed",
    "settings.tenant_subscription.enabled",
  ],
  [
    "categories without general",
    { "storefront.directory_categories": [{ ...general, key: "food" }] },
    "validation_failed",
    "settings.storefront.directory_categories",
  ],
  [
    "a category twice",
    { "storefront.directory_categories": [general, general] },
    "validation_failed",
    "settings.storefront.directory_categories",
  ],
  [
    "a currency that does not exist",
    { "currencies.enabled": ["XXX"] },
    "invalid_reference",
    "settings.currencies.enabled",
  ],
];
test.each(bad)("%s is refused", async (_, settings, code, field) => {
  const answer = await system.put(path, { settings });
  expect(answer).toFailWith(400, code);
  expect(answer.body.field).toBe(field);
});

test("only those who manage the system read or set them", async () => {
  for (const person of [a.admin, a.driver]) {
    expect(await person.get(path)).toFailWith(403, "forbidden");
    expect(await person.put(path, {})).toFailWith(403, "forbidden");
  }
  expect(await nobody.get(path)).toFailWith(401, "unauthorized");
  expect(await nobody.put(path, {})).toFailWith(401, "unauthorized");
  expect((await a.admin.in("ku").put(path, {})).body.message).toMatch(/[\u0600-\u06ff]/);
});

test("the database lets nobody else set them either", async () => {
  const tried = sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${a.id}, true),
      set_config('app.grants', '{permission:manage:tenant}', true), set_config('role', 'barid_caller', true)`;
    return (await tx`update tenancy.system_settings set value = 'true'`).count;
  });
  expect(await tried).toBe(0);
});
