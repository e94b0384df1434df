import { beforeAll, expect, test } from "vitest";
import { nobody, signedIn, withToken } from "../../support/api.ts";
import { claimsOf, refresh, signIn, signUp } from "../../support/auth.ts";
import { sql, stack } from "../../support/db.ts";
import { newSystemAdmin, newTenant, saveSettings, type Tenant } from "../../support/people.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

async function join(tenant: Tenant, userId: string, type: string, role: string, active = true) {
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type, is_active)
    values (${tenant.id}, ${userId}, ${type}, ${active})`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
    values (${tenant.id}, ${userId}, ${role})`;
}

test("me tells who I am, my memberships with roles and permissions, and where my calls go", async () => {
  const answer = await a.dispatcher.get("/tenants/me");
  expect(answer).toSucceed(200);
  const { message: _, ...body } = answer.body;
  expect(body).toEqual({
    success: true,
    user: {
      id: a.dispatcher.id,
      email: expect.stringContaining("dispatcher-"),
      full_name: expect.stringContaining("dispatcher"),
      first_name: null,
      last_name: null,
      phone: expect.stringMatching(/^\+964/),
      avatar_url: null,
      is_system_admin: false,
    },
    memberships: [{
      tenant_id: a.id,
      slug: `t-${a.id}`,
      name: { en: "Tenant" },
      tenant_user_type: "staff",
      roles: ["dispatcher"],
      permissions: ["manage:operations:tenant", "view:tenant"],
      status: "active",
      subscription_status: expect.any(String),
      effective_active: true,
      effective_until: null,
    }],
    active_tenant_id: a.id,
  });
});

test("me works outside any tenant: for a new user, a gone membership, a tenant that is suspended", async () => {
  const loner = signedIn(await signUp(`loner-${a.id}@barid.test`, "long enough"), null);
  expect((await loner.get("/tenants/me")).body).toMatchObject({
    memberships: [],
    active_tenant_id: null,
    user: { email: `loner-${a.id}@barid.test` },
  });
  const stale = signedIn(loner.id, a.id);
  expect((await stale.get("/tenants/me")).body).toMatchObject({ active_tenant_id: null });
  const nowhere = signedIn(loner.id, crypto.randomUUID());
  expect((await nowhere.get("/tenants/me")).body).toMatchObject({ active_tenant_id: null });

  const suspended = await newTenant();
  await sql`update tenancy.tenants set status = 'suspended' where id = ${suspended.id}`;
  expect((await suspended.admin.get("/tenants/me")).body.memberships).toMatchObject([
    { tenant_id: suspended.id, status: "suspended", effective_active: false },
  ]);
});

test("me names no membership that is not active, and says who is a system administrator", async () => {
  await join(b, a.staff.id, "staff", "warehouse_staff", false);
  expect((await a.staff.get("/tenants/me")).body.memberships).toHaveLength(1);
  const system = await newSystemAdmin();
  expect((await system.get("/tenants/me")).body).toMatchObject({
    user: { is_system_admin: true },
    memberships: [],
    active_tenant_id: null,
  });
});

test("me is for people: no token is 401, the system and a key are 403", async () => {
  expect(await nobody.get("/tenants/me")).toFailWith(401, "unauthorized");
  expect(await nobody.get("/tenants/me", { headers: { apikey: stack.secretKey } }))
    .toFailWith(403, "forbidden");
});

test("sign in, switch, refresh: the new token names the other tenant, and calls go there", async () => {
  const email = `two-${a.id}@barid.test`;
  const id = await signUp(email, "long enough", { full_name: "Two Places" });
  await join(a, id, "staff", "dispatcher");
  await join(b, id, "staff", "warehouse_manager");
  const first = (await signIn(email, "long enough"))!;
  expect(claimsOf(first)).toMatchObject({
    sub: id,
    role: "authenticated",
    app_metadata: { tenant_id: a.id, tenant_user_id: expect.any(String), roles: ["dispatcher"] },
  });
  expect(claimsOf(first).exp! - claimsOf(first).iat!).toBe(3600);

  const person = withToken(first.access_token);
  const switched = await person.post(`/tenants/${b.id}/switch`);
  expect(switched).toSucceed(200);
  expect(switched.body).toMatchObject({ active_tenant_id: b.id });
  // The old token still speaks for the old tenant; a choice holds from the next one on.
  expect((await person.get("/tenants/me")).body.active_tenant_id).toBe(a.id);

  const second = await refresh(first);
  expect(claimsOf(second).app_metadata).toMatchObject({
    tenant_id: b.id,
    roles: ["warehouse_manager"],
  });
  expect((await withToken(second.access_token).get("/tenants/me")).body).toMatchObject({
    active_tenant_id: b.id,
    user: { full_name: "Two Places" },
  });
  expect(await withToken(second.access_token).post(`/tenants/${a.id}/switch`)).toSucceed();
  expect(claimsOf(await refresh(second)).app_metadata.tenant_id).toBe(a.id);

  await sql`update tenancy.tenant_users set is_active = false where user_id = ${id} and tenant_id = ${a.id}`;
  // The chosen one is not replaced by another, which the person would work in without noticing.
  const last = (await signIn(email, "long enough"))!;
  expect(claimsOf(last).app_metadata).not.toHaveProperty("tenant_id");
  expect(claimsOf(last).app_metadata.roles).toEqual([]);
});

test("nobody switches to a tenant they are no active member of, not even a system administrator", async () => {
  const system = await newSystemAdmin();
  expect(await a.admin.post(`/tenants/${b.id}/switch`)).toFailWith(403, "forbidden");
  expect(await a.admin.post(`/tenants/${crypto.randomUUID()}/switch`)).toFailWith(403, "forbidden");
  expect(await system.post(`/tenants/${b.id}/switch`)).toFailWith(403, "forbidden");
  await join(b, a.ops.id, "staff", "dispatcher", false);
  expect(await a.ops.post(`/tenants/${b.id}/switch`)).toFailWith(403, "forbidden");
  expect(await nobody.post(`/tenants/${b.id}/switch`)).toFailWith(401, "unauthorized");
  const malformed = await a.admin.post(`/tenants/not-an-id/switch`);
  expect(malformed).toFailWith(400, "invalid_uuid");
  expect(malformed.body.field).toBe("tenantId");
  expect(
    await sql`select from tenancy.active_tenants where tenant_id = ${b.id} and user_id in ${
      sql([a.admin.id, a.ops.id, system.id])
    }`,
  ).toHaveLength(0);
});

test("a person reads their own tenant, a system administrator any, nobody another's", async () => {
  const mine = await a.ops.get(`/tenants/${a.id}`);
  expect(mine).toSucceed(200);
  expect(mine.body.tenant).toMatchObject({
    id: a.id,
    slug: `t-${a.id}`,
    name: { en: "Tenant" },
    status: "active",
    subscription_status: "NONE",
    effective_active: true,
    effective_until: null,
    created_by_user: null,
    updated_by_user: null,
  });
  const [{ all, active }] = await sql`select
    count(*) filter (where tenant_user_type <> 'customer')::int as all,
    count(*) filter (where is_active)::int as active from tenancy.tenant_users where tenant_id = ${a.id}`;
  expect(mine.body.tenant.statistics).toEqual({ active_users: active });
  expect(mine.body.tenant.tenant_users).toHaveLength(all);
  expect(mine.body.tenant.tenant_users).toContainEqual({
    user_id: a.admin.id,
    created_at: expect.any(String),
    user: { id: a.admin.id, email: expect.stringContaining("admin-") },
  });
  const system = await newSystemAdmin();
  expect((await system.get(`/tenants/${a.id}`)).body.tenant.id).toBe(a.id);
  expect(await system.get(`/tenants/${crypto.randomUUID()}`)).toFailWith(404, "tenant_not_found");
  expect(await b.admin.get(`/tenants/${a.id}`)).toFailWith(403, "forbidden");
  expect(await b.admin.get(`/tenants/${crypto.randomUUID()}`)).toFailWith(403, "forbidden");
  expect(await nobody.get(`/tenants/${a.id}`)).toFailWith(401, "unauthorized");
});

test("its users are those who work with it; its office reads who made it, and nothing else of the system", async () => {
  const system = await newSystemAdmin();
  const [{ email }] = await sql`select email from tenancy.profiles where id = ${system.id}`;
  const tenant = await newTenant();
  await sql`update tenancy.tenants set created_by = ${system.id}, updated_by = ${tenant.admin.id}
    where id = ${tenant.id}`;
  for (const who of [tenant.admin, tenant.driver, tenant.customer]) {
    const { body } = await who.get(`/tenants/${tenant.id}`);
    const shown = who === tenant.admin ? email : null;
    expect(body.tenant.created_by_user).toEqual({ id: system.id, email: shown });
    expect(body.tenant.updated_by_user).toEqual({
      id: tenant.admin.id,
      email: who === tenant.admin ? expect.any(String) : null,
    });
  }
  const { body } = await tenant.admin.get(`/tenants/${tenant.id}`);
  const ids = body.tenant.tenant_users.map(({ user_id }: { user_id: string }) => user_id);
  expect(ids).toContain(tenant.driver.id);
  expect(ids).not.toContain(tenant.customer.id);
  const own = await tenant.customer.get(`/tenants/${tenant.id}`);
  expect(own.body.tenant.tenant_users).toMatchObject([{ user_id: tenant.customer.id }]);
});

test("a driver reading their tenant finds no list of everybody's addresses", async () => {
  const { body } = await a.driver.get(`/tenants/${a.id}`);
  expect(body.tenant.tenant_users.map((user: { user_id: string }) => user.user_id))
    .toEqual([a.driver.id]);
});

test("a subscription that is asked for and over makes the tenant inactive, at its minute", async () => {
  const tenant = await newTenant();
  // The system setting holds for everybody, so it is only ever on inside a transaction that is undone.
  const effective = await sql.begin(async (tx) => {
    await tx`insert into tenancy.system_settings (key, value) values ('tenant_subscription.enabled', 'true')
      on conflict (key) do update set value = 'true'`;
    const seen: boolean[] = [];
    for (
      const [status, until] of [["NONE", null], ["ACTIVE", "1 minute"], ["ACTIVE", "-1 second"], [
        "UNLIMITED",
        null,
      ]] as const
    ) {
      await tx`update tenancy.tenants set subscription_status = ${status},
        effective_until = now() + ${until}::interval where id = ${tenant.id}`;
      const [now] =
        await tx`select app.is_effective(t) as effective from tenancy.tenants t where id = ${tenant.id}`;
      seen.push(now.effective);
    }
    throw Object.assign(new Error("undo"), { seen });
  }).catch((error) => error.seen);
  expect(effective).toEqual([false, true, false, true]);
});

test("a refusal speaks the language asked for, else the tenant's", async () => {
  const tenant = await newTenant();
  await saveSettings(tenant.id, "general.language", { default: "ku" });
  const path = `/tenants/${b.id}/switch`;
  expect((await tenant.admin.in("ar").post(path)).body.message).toBe("لا يُسمح لك بهذا الإجراء.");
  const own = await tenant.driver.put(`/tenants/${tenant.id}/settings`, {});
  expect(own).toFailWith(403, "forbidden");
  expect(own.body.message).toBe("ڕێگەت پێ نادرێت ئەم کارە بکەیت.");
});
