/** Accounts that Auth deletes softly, or bans, may do nothing any more, whatever they could before. */
import { beforeAll, expect, test } from "vitest";
import { type Person, withKey } from "../../support/api.ts";
import { expires_at, path as keysPath, scopes } from "../../support/api-keys.ts";
import { newDriver } from "../../support/assignments.ts";
import { ban, deleteSoftly } from "../../support/auth.ts";
import { sql } from "../../support/db.ts";
import { listedDriver } from "../../support/fleet.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

test("an administrator of the system manages nothing any more, nor do the keys they made", async () => {
  const system = await newSystemAdmin();
  const query = { tenant_id: tenant.id };
  const body = { name: "Billing", scopes, expires_at };
  const { body: { key } } = await system.post(keysPath, body, { query });
  const detail = (who: Person) => who.get(`/tenants/${tenant.id}`);
  expect(await detail(system)).toSucceed(200);
  expect(await detail(withKey(key))).toSucceed(200);
  await deleteSoftly(system.id);
  expect(await detail(system)).toFailWith(401, "unauthorized");
  expect(await system.get("/tenants")).toFailWith(401, "unauthorized");
  expect(await sql`select from tenancy.system_users where user_id = ${system.id}`).toEqual([]);
  expect(await detail(withKey(key))).toFailWith(401, "api_key_stopped");
});

test("a driver is active, on duty and online in no company", async () => {
  const driver = await newDriver(tenant);
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
    values (${other.id}, ${driver.id}, 'driver')`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    values (${other.id}, ${driver.id}, 'driver')`;
  await sql`insert into delivery.drivers (tenant_id, user_id) values (${other.id}, ${driver.id})`;
  for (const { id: tenant_id } of [tenant, other]) {
    const duty = { on_duty: true };
    const on = await driver.post("/delivery/drivers/me/duty", duty, { query: { tenant_id } });
    expect(on).toSucceed(200);
  }
  await deleteSoftly(driver.id);
  for (const company of [tenant, other]) {
    expect(await listedDriver(company, driver.id)).toMatchObject({
      user: { email: null, phone: null },
      status: "inactive",
      on_duty: false,
      is_online: false,
    });
    const events = await sql`select event_data from integration.system_events
      where tenant_id = ${company.id} and event_type = 'driver.duty_changed' and entity_id = ${driver.id}
      order by position`;
    expect(events.map(({ event_data }) => event_data)).toEqual([
      { driver_id: driver.id, on_duty: true, actor_id: driver.id },
      { driver_id: driver.id, on_duty: false, actor_id: null },
    ]);
  }
});

test("each company reads in its log that the person was shut out", async () => {
  const person = await newPerson(tenant.id, "staff", "dispatcher");
  await deleteSoftly(person.id);
  const query = { entity_type: "tenancy.tenant_users", entity_id: person.id, action: "update" };
  const { data } = (await tenant.admin.get("/tenants/me/audit", { query })).body;
  expect(data).toMatchObject([
    { before: { is_active: true }, after: { is_active: false }, actor_id: null, operation: null },
  ]);
});

test("nobody makes the membership of a deleted account active again", async () => {
  const driver = await newDriver(tenant);
  await deleteSoftly(driver.id);
  const path = `/tenants/${tenant.id}/users/${driver.id}`;
  const answer = await tenant.admin.put(path, { is_active: true });
  expect(answer).toFailWith(409, "user_field_fixed");
  expect(answer.body.field).toBe("is_active");
  expect(
    await sql`select u.is_active, d.status from tenancy.tenant_users u
    join delivery.drivers d using (tenant_id, user_id) where u.user_id = ${driver.id}`,
  )
    .toEqual([{ is_active: false, status: "inactive" }]);
  // A row that is sent as it is changes nothing, and the number may be corrected.
  const whole = await tenant.admin.put(path, { is_active: false, employee_id: "E-9" });
  expect(whole).toSucceed(200);
  expect(whole.body.user).toMatchObject({ is_active: false, employee_id: "E-9" });
});

test("a banned person is refused with the token they had, and their keys stop until the ban is lifted", async () => {
  const admin = await newPerson(tenant.id, "staff", "tenant_admin");
  const { body: { key } } = await admin.post(keysPath, { name: "Shop", scopes, expires_at });
  const detail = (who: Person) => who.get(`/tenants/${tenant.id}`);
  await ban(admin.id, "24h");
  expect(await detail(admin)).toFailWith(401, "unauthorized");
  expect(await admin.get("/tenants/me")).toFailWith(401, "unauthorized");
  expect(await detail(withKey(key))).toFailWith(401, "api_key_stopped");
  const listed = await tenant.admin.get(keysPath, { query: { created_by: admin.id } });
  expect(listed.body.data).toMatchObject([{ status: "stopped", effective_scopes: [] }]);
  await ban(admin.id, "none");
  expect(await detail(admin)).toSucceed(200);
  expect(await detail(withKey(key))).toSucceed(200);
});
