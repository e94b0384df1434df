import { beforeAll, expect, test } from "vitest";
import { makeTenant, newSlug, tenantEvents, tenantRow } from "../../support/administration.ts";
import { type Body, nobody, type Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { expectReplayed } from "../../support/promises.ts";

let system: Person;
let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [system, a, b] = await Promise.all([newSystemAdmin(), newTenant(), newTenant()]);
});

test("a tenant is made pending, without a subscription, usable while none is asked for", async () => {
  const input = {
    name: { en: "Dijla", fr: "Tigre", ar: "دجلة", ku: "دیجلە" },
    slug: newSlug(),
    contact_info: { email: "Info@Dijla.TEST", phone: "+9647701234567", address: "Karrada 5" },
    metadata: { source: { campaign: 7 } },
  };
  const answer = await system.post("/tenants", input);
  const email = `${system.id}@barid.test`;
  expect(answer).toSucceed(201);
  expect(answer.body).toEqual({
    success: true,
    message: "Created.",
    tenant: {
      ...input,
      id: expect.any(String),
      contact_info: { ...input.contact_info, email: "info@dijla.test" },
      status: "pending",
      logo_url: null,
      subscription_status: "NONE",
      effective_active: true,
      effective_until: null,
      created_at: expect.any(String),
      created_by: system.id,
      updated_at: expect.any(String),
      updated_by: system.id,
      created_by_user: { id: system.id, email },
      updated_by_user: { id: system.id, email },
      tenant_users: [],
      statistics: { active_users: 0 },
    },
  });
  const id = answer.body.tenant.id;
  expect(await tenantEvents(id)).toEqual([{
    event_type: "tenant.created",
    event_data: { actor_id: system.id, status: "pending" },
  }]);
  const [audit] = await sql`select action, actor_id from app.audit_log
    where entity = 'tenancy.tenants' and entity_id = ${id}`;
  expect(audit).toEqual({ action: "insert", actor_id: system.id });
  expect((await system.get(`/tenants/${id}`)).body.tenant).toEqual(answer.body.tenant);
});

test("the same Idempotency-Key makes one tenant", async () => {
  const input = { name: { en: "Once" }, slug: newSlug() };
  await expectReplayed(system, "/tenants", input, { ...input, name: { en: "Twice" } });
  expect(await sql`select from tenancy.tenants where slug = ${input.slug}`).toHaveLength(1);
});

const bad: [string, Record<string, unknown>, string, string][] = [
  ["no name", { name: undefined }, "validation_failed", "name"],
  ["a name in no language", { name: {} }, "tenant_name_required", "name"],
  ["a name in a language nobody reads here", { name: { de: "X" } }, "tenant_name_required", "name"],
  [
    "an empty name beside a good one",
    { name: { en: "X", ar: " " } },
    "validation_failed",
    "name.ar",
  ],
  ["a name that is text", { name: "X" }, "validation_failed", "name"],
  ["no slug", { slug: undefined }, "validation_failed", "slug"],
  ["capitals in the slug", { slug: "Dijla" }, "invalid_tenant_slug", "slug"],
  ["two hyphens in the slug", { slug: "a--b" }, "invalid_tenant_slug", "slug"],
  ["a hyphen at the end", { slug: "a-" }, "invalid_tenant_slug", "slug"],
  ["a slug that is too long", { slug: "a".repeat(64) }, "validation_failed", "slug"],
  ["a bad e-mail", { contact_info: { email: "x" } }, "validation_failed", "contact_info.email"],
  ["metadata that is a list", { metadata: [] }, "validation_failed", "metadata"],
  ["a script for a logo", { logo_url: "javascript:1" }, "validation_failed", "logo_url"],
];
test.each(bad)("%s is refused with the field", async (_, wrong, code, field) => {
  const answer = await system.post("/tenants", { name: { en: "X" }, slug: newSlug(), ...wrong });
  expect(answer).toFailWith(400, code);
  expect(answer.body.field).toBe(field);
});

test("a NUL is refused, and so is what is no JSON", async () => {
  expect((await system.post("/tenants", { name: { en: "a\u0000b" }, slug: newSlug() })).status)
    .toBe(
      400,
    );
  expect(await system.post("/tenants", "{")).toFailWith(400, "invalid_json");
});

test("a slug is taken once: 400 with the field, in three languages, however many try at once", async () => {
  const input = { name: { en: "Race" }, slug: newSlug() };
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => system.post("/tenants", input)),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expect(answer).toFailWith(400, "tenant_slug_taken");
    expect(answer.body.field).toBe("slug");
  }
  expect((await system.in("ar").post("/tenants", input)).body.message).toMatch(/مستخدم/);
  expect((await system.in("ku").post("/tenants", input)).body.message).toMatch(/بەکارهاتووە/);
});

test("only those who manage the system list, make and move tenants", async () => {
  const before = await tenantRow(a.id);
  for (const person of [a.admin, a.ops, a.driver, a.customer]) {
    expect(await person.get("/tenants")).toFailWith(403, "forbidden");
    expect(await person.post("/tenants", {})).toFailWith(403, "forbidden");
    for (const verb of ["activate", "suspend", "archive"]) {
      expect(await person.post(`/tenants/${a.id}/${verb}`)).toFailWith(403, "forbidden");
      expect(await person.post(`/tenants/${b.id}/${verb}`)).toFailWith(403, "forbidden");
    }
  }
  expect(await nobody.get("/tenants")).toFailWith(401, "unauthorized");
  expect(await nobody.post("/tenants", {})).toFailWith(401, "unauthorized");
  expect(await nobody.put(`/tenants/${a.id}`, {})).toFailWith(401, "unauthorized");
  expect(await nobody.post(`/tenants/${a.id}/suspend`)).toFailWith(401, "unauthorized");
  expect(await tenantRow(a.id)).toEqual(before);
});

test("an API key of the system with the scope manages tenants; one of a tenant never does", async () => {
  const key = async (tenant: string | null, capable: boolean, name: string) => {
    await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, is_system_capable, created_by, expires_at)
      values (${tenant}, 'Key', sha256(convert_to(${name}, 'UTF8')), '{manage:system,manage:tenant}', ${capable},
        ${a.admin.id}, now() + interval '1 day')`;
    return { headers: { "x-api-key": name } };
  };
  const ours = await key(null, true, `sys-${a.id}`);
  const theirs = await key(a.id, false, `own-${a.id}`);
  const input = { name: { en: "By key" }, slug: newSlug() };
  expect(await nobody.post("/tenants", input, theirs)).toFailWith(403, "forbidden");
  const answer = await nobody.post("/tenants", input, ours);
  expect(answer).toSucceed(201);
  expect(answer.body.tenant.created_by).toBeNull();
  const listed = await nobody.get("/tenants", { ...ours, query: { search: input.slug } });
  expect(listed.body.tenants[0].tenant_users).toEqual({ count: 0 });
});

test("the list has ten a page, a hundred at most, exact totals, by slug and status", async () => {
  const mark = `list-${a.id.slice(0, 8)}`;
  const made: Body[] = [];
  for (let n = 0; n < 12; n++) {
    made.push(await makeTenant(system, { slug: `${mark}-${String.fromCharCode(97 + n)}` }));
  }
  const list = async (query: Record<string, string | number> = {}) => {
    const answer = await system.get("/tenants", { query: { search: mark, ...query } });
    expect(answer).toSucceed(200);
    return answer.body;
  };
  const first = await list();
  expect(first).toMatchObject({ total: 12, page: 1, limit: 10 });
  expect(first.tenants).toHaveLength(10);
  const { statistics: _detail, ...row } = made[11];
  expect(first.tenants[0]).toEqual({ ...row, tenant_users: { count: 0 } });
  expect((await list({ page: 2 })).tenants.map((t: Body) => t.id)).toEqual([
    made[1].id,
    made[0].id,
  ]);
  expect(await list({ limit: 1000 })).toMatchObject({ limit: 100, total: 12 });
  expect(await list({ limit: "x", page: 0 })).toMatchObject({ limit: 10, page: 1 });
  const slugs = (await list({ sort_by: "slug", sort_order: "asc", limit: 50 })).tenants
    .map((t: Body) => t.slug);
  expect(slugs).toEqual([...slugs].sort());
  await system.post(`/tenants/${made[3].id}/archive`);
  expect((await list({ status: "archived" })).tenants.map((t: Body) => t.id)).toEqual([made[3].id]);
  expect((await list({ search: "%" })).total).toBe(0);
  expect((await list({ search: "_" })).total).toBe(0);
  const wrong = await system.get("/tenants", { query: { status: "gone" } });
  expect(wrong).toFailWith(400, "validation_failed");
  expect(wrong.body.field).toBe("status");
  // A person who left is counted no more.
  expect(await (await newPerson(a.id, "staff", "dispatcher")).post(`/tenants/${a.id}/leave`))
    .toSucceed(200);
  const counted = await system.get("/tenants", { query: { search: `t-${a.id}` } });
  expect(counted.body.tenants[0].tenant_users).toEqual({ count: 10 });
});

test("a tenant's administrator changes what is the tenant's own; slug and status only as they are", async () => {
  const tenant = await newTenant();
  const path = `/tenants/${tenant.id}`;
  const changed = await tenant.admin.put(path, {
    name: { ku: "نوێ" },
    contact_info: { phone: "+9647700000009" },
    metadata: { a: 1 },
    logo_url: "https://cdn.example.test/logo.png",
    slug: `t-${tenant.id}`,
    status: "active",
  });
  expect(changed).toSucceed(200);
  expect(changed.body.tenant).toMatchObject({
    name: { ku: "نوێ" },
    contact_info: { phone: "+9647700000009" },
    metadata: { a: 1 },
    logo_url: "https://cdn.example.test/logo.png",
    updated_by: tenant.admin.id,
  });
  const before = await tenantRow(tenant.id);
  expect(await tenant.admin.put(path, { slug: newSlug() })).toFailWith(403, "forbidden");
  expect(await tenant.admin.put(path, { status: "archived", name: { en: "X" } })).toFailWith(
    403,
    "forbidden",
  );
  expect(await tenant.ops.put(path, { name: { en: "X" } })).toFailWith(403, "forbidden");
  expect(await b.admin.put(path, { name: { en: "X" } })).toFailWith(403, "forbidden");
  expect(await tenantRow(tenant.id)).toEqual(before);
  expect((await tenant.admin.put(path, { logo_url: null })).body.tenant.logo_url).toBeNull();
  expect(await tenantEvents(tenant.id)).toHaveLength(2);
});

test("a system administrator changes slug and status too, within the rules", async () => {
  const tenant = await makeTenant(system);
  const path = `/tenants/${tenant.id}`;
  const other = newSlug();
  const answer = await system.put(path, { slug: other, status: "active" });
  expect(answer.body.tenant).toMatchObject({ slug: other, status: "active" });
  const taken = await system.put(path, { slug: (await tenantRow(a.id)).slug });
  expect(taken).toFailWith(400, "tenant_slug_taken");
  expect(taken.body.field).toBe("slug");
  expect(await system.put(path, { status: "pending", name: { en: "No" } }))
    .toFailWith(409, "invalid_status_transition");
  expect((await tenantRow(tenant.id)).name).toEqual({ en: "Made" });
  expect(await system.put(path, { name: {} })).toFailWith(400, "tenant_name_required");
  expect(await system.put(`/tenants/${crypto.randomUUID()}`, {})).toFailWith(
    404,
    "tenant_not_found",
  );
  expect(await system.put("/tenants/nothing", {})).toFailWith(400, "invalid_uuid");
});

test("the database holds requests to the same rules, whatever a core forgets", async () => {
  const tenant = await newTenant();
  const tried = (permission: string, statement: string) =>
    sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenant.id}, true), set_config('app.user_id', ${tenant.admin.id}, true),
        set_config('app.grants', ${`{"permission:${permission}"}`}, true), set_config('role', 'barid_caller', true)`;
      const { count } = await tx.unsafe(
        `update tenancy.tenants set ${statement} where id = '${tenant.id}'`,
      );
      return count;
    }).catch((error) => error.message);
  for (
    const column of [
      "slug = 'x'",
      "status = 'archived'",
      "subscription_status = 'UNLIMITED'",
      "effective_until = now()",
    ]
  ) {
    expect(await tried("manage:tenant", column)).toBe("forbidden");
  }
  expect(await tried("manage:system", "status = 'pending'")).toBe("invalid_status_transition");
  expect(await tried("manage:tenant", "logo_url = 'x'")).toBe(1);
  const counted = await sql.begin(async (tx) => {
    await tx`select set_config('app.grants', '{permission:manage:tenant}', true), set_config('role', 'barid_caller', true)`;
    return (await tx`select tenancy.members_of(${a.id}) as n`)[0].n;
  });
  expect(counted).toBeNull();
});
