/** The default driver is a setting: to name one waits for others who change settings, and they for it. */
import { beforeAll, expect, test } from "vitest";
import type { Answer } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { equippedDriver, storedDriver } from "../../support/fleet.ts";
import { overlapping } from "../../support/overlapping.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

const path = "/delivery/drivers";
let tenant: Tenant;
let driver: string;
beforeAll(async () => {
  tenant = await newTenant();
  driver = await equippedDriver(tenant);
});

const settings = () => `/tenants/${tenant.id}/settings`;
const tagOf = async () =>
  (await tenant.admin.get(settings())).headers.get("etag")!.replace("W/", "");
/** Saves another group than the one that names the driver. */
const save = (tag: string) =>
  tenant.admin.put(settings(), {
    general: { mobile: { settings: { show_tenant_list_page: true } } },
  }, {
    headers: { "if-match": tag },
  });

/** Does a work of operations in a transaction that is still open; answers an administrator who saves meanwhile what they read before. */
const savedBeside = async (work: string, input: object): Promise<Answer> => {
  const tag = await tagOf();
  return await overlapping(async (session) => {
    await session`select set_config('app.tenant_id', ${tenant.id}, true),
      set_config('app.user_id', ${tenant.ops.id}, true), set_config('app.sees_tenant', 'on', true)`;
    await session.unsafe(`select ${work}($1::text::jsonb)`, [JSON.stringify(input)]);
  }, () => save(tag));
};

test("settings that were read before are not saved over a driver who is named meanwhile", async () => {
  for (const value of [true, false]) {
    expect(await savedBeside("delivery.driver_update", { id: driver, default: value }))
      .toFailWith(412, "version_conflict");
    expect((await storedDriver(driver)).default_driver).toBe(value ? driver : null);
  }
  const { id } = await newPerson(tenant.id, "driver", "driver");
  expect(await savedBeside("delivery.driver_create", { user_id: id, default: true }))
    .toFailWith(412, "version_conflict");
  expect((await storedDriver(id)).default_driver).toBe(id);
});

test("a driver is named after the settings that others save at the moment", async () => {
  const patches = [{ module: "delivery", group: "proof_settings", settings: { x: 1 } }];
  const answer = await overlapping(async (session) => {
    await session`select set_config('app.tenant_id', ${tenant.id}, true),
      set_config('app.user_id', ${tenant.admin.id}, true), set_config('app.sees_tenant', 'on', true)`;
    await session`select tenancy.settings_save(${sql.json({ patches })})`;
  }, () => tenant.ops.patch(`${path}/${driver}`, { default: true }));
  expect(answer).toSucceed(200);
  expect((await storedDriver(driver)).default_driver).toBe(driver);
});

test("who changes a driver in another way waits for nobody's settings", async () => {
  const tag = await tagOf();
  expect(await tenant.ops.patch(`${path}/${driver}`, { all_zones: true })).toSucceed(200);
  expect(await save(tag)).toSucceed(200);
});

test("named by several at once, one of them is the default driver", async () => {
  const drivers = [driver, await equippedDriver(tenant), await equippedDriver(tenant)];
  const answers = await Promise.all(
    drivers.map((id) => tenant.ops.patch(`${path}/${id}`, { default: true })),
  );
  for (const answer of answers) expect(answer).toSucceed(200);
  const { data } = (await tenant.ops.get(path, { query: { limit: 100 } })).body;
  expect(data.filter(({ is_default }: { is_default: boolean }) => is_default)).toHaveLength(1);
});
