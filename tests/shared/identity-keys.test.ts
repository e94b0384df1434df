/** API keys and the project's secret key: whom they act for, and where. */
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../support/api.ts";
import { sql, stack } from "../support/db.ts";
import { expectUnauthorized, goodClaims } from "../support/identity.ts";
import { points } from "../support/network.ts";
import { newPerson, newTenant, type Tenant } from "../support/people.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

async function newKey(
  tenantId: string | null,
  more: { scopes?: string[]; system?: boolean; expires?: string; revoked?: boolean } = {},
) {
  const key = `bk_${crypto.randomUUID()}`;
  const maker = tenantId && a.admin.id;
  await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, is_system_capable, created_by, expires_at, revoked_at)
    values (${tenantId}, 'test', sha256(${key}), ${more.scopes ?? ["view:tenant"]}, ${
    more.system ?? false
  }, ${maker}, now() + ${more.expires ?? (tenantId && "1 day")}::interval, ${
    more.revoked ? new Date() : null
  })`;
  return (tenant?: string, method = "GET") =>
    nobody.send(method, points, method === "GET" ? undefined : {}, {
      headers: { "x-api-key": key },
      query: { tenant_id: tenant },
    });
}

test("an API key opens its own tenant, for what its scopes say", async () => {
  const call = await newKey(a.id, { expires: "1 hour" });
  expect(await call()).toSucceed(200);
  expect(await call(a.id)).toSucceed(200);
  expect(await call(b.id)).toFailWith(403, "forbidden");
  expect(await call(undefined, "POST")).toFailWith(403, "forbidden");
  const operating = await newKey(a.id, { scopes: ["manage:operations:tenant"] });
  expect(await operating(undefined, "POST")).toFailWith(400, "validation_failed");
});

test("an API key counts beside the public key, which a client library sends as the bearer", async () => {
  const key = `bk_${crypto.randomUUID()}`;
  await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, created_by, expires_at)
    values (${a.id}, 'test', sha256(${key}), '{view:tenant}', ${a.admin.id}, now() + interval '1 day')`;
  const bearer = `Bearer ${stack.publishableKey}`;
  const send = (headers: Record<string, string>) =>
    nobody.send("GET", points, undefined, { headers });
  const sent = { authorization: bearer, apikey: stack.publishableKey };
  expect(await send({ ...sent, "x-api-key": key })).toSucceed(200);
  expect(await send({ ...sent, "x-api-key": "bk_unknown" })).toFailWith(401, "unauthorized");
  expect(await send(sent)).toFailWith(401, "unauthorized");
  // A generated client sends what it has in every header.
  const token = await stack.jwtSign({ sub: a.admin.id, app_metadata: { tenant_id: a.id } });
  expect(await send({ authorization: `Bearer ${token}`, apikey: token, "x-api-key": token }))
    .toSucceed(200);
  // A bearer that is none of both is somebody's, or nobody's.
  expect(await send({ ...sent, authorization: "Bearer x", "x-api-key": key }))
    .toFailWith(401, "unauthorized");
});

test("an API key that is unknown, revoked, past its time or endless is refused", async () => {
  expect(await (await newKey(a.id, { revoked: true }))()).toFailWith(401, "api_key_revoked");
  expect(await (await newKey(a.id, { expires: "-1 second" }))())
    .toFailWith(401, "api_key_expired");
  await expectUnauthorized(nobody, { headers: { "x-api-key": "bk_unknown" } });
  await expectUnauthorized(nobody, { headers: { "x-api-key": "x".repeat(201) } });
  // A key of no tenant that is not the system's is nobody's.
  expect(await (await newKey(null))()).toFailWith(401, "unauthorized");
});

test("a key of the system works in the tenant it names; a tenant's key never acts for the system", async () => {
  const call = await newKey(null, { system: true });
  expect(await call(b.id)).toSucceed(200);
  expect(await call()).toFailWith(400, "tenant_id_required");
  // Its maker may do what is the system's, and the key may not all the same.
  const maker = await newPerson(a.id, "staff", "tenant_admin");
  await sql`insert into tenancy.system_users (user_id, role) values (${maker.id}, 'system_admin')`;
  const grants = async (tenantId: string | null, system: boolean) => {
    const hash = crypto.randomUUID();
    await sql`insert into tenancy.api_keys (tenant_id, name, key_hash, scopes, is_system_capable, created_by, expires_at)
      values (${tenantId}, 'test', sha256(${hash}), '{view:tenant,manage:system,manage:user_access:system}', ${system},
        ${maker.id}, now() + interval '1 day')`;
    const [row] = await sql`select grants from private.identify(jsonb_build_object(
      'api_key_hash', encode(sha256(${hash}), 'hex'), 'tenant_mode', 'optional'))`;
    return row.grants;
  };
  expect(await grants(a.id, false)).toEqual(["anyone", "api_key", "permission:view:tenant"]);
  expect(await grants(null, true)).toContain("permission:manage:system");
});

test("a secret key is the system itself; beside a person's token it is the person who counts", async () => {
  const run = (headers: Record<string, string>) =>
    nobody.post("/tenants/internal/jobs", {}, { headers });
  const apikey = stack.secretKey;
  expect(await run({ apikey })).toSucceed(200);
  expect(await run({ apikey, authorization: `Bearer ${apikey}` })).toSucceed(200);
  expect(await run({ authorization: `Bearer ${apikey}` })).toSucceed(200);
  expect(await run({ apikey: stack.publishableKey, authorization: `Bearer ${apikey}` })).toSucceed(
    200,
  );
  expect(await run({ authorization: `Bearer ${apikey.slice(0, -1)}` })).toFailWith(
    401,
    "unauthorized",
  );
  expect(await run({ apikey: apikey.slice(0, -1) })).toFailWith(401, "unauthorized");
  expect(await run({ apikey: stack.publishableKey })).toFailWith(401, "unauthorized");
  expect(await run({ apikey, "x-acting-user": "me" })).toFailWith(401, "unauthorized");
  const token = await stack.jwtSign(goodClaims(a));
  expect(await run({ apikey, authorization: `Bearer ${token}` })).toFailWith(401, "unauthorized");
  expect(await run({ authorization: `Bearer ${token}` })).toFailWith(401, "unauthorized");
  // The system holds no role: what people may do it may only in somebody's name.
  const asSystem = (more: Record<string, string> = {}) =>
    nobody.get(points, { headers: { apikey, ...more }, query: { tenant_id: a.id } });
  expect(await asSystem()).toFailWith(403, "forbidden");
  expect(await asSystem({ "x-acting-user": a.dispatcher.id })).toSucceed(200);
  expect(await asSystem({ "x-acting-user": crypto.randomUUID() })).toFailWith(401, "unauthorized");
});
