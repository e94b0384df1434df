/** Authentication: the callers that are accepted, and their identity. */
import { Buffer } from "node:buffer";
import { exportSPKI, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from "jose";
import { beforeAll, expect, test } from "vitest";
import { type Answer, nobody, signedIn, withToken } from "../support/api.ts";
import { sql, stack } from "../support/db.ts";
import { expectUnauthorized, goodClaims } from "../support/identity.ts";
import { points } from "../support/network.ts";
import { newPerson, newSystemAdmin, newTenant, type Tenant } from "../support/people.ts";

let a: Tenant;
let b: Tenant;
beforeAll(async () => {
  [a, b] = await Promise.all([newTenant(), newTenant()]);
});

const good = () => goodClaims(a);
const minted = async (changes: Record<string, unknown>) =>
  withToken(await stack.jwtSign({ ...good(), ...changes }));
const now = () => Math.floor(Date.now() / 1000);

test("a token of this project's Auth is accepted", async () => {
  expect(await (await minted({})).get(points)).toSucceed(200);
});

test("without a token, with half a one or with the public key nobody is let in", async () => {
  await expectUnauthorized(nobody);
  for (
    const authorization of [
      "",
      "Bearer",
      "Bearer ",
      "Bearer not.a.token",
      `Basic ${Buffer.from("a:b").toString("base64")}`,
      `Bearer ${stack.publishableKey}`,
      `Bearer ${await stack.jwtSign(good())} again`,
      `Bearer ${"x".repeat(9_000)}`,
      `Bearer ${stack.secretKey}x`,
    ]
  ) {
    await expectUnauthorized(nobody, { headers: { authorization } });
  }
  await expectUnauthorized(nobody, { headers: { apikey: stack.publishableKey } });
});

const wrongClaims: [string, Record<string, unknown>][] = [
  ["of the role anon", { role: "anon" }],
  ["of the role service_role", { role: "service_role" }],
  ["of no role", { role: undefined }],
  ["without a subject", { sub: undefined }],
  ["with a subject that is no id", { sub: "admin" }],
  ["of another issuer", { iss: "https://elsewhere.example/auth/v1" }],
  ["of no issuer", { iss: undefined }],
  ["for another audience", { aud: "somebody" }],
  ["for no audience", { aud: undefined }],
  ["that ran out", { exp: 1_700_000_000 }],
  ["that never runs out", { exp: undefined }],
  ["that is not valid yet", { nbf: 4_000_000_000 }],
];
test.each(wrongClaims)("a token %s is refused", async (_, claims) => {
  await expectUnauthorized(await minted(claims));
});

test("a token that was accepted is refused from the moment it runs out", async () => {
  const person = await minted({ exp: now() + 2 });
  expect(await person.get(points)).toSucceed(200);
  await new Promise((resolve) => setTimeout(resolve, 2_300));
  await expectUnauthorized(person);
});

test("a token that somebody else signed is refused, whatever its header says", async () => {
  const { keys: [known] } = await (await fetch(`${stack.url}/auth/v1/.well-known/jwks.json`))
    .json();
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const { exportJWK } = await import("jose");
  const own = await exportJWK(publicKey);
  for (
    const header of [
      { alg: "ES256", kid: known.kid },
      { alg: "ES256" },
      { alg: "ES256", kid: "unknown" },
      { alg: "ES256", kid: known.kid, jwk: own },
      { alg: "ES256", kid: known.kid, jku: "https://elsewhere.example/jwks.json" },
    ]
  ) {
    const token = await new SignJWT(good()).setProtectedHeader(header).setExpirationTime("1h").sign(
      privateKey,
    );
    await expectUnauthorized(withToken(token));
  }
});

test("a token with a changed payload or a cut signature is refused", async () => {
  const [header, payload, signature] = (await stack.jwtSign(good())).split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  const changed = Buffer.from(JSON.stringify({ ...claims, sub: b.admin.id })).toString("base64url");
  await expectUnauthorized(withToken(`${header}.${changed}.${signature}`));
  await expectUnauthorized(withToken(`${header}.${payload}.${signature.slice(0, -4)}`));
  await expectUnauthorized(withToken(`${header}.${payload}.`));
});

test("an unsigned token is refused", async () => {
  await expectUnauthorized(
    withToken(new UnsecuredJWT(good()).setExpirationTime("1h").encode()),
  );
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  for (const alg of ["none", "None", "NONE", ""]) {
    await expectUnauthorized(
      withToken(`${part({ alg })}.${part({ ...good(), exp: now() + 60 })}.`),
    );
  }
});

test("the public key is no secret: HS256 signed with it in any form is refused", async () => {
  const { keys: [known] } = await (await fetch(`${stack.url}/auth/v1/.well-known/jwks.json`))
    .json();
  const spki = await exportSPKI(
    await importJWK({ ...known, key_ops: undefined }, "ES256", { extractable: true }) as never,
  );
  for (
    const secret of [
      spki,
      spki.trim(),
      JSON.stringify(known),
      `${known.x}${known.y}`,
      stack.publishableKey,
    ]
  ) {
    for (const kid of [known.kid, undefined]) {
      const token = await new SignJWT(good()).setProtectedHeader({ alg: "HS256", kid })
        .setExpirationTime("1h").sign(new TextEncoder().encode(secret.padEnd(32, "=")));
      await expectUnauthorized(withToken(token));
    }
  }
});

test("a token names its holder; the tenant it names is only asked for", async () => {
  expect(await signedIn(a.admin.id, b.id).get(points)).toFailWith(403, "forbidden");
  expect(await signedIn(a.admin.id, crypto.randomUUID()).get(points)).toFailWith(403, "forbidden");
  expect(await signedIn(a.admin.id, null).get(points)).toFailWith(400, "tenant_id_required");
  const odd = await minted({ app_metadata: { tenant_id: "x' or 1=1" } });
  expect(await odd.get(points)).toFailWith(400, "tenant_id_required");
  const claimed = await minted({
    sub: a.driver.id,
    app_metadata: { tenant_id: a.id, roles: ["tenant_admin"] },
  });
  expect(await claimed.get(`/tenants/${a.id}/users`)).toFailWith(403, "forbidden");
});

test("a member who is deactivated, or loses a role, is refused at the next request", async () => {
  const staff = await newPerson(a.id, "staff", "dispatcher");
  expect(await staff.get(points)).toSucceed(200);
  await sql`update tenancy.tenant_users set is_active = false where user_id = ${staff.id}`;
  expect(await staff.get(points)).toFailWith(403, "forbidden");
  await sql`update tenancy.tenant_users set is_active = true where user_id = ${staff.id}`;
  expect(await staff.get(points)).toSucceed(200);
  await sql`delete from tenancy.tenant_user_roles where user_id = ${staff.id}`;
  expect(await staff.get(points)).toFailWith(403, "forbidden");
});

test("a deleted user is refused although the token is still valid", async () => {
  const [gone, softly] = [
    await newPerson(a.id, "staff", "dispatcher"),
    await newPerson(a.id, "staff", "dispatcher"),
  ];
  expect(await gone.get(points)).toSucceed(200);
  await sql`delete from auth.users where id = ${gone.id}`;
  await expectUnauthorized(gone);
  await sql`update auth.users set deleted_at = now(), email = id::text where id = ${softly.id}`;
  await expectUnauthorized(softly);
});

test("only system administrators act in a suspended or archived tenant", async () => {
  const tenant = await newTenant();
  const system = await newSystemAdmin();
  for (const status of ["suspended", "archived"]) {
    await sql`update tenancy.tenants set status = ${status} where id = ${tenant.id}`;
    expect(await tenant.admin.get(points)).toFailWith(403, "tenant_inactive");
    expect(await tenant.driver.get(`/tenants/${tenant.id}/settings`)).toFailWith(
      403,
      "tenant_inactive",
    );
    expect(await tenant.admin.post(points, {})).toFailWith(403, "tenant_inactive");
    expect(await system.get(points, { query: { tenant_id: tenant.id } })).toSucceed(200);
  }
  await sql`update tenancy.tenants set status = 'pending' where id = ${tenant.id}`;
  expect(await tenant.admin.get(points)).toSucceed(200);
});

test("tenant_id in the query chooses among my tenants and widens nothing", async () => {
  const id = a.ops.id;
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (${b.id}, ${id}, 'staff')`;
  await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key) values (${b.id}, ${id}, 'warehouse_staff')`;
  const inTenant = (tenantId: string, method = "GET"): Promise<Answer> =>
    a.ops.send(method, points, method === "GET" ? undefined : {}, {
      query: { tenant_id: tenantId },
    });
  expect(await inTenant(b.id)).toSucceed(200);
  // Operations manager at home, warehouse staff there: may look, may not write.
  expect(await inTenant(b.id, "POST")).toFailWith(403, "forbidden");
  expect(await inTenant(a.id, "POST")).toFailWith(400, "validation_failed");
  expect(await inTenant(crypto.randomUUID())).toFailWith(403, "forbidden");
  const foreign = await newTenant();
  expect(await inTenant(foreign.id)).toFailWith(403, "forbidden");
  const malformed = await inTenant("1 or 1=1");
  expect(malformed).toFailWith(400, "invalid_uuid");
  expect(malformed.body.field).toBe("tenant_id");
});

test("a system administrator acts in the tenant that the request names", async () => {
  const system = await newSystemAdmin();
  expect(await system.get(points)).toFailWith(400, "tenant_id_required");
  expect(await system.get(points, { query: { tenant_id: a.id } })).toSucceed(200);
  expect(await system.get(points, { query: { tenant_id: crypto.randomUUID() } })).toFailWith(
    404,
    "tenant_not_found",
  );
});

test("who acts for somebody is only the system: the header means nothing from a person", async () => {
  const answer = await a.driver.get(`/tenants/${a.id}/users`, {
    headers: { "x-acting-user": a.admin.id },
  });
  expect(answer).toFailWith(403, "forbidden");
});
