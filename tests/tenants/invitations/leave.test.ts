/** A person leaves a company by their own call, and its last administrator does not. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, nobody, type Person, signedIn } from "../../support/api.ts";
import { claimsOf, signIn } from "../../support/auth.ts";
import { sql } from "../../support/db.ts";
import { accept, account, invited, membershipsOf } from "../../support/invitations.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";

let a: Tenant;
let b: Tenant;
let system: Person;
beforeAll(async () => {
  [a, b, system] = await Promise.all([newTenant(), newTenant(), newSystemAdmin()]);
});

describe("leaving", () => {
  const leave = (who: Person, tenant: { id: string }) => who.post(`/tenants/${tenant.id}/leave`);

  test("lets a person go, out of the list and out of every right, and not back without a yes", async () => {
    const { email, id, who } = await account();
    const first = await invited(a, email, { tenant_user_type: "driver", roles: ["driver"] });
    await accept(who, first.id);
    const inside = signedIn(id, a.id);
    expect(await inside.get("/delivery/addresses")).toSucceed(200);
    const left = await leave(who, a);
    expect(left).toSucceed(200);
    expect(left.body).toMatchObject({ tenant_id: a.id, left_at: expect.any(String) });
    expect(await inside.get("/delivery/addresses")).toFailWith(403, "forbidden");
    expect((await who.get("/tenants/me")).body.memberships).toEqual([]);
    expect(claimsOf((await signIn(email, "their own secret"))!).app_metadata)
      .not.toHaveProperty("tenant_id");
    expect(await sql`select status from delivery.drivers where user_id = ${id}`)
      .toEqual([{ status: "inactive" }]);
    const path = `/tenants/${a.id}/users`;
    expect((await a.admin.get(path, { query: { search: email } })).body.data).toEqual([]);
    const { tenant_users } = (await a.admin.get(`/tenants/${a.id}`)).body.tenant;
    expect(tenant_users.map((one: Body) => one.user_id)).not.toContain(id);
    expect(await a.admin.put(`${path}/${id}`, { is_active: true }))
      .toFailWith(404, "user_not_found");
    const [event] = await sql`select event_data from integration.system_events
      where tenant_id = ${a.id} and event_type = 'tenant_user.left' and entity_id = ${id}`;
    expect(event.event_data).toEqual({ user_id: id, tenant_user_type: "driver", actor_id: id });
    expect(await leave(who, a)).toFailWith(403, "forbidden");

    const second = await invited(a, email);
    expect(await accept(who, second.id)).toSucceed(200);
    expect(await membershipsOf(id))
      .toEqual([{ tenant_id: a.id, tenant_user_type: "staff", is_active: true, left_at: null }]);
    expect((await who.get("/tenants/me")).body.memberships).toMatchObject([{
      roles: ["dispatcher"],
    }]);
  });

  test("the chosen tenant is never replaced silently: the next token names none", async () => {
    const { email, id, who } = await account();
    await accept(who, (await invited(a, email)).id);
    await accept(who, (await invited(b, email)).id);
    const tokenOf = async () => claimsOf((await signIn(email, "their own secret"))!).app_metadata;
    expect(await tokenOf()).toMatchObject({ tenant_id: a.id });
    await leave(who, a);
    expect(await tokenOf()).not.toHaveProperty("tenant_id");
    expect(await signedIn(id, null).post(`/tenants/${b.id}/switch`)).toSucceed(200);
    expect(await tokenOf()).toMatchObject({ tenant_id: b.id });
  });

  test("is no way out for the last administrator, also of two who leave at once", async () => {
    const tenant = await newTenant();
    expect(await leave(tenant.admin, tenant)).toFailWith(409, "last_tenant_admin");
    const second = await newPerson(tenant.id, "staff", "tenant_admin");
    const answers = await Promise.all([leave(tenant.admin, tenant), leave(second, tenant)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  test("is the person's own, of a company they belong to", async () => {
    expect(await leave(a.driver, b)).toFailWith(403, "forbidden");
    expect(await leave(system, a)).toFailWith(403, "forbidden");
    expect(await leave(nobody, a)).toFailWith(401, "unauthorized");
    expect(await leave(a.driver, { id: "none" })).toFailWith(400, "invalid_uuid");
    const suspended = await newTenant();
    await sql`update tenancy.tenants set status = 'suspended' where id = ${suspended.id}`;
    expect(await leave(suspended.driver, suspended)).toSucceed(200);
  });
});
