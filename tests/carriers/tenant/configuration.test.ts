/** Which carriers a tenant works with; what is secret goes in and never comes out. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { type Body, nobody } from "../../support/api.ts";
import { enable, offerSimulated } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { credentialsPurpose } from "../../../shared/outbound/purposes.ts";
import { secretsKey } from "../../../supabase/local/keys.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant(), offerSimulated()]);
});
const credentials = { login_id: "shop", password: "p4ss-w0rd", initial_token: "t0ken-t0ken" };

test("active carriers are listed with the tenant's configuration, or null", async () => {
  const { body } = await a.staff.get("/carriers/tenant");
  expect(body.carriers).toEqual([
    {
      code: "internal",
      name: "Own fleet",
      logo_url: null,
      is_internal: true,
      supports_webhook: false,
      collects_cash: true,
      configuration: null,
    },
    {
      code: "easypost",
      name: "EasyPost",
      logo_url: null,
      is_internal: false,
      supports_webhook: true,
      collects_cash: false,
      configuration: null,
    },
    {
      code: "simulated",
      name: "Simulated carrier",
      logo_url: null,
      is_internal: false,
      supports_webhook: true,
      collects_cash: true,
      configuration: null,
    },
  ]);
});

test("a configuration is stored, its credentials encrypted and never returned", async () => {
  const answer = await a.admin.patch("/carriers/tenant/simulated", {
    prefer_internal: true,
    default_price: 2500.5,
    credentials,
  });
  expect(answer).toSucceed(200);
  expect(answer.body.webhook).toBeUndefined();
  expect(answer.body.carrier.configuration).toEqual({
    is_enabled: false,
    prefer_internal: true,
    default_price: 2500.5,
    has_credentials: true,
    updated_at: expect.any(String),
  });
  const later = await a.admin.patch("/carriers/tenant/simulated", { default_price: null });
  expect(later.body.carrier.configuration).toMatchObject({
    default_price: null,
    prefer_internal: true,
    has_credentials: true,
  });
  const list = await a.admin.get("/carriers/tenant");
  const seen = JSON.stringify([answer.body, later.body, list.body]);
  expect(seen).not.toMatch(/p4ss|t0ken|s1\./);
  const everywhere =
    await sql`select t::text as text from integration.tenant_carriers t where tenant_id = ${a.id}
    union all select l::text from app.audit_log l where tenant_id = ${a.id}
    union all select k.answer::text from app.idempotency_keys k where k.scope like ${a.id + "%"}`;
  expect(JSON.stringify(everywhere)).not.toMatch(/p4ss|t0ken/);
  // Another tenant has none of it.
  expect((await b.admin.get("/carriers/tenant")).body.carriers[2].configuration).toBeNull();
});

test("enabling tells the webhook's address and secret, once and the same again; rotating makes another", async () => {
  const tenant = await newTenant();
  const webhook = await enable(tenant);
  expect(webhook.url).toMatch(
    new RegExp(`/functions/v1/carriers/webhooks/simulated/${tenant.id}$`),
  );
  expect(webhook.secret).toMatch(/^[0-9a-f]{64}$/);
  const again = await tenant.admin.patch("/carriers/tenant/simulated", { is_enabled: true });
  expect(again.body.webhook).toBeUndefined();
  await tenant.admin.patch("/carriers/tenant/simulated", { is_enabled: false });
  expect(await enable(tenant)).toEqual(webhook);
  const rotated = await tenant.admin.post("/carriers/tenant/simulated/rotate-secret");
  expect(rotated).toSucceed(200);
  expect(rotated.body.webhook.secret).not.toBe(webhook.secret);
  expect((await tenant.admin.patch("/carriers/tenant/internal", { is_enabled: true })).body.webhook)
    .toBeUndefined();
  expect(await tenant.admin.post("/carriers/tenant/internal/rotate-secret")).toFailWith(
    409,
    "carrier_not_enabled",
  );
  expect(await tenant.admin.post("/carriers/tenant/easypost/rotate-secret")).toFailWith(
    409,
    "carrier_not_enabled",
  );
});

test("a carrier is enabled only with the credentials it needs, and keeps them while it is", async () => {
  const tenant = await newTenant();
  const path = "/carriers/tenant/easypost";
  const patch = (body: Body, who = tenant.admin) => who.patch(path, body);
  const standing = async () =>
    (await sql`select is_enabled, credentials is not null as sealed
      from integration.tenant_carriers where tenant_id = ${tenant.id}`)[0];
  for (
    const body of [
      { is_enabled: true },
      { is_enabled: true, credentials: {} },
      { is_enabled: true, credentials: { login_id: "shop" } },
      { is_enabled: true, credentials: { initial_token: " " } },
    ]
  ) {
    const answer = await patch(body);
    expect(answer).toFailWith(400, "carrier_incomplete");
    expect(answer.body).toMatchObject({
      field: "credentials.initial_token",
      missing: ["credentials.initial_token"],
    });
  }
  expect((await patch({ is_enabled: true }, tenant.admin.in("ku"))).body.message)
    .toContain("credentials.initial_token");
  expect(await standing()).toBeUndefined();
  expect(await patch({ credentials: { initial_token: "EZTK" } })).toSucceed(200);
  expect(await patch({ is_enabled: true })).toSucceed(200);
  expect(await patch({ credentials: { initial_token: "" } })).toFailWith(400, "carrier_incomplete");
  expect(await standing()).toEqual({ is_enabled: true, sealed: true });
  // Turned off, it may be emptied, and then not be turned on.
  expect(await patch({ is_enabled: false, credentials: { initial_token: "" } })).toSucceed(200);
  expect(await patch({ is_enabled: true })).toFailWith(400, "carrier_incomplete");
});

test("emptied and enabled at the same moment, it is never enabled without credentials", async () => {
  const tenant = await newTenant();
  const patch = (body: Body) => tenant.admin.patch("/carriers/tenant/easypost", body);
  for (let round = 0; round < 5; round++) {
    await patch({ is_enabled: false, credentials: { initial_token: "EZTK" } });
    const answers = await Promise.all([
      patch({ is_enabled: true }),
      patch({ credentials: { initial_token: "" } }),
    ]);
    // Which comes first is up to them; the second of the two is refused.
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const { configuration } = (await tenant.admin.get("/carriers/tenant")).body.carriers
      .find(({ code }: Body) => code === "easypost");
    expect(configuration.is_enabled).toBe(answers[0].status === 200);
  }
});

test("a carrier that is not offered is none", async () => {
  await sql`insert into integration.carriers (code, name, is_active, position)
    values ('not_offered', 'Not offered', false, 99) on conflict do nothing`;
  expect(await a.admin.patch("/carriers/tenant/not_offered", { is_enabled: true })).toFailWith(
    404,
    "carrier_not_found",
  );
});

test("with a key the same call answers the same; other credentials under it are a conflict", async () => {
  const tenant = await newTenant();
  const options = { headers: { "idempotency-key": randomUUID() } };
  const send = (body: Body) => tenant.admin.patch("/carriers/tenant/simulated", body, options);
  const first = await send({ is_enabled: true, credentials });
  const second = await send({ is_enabled: true, credentials });
  expect(first).toSucceed(200);
  expect(first.body.webhook.secret).toMatch(/^[0-9a-f]{64}$/);
  expect(second.body).toEqual(first.body);
  expect(await send({ is_enabled: true, credentials: { ...credentials, password: "x" } }))
    .toFailWith(409, "idempotency_conflict");
});

test("wrong input, unknown carriers and people without the right are refused, and nothing is kept", async () => {
  const tenant = await newTenant();
  const path = "/carriers/tenant/simulated";
  for (
    const [body, field] of [
      [{ is_enabled: "yes" }, "is_enabled"],
      [{ default_price: -1 }, "default_price"],
      [{ default_price: "5" }, "default_price"],
      [{ credentials: "x" }, "credentials"],
      [{ credentials: { password: 5 } }, "credentials.password"],
      [{ credentials: { password: "x".repeat(1_001) } }, "credentials.password"],
    ] as const
  ) {
    const answer = await tenant.admin.patch(path, body);
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe(field);
  }
  expect(await tenant.admin.patch("/carriers/tenant/nobody", {})).toFailWith(
    404,
    "carrier_not_found",
  );
  expect(await tenant.admin.patch("/carriers/tenant/No!", {})).toFailWith(400, "validation_failed");
  for (const who of [tenant.ops, tenant.staff, tenant.driver]) {
    expect(await who.patch(path, { is_enabled: true, credentials })).toFailWith(403, "forbidden");
    expect(await who.post(`${path}/rotate-secret`)).toFailWith(403, "forbidden");
  }
  expect(await tenant.driver.get("/carriers/tenant")).toFailWith(403, "forbidden");
  expect(await nobody.patch(path, {})).toFailWith(401, "unauthorized");
  expect(await sql`select from integration.tenant_carriers where tenant_id = ${tenant.id}`)
    .toHaveLength(0);
  expect((await tenant.admin.in("ku").patch("/carriers/tenant/nobody", {})).body.message).toMatch(
    /[\u0600-\u06ff]/,
  );
});

test("many at once make one configuration with one secret", async () => {
  const tenant = await newTenant();
  const answers = await Promise.all(
    Array.from(
      { length: 10 },
      () => tenant.admin.patch("/carriers/tenant/simulated", { is_enabled: true }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  expect(answers.filter(({ body }) => body.webhook)).toHaveLength(1);
  expect(await sql`select from integration.tenant_carriers where tenant_id = ${tenant.id}`)
    .toHaveLength(1);
});

test("no credentials are none; parts that are sent at the same moment are all kept", async () => {
  const tenant = await newTenant();
  const path = "/carriers/tenant/simulated";
  const empty = await tenant.admin.patch(path, { credentials: {} });
  expect(empty.body.carrier.configuration.has_credentials).toBe(false);
  const parts = Object.entries(credentials);
  const answers = await Promise.all(
    [...parts, ...parts].map(([name, value]) =>
      tenant.admin.patch(path, { credentials: { [name]: value } })
    ),
  );
  for (const answer of answers) expect(answer).toSucceed(200);
  const [{ sealed }] = await sql`select credentials as sealed from integration.tenant_carriers
    where tenant_id = ${tenant.id}`;
  process.env.BARID_SECRETS_KEY = secretsKey;
  const { unseal } = await import("../../../shared/outbound/secrets.ts");
  expect(JSON.parse(await unseal(sealed, credentialsPurpose("simulated")))).toEqual(credentials);
});
