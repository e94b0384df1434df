import { createClient } from "@supabase/supabase-js";
import { beforeAll, expect, test } from "vitest";
import WebSocket from "ws";
import { type Body, nobody, type Person } from "../../support/api.ts";
import { sql, stack } from "../../support/db.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { brand, general, wizardBody } from "../../support/wizard.ts";

const path = "/tenants/wizard";
let system: Person;
let a: Tenant;
beforeAll(async () => {
  [system, a] = await Promise.all([newSystemAdmin(), newTenant()]);
});

const tenantsWith = (slug: string) => sql`select * from tenancy.tenants where slug = ${slug}`;
const usersWith = (email: string) => sql`select id from auth.users where email = ${email}`;
const newKey = async (scopes: string[], capable: boolean) => {
  const key = `wizard-${crypto.randomUUID()}`;
  await sql`insert into tenancy.api_keys (name, key_hash, scopes, is_system_capable)
    values ('Key', sha256(convert_to(${key}, 'UTF8')), ${sql.array(scopes)}, ${capable})`;
  return { headers: { "x-api-key": key } };
};

test("one call makes a tenant that works: its administrator signs in, makes an address and a service", async () => {
  const body = wizardBody();
  const answer = await system.post(path, body);
  expect(answer).toSucceed(201);
  expect(answer.body).toEqual({
    success: true,
    message: "Created.",
    tenant_id: expect.any(String),
    steps: [
      { step: "tenant", status: "done" },
      { step: "settings", status: "done" },
      { step: "modules", status: "skipped" },
      { step: "subscription", status: "skipped" },
      { step: "admin_user", status: "done" },
      { step: "activation", status: "done" },
    ],
  });
  const client = createClient(stack.url, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    // deno-lint-ignore no-explicit-any -- the client wants the browser's type
    realtime: { transport: WebSocket as any },
  });
  const { email } = body.tenant.contact_info;
  const signedIn = await client.auth.signInWithPassword({ email, password: "Furat-secret-1" });
  expect(signedIn.error).toBeNull();
  const call = async (method: "GET" | "POST", name: string, input?: Body): Promise<Body> => {
    const { data, error } = await client.functions.invoke(name, { method, body: input });
    expect(error).toBeNull();
    return data;
  };
  const me = await call("GET", "tenants/me");
  expect(me.active_tenant_id).toBe(answer.body.tenant_id);
  expect(me.user).toMatchObject({
    email,
    phone: "+9647705550001",
    full_name: "Furat Post",
    avatar_url: "https://cdn.example.test/logo.png",
  });
  expect(me.memberships).toEqual([expect.objectContaining({
    slug: body.tenant.slug,
    tenant_user_type: "staff",
    roles: ["tenant_admin"],
  })]);
  const address = await call("POST", "delivery/addresses", {
    full_address: "Karrada 5",
    latitude: 33.3,
    longitude: 44.4,
  });
  expect(address.success).toBe(true);
  const types = await call("GET", "delivery/delivery-types");
  const service = await call("POST", "delivery/services", {
    name: "Standard",
    code: "STD",
    service_level: "standard",
    delivery_type_id: types.data[0].id,
    default_price: 3000,
    unit_min: 1,
    unit_max: 40,
  });
  expect(service.id).toEqual(expect.any(String));
});

test("every group is kept and read again through the settings", async () => {
  const body = wizardBody({ brand_settings: brand, general_config: general });
  const answer = await system.post(path, body);
  expect(answer).toSucceed(201);
  const id = answer.body.tenant_id;
  const read = await system.get(`/tenants/${id}/settings`);
  const saved = Object.fromEntries(
    Object.entries(read.body.general as Body).map(([group, of]) => [group, (of as Body).settings]),
  );
  expect(saved).toEqual({
    ...general,
    unit_size: { ...general.unit_size, missing_unit_size_fallback: "service_min" },
    brand_settings: brand,
  });
  const [tenant] = await tenantsWith(body.tenant.slug);
  expect(tenant).toMatchObject({
    id,
    status: "active",
    created_by: system.id,
    subscription_status: "NONE",
  });
  const [profile] = await sql`select avatar_url from tenancy.profiles
    where email = ${body.tenant.contact_info.email}`;
  expect(profile.avatar_url).toBe("https://cdn.example.test/light.png");
});

test("a body that names another fallback keeps it, one that empties it has none", async () => {
  for (const missing_unit_size_fallback of ["service_max", null]) {
    const body = wizardBody({ general_config: { unit_size: { missing_unit_size_fallback } } });
    const made = await system.post(path, body);
    expect(made).toSucceed(201);
    const read = await system.get(`/tenants/${made.body.tenant_id}/settings`, {
      query: { keys: "unit_size" },
    });
    expect(read).toSucceed(200);
    expect(read.body.general.unit_size.settings)
      .toEqual(missing_unit_size_fallback ? { missing_unit_size_fallback } : {});
  }
});

test("modules are those named; a subscription is ignored while none is asked for", async () => {
  const { data: modules } = (await system.get(`/tenants/${a.id}/modules`)).body;
  const body = wizardBody({
    admin_user: { create: false },
    modules: { enabled_module_ids: [modules[1].id] },
    subscription: { type: "NONSENSE" },
  });
  const answer = await system.post(path, body);
  expect(answer).toSucceed(201);
  expect(Object.fromEntries(answer.body.steps.map((s: Body) => [s.step, s.status]))).toMatchObject({
    modules: "done",
    subscription: "skipped",
    admin_user: "skipped",
    activation: "done",
  });
  const { tenant_id } = answer.body;
  const has = (await system.get(`/tenants/${tenant_id}/modules`)).body.data;
  expect(has.filter((m: Body) => m.is_enabled).map((m: Body) => m.key)).toEqual(["cod"]);
  expect(await sql`select from tenancy.subscriptions where tenant_id = ${tenant_id}`).toHaveLength(
    0,
  );
  expect(await usersWith(body.tenant.contact_info.email)).toHaveLength(0);
});

test("an event says when all is done, and nothing keeps the password", async () => {
  const body = wizardBody({ admin_user: { create: true, password: "Never-kept-77" } });
  const { tenant_id } =
    (await system.post(path, body, { headers: { "idempotency-key": crypto.randomUUID() } })).body;
  const events = await sql`select event_type from integration.system_events
    where tenant_id = ${tenant_id} order by position`;
  expect(events.map(({ event_type }) => event_type)).toEqual([
    "tenant.created",
    "tenant.activated",
  ]);
  const kept = await sql`
    select 'run' from tenancy.wizard_runs r where r::text like '%Never-kept-77%'
    union all select 'job' from app.jobs j where j::text like '%Never-kept-77%'
    union all select 'key' from app.idempotency_keys k where k::text like '%Never-kept-77%'
    union all select 'audit' from app.audit_log l where l::text like '%Never-kept-77%'`;
  expect(kept).toEqual([]);
  const runs =
    await sql`select r::text as text from tenancy.wizard_runs r where new_tenant_id = ${tenant_id}`;
  expect(runs[0].text).not.toContain(body.tenant.contact_info.email);
});

test("making an administrator needs its permission, asked before anything else is looked at", async () => {
  const keyed = await newKey(["manage:system"], true);
  const body = wizardBody();
  for (
    const [input, language] of [[body, "en"], [
      { admin_user: { create: true }, tenant: 5 },
      "ar",
    ]] as const
  ) {
    const answer = await nobody.in(language).post(path, input, keyed);
    expect(answer).toFailWith(403, "rbac_forbidden");
    expect(Object.keys(answer.body).sort()).toEqual(["code", "message", "success"]);
  }
  expect(await tenantsWith(body.tenant.slug)).toHaveLength(0);
  expect(await usersWith(body.tenant.contact_info.email)).toHaveLength(0);
  expect(
    await sql`select from tenancy.wizard_runs r
    where r.caller = encode(sha256(convert_to(${keyed.headers["x-api-key"]}, 'UTF8')), 'hex')`,
  ).toHaveLength(0);
  expect(await nobody.post(path, wizardBody({ admin_user: { create: false } }), keyed)).toSucceed(
    201,
  );
  expect(await nobody.post(path, { tenant: 5 }, keyed)).toFailWith(400, "validation_failed");
  const capable = await newKey(["manage:system", "manage:user_access:system"], true);
  expect(await nobody.post(path, wizardBody(), capable)).toSucceed(201);
});

test("nobody of a tenant runs the wizard, nor whoever has no token", async () => {
  for (const person of [a.admin, a.ops, a.customer]) {
    expect(await person.post(path, wizardBody())).toFailWith(403, "rbac_forbidden");
    expect(await person.post(path, {})).toFailWith(403, "rbac_forbidden");
  }
  expect((await a.admin.in("ku").post(path, {})).body.message).toMatch(/کۆمپانیا/);
  expect(await nobody.post(path, wizardBody())).toFailWith(401, "unauthorized");
});

test("a taken slug is 400 with its field; of many at once one gets it", async () => {
  const body = wizardBody();
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      system.post(path, {
        ...body,
        tenant: {
          ...body.tenant,
          contact_info: { email: `${n}-${body.tenant.contact_info.email}` },
        },
      })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expect(answer).toFailWith(400, "tenant_slug_taken");
    expect(answer.body.field).toBe("tenant.slug");
  }
  expect(await sql`select from auth.users where email like ${"%" + body.tenant.contact_info.email}`)
    .toHaveLength(1);
});

test("the same key answers again, from many calls at once too; other input is refused", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const body = wizardBody();
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => system.post(path, body, { headers })),
  );
  for (const answer of answers) expect(answer).toSucceed(201);
  expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
  expect(await tenantsWith(body.tenant.slug)).toHaveLength(1);
  expect(await usersWith(body.tenant.contact_info.email)).toHaveLength(1);
  const again = await system.post(path, body, { headers });
  expect(again.body).toEqual(answers[0].body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  const other = { ...body, tenant: { ...body.tenant, name: { en: "Other" } } };
  expect(await system.post(path, other, { headers })).toFailWith(409, "idempotency_conflict");
  // The key is one person's: another system administrator starts a run of their own.
  expect(await (await newSystemAdmin()).post(path, body, { headers })).toFailWith(
    400,
    "tenant_slug_taken",
  );
});
