/**
 * Forged and unfit tokens, after RFC 8725, at every call that wants one: each is turned away, and nothing but who is
 * asking is looked up. A system of its own: PostgreSQL counts which functions ran there and which tables were read.
 */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { exportJWK, exportSPKI, generateKeyPair, importJWK, type JWTPayload, SignJWT } from "jose";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Operation, operations } from "../contract/functions.ts";
import { randomFrom } from "../contract/hostile.ts";
import { startOwnStack } from "../support/own-stack.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { figure, of, say, seed } from "./proof.ts";

const guarded = operations.filter(({ endpoint }) => !endpoint.access.publicAccess);
const random = randomFrom(seed);
const chosen = of({ test: 12, short: 60, full: guarded.length });
const tried = [...guarded].map((operation) => ({ operation, place: random() }))
  .sort((a, b) => a.place - b.place).slice(0, chosen).map(({ operation }) => operation);

interface Forged {
  name: string;
  headers: [string, string][];
  query?: string;
  /** Signed by this project: who it is for has to be looked up. */
  genuine?: true;
}

let stack: Stack;
let forged: Forged[];
const [mine, theirs, closed] = [randomUUID(), randomUUID(), randomUUID()];
const [member, deleted, inactive, outsider] = Array.from({ length: 4 }, () => randomUUID());

beforeAll(async () => {
  stack = await startOwnStack();
  // A session hands its counts in when it ends, so this one ends before anything is counted.
  const sql = postgres(stack.dbUrl, { max: 1, onnotice: () => {} });
  for (const [id, status] of [[mine, "active"], [theirs, "active"], [closed, "suspended"]]) {
    await sql`insert into tenancy.tenants (id, name, slug, status)
      values (${id}, '{"en": "T"}', ${"t-" + id}, ${status})`;
  }
  for (const id of [member, inactive, outsider]) {
    await sql`insert into auth.users (id, email) values (${id}, ${id + "@barid.test"})`;
    await sql`insert into tenancy.profiles (id, full_name, email) values (${id}, 'P', ${
      id + "@barid.test"
    }) on conflict (id) do nothing`;
  }
  for (
    const [tenant, user, active] of [[mine, member, true], [closed, member, true], [
      mine,
      inactive,
      false,
    ]] as const
  ) {
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type, is_active)
      values (${tenant}, ${user}, 'staff', ${active})`;
    await sql`insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
      values (${tenant}, ${user}, 'tenant_admin')`;
  }
  await sql`alter system set track_functions = 'all'`;
  await sql`select pg_reload_conf()`;
  // The reads of the start are counted before the first request, not up to ten seconds later.
  await endIdleSessions(sql, sql`a.pid <> pg_backend_pid() and a.backend_type = 'client backend'`);
  await sql.end();
  // The connections of the functions are made anew, with counting on.
  await stack.restartWorkers();
  forged = await forgeries();
}, 180_000);
afterAll(() => stack?.stop());

/** The list: every way to hold something that looks like a token. */
async function forgeries(): Promise<Forged[]> {
  const good = (more: JWTPayload = {}): JWTPayload => ({
    sub: member,
    role: "authenticated",
    aud: "authenticated",
    iss: `${stack.url}/auth/v1`,
    app_metadata: { tenant_id: mine },
    ...more,
  });
  const seconds = Math.floor(Date.now() / 1000);
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const bare = (header: object) =>
    `${part(header)}.${part({ ...good(), iat: seconds, exp: seconds + 3_600 })}.`;
  const jwks = await (await fetch(`${stack.url}/auth/v1/.well-known/jwks.json`)).json();
  const known = jwks.keys[0];
  const publicKey = await importJWK({ ...known, key_ops: undefined }, "ES256", {
    extractable: true,
  });
  const spki = await exportSPKI(publicKey as never);
  const own = await generateKeyPair("ES256", { extractable: true });
  const rsa = await generateKeyPair("RS256");
  const signed = (header: { alg: string } & Record<string, unknown>, key: unknown) =>
    new SignJWT(good()).setProtectedHeader(header).setIssuedAt().setExpirationTime("1h")
      .sign(key as never);
  const shared = (secret: string, more: object = {}) =>
    signed({ alg: "HS256", ...more }, new TextEncoder().encode(secret.padEnd(32, "=")));
  const minted = (claims: Record<string, unknown>) => stack.jwtSign(good(claims as never));
  const right = await minted({});
  const [head, body, signature] = right.split(".");
  const other = part({ ...JSON.parse(Buffer.from(body, "base64url").toString()), sub: outsider });
  const bearer = (name: string, token: string, genuine?: true): Forged => ({
    name,
    headers: [["authorization", `Bearer ${token}`]],
    genuine,
  });
  const jwk = await exportJWK(own.publicKey);
  return [
    { name: "none at all", headers: [] },
    { name: "an empty header", headers: [["authorization", ""]] },
    { name: "Bearer and nothing", headers: [["authorization", "Bearer "]] },
    { name: "a password", headers: [["authorization", `Basic ${btoa("a:b")}`]] },
    { name: "no word before it", headers: [["authorization", right]] },
    {
      name: "two headers",
      headers: [["authorization", `Bearer ${right}`], [
        "authorization",
        `Bearer ${right}`,
      ]],
    },
    { name: "the publishable key", headers: [["apikey", stack.publishableKey]] },
    bearer("the publishable key as a token", stack.publishableKey),
    bearer("not a token", "not.a.token"),
    bearer("two parts", `${head}.${body}`),
    bearer("20 KB", "x".repeat(20_000)),
    ...["none", "None", "NONE", "nOnE"].map((alg) => bearer(`alg ${alg}`, bare({ alg }))),
    bearer("no alg", bare({ typ: "JWT" })),
    bearer("signed with the public key as PEM", await shared(spki)),
    bearer("signed with the public key as JWK", await shared(JSON.stringify(known))),
    bearer("signed with nothing", await shared("")),
    bearer("signed with a guess", await shared("secret", { kid: known.kid })),
    bearer("another key", await signed({ alg: "ES256" }, own.privateKey)),
    bearer(
      "another key under our kid",
      await signed({ alg: "ES256", kid: known.kid }, own.privateKey),
    ),
    bearer("another algorithm", await signed({ alg: "RS256", kid: known.kid }, rsa.privateKey)),
    bearer("its own key inside", await signed({ alg: "ES256", jwk }, own.privateKey)),
    bearer(
      "an address of its key",
      await signed({ alg: "ES256", jku: "http://127.0.0.1:9/jwks.json" }, own.privateKey),
    ),
    bearer("a path as kid", await signed({ alg: "ES256", kid: "../../dev/null" }, own.privateKey)),
    bearer("SQL as kid", await signed({ alg: "ES256", kid: "' or 1=1 --" }, own.privateKey)),
    bearer("a payload that was changed", `${head}.${other}.${signature}`),
    bearer("a signature that was cut", `${head}.${body}.${signature.slice(0, -4)}`),
    bearer("no signature", `${head}.${body}.`),
    bearer("an encrypted one", `${right}.${signature}.${signature}`),
    bearer("that ran out a second ago", await minted({ exp: seconds - 1 })),
    bearer("that never runs out", await minted({ exp: undefined })),
    bearer("not valid yet", await minted({ nbf: seconds + 3_600 })),
    bearer("another issuer", await minted({ iss: "https://elsewhere.example/auth/v1" })),
    bearer("another audience", await minted({ aud: "somebody" })),
    bearer("the role service_role", await minted({ role: "service_role" })),
    bearer("the role anon", await minted({ role: "anon" })),
    bearer("no subject", await minted({ sub: undefined })),
    bearer("a subject that is no id", await minted({ sub: "admin" })),
    bearer("of somebody who was deleted", await minted({ sub: deleted }), true),
    bearer("of somebody who was put out", await minted({ sub: inactive }), true),
    bearer("of another tenant", await minted({ app_metadata: { tenant_id: theirs } }), true),
    bearer("of a suspended tenant", await minted({ app_metadata: { tenant_id: closed } }), true),
    {
      ...bearer("asking for another tenant", right, true),
      query: `tenant_id=${theirs}`,
    },
  ];
}

/** The functions that may run, and tables that may be read, while the caller is identified; the first request asks for the schema, too. */
const lookups =
  /^private\.(check|call|read|refusal|enter|identify|member_grants|schema_version)$|^app\.fail$|^app\.is_effective$/;
const identity = /^tenancy\.|^auth\./;

test("every one is turned away, and nothing but who is asking is looked up", async () => {
  expect(forged.length).toBeGreaterThanOrEqual(40);
  const wrong: string[] = [];
  let requests = 0;
  let asked = 0;
  const run = async (list: Forged[]) => {
    // Calls outside any tenant know nothing of the tenant that a genuine token names.
    const queue = tried.flatMap((operation) =>
      list.filter(({ genuine }) =>
        !genuine || (operation.endpoint.tenant ?? "required") === "required"
      )
        .map((one) => ({ operation, one }))
    );
    asked += queue.length;
    const worker = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const status = await ask(next.operation, next.one);
        if (++requests % 1_000 === 0) say(`${requests} requests`);
        if (status === 401 || status === 403) continue;
        wrong.push(`${next.operation.name} with a token: ${next.one.name}: ${status}`);
      }
    };
    await Promise.all(Array.from({ length: 6 }, worker));
  };

  const before = await seen();
  await run(forged.filter(({ genuine }) => !genuine));
  const unsigned = difference(before, await seen());
  await run(forged.filter(({ genuine }) => genuine));
  const looked = difference(before, await seen());
  const reached = looked.filter((name) => !lookups.test(name) && !identity.test(name));
  figure({
    what: `${forged.length} forged or unfit tokens × ${tried.length} calls, all refused`,
    asked: `${asked} of ${asked}`,
    reached: `${requests - wrong.length} of ${requests}`,
    holds: wrong.length === 0 && requests === asked,
  });
  figure({
    what: "functions run or tables read for tokens that we did not sign",
    asked: "0",
    reached: unsigned.length,
    holds: unsigned.length === 0,
  });
  figure({
    what: "functions run or tables read beyond who is asking",
    asked: "0",
    reached: reached.length,
    holds: reached.length === 0,
  });
  expect(wrong).toEqual([]);
  expect(unsigned).toEqual([]);
  expect(reached).toEqual([]);
  // The counting works: a token that is right gets through to more.
  await fetch(`${stack.apiUrl}/delivery/zones`, {
    headers: {
      authorization: `Bearer ${await stack.jwtSign({
        sub: member,
        app_metadata: { tenant_id: mine },
      })}`,
    },
  });
  expect(difference(before, await seen()).length).toBeGreaterThan(looked.length);
}, 10 * 60_000);

async function ask({ endpoint, path }: Operation, { headers, query }: Forged): Promise<number> {
  const url = path.replace(":tenantId", mine).replace(/:\w+/g, () => randomUUID());
  const method = endpoint.method.toUpperCase();
  const sent = new Headers();
  for (const [name, value] of headers) sent.append(name, value);
  if (method !== "GET") sent.set("content-type", "application/json");
  const response = await fetch(`${stack.apiUrl}${url}${query ? `?${query}` : ""}`, {
    method,
    headers: sent,
    body: method === "GET" ? undefined : "{}",
  });
  await response.arrayBuffer();
  return response.status;
}

/** Functions that ran and tables that were read, with how often. */
async function seen(): Promise<Map<string, number>> {
  const sql = postgres(stack.dbUrl, { max: 1, onnotice: () => {} });
  await endIdleSessions(sql, sql`a.usename = 'barid_api'`);
  const rows = await sql<{ name: string; count: string }[]>`
    select schemaname || '.' || funcname as name, calls as count from pg_stat_user_functions
    where schemaname not in ('extensions', 'cron', 'net', 'auth', 'storage', 'local', 'vault')
    union all
    select schemaname || '.' || relname, coalesce(seq_scan, 0) + coalesce(idx_scan, 0) from pg_stat_user_tables
    where schemaname not in ('extensions', 'cron', 'net', 'auth', 'storage', 'local', 'vault')`;
  await sql.end();
  return new Map(rows.map(({ name, count }) => [name, Number(count)]));
}

/**
 * Ends idle sessions and waits until they are gone: a session hands its counts in when it ends, an idle one up to ten
 * seconds late.
 */
async function endIdleSessions(
  sql: postgres.Sql,
  which: postgres.PendingQuery<postgres.Row[]>,
): Promise<void> {
  // Set apart with `offset 0`: what ends sessions must not be asked of others.
  const ended = await sql<{ pid: number }[]>`select f.pid, pg_terminate_backend(f.pid) from (
    select a.pid from pg_stat_activity a where a.state = 'idle' and ${which} offset 0) f`;
  const pids = ended.map(({ pid }) => pid);
  while ((await sql`select from pg_stat_activity where pid = any (${pids})`).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function difference(before: Map<string, number>, after: Map<string, number>): string[] {
  return [...after].filter(([name, count]) => count > (before.get(name) ?? 0)).map(([name]) => name)
    .sort();
}
